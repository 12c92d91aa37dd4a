//! The result of a scan of the workspace.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::Instant;

use super::entry::{Entry, Kind};

/// The time before the scan within which a changed file may change again without a new timestamp, in
/// nanoseconds.
const CLOCK_STEP: i64 = 20_000_000;

/// The workspace at one time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// All entries, in the order of the bytes of their paths.
    pub entries: Vec<Entry>,
    /// Ignored files and directories; the content of these directories is unknown.
    pub ignored: Vec<Entry>,
    /// Ignored files that are in `entries` because git tracks or tracked them.
    pub(crate) tracked: Vec<Box<[u8]>>,
    /// Directories that could not be read completely, are on another file system, or are tau's own; paths that could not be read.
    pub skipped: Vec<Box<[u8]>>,
    /// A number that differs if the rules differ.
    pub(crate) rules: u64,
    /// The start time of the scan, in nanoseconds since 1970.
    pub(crate) started: i64,
    /// The start time of the scan by a clock that never steps.
    pub(super) at: Option<Instant>,
    /// The newest change in `entries`, in nanoseconds since 1970, once it was needed.
    pub(super) newest: OnceLock<i64>,
    /// The inodes of `entries`, once they were needed.
    pub(super) inodes: OnceLock<HashSet<u64>>,
    /// Whether the directory itself is gone.
    pub(crate) is_gone: bool,
    /// The reason it is incomplete, if it is.
    pub incomplete: Option<String>,
}

impl Snapshot {
    /// The entry at a path.
    pub fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| (*entry.path).cmp(path))
            .ok()
            .and_then(|at| self.entries.get(at))
    }

    pub(super) fn ignored_entry(&self, path: &[u8]) -> Option<&Entry> {
        let at = self.ignored.binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.ignored.get(at)
    }

    /// Whether a path, or a directory above it, was ignored.
    pub(super) fn is_ignored(&self, path: &[u8]) -> bool {
        is_at_or_below(path, |path| self.ignored_entry(path).is_some())
    }

    /// The skipped paths. An empty one is the workspace itself.
    pub(super) fn unread(&self) -> HashSet<&[u8]> {
        self.skipped.iter().map(|path| path.strip_suffix(b"/").unwrap_or(path)).collect()
    }

    /// Whether a time, in nanoseconds since 1970, is before the scan.
    pub(super) fn is_from_before(&self, time: i64) -> bool {
        time.saturating_add(CLOCK_STEP) < self.started
    }

    /// Whether something in the workspace was created before this scan, although a later scan, which is `after`, has found
    /// it first. The clock of the file system may be behind; then nothing in `after` has changed since this scan.
    pub(super) fn has_been_created(&self, created: i64, after: &Snapshot) -> bool {
        if !self.is_from_before(created) || !self.is_from_before(after.newest()) {
            return self.is_from_before(created);
        }
        let between = self.at.zip(after.at).map(|(one, other)| other.saturating_duration_since(one));
        let between = between.map_or(i64::MAX, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        created < self.newest().max(after.newest().saturating_sub(between).saturating_sub(CLOCK_STEP))
    }

    fn newest(&self) -> i64 {
        let changed = || self.entries.iter().map(|entry| nanoseconds(entry.stamp.ctime)).max();
        *self.newest.get_or_init(|| changed().unwrap_or(i64::MIN))
    }

    /// Whether an entry has this inode.
    pub(super) fn has_inode(&self, inode: u64) -> bool {
        let inodes = self.inodes.get_or_init(|| self.entries.iter().map(|entry| entry.stamp.inode).collect());
        inodes.contains(&inode)
    }

    /// Whether an entry may have changed again after the scan without a sign of it.
    pub(crate) fn is_fresh(&self, entry: &Entry) -> bool {
        entry.kind == Kind::File && !self.is_from_before(nanoseconds(entry.stamp.ctime))
    }
}

/// Whether `is` is true of a path or of a directory above it, of which the uppermost has an empty path.
pub(super) fn is_at_or_below(path: &[u8], is: impl Fn(&[u8]) -> bool) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    [0].into_iter().chain(ends).chain([path.len()]).filter_map(|end| path.get(..end)).any(is)
}

fn nanoseconds((seconds, nanoseconds): (i64, i64)) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}
