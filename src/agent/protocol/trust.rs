//! Folders that bring settings along, and what the user has answered about them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the user has answered about a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Refused,
    /// Nothing yet.
    #[default]
    Unknown,
    /// It was trusted as it was before; something in it has changed.
    Changed,
}

/// A folder that brings settings along.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Folder {
    /// The directory whose settings they are.
    pub root: PathBuf,
    /// What it is called where it is not the working directory.
    pub place: Option<String>,
    /// The files, as people know them.
    pub files: Vec<String>,
    pub trust: Trust,
    /// What is not as it was when it was trusted; all of it where it never was.
    pub changes: Vec<FileChange>,
}

/// What happened to a file since its folder was trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    New,
    Changed,
    Gone,
}

/// A file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// `.tau/config.toml`.
    pub file: String,
    pub kind: ChangeKind,
    /// Lines that begin with a blank, `-` or `+`; long ones and too many are cut, and say so.
    pub lines: Vec<String>,
}

impl Folder {
    /// Whether the user has to be asked.
    pub fn is_open(&self) -> bool {
        matches!(self.trust, Trust::Unknown | Trust::Changed)
    }
}
