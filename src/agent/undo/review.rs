//! Reviews undo data: checkpoints, changes, and the effect of going back.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::content::Hash;
use super::journal::{Cause, Record};
use super::merge::{is_binary, merge};
use super::net::{NetChange, lost_paths, net};
use super::prompts::Prompt;
use super::restore::{OUTSIDE, is_inside};
use super::session::SessionUndo;
use super::state::{FileState, Observation, observe};
use tau_protocol::undo::{
    ChangeKind, ChangedFile, Checkpoint, NotCovered, SessionChanges, UndoConflict, UndoPlan,
};
use tau_tools::counted::pluralize;
use tau_tools::file_at::is_behind_a_link;
use tau_tools::replace_file::MAX_FILE;
use tau_tools::{FileDiff, diff};

/// The time after which changes are listed without their lines.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A path to be restored, and its conflicts.
#[derive(Debug)]
pub(super) struct Return {
    pub(super) net: NetChange,
    pub(super) now: Observation,
    pub(super) way: Way,
}

/// Whether and how a path can be restored.
#[derive(Debug)]
pub(super) enum Way {
    /// It is as the agent left it.
    Free,
    /// Someone else changed it as well: the reason, and the text without the agent's changes.
    Conflict { reason: &'static str, merged: Option<Vec<u8>> },
    /// It cannot be restored, for this reason.
    Closed(String),
}

impl SessionUndo {
    /// The first record of a prompt or of a later one on the branch.
    pub(super) fn position(&self, prompts: &[Prompt], entry_id: &str) -> Option<usize> {
        let at = prompts.iter().position(|prompt| prompt.entry_id == entry_id)?;
        let later = prompts.get(at..).unwrap_or_default();
        let is_later = |record: &Record| {
            record.checkpoint().is_some_and(|id| later.iter().any(|prompt| prompt.entry_id == id))
        };
        let records = &self.journal.records;
        Some(records.iter().position(is_later).unwrap_or(records.len()))
    }

    /// The prompts with the changes of each, in order.
    pub fn checkpoints(&mut self, prompts: &[Prompt]) -> Vec<Checkpoint> {
        let mut left: BTreeMap<usize, Vec<NetChange>> = BTreeMap::new();
        let checkpoint = |prompt: &Prompt| {
            let from = self.position(prompts, &prompt.entry_id).unwrap_or(self.journal.records.len());
            let all = left.entry(from).or_insert_with(|| net(&self.journal.records, from));
            let own = |record: &&Record| record.checkpoint() == Some(&prompt.entry_id);
            let own = self.journal.records.iter().filter(own).flat_map(|record| &record.changes);
            let own: std::collections::HashSet<_> = own.map(|change| &change.path.0).collect();
            let files = all.iter().filter(|net| own.contains(&net.path)).map(|net| self.display_net(net));
            Checkpoint {
                entry_id: prompt.entry_id.clone(),
                text: prompt.text.clone(),
                timestamp: prompt.timestamp,
                files: files.collect(),
                restores: all.len(),
                folders: all.iter().filter(|net| self.display_net(net).ends_with('/')).count(),
            }
        };
        prompts.iter().map(checkpoint).collect()
    }

    /// All changes of the session that still exist.
    pub fn changes(&mut self) -> SessionChanges {
        self.complete_unless_open();
        let all = net(&self.journal.records, 0);
        let until = Instant::now() + TIMEOUT;
        let removed: HashMap<Hash, String> = all
            .iter()
            .filter(|net| *net.after() == FileState::Absent)
            .filter_map(|net| Some((net.before().hash()?, self.display_path(&net.path))))
            .collect();
        let files = all.iter().map(|net| self.changed_file(net, &removed, until)).collect();
        SessionChanges { files, not_covered: self.uncovered_changes(0), redo: self.last_undo().is_some() }
    }

    /// Completes a record that another tau left unfinished with the current state.
    fn complete_unless_open(&mut self) {
        if self.open.is_none() && self.journal.records.last().is_some_and(|record| !record.ended) {
            self.prepare();
        }
    }

