//! Lists sessions without opening them whole.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One session in a list. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    pub path: PathBuf,
    pub id: String,
    pub cwd: PathBuf,
    /// The name it was given.
    pub name: Option<String>,
    /// Text of the first user message, first line, at most 200 characters.
    pub first_prompt: String,
    pub created: i64,
    pub modified: i64,
    /// User and assistant messages.
    pub messages: u64,
    /// Size of the file, in bytes.
    pub size: u64,
}

/// Lists the sessions under `root` (the folder that holds one folder a directory), newest
/// first: those that run in `cwd`, or all. Rows are given to `emit` one by one; it answers
/// whether to go on.
pub fn list(_root: &Path, _cwd: Option<&Path>, _emit: &mut dyn FnMut(SessionRow) -> bool) {
    todo!()
}

/// The newest session that runs in `cwd`.
pub fn newest(_root: &Path, _cwd: &Path) -> Option<PathBuf> {
    todo!()
}
