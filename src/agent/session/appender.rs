//! Appends to a session's file and recovers from disk failures.
//!
//! After a failed sync the kernel marks written data as clean, although it may never have reached the disk;
//! another sync of the same descriptor would report success. So the lines since the last good sync are kept,
//! and after a failed one the file is reopened and they are written again at their own offsets, byte for
//! byte: even if that is interrupted, the file holds no less than before. [`super::file`] decides on the
//! lines.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::lock::{Note, is_held};
use crate::settings::private_files::private_dir;

/// The bytes that may be unsynced until the end of a turn; beyond that they are synced earlier, so that the
/// kept lines stay small as long as the disk works.
const UNSYNCED: usize = 8 * 1024 * 1024;
/// The maximum number of alternative names that are tried if names are taken.
const MAX_BESIDE: usize = 99;

/// A file opened for appending.
#[derive(Debug)]
pub(super) struct Appender {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: File,
    /// The descriptor that holds the lock, if the file was reopened since.
    locked: Option<File>,
    /// Its length, as far as known.
    len: u64,
    /// Whether the last line has no end: one is written before the next line.
    open_line: bool,
    /// Data written since the last good sync.
    unsynced: Vec<Piece>,
    /// Whether the last sync failed, and the data was not written again since.
    sync_failed: bool,
    /// Whether this process created it, and its folder has not been synced yet.
    fresh: bool,
    /// Shows other programs who is writing.
    note: Option<Note>,
    /// Warnings about repaired problems.
    warnings: Vec<String>,
}

/// Bytes of the file, and their offset.
#[derive(Debug)]
struct Piece {
    at: u64,
    bytes: Vec<u8>,
}

impl Appender {
    /// A file that was opened before; `len` bytes of it are known, and `last` is its last byte.
    pub(super) fn new(disk: Arc<dyn Disk>, path: PathBuf, file: File, len: u64, last: Option<u8>) -> Self {
        let open_line = last.is_some_and(|byte| byte != b'\n');
        let note = Note::leave(&path);
        Appender {
            disk,
            path,
            file,
            locked: None,
            len,
            open_line,
            unsynced: Vec::new(),
            sync_failed: false,
            fresh: false,
            note,
            warnings: Vec::new(),
        }
    }

    /// Creates the file, which must not exist.
    pub(super) fn create(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        let file = Self::create_file(&*disk, path)?;
        let mut appender = Self::new(disk, path.to_owned(), file, 0, None);
        appender.fresh = true;
        Ok(appender)
    }

