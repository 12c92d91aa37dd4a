//! The rows of the board, which are read again only when there is something new.

use std::time::{Duration, SystemTime};

use super::record::{self, FoundRecord};
use tau_agent::settings::Paths;
use tau_protocol::live_session::{LiveRow, LiveState};
use tau_tools::process::is_suspended;

/// The time after a change in which another one may have the same timestamp.
const SETTLED: Duration = Duration::from_millis(100);
/// The time after which they are read in any case: a process that was killed changes nothing in the folder.
const AGAIN: Duration = Duration::from_secs(10);

/// The rows as last read.
#[derive(Debug, Default)]
pub struct RowCache {
    known: Option<CachedRows>,
    /// The number of times that they were found changed.
    changes: u64,
}

#[derive(Debug)]
struct CachedRows {
    /// The last change of the folder before they were read.
    modified: SystemTime,
    read: SystemTime,
    rows: Vec<LiveRow>,
    /// The processes of runs, and whether each was suspended: suspending one changes nothing in the folder.
    at_work: Vec<(u32, bool)>,
}

impl RowCache {
    /// The number of the rows as last read: it grows when they change.
    pub fn number(&self) -> u64 {
        self.changes
    }

    /// The current rows.
    pub fn rows(&mut self, paths: &Paths) -> Vec<LiveRow> {
        let modified = record::last_change(paths);
        let now = SystemTime::now();
        let is_current = |known: &&CachedRows| {
            let settled = known.modified.checked_add(SETTLED).is_some_and(|end| end < known.read);
            let is_recent = now.duration_since(known.read).is_ok_and(|age| age < AGAIN);
            let is_as_known = |(pid, suspended): &(u32, bool)| is_suspended(*pid) == *suspended;
            modified == Some(known.modified) && settled && is_recent && known.at_work.iter().all(is_as_known)
        };
        if let Some(known) = self.known.as_ref().filter(is_current) {
            return known.rows.clone();
        }
        let found: Vec<FoundRecord> = record::all(paths).into_values().filter(FoundRecord::has_row).collect();
        let at_work = found.iter().filter(|found| found.is_live && found.record.is_at_work());
        let at_work =
            at_work.map(|found| (found.record.pid, found.state() == LiveState::Suspended)).collect();
        let mut rows: Vec<LiveRow> = found.into_iter().map(FoundRecord::row).collect();
        rows.sort_by(|one, other| one.id.cmp(&other.id));
        if self.known.as_ref().is_none_or(|known| known.rows != rows) {
            self.changes += 1;
        }
        self.known = modified.map(|modified| CachedRows { modified, read: now, rows: rows.clone(), at_work });
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::record::{LiveRecord, Registration};

    #[test]
    fn rows_are_read_again_after_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let mut listed = RowCache::default();
        assert!(listed.rows(&paths).is_empty());
        let record =
            |title: &str| LiveRecord { id: "a".into(), title: title.into(), ..LiveRecord::default() };
        let mut open = Registration::new(&paths, record("one")).unwrap();
        assert_eq!(listed.rows(&paths)[0].title, "one");
        std::thread::sleep(SETTLED * 2);
        assert_eq!(listed.rows(&paths)[0].title, "one");
        let read = listed.known.as_ref().unwrap().read;
        assert_eq!(listed.rows(&paths)[0].title, "one");
        assert_eq!(listed.known.as_ref().unwrap().read, read, "read again without a change");
        open.update(record("two")).unwrap();
        assert_eq!(listed.rows(&paths)[0].title, "two");
    }
}
