//! A file by its name in a directory that was opened without following links.
//!
//! A path is walked one component at a time from `/`, each opened with `O_NOFOLLOW` in the previous one.
//! Operations on the file then use that directory, so they happen at this path or not at all, even if links
//! or other directories are put there meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

/// The prefix and suffix of temporary file names.
const TEMPORARY: (&str, &str) = (".tau-", ".tmp");

/// Opens a directory in order to name its entries. Needs no read permission where `O_PATH` exists.
#[cfg(target_os = "linux")]
const TO_NAME: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const TO_NAME: OFlags = OFlags::RDONLY;

/// The error for a path that cannot be opened without following a symbolic link.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a symbolic link is on the way to it")]
struct BehindALink;

/// True if the error means that a path contains a symbolic link.
pub fn is_behind_a_link(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<BehindALink>())
}

/// A name in a directory, whether or not it exists.
#[derive(Debug)]
pub struct FileAt {
    folder: OwnedFd,
    name: OsString,
}

impl FileAt {
    /// The file at an absolute path without `..`, whose directory exists.
    pub fn find(path: &Path) -> io::Result<Self> {
        Self::open(path, false)
    }

    /// Like [`FileAt::find`], but creates missing directories.
    pub fn find_or_make_folder(path: &Path) -> io::Result<Self> {
        Self::open(path, true)
    }

    fn open(path: &Path, make: bool) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        Ok(FileAt { folder: open_folder(parent, make)?, name: name.to_owned() })
    }

    /// The metadata of the file, or of the link itself.
    pub fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.folder, &*self.name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The target of the link.
    pub fn read_link(&self) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.folder, &*self.name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Opens a regular file for reading, or for reading and writing; never blocks. Fails with `InvalidInput`
    /// if it is not a regular file.
    pub fn open_file(&self, write: bool) -> io::Result<File> {
        let access = if write { OFlags::RDWR } else { OFlags::RDONLY };
        let flags = access | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.folder, &*self.name, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(file)
    }

    /// Renames the file within its directory.
    pub(crate) fn rename(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.folder, &*self.name, &self.folder, name)?)
    }

    /// Removes the file; a directory only if it is empty.
    pub fn remove(&self, is_directory: bool) -> io::Result<()> {
        let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        Ok(rustix::fs::unlinkat(&self.folder, &*self.name, flags)?)
    }

    /// Creates a directory.
    pub fn make_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.folder, &*self.name, Mode::from_raw_mode(0o777))?)
    }

    /// Sets the permission bits of a file or directory, never of a link's target.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        let open = |flags| rustix::fs::openat(&self.folder, &*self.name, flags, Mode::empty());
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let permissions = Permissions::from_mode(mode);
        match open(flags | OFlags::RDONLY) {
            Ok(file) => File::from(file).set_permissions(permissions),
            // An unreadable file is named without opening it; its entry in /proc is the file itself.
            Err(Errno::ACCESS) if cfg!(target_os = "linux") => {
                let file = open(flags | TO_NAME)?;
                if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::Symlink {
                    return Err(Errno::LOOP.into());
                }
                std::fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), permissions)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Puts a link there, replacing a file or link.
    pub fn put_link(&self, target: &Path) -> io::Result<()> {
        let name = temporary_name();
        rustix::fs::symlinkat(target, &self.folder, &*name)?;
        let moved = rustix::fs::renameat(&self.folder, &*name, &self.folder, &*self.name);
        if moved.is_err() {
            rustix::fs::unlinkat(&self.folder, &*name, AtFlags::empty()).ok();
        }
        Ok(moved?)
    }

    /// Creates a new file beside it, which removes itself when dropped.
    pub fn temporary(&self, mode: u32) -> io::Result<Temporary<'_>> {
        let name = temporary_name();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[allow(clippy::useless_conversion, reason = "the type of modes differs between systems")]
        let mode = Mode::from_raw_mode(mode.try_into().unwrap_or(0o600));
        let file = File::from(rustix::fs::openat(&self.folder, &*name, flags, mode)?);
        // A locked file is in use, so `sweep` leaves it alone.
        file.try_lock().ok();
        Ok(Temporary { at: self, file, name: Some(name) })
    }

    /// Makes the latest changes in the directory durable. File systems that cannot do this order renames
    /// themselves, so failure does not matter.
    pub fn sync_folder(&self) {
        if let Ok(folder) = reopen(&self.folder) {
            rustix::fs::fsync(folder).ok();
        }
    }
}

