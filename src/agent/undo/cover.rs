//! Keeps files covered that are ignored now: a session cannot remove files from the cover.
//!
//! The rules of a directory count in the version before a call changed them. Files that only newer rules
//! ignore are left out if they appeared during a call, like build output; files that existed before, or were
//! created by someone else, stay covered. So do files that git tracked. The journal has everything another
//! process needs to continue with this.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::Gitignore;

use super::content::ContentStore;
use super::entry::{Entry, Kind};
use super::ignore_rules::{self, Rules};
use super::journal::{Cause, Change, Journal, LostPath, LostReason};
use super::snapshot::Snapshot;
use super::state::{FileState, Stamp};
use tau_tools::ignore_files;

/// The paths that are covered regardless of the current ignore files.
#[derive(Debug, Default)]
pub(super) struct Cover {
    root: PathBuf,
    /// The rules at the root when the session began.
    pub(super) outer: Option<Arc<Rules>>,
    /// The rules of directories before a call changed them.
    held: HashMap<PathBuf, Gitignore>,
    /// Paths that appeared during a call, relative to the root, with the version that the last call left. It
    /// is missing only for directories.
    appeared: HashMap<Box<[u8]>, Option<Stamp>>,
    /// Ignored files that git tracked.
    untracked: BTreeSet<Box<[u8]>>,
}

impl Cover {
    /// The cover of the session with this journal, in the directory `root`.
    pub(super) fn new(journal: &Journal, store: &ContentStore, root: &Path) -> Self {
        let bytes = |path: &Path| Box::from(path.as_os_str().as_encoded_bytes());
        let outer = journal.rules.as_ref().and_then(ignore_rules::at_root);
        let untracked = journal.untracked.iter().map(|path| bytes(&path.0)).collect();
        let mut cover = Cover { root: root.to_owned(), outer, untracked, ..Cover::default() };
        for record in journal.records.iter().filter(|record| matches!(record.cause, Cause::Call { .. })) {
            cover.note(&record.changes, &record.lost, store, None);
            let ignored = record.lost.iter().filter(|lost| lost.why == LostReason::Ignored);
            let below = ignored.filter_map(|lost| lost.path.0.strip_prefix(root).ok());
            cover.appeared.extend(below.map(|path| (bytes(path), None)));
        }
        cover
    }

    /// Records that a call has changed these paths; `later` is the snapshot after it. The current versions of
    /// changed ignore files no longer count.
    pub(super) fn note(
        &mut self,
        changes: &[Change],
        lost: &[LostPath],
        store: &ContentStore,
        later: Option<&Snapshot>,
    ) {
        for change in changes {
            let Ok(path) = change.path.0.strip_prefix(&self.root) else { continue };
            let path = path.as_os_str().as_encoded_bytes();
            let stamp = later.and_then(|later| later.get(path)).map(|entry| entry.stamp);
            if change.after == FileState::Absent {
                self.appeared.remove(path);
            } else if change.before == FileState::Absent {
                self.appeared.insert(path.into(), stamp);
            } else if let Some(known) = self.appeared.get_mut(path) {
                *known = stamp;
            }
        }
        let changed = changes.iter().map(|change| (&change.path.0, change.before.hash()));
        let all = changed.chain(lost.iter().map(|lost| (&lost.path.0, None)));
        for (path, before) in all.filter(|(path, _)| ignore_rules::is_rules(path)) {
            let Some(dir) = path.parent().filter(|dir| !self.held.contains_key(*dir)) else { continue };
            // If the earlier rules are unknown, nothing counts as ignored.
            let bytes = before.and_then(|hash| store.get(hash).ok()).unwrap_or_default();
            let own = ignore_files::rules(dir, &String::from_utf8_lossy(&bytes));
            self.held.insert(dir.to_owned(), own);
        }
    }

    /// The rules that apply in a directory with the ignore file `own`.
    pub(super) fn inside(
        &self,
        dir: &Path,
        own: Option<&Gitignore>,
        above: Option<Arc<Rules>>,
    ) -> Option<Arc<Rules>> {
        ignore_rules::inside(self.held.get(dir).or(own).cloned(), above)
    }

    /// Whether a path appeared during a call, and was not changed by anyone else since; the content of a
    /// directory does not count.
    pub(super) fn has_appeared(&self, entry: &Entry) -> bool {
        match self.appeared.get(&entry.path) {
            Some(stamp) => entry.kind == Kind::Directory || *stamp == Some(entry.stamp),
            None => false,
        }
    }

    /// Removes missing paths when a call is about to run.
    pub(super) fn look(&mut self, snapshot: &Snapshot) {
        self.appeared.retain(|path, _| snapshot.ignored_entry(path).or_else(|| snapshot.get(path)).is_some());
    }

    /// Records the paths that the scans before and after a call ignored.
    pub(super) fn note_ignored(&mut self, earlier: &Snapshot, later: &Snapshot) {
        for entry in &later.ignored {
            if self.appeared.contains_key(&entry.path) || earlier.ignored_entry(&entry.path).is_none() {
                self.appeared.insert(entry.path.clone(), Some(entry.stamp));
            }
        }
    }

    /// Whether git tracked an ignored file.
    pub(super) fn was_tracked(&self, path: &[u8]) -> bool {
        self.untracked.contains(path)
    }

    /// The files in a directory that git tracked.
    pub(super) fn tracked_files<'a>(&'a self, dir: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let from =
            self.untracked.range::<[u8], _>((std::ops::Bound::Included(dir), std::ops::Bound::Unbounded));
        from.map(|path| &**path).take_while(move |path| path.starts_with(dir))
    }

    /// Keeps a file covered that git no longer tracks; `false` if that was already known.
    pub(super) fn keep_tracked(&mut self, path: &[u8]) -> bool {
        self.untracked.insert(path.into())
    }
}

/// Decides which paths a scan may ignore.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covering<'a> {
    pub(super) cover: &'a Cover,
    /// The snapshot before the call, for a scan after it.
    pub(super) earlier: Option<&'a Snapshot>,
}

impl Covering<'_> {
    /// Whether a path stays covered although the current rules ignore it. `held` are the rules that apply,
    /// and `full` is the absolute path.
    pub(super) fn spares(&self, entry: &Entry, held: Option<&Rules>, full: &Path) -> bool {
        match self.earlier {
            Some(earlier) => earlier.get(&entry.path).is_some(),
            None => {
                let directory = entry.kind == Kind::Directory;
                let left_out = held.is_some_and(|held| held.ignore(full, directory));
                !left_out && !self.cover.has_appeared(entry)
            }
        }
    }
}
