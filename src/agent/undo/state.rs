//! What is at a path: as data that can be stored, and as it is now.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::content::{Hash, from_hexadecimal};
use crate::agent::settings::paths::hexadecimal;

/// A path as JSON has it: text, or `bytes:` and its bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StoredPath(pub(crate) PathBuf);

impl Serialize for StoredPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) if !text.starts_with("bytes:") => serializer.serialize_str(text),
            _ => serializer.serialize_str(&format!("bytes:{}", hexadecimal(self.0.as_os_str().as_bytes()))),
        }
    }
}

impl<'de> Deserialize<'de> for StoredPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = match text.strip_prefix("bytes:") {
            Some(digits) => {
                from_hexadecimal(digits).ok_or_else(|| serde::de::Error::custom("not hexadecimal"))?
            }
            None => text.into_bytes(),
        };
        Ok(StoredPath(PathBuf::from(std::ffi::OsString::from_vec(bytes))))
    }
}

/// What the file system says of a version of a file, which changes whenever the file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Last change of the content: seconds and nanoseconds.
    pub(crate) mtime: (i64, i64),
    /// Last change of anything.
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

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub(crate) enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// Its content in the store; absent if it was not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<Hash>,
        size: u64,
        /// The permission bits.
        mode: u32,
        /// How it is recognised when its content was not kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stamp: Option<Stamp>,
    },
    /// A symbolic link.
    Link { target: StoredPath },
    /// A directory, without what is in it.
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

    /// True if both are the same, as far as is known.
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

/// What is at a path now.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) state: FileState,
    /// The content of a file that is not too large.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Looks at a path without following a link at its end. The content of files of at most `limit`
/// bytes is read.
///
/// # Errors
/// Those of the file system, except that nothing is there.
pub(crate) fn observe(path: &Path, limit: u64) -> io::Result<Observed> {
    let metadata = match path.symlink_metadata() {
        Ok(metadata) => metadata,
        Err(error) if is_missing(&error) => return Ok(Observed { state: FileState::Absent, bytes: None }),
        Err(error) => return Err(error),
    };
    let mode = metadata.permissions().mode() & 0o7777;
    let kind = metadata.file_type();
    let state = if kind.is_symlink() {
        FileState::Link { target: StoredPath(path.read_link()?) }
    } else if kind.is_dir() {
        FileState::Directory { mode }
    } else if kind.is_file() {
        return observe_file(path, limit);
    } else {
        FileState::Other
    };
    Ok(Observed { state, bytes: None })
}

/// True if the error says that there is nothing.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn observe_file(path: &Path, limit: u64) -> io::Result<Observed> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    let stamp = Stamp::from(&metadata);
    let mode = metadata.permissions().mode() & 0o7777;
    let bytes = if stamp.size > limit { None } else { read_unchanged(&file, stamp)? };
    let hash = bytes.as_deref().map(Hash::of);
    let known = if hash.is_some() { None } else { Some(stamp) };
    let size = bytes.as_ref().map_or(stamp.size, |bytes| bytes.len() as u64);
    Ok(Observed { state: FileState::File { hash, size, mode, stamp: known }, bytes })
}

/// Opens a regular file for reading; never waits and follows no link.
///
/// # Errors
/// Those of the file system, and `InvalidInput` if it is no regular file.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// The content of the file, or `None` if it is not the version of the stamp or no longer so in the end.
///
/// # Errors
/// Those of the file system.
pub(crate) fn read_unchanged(file: &File, stamp: Stamp) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
    file.take(stamp.size.saturating_add(1)).read_to_end(&mut bytes)?;
    let same = bytes.len() as u64 == stamp.size && Stamp::from(&file.metadata()?) == stamp;
    Ok(same.then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn paths_survive_being_stored() {
        for bytes in [&b"/a/b"[..], b"/a\xff", b"bytes:00", b""] {
            let path = StoredPath(PathBuf::from(OsStr::from_bytes(bytes)));
            let text = serde_json::to_string(&path).unwrap();
            assert_eq!(serde_json::from_str::<StoredPath>(&text).unwrap(), path, "{text}");
        }
    }

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