/// A temporary file that is being written.
#[derive(Debug)]
pub struct Temporary<'a> {
    at: &'a FileAt,
    pub file: File,
    name: Option<OsString>,
}

impl Temporary<'_> {
    /// Replaces the file for which it was created.
    pub fn replace(mut self) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        rustix::fs::renameat(&self.at.folder, &**name, &self.at.folder, &*self.at.name)?;
        self.name = None;
        Ok(())
    }

    /// Moves it to a name that must not exist yet. The error is file system errors; `AlreadyExists` if the
    /// name is taken.
    pub fn put(mut self) -> io::Result<()> {
        let Some(name) = &self.name else { return Ok(()) };
        let (folder, to) = (&self.at.folder, &*self.at.name);
        match rustix::fs::renameat_with(folder, &**name, folder, to, RenameFlags::NOREPLACE) {
            Ok(()) => self.name = None,
            Err(error) if !is_unsupported(error) => return Err(error.into()),
            // Drop removes the temporary name.
            Err(_) => match rustix::fs::linkat(folder, &**name, folder, to, AtFlags::empty()) {
                Err(error) if is_unsupported(error) => return self.put_over_own(),
                linked => linked?,
            },
        }
        Ok(())
    }

    /// Like [`Temporary::put`], for file systems that can neither keep a rename from replacing a file nor link: the
    /// file is empty for a moment.
    fn put_over_own(self) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let at = self.at;
        drop(rustix::fs::openat(&at.folder, &*at.name, flags, Mode::from_raw_mode(0o600))?);
        self.replace().inspect_err(|_| {
            at.remove(false).ok();
        })
    }
}

/// Whether the error means that a file system has no such operation. That for links is `PERM`.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM)
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            rustix::fs::unlinkat(&self.at.folder, &**name, AtFlags::empty()).ok();
        }
    }
}

/// Removes temporary files that a killed tau left in a directory.
pub fn sweep(folder: &Path) {
    let Ok(folder) = open_folder(folder, false) else { return };
    let Ok(entries) = reopen(&folder).and_then(|folder| Ok(Dir::new(folder)?)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !is_temporary_name(name.to_bytes()) {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_left = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Ok(file) => {
                let file = File::from(file);
                file.metadata().is_ok_and(|found| found.is_file()) && file.try_lock().is_ok()
            }
            // A link, which exists only for a moment.
            Err(error) => error == Errno::LOOP,
        };
        if is_left {
            rustix::fs::unlinkat(&folder, name, AtFlags::empty()).ok();
        }
    }
}

fn temporary_name() -> OsString {
    let (start, end) = TEMPORARY;
    format!("{start}{}{end}", super::ids::id().simple()).into()
}

fn is_temporary_name(name: &[u8]) -> bool {
    let (start, end) = TEMPORARY;
    let middle = name.strip_prefix(start.as_bytes()).and_then(|rest| rest.strip_suffix(end.as_bytes()));
    middle.is_some_and(|id| id.len() == 32 && id.iter().all(u8::is_ascii_hexdigit))
}

/// Opens the directory at an absolute path without `..`.
fn open_folder(path: &Path, make: bool) -> io::Result<OwnedFd> {
    let mut parts = path.components();
    if parts.next() != Some(Component::RootDir) {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = TO_NAME | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
    for part in parts {
        let Component::Normal(name) = part else { return Err(ErrorKind::InvalidInput.into()) };
        folder = enter(&folder, name, make)?;
    }
    Ok(folder)
}

fn enter(folder: &OwnedFd, name: &OsStr, make: bool) -> io::Result<OwnedFd> {
    let flags = TO_NAME | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::openat(folder, name, flags, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT) if make => match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => open(),
            Err(error) => Err(error),
        },
        other => other,
    };
    match opened {
        Err(Errno::NOTDIR | Errno::LOOP) if is_link(folder, name) => Err(io::Error::other(BehindALink)),
        opened => Ok(opened?),
    }
}

