//! The rows of session lists: plain data for [`super::list`] and [`super::index`].

use std::fs::Metadata;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::foreign::claude_folder::ClaudeFolder;
use tau_protocol::session_row::{SessionOrigin, SessionRow};

/// A session file before it is opened.
#[derive(Debug)]
pub(super) struct ListedFile {
    pub(super) path: PathBuf,
    pub(super) modified: SystemTime,
    pub(super) size: u64,
}

impl ListedFile {
    pub(super) fn new(path: PathBuf, metadata: &Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        ListedFile { path, modified, size: metadata.len() }
    }
}

/// A session before it is opened, and the program that wrote it.
#[derive(Debug)]
pub(super) struct SessionCandidate {
    pub(super) file: ListedFile,
    pub(super) origin: SessionOrigin,
    /// Its row, if that is known already.
    pub(super) row: Option<SessionRow>,
    /// The folder that decides its directory, whatever the file names.
    pub(super) folder: Option<Arc<ClaudeFolder>>,
}

impl SessionCandidate {
    pub(super) fn new(file: ListedFile, origin: SessionOrigin) -> Self {
        SessionCandidate { file, origin, row: None, folder: None }
    }
}
