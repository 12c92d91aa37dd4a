//! Converts a session of another agent to one of tau.

use std::path::{Path, PathBuf};

use super::draft::Conversation;
use super::places::{directory, directory_of, row_of};
use super::{claude, codex, codex_names, opencode, outputs, scan};
use crate::session::entry::{Body, Entry};
use crate::session::file::Flush;
use crate::session::header::Beginning;
use crate::session::words::{exchange_of, words_of};
use crate::session::{Session, SessionError, one_line};
use crate::settings::paths::cwd_name;
use tau_protocol::event::NoticeLevel;
use tau_protocol::session_row::{LastExchange, SessionOrigin};
use tau_tools::OutputLimits;
use tau_tools::counted::pluralize;

/// The bytes at the end of a file that are read for its last exchange.
const END: u64 = 512 * 1024;
/// The number of messages that are read for it, if they are stored one by one.
const LAST: usize = 16;

/// The conversation in lines of that program.
fn conversation(origin: SessionOrigin, bytes: &[u8]) -> Conversation {
    match origin {
        SessionOrigin::Codex => codex::read(bytes),
        _ => claude::read(bytes),
    }
}

impl Session {
    /// A new session with the content of another agent's file, which is not changed. The new file is created,
    /// in `dir`, with the first thing that is done in it. It runs in `cwd`, or in the directory of the original.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn begin_from(
        path: &Path,
        origin: SessionOrigin,
        dir: Option<&Path>,
        cwd: Option<&Path>,
    ) -> Result<Self, SessionError> {
        let mut session = match origin {
            SessionOrigin::Tau => return Self::copy_native_file(path, origin, dir, cwd),
            // The format is shared with pi.
            SessionOrigin::Pi => {
                let own = directory(path, origin).filter(|_| cwd.is_none());
                let dir = dir.map(|dir| own.as_deref().map_or(dir.to_owned(), |cwd| folder_of(dir, cwd)));
                Self::copy_native_file(path, origin, dir.as_deref(), cwd.or(own.as_deref()))?
            }
            _ => Self::from_foreign_file(path, origin, dir, cwd)?,
        };
        let program = origin.program();
        let text =
            format!("a session of {program}: what you send continues in a copy; the original stays as it is");
        session.notes.insert(0, (NoticeLevel::Info, text));
        Ok(session)
    }

    /// Another agent's session as it is, under its own id, to be read only: no file is created.
    ///
    /// # Errors
    /// See [`SessionError`].
    pub fn original(path: &Path, origin: SessionOrigin) -> Result<Self, SessionError> {
        let mut session = Self::begin_from(path, origin, None, None)?;
        session.program = origin;
        Ok(match row_of(path, origin) {
            Some(row) => session.under_id(&row.id),
            None => session,
        })
    }

    fn from_foreign_file(
        path: &Path,
        origin: SessionOrigin,
        dir: Option<&Path>,
        cwd: Option<&Path>,
    ) -> Result<Self, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let read = match origin {
            SessionOrigin::Opencode => opencode::read(path, None),
            _ => scan::whole(path).map(|bytes| conversation(origin, &bytes)),
        };
        let mut read = read.map_err(failed)?;
        read.cwd = directory_of(path, origin, &read.cwd);
        match origin {
            SessionOrigin::Codex => read.name = codex_names::name_of(path, &read.id).or(read.name),
            SessionOrigin::Claude => {
                let count = claude::subagents(path);
                if count > 0 {
                    read.left_out.insert("subagent transcript", count);
                }
            }
            _ => {}
        }
        let limits = OutputLimits::default();
        let missing = outputs::restore(&mut read.entries, path, origin, Some(&limits));
        if missing > 0 {
            read.left_out.insert("large output", missing);
        }
        if !read.entries.iter().any(|entry| matches!(entry.body, Body::Message { .. })) {
            return Err(SessionError::NotASession(path.to_owned()));
        }
        let beginning = Beginning { parent: Some(path), source: origin, ..Beginning::default() };
        let dir = dir.map(|dir| cwd.map_or_else(|| folder_of(dir, &read.cwd), |_| dir.to_owned()));
        let mut session = Self::new(dir.as_deref(), cwd.unwrap_or(&read.cwd), None, beginning);
        session.take_all(read.entries);
        session.skipped = read.skipped;
        if let Some(name) = read.name.map(|name| one_line(&name)).filter(|name| !name.is_empty()) {
            session.info.name = Some(name.clone());
            session.add(Body::SessionInfo { name }, Flush::Later)?;
        }
        let left_out = read.left_out.iter().map(|(what, count)| pluralize(*count as u64, what));
        let left_out = left_out.collect::<Vec<_>>().join(", ");
        if !left_out.is_empty() {
            let text = format!("not carried over from {}: {left_out}", origin.program());
            session.notes.push((NoticeLevel::Warning, text));
        }
        Ok(session)
    }
}

/// The folder for the sessions of `cwd`, if `dir` is that of another directory. A folder chosen by the user
/// is used for all.
fn folder_of(dir: &Path, cwd: &Path) -> PathBuf {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    match name.starts_with("--") && name.ends_with("--") {
        true => dir.with_file_name(cwd_name(cwd)),
        false => dir.to_owned(),
    }
}

/// The last exchange of another agent's session, without reading it completely. Fails with errors of the file
/// system.
pub(in crate::session) fn last_exchange(path: &Path, origin: SessionOrigin) -> std::io::Result<LastExchange> {
    let read = match origin {
        SessionOrigin::Opencode => opencode::read(path, Some(LAST))?,
        _ => conversation(origin, &scan::end(path, END)?),
    };
    Ok(exchange_of(read.entries.iter().rev().filter_map(words_of)))
}

/// The entries of another agent's session, with outputs in full. Fails with errors of the file system.
pub(in crate::session) fn entries(path: &Path, origin: SessionOrigin) -> std::io::Result<Vec<Entry>> {
    let mut read = match origin {
        SessionOrigin::Opencode => opencode::read(path, None)?,
        _ => conversation(origin, &scan::whole(path)?),
    };
    outputs::restore(&mut read.entries, path, origin, None);
    Ok(read.entries)
}
