//! File changes of a session and their undo: checkpoints, changes, choices and reports.
//!
//! Every prompt is a checkpoint. Paths within the session's directory are relative to it, and that of a folder ends
//! with a slash; invalid UTF-8 in them is replaced. An answer names a file as the list did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tau_tools::FileDiff;
use tau_tools::counted::pluralize;

/// A prompt to which the session can go back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Checkpoint {
    /// The entry of the prompt.
    pub entry_id: String,
    /// The prompt.
    pub text: String,
    /// The time of sending, in milliseconds since 1970.
    pub timestamp: i64,
    /// The paths that its run changed and that are still changed.
    pub files: Vec<String>,
    /// The number of paths that going back to it would restore, including later changes.
    pub restores: usize,
    /// How many of them are folders.
    pub folders: usize,
}

/// All changes of a session that are still in place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionChanges {
    /// Sorted by path.
    pub files: Vec<ChangedFile>,
    /// Changes, certain or possible, that cannot be restored.
    pub not_covered: Vec<NotCovered>,
    /// True if the last undo can be reversed.
    pub redo: bool,
}

/// A path changed by the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedFile {
    pub path: String,
    pub kind: ChangeKind,
    /// Identifies this version of the change; a hunk of another version is not reverted.
    pub version: String,
    /// The change of a text; without hunks for anything else.
    pub diff: FileDiff,
    /// A remark: "binary", "mode 0644 to 0755", "link to x".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True if it has changed since the session's last change.
    pub changed_since: bool,
}

/// The kind of change to a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ChangeKind {
    #[default]
    Changed,
    Created,
    Removed,
}

/// A path that cannot be restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NotCovered {
    pub path: String,
    /// The reason, in words.
    pub reason: String,
}

/// The effects of going back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoPlan {
    /// The checkpoint; absent for a redo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// The files that would be restored without asking.
    pub files: Vec<String>,
    /// The files that something else changed as well.
    pub conflicts: Vec<UndoConflict>,
    pub not_covered: Vec<NotCovered>,
}

/// A path that something else changed as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoConflict {
    pub path: String,
    /// The reason in words: "changed since".
    pub reason: String,
    /// True if the agent's changes can be removed without touching the others.
    pub mergeable: bool,
}

/// The treatment of a path that something else changed as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// Leave it unchanged.
    #[default]
    Keep,
    /// Restore the version before the agent's changes.
    Old,
    /// Remove the agent's changes and keep the rest; leave it unchanged if that is impossible.
    Merge,
}

/// The scope of going back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoScope {
    Files,
    Conversation,
    #[default]
    Both,
}

impl UndoScope {
    /// True if files are restored.
    pub fn files(self) -> bool {
        matches!(self, UndoScope::Files | UndoScope::Both)
    }

    /// True if the conversation returns to the prompt.
    pub fn conversation(self) -> bool {
        matches!(self, UndoScope::Conversation | UndoScope::Both)
    }
}

/// An order to go back to a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoOrder {
    /// The entry of the prompt.
    pub entry_id: String,
    pub scope: UndoScope,
    /// The treatment of each conflict, by path.
    pub choices: BTreeMap<String, ConflictChoice>,
    /// The treatment of the other conflicts.
    pub otherwise: ConflictChoice,
}

/// The result of restoring files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreReport {
    /// Restored completely.
    pub restored: Vec<String>,
    /// Rid of the agent's changes, with other changes kept.
    pub merged: Vec<String>,
    /// Left unchanged, because something else changed them.
    pub kept: Vec<String>,
    /// The files that could not be restored, and the reasons.
    pub failed: Vec<NotCovered>,
}

/// A number of files and folders in words.
pub fn count_files(files: usize, folders: usize) -> String {
    match (files, folders) {
        (files, 0) => pluralize(files, "file"),
        (0, folders) => pluralize(folders, "folder"),
        (files, folders) => format!("{} and {}", pluralize(files, "file"), pluralize(folders, "folder")),
    }
}

/// The number of these paths in words.
pub fn count_paths<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let (folders, files): (Vec<&str>, Vec<&str>) = paths.partition(|path| path.ends_with('/'));
    count_files(files.len(), folders.len())
}

impl RestoreReport {
    /// A one-line summary, which begins with the operation on files: "restored".
    pub fn summary(&self, done: &str) -> String {
        let count = |names: &[String], words: &str| match names {
            [] => None,
            [one] => Some(format!("{words} {one}")),
            several => Some(format!("{words} {}", count_paths(several.iter().map(String::as_str)))),
        };
        let parts = [
            count(&self.restored, done),
            count(&self.merged, "merged"),
            count(&self.kept, "left as they are:"),
            match self.failed.as_slice() {
                [] => None,
                [one] => Some(format!("could not restore {} ({})", one.path, one.reason)),
                [first, rest @ ..] => Some(format!(
                    "could not restore {} ({}) and {} more",
                    first.path,
                    first.reason,
                    rest.len()
                )),
            },
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "no file had to be changed".to_owned() } else { parts.join(", ") }
    }
}

/// An order to revert one change to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RevertOrder {
    /// The path, as in the list of changes.
    pub path: String,
    /// The listed version.
    pub version: String,
    /// The hunk, from 0; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
}
