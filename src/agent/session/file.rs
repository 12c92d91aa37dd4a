//! The file of a session while it is written: append only, one `write` per line, one writer.
//!
//! Lines that could not be written wait and are retried first, so that a child is never in the file without
//! its parent. [`super::entry`] interprets the lines. [`super::appender`] writes the bytes, and handles
//! failures.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::appender::Appender;
use super::disk::{Disk, Real};
use super::{SessionError, list, lock};
use crate::settings::private_files::{LockFile, open_with};

/// Held in a folder of sessions while one with an ID that is not its own alone is begun.
pub const NEW_LOCK: &str = ".new-session.lock";

/// Whether an entry causes the file to be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// It waits in memory until the file exists.
    Later,
    /// The file is created now if it does not exist.
    Now,
}

/// A session's file and the lines that are not yet in it.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    state: State,
    /// Complete lines with their line ends.
    pending: VecDeque<Vec<u8>>,
    /// Whether one of them requires a file, which could not be created.
    due: bool,
    /// The id, if another process may begin a session with it, too.
    claimed: Option<String>,
    /// The first line with another id, as that process was first.
    new_header: Option<String>,
}

#[derive(Debug)]
enum State {
    /// It is created with the first message.
    Absent,
    /// Open for appending, and locked.
    Open(Appender),
    /// Not written to, for this reason.
    ReadOnly(String),
    /// It could only be opened for reading, but may become writable later.
    Refused,
    /// Opened for reading only: appended lines stay in memory, which is not a failure.
    ReadAccess,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For appending, with the lock.
    Write,
    /// For reading, whoever holds the lock: nothing is written.
    Read,
    /// For appending, even if a process that has ended seems to hold the lock.
    TakeOver,
}

/// An open file that is about to be read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    /// Positioned at its beginning.
    pub file: File,
    /// Whether it may currently be written to.
    writable: bool,
    access: Access,
}

impl OpenFile {
    /// Whether it may currently be written to.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The complete content.
    pub fn whole(&mut self) -> Result<Vec<u8>, SessionError> {
        let failed = |source| SessionError::Io { path: self.path.clone(), source };
        io::Seek::rewind(&mut self.file).map_err(failed)?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// The file for writing; `len` bytes of it are known, and `last` is its last byte.
    pub fn into_session_file(self, len: u64, last: Option<u8>) -> SessionFile {
        let state = match self.writable {
            _ if self.access == Access::Read => State::ReadAccess,
            false => State::Refused,
            true => State::Open(Appender::new(Arc::new(Real), self.path.clone(), self.file, len, last)),
        };
        SessionFile::of(self.path, state)
    }
}

impl SessionFile {
    fn of(path: PathBuf, state: State) -> Self {
        let (disk, pending) = (Arc::new(Real), VecDeque::new());
        SessionFile { path, disk, state, pending, due: false, claimed: None, new_header: None }
    }

    /// A file that is created with the first entry that requires it, starting with `lines`.
    pub fn absent(path: PathBuf, lines: impl IntoIterator<Item = Vec<u8>>) -> Self {
        SessionFile { pending: lines.into_iter().collect(), ..Self::of(path, State::Absent) }
    }

    /// A file that is not written to. Each attempt fails with `reason`.
    pub fn read_only(path: PathBuf, reason: impl Into<String>) -> Self {
        Self::of(path, State::ReadOnly(reason.into()))
    }

    /// Opens the file with this access. If it is only readable, it is opened for reading. Its content is then
    /// read from [`OpenFile::file`]. Fails with `Locked` when another process holds the lock, else with `Io`.
    pub fn open(path: &Path, access: Access) -> Result<OpenFile, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let (mut file, writable) = match open_with(OpenOptions::new().read(true).append(true), path) {
            Ok(file) => (file, true),
            Err(error) if may_only_be_read(&error) => {
                (open_with(OpenOptions::new().read(true), path).map_err(failed)?, false)
            }
            Err(error) => return Err(failed(error)),
        };
        match access {
            Access::Write if writable => lock(&file, path)?,
            Access::Write | Access::Read | Access::TakeOver => {}
        }
        // A huge file that is not a session is recognised by its first line.
        let header = super::read::header(&mut file).map_err(failed)?;
        if header.is_none() {
            return Err(SessionError::NotASession(path.to_owned()));
        }
        io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(OpenFile { path: path.to_owned(), file, writable, access })
    }

