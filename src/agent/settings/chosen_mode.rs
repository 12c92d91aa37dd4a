//! The answer to the question of the first start: the permission mode of the screen where none is set, kept
//! beside the logs.

use super::Paths;
use super::private_files::{read_capped, write_private};
use tau_protocol::chosen::ChosenMode;

/// The file in the state folder.
const FILE: &str = "permission-mode.json";
/// Largest file that is read, in bytes; tau writes far less.
const MAX_BYTES: u64 = 1_024;

/// What was chosen earlier; `None` if nothing was, or it cannot be read: then the user is asked again.
pub fn read(paths: &Paths) -> Option<ChosenMode> {
    let bytes = read_capped(&paths.state.join(FILE), MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Keeps it.
///
/// # Errors
/// The file and what is wrong with it.
pub fn save(chosen: ChosenMode, paths: &Paths) -> Result<(), String> {
    let path = paths.state.join(FILE);
    let text = serde_json::to_string(&chosen).map_err(|error| error.to_string())?;
    write_private(&path, text.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))
}
