//! Writes private files of the user atomically, and locks shared ones.
//!
//! It knows nothing about their content. Files that may be hostile are opened by
//! [`tau_tools::regular_files`].

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;
use tokio::time::{Instant, sleep};

use tau_tools::hashes::{FNV_START, fnv1a};
pub use tau_tools::regular_files::{open_regular, open_with, read_capped, unless_absent};

/// The time between two attempts to take a lock.
const LOCK_PAUSE: Duration = Duration::from_millis(25);
/// The maximum length of a file's name in the name of its lock, in bytes.
const MAX_STEM_LEN: usize = 60;

/// Creates the folder and its missing parents, accessible only to the user (0700).
pub fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Parses JSON, which may begin with a byte order mark, as editors of Windows write it. For every file that another
/// program or a user may have written.
pub fn parse_json<T: DeserializeOwned>(bytes: impl AsRef<[u8]>) -> serde_json::Result<T> {
    let bytes = bytes.as_ref();
    serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
}

/// The content of a JSON file; `None` if it does not exist.
pub fn read_json<T: DeserializeOwned>(path: &Path, cap: u64) -> io::Result<Option<T>> {
    match read_capped(path, cap) {
        Ok(bytes) => Ok(Some(parse_json(bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces the content of the file by `bytes` atomically, with mode 0600. A link is followed, so that its
/// target is replaced and not the link. If it fails, the old content is unchanged.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, |_| None)
}

/// Like [`write_private`], for a file of the user that others may be meant to read: an existing one keeps its mode.
pub fn write_as_before(path: &Path, bytes: &[u8]) -> io::Result<()> {
    replace(path, bytes, |target| Some(std::fs::metadata(target).ok()?.permissions()))
}

/// Like [`write_private`], but others see the new content before it is synced, in the background: a power failure soon
/// after may leave an empty file.
pub fn write_private_at_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (new, target) = write_beside(path, bytes)?;
    let file = new.persist(&target).map_err(|failed| failed.error)?;
    std::thread::Builder::new().spawn(move || {
        let synced = file.sync_all().and_then(|()| sync_folder(target.parent().unwrap_or(Path::new("/"))));
        if let Err(error) = synced {
            tracing::warn!(%error, path = %target.display(), "a file could not be synced to disk");
        }
    })?;
    Ok(())
}

fn replace(
    path: &Path,
    bytes: &[u8],
    permissions: impl FnOnce(&Path) -> Option<Permissions>,
) -> io::Result<()> {
    let (new, target) = write_beside(path, bytes)?;
    if let Some(permissions) = permissions(&target) {
        new.as_file().set_permissions(permissions)?;
    }
    new.as_file().sync_all()?;
    new.persist(&target).map_err(|failed| failed.error)?;
    // The rename itself is on disk only once the folder is synced.
    sync_folder(target.parent().unwrap_or(Path::new("/")))
}

/// A new file with this content in the folder of the file that `path` leads to, and the path of that file.
fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<(NamedTempFile, PathBuf)> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().unwrap_or(Path::new("/"));
    private_dir(dir)?;
    let mut new = tempfile::Builder::new().prefix(".tau-").tempfile_in(dir)?;
    new.write_all(bytes)?;
    Ok((new, target))
}

/// Fails when [`write_private`] could not create the file `path`. It creates the folder.
pub fn check_creatable(path: &Path) -> io::Result<()> {
    write_beside(path, b"\n").map(drop)
}

/// Syncs the names in a folder to disk, if the file system supports that and the folder may be opened.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        result => result,
    }
}

