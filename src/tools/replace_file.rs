//! Replaces the content of a file so that readers see either the old or the new bytes.
//!
//! A temporary file next to the target is written, synced, given the old file's mode, owner and attributes
//! and renamed over it; then the directory is synced. If a rename would change the nature of the file (it
//! has other hard links, or an owner that cannot be kept, or its directory accepts no new files), the file
//! is written in place and restored if that fails. No link is followed: callers name the target of one, which
//! changes, while the link stays. Does not decide whether the change is wanted; `write.rs`
//! guards that.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, PermissionsExt, fchown};
use std::path::Path;

use rustix::fs::Stat;
use tokio_util::sync::CancellationToken;

use super::file_at::{FileAt, Temporary, is_behind_a_link};
use super::file_versions::Stamp;
use super::{ToolError, paths};

/// The largest file that is edited or written, in bytes.
pub const MAX_FILE: u64 = 64 * 1024 * 1024;

/// The expected state of the target when the new bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedState {
    /// Nothing: the file is new.
    Nothing,
    /// A file of this version.
    Version(Stamp),
}

/// Replaces or creates the file at `target`, whose path contains no link: see [`paths::identity`]. Creates missing
/// directories above a new file. Returns the metadata of the result. The error is a refusal, or
/// [`ToolError::Aborted`] if the token was cancelled in time. In both cases the file is unchanged.
pub(crate) fn replace_file(
    target: &Path,
    given: &str,
    bytes: &[u8],
    expected: ExpectedState,
    wanted: &CancellationToken,
) -> Result<Stamp, ToolError> {
    let at = match expected {
        ExpectedState::Nothing => FileAt::find_or_make_folder(target),
        ExpectedState::Version(_) => FileAt::find(target),
    };
    replace_at(&at.map_err(|error| cannot(given, &error))?, given, bytes, expected, wanted)
}

/// Replaces or creates a file in a directory that is already open.
pub fn replace_at(
    at: &FileAt,
    given: &str,
    bytes: &[u8],
    expected: ExpectedState,
    wanted: &CancellationToken,
) -> Result<Stamp, ToolError> {
    let cannot = |error: io::Error| self::cannot(given, &error);
    if bytes.len() as u64 > MAX_FILE {
        return Err(ToolError::refused(format!(
            "{given} would be {} MB; files over {} MB cannot be written, use bash for that",
            bytes.len() / (1024 * 1024),
            MAX_FILE / (1024 * 1024)
        )));
    }
    let job = Job { at, bytes, expected, wanted };
    match expected {
        ExpectedState::Nothing => job.create().map_err(cannot)?,
        ExpectedState::Version(_) => {
            let old = at.stat().map_err(cannot)?;
            if mode_of(&old) & 0o222 == 0 {
                return Err(ToolError::refused(format!(
                    "{given} is read-only (mode {:04o}); make it writable with chmod first if the change is wanted",
                    mode_of(&old)
                )));
            }
            job.overwrite(&old).map_err(cannot)?;
        }
    }
    at.stat().map(|stat| Stamp::from(&stat)).map_err(cannot)
}

fn cannot(given: &str, error: &io::Error) -> ToolError {
    match error.kind() {
        ErrorKind::Interrupted => ToolError::aborted(),
        _ if is_behind_a_link(error) => ToolError::refused(format!(
            "cannot write {given}: another program has just put a symbolic link on the way to it; nothing \
             was written"
        )),
        _ => ToolError::refused(format!(
            "cannot write {given}: {}; the file is unchanged",
            paths::reason(error)
        )),
    }
}

#[allow(clippy::useless_conversion, reason = "the type of modes differs between systems")]
fn mode_of(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

struct Job<'a> {
    at: &'a FileAt,
    bytes: &'a [u8],
    expected: ExpectedState,
    wanted: &'a CancellationToken,
}

