//! The undo of one session: its journal, its contents, and the baseline of its workspace.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::baseline::Baseline;
use super::content::ContentStore;
use super::cover::Cover;
use super::journal::{self, Change, Journal, LostPath, LostReason};
use super::net::NetChange;
use super::quota::{self, FolderLock, UndoOptions};
use super::restore::sweep_beside;
use super::state::{FileState, StoredPath, observe_itself};
use crate::settings::private_files::private_dir;
use tau_tools::paths::identity;
use tau_tools::replace_file::MAX_FILE;
pub(super) use tau_tools::times::now;
use tau_tools::user_error::UserError;

/// The folder of the contents within a session's folder.
pub(super) const CONTENT: &str = "content";
/// A running call.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) named: Vec<(StoredPath, FileState)>,
    pub(super) any: bool,
    /// The notes of tau's own changes at its start.
    pub(super) own_changes: u64,
}

/// The undo of one session.
#[derive(Debug)]
pub struct SessionUndo {
    pub(super) options: UndoOptions,
    /// The session's directory, as the session names it.
    pub(super) cwd: PathBuf,
    /// The real path of the session's directory.
    pub(super) root: PathBuf,
    pub(super) journal: Journal,
    pub(super) store: ContentStore,
    pub(super) baseline: Baseline,
    /// The reason command changes are not tracked; `None` if they are.
    pub(super) untracked_reason: Option<String>,
    /// The prompt at which a scan failed; it is repeated at the next one.
    pub(super) untracked_since: Option<Option<String>>,
    pub(super) open: Option<OpenCall>,
    /// Files that git has ceased to track in the call that is ending.
    pub(super) untracked: Vec<StoredPath>,
    /// Held while something may be written.
    lock: Option<FolderLock>,
    /// Whether a failure was reported.
    pub(super) failed: bool,
    /// Whether it was reported that commands are not covered.
    pub(super) told_untracked: bool,
    /// Whether nothing may be left when tau ends.
    temporary: bool,
    /// Notices for the user.
    pub(super) notices: Vec<String>,
}

impl SessionUndo {
    /// The undo of a session that runs in `cwd`. Nothing is written before something changes. A `temporary`
    /// one is removed when this is dropped. Temporary files that a killed tau left beside its targets are
    /// removed.
    pub fn open(options: &UndoOptions, session: &str, cwd: &Path, temporary: bool) -> Self {
        for folder in quota::session_folders(&options.dir) {
            sweep_beside(&journal::unfinished_files(&folder));
        }
        let folder = options.dir.join(session);
        let root = identity(cwd);
        let journal = Journal::open(folder.clone(), session, cwd);
        let untracked_reason = is_too_wide(&root, options).map(str::to_owned);
        SessionUndo {
            options: options.clone(),
            cwd: cwd.to_owned(),
            baseline: Baseline::new(&root, options.quota / 4, own_paths(options, &root)),
            root,
            journal,
            store: ContentStore::new(folder.join(CONTENT)),
            untracked_reason,
            untracked_since: None,
            open: None,
            untracked: Vec::new(),
            lock: None,
            failed: false,
            told_untracked: false,
            temporary,
            notices: Vec::new(),
        }
    }

    /// The undo of a session that has ended, in the directory that it ran in; `None` if nothing was stored.
    pub fn open_finished(options: &UndoOptions, session: &str) -> Option<Self> {
        let folder = options.dir.join(session);
        if !folder.join(journal::FILE).is_file() {
            return None;
        }
        let cwd = Journal::open(folder, session, Path::new("/")).cwd().to_owned();
        Some(Self::open(options, session, &cwd, false))
    }

    /// The directory that the session runs in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the notices for the user since the last call.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// A path for display: relative to the session's directory, if inside it.
    pub(super) fn display_path(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        below.to_string_lossy().into_owned()
    }

    /// A changed path for display, from its states: a folder ends with a slash.
    pub(super) fn display_change(&self, path: &Path, before: &FileState, after: &FileState) -> String {
        let is_folder = [before, after].iter().any(|state| matches!(state, FileState::Directory { .. }));
        self.display_path(path) + if is_folder { "/" } else { "" }
    }

    pub(super) fn display_net(&self, net: &NetChange) -> String {
        self.display_change(&net.path, net.before(), net.after())
    }

