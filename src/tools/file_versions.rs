//! The file versions that the model has seen, and a queue for calls on one file.
//!
//! A version is identified by its hash if the content was at hand, otherwise by size, time and inode. Texts
//! of moderate size are kept as well, so that a refusal can show what changed. Paths here are always
//! [`super::paths::identity`]. Versions live as long as the process; a resumed session starts without any,
//! and a file never seen is not guarded.

use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// The largest text kept for showing changes, in bytes.
const KEPT_TEXT: usize = 1024 * 1024;
/// The maximum number of bytes of text kept in total; the oldest are dropped first.
const KEPT_IN_ALL: usize = 16 * 1024 * 1024;

/// The file versions that a session's model has seen.
#[derive(Debug, Default)]
pub struct FileVersions {
    seen: Mutex<Book>,
    queues: Mutex<HashMap<PathBuf, Weak<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct Book {
    entries: HashMap<PathBuf, SeenVersion>,
    kept: usize,
    clock: u64,
}

#[derive(Debug)]
struct SeenVersion {
    stamp: Stamp,
    hash: Option<u64>,
    text: Option<Arc<[u8]>>,
    at: u64,
}

/// The metadata that identifies a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }
}

impl From<&rustix::fs::Stat> for Stamp {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the types of these fields differ between systems"
    )]
    fn from(stat: &rustix::fs::Stat) -> Self {
        Stamp {
            device: stat.st_dev as u64,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            seconds: stat.st_mtime,
            nanoseconds: i64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        }
    }
}

/// Whether a file is still as the model knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// The model has not seen this file.
    Unseen,
    /// It is the version that the model knows.
    Same,
    /// It is a different version; holds what the model saw, if that was kept.
    Changed(Option<Arc<[u8]>>),
}

/// The right to work on one file. Other calls wait until it is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl FileVersions {
    /// Records that the model knows this version. `content` is the complete file, if it was read.
    pub fn record(&self, path: &Path, stamp: Stamp, content: Option<&[u8]>) {
        let mut book = self.seen.lock();
        book.clock += 1;
        let text = content.filter(|content| content.len() <= KEPT_TEXT).map(Arc::from);
        let seen = SeenVersion { stamp, hash: content.map(hash), text, at: book.clock };
        book.kept += seen.size();
        if let Some(before) = book.entries.insert(path.to_path_buf(), seen) {
            book.kept -= before.size();
        }
        while book.kept > KEPT_IN_ALL && book.drop_oldest_text() {}
    }

    /// Compares the current file with what the model knows.
    pub(crate) fn freshness(&self, path: &Path, stamp: Stamp, content: Option<&[u8]>) -> Freshness {
        let book = self.seen.lock();
        let Some(seen) = book.entries.get(path) else { return Freshness::Unseen };
        let same = match (seen.hash, content) {
            (Some(known), Some(content)) => known == hash(content),
            _ => seen.stamp == stamp,
        };
        if same { Freshness::Same } else { Freshness::Changed(seen.text.clone()) }
    }

    /// Waits for earlier calls on this file.
    pub async fn turn(&self, path: &Path) -> Turn {
        let queue = {
            let mut queues = self.queues.lock();
            queues.retain(|_, queue| queue.strong_count() > 0);
            match queues.get(path).and_then(Weak::upgrade) {
                Some(queue) => queue,
                None => {
                    let queue = Arc::default();
                    queues.insert(path.to_path_buf(), Arc::downgrade(&queue));
                    queue
                }
            }
        };
        queue.lock_owned().await
    }
}

impl Book {
    fn drop_oldest_text(&mut self) -> bool {
        let oldest = self.entries.values_mut().filter(|seen| seen.text.is_some()).min_by_key(|seen| seen.at);
        let Some(oldest) = oldest else { return false };
        self.kept -= oldest.size();
        oldest.text = None;
        true
    }
}

impl SeenVersion {
    fn size(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }
}

fn hash(content: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(size: u64) -> Stamp {
        Stamp { device: 1, inode: 2, size, seconds: 3, nanoseconds: 4 }
    }

    #[test]
    fn content_decides_where_it_is_known_and_the_stamp_elsewhere() {
        let file_versions = FileVersions::default();
        let path = Path::new("/f");
        assert_eq!(file_versions.freshness(path, stamp(1), Some(b"a")), Freshness::Unseen);
        file_versions.record(path, stamp(1), Some(b"a"));
        assert_eq!(file_versions.freshness(path, stamp(9), Some(b"a")), Freshness::Same);
        assert_eq!(
            file_versions.freshness(path, stamp(1), Some(b"b")),
            Freshness::Changed(Some(Arc::from(&b"a"[..])))
        );
        file_versions.record(path, stamp(1), None);
        assert_eq!(file_versions.freshness(path, stamp(1), Some(b"b")), Freshness::Same);
        assert_eq!(file_versions.freshness(path, stamp(2), Some(b"b")), Freshness::Changed(None));
    }

    #[test]
    fn kept_texts_are_bounded_in_all() {
        let file_versions = FileVersions::default();
        let text = vec![b'x'; KEPT_TEXT];
        for n in 0..40 {
            file_versions.record(Path::new(&format!("/{n}")), stamp(n), Some(&text));
        }
        assert!(file_versions.seen.lock().kept <= KEPT_IN_ALL);
        assert_eq!(
            file_versions.freshness(Path::new("/0"), stamp(7), Some(b"other")),
            Freshness::Changed(None)
        );
        assert!(matches!(
            file_versions.freshness(Path::new("/39"), stamp(7), Some(b"other")),
            Freshness::Changed(Some(_))
        ));
    }
}