    /// Uses `disk` for all further operations.
    pub(crate) fn set_disk(&mut self, disk: Arc<dyn Disk>) {
        if let State::Open(appender) = &mut self.state {
            appender.set_disk(Arc::clone(&disk));
        }
        self.disk = disk;
    }

    /// Warnings about repaired problems; each is returned once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        match &mut self.state {
            State::Open(appender) => appender.take_warnings(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => Vec::new(),
        }
    }

    /// Whether it was opened with [`Access::Read`].
    pub fn is_read_only(&self) -> bool {
        matches!(self.state, State::ReadAccess)
    }

    /// Whether the file holds every line.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.state, State::Open(_)) && self.pending.is_empty()
    }

    /// Whether lines are waiting that could not be written to the file.
    pub fn has_unsaved(&self) -> bool {
        match self.state {
            State::Absent => self.due,
            _ => !self.pending.is_empty(),
        }
    }

    /// Its current or future path.
    pub fn path(&self) -> &Path {
        match &self.state {
            State::Open(appender) => appender.path(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => &self.path,
        }
    }

    /// Data appended by other processes since the last call; complete lines if they wrote complete lines.
    pub(crate) fn external_appends(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Open(appender) => appender.external_appends().unwrap_or_default(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => Vec::new(),
        }
    }

    /// Gives a file that does not exist yet another name and first line.
    pub(super) fn rename_absent(&mut self, path: PathBuf, first: Vec<u8>) -> bool {
        let is_absent = matches!(self.state, State::Absent);
        if let Some(line) = self.pending.front_mut().filter(|_| is_absent) {
            (self.path, *line) = (path, first);
        }
        is_absent
    }

    /// The session gets another id when its file is created, if there is one with `id` by then.
    pub(super) fn claim(&mut self, id: &str) {
        self.claimed = Some(id.to_owned());
    }

    /// The first line with another id; returned once.
    pub(super) fn take_new_header(&mut self) -> Option<String> {
        self.new_header.take()
    }

    /// Looks whether another process has begun a session with this id. The lock is held until the file exists.
    fn check_id(&mut self) -> io::Result<Option<LockFile>> {
        let Some((id, folder)) = self.claimed.as_deref().zip(self.path.parent()) else { return Ok(None) };
        let lock = LockFile::take(&folder.join(NEW_LOCK))?;
        if list::of_id(folder, id).is_some()
            && let Some(first) = self.pending.front_mut()
        {
            let mut header: Value = serde_json::from_slice(first)?;
            let own = tau_tools::ids::id().to_string();
            let name = self.path.file_name().unwrap_or_default().to_string_lossy().replace(id, &own);
            header["id"] = own.clone().into();
            let header = header.to_string();
            *first = [header.as_bytes(), b"\n"].concat();
            (self.path, self.claimed, self.new_header) = (folder.join(name), Some(own), Some(header));
        }
        Ok(Some(lock))
    }

    /// Appends a line, after the waiting ones. Fails when one of them could not be written: it and all later
    /// ones wait. Also when all are in the file, but an earlier sync failed and does so again.
    pub fn append(&mut self, line: Vec<u8>, flush: Flush) -> io::Result<()> {
        if matches!(self.state, State::ReadAccess) {
            return Ok(());
        }
        self.pending.push_back(line);
        self.due |= flush == Flush::Now;
        if matches!(self.state, State::Absent) && !self.due {
            return Ok(());
        }
        self.drain()?;
        match &mut self.state {
            State::Open(appender) if appender.is_urgent() => appender.sync(),
            _ => Ok(()),
        }
    }

    /// Creates the file with the waiting lines.
    pub(super) fn make(&mut self) -> io::Result<()> {
        self.due = true;
        self.drain()
    }

    /// Writes the waiting lines, if the file exists or should, and syncs it to disk.
    pub fn flush(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Open(_) | State::Refused) || self.due {
            self.drain()?;
        }
        match &mut self.state {
            State::Open(appender) => appender.sync(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => Ok(()),
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        match &self.state {
            State::Absent => {
                let _lock = self.check_id()?;
                self.state = State::Open(Appender::create(Arc::clone(&self.disk), &self.path)?);
            }
            State::Refused if !self.pending.is_empty() => self.state = self.reopen_for_writing()?,
            State::Refused | State::Open(_) | State::ReadOnly(_) | State::ReadAccess => {}
        }
        while let Some(line) = self.pending.front() {
            match &mut self.state {
                State::Open(appender) => appender.write(line),
                State::ReadOnly(reason) => Err(io::Error::other(reason.clone())),
                State::Absent | State::Refused | State::ReadAccess => Ok(()),
            }
            .inspect_err(|_| self.remove_empty())?;
            self.pending.pop_front();
        }
        self.due = false;
        Ok(())
    }

    /// Reopens a file that was only readable, if it has become writable.
    fn reopen_for_writing(&self) -> io::Result<State> {
        let file = self.disk.open(OpenOptions::new().read(true).append(true), &self.path)?;
        lock(&file, &self.path).map_err(io::Error::other)?;
        // Data that others have appended in the meantime is read when the session is opened again.
        let len = file.metadata()?.len();
        let mut last = [0];
        if let Some(before) = len.checked_sub(1) {
            file.read_exact_at(&mut last, before)?;
        }
        let last = (len > 0).then_some(last[0]);
        Ok(State::Open(Appender::new(Arc::clone(&self.disk), self.path.clone(), file, len, last)))
    }

    /// Removes a file that could not even take its header.
    fn remove_empty(&mut self) {
        if let State::Open(appender) = &self.state
            && appender.is_blank()
            && std::fs::remove_file(&self.path).is_ok()
        {
            self.state = State::Absent;
        }
    }
}

/// Takes the lock of the file.
fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    lock::acquire(file, path).map_err(|owner| SessionError::Locked { path: path.to_owned(), owner })
}

