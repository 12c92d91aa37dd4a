//! Putting new bytes in the place of a file, so that a reader sees the old or the new.
//!
//! A temporary file next to the target is written, synced, given mode, owner and attributes of
//! the old one and renamed over it; then the directory is synced. Where a rename would change
//! what the file is (it has other hard links, or an owner that cannot be kept, or its directory
//! takes no new files) the file is written in place and put back as it was if that fails.
//! Symbolic links are followed: the link stays, its target changes. Decides nothing about
//! whether the change is wanted; `write.rs` guards that.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::file_versions::Stamp;
use super::{ToolError, paths};

/// Largest file that is edited or written, in bytes.
pub(crate) const MAX_FILE: u64 = 64 * 1024 * 1024;

/// How many symbolic links are followed, as Linux does.
const MAX_LINKS: usize = 40;

/// What must be at the target when the new bytes go there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing: a new file.
    Nothing,
    /// This version.
    Version(Stamp),
}

/// Replaces or creates the file at `path`. Returns what the file system says of the result.
///
/// # Errors
/// A refusal, or [`ToolError::Aborted`] when the token was cancelled in time. In both cases the
/// file is as it was.
pub(crate) fn replace_file(
    path: &Path,
    given: &str,
    bytes: &[u8],
    expected: Expected,
    wanted: &CancellationToken,
) -> Result<Stamp, ToolError> {
    let cannot = |error: io::Error| match error.kind() {
        ErrorKind::Interrupted => ToolError::aborted(),
        _ => ToolError::refused(format!(
            "cannot write {given}: {}; the file is unchanged",
            paths::reason(&error)
        )),
    };
    if bytes.len() as u64 > MAX_FILE {
        return Err(ToolError::refused(format!(
            "{given} would be {} MB; files over {} MB cannot be written, use bash for that",
            bytes.len() / (1024 * 1024),
            MAX_FILE / (1024 * 1024)
        )));
    }
    let target = target(path).map_err(cannot)?;
    let job = Job { target: &target, bytes, expected, wanted };
    match expected {
        Expected::Nothing => job.create().map_err(cannot)?,
        Expected::Version(_) => {
            let old = fs::metadata(&target).map_err(cannot)?;
            if old.permissions().mode() & 0o222 == 0 {
                return Err(ToolError::refused(format!(
                    "{given} is read-only (mode {:04o}); make it writable with chmod first if the change is wanted",
                    old.permissions().mode() & 0o7777
                )));
            }
            job.overwrite(&old).map_err(cannot)?;
        }
    }
    fs::metadata(&target).map(|metadata| Stamp::from(&metadata)).map_err(cannot)
}

/// Where the symbolic links of the last component lead, whether there is something or not.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().map(|parent| parent.join(&next)).unwrap_or(next),
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(path),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

struct Job<'a> {
    target: &'a Path,
    bytes: &'a [u8],
    expected: Expected,
    wanted: &'a CancellationToken,
}

