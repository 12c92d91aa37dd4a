//! Stores the user's favourite and recent models, beside the logs.
//!
//! The keys for the next and the previous model step through them.

use super::Paths;
use super::private_files::{LockFile, read_capped, write_private};
use tau_protocol::chosen::ChosenModels;
use tau_tools::user_error::UserError;

/// The file in the state folder.
const FILE: &str = "models.json";
/// The size limit of the file in bytes; tau writes far less.
const MAX_BYTES: u64 = 64 << 10;

/// The stored models; empty if they cannot be read.
pub fn read(paths: &Paths) -> ChosenModels {
    let bytes = read_capped(&paths.state.join(FILE), MAX_BYTES).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Changes the stored models, safely beside other processes.
pub fn change(paths: &Paths, apply: impl FnOnce(&mut ChosenModels)) -> Result<(), UserError> {
    let path = paths.state.join(FILE);
    let failed = |error| UserError::of_file(&path, error);
    let _lock = LockFile::take(&path.with_extension("json.lock")).map_err(failed)?;
    let mut chosen = read(paths);
    apply(&mut chosen);
    let text = serde_json::to_string(&chosen).map_err(UserError::of)?;
    write_private(&path, text.as_bytes()).map_err(failed)
}
