//! The file of a session while it is written: append only, one `write` a line, one writer.
//!
//! What could not be written waits and is tried again first, so that a child is never in the file
//! without its parent. What the lines mean is none of its business: see [`super::entry`].

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::SessionError;
use super::lock::{self, Life, Note, Owner};
use crate::agent::files::{open_with, private_dir};

/// Whether an entry is reason enough to make the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worth {
    /// It waits until there is one that is.
    Waits,
    /// The file is made now.
    File,
}

/// A session's file and the lines that are not in it yet.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    state: State,
    /// Whole lines with their line ends.
    pending: VecDeque<Vec<u8>>,
}

#[derive(Debug)]
enum State {
    /// To be made with the first message.
    Absent,
    /// Open for appending, locked.
    Open(Appender),
    /// Not written to, for this reason.
    ReadOnly(String),
    /// Opened to be looked at: what is appended is in memory only, and that is no failure.
    Looked,
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
pub struct Opened {
    path: PathBuf,
    /// At its beginning.
    pub file: File,
    /// Why it is not written to, if it may not be.
    reason: Option<String>,
    access: Access,
}

impl Opened {
    /// All of it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn whole(&mut self) -> Result<Vec<u8>, SessionError> {
        let failed = |source| SessionError::Io { path: self.path.clone(), source };
        io::Seek::rewind(&mut self.file).map_err(failed)?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// The file from now on; `len` of it are known, and `last` is its last byte.
    pub fn done(self, len: u64, last: Option<u8>) -> SessionFile {
        let state = match self.reason {
            _ if self.access == Access::Read => State::Looked,
            Some(reason) => State::ReadOnly(reason),
            None => {
                let note = Note::leave(&self.path);
                State::Open(Appender::new(self.file, len, last, note))
            }
        };
        SessionFile { path: self.path, state, pending: VecDeque::new() }
    }
}

impl SessionFile {
    /// A file that is made with the first entry that is worth it; `lines` then come first.
    pub fn absent(path: PathBuf, lines: impl IntoIterator<Item = Vec<u8>>) -> Self {
        SessionFile { path, state: State::Absent, pending: lines.into_iter().collect() }
    }

    /// A file that is not written to. Each attempt fails with `reason`.
    pub fn read_only(path: PathBuf, reason: impl Into<String>) -> Self {
        SessionFile { path, state: State::ReadOnly(reason.into()), pending: VecDeque::new() }
    }

    /// Opens the file as `access` says. When it may only be read, it is opened so. What it holds
    /// is then read from [`Opened::file`].
    ///
    /// # Errors
    /// `Locked` when another process holds the lock, else `Io`.
    pub fn open(path: &Path, access: Access) -> Result<Opened, SessionError> {
        let failed = |source| SessionError::Io { path: path.to_owned(), source };
        let (mut file, reason) = match open_with(OpenOptions::new().read(true).append(true), path) {
            Ok(file) => (file, None),
            Err(error) if may_only_be_read(&error) => {
                let file = open_with(OpenOptions::new().read(true), path).map_err(failed)?;
                (file, Some(error.to_string()))
            }
            Err(error) => return Err(failed(error)),
        };
        match access {
            Access::Write if reason.is_none() => lock(&file, path)?,
            Access::Write | Access::Read | Access::TakeOver => {}
        }
        // A huge file that is no session is recognised by its first line.
        let header = super::read::header(&mut file).map_err(failed)?;
        if header.is_none() {
            return Err(SessionError::NotASession(path.to_owned()));
        }
        io::Seek::rewind(&mut file).map_err(failed)?;
        Ok(Opened { path: path.to_owned(), file, reason, access })
    }

    /// Whether it was opened with [`Access::Read`].
    pub fn is_looked_at(&self) -> bool {
        matches!(self.state, State::Looked)
    }

    /// Where it is, or will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What somebody else appended since the last look; whole lines as far as they wrote whole
    /// lines.
    pub fn foreign(&mut self) -> Vec<u8> {
        match &mut self.state {
            State::Open(appender) => appender.foreign().unwrap_or_default(),
            State::Absent | State::ReadOnly(_) | State::Looked => Vec::new(),
        }
    }

    /// Appends a line, after those that wait.
    ///
    /// # Errors
    /// When one of them could not be written: it and those after it wait.
    pub fn append(&mut self, line: Vec<u8>, worth: Worth) -> io::Result<()> {
        if matches!(self.state, State::Looked) {
            return Ok(());
        }
        self.pending.push_back(line);
        if matches!(self.state, State::Absent) && worth == Worth::Waits {
            return Ok(());
        }
        self.drain()
    }

    /// Writes what waits, if the file is there, and brings it to disk.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Open(_)) {
            self.drain()?;
        }
        match &mut self.state {
            State::Open(appender) => appender.sync(&self.path),
            State::Absent | State::ReadOnly(_) | State::Looked => Ok(()),
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        if matches!(self.state, State::Absent) {
            self.state = State::Open(Appender::create(&self.path)?);
        }
        while let Some(line) = self.pending.front() {
            match &mut self.state {
                State::Open(appender) => appender.write(line, &self.path),
                State::ReadOnly(reason) => Err(io::Error::other(reason.clone())),
                State::Absent | State::Looked => Ok(()),
            }
            .inspect_err(|_| self.remove_empty())?;
            self.pending.pop_front();
        }
        Ok(())
    }

