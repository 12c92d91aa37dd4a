//! How the agent opens files that may be hostile and writes files that must never be half
//! written.
//!
//! What is read here is somebody else's: it can be a pipe, a folder or a hundred megabytes. What
//! is written here is private to the user. It knows nothing of what the files hold.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens `path` with `options`, never waiting and never taking a terminal.
///
/// # Errors
/// Those of the file system, and `InvalidInput` when it is no regular file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe without a writer would wait for ever; so would reading some devices.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// As [`open_with`].
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// The content of a regular file of at most `cap` bytes.
///
/// # Errors
/// As [`open_with`], and `FileTooLarge` when there is more in it.
pub(crate) fn read_capped(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(cap.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > cap) {
        let message = format!("larger than {} KB", cap / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Makes the folder and those above it that are missing, open to nobody else (0700).
///
/// # Errors
/// Those of the file system.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Puts `bytes` in the place of the file, whole or not at all, with mode 0600. A link is
/// followed, so that the file it leads to is replaced and not the link.
///
/// # Errors
/// Those of the file system; the old content is then untouched.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().unwrap_or(Path::new("/"));
    private_dir(dir)?;
    let mut new = tempfile::Builder::new().prefix(".tau-").tempfile_in(dir)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(&target).map_err(|failed| failed.error)?;
    // The rename itself is on disk only when the folder is.
    File::open(dir)?.sync_all()
}

/// A file that holds a lock as long as this lives.
#[derive(Debug)]
pub(crate) struct LockFile(#[expect(dead_code, reason = "held for its lock")] File);

impl LockFile {
    /// Waits for the lock `path`, which is made when missing (0600) and never removed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = Self::open(path)?;
        file.lock()?;
        Ok(LockFile(file))
    }

    /// The lock `path` if nobody holds it, as [`LockFile::take`].
    ///
    /// # Errors
    /// Those of the file system.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let file = Self::open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(LockFile(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn open(path: &Path) -> io::Result<File> {
        if let Some(dir) = path.parent() {
            private_dir(dir)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        open_with(&mut options, path)
    }
}