    fn create_file(disk: &dyn Disk, path: &Path) -> io::Result<File> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        let mut options = OpenOptions::new();
        let file = disk.open(options.read(true).append(true).create_new(true).mode(0o600), path)?;
        // No other process can know the new file, so the lock is free.
        match file.try_lock() {
            Err(error) if is_held(&error) => Err(io::Error::other(error)),
            _ => Ok(file),
        }
    }

    /// Uses `disk` for all further operations.
    pub(super) fn set_disk(&mut self, disk: Arc<dyn Disk>) {
        self.disk = disk;
    }

    /// Its path: beside its first one, if another file was put there.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Warnings about repaired problems; each is returned once.
    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Whether this process created it and it is empty.
    pub(super) fn is_blank(&self) -> bool {
        self.fresh && self.len == 0
    }

    /// Whether it should be synced before the end of the turn.
    pub(super) fn is_urgent(&self) -> bool {
        self.sync_failed || self.unsynced.iter().map(|piece| piece.bytes.len()).sum::<usize>() > UNSYNCED
    }

    /// Data that other programs appended after the known part.
    pub(super) fn external_appends(&mut self) -> io::Result<Vec<u8>> {
        let len = self.file.metadata()?.len();
        if len <= self.len {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; usize::try_from(len.saturating_sub(self.len)).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, self.len)?;
        self.len = len;
        self.open_line = bytes.last().is_some_and(|byte| *byte != b'\n');
        Ok(bytes)
    }

    /// Writes one line with one `write`. On failure the file is unchanged. Fails also if another program has cut the
    /// file short: without its first lines it would no longer be a session.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.len() < self.len {
            return Err(io::Error::other("another program has removed a part of the file"));
        }
        if found.nlink() == 0 {
            self.recreate()?;
        }
        let bytes = if self.open_line { [b"\n", line].concat() } else { line.to_vec() };
        let written = self.disk.write(&self.file, &bytes)?;
        if written < bytes.len() {
            self.undo_partial_write(written)?;
            return Err(io::Error::new(ErrorKind::StorageFull, "no space left for a complete line"));
        }
        let at = self.len;
        self.len = at.saturating_add(written as u64);
        self.open_line = false;
        self.unsynced.push(Piece { at, bytes });
        Ok(())
    }

    /// Removes the first part of a line from the file again.
    fn undo_partial_write(&mut self, written: usize) -> io::Result<()> {
        let end = self.len.saturating_add(written as u64);
        // Only this process's own data is removed, and only if nothing was appended after it.
        let cut = match self.file.metadata() {
            Ok(metadata) if metadata.len() == end => self.disk.cut(&self.file, self.len),
            other => other.map(|_| ()).and(Err(io::Error::other("another program writes to it"))),
        };
        if cut.is_err() {
            // It stays a torn line, which must not be continued.
            self.open_line = true;
        }
        cut
    }

    /// Syncs written data to disk. Fails when that failed, and so did writing it again. All of it is retried
    /// the next time.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if !self.sync_failed {
            if self.unsynced.is_empty() {
                return Ok(());
            }
            match self.disk.sync(&self.file) {
                Ok(()) => {
                    self.mark_synced();
                    return Ok(());
                }
                Err(error) => {
                    self.sync_failed = true;
                    self.warnings.push(format!(
                        "the session file could not be synced to disk ({error}); \
                         the lines that may be lost are written again"
                    ));
                }
            }
        }
        self.repair().map_err(|error| io::Error::new(error.kind(), format!("not safely on disk: {error}")))
    }

    /// Records that everything up to here is on disk.
    fn mark_synced(&mut self) {
        self.unsynced.clear();
        self.sync_failed = false;
        if std::mem::take(&mut self.fresh)
            && let Some(dir) = self.path.parent()
            && let Err(error) = self.disk.sync_folder(dir)
        {
            // As with the file itself, a second attempt would prove nothing.
            self.warnings.push(format!("the name of the session file may not be on disk ({error})"));
        }
    }

    /// Reopens the file, rewrites data that may be lost, and syncs it.
    fn repair(&mut self) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            self.recreate()?;
            // If it fails here, this descriptor must not be synced again either.
            self.sync_failed = true;
            self.disk.sync(&self.file)?;
            self.mark_synced();
            return Ok(());
        }
        let mut options = OpenOptions::new();
        let file = self.disk.open(options.read(true).append(true), &self.path)?;
        let places = self.disk.open(OpenOptions::new().write(true), &self.path)?;
        let (old, new, same) = (self.file.metadata()?, file.metadata()?, places.metadata()?);
        if (old.dev(), old.ino()) != (new.dev(), new.ino()) || new.ino() != same.ino() {
            return Err(io::Error::other("another file has taken its place"));
        }
        let mut after = 0;
        for piece in &mut self.unsynced {
            piece.rewrite(&*self.disk, &file, &places, after)?;
            after = piece.at.saturating_add(piece.bytes.len() as u64);
        }
        self.disk.sync(&file)?;
        let old = std::mem::replace(&mut self.file, file);
        // The lock ends with the descriptor that took it.
        self.locked.get_or_insert(old);
        self.mark_synced();
        Ok(())
    }

    /// Creates a new file with the content of one that was deleted while open.
    fn recreate(&mut self) -> io::Result<()> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, 0)?;
        for piece in &self.unsynced {
            let from = usize::try_from(piece.at).unwrap_or(usize::MAX);
            let place = bytes.get_mut(from..).and_then(|rest| rest.get_mut(..piece.bytes.len()));
            if let Some(place) = place {
                place.copy_from_slice(&piece.bytes);
            }
        }
        let (path, file) = self.create_again()?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let written = match self.disk.write(&file, rest) {
                Ok(0) => Err(io::Error::from(ErrorKind::WriteZero)),
                result => result,
            };
            // A partial file in its place would keep the next attempt from creating it.
            let written = written.inspect_err(|_| std::fs::remove_file(&path).unwrap_or_default())?;
            rest = rest.get(written..).unwrap_or_default();
        }
        (self.file, self.locked, self.fresh, self.sync_failed) = (file, None, true, false);
        self.unsynced = vec![Piece { at: 0, bytes }];
        // The note may have been removed with the file; the old one must go before the new one is created.
        drop(self.note.take());
        self.note = Note::leave(&path);
        self.warnings.push(if path == self.path {
            "the session file was deleted while it was open; tau wrote it again".to_owned()
        } else {
            let path = path.display();
            format!("another file replaced the session file; the session continues in {path}")
        });
        self.path = path;
        Ok(())
    }

    /// Creates the file again: with its old name, or beside it if another file has that name, as with
    /// programs that write a new file and rename it.
    fn create_again(&self) -> io::Result<(PathBuf, File)> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let beside = (2..=MAX_BESIDE).map(|n| self.path.with_file_name(format!("{stem}-{n}.jsonl")));
        let mut taken = io::Error::from(ErrorKind::AlreadyExists);
        for path in std::iter::once(self.path.clone()).chain(beside) {
            match Self::create_file(&*self.disk, &path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => taken = error,
                made => return Ok((path, made?)),
            }
        }
        Err(taken)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        drop(self.note.take());
        // Closing is not enough: a child process that is being started has a copy of the descriptor, and with
        // it the lock, until it executes its program.
        let _ = self.locked.as_ref().unwrap_or(&self.file).unlock();
    }
}

impl Piece {
    /// Writes the bytes again at their offsets. If something else is there now, they are appended: a
    /// duplicate line does no harm, an overwritten one would. The same applies to pieces before `after`, the
    /// offset of an earlier piece that was moved: the last line is where the conversation continues.
    fn rewrite(&mut self, disk: &dyn Disk, file: &File, places: &File, after: u64) -> io::Result<()> {
        let len = file.metadata()?.len();
        if (after..=len).contains(&self.at) && self.is_there(file, len)? {
            return disk.write_at(places, &self.bytes, self.at);
        }
        let mut last = [b'\n'];
        if let Some(before) = len.checked_sub(1) {
            file.read_exact_at(&mut last, before)?;
        }
        if last != [b'\n'] && !self.bytes.starts_with(b"\n") {
            self.bytes.insert(0, b'\n');
        }
        disk.write_at(places, &self.bytes, len)?;
        self.at = len;
        Ok(())
    }

    /// Whether there is only the piece at its offset: its bytes, or zeros where they were lost.
    fn is_there(&self, file: &File, len: u64) -> io::Result<bool> {
        let known = usize::try_from(len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; known.min(self.bytes.len())];
        file.read_exact_at(&mut bytes, self.at)?;
        Ok(bytes.iter().zip(&self.bytes).all(|(there, ours)| *there == 0 || there == ours))
    }
}
