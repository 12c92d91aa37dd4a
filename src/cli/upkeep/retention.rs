//! Retention: sessions and undo data that were not changed for some days go to the trash.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tau_agent::session::list;
use tau_agent::session::lock::{self, Life};
use tau_agent::settings::{Paths, Settings};
use tau_tools::counted::pluralize;

const DAY: Duration = Duration::from_hours(24);

/// Sessions and undo data that are older than the retention.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Old {
    /// The time since which they were not changed.
    before: Option<SystemTime>,
    /// Files of sessions, with the ids.
    sessions: Vec<(PathBuf, String)>,
    /// Folders of undo data.
    undo: Vec<PathBuf>,
}

impl Old {
    /// Everything that the settings do not keep any longer; empty if they keep everything.
    pub(crate) fn find(settings: &Settings, paths: &Paths, now: SystemTime) -> Self {
        let days = u32::try_from(settings.retention()).unwrap_or(u32::MAX);
        let before = DAY.checked_mul(days).and_then(|age| now.checked_sub(age));
        let Some(before) = before.filter(|_| days > 0) else { return Old::default() };
        let (mut old, mut kept) = (Old { before: Some(before), ..Old::default() }, Vec::new());
        list::list(&settings.session_root(paths), None, &mut |row| {
            if is_older(&row.path, before) && !is_open(&row.path) {
                old.sessions.push((row.path, row.id));
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
            .filter(|folder| is_older(&newest_in(folder), before))
            .collect();
        old
    }

    /// Moves it to the trash, except what has been used since it was found; returns a report, or `None` if nothing was
    /// old.
    pub(crate) fn discard(mut self, days: u64) -> Option<String> {
        let before = self.before?;
        let (mut sessions, mut undo, mut left) = (0_usize, 0_usize, 0_usize);
        for (path, id) in self.sessions {
            let lock = lock::lock_for_deletion(&path);
            if lock.is_err() || !is_older(&path, before) {
                self.undo.retain(|folder| folder.file_name() != Some(id.as_ref()));
                continue;
            }
            let is_moved = trash::delete(&path).is_ok();
            *(if is_moved { &mut sessions } else { &mut left }) += 1;
        }
        for folder in self.undo.iter().filter(|folder| is_older(&newest_in(folder), before)) {
            let is_moved = trash::delete(folder).is_ok();
            *(if is_moved { &mut undo } else { &mut left }) += 1;
        }
        let moved: Vec<String> = [(sessions, "session"), (undo, "folder of undo data")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| match noun {
                "session" => pluralize(count, noun),
                _ if count == 1 => "the undo data of 1".to_owned(),
                _ => format!("the undo data of {count}"),
            })
            .collect();
        let age = pluralize(days, "day");
        let mut report = Vec::new();
        if !moved.is_empty() {
            report.push(format!("moved to the trash, as older than {age}: {}", moved.join(", ")));
        }
        if left > 0 {
            let what = pluralize(left, "session or undo folder");
            report.push(format!("{what} older than {age} stayed: this machine has no usable trash"));
        }
        (!report.is_empty()).then(|| report.join("; "))
    }
}

/// Whether a file was last changed before a time.
fn is_older(path: &Path, before: SystemTime) -> bool {
    path.symlink_metadata().and_then(|meta| meta.modified()).is_ok_and(|changed| changed < before)
}

/// Whether a session is in use.
pub(crate) fn is_open(session: &Path) -> bool {
    lock::read_owner(session).is_some_and(|owner| owner.life() != Life::Ended)
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
        let young = Old::find(&settings, &paths, in_days(29));
        assert!(young.sessions.is_empty() && young.undo.is_empty());
        let old = Old::find(&settings, &paths, in_days(31));
        assert_eq!((old.sessions.len(), old.undo), (0, vec![folder]));
        // 0, and nothing set, keep everything.
        for retention in [Some(0), None] {
            let settings = Settings { retention, ..Settings::default() };
            assert_eq!(Old::find(&settings, &paths, in_days(9_999)), Old::default());
        }
    }

    #[test]
    fn what_is_used_after_it_was_found_stays() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        let settings = Settings { retention: Some(30), ..Settings::default() };
        let folder = settings.session_root(&paths).join("--srv--");
        std::fs::create_dir_all(&folder).unwrap();
        let session = |id: &str| {
            let path = folder.join(format!("2026_{id}.jsonl"));
            let head = format!(
                r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/srv"}}"#
            );
            let line = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x","timestamp":1}}"#;
            std::fs::write(&path, format!("{head}\n{line}\n")).unwrap();
            let undo = paths.undo().join(id);
            std::fs::create_dir_all(&undo).unwrap();
            (path, undo)
        };
        let ((opened, undo_of_opened), (changed, undo_of_changed)) = (session("s1"), session("s2"));
        let now = SystemTime::now();
        let old = Old::find(&settings, &paths, now + DAY * 31);
        assert_eq!((old.sessions.len(), old.undo.len()), (2, 2));
        let _session = tau_agent::session::Session::open(&opened).unwrap();
        let file = std::fs::File::options().write(true).open(&changed).unwrap();
        file.set_modified(now + DAY * 2).unwrap();
        assert_eq!(old.discard(30), None);
        assert!([opened, undo_of_opened, changed, undo_of_changed].iter().all(|path| path.exists()));
    }
}
