//! Attempts at a task, as lists show them.

use serde::{Deserialize, Serialize};

/// The attempts at a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptList {
    pub id: String,
    pub task: String,
    /// The command that decides.
    pub check: String,
    pub rows: Vec<AttemptRow>,
}

/// One attempt, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRow {
    pub number: u32,
    pub outcome: String,
    /// Whether the command has succeeded.
    pub reached: bool,
    pub time: String,
    pub cost: String,
    pub changed: String,
    pub model: String,
    pub session: String,
    /// The folder of its copy.
    pub place: String,
}
