//! The tree of a session as rows for a front end: one row per entry, parents before children.
//!
//! Plain data; `session::outline` computes it.

use serde::{Deserialize, Serialize};

/// The kind of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowKind {
    /// A user message; going to it returns its text.
    #[default]
    User,
    /// An answer of the model.
    Assistant,
    /// An answer that only calls tools.
    Calls,
    /// The result of a tool call.
    Tool,
    /// A command run by the user.
    Shell,
    /// A message of an extension.
    Custom,
    /// The summary of the conversation before it.
    Compaction,
    /// The summary of an abandoned branch.
    Branch,
    /// Model, level, name, label and the like.
    Setting,
}

/// An entry of the session, as one row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OutlineRow {
    /// The id of the entry.
    pub id: String,
    /// The index of the parent's row; always smaller than this row's own.
    pub parent: Option<usize>,
    pub kind: RowKind,
    /// The text on one line, truncated.
    pub text: String,
    pub label: Option<String>,
    /// The time of writing, in milliseconds since 1970.
    pub at: i64,
    /// The local UTC offset at that time, in minutes; absent if the time zone is unknown.
    pub ahead: Option<i32>,
}

/// The tree of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outline {
    /// In the order of the file.
    pub rows: Vec<OutlineRow>,
    /// The index of the row of the current entry.
    pub leaf: Option<usize>,
}
