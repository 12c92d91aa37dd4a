//! Records the files of a call before and after it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::baseline::{Baseline, MAX_COPY_SIZE};
use super::call_start::CallStart;
use super::content::Hash;
use super::entry::{Entry, Kind};
use super::git_objects::GitObjects;
use super::ignore_rules::{as_path, is_rules};
use super::journal::{Cause, Change, LostPath, LostReason};
use super::scan::{Difference, differences, entry_at, is_moved_in};
use super::session::{OpenCall, SessionUndo, now};
use super::snapshot::Snapshot;
use super::state::{FileState, StoredPath, observe, observe_itself};
use tau_tools::access::Access;
use tau_tools::paths::identity;
use tau_tools::replace_file::MAX_FILE;
use tau_tools::user_error::UserError;

/// The maximum time that a command waits until files that git does not have are copied.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum bytes of new contents that are stored for a command.
const MAX_PER_CALL: u64 = 128 * 1024 * 1024;
/// The maximum number of ignored paths that are named for a command.
const IGNORED_NAMED: usize = 20;
/// The reason that an undo keeps what was moved from an ignored or unread directory, or from outside.
const MOVED_IN: &str = "moved here from a place that undo does not cover, so it stays";
/// The number of new bytes after which the quota is checked.
const QUOTA_STEP: u64 = 16 * 1024 * 1024;

impl SessionUndo {
    /// Copies files that git cannot restore until `until`, so the first command need not wait. Returns true if
    /// files remain.
    pub fn precopy(&mut self, first: bool, until: Instant) -> bool {
        if self.untracked_reason.is_some() || self.open.is_some() || !self.prepare() {
            return false;
        }
        if first {
            self.look(None);
        }
        self.copy(until)
    }

    fn look(&mut self, checkpoint: Option<&str>) {
        let why = match self.baseline.scan() {
            Err(error) => Some(tau_tools::paths::reason(&error)),
            Ok(()) => self.baseline.snapshot.incomplete.clone(),
        };
        match why {
            None => self.baseline.find_waiting(),
            why => (self.untracked_reason, self.untracked_since) = (why, Some(checkpoint.map(str::to_owned))),
        }
    }

    fn copy(&mut self, until: Instant) -> bool {
        match self.baseline.copy_some(&mut self.store, until) {
            Ok(more) => more,
            Err(error) => {
                self.fail(&tau_tools::paths::reason(&error));
                false
            }
        }
    }

    /// Records the state before a call. Does nothing for a call that only reads.
    pub fn begin(&mut self, call: CallStart, access: &Access) {
        self.end(false);
        self.start(call, access, true);
    }

    /// Records the state before a call that starts while another one runs. Its record begins where the
    /// other's ends, so a change in between is in one of them. `shared`: a user command ran in the meantime.
    pub fn begin_concurrent(&mut self, call: CallStart, access: &Access, shared: bool) {
        let was_looked_at = self.open.as_ref().is_some_and(|open| open.any);
        self.end(shared);
        self.start(call, access, !was_looked_at);
    }

    fn start(&mut self, call: CallStart, access: &Access, looks: bool) {
        if access.only_reads() || !self.prepare() {
            return;
        }
        let any = !access.commands.is_empty() || access.unknown || access.program;
        // Not at each call, as a scan that fails can take seconds.
        if any && looks && self.untracked_since.as_ref().is_some_and(|since| *since != call.checkpoint) {
            (self.untracked_reason, self.untracked_since) = (None, None);
        }
        if any && self.untracked_reason.is_none() {
            if looks {
                self.look(call.checkpoint.as_deref());
            }
            self.copy(Instant::now() + TIMEOUT);
        }
        let own_changes = self.options.own_changes();
        let named = self.observe_files(&access.writes);
        let CallStart { id, tool, checkpoint } = call;
        let cause = Cause::Call { id, tool, checkpoint, any };
        match self.journal.begin(cause, now(), named.clone()) {
            Ok(()) => self.open = Some(OpenCall { named, any, own_changes }),
            Err(error) => self.fail(&tau_tools::paths::reason(&error)),
        }
    }