    /// Prepares for writing: the folder, its lock, a record that was cut off, the quota. `false` if another
    /// tau has the session, or nothing is stored.
    pub(super) fn prepare(&mut self) -> bool {
        if self.options.quota == 0 {
            return false;
        }
        if self.lock.is_some() {
            return true;
        }
        let folder = self.journal.folder().to_owned();
        let lock = private_dir(&folder).and_then(|()| quota::lock(&folder));
        match lock {
            Ok(Some(lock)) => {
                self.lock = Some(lock);
                // Another tau may have written to it since it was read.
                self.journal.read_again();
            }
            Ok(None) => {
                self.fail("another tau has this session open");
                return false;
            }
            Err(error) => {
                self.fail(&tau_tools::paths::reason(&error));
                return false;
            }
        }
        if self.journal.rules.is_none() {
            self.journal.rules = Some(self.baseline.outer_rules());
        }
        self.complete_last();
        self.baseline.cover = Cover::new(&self.journal, &self.store, &self.root);
        let needed: std::collections::HashSet<_> =
            self.journal.records.iter().flat_map(journal::Record::hashes).collect();
        self.store.retain(&|hash| needed.contains(&hash));
        self.keep_quota();
        true
    }

    /// Reports, once, that changes are not recorded.
    pub(super) fn fail(&mut self, why: &str) {
        if !std::mem::replace(&mut self.failed, true) {
            self.notices
                .push(format!("changes are not being recorded, so /undo will not restore them: {why}"));
        }
    }

    /// Removes the oldest data if there is too much.
    pub(super) fn keep_quota(&mut self) {
        self.store.added = 0;
        let dropped = quota::enforce(&self.options, &mut self.journal, &self.store);
        self.notices.extend(dropped);
    }

    /// Ends a record that was cut off with the current states of the files.
    pub(super) fn complete_last(&mut self) {
        let Some(last) = self.journal.records.last().filter(|record| !record.ended) else { return };
        let any = matches!(last.cause, journal::Cause::Call { any: true, .. });
        let (named, to) = (last.named.clone(), last.to.clone());
        let mut changes = self.changes_of(&named);
        if !to.is_empty() {
            let goals: HashMap<_, _> = named.iter().map(|(path, _)| path).zip(&to).collect();
            for change in &mut changes {
                change.halfway = !goals.get(&change.path).is_some_and(|goal| change.after.is_same(goal));
            }
        }
        let mut lost = Vec::new();
        if any {
            let why = "tau ended while the command ran, so what it changed is not known".to_owned();
            lost.push(LostPath { path: StoredPath(self.root.clone()), why: LostReason::Other(why) });
        }
        self.journal.end_cut_off(changes, lost).ok();
    }

    /// The changes of files, whose new contents are stored.
    pub(super) fn changes_of(&mut self, named: &[(StoredPath, FileState)]) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, before) in named {
            let Ok(now) = observe_itself(&path.0, MAX_FILE) else { continue };
            if now.state.is_same(before) || *before == FileState::Other {
                continue;
            }
            // The change is recorded also if its new content cannot be kept.
            self.keep(now.bytes.as_deref()).ok();
            changes.push(Change {
                path: path.clone(),
                before: before.clone(),
                after: now.state,
                halfway: false,
            });
        }
        changes
    }

    /// Stores the content of a file, if it is one. The error is the reason that it could not be restored.
    pub(super) fn keep(&mut self, bytes: Option<&[u8]>) -> Result<(), UserError> {
        let Some(bytes) = bytes else { return Ok(()) };
        self.store.put(bytes, None).map(drop).map_err(|error| {
            let why = tau_tools::paths::reason(&error);
            self.fail(&why);
            UserError::new("its current content cannot be kept").because(why)
        })
    }
}

impl Drop for SessionUndo {
    fn drop(&mut self) {
        if self.temporary && self.lock.is_some() {
            fs::remove_dir_all(self.journal.folder()).ok();
        }
    }
}

/// The folders of tau's own data within the directory `root`, relative to it.
fn own_paths(options: &UndoOptions, root: &Path) -> Vec<Box<[u8]>> {
    let below =
        |own: &PathBuf| Some(identity(own).strip_prefix(root).ok()?.as_os_str().as_encoded_bytes().into());
    [&options.dir, &options.own]
        .into_iter()
        .filter(|own| !own.as_os_str().is_empty())
        .filter_map(below)
        .collect()
}

/// The reason a directory cannot be scanned as a workspace, if there is one.
fn is_too_wide(root: &Path, options: &UndoOptions) -> Option<&'static str> {
    let home = std::env::home_dir().map(|home| identity(&home));
    if root.parent().is_none() {
        return Some("the session runs in the root directory");
    }
    if [&options.dir, &options.own].iter().any(|own| !own.as_os_str().is_empty() && identity(own) == root) {
        return Some("the session runs in the folder of tau's own data");
    }
    (home.as_deref() == Some(root)).then_some("the session runs in your home directory")
}
