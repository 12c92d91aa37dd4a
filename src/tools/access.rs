//! What a call would touch, as far as its tool knows before anything has happened.
//!
//! Plain data: permissions, sandbox and undo judge it, the user is shown it. Paths are absolute and
//! as the tool resolved them; symbolic links in them are not followed here.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::FileDiff;

/// What a call would touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Access {
    /// Files and directories that are read, directories with everything in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// Files that are created, changed or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PathBuf>,
    /// Shell commands that are run, in the session's directory. What they touch is not in `reads` and
    /// `writes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Hosts that are contacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// True if a program carries the call out, which may change more than the call says: undo looks for it
    /// in the whole workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub program: bool,
    /// True if the tool cannot say what it touches: it may be anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

impl Access {
    /// A call that reads only this.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Access { reads: vec![path.into()], ..Access::default() }
    }

    /// A call that reads a file and puts another version in its place.
    pub fn change(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Access { reads: vec![path.clone()], writes: vec![path], ..Access::default() }
    }

    /// A call that runs this command.
    pub fn command(command: impl Into<String>) -> Self {
        Access { commands: vec![command.into()], ..Access::default() }
    }

    /// A call of a tool that says nothing about itself.
    pub fn unknown() -> Self {
        Access { unknown: true, ..Access::default() }
    }

    /// Whether the call can change nothing: it reads at most.
    pub fn only_reads(&self) -> bool {
        self.writes.is_empty() && self.commands.is_empty() && self.network.is_empty() && !self.unknown
    }
}

/// What the user is shown of a call before it is carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Preview {
    /// Nothing but its title and what it touches.
    #[default]
    None,
    /// The whole command.
    Command { command: String },
    /// The change of a file. The index of a hunk is its id. If the change is cut, its hunks cannot be
    /// chosen one by one.
    Change { change: FileDiff },
}
