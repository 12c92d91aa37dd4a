//! What a scan of the workspace has found.

use super::entry::{Entry, Kind};

/// A file that was changed so shortly before the scan may change again without a new time.
const CLOCK_STEP: i64 = 20_000_000;

/// The workspace at one time.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// In the order of the bytes of their paths.
    pub entries: Vec<Entry>,
    /// Files and directories that rules leave out; of what is in these directories nothing is known.
    pub ignored: Vec<Entry>,
    /// Files that rules leave out, and that are in `entries` because git tracks them, or did.
    pub(crate) tracked: Vec<Box<[u8]>>,
    /// Directories that could not be read, or are on another file system.
    pub skipped: Vec<Box<[u8]>>,
    /// Differs when the rules do.
    pub(crate) rules: u64,
    /// When the scan began, in nanoseconds since 1970.
    pub(crate) started: i64,
    /// True if the directory itself is gone.
    pub(crate) is_gone: bool,
    /// Why it is not complete, if it is not.
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

    /// What is left out at a path.
    pub(super) fn ignored(&self, path: &[u8]) -> Option<&Entry> {
        let at = self.ignored.binary_search_by(|entry| (*entry.path).cmp(path)).ok()?;
        self.ignored.get(at)
    }

    /// Whether rules left out a path, or a directory that it is in.
    pub(super) fn left_out(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([path.len()]).filter_map(|end| path.get(..end)).any(|path| self.ignored(path).is_some())
    }

    /// Whether an entry may have changed again after it was looked at, without a sign of it.
    pub(crate) fn is_fresh(&self, entry: &Entry) -> bool {
        entry.kind == Kind::File && nanoseconds(entry.stamp.ctime).saturating_add(CLOCK_STEP) >= self.started
    }
}

fn nanoseconds((seconds, nanoseconds): (i64, i64)) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}