/// Whether the error means that a file or its folder may be read, but not written to.
pub(super) fn may_only_be_read(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses to open a file for writing while it is set.
    #[derive(Debug, Default)]
    struct ReadOnly(std::sync::atomic::AtomicBool);

    impl Disk for ReadOnly {
        fn open(&self, options: &mut OpenOptions, path: &Path) -> io::Result<File> {
            match self.0.load(std::sync::atomic::Ordering::Relaxed) {
                true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
                false => open_with(options, path),
            }
        }
    }

    #[test]
    fn a_file_that_may_be_written_to_again_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        // Another process added a line in the meantime, which has no end.
        std::fs::write(&path, "known\ntheirs").unwrap();
        let opened = OpenFile {
            path: path.clone(),
            file: File::open(&path).unwrap(),
            writable: false,
            access: Access::Write,
        };
        let disk = Arc::new(ReadOnly(true.into()));
        let mut file = opened.into_session_file(6, Some(b'\n'));
        file.set_disk(disk.clone());
        file.flush().unwrap();
        assert!(file.append(b"one\n".to_vec(), Flush::Now).is_err());
        assert!(file.append(b"two\n".to_vec(), Flush::Later).is_err() && file.flush().is_err());
        assert!(!file.is_whole());
        disk.0.store(false, std::sync::atomic::Ordering::Relaxed);
        file.flush().unwrap();
        assert!(file.is_whole());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "known\ntheirs\none\ntwo\n");
        assert!(File::open(&path).unwrap().try_lock().is_err(), "it is locked now");
    }
}