fn is_link(folder: impl AsFd, name: &OsStr) -> bool {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Opens the same directory for reading.
fn reopen(folder: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, ".", flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with `real/file`, and `link`, which points to `real`.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file"), "old").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("real/file", root.join("file link")).unwrap();
        (folder, root)
    }

    #[test]
    fn no_link_on_the_way_is_followed() {
        let (_folder, root) = folder();
        for path in ["link/file", "link/new", "link/sub/new", "file link/x"] {
            for make in [false, true] {
                let error = FileAt::open(&root.join(path), make).unwrap_err();
                assert!(is_behind_a_link(&error), "{path}: {error}");
            }
        }
        assert!(!root.join("real/sub").exists());
        for path in ["real/../real/file", "relative", "/"] {
            let path = if path.starts_with("real") { root.join(path) } else { path.into() };
            assert_eq!(FileAt::find(&path).unwrap_err().kind(), ErrorKind::InvalidInput, "{path:?}");
        }
        assert_eq!(FileAt::find(&root.join("no/file")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(FileAt::find(&root.join("real/file/x")).unwrap_err().kind(), ErrorKind::NotADirectory);
    }

    #[test]
    fn the_last_name_is_no_link_either() {
        let (_folder, root) = folder();
        let at = FileAt::find(&root.join("file link")).unwrap();
        assert!(at.open_file(false).is_err() && at.open_file(true).is_err());
        assert!(at.set_mode(0o777).is_err());
        let temporary = at.temporary(0o600).unwrap();
        io::Write::write_all(&mut &temporary.file, b"new").unwrap();
        temporary.replace().unwrap();
        assert_eq!(fs::read(root.join("file link")).unwrap(), b"new");
        assert_eq!(fs::read(root.join("real/file")).unwrap(), b"old");
        at.put_link(Path::new("elsewhere")).unwrap();
        assert_eq!(at.read_link().unwrap(), Path::new("elsewhere"));
        at.remove(false).unwrap();
        let made = FileAt::find_or_make_folder(&root.join("a/b/c")).unwrap();
        for put in [Temporary::put, Temporary::put_over_own] {
            let temporary = made.temporary(0o640).unwrap();
            io::Write::write_all(&mut &temporary.file, b"new").unwrap();
            put(temporary).unwrap();
            let again = put(made.temporary(0o644).unwrap());
            assert_eq!(again.unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(root.join("a/b/c")).unwrap(), b"new");
            assert_eq!(root.join("a/b/c").metadata().unwrap().permissions().mode() & 0o777, 0o640);
            assert_eq!(fs::read_dir(root.join("a/b")).unwrap().count(), 1);
            made.remove(false).unwrap();
        }
    }

    #[test]
    fn what_was_opened_stays_where_it_is() {
        let (_folder, root) = folder();
        let at = FileAt::find(&root.join("real/file")).unwrap();
        fs::create_dir(root.join("other")).unwrap();
        fs::rename(root.join("real"), root.join("moved")).unwrap();
        symlink("other", root.join("real")).unwrap();
        at.temporary(0o600).unwrap().replace().unwrap();
        assert_eq!(fs::read_dir(root.join("other")).unwrap().count(), 0);
        assert_eq!(fs::read(root.join("moved/file")).unwrap(), b"");
    }

    #[test]
    fn only_what_nobody_holds_and_tau_named_is_swept() {
        let (_folder, root) = folder();
        let at = FileAt::find(&root.join("real/file")).unwrap();
        let held = at.temporary(0o600).unwrap();
        let left = root.join("real").join(temporary_name());
        fs::write(&left, "").unwrap();
        symlink("x", root.join("real").join(temporary_name())).unwrap();
        let kept = [".tau-notes.tmp", ".tau-.tmp", "x.tmp"].map(|name| root.join("real").join(name));
        kept.iter().for_each(|path| fs::write(path, "").unwrap());
        fs::create_dir(root.join("real").join(temporary_name())).unwrap();
        sweep(&root.join("link"));
        assert!(left.exists());
        sweep(&root.join("real"));
        assert!(!left.exists() && kept.iter().all(|path| path.exists()));
        // The file, the three that are kept, the directory, and the locked file.
        assert_eq!(fs::read_dir(root.join("real")).unwrap().count(), 6);
        drop(held);
    }
}