    fn uncovered_changes(&self, from: usize) -> Vec<NotCovered> {
        let mut all: Vec<NotCovered> = lost_paths(&self.journal.records, from)
            .into_iter()
            .map(|lost| {
                let path =
                    if lost.path.0 == self.root { ".".to_owned() } else { self.display_path(&lost.path.0) };
                NotCovered { path, reason: lost.why.into() }
            })
            .collect();
        if self.journal.dropped > from {
            let reason = match self.journal.dropped {
                1 => "the first change of the session was dropped to stay within the quota".to_owned(),
                calls => {
                    format!("the first {calls} changes of the session were dropped to stay within the quota")
                }
            };
            all.push(NotCovered { path: ".".to_owned(), reason });
        }
        all
    }

    fn changed_file(&self, net: &NetChange, removed: &HashMap<Hash, String>, until: Instant) -> ChangedFile {
        let path = self.display_net(net);
        let (before, after) = (net.before(), net.after());
        let kind = match (before, after) {
            (FileState::Absent, _) => ChangeKind::Created,
            (_, FileState::Absent) => ChangeKind::Removed,
            _ => ChangeKind::Changed,
        };
        let now = observe(&net.path, MAX_FILE).map(|now| now.state);
        let changed_since = !now.is_ok_and(|now| now.is_same(after));
        let empty = FileDiff { path: path.clone(), ..FileDiff::default() };
        let mut file =
            ChangedFile { path, kind, version: version(net), diff: empty, note: None, changed_since };
        let mut notes = Vec::new();
        let source = after.hash().filter(|_| kind == ChangeKind::Created).and_then(|hash| removed.get(&hash));
        notes.extend(source.map(|source| format!("renamed from {source}")));
        match (self.text(before), self.text(after)) {
            _ if before.hash().is_some() && before.hash() == after.hash() => {}
            (Some(old), Some(new)) if is_binary(&old) || is_binary(&new) => {
                notes.push(format!("binary, {} to {}", old.len(), pluralize(new.len(), "byte")));
            }
            (Some(_), Some(_)) if Instant::now() > until => file.diff.cut = true,
            (Some(old), Some(new)) => file.diff = diff::between(&file.path, &old, &new),
            _ => notes.extend(kind_note(if *after == FileState::Absent { before } else { after })),
        }
        if let (Some(old), Some(new)) = (before.mode(), after.mode())
            && old != new
        {
            notes.push(format!("mode {old:04o} to {new:04o}"));
        }
        file.note = (!notes.is_empty()).then(|| notes.join(", "));
        file
    }

    /// The content of a file; empty for a missing one. `None` for anything else, and if it was not stored.
    pub(super) fn text(&self, state: &FileState) -> Option<Vec<u8>> {
        match state {
            FileState::Absent => Some(Vec::new()),
            FileState::File { hash: Some(hash), .. } => self.store.get(*hash).ok(),
            _ => None,
        }
    }

    /// The effect of going back to a checkpoint; `None` if no prompt has that id.
    pub fn plan(&mut self, prompts: &[Prompt], entry_id: &str) -> Option<UndoPlan> {
        self.complete_unless_open();
        let from = self.position(prompts, entry_id)?;
        let plan = self.describe(&self.returns(net(&self.journal.records, from)));
        let mut not_covered = self.uncovered_changes(from);
        not_covered.extend(plan.not_covered);
        Some(UndoPlan { entry_id: Some(entry_id.to_owned()), not_covered, ..plan })
    }

    /// The effect of reversing the last undo; `None` if nothing was undone.
    pub fn redo_plan(&mut self) -> Option<UndoPlan> {
        self.complete_unless_open();
        let undone = self.last_undo()?;
        Some(self.describe(&self.returns(undone)))
    }

    /// The last undo that was not reversed, as changes.
    pub(super) fn last_undo(&self) -> Option<Vec<NetChange>> {
        let at = self.undo_record()?;
        let record = self.journal.records.get(at)?;
        let change = |change: &super::journal::Change| NetChange {
            path: change.path.0.clone(),
            segments: vec![(change.before.clone(), change.after.clone())],
            shared: false,
        };
        Some(record.changes.iter().map(change).collect())
    }

    /// The record of the last undo that was not reversed.
    pub(super) fn undo_record(&self) -> Option<usize> {
        let mut open = Vec::new();
        for (at, record) in self.journal.records.iter().enumerate() {
            match record.cause {
                Cause::Call { .. } if record.changes.is_empty() => {}
                Cause::Call { .. } => open.clear(),
                Cause::Undo { leaf: None, .. } if record.changes.is_empty() => {}
                Cause::Undo { .. } => open.push(at),
                // An operation that was cut off can be repeated.
                Cause::Redo if record.cut => {}
                Cause::Redo => drop(open.pop()),
            }
        }
        open.last().copied()
    }

