//! Retention: sessions and undo data that were not changed for some days go to the trash.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tau_agent::session::list;
use tau_agent::session::lock::{self, Life};
use tau_agent::settings::{Paths, Settings};
use tau_tools::counted::counted;

const DAY: Duration = Duration::from_hours(24);

/// Sessions and undo data that are older than the retention.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Old {
    sessions: Vec<PathBuf>,
    /// Folders of undo data.
    undo: Vec<PathBuf>,
}

impl Old {
    /// Everything that the settings do not keep any longer; empty if they keep everything.
    pub(crate) fn find(settings: &Settings, paths: &Paths, now: SystemTime) -> Self {
        let days = u32::try_from(settings.retention()).unwrap_or(u32::MAX);
        let before = DAY.checked_mul(days).and_then(|age| now.checked_sub(age));
        let Some(before) = before.filter(|_| days > 0) else { return Old::default() };
        let is_old = |path: &Path| {
            path.symlink_metadata().and_then(|meta| meta.modified()).is_ok_and(|changed| changed < before)
        };
        let (mut old, mut kept) = (Old::default(), Vec::new());
        list::list(&settings.session_root(paths), None, &mut |row| {
            if is_old(&row.path) && !is_open(&row.path) {
                old.sessions.push(row.path);
            } else {
                kept.push(row.id);
            }
            true
        });
        // Undo data goes with its session, also if that is gone already.
        let folders = std::fs::read_dir(paths.undo()).into_iter().flatten().flatten();
        old.undo = folders
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| !kept.iter().any(|id| entry.file_name() == id.as_str()))
            .map(|entry| entry.path())
            .filter(|folder| is_old(&newest_in(folder)))
            .collect();
        old
    }

    /// Moves it to the trash; returns a report, or `None` if nothing was old.
    pub(crate) fn discard(self, days: u64) -> Option<String> {
        let move_all = |paths: Vec<PathBuf>| {
            let all = paths.len();
            (paths.into_iter().filter(|path| trash::delete(path).is_ok()).count(), all)
        };
        let ((sessions, all_sessions), (undo, all_undo)) = (move_all(self.sessions), move_all(self.undo));
        let left = (all_sessions - sessions).saturating_add(all_undo - undo);
        let moved: Vec<String> = [(sessions, "session"), (undo, "folder of undo data")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| match noun {
                "session" => counted(count, noun),
                _ if count == 1 => "the undo data of 1".to_owned(),
                _ => format!("the undo data of {count}"),
            })
            .collect();
        let age = counted(days, "day");
        let mut report = Vec::new();
        if !moved.is_empty() {
            report.push(format!("moved to the trash, as older than {age}: {}", moved.join(", ")));
        }
        if left > 0 {
            let what = counted(left, "session or undo folder");
            report.push(format!("{what} older than {age} stayed: this machine has no usable trash"));
        }
        (!report.is_empty()).then(|| report.join("; "))
    }
}

/// Whether a session is in use.
pub(crate) fn is_open(session: &Path) -> bool {
    lock::noted(session).is_some_and(|owner| owner.life() != Life::Ended)
}

/// The file in a folder that was changed last, or the folder if it is empty.
fn newest_in(folder: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let changed = |path: &PathBuf| path.symlink_metadata().and_then(|meta| meta.modified()).ok();
    entries.map(|entry| entry.path()).max_by_key(changed).unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_undo_data_goes_without_its_session_and_stays_with_it() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let settings = Settings { retention: Some(30), ..Settings::default() };
        let folder = paths.undo().join("0199-gone");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("journal"), "x").unwrap();
        let in_days = |days| SystemTime::now() + DAY * days;
        assert_eq!(Old::find(&settings, &paths, in_days(29)), Old::default());
        let old = Old::find(&settings, &paths, in_days(31));
        assert_eq!((old.sessions.len(), old.undo), (0, vec![folder]));
        // 0, and nothing set, keep everything.
        for retention in [Some(0), None] {
            let settings = Settings { retention, ..Settings::default() };
            assert_eq!(Old::find(&settings, &paths, in_days(9_999)), Old::default());
        }
    }
}