impl Job<'_> {
    fn folder(&self) -> &Path {
        match self.target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("/"),
        }
    }

    fn create(&self) -> io::Result<()> {
        // The process's own mask applies to this mode, as for any program that makes a file.
        let temporary = self.temporary(0o666)?;
        temporary.as_file().sync_all()?;
        self.still_wanted()?;
        temporary.persist_noclobber(self.target).map_err(|refused| match refused.error.kind() {
            ErrorKind::AlreadyExists => {
                io::Error::other("another program has just created this file; read it first")
            }
            _ => refused.error,
        })?;
        sync_folder(self.folder());
        Ok(())
    }

    fn overwrite(&self, old: &Metadata) -> io::Result<()> {
        if old.nlink() > 1 {
            return self.in_place(old);
        }
        let temporary = match self.temporary(0o600) {
            Ok(temporary) => temporary,
            Err(error) if takes_no_files(&error) => return self.in_place(old),
            Err(error) => return Err(error),
        };
        if keep_nature(temporary.as_file(), self.target, old).is_err() {
            drop(temporary);
            return self.in_place(old);
        }
        // Once, for its bytes and its nature: a sync is what takes time here.
        temporary.as_file().sync_all()?;
        self.unchanged()?;
        self.still_wanted()?;
        temporary.persist(self.target).map_err(|refused| refused.error)?;
        sync_folder(self.folder());
        Ok(())
    }

    /// A complete file next to the target, not yet synced. It removes itself when dropped.
    fn temporary(&self, mode: u32) -> io::Result<tempfile::NamedTempFile> {
        let mut temporary = tempfile::Builder::new()
            .prefix(".tau-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(self.folder())
            .map_err(without_path)?;
        for piece in self.bytes.chunks(1024 * 1024) {
            self.still_wanted()?;
            temporary.write_all(piece)?;
        }
        Ok(temporary)
    }

    /// Writes over the old bytes. Past the first write it is not aborted, only rolled back.
    fn in_place(&self, old: &Metadata) -> io::Result<()> {
        if old.len() > MAX_FILE {
            return Err(io::Error::other("it is too large to be overwritten in place safely"));
        }
        let mut before = Vec::new();
        File::open(self.target)?.read_to_end(&mut before)?;
        let file = OpenOptions::new().write(true).open(self.target)?;
        self.unchanged()?;
        self.still_wanted()?;
        let written = overwrite_all(&file, self.bytes);
        if written.is_err() {
            // The old bytes fit before, so they fit again; nothing better is left to do if not.
            overwrite_all(&file, &before)?;
        }
        written
    }

    fn still_wanted(&self) -> io::Result<()> {
        if self.wanted.is_cancelled() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    fn unchanged(&self) -> io::Result<()> {
        let now = Expected::Version(Stamp::from(&fs::metadata(self.target)?));
        if now == self.expected {
            return Ok(());
        }
        Err(io::Error::other("another program has just changed it; read it again"))
    }
}

/// tempfile wraps errors with a path; the bare error has the kind and the words we explain.
fn without_path(error: io::Error) -> io::Error {
    let cause = error
        .get_ref()
        .and_then(|inner| inner.source())
        .and_then(|source| source.downcast_ref::<io::Error>());
    cause.and_then(io::Error::raw_os_error).map_or(error.kind().into(), io::Error::from_raw_os_error)
}

/// True when the directory takes no new file, which says nothing about the file in it.
fn takes_no_files(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Gives the new file what the old one had besides its bytes.
fn keep_nature(file: &File, target: &Path, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(file, Some(old.uid()), Some(old.gid()))?;
    }
    // After the owner, because a change of owner takes set-user-id away.
    file.set_permissions(Permissions::from_mode(old.permissions().mode() & 0o7777))?;
    keep_attributes(file, target)
}

fn keep_attributes(file: &File, target: &Path) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fsetxattr, getxattr, listxattr};
    let mut names = vec![0u8; 64 * 1024];
    let Ok(length) = listxattr(target, names.as_mut_slice()) else { return Ok(()) };
    let names = names.get(..length).unwrap_or_default();
    // Labels of the security modules are set by the kernel for the new file itself.
    let ours = |name: &&[u8]| !name.is_empty() && !name.starts_with(b"security.");
    for name in names.split(|byte| *byte == 0).filter(ours) {
        let mut value = vec![0u8; 64 * 1024];
        let length = getxattr(target, name, value.as_mut_slice())?;
        fsetxattr(file, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())?;
    }
    Ok(())
}

fn overwrite_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// Makes the rename itself last. File systems that cannot sync a directory order renames
/// themselves, so a failure here does not matter.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        folder.sync_all().ok();
    }
}

/// Creates the missing directories above `path`.
///
/// # Errors
/// A refusal naming the reason.
pub(crate) fn make_parents(path: &Path, given: &str) -> Result<(), ToolError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| {
        ToolError::refused(format!("cannot create the directory of {given}: {}", paths::reason(&error)))
    })
}
