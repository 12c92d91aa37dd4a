//! The access of a call: files, commands and hosts, as far as its tool knows before it runs.
//!
//! Plain data: permissions, the sandbox and undo judge it, and the user sees it. Paths are absolute, as the
//! tool resolved them; symbolic links in them are not followed here.

use std::fmt::Debug;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FileDiff;

/// The files, commands and hosts that a call would touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Access {
    /// Files and directories that are read; a directory counts with everything in it.
    #[serde(with = "crate::path_text", skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<PathBuf>,
    /// Files that are created, changed or removed.
    #[serde(with = "crate::path_text", skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PathBuf>,
    /// Shell commands to run in the session's directory. What they touch is not in `reads` and `writes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Hosts that are contacted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<String>,
    /// True if a program carries out the call. It may change more than the call says, so undo checks the
    /// whole workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub program: bool,
    /// True if the tool cannot say what it touches: it could be anything.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// Texts of a call whose tool cannot say what it touches: each may be the name of a file.
    #[serde(skip)]
    pub texts: Vec<String>,
}

impl Access {
    /// A call that only reads this path.
    pub fn read(path: impl Into<PathBuf>) -> Self {
        Access { reads: vec![path.into()], ..Access::default() }
    }

    /// A call that reads a file and writes a new version of it.
    pub fn change(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Access { reads: vec![path.clone()], writes: vec![path], ..Access::default() }
    }

    /// A call that runs a command.
    pub fn command(command: impl Into<String>) -> Self {
        Access { commands: vec![command.into()], ..Access::default() }
    }

    /// A call whose tool declares nothing.
    pub fn unknown() -> Self {
        Access { unknown: true, ..Access::default() }
    }

    /// This access with all texts in the arguments of a call, if its tool cannot say what it touches.
    #[must_use]
    pub fn with_texts_of(mut self, arguments: &Value) -> Self {
        if self.unknown {
            add_texts(arguments, &mut self.texts);
        }
        self
    }

    /// True if the call changes nothing.
    pub fn only_reads(&self) -> bool {
        self.writes.is_empty() && self.commands.is_empty() && self.network.is_empty() && !self.unknown
    }
}

/// Adds the texts in a value, however deep, and the keys that are no plain names.
fn add_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(fields) => {
            let is_name =
                |key: &&String| key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            texts.extend(fields.keys().filter(|key| !is_name(key)).cloned());
            fields.values().for_each(|value| add_texts(value, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Decides which files a tool may read when it meets them below a folder without the call naming them. The
/// agent knows the rules; tools ask it.
pub trait FileFilter: Debug + Send + Sync {
    /// The filter for files that a call of `tool` meets below a folder it may read; `None` if nothing is
    /// left out.
    fn below(&self, tool: &str, folder: &Path) -> Option<Arc<dyn FolderFilter>>;

    /// The reason why a file that the user names cannot be read, as the end of a sentence.
    fn denies(&self, path: &Path) -> Option<String>;

    /// The rule that denies fetching anything from an address, whatever name leads to it.
    fn denies_address(&self, address: IpAddr) -> Option<String>;

    /// Whether rules keep commands from files, so that there may be [`FileFilter::denied_files`]. Takes no time.
    fn has_denials(&self) -> bool;

    /// The files and folders that exist and that rules keep from commands, as far as they are found in a short time.
    fn denied_files(&self) -> DeniedFiles;

    /// The [`DeniedFiles::shortfall`] of the last search, once.
    fn take_shortfall(&self) -> Option<String>;
}

/// The files that rules keep from a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedFiles {
    pub files: Vec<DeniedFile>,
    /// The reason why there may be more, if it is new: a sentence.
    pub shortfall: Option<String>,
}

/// A file, or a folder with everything in it, that a rule keeps from commands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeniedFile {
    /// Without links.
    pub path: PathBuf,
    pub denied: DeniedUse,
    /// The rule as it is written.
    pub rule: String,
}

/// The use of a file that is denied to commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeniedUse {
    /// Only the folder itself stays where it is: rules are about what is in it by its name.
    Move,
    Change,
    /// Nor change it.
    Read,
}

/// See [`FileFilter::below`].
pub trait FolderFilter: Debug + Send + Sync {
    /// The reason why a file or folder is left out, given its path relative to that folder.
    fn leaves_out(&self, below: &Path) -> Option<LeftOut>;
}

/// The reason why a file is left out of a tool's answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// True if its name is left out as well, not just its content.
    pub name: bool,
    /// The text after "3 files left out: ".
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

    fn denies_address(&self, _: IpAddr) -> Option<String> {
        None
    }

    fn has_denials(&self) -> bool {
        false
    }

    fn denied_files(&self) -> DeniedFiles {
        DeniedFiles::default()
    }

    fn take_shortfall(&self) -> Option<String> {
        None
    }
}

/// The preview of a call that the user sees before it runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Preview {
    /// Only its title and what it touches.
    #[default]
    None,
    /// The arguments, for a tool with nothing else to show.
    Arguments { arguments: Value },
    /// The whole command.
    Command { command: String },
    /// The change to a file. A hunk's id is its index. Hunks of a truncated change cannot be chosen one by
    /// one.
    Change { change: FileDiff },
}