    fn describe(&self, returns: &[Return]) -> UndoPlan {
        let mut plan = UndoPlan::default();
        for Return { net, way, .. } in returns {
            let path = self.display_net(net);
            match way {
                Way::Free => plan.files.push(path),
                Way::Conflict { reason, merged } => plan.conflicts.push(UndoConflict {
                    path,
                    reason: (*reason).to_owned(),
                    mergeable: merged.is_some(),
                }),
                Way::Closed(reason) => plan.not_covered.push(NotCovered { path, reason: reason.clone() }),
            }
        }
        plan
    }

    /// How each path can be restored. Paths that already have their earlier state are left out.
    pub(super) fn returns(&self, nets: Vec<NetChange>) -> Vec<Return> {
        let become_directories: HashSet<PathBuf> = nets
            .iter()
            .filter(|net| matches!(net.before(), FileState::Directory { .. }))
            .map(|net| net.path.clone())
            .collect();
        let find = |net: NetChange| {
            let closed = |net, why| {
                let now = Observation { state: FileState::Other, bytes: None };
                Some(Return { net, now, way: Way::Closed(why) })
            };
            if !is_inside(&self.root, &net.path) {
                return closed(net, OUTSIDE.to_owned());
            }
            let now = match observe(&net.path, MAX_FILE) {
                Ok(now) => now,
                Err(error) if is_behind_a_link(&error) => {
                    if !link_on_the_way(&net.path).is_some_and(|link| become_directories.contains(link)) {
                        let now = Observation { state: FileState::Other, bytes: None };
                        let way = Way::Conflict { reason: "a link is on the way to it", merged: None };
                        return Some(Return { net, now, way });
                    }
                    // The link becomes a directory again, which is still empty.
                    Observation::NOTHING
                }
                Err(error) => return closed(net, tau_tools::paths::reason(&error)),
            };
            if now.state.is_same(net.before()) {
                return None;
            }
            let way = self.way(&net, &now);
            Some(Return { net, now, way })
        };
        nets.into_iter().filter_map(find).collect()
    }

    fn way(&self, net: &NetChange, now: &Observation) -> Way {
        if let FileState::File { hash, .. } = net.before() {
            match hash {
                Some(hash) if self.store.has(*hash) => {}
                Some(_) => return Way::Closed("dropped to stay within the quota".to_owned()),
                None => return Way::Closed("its content was not kept".to_owned()),
            }
        }
        let same = now.state.is_same(net.after());
        if same && net.is_exact() {
            return Way::Free;
        }
        let reason = match same {
            false => "changed since",
            true if net.shared => "changed while something of yours ran",
            true => "changed in between",
        };
        Way::Conflict { reason, merged: self.text_without_changes(net, now) }
    }

    /// The current text without the agent's changes.
    fn text_without_changes(&self, net: &NetChange, now: &Observation) -> Option<Vec<u8>> {
        let mut text = now.bytes.clone()?;
        for (before, after) in net.segments.iter().rev() {
            let (old, new) = (self.store.get(before.hash()?).ok()?, self.store.get(after.hash()?).ok()?);
            text = if text == new { old } else { merge(&new, &text, &old)? };
        }
        Some(text)
    }
}

/// The first link on the way to a path.
fn link_on_the_way(path: &Path) -> Option<&Path> {
    let mut folders: Vec<&Path> = path.ancestors().skip(1).collect();
    folders.reverse();
    folders.into_iter().find(|folder| folder.is_symlink())
}

/// An identifier of a version of a change.
pub(super) fn version(net: &NetChange) -> String {
    let text = format!("{:?}", net.segments);
    Hash::of(text.as_bytes()).to_string().chars().take(16).collect()
}

fn kind_note(state: &FileState) -> Option<String> {
    match state {
        FileState::Directory { .. } => Some("directory".to_owned()),
        FileState::Link { target } => Some(format!("link to {}", target.0.display())),
        FileState::File { size, .. } => Some(format!("{}, content not kept", pluralize(*size, "byte"))),
        FileState::Absent | FileState::Other => None,
    }
}
