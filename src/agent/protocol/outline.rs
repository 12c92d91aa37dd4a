//! The tree of a session as rows for a front end: one row per entry, parents before children.
//!
//! Plain data; `session::outline` computes it.

use serde::{Deserialize, Serialize};

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowKind {
    /// A message of the user; going there brings its text back.
    #[default]
    User,
    /// An answer of the model.
    Assistant,
    /// An answer that only calls tools.
    Calls,
    /// The result of a tool call.
    Tool,
    /// A command that the user ran.
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
    /// Id of the entry.
    pub id: String,
    /// Index of the parent's row; always smaller than this row's own.
    pub parent: Option<usize>,
    pub kind: RowKind,
    /// Its text, on one line, truncated.
    pub text: String,
    pub label: Option<String>,
    /// When it was written, in milliseconds since 1970.
    pub at: i64,
    /// The local UTC offset at that time, in minutes; absent when the time zone is unknown.
    pub ahead: Option<i32>,
}

/// The tree of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Outline {
    /// In the order of the file.
    pub rows: Vec<OutlineRow>,
    /// Index of the row the conversation is at.
    pub leaf: Option<usize>,
}
