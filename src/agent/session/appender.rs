//! A session's file that is open for appending, and what is done when the disk fails it.
//!
//! After a failed sync the kernel calls what was written clean, although it may never have
//! reached the disk; another sync of the same descriptor would answer that all is well. So the
//! lines since the last good sync are kept, and after a failed one the file is opened again and
//! they are written again in their own places, byte for byte: whenever that is cut short, the
//! file holds no less than before. Which lines there are is decided in [`super::file`].

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::Disk;
use super::lock::{Note, is_held};
use crate::settings::private_files::private_dir;

/// So many bytes may wait for the end of a turn; then they are brought to disk before it, so that
/// what is kept of them stays small for as long as the disk is well.
const UNSYNCED: usize = 8 * 1024 * 1024;
/// How many names are tried where other files have taken them.
const MAX_BESIDE: usize = 99;

/// A file open for appending.
#[derive(Debug)]
pub(super) struct Appender {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: File,
    /// The descriptor that holds the lock, if the file was opened again since.
    locked: Option<File>,
    /// Its length, as far as we know.
    len: u64,
    /// The last line has no end: one is written before the next line.
    open_line: bool,
    /// What was written since the last good sync.
    unsynced: Vec<Piece>,
    /// The last sync failed, and they have not been written again since.
    sync_failed: bool,
    /// We made it, and its folder has not been brought to disk yet.
    fresh: bool,
    /// Shows other programs who writes here.
    note: Option<Note>,
    /// Warnings about problems that were repaired.
    warnings: Vec<String>,
}

/// Bytes of the file, and where they are in it.
#[derive(Debug)]
struct Piece {
    at: u64,
    bytes: Vec<u8>,
}

impl Appender {
    /// A file that was opened before; `len` of it are known, and `last` is its last byte.
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

    /// Creates the file; no file may have that name.
    pub(super) fn create(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        let file = Self::made(&*disk, path)?;
        let mut appender = Self::new(disk, path.to_owned(), file, 0, None);
        appender.fresh = true;
        Ok(appender)
    }

    fn made(disk: &dyn Disk, path: &Path) -> io::Result<File> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        let mut options = OpenOptions::new();
        let file = disk.open(options.read(true).append(true).create_new(true).mode(0o600), path)?;
        // Nobody else can know the new file, so the lock is free.
        match file.try_lock() {
            Err(error) if is_held(&error) => Err(io::Error::other(error)),
            _ => Ok(file),
        }
    }

    /// From now on `disk` performs its operations.
    pub(super) fn set_disk(&mut self, disk: Arc<dyn Disk>) {
        self.disk = disk;
    }

    /// Where it is: next to its first place, if another file was put there.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Warnings about problems that were repaired; each is returned once.
    pub(super) fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Whether we made it and nothing is in it.
    pub(super) fn is_blank(&self) -> bool {
        self.fresh && self.len == 0
    }

    /// Whether it should be brought to disk before the end of the turn.
    pub(super) fn is_urgent(&self) -> bool {
        self.sync_failed || self.unsynced.iter().map(|piece| piece.bytes.len()).sum::<usize>() > UNSYNCED
    }

    /// What other programs appended after the part we know.
    pub(super) fn external_appends(&mut self) -> io::Result<Vec<u8>> {
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
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
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

    /// Takes the first part of a line out of the file again.
    fn undo_partial_write(&mut self, written: usize) -> io::Result<()> {
        let end = self.len.saturating_add(written as u64);
        // Only our own piece is removed, and only if nobody has appended anything after it.
        let cut = match self.file.metadata() {
            Ok(metadata) if metadata.len() == end => self.disk.cut(&self.file, self.len),
            other => other.map(|_| ()).and(Err(io::Error::other("another program writes to it"))),
        };
        if cut.is_err() {
            // It stays a torn line, to which nothing may be glued.
            self.open_line = true;
        }
        cut
    }

    /// Brings what was written to disk.
    ///
    /// # Errors
    /// When that failed, and writing it again too. It is all tried again the next time.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        if !self.sync_failed {
            if self.unsynced.is_empty() {
                return Ok(());
            }
            match self.disk.sync(&self.file) {
                Ok(()) => {
                    self.synced();
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

    /// Everything up to here is on disk.
    fn synced(&mut self) {
        self.unsynced.clear();
        self.sync_failed = false;
        if std::mem::take(&mut self.fresh)
            && let Some(dir) = self.path.parent()
            && let Err(error) = self.disk.sync_folder(dir)
        {
            // Like that of a file, a second attempt would prove nothing.
            self.warnings.push(format!("the name of the session file may not be on disk ({error})"));
        }
    }

    /// Opens the file again, writes again what may be lost, and syncs that.
    fn repair(&mut self) -> io::Result<()> {
        if self.file.metadata()?.nlink() == 0 {
            self.recreate()?;
            // If it fails here, this descriptor too must not be asked again.
            self.sync_failed = true;
            self.disk.sync(&self.file)?;
            self.synced();
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
        self.synced();
        Ok(())
    }

    /// The file was deleted while it was open: its content goes into a new one.
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
            // Half of it in its place would keep the next attempt from making it.
            let written = written.inspect_err(|_| std::fs::remove_file(&path).unwrap_or_default())?;
            rest = rest.get(written..).unwrap_or_default();
        }
        (self.file, self.locked, self.fresh, self.sync_failed) = (file, None, true, false);
        self.unsynced = vec![Piece { at: 0, bytes }];
        // The note may have gone with the file; the old one must go before the new one comes.
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

    /// Creates the file again: under its old name, or next to it where another file has taken that,
    /// as programs do that write a new file and rename it.
    fn create_again(&self) -> io::Result<(PathBuf, File)> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let beside = (2..=MAX_BESIDE).map(|n| self.path.with_file_name(format!("{stem}-{n}.jsonl")));
        let mut taken = io::Error::from(ErrorKind::AlreadyExists);
        for path in std::iter::once(self.path.clone()).chain(beside) {
            match Self::made(&*self.disk, &path) {
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
        // Closing is not enough: a process that is just being started has a copy of the descriptor,
        // and with it the lock, until it executes its program.
        let _ = self.locked.as_ref().unwrap_or(&self.file).unlock();
    }
}

impl Piece {
    /// Writes the bytes again where they were. When something else is there now they go
    /// to the end: a line that is there twice does no harm, one that is overwritten would. So they
    /// do when they were before `after`, where a piece before them went: the last line is where
    /// the conversation continues.
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

    /// Whether only the piece is in its place: bytes of it, or zeros where they were lost.
    fn is_there(&self, file: &File, len: u64) -> io::Result<bool> {
        let known = usize::try_from(len.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; known.min(self.bytes.len())];
        file.read_exact_at(&mut bytes, self.at)?;
        Ok(bytes.iter().zip(&self.bytes).all(|(there, ours)| *there == 0 || there == ours))
    }
}
