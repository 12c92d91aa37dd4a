//! Sessions as lists show them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::title;

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
    /// It was begun by a run whose answers are printed, and nobody has named it or continued it on the screen.
    #[serde(default)]
    pub printed: bool,
}

impl SessionRow {
    /// Its name, or how it began.
    pub fn title(&self) -> String {
        let title = self.name.clone().or_else(|| title::of(&self.first_prompt));
        title.filter(|title| !title.is_empty()).unwrap_or_else(|| "(no messages yet)".to_owned())
    }
}

/// A session in which somebody said what is sought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundSession {
    pub path: PathBuf,
    /// The line in which it is, cut to what is around it.
    pub line: String,
}

/// What was said last in a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastExchange {
    /// Of the user; empty when there is no such message near the end.
    #[serde(rename = "person")]
    pub user: String,
    /// Of the model, after that.
    pub model: String,
}
