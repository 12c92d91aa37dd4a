//! What a call would touch, as far as its tool knows before anything has happened.
//!
//! Plain data: permissions, sandbox and undo judge it, the user is shown it. Paths are absolute and
//! as the tool resolved them; symbolic links in them are not followed here.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// What a tool may read of the files that it comes across below a folder, and that no call names. The agent
/// knows the rules, and tools ask it.
pub trait FileFilter: Debug + Send + Sync {
    /// The filter for what a call of `tool` comes across below a folder that it may read; `None` if nothing is
    /// left out.
    fn below(&self, tool: &str, folder: &Path) -> Option<Arc<dyn FolderFilter>>;

    /// Why a file that the user names cannot be read, as the end of a sentence.
    fn denies(&self, path: &Path) -> Option<String>;
}

/// See [`FileFilter::below`].
pub trait FolderFilter: Debug + Send + Sync {
    /// Why a file or folder is left out, by its path from that folder on.
    fn leaves_out(&self, below: &Path) -> Option<LeftOut>;
}

/// Why a file is left out of what a tool answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its name is left out as well, not only its content.
    pub name: bool,
    /// As what follows "3 files left out: ".
    pub why: String,
}

/// A filter that leaves nothing out.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllFiles;

impl FileFilter for AllFiles {
    fn below(&self, _: &str, _: &Path) -> Option<Arc<dyn FolderFilter>> {
        None
    }

    fn denies(&self, _: &Path) -> Option<String> {
        None
    }
}

/// What the user is shown of a call before it is carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Preview {
    /// Nothing but its title and what it touches.
    #[default]
    None,
    /// The arguments, of a tool that shows nothing else.
    Arguments { arguments: Value },
    /// The whole command.
    Command { command: String },
    /// The change of a file. The index of a hunk is its id. If the change is cut, its hunks cannot be
    /// chosen one by one.
    Change { change: FileDiff },
}
