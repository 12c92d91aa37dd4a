//! Sessions: an append-only tree of entries in one file, and the context that is a fold over it.
//!
//! The format is specified in the project's session format (version 3, shared with pi). A
//! session is written by one task only; [`list`] reads many without opening any whole.

pub mod list;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::event::SessionInfo;
use super::message::Message;
use super::model::ThinkingLevel;

/// Why a session could not be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file has content but is no session. It is left as it is.
    #[error("{path}: not a session file", path = .0.display())]
    NotASession(PathBuf),
    /// The file system said no.
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// Another tau writes to it; its process id.
    #[error("{path}: in use by another tau (process {owner})", path = .path.display())]
    Locked { path: PathBuf, owner: u32 },
}

/// What the model is given of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionContext {
    /// The messages on the path from root to leaf, after compaction and edits.
    pub messages: Vec<Arc<Message>>,
    /// Provider and id of the model last used.
    pub model: Option<(String, String)>,
    /// The thinking level last set.
    pub thinking: Option<ThinkingLevel>,
}

/// An open session.
#[derive(Debug)]
pub struct Session;

impl Session {
    /// A new session for `cwd`. Its file is made in `dir` with the first message; without a
    /// `dir` it stays in memory.
    pub fn begin(_dir: Option<&Path>, _cwd: &Path, _id: Option<String>) -> Self {
        todo!()
    }

    /// Opens a session file.
    pub fn open(_path: &Path) -> Result<Self, SessionError> {
        todo!()
    }

    /// What it is.
    pub fn info(&self) -> &SessionInfo {
        todo!()
    }

    /// What the model is given.
    pub fn context(&self) -> SessionContext {
        todo!()
    }

    /// Unreadable lines that were passed over when it was opened.
    pub fn skipped_lines(&self) -> usize {
        todo!()
    }

    /// Appends a message. It is in memory also when this fails; what could not be written is
    /// tried again with the next append.
    pub fn append(&mut self, _message: Arc<Message>) -> Result<(), SessionError> {
        todo!()
    }

    /// Notes the model that is now used.
    pub fn set_model(&mut self, _provider: &str, _id: &str) -> Result<(), SessionError> {
        todo!()
    }

    /// Notes the thinking level that is now set.
    pub fn set_thinking(&mut self, _level: ThinkingLevel) -> Result<(), SessionError> {
        todo!()
    }

    /// Names it; an empty name takes the name away.
    pub fn set_name(&mut self, _name: &str) -> Result<(), SessionError> {
        todo!()
    }

    /// Brings what was appended to disk (`fdatasync`). Call at the end of a run.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        todo!()
    }
}
