//! Periodic work that one process does for all processes of a user.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use tau_agent::settings::Paths;
use tau_agent::settings::private_files::{read_capped, write_private};

/// The size limit of the file, in bytes.
const MAX_BYTES: u64 = 4 * 1024;

/// When some work is to be done again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// The name of the file in the state folder that says when the work was begun last.
    pub file: &'static str,
    /// The time from one beginning to the next.
    pub interval: Duration,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct LastRun {
    /// Milliseconds since 1970.
    at: i64,
}

impl Due {
    /// Whether the work was begun within the interval. Reads one small file.
    pub(super) fn was_recently(self, paths: &Paths) -> bool {
        let last: LastRun = read_capped(&paths.state.join(self.file), MAX_BYTES)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let passed = jiff::Timestamp::now().as_millisecond().saturating_sub(last.at);
        // A clock that was set back does not stop the work for longer than the interval.
        u128::try_from(passed).is_ok_and(|passed| passed < self.interval.as_millis())
    }

    /// Whether the work is due. Notes its beginning, so that a failure is not repeated at every start, and two processes
    /// do not both do it.
    pub(super) fn begin(self, paths: &Paths) -> bool {
        let file = paths.shared_file(paths.state.join(self.file));
        let Ok(_held) = file.lock() else { return false };
        if self.was_recently(paths) {
            return false;
        }
        let now = LastRun { at: jiff::Timestamp::now().as_millisecond() };
        write_private(file.path(), &serde_json::to_vec(&now).unwrap_or_default()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_one_beginning() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let work = Due { file: "work.json", interval: Duration::from_hours(1) };
        assert!(!work.was_recently(&paths), "it was never begun");
        assert!(work.begin(&paths) && !work.begin(&paths) && work.was_recently(&paths));
        let file = paths.state.join(work.file);
        let (now, hour) = (jiff::Timestamp::now().as_millisecond(), 60 * 60 * 1000);
        for (at, due) in [(now - hour + 60_000, false), (now - hour - 1, true), (now + 60_000, true)] {
            std::fs::write(&file, serde_json::to_vec(&LastRun { at }).unwrap()).unwrap();
            assert_eq!((work.was_recently(&paths), work.begin(&paths)), (!due, due), "{at}");
        }
        std::fs::write(&file, "{").unwrap();
        assert!(work.begin(&paths), "a damaged file counts as none");
    }
}