impl Job<'_> {
    fn create(&self) -> io::Result<()> {
        // The process's own umask applies to this mode, as for any program that creates a file.
        let temporary = self.temporary(0o666)?;
        temporary.file.sync_all()?;
        self.check_not_aborted()?;
        temporary.put().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                io::Error::other("another program has just created this file; read it first")
            }
            _ => error,
        })?;
        self.at.sync_folder();
        Ok(())
    }

    fn overwrite(&self, old: &Stat) -> io::Result<()> {
        if old.st_nlink > 1 {
            return self.in_place(old);
        }
        let temporary = match self.temporary(0o600) {
            Ok(temporary) => temporary,
            Err(error) if takes_no_files(&error) => return self.in_place(old),
            Err(error) => return Err(error),
        };
        if keep_nature(&temporary.file, self.at, old).is_err() {
            drop(temporary);
            return self.in_place(old);
        }
        // Once, for its bytes and its metadata: syncing is the slow part.
        temporary.file.sync_all()?;
        self.check_unchanged(Stamp::from(&self.at.stat()?))?;
        self.check_not_aborted()?;
        temporary.replace()?;
        self.at.sync_folder();
        Ok(())
    }

    /// A complete file next to the target, not yet synced. It removes itself when dropped.
    fn temporary(&self, mode: u32) -> io::Result<Temporary<'_>> {
        let temporary = self.at.temporary(mode)?;
        for piece in self.bytes.chunks(1024 * 1024) {
            self.check_not_aborted()?;
            (&temporary.file).write_all(piece)?;
        }
        Ok(temporary)
    }

    /// Overwrites the old bytes. After the first write it is not aborted, only rolled back.
    fn in_place(&self, old: &Stat) -> io::Result<()> {
        if u64::try_from(old.st_size).unwrap_or_default() > MAX_FILE {
            return Err(io::Error::other("it is too large to be overwritten in place safely"));
        }
        let file = self.at.open_file(true)?;
        let mut before = Vec::new();
        (&file).read_to_end(&mut before)?;
        self.check_unchanged(Stamp::from(&file.metadata()?))?;
        self.check_not_aborted()?;
        let written = overwrite_all(&file, self.bytes);
        if written.is_err() {
            // The old bytes fit before, so they fit again; if not, there is no better option.
            overwrite_all(&file, &before)?;
        }
        written
    }

    fn check_not_aborted(&self) -> io::Result<()> {
        if self.wanted.is_cancelled() { Err(ErrorKind::Interrupted.into()) } else { Ok(()) }
    }

    fn check_unchanged(&self, now: Stamp) -> io::Result<()> {
        if ExpectedState::Version(now) == self.expected {
            return Ok(());
        }
        Err(io::Error::other("another program has just changed it; read it again"))
    }
}

/// True if the directory accepts no new files, which says nothing about the file in it.
fn takes_no_files(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Copies mode, owner and attributes of the old file to the new one.
fn keep_nature(file: &File, at: &FileAt, old: &Stat) -> io::Result<()> {
    let new = rustix::fs::fstat(file)?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        fchown(file, Some(old.st_uid), Some(old.st_gid))?;
    }
    // After the owner, because a change of owner clears set-user-id.
    file.set_permissions(Permissions::from_mode(mode_of(old)))?;
    match at.open_file(false) {
        Ok(from) => keep_attributes(file, &from),
        // Its attributes cannot be read either.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    }
}

fn keep_attributes(file: &File, from: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let mut names = vec![0u8; 64 * 1024];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else { return Ok(()) };
    let names = names.get(..length).unwrap_or_default();
    // The kernel itself sets the labels of security modules for the new file.
    let ours = |name: &&[u8]| !name.is_empty() && !name.starts_with(b"security.");
    for name in names.split(|byte| *byte == 0).filter(ours) {
        let mut value = vec![0u8; 64 * 1024];
        let length = fgetxattr(from, name, value.as_mut_slice())?;
        fsetxattr(file, name, value.get(..length).unwrap_or_default(), XattrFlags::empty())?;
    }
    Ok(())
}

fn overwrite_all(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, 0)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}
