//! Enforces the undo quota: unused sessions go first, oldest first; then the oldest calls.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::content::{ContentStore, size_of};
use super::journal::{self, Journal, Record};
use crate::settings::private_files::{open_for_lines, open_with, private_dir};
use tau_tools::counted::pluralize;

/// The file that is locked while the session is in use.
const LOCK: &str = "lock";

/// The file that grows with each change that tau itself makes beside the calls of agents.
const OWN_CHANGES: &str = "changes";

/// The folder and the quota of undo data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoOptions {
    /// The folder with one folder per session.
    pub dir: PathBuf,
    /// The maximum bytes in total; 0 stores nothing.
    pub quota: u64,
    /// tau's data folder, where changes by commands are not recorded; empty for none.
    pub own: PathBuf,
}

impl UndoOptions {
    /// Whether changes are recorded.
    pub fn is_on(&self) -> bool {
        self.quota > 0
    }

    /// Makes a change of files for the user, as taking an attempt is one. Calls of agents that are at work meanwhile,
    /// in whatever process, leave it to the user what of their changes is taken back.
    pub fn change_beside_calls<T>(&self, change: impl FnOnce() -> T) -> T {
        let note = || {
            let file = private_dir(&self.dir).and_then(|()| open_for_lines(&self.dir.join(OWN_CHANGES)));
            if let Err(error) = file.and_then(|mut file| file.write_all(b"\n")) {
                tracing::warn!(%error, "undo cannot note a change");
            }
        };
        if !self.is_on() {
            return change();
        }
        note();
        let changed = change();
        note();
        changed
    }

    /// The number of notes about such changes.
    pub(super) fn own_changes(&self) -> u64 {
        fs::metadata(self.dir.join(OWN_CHANGES)).map_or(0, |file| file.len())
    }
}

/// The lock of a session's folder, held until this is dropped.
#[derive(Debug)]
pub(super) struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A child process that is being started briefly has a copy of the descriptor, and with it the lock.
        let _ = self.0.unlock();
    }
}

/// The lock of a session's folder; `None` if it is already held.
pub(super) fn lock(folder: &Path) -> io::Result<Option<FolderLock>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = open_with(&mut options, &folder.join(LOCK))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(FolderLock(file))),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the oldest data until the rest is within the quota. Returns a notice about the removed data.
pub(super) fn enforce(options: &UndoOptions, journal: &mut Journal, store: &ContentStore) -> Option<String> {
    let mut others = others(&options.dir, journal.folder());
    let own = size_of(journal.folder());
    let mut total = others.iter().fold(own, |sum, other| sum.saturating_add(other.size));
    others.sort_by_key(|other| other.used);
    let mut sessions = 0_usize;
    let mut freed = 0_u64;
    for other in others {
        if total <= options.quota {
            break;
        }
        // A held lock means that the session is in use.
        let Ok(Some(_lock)) = lock(&other.folder) else { continue };
        if fs::remove_dir_all(&other.folder).is_ok() {
            sessions = sessions.saturating_add(1);
            freed = freed.saturating_add(other.size);
            total = total.saturating_sub(other.size);
        }
    }
    let (calls, bytes) =
        if total > options.quota { drop_calls(journal, store, total - options.quota) } else { (0, 0) };
    freed = freed.saturating_add(bytes);
    let what = match (sessions, calls) {
        (0, 0) => return None,
        (sessions, 0) => pluralize(sessions, "older session"),
        (0, calls) => format!("{} of this session", first_changes(calls)),
        (sessions, calls) => {
            format!("{} and {} of this one", pluralize(sessions, "older session"), first_changes(calls))
        }
    };
    let (freed, quota) = (freed >> 20, options.quota >> 20);
    Some(format!("/undo no longer covers {what}: {freed} MB were dropped to keep {quota} MB"))
}

/// The phrase for the first change or changes.
pub(super) fn first_changes(calls: usize) -> String {
    if calls == 1 { "the first change".to_owned() } else { format!("the first {calls} changes") }
}

struct Other {
    folder: PathBuf,
    size: u64,
    used: SystemTime,
}

pub(super) fn session_folders(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir())
}

fn others(dir: &Path, own: &Path) -> Vec<Other> {
    let folders = session_folders(dir).filter(|path| path != own);
    let other = |folder: PathBuf| {
        let journal = fs::metadata(folder.join(journal::FILE)).or_else(|_| fs::metadata(&folder));
        let used = journal.and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        Other { size: size_of(&folder), folder, used }
    };
    folders.map(other).collect()
}

/// Drops the contents of the oldest records until `excess` bytes are freed; returns the number of records and
/// bytes.
fn drop_calls(journal: &mut Journal, store: &ContentStore, excess: u64) -> (usize, u64) {
    let before = journal.dropped;
    let (mut dropped, mut freed) = (before, 0_u64);
    // The last record may still be open.
    while freed < excess && dropped.saturating_add(1) < journal.records.len() {
        let step = journal.records.len() / 8;
        dropped = dropped.saturating_add(step.max(1)).min(journal.records.len().saturating_sub(1));
        let needed: HashSet<_> = journal.records.iter().skip(dropped).flat_map(Record::hashes).collect();
        let gone: HashSet<_> = journal.records.iter().take(dropped).flat_map(Record::hashes).collect();
        freed = freed.saturating_add(store.retain(&|hash| needed.contains(&hash) || !gone.contains(&hash)));
    }
    if dropped > before {
        journal.drop_first(dropped).ok();
    }
    (dropped.saturating_sub(before), freed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap().unwrap();
        let copy = first.0.try_clone().unwrap();
        assert!(lock(folder.path()).unwrap().is_none(), "one at a time");
        drop(first);
        assert!(lock(folder.path()).unwrap().is_some());
        drop(copy);
    }
}
