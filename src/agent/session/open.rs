//! Opens session files of all versions, and makes copies.

use std::path::Path;

use super::entry::Entry;
use super::file::{Access, OpenFile, SessionFile, may_only_be_read};
use super::foreign::sniff::sniff;
use super::header::{self, Beginning, Form, Header};
use super::read::{self, Contents};
use super::tail::TAIL;
use super::tree::Tree;
use super::{Session, SessionError, migrate};
use crate::settings::private_files::{open_regular, write_private};
use tau_protocol::event::{NoticeLevel, SessionInfo};
use tau_protocol::model::ThinkingLevel;
use tau_protocol::session_row::SessionOrigin;
use tau_tools::paths::reason;
use tau_tools::regular_files::read_capped;

impl Session {
    /// Opens a session file for appending and locks it. Files of versions 1 and 2 are rewritten as version 3;
    /// documents from before them become a new file beside the old one; files of a later version, and
    /// unwritable ones, are opened for reading: appending then fails, and appended entries stay in memory.
    /// The session that this process has open also counts as locked.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        Self::open_as(path, Access::Write)
    }

    /// Like [`Session::open`], but with other access than usual. A file of an older version that is opened
    /// for reading only is read as if it had been rewritten.
    pub fn open_as(path: &Path, access: Access) -> Result<Self, SessionError> {
        let mut opened = SessionFile::open(path, access)?;
        let bytes = opened.whole()?;
        Self::read(path, opened, &bytes, access)
    }

    pub(super) fn read(
        path: &Path,
        opened: OpenFile,
        bytes: &[u8],
        access: Access,
    ) -> Result<Self, SessionError> {
        let contents = read::contents(bytes).ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
        let is_writable = opened.is_writable();
        let file = opened.into_session_file(bytes.len() as u64, bytes.last().copied());
        let as_current = |file| {
            let current = migrate::to_current(bytes);
            let contents = read::contents(&current);
            let contents = contents.ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
            Ok(Self::from_contents(file, contents, &current))
        };
        let for_reading = || {
            SessionFile::read_only(
                path.to_owned(),
                "its older format cannot be rewritten, so it is read-only",
            )
        };
        match contents.header.form() {
            Form::Current => Ok(Self::from_contents(file, contents, bytes)),
            Form::Old if access == Access::Read => as_current(file),
            Form::Old if !is_writable => as_current(for_reading()),
            Form::Old => match Self::migrate(path, bytes, file) {
                Err(SessionError::Io { source, .. }) if may_only_be_read(&source) => {
                    as_current(for_reading())
                }
                migrated => migrated,
            },
            Form::Newer => {
                let reason = "written by a later version of tau, so it is read-only";
                Ok(Self::from_contents(SessionFile::read_only(path.to_owned(), reason), contents, bytes))
            }
            Form::Document => Ok(Self::import(path, bytes, &contents.header)),
        }
    }

    /// A new session with all entries of `path`, which is not locked and not changed: for a
    /// session that another tau has open, or one to continue elsewhere. Its file is created, in
    /// `dir`, with the first message. What another agent wrote is recognised.
    pub fn copy(path: &Path, dir: Option<&Path>, cwd: Option<&Path>) -> Result<Self, SessionError> {
        match sniff(path) {
            Some(origin) => Self::begin_from(path, origin, dir, cwd),
            None => Self::copy_native_file(path, SessionOrigin::Tau, dir, cwd),
        }
    }

    /// Like [`Session::copy`], for a file in tau's format; `source` is the program that wrote it.
    pub(super) fn copy_native_file(
        path: &Path,
        source: SessionOrigin,
        dir: Option<&Path>,
        cwd: Option<&Path>,
    ) -> Result<Self, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let mut file = open_regular(path).map_err(failed)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).map_err(failed)?;
        let not_a_session = || SessionError::NotASession(path.to_owned());
        let header = read::header(&mut bytes.as_slice()).map_err(failed)?.ok_or_else(not_a_session)?;
        let cwd = cwd.unwrap_or(&header.cwd);
        let (parent, helper_part) = (Some(path), header.kind());
        let beginning = Beginning { parent, source, helper_part, ..Beginning::default() };
        let mut session = Self::new(dir, cwd, None, beginning);
        if header.form() == Form::Document {
            session.take_all(migrate::import(&bytes));
            return Ok(session);
        }
        if header.form() == Form::Old {
            bytes = migrate::to_current(&bytes);
        }
        let contents = read::contents(&bytes).ok_or_else(not_a_session)?;
        session.skipped = contents.skipped;
        session.tree = tree_of(&contents.header, contents.entries);
        session.info.name = session.tree.name().map(str::to_owned);
        session.info.resumed = true;
        // The original lines, so that they keep unknown fields.
        let lines = read::lines(&bytes).filter(|line| Header::parse(line).is_none());
        for line in lines {
            session.wait([line, b"\n"].concat());
        }
        Ok(session)
    }

    /// Moves the session, whose directory no longer exists, to another directory; its file to `dir`, if given. Fails
    /// when that cannot be written: the session is then as it was.
    pub fn move_to(self, dir: Option<&Path>, cwd: &Path) -> Result<Self, SessionError> {
        let Some(old) = self.info.file.clone() else { return Ok(self) };
        let failed = |path: &Path, source| SessionError::Io { path: path.to_owned(), source };
        let bytes = read_capped(&old, u64::MAX).map_err(|error| failed(&old, error))?;
        let name = old.file_name().unwrap_or_default();
        let new = dir.or(old.parent()).unwrap_or(Path::new("/")).join(name);
        let moved = migrate::with_fields(&bytes, header::place(cwd));
        write_private(&new, &moved).map_err(|error| failed(&new, error))?;
        // The old file keeps its lock until the new one is locked.
        let mut session = Self::open_tail(&new, Access::Write, TAIL)?;
        drop(self);
        if new != old
            && let Err(error) = std::fs::remove_file(&old)
        {
            let text = format!("{} could not be removed: {}", old.display(), reason(&error));
            session.notes.push((NoticeLevel::Warning, text));
        }
        Ok(session)
    }

    pub(super) fn from_contents(file: SessionFile, contents: Contents, bytes: &[u8]) -> Self {
        let header = &contents.header;
        let line = read::lines(bytes).find(|line| Header::parse(line).is_some()).unwrap_or_default();
        let line = String::from_utf8_lossy(line).into();
        let info = SessionInfo {
            id: header.id.clone(),
            file: Some(file.path().to_owned()),
            name: None,
            cwd: header.cwd.clone(),
            resumed: true,
            stopped: None,
        };
        let tree = tree_of(&contents.header, contents.entries);
        let skipped = contents.skipped;
        let mut session = Session {
            info,
            tree,
            file: Some(file),
            skipped,
            header: line,
            unread: None,
            notes: Vec::new(),
            program: SessionOrigin::Tau,
        };
        session.info.name = session.tree.name().map(str::to_owned);
        session
    }

    fn migrate(path: &Path, bytes: &[u8], old: SessionFile) -> Result<Self, SessionError> {
        let current = migrate::to_current(bytes);
        write_private(path, &current).map_err(|source| SessionError::Io { path: path.to_owned(), source })?;
        // The old file keeps its lock until the new one is locked in its place.
        let opened = SessionFile::open(path, Access::Write);
        drop(old);
        let mut opened = opened?;
        let bytes = opened.whole()?;
        let contents = read::contents(&bytes).ok_or_else(|| SessionError::NotASession(path.to_owned()))?;
        Ok(Self::from_contents(
            opened.into_session_file(bytes.len() as u64, bytes.last().copied()),
            contents,
            &bytes,
        ))
    }

    fn import(path: &Path, bytes: &[u8], header: &Header) -> Self {
        let mut session = Self::fresh(path.parent(), &header.cwd, None, Some(path));
        session.take_all(migrate::import(bytes));
        session
    }
}

/// The tree of a file's entries; the leaf is the last of them.
pub(super) fn tree_of(header: &Header, entries: Vec<Entry>) -> Tree {
    let (model, thinking) = initial(header);
    let mut tree = Tree::default();
    tree.begin_with(model, thinking);
    entries.into_iter().for_each(|entry| tree.push(entry));
    tree
}

/// The model and the thinking level in a header.
pub(super) fn initial(header: &Header) -> (Option<(String, String)>, Option<ThinkingLevel>) {
    let model = header.provider.clone().zip(header.model_id.clone());
    (model, header.thinking_level.as_deref().and_then(ThinkingLevel::from_name))
}
