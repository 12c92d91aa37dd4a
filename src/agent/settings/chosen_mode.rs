//! The answer to the question of the first start: the permission mode of the screen where none is set, kept
//! beside the logs.

use serde::{Deserialize, Serialize};

use super::Paths;
use super::private_files::{read_capped, write_private};
use crate::agent::protocol::approval::PermissionMode;
use crate::tools::sandbox::SandboxLevel;

/// The file in the state folder.
const FILE: &str = "permission-mode.json";
/// Largest file that is read, in bytes; tau writes far less.
const MAX_BYTES: u64 = 1_024;

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChosenMode {
    pub mode: PermissionMode,
    /// The sandbox that was chosen with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
}

impl ChosenMode {
    /// The mode `auto` in a sandbox in which commands change only the workspace.
    pub const SANDBOXED: ChosenMode =
        ChosenMode { mode: PermissionMode::Auto, sandbox: Some(SandboxLevel::WorkspaceWrite) };

    /// What was chosen earlier; `None` if nothing was, or it cannot be read: then the user is asked again.
    pub fn read(paths: &Paths) -> Option<Self> {
        let bytes = read_capped(&paths.state.join(FILE), MAX_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Keeps it.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn save(self, paths: &Paths) -> Result<(), String> {
        let path = paths.state.join(FILE);
        let text = serde_json::to_string(&self).map_err(|error| error.to_string())?;
        write_private(&path, text.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))
    }
}
