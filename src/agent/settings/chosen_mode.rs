//! Stores the permission mode that the user chose at the first start.
//!
//! It is the mode of the screen if none is set, and is kept beside the logs.

use super::Paths;
use super::private_files::{read_capped, write_private};
use tau_protocol::chosen::ChosenMode;
use tau_tools::user_error::UserError;

/// The file in the state folder.
const FILE: &str = "permission-mode.json";
/// The size limit of the file in bytes; tau writes far less.
const MAX_BYTES: u64 = 1_024;

/// The earlier choice; `None` if it is missing or unreadable; the user is asked again.
pub fn read(paths: &Paths) -> Option<ChosenMode> {
    let bytes = read_capped(&paths.state.join(FILE), MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Saves the choice.
pub fn save(chosen: ChosenMode, paths: &Paths) -> Result<(), UserError> {
    let path = paths.state.join(FILE);
    let text = serde_json::to_string(&chosen).map_err(UserError::of)?;
    write_private(&path, text.as_bytes()).map_err(|error| format!("{}: {error}", path.display()).into())
}
