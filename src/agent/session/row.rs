//! The rows of session lists: plain data for [`super::list`] and [`super::index`].

use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::agent::protocol::title;

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

/// A session file before it is looked into.
#[derive(Debug)]
pub(super) struct ListedFile {
    pub(super) path: PathBuf,
    pub(super) modified: SystemTime,
    pub(super) size: u64,
}
