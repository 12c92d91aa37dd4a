//! An index of session files, so that lists need not open unchanged files again.
//!
//! Keyed by path, size and time of the last change. The files are the truth: an index that is
//! missing, torn or of another version is as good as an empty one and may be deleted at any time.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::row::{ListedFile, SessionCandidate};
use crate::settings::private_files::{read_capped, write_private};
use tau_protocol::session_row::SessionRow;

/// The first line of an index: its version. The index is ignored if it differs.
const VERSION: &str = "tau sessions 7";
/// The size limit of an index, in bytes: some hundred thousand sessions.
const MAX_SIZE: u64 = 256 * 1024 * 1024;

/// Known facts about session files.
#[derive(Debug, Default)]
pub struct SessionIndex {
    files: HashMap<PathBuf, IndexLine>,
    changed: bool,
    /// The path to read it from, until it has been read.
    unread: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct IndexLine {
    /// Nanoseconds since 1970, with the precision of the file system.
    modified: u64,
    size: u64,
    /// `None` for a file that is not a session; `path` then names it.
    row: Option<SessionRow>,
    #[serde(with = "tau_tools::path_text", default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
}

impl SessionIndex {
    /// The index at `path`, which is read with the first list; empty if it cannot be read.
    pub fn load(path: &Path) -> Self {
        SessionIndex { unread: Some(path.to_owned()), ..SessionIndex::default() }
    }

    /// Reads the index, if not yet done.
    pub(super) fn read(&mut self) {
        let Some(path) = self.unread.take() else { return };
        let bytes = read_capped(&path, MAX_SIZE).unwrap_or_default();
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if lines.next() != Some(VERSION.as_bytes()) {
            return;
        }
        for line in lines {
            let Ok(file) = serde_json::from_slice::<IndexLine>(line) else { continue };
            let path = file.path.as_ref().or(file.row.as_ref().map(|row| &row.path)).cloned();
            if let Some(path) = path {
                self.files.insert(path, file);
            }
        }
    }

    /// Writes the index to `path` if it has changed. If it fails, only time is lost.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        if !self.changed {
            return Ok(());
        }
        let mut text = format!("{VERSION}\n").into_bytes();
        for file in self.files.values() {
            text.extend(serde_json::to_vec(file)?);
            text.push(b'\n');
        }
        write_private(path, &text)
    }

    /// The row of an unchanged file.
    pub(super) fn row(&self, file: &ListedFile) -> Option<&SessionRow> {
        let known = self.files.get(&file.path)?;
        let same = known.size == file.size && known.modified == nanos(file.modified);
        known.row.as_ref().filter(|_| same)
    }

    /// Remembers a file.
    pub(super) fn learn(&mut self, file: &ListedFile, row: Option<SessionRow>) {
        let path = row.is_none().then(|| file.path.clone());
        let known = IndexLine { modified: nanos(file.modified), size: file.size, row, path };
        self.files.insert(file.path.clone(), known);
        self.changed = true;
    }

    /// Removes missing files under `root`, if `all` of it was listed.
    pub(super) fn keep(&mut self, root: &Path, all: bool, listed: &[SessionCandidate]) {
        if !all {
            return;
        }
        let here: HashSet<&Path> = listed.iter().map(|listed| listed.file.path.as_path()).collect();
        let before = self.files.len();
        self.files.retain(|path, _| !path.starts_with(root) || here.contains(path.as_path()));
        self.changed |= self.files.len() < before;
    }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
