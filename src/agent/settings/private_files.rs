//! How the agent writes files that must never be half written and are private to the user.
//!
//! It knows nothing of what the files hold. Files that may be hostile are opened by
//! [`tau_tools::regular_files`].

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use tau_tools::regular_files::open_with;
pub use tau_tools::regular_files::{open_regular, read_capped};

/// Makes the folder and those above it that are missing, open to nobody else (0700).
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Puts `bytes` in the place of the file, whole or not at all, with mode 0600. A link is
/// followed, so that the file it leads to is replaced and not the link.
///
/// # Errors
/// Those of the file system; the old content is then untouched.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
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

/// A file that several processes change, and the lock with which they do it in turn. The lock is not beside the
/// file: that may be in a repository of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
    pub(super) lock: PathBuf,
}

impl SharedFile {
    /// The file `path`, with the lock `lock`.
    pub(super) fn new(path: PathBuf, lock: PathBuf) -> Self {
        SharedFile { path, lock }
    }

    /// The file itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock.
    ///
    /// # Errors
    /// Those of the file system; they are about the lock and name it.
    pub fn lock(&self) -> io::Result<LockFile> {
        LockFile::take(&self.lock)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.lock.display())))
    }
}

/// A file that holds a lock as long as this lives.
#[derive(Debug)]
pub struct LockFile(#[expect(dead_code, reason = "held for its lock")] File);

impl LockFile {
    /// Waits for the lock `path`, which is made when missing (0600) and never removed.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = Self::open(path)?;
        file.lock()?;
        Ok(LockFile(file))
    }

    /// The lock `path` if nobody holds it, as [`LockFile::take`].
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
