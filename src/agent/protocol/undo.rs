//! What a session changed in files, and going back: checkpoints, changes, choices and reports.
//!
//! Every prompt is a checkpoint. Paths are relative to the session's directory if they are in it; what
//! is no UTF-8 in them is replaced. A file is named in an answer as it was named in the list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tau_tools::FileDiff;

/// A prompt that the session can go back to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Checkpoint {
    /// The entry of the prompt.
    pub entry_id: String,
    /// The prompt.
    pub text: String,
    /// When it was sent, in milliseconds since 1970.
    pub timestamp: i64,
    /// What the run that it began has changed and is still changed: the paths.
    pub files: Vec<String>,
    /// How many paths would be restored by going back to it, which includes what was changed later.
    pub restores: usize,
}

/// Everything that a session changed and that is still changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionChanges {
    /// In the order of their paths.
    pub files: Vec<ChangedFile>,
    /// What changed, or may have changed, and cannot be restored.
    pub not_covered: Vec<NotCovered>,
    /// Whether the last undo can be taken back.
    pub redo: bool,
}

/// A path that the session changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedFile {
    pub path: String,
    pub kind: ChangeKind,
    /// Names this version of the change; a hunk of another version is not reverted.
    pub version: String,
    /// The change of a text; without hunks for anything else.
    pub diff: FileDiff,
    /// What else there is to say: "binary", "mode 0644 to 0755", "link to x".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True if it is no longer as the session left it.
    pub changed_since: bool,
}

/// What happened to a path.
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
    /// Why, in words.
    pub reason: String,
}

/// What going back would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoPlan {
    /// The checkpoint; absent for a redo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_id: Option<String>,
    /// What would be restored without a question.
    pub files: Vec<String>,
    /// What was changed by somebody else as well.
    pub conflicts: Vec<UndoConflict>,
    pub not_covered: Vec<NotCovered>,
}

/// A path that somebody else changed as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UndoConflict {
    pub path: String,
    /// In words: "changed since".
    pub reason: String,
    /// Whether the changes of the agent can be taken out of it without touching the others.
    pub mergeable: bool,
}

/// What is done with a path that somebody else changed as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Put what it was before the agent in its place.
    Old,
    /// Take out what the agent changed, and leave the rest; leave it as it is if that is not possible.
    Merge,
}

/// What goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoScope {
    Files,
    Conversation,
    #[default]
    Both,
}

impl UndoScope {
    /// Whether files are restored.
    pub fn files(self) -> bool {
        matches!(self, UndoScope::Files | UndoScope::Both)
    }

    /// Whether the conversation returns to the prompt.
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
    /// What is done with each conflict, by path.
    pub choices: BTreeMap<String, ConflictChoice>,
    /// What is done with the other conflicts.
    pub otherwise: ConflictChoice,
}

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RestoreReport {
    /// Restored as they were.
    pub restored: Vec<String>,
    /// Without what the agent changed, with what somebody else changed.
    pub merged: Vec<String>,
    /// Left as they are, because somebody else changed them.
    pub kept: Vec<String>,
    /// What could not be restored, and why.
    pub failed: Vec<NotCovered>,
}

impl RestoreReport {
    /// In one line, which begins with what was done to files: "restored".
    pub fn summary(&self, done: &str) -> String {
        let count = |names: &[String], words: &str| match names {
            [] => None,
            [one] => Some(format!("{words} {one}")),
            several => Some(format!("{words} {} files", several.len())),
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

/// An order to take back one change of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RevertOrder {
    /// As in the list of changes.
    pub path: String,
    /// The version that was listed.
    pub version: String,
    /// Which hunk, from 0; without one all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<usize>,
}
