//! Folders with settings of their own, and the user's trust in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The user's decision about a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    Refused,
    /// No decision yet.
    #[default]
    Unknown,
    /// An earlier version was trusted; something in it has changed.
    Changed,
}

/// A folder with settings of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Folder {
    /// The directory that the settings apply to.
    #[serde(with = "tau_tools::path_text")]
    pub root: PathBuf,
    /// Its name, if it is not the working directory.
    pub place: Option<String>,
    /// The files, by the names that users know.
    pub files: Vec<String>,
    pub trust: Trust,
    /// The changes since it was trusted; everything if it never was.
    pub changes: Vec<FileChange>,
}

/// The change to a file since its folder was trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    New,
    Changed,
    Gone,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// `.tau/config.toml`.
    pub file: String,
    pub kind: ChangeKind,
    /// Lines that begin with a blank, `-` or `+`, uncut.
    pub lines: Vec<String>,
}

impl Folder {
    /// True if the user must be asked.
    pub fn is_open(&self) -> bool {
        matches!(self.trust, Trust::Unknown | Trust::Changed)
    }
}
