//! How a folder with project settings is shown before it is trusted: which files there are,
//! and what is different from what was trusted before.
//!
//! Plain data for front ends. What the files may set, and where answers are kept, is in
//! [`super::trust`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::trust::{Project, Trust, shown_name};
use crate::tools::counted::counted;
use crate::tools::diff;

/// How many lines of a file's changes are shown, and how many characters of each.
const LINES: usize = 300;
const LINE: usize = 400;

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
    /// A project as it is shown to a user who works in `cwd`; `kept` has the answers.
    ///
    /// # Errors
    /// When `kept` cannot be read.
    pub fn of(project: &Project, trust: Trust, cwd: &Path, kept: &Path) -> Result<Self, SettingsError> {
        let before = match trust {
            Trust::Changed | Trust::Trusted => project.trusted_before(kept)?.unwrap_or_default(),
            Trust::Unknown | Trust::Refused => Default::default(),
        };
        let now = project.files();
        let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let change = |name: &String| {
            let (old, new) = (before.get(name), now.get(name));
            let kind = match (old, new) {
                (None, _) => ChangeKind::New,
                (Some(_), None) => ChangeKind::Gone,
                (Some(old), Some(new)) if old == new => return None,
                (Some(_), Some(_)) => ChangeKind::Changed,
            };
            let lines = difference(old.map_or("", String::as_str), new.map_or("", String::as_str));
            Some(FileChange { file: shown_name(name), kind, lines })
        };
        let here = cwd.canonicalize().is_ok_and(|cwd| cwd == project.root());
        Ok(Folder {
            root: project.root().to_owned(),
            place: (!here).then(|| project.root().display().to_string()),
            files: project.names(),
            trust,
            changes: names.into_iter().filter_map(change).collect(),
        })
    }

    /// Whether the user has to be asked.
    pub fn is_open(&self) -> bool {
        matches!(self.trust, Trust::Unknown | Trust::Changed)
    }
}

fn difference(old: &str, new: &str) -> Vec<String> {
    let change = diff::between("", old.as_bytes(), new.as_bytes());
    let all: Vec<&String> = change.hunks.iter().flat_map(|hunk| &hunk.lines).collect();
    let mut lines: Vec<String> = all.iter().take(LINES).map(|line| shortened(line)).collect();
    if let more @ 1.. = all.len().saturating_sub(LINES) {
        lines.push(format!("… {}; read the file before you trust it", counted(more, "more line")));
    }
    lines
}

fn shortened(line: &str) -> String {
    match line.chars().count().saturating_sub(LINE) {
        0 => line.to_owned(),
        more => {
            format!("{}… {}", line.chars().take(LINE).collect::<String>(), counted(more, "more character"))
        }
    }
}