    /// The current states of the files that a call names, and of the directories that it would create.
    pub(super) fn observe_files(&mut self, writes: &[PathBuf]) -> Vec<(StoredPath, FileState)> {
        let mut named: Vec<(StoredPath, FileState)> = Vec::new();
        for path in writes {
            let path = identity(path);
            let missing = path.ancestors().skip(1).take_while(|dir| !dir.exists()).map(Path::to_owned);
            let mut all: Vec<PathBuf> = missing.collect();
            all.push(path);
            for path in all {
                if named.iter().any(|(known, _)| known.0 == path) {
                    continue;
                }
                if let Ok(now) = observe(&path, MAX_FILE) {
                    self.keep(now.bytes.as_deref()).ok();
                    named.push((StoredPath(path), now.state));
                }
            }
        }
        named
    }

    /// Ends the call, whether or not it succeeded. `shared`: a user command ran in the meantime.
    pub fn end(&mut self, shared: bool) {
        let Some(OpenCall { named, any, own_changes }) = self.open.take() else { return };
        let shared = shared || self.options.own_changes() != own_changes;
        let mut changes = self.changes_of(&named);
        let mut lost = Vec::new();
        for change in &changes {
            let FileState::File { hash, size, .. } = &change.before else { continue };
            let why = match hash {
                None => format!("too large ({} MB)", size >> 20),
                Some(hash) if self.store.has(*hash) => continue,
                Some(_) => "its earlier content could not be kept".to_owned(),
            };
            lost.push(LostPath { path: change.path.clone(), why: LostReason::Other(why) });
        }
        changes.retain(|change| !lost.iter().any(|lost| lost.path == change.path));
        if any {
            match self.untracked_reason.clone() {
                Some(why) => self.note_untracked(&why, &mut lost),
                None => self.compare(&named, &mut changes, &mut lost),
            }
        }
        self.report(&lost);
        let Baseline { cover, snapshot, .. } = &mut self.baseline;
        cover.note(&changes, &lost, &self.store, any.then_some(&*snapshot));
        let untracked = std::mem::take(&mut self.untracked);
        let mut written = self.journal.end(changes, lost, shared);
        if !untracked.is_empty() {
            written = written.and_then(|()| self.journal.untrack(untracked));
        }
        if let Err(error) = written {
            self.fail(&tau_tools::paths::reason(&error));
        }
        if self.store.added > QUOTA_STEP.min(self.options.quota / 16) {
            self.keep_quota();
        }
    }

    fn note_untracked(&self, why: &str, lost: &mut Vec<LostPath>) {
        let why = format!("changes by commands are not tracked: {why}");
        lost.push(LostPath { path: StoredPath(self.root.clone()), why: LostReason::Other(why) });
    }

    /// Reports changes that are not covered. Ignored files are only listed, as every build changes some.
    fn report(&mut self, lost: &[LostPath]) {
        let told: Vec<String> = lost
            .iter()
            .filter(|lost| lost.why != LostReason::Ignored)
            .map(|lost| match lost.path.0 == self.root {
                true => lost.why.as_str().to_owned(),
                false => format!("{} ({})", self.display_path(&lost.path.0), lost.why.as_str()),
            })
            .collect();
        let text = match told.as_slice() {
            [] => return,
            [one] => format!("not covered by /undo: {one}"),
            [one, rest @ ..] => format!("not covered by /undo: {one}, and {} more; see /diff", rest.len()),
        };
        // Reasons that apply to every command are reported once.
        let general = lost.iter().all(|lost| lost.path.0 == self.root);
        if !(general && std::mem::replace(&mut self.told_untracked, true)) {
            self.notices.push(text);
        }
    }

    /// Finds the changes of a command.
    fn compare(
        &mut self,
        named: &[(StoredPath, FileState)],
        changes: &mut Vec<Change>,
        lost: &mut Vec<LostPath>,
    ) {
        let later = match self.baseline.scan_again() {
            Ok(later) if later.incomplete.is_none() => later,
            Ok(later) => return self.note_untracked(&later.incomplete.unwrap_or_default(), lost),
            Err(error) => return self.note_untracked(&tau_tools::paths::reason(&error), lost),
        };
        if self.baseline.snapshot.is_gone && !later.is_gone {
            return self.note_untracked("the directory did not exist before it", lost);
        }
        let earlier = std::mem::take(&mut self.baseline.snapshot);
        let exact: HashSet<&Path> = named.iter().map(|(path, _)| path.0.as_path()).collect();
        let mut look = Comparison { git: None, left: MAX_PER_CALL, known: Vec::new() };
        for difference in differences(&self.root, &earlier, &later) {
            let Some(entry) = difference.after.or(difference.before) else { continue };
            let path = self.root.join(as_path(&entry.path));
            if exact.contains(path.as_path()) {
                continue;
            }
            if difference.before.is_none() && is_moved_in(&self.root, &earlier, &later, entry) {
                // Its directory says it for all that was moved with it.
                if !path.parent().is_some_and(|above| lost.iter().any(|lost| lost.path.0 == above)) {
                    lost.push(LostPath {
                        path: StoredPath(path),
                        why: LostReason::Other(MOVED_IN.to_owned()),
                    });
                }
                continue;
            }
            match self.compare_states(&path, difference, &mut look) {
                Ok(Some((before, after))) => {
                    changes.push(Change { path: StoredPath(path), before, after, halfway: false });
                }
                Ok(None) => {}
                Err(why) => {
                    lost.push(LostPath { path: StoredPath(path), why: LostReason::Other(why.into()) });
                }
            }
        }
        self.note_ignored(&earlier, &later, lost);
        let untracked = self.baseline.advance(&earlier, later, look.known);
        self.untracked.extend(untracked.iter().map(|path| StoredPath(as_path(path).to_owned())));
    }