    /// A file that could not even take its header is not left behind.
    fn remove_empty(&mut self) {
        if let State::Open(appender) = &self.state
            && appender.fresh
            && appender.len == 0
            && std::fs::remove_file(&self.path).is_ok()
        {
            self.state = State::Absent;
        }
    }
}

fn may_only_be_read(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A file open for appending.
#[derive(Debug)]
struct Appender {
    file: File,
    /// Its length, as far as we know.
    len: u64,
    /// The last line has no end: one is written before the next line.
    open_line: bool,
    /// Something was written since the last `sync`.
    unsynced: bool,
    /// We made it, and its folder has not been brought to disk yet.
    fresh: bool,
    /// Tells others who writes here.
    note: Option<Note>,
}

impl Appender {
    fn new(file: File, len: u64, last: Option<u8>, note: Option<Note>) -> Self {
        let open_line = last.is_some_and(|byte| byte != b'\n');
        Appender { file, len, open_line, unsynced: false, fresh: false, note }
    }

    fn create(path: &Path) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        let mut options = OpenOptions::new();
        let file = open_with(options.read(true).append(true).create_new(true).mode(0o600), path)?;
        // Nobody else can know the new file, so the lock is free.
        file.try_lock()
            .or_else(|error| if is_held(&error) { Err(io::Error::other(error)) } else { Ok(()) })?;
        let note = Note::leave(path);
        Ok(Appender { file, len: 0, open_line: false, unsynced: true, fresh: true, note })
    }

    /// What was appended behind what we know of.
    fn foreign(&mut self) -> io::Result<Vec<u8>> {
        let len = self.file.metadata()?.len();
        if len == self.len {
            return Ok(Vec::new());
        }
        let from = self.len.min(len);
        let mut bytes = vec![0; usize::try_from(len.saturating_sub(from)).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, from)?;
        self.len = len;
        self.open_line = match bytes.last() {
            Some(byte) => *byte != b'\n',
            // It was made shorter: what is its last byte now is not worth a read.
            None => len > 0,
        };
        Ok(bytes)
    }

    /// Writes one line with one `write`. When it fails the file is as it was before.
    fn write(&mut self, line: &[u8], path: &Path) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            self.revive(path)?;
        }
        let repaired;
        let bytes = if self.open_line {
            repaired = [b"\n", line].concat();
            &repaired
        } else {
            line
        };
        let written = self.write_once(bytes)?;
        if written < bytes.len() {
            // Only our own piece is taken back; who else writes has put nothing behind it yet.
            if self.file.metadata()?.len() == self.len.saturating_add(written as u64) {
                self.file.set_len(self.len)?;
            } else {
                self.open_line = true;
            }
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left for a whole line"));
        }
        self.len = self.len.saturating_add(written as u64);
        self.open_line = false;
        self.unsynced = true;
        Ok(())
    }

    fn write_once(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.file.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// The file was deleted while it was open: its content goes into a new one of the same name.
    fn revive(&mut self, path: &Path) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, 0)?;
        drop(self.note.take());
        let mut new = Appender::create(path)?;
        new.file.write_all(&bytes)?;
        new.len = self.len;
        new.open_line = self.open_line;
        *self = new;
        Ok(())
    }

    fn sync(&mut self, path: &Path) -> io::Result<()> {
        if !self.unsynced {
            return Ok(());
        }
        self.file.sync_data()?;
        self.unsynced = false;
        if self.fresh
            && let Some(dir) = path.parent()
        {
            // The name of a new file is in its folder. Not every file system can do this.
            File::open(dir).and_then(|dir| dir.sync_all()).unwrap_or_default();
            self.fresh = false;
        }
        Ok(())
    }
}

fn is_held(error: &TryLockError) -> bool {
    matches!(error, TryLockError::WouldBlock)
}

/// Takes the advisory lock for the one writer. It ends with the process, whatever ends that.
fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(error) if is_held(&error) => {
            let noted = lock::noted(path);
            let owner = match (lock_owner(file), noted) {
                (Some(pid), Some(noted)) if noted.pid == pid => noted,
                (Some(pid), _) => Owner::process(pid),
                (None, noted) => noted.unwrap_or_default(),
            };
            Err(SessionError::Locked { path: path.to_owned(), owner })
        }
        // A file system without locks: the note alone tells of another writer.
        Err(_) => match lock::noted(path) {
            Some(owner) if owner.life() != Life::Ended => {
                Err(SessionError::Locked { path: path.to_owned(), owner })
            }
            _ => Ok(()),
        },
    }
}

/// The process that holds the lock, from the kernel's table of locks (Linux, proc(5)):
/// `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`.
fn lock_owner(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let table = std::fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        match fields.as_slice() {
            [_, "FLOCK", _, _, owner, place, ..] if place.rsplit(':').next() == Some(&inode) => {
                owner.parse().ok().filter(|pid| *pid > 0)
            }
            _ => None,
        }
    })
}
