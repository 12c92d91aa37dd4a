//! A store of file contents, each kept once under its hash.
//!
//! A content is written to a file of its own and renamed, so it is never incomplete. It is checked against
//! its hash when it is read: content damaged by a power failure or a disk counts as lost, and never gets into
//! a file of the user.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::settings::private_files::{private_dir, read_capped};
use tau_tools::hashes::{from_hexadecimal, hexadecimal};

/// A content smaller than this is written; for larger ones the file system is asked to share the blocks.
const SHARED_FROM: usize = 64 * 1024;

/// The SHA-256 of a content, by which it is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hash([u8; 32]);

impl Hash {
    /// The hash of a content.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
        let mut hash = [0; 32];
        hash.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        Hash(hash)
    }

    fn from_text(text: &str) -> Option<Self> {
        from_hexadecimal(text)?.try_into().ok().map(Hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Hash::from_text(&text).ok_or_else(|| serde::de::Error::custom("not a hash"))
    }
}

/// A folder of contents.
#[derive(Debug)]
pub(crate) struct ContentStore {
    dir: PathBuf,
    made: bool,
    /// The contents that it has written or checked.
    whole: HashSet<Hash>,
    /// The bytes that were added since it was opened.
    pub(crate) added: u64,
}

impl ContentStore {
    /// The store in `dir`, which is created with the first content.
    pub(crate) fn new(dir: PathBuf) -> Self {
        ContentStore { dir, made: false, whole: HashSet::new(), added: 0 }
    }

    fn path(&self, hash: Hash) -> PathBuf {
        self.dir.join(hash.to_string())
    }

    /// Stores a content. If it is that of a large open file, its blocks are shared if the file system
    /// supports that. Fails with errors of the file system; nothing is stored then.
    pub(crate) fn put(&mut self, bytes: &[u8], source: Option<&File>) -> io::Result<Hash> {
        let hash = Hash::of(bytes);
        let path = self.path(hash);
        let is_whole = || read_capped(&path, bytes.len() as u64).is_ok_and(|kept| kept == bytes);
        if self.whole.contains(&hash) && path.is_file() || is_whole() {
            self.whole.insert(hash);
            return Ok(hash);
        }
        if !self.made {
            private_dir(&self.dir)?;
            self.made = true;
        }
        let mut file = tempfile::Builder::new()
            .prefix(".new-")
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(&self.dir)?;
        let source = source.filter(|_| bytes.len() >= SHARED_FROM);
        let shared = source.is_some_and(|source| share_blocks(file.as_file(), source));
        // The shared blocks are the current content of the file, which may differ from the content that was
        // read.
        let same = shared && read_capped(file.path(), u64::MAX).is_ok_and(|now| now == bytes);
        if !same {
            file.as_file().set_len(0)?;
            file.write_all(bytes)?;
        }
        file.persist(path).map_err(|failed| failed.error)?;
        self.added = self.added.saturating_add(bytes.len() as u64);
        self.whole.insert(hash);
        Ok(hash)
    }

    /// Whether the content is stored; it may still turn out to be damaged.
    pub(crate) fn has(&self, hash: Hash) -> bool {
        self.path(hash).is_file()
    }

    /// A content. Fails with errors of the file system, and `InvalidData` if it is damaged.
    pub(crate) fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let bytes = read_capped(&self.path(hash), u64::MAX)?;
        if Hash::of(&bytes) != hash {
            return Err(io::Error::new(ErrorKind::InvalidData, "the kept content is damaged"));
        }
        Ok(bytes)
    }

    /// Removes all contents except the `wanted` ones; returns the number of bytes removed.
    pub(crate) fn retain(&self, wanted: &dyn Fn(Hash) -> bool) -> u64 {
        let Ok(entries) = fs::read_dir(&self.dir) else { return 0 };
        let mut freed = 0_u64;
        for entry in entries.flatten() {
            let hash = entry.file_name().to_str().and_then(Hash::from_text);
            let size = entry.metadata().map_or(0, |metadata| metadata.len());
            if !hash.is_some_and(wanted) && fs::remove_file(entry.path()).is_ok() {
                freed = freed.saturating_add(size);
            }
        }
        freed
    }
}

#[cfg(target_os = "linux")]
fn share_blocks(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_to: &File, _from: &File) -> bool {
    false
}

/// The size in bytes of everything in a folder.
pub(crate) fn size_of(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries.flatten().fold(0, |sum: u64, entry| {
        let size = match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
        sum.saturating_add(size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_kept_once_and_only_returned_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ContentStore::new(folder.path().join("content"));
        let hash = store.put(b"text", None).unwrap();
        assert_eq!(hash.to_string(), "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1");
        assert_eq!(store.put(b"text", None).unwrap(), hash);
        assert_eq!(store.added, 4);
        assert_eq!(store.get(hash).unwrap(), b"text");
        fs::write(store.path(hash), b"tex!").unwrap();
        assert_eq!(store.get(hash).unwrap_err().kind(), ErrorKind::InvalidData);
        // A later process stores it again.
        let mut store = ContentStore::new(folder.path().join("content"));
        assert_eq!(store.put(b"text", None).unwrap(), hash);
        assert_eq!(store.get(hash).unwrap(), b"text");
        let other = store.put(&vec![7; 100_000], None).unwrap();
        assert_eq!(store.retain(&|kept| kept == other), 4);
        assert!(store.has(other) && !store.has(hash));
    }

    #[test]
    fn large_files_are_kept_as_they_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = ContentStore::new(folder.path().join("content"));
        let path = folder.path().join("large");
        fs::write(&path, vec![1; 200_000]).unwrap();
        let file = File::open(&path).unwrap();
        let hash = store.put(&vec![1; 200_000], Some(&file)).unwrap();
        let other = store.put(&vec![2; 200_000], Some(&file)).unwrap();
        assert_eq!(store.get(hash).unwrap(), vec![1; 200_000]);
        assert_eq!(store.get(other).unwrap(), vec![2; 200_000], "not what the file holds");
    }
}
