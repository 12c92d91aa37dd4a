//! Attempts at a task, as lists show them.

use serde::{Deserialize, Serialize};

use super::approval::PermissionMode;
use super::model::ThinkingLevel;

/// Maximum number of attempts at a task.
pub const MOST_ATTEMPTS: u32 = 16;

/// An order to begin attempts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptOrder {
    pub count: u32,
    /// The command that decides.
    pub check: String,
    pub task: String,
    /// The models that take turns.
    pub models: Vec<String>,
    /// The thinking level; `None` for the usual one of each model.
    pub thinking: Option<ThinkingLevel>,
    pub mode: PermissionMode,
    /// The cost of the session so far, in US dollars.
    pub spent: f64,
    /// The id of the session that counts what they cost.
    #[serde(default)]
    pub session: String,
}

/// News of attempts that a screen has begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptNews {
    /// Whether all have ended.
    pub ended: bool,
    /// US dollars that were not reported before.
    pub dollars: f64,
    /// Whether any of it is estimated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// How they ended, for the user.
    pub said: String,
}

/// The attempts at a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptList {
    pub id: String,
    pub task: String,
    /// The command that decides.
    pub check: String,
    pub rows: Vec<AttemptRow>,
    /// Whether any of them is at work.
    #[serde(default)]
    pub is_running: bool,
    /// Whether this screen has begun them, and can stop them.
    #[serde(default)]
    pub is_own: bool,
}

/// One attempt, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRow {
    pub number: u32,
    pub outcome: String,
    /// Whether the command has succeeded.
    pub reached: bool,
    #[serde(default)]
    pub is_running: bool,
    pub time: String,
    pub cost: String,
    pub changed: String,
    pub model: String,
    pub session: String,
    /// The folder of its copy.
    pub place: String,
}

/// The changes of attempts to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptFile {
    pub path: String,
    pub patches: Vec<AttemptPatch>,
}

/// The changes of one attempt to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptPatch {
    pub attempt: u32,
    pub hunks: Vec<AttemptHunk>,
}

/// A hunk, or a change to a file that has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptHunk {
    /// Its number, from 1; `None` for a file as a whole.
    pub number: Option<usize>,
    /// The lines that it is about in the file that all began with: the first, and the one behind the last.
    pub start: u64,
    pub end: u64,
    pub title: String,
    pub text: String,
}

/// A part of the changes of an attempt: a hunk, or a file as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptPart {
    pub attempt: u32,
    pub path: String,
    /// The number of the hunk, from 1.
    pub hunk: Option<usize>,
}