/// Opens a file of lines for appending, and creates it with mode 0600 if missing. A line that was cut off is ended, so
/// that it does not spoil the next one.
pub fn open_for_lines(path: &Path) -> io::Result<File> {
    let mut file = open_with(OpenOptions::new().read(true).append(true).create(true).mode(0o600), path)?;
    let mut last = [b'\n'];
    if let Some(before) = file.metadata()?.len().checked_sub(1) {
        file.read_exact_at(&mut last, before)?;
    }
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// Creates a file with mode 0600, and its folders; it must not exist.
pub fn create_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_dir(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A file that several processes change, with the lock that they take for it. The lock is not beside the
/// file, which may be in a repository of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedFile {
    path: PathBuf,
    locks: PathBuf,
}

impl SharedFile {
    /// The file `path`, with a lock in the folder `locks`.
    pub(super) fn new(path: PathBuf, locks: PathBuf) -> Self {
        SharedFile { path, locks }
    }

    /// The path of the lock. Its name does not depend on the path used for the file.
    pub(super) fn lock_path(&self) -> PathBuf {
        let path = &self.path;
        let in_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(in_folder).unwrap_or_else(|| path.clone());
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let kept = name.get(..name.floor_char_boundary(MAX_STEM_LEN)).unwrap_or_default();
        let hash = fnv1a(FNV_START, real.as_os_str().as_bytes());
        self.locks.join(format!("{kept}-{hash:016x}.lock"))
    }

    /// The file itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the lock for a limited time, without blocking a thread. The error names the lock.
    pub async fn lock_within(&self, longest: Duration) -> io::Result<LockFile> {
        let lock = self.lock_path();
        let taken = LockFile::take_within(&lock, longest).await;
        taken.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", lock.display())))
    }

    /// Waits for the lock. The error names the lock.
    pub fn lock(&self) -> io::Result<LockFile> {
        let lock = self.lock_path();
        LockFile::take(&lock)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", lock.display())))
    }
}

/// How often a lock may be removed between opening and locking it.
const REMOVALS: usize = 10;

/// A file whose lock is held as long as this lives.
#[derive(Debug)]
pub struct LockFile(File);

impl LockFile {
    /// Waits for the lock `path`, which is created if missing (0600) and never removed.
    pub fn take(path: &Path) -> io::Result<Self> {
        let file = Self::open(path)?;
        file.lock()?;
        Ok(LockFile(file))
    }

    /// Like [`LockFile::take`], but returns `None` if the lock `path` is already held. Whoever holds it may remove it.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut removals = 0;
        loop {
            let file = Self::open(path)?;
            match file.try_lock() {
                Ok(()) if file.metadata()?.nlink() > 0 || removals == REMOVALS => {
                    return Ok(Some(LockFile(file)));
                }
                // It was removed after it was opened.
                Ok(()) => removals += 1,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Whether somebody holds the lock `path`, or nobody can tell. Looking does not create it.
    pub fn is_held(path: &Path) -> bool {
        // Some network file systems lock only what is open for writing, which others forbid.
        let file = match open_with(OpenOptions::new().read(true).write(true), path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => open_regular(path),
            opened => opened,
        };
        match file {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Like [`LockFile::take`], without blocking a thread, and for a limited time. Fails with `TimedOut` when
    /// another process keeps the lock.
    pub async fn take_within(path: &Path, longest: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + longest;
        loop {
            if let Some(lock) = Self::try_take(path)? {
                return Ok(lock);
            }
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sleep(LOCK_PAUSE).await;
        }
    }

    /// The lock for a child process to hold as well, as an input without content. Fails when the process has
    /// too many open files.
    pub fn try_clone_fd(&self) -> io::Result<OwnedFd> {
        self.0.try_clone().map(OwnedFd::from)
    }

    /// Like [`LockFile::try_clone_fd`], as an input with this text, which the child process reads from its start.
    pub fn input(&self, text: &str) -> io::Result<OwnedFd> {
        let mut file = &self.0;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        self.try_clone_fd()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_others_may_read_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("dotfiles.toml"), folder.path().join("config.toml"));
        std::fs::write(&file, "a").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mode = || file.metadata().unwrap().permissions().mode() & 0o7777;
        write_as_before(&link, b"b").unwrap();
        assert_eq!((mode(), std::fs::read(&file).unwrap()), (0o640, b"b".to_vec()));
        write_as_before(&folder.path().join("new"), b"c").unwrap();
        assert_eq!(folder.path().join("new").metadata().unwrap().permissions().mode() & 0o7777, 0o600);
        write_private(&link, b"d").unwrap();
        assert_eq!(mode(), 0o600);
    }

    /// A program that runs is a file that nobody may write, not even root.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_lock_that_cannot_be_written_is_tested_all_the_same() {
        let program = std::env::current_exe().unwrap();
        assert!(OpenOptions::new().write(true).open(&program).is_err());
        assert!(!LockFile::is_held(&program));
        let holder = File::open(&program).unwrap();
        holder.lock().unwrap();
        assert!(LockFile::is_held(&program));
        let folder = tempfile::tempdir().unwrap();
        assert!(!LockFile::is_held(&folder.path().join("none")));
        // Nobody can tell.
        assert!(LockFile::is_held(folder.path()));
    }

    #[test]
    fn a_folder_that_cannot_be_synced_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        assert!(sync_folder(folder.path()).is_ok());
        assert!(sync_folder(&folder.path().join("none")).is_err());
        if cfg!(target_os = "linux") {
            assert!(File::open("/proc").unwrap().sync_all().is_err());
            assert!(sync_folder(Path::new("/proc")).is_ok());
        }
    }
}
