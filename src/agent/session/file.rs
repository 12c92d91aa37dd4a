//! The file of a session while it is written: append only, one `write` a line, one writer.
//!
//! What could not be written waits and is tried again first, so that a child is never in the file
//! without its parent. What the lines mean is in [`super::entry`]. How
//! bytes come into the file, and what is done when they do not, is in [`super::appender`].

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::SessionError;
use super::appender::Appender;
use super::disk::{Disk, Real};
use super::lock;
use crate::settings::private_files::open_with;

/// Whether an entry is a reason to create the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// It waits in memory until the file exists.
    Later,
    /// The file is created now if it does not exist.
    Now,
}

/// A session's file and the lines that are not in it yet.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    state: State,
    /// Whole lines with their line ends.
    pending: VecDeque<Vec<u8>>,
    /// One of them is worth a file, which could not be made.
    due: bool,
}

#[derive(Debug)]
enum State {
    /// To be made with the first message.
    Absent,
    /// Open for appending, locked.
    Open(Appender),
    /// Not written to, for this reason.
    ReadOnly(String),
    /// It could only be opened for reading, but may be written to later.
    Refused,
    /// Opened to be looked at: what is appended is in memory only, and that is no failure.
    ReadAccess,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For appending, with the lock.
    Write,
    /// Whoever holds the lock: nothing is written.
    Read,
    /// For appending, although somebody who has ended seems to hold the lock.
    TakeOver,
}

/// A file that is open and about to be read.
#[derive(Debug)]
pub(crate) struct Opened {
    path: PathBuf,
    /// At its beginning.
    pub file: File,
    /// Whether it may be written to now.
    writable: bool,
    access: Access,
}

impl Opened {
    /// All of it.
    pub fn whole(&mut self) -> Result<Vec<u8>, SessionError> {
        let failed = |source| SessionError::Io { path: self.path.clone(), source };
        io::Seek::rewind(&mut self.file).map_err(failed)?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// The file from now on; `len` of it are known, and `last` is its last byte.
    pub fn done(self, len: u64, last: Option<u8>) -> SessionFile {
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
        SessionFile { path, disk: Arc::new(Real), state, pending: VecDeque::new(), due: false }
    }

    /// A file that is made with the first entry that is worth it; `lines` then come first.
    pub fn absent(path: PathBuf, lines: impl IntoIterator<Item = Vec<u8>>) -> Self {
        SessionFile { pending: lines.into_iter().collect(), ..Self::of(path, State::Absent) }
    }

    /// A file that is not written to. Each attempt fails with `reason`.
    pub fn read_only(path: PathBuf, reason: impl Into<String>) -> Self {
        Self::of(path, State::ReadOnly(reason.into()))
    }

    /// Opens the file as `access` says. When it may only be read, it is opened so. What it holds
    /// is then read from [`Opened::file`].
    ///
    /// # Errors
    /// `Locked` when another process holds the lock, else `Io`.
    pub fn open(path: &Path, access: Access) -> Result<Opened, SessionError> {
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
        // A huge file that is no session is recognised by its first line.
        let header = super::read::header(&mut file).map_err(failed)?;
        if header.is_none() {
            return Err(SessionError::NotASession(path.to_owned()));
        }
        io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Opened { path: path.to_owned(), file, writable, access })
    }

    /// From now on what is done to it is done by `disk`.
    pub(crate) fn set_disk(&mut self, disk: Arc<dyn Disk>) {
        if let State::Open(appender) = &mut self.state {
            appender.set_disk(Arc::clone(&disk));
        }
        self.disk = disk;
    }

    /// Warnings about problems that were repaired; each is returned once.
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

    /// Whether the file holds every line there is.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.state, State::Open(_)) && self.pending.is_empty()
    }

    /// Whether lines wait that belong in the file and could not be written.
    pub fn has_unsaved(&self) -> bool {
        match self.state {
            State::Absent => self.due,
            _ => !self.pending.is_empty(),
        }
    }

    /// Where it is, or will be.
    pub fn path(&self) -> &Path {
        match &self.state {
            State::Open(appender) => appender.path(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => &self.path,
        }
    }

    /// What somebody else appended since the last look; whole lines as far as they wrote whole
    /// lines.
    pub(crate) fn external_appends(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Open(appender) => appender.external_appends().unwrap_or_default(),
            State::Absent | State::ReadOnly(_) | State::Refused | State::ReadAccess => Vec::new(),
        }
    }

    /// Appends a line, after those that wait.
    ///
    /// # Errors
    /// When one of them could not be written: it and those after it wait. Also when all are in the
    /// file, but an earlier attempt to bring it to disk failed and does so again.
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

    /// Makes the file, with what waits.
    pub(super) fn make(&mut self) -> io::Result<()> {
        self.due = true;
        self.drain()
    }

    /// Writes what waits, if the file is there or should be, and brings it to disk.
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

    /// A file that could only be read, if it may be written to by now.
    fn reopen_for_writing(&self) -> io::Result<State> {
        let file = self.disk.open(OpenOptions::new().read(true).append(true), &self.path)?;
        lock(&file, &self.path).map_err(io::Error::other)?;
        // What somebody else has appended meanwhile is met when the session is opened again.
        let len = file.metadata()?.len();
        let mut last = [0];
        if let Some(before) = len.checked_sub(1) {
            file.read_exact_at(&mut last, before)?;
        }
        let last = (len > 0).then_some(last[0]);
        Ok(State::Open(Appender::new(Arc::clone(&self.disk), self.path.clone(), file, len, last)))
    }

    /// A file that could not even take its header is removed again.
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

fn may_only_be_read(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses to open a file for writing as long as it says so.
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
        // Another line was added meanwhile by somebody else, and has no end.
        std::fs::write(&path, "known\ntheirs").unwrap();
        let opened = Opened {
            path: path.clone(),
            file: File::open(&path).unwrap(),
            writable: false,
            access: Access::Write,
        };
        let disk = Arc::new(ReadOnly(true.into()));
        let mut file = opened.done(6, Some(b'\n'));
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