    /// The states of a path before and after; `None` if they are the same.
    fn compare_states(
        &mut self,
        path: &Path,
        difference: Difference<'_>,
        look: &mut Comparison,
    ) -> Result<Option<(FileState, FileState)>, UserError> {
        let limit = MAX_COPY_SIZE.min(look.left);
        let now = observe_itself(path, limit).map_err(|error| tau_tools::paths::reason(&error))?;
        let before = match difference.before {
            None => FileState::Absent,
            Some(entry) if is_still_directory(entry, &now.state) => FileState::Directory { mode: entry.mode },
            Some(entry) => self.baseline.state(entry, &mut self.store, &mut look.git)?,
        };
        if now.state.is_same(&before) || (before == FileState::Other && now.state == FileState::Other) {
            look.note(&self.root, difference.after, &now.state);
            return Ok(None);
        }
        if before == FileState::Other {
            return Err("it was not a regular file".into());
        }
        if now.bytes.is_none() && difference.before.is_some() && matches!(now.state, FileState::File { .. }) {
            return Err("the new content is too large".into());
        }
        look.left = look.left.saturating_sub(now.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64));
        self.keep(now.bytes.as_deref()).ok();
        look.note(&self.root, difference.after, &now.state);
        Ok(Some((before, now.state)))
    }

    /// Adds to `lost` the ignored files that changed, and ignored directories in which something did.
    fn note_ignored(&self, earlier: &Snapshot, later: &Snapshot, lost: &mut Vec<LostPath>) {
        let find = |snapshot: &Snapshot, path: &[u8]| {
            snapshot.ignored_entry(path).or_else(|| snapshot.get(path)).map(|entry| entry.stamp)
        };
        let both = later.ignored.iter().chain(&earlier.ignored);
        // Ignore files and directories first, because their listing matters later.
        let mut changed: Vec<(bool, bool, &[u8])> = both
            .filter(|entry| find(earlier, &entry.path) != find(later, &entry.path))
            .map(|entry| (!is_rules(as_path(&entry.path)), entry.kind != Kind::Directory, &*entry.path))
            .collect();
        changed.sort_unstable();
        changed.dedup();
        let unknown = |path: &&[u8]| earlier.get(path).is_none();
        for path in changed.into_iter().map(|(.., path)| path).filter(unknown).take(IGNORED_NAMED) {
            let path = StoredPath(self.root.join(as_path(path)));
            lost.push(LostPath { path, why: LostReason::Ignored });
        }
    }
}

/// Whether a directory is still one, for which its mode is sufficient.
fn is_still_directory(entry: &Entry, now: &FileState) -> bool {
    entry.kind == Kind::Directory && matches!(now, FileState::Directory { .. })
}

/// State that a comparison carries from path to path.
struct Comparison {
    git: Option<GitObjects>,
    /// The bytes that may still be stored.
    left: u64,
    /// Contents that were read.
    known: Vec<(Box<[u8]>, Hash)>,
}

impl Comparison {
    /// Remembers the content of a file that is unchanged since the scan.
    fn note(&mut self, root: &Path, entry: Option<&Entry>, state: &FileState) {
        let (Some(entry), Some(hash)) = (entry, state.hash()) else { return };
        if entry_at(root, &entry.path).is_some_and(|now| now.stamp == entry.stamp) {
            self.known.push((entry.path.clone(), hash));
        }
    }
}
