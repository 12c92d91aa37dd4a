//! The state of a path, as stored data and as currently observed.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use super::content::Hash;
use tau_tools::file_at::{FileAt, is_behind_a_link};

/// A path in JSON.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct StoredPath(#[serde(with = "tau_tools::path_text")] pub(crate) PathBuf);

/// The metadata of a file version, which changes whenever the file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// The last change of the content: seconds and nanoseconds.
    pub(crate) mtime: (i64, i64),
    /// The last change of anything.
    pub(crate) ctime: (i64, i64),
}

impl From<&std::fs::Metadata> for Stamp {
    fn from(metadata: &std::fs::Metadata) -> Self {
        Stamp {
            inode: metadata.ino(),
            size: metadata.len(),
            mtime: (metadata.mtime(), metadata.mtime_nsec()),
            ctime: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum FileState {
    /// It does not exist.
    Absent,
    /// A regular file.
    File {
        /// Its content in the store; absent if it was not stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<Hash>,
        size: u64,
        /// The permission bits.
        mode: u32,
        /// How it is recognised if its content was not stored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stamp: Option<Stamp>,
    },
    /// A symbolic link.
    Link { target: StoredPath },
    /// A directory, without its entries.
    Directory { mode: u32 },
    /// A pipe, a socket or a device.
    Other,
}

impl FileState {
    /// The hash of its content, if it is a file whose content was read.
    pub(crate) fn hash(&self) -> Option<Hash> {
        match self {
            FileState::File { hash, .. } => *hash,
            _ => None,
        }
    }

    /// The permission bits of a file or directory.
    pub(crate) fn mode(&self) -> Option<u32> {
        match self {
            FileState::File { mode, .. } | FileState::Directory { mode } => Some(*mode),
            _ => None,
        }
    }

    /// Whether both are the same, as far as known.
    pub(crate) fn is_same(&self, other: &FileState) -> bool {
        match (self, other) {
            (
                FileState::File { hash: one, mode, stamp, size },
                FileState::File { hash: two, mode: other_mode, stamp: other_stamp, size: other_size },
            ) => {
                let content = match (one, two) {
                    (Some(one), Some(two)) => one == two,
                    _ => size == other_size && stamp.is_some() && stamp == other_stamp,
                };
                content && mode == other_mode
            }
            _ => self == other,
        }
    }
}

/// The current state of a path.
#[derive(Debug)]
pub(crate) struct Observation {
    pub(crate) state: FileState,
    /// The content of a file, if it is not too large.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Observation {
    pub(crate) const NOTHING: Self = Observation { state: FileState::Absent, bytes: None };
}

/// Observes a path without following any link. The content of files of at most `limit` bytes is read. Fails
/// with errors of the file system, except for a missing path; a link on the way.
pub(crate) fn observe(path: &Path, limit: u64) -> io::Result<Observation> {
    match FileAt::find(path) {
        Ok(at) => observe_at(&at, limit),
        Err(error) if is_missing(&error) => Ok(Observation::NOTHING),
        Err(error) => Err(error),
    }
}

/// Like [`observe`], but a link on the way means that nothing exists: its target has another path.
pub(crate) fn observe_itself(path: &Path, limit: u64) -> io::Result<Observation> {
    observe(path, limit).or_else(|error| match is_behind_a_link(&error) {
        true => Ok(Observation::NOTHING),
        false => Err(error),
    })
}

/// Observes a name in an open directory. Fails with errors of the file system, except for a missing path.
pub(crate) fn observe_at(at: &FileAt, limit: u64) -> io::Result<Observation> {
    let stat = match at.stat() {
        Ok(stat) => stat,
        Err(error) if is_missing(&error) => return Ok(Observation::NOTHING),
        Err(error) => return Err(error),
    };
    #[allow(clippy::useless_conversion, reason = "the type of modes differs between systems")]
    let mode = u32::from(stat.st_mode) & 0o7777;
    let state = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => FileState::Link { target: StoredPath(at.read_link()?) },
        FileType::Directory => FileState::Directory { mode },
        FileType::RegularFile => return observe_file(at, limit),
        _ => FileState::Other,
    };
    Ok(Observation { state, bytes: None })
}

/// Whether the error means that the path does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn observe_file(at: &FileAt, limit: u64) -> io::Result<Observation> {
    let file = at.open_file(false)?;
    let metadata = file.metadata()?;
    let stamp = Stamp::from(&metadata);
    let mode = metadata.permissions().mode() & 0o7777;
    let bytes = if stamp.size > limit { None } else { read_if_unchanged(&file, stamp)? };
    let hash = bytes.as_deref().map(Hash::of);
    let known = if hash.is_some() { None } else { Some(stamp) };
    let size = bytes.as_ref().map_or(stamp.size, |bytes| bytes.len() as u64);
    Ok(Observation { state: FileState::File { hash, size, mode, stamp: known }, bytes })
}

/// Opens a regular file for reading; never waits and follows no link. Fails with errors of the file system,
/// and `InvalidInput` if it is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    FileAt::find(path)?.open_file(false)
}

/// The content of the file, or `None` if it does not match the stamp before or after reading.
pub(crate) fn read_if_unchanged(file: &File, stamp: Stamp) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
    file.take(stamp.size.saturating_add(1)).read_to_end(&mut bytes)?;
    let same = bytes.len() as u64 == stamp.size && Stamp::from(&file.metadata()?) == stamp;
    Ok(same.then_some(bytes))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_file_is_known_by_its_content_or_by_its_stamp() {
        let file = |hash: Option<Hash>, mode: u32, inode: u64| {
            let stamp = hash.is_none().then(|| Stamp { inode, ..Stamp::default() });
            FileState::File { hash, size: 0, mode, stamp }
        };
        let (one, two) = (Some(Hash::of(b"one")), Some(Hash::of(b"two")));
        assert!(file(one, 0o644, 1).is_same(&file(one, 0o644, 2)));
        assert!(!file(one, 0o644, 1).is_same(&file(two, 0o644, 1)));
        assert!(!file(one, 0o644, 1).is_same(&file(one, 0o755, 1)));
        assert!(file(None, 0o644, 1).is_same(&file(None, 0o644, 1)));
        assert!(!file(None, 0o644, 1).is_same(&file(None, 0o644, 2)));
        assert!(!file(None, 0o644, 1).is_same(&file(one, 0o644, 1)));
        assert!(!FileState::Absent.is_same(&FileState::Other));
    }
}
