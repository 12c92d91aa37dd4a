//! Goes back to a checkpoint, forward again, or reverts a single hunk.

use super::content::Hash;
use super::journal::{Cause, Change};
use super::merge::{merge, without_hunk};
use super::net::{NetChange, net};
use super::prompts::Prompt;
use super::restore::{OUTSIDE, Step, carry_out, is_inside};
use super::review::{Return, Way, version};
use super::session::{SessionUndo, now};
use super::state::{FileState, StoredPath, observe};
use tau_protocol::undo::{ConflictChoice, NotCovered, RestoreReport, RevertOrder, UndoOrder};
use tau_tools::diff;
use tau_tools::replace_file::MAX_FILE;
use tau_tools::user_error::UserError;

impl SessionUndo {
    /// Restores the files of a checkpoint, if the order includes files. `leaf` is the current position of the
    /// conversation, if it goes back as well. The error is the reason that not everything can be restored.
    pub fn undo(
        &mut self,
        prompts: &[Prompt],
        order: &UndoOrder,
        leaf: Option<String>,
    ) -> Result<RestoreReport, UserError> {
        self.end(false);
        self.writable()?;
        let from = self.position(prompts, &order.entry_id).ok_or("there is no such prompt on this branch")?;
        let checkpoint = Some(order.entry_id.clone());
        if !order.scope.files() {
            let cause = Cause::Undo { checkpoint, from: None, leaf };
            return self.restore(cause, Vec::new(), &|_| ConflictChoice::Keep);
        }
        let nets = net(&self.journal.records, from);
        let choose = |path: &str| order.choices.get(path).copied().unwrap_or(order.otherwise);
        self.restore(Cause::Undo { checkpoint, from: Some(from), leaf }, nets, &choose)
    }

    /// Reverses the last undo. Also returns the position of the conversation before it. Fails when there is
    /// nothing to reverse, and when not everything can be restored.
    pub fn redo(&mut self, order: &UndoOrder) -> Result<(RestoreReport, Option<String>), UserError> {
        self.end(false);
        self.writable()?;
        let at = self.undo_record().ok_or("there is nothing to redo")?;
        let leaf = self.journal.records.get(at).and_then(|record| match &record.cause {
            Cause::Undo { leaf, .. } => leaf.clone(),
            Cause::Call { .. } | Cause::Redo => None,
        });
        let choose = |path: &str| order.choices.get(path).copied().unwrap_or(order.otherwise);
        let report = self.restore(Cause::Redo, self.last_undo().unwrap_or_default(), &choose)?;
        Ok((report, leaf))
    }

    fn writable(&mut self) -> Result<(), UserError> {
        if self.options.quota == 0 {
            return Err("nothing is kept, because undo_quota is 0".into());
        }
        if !self.prepare() {
            return Err(UserError::new("another tau has this session open")
                .remedy("use /undo there, or quit it first"));
        }
        Ok(())
    }

    fn restore(
        &mut self,
        cause: Cause,
        nets: Vec<NetChange>,
        choose: &dyn Fn(&str) -> ConflictChoice,
    ) -> Result<RestoreReport, UserError> {
        let mut report = RestoreReport::default();
        let mut steps = Vec::new();
        let mut merges = Vec::new();
        for Return { net, now, way } in self.returns(nets) {
            let path = self.display_net(&net);
            let (old, from) = (net.before().clone(), now.state);
            let (to, bytes) = match (way, choose(&path)) {
                (Way::Closed(reason), _) => {
                    report.failed.push(NotCovered { path, reason });
                    continue;
                }
                (Way::Free, _) | (Way::Conflict { .. }, ConflictChoice::Old) => match self.content(&old) {
                    Ok(bytes) => (old, bytes),
                    Err(reason) => {
                        report.failed.push(NotCovered { path, reason: reason.into() });
                        continue;
                    }
                },
                (Way::Conflict { merged: Some(text), .. }, ConflictChoice::Merge) => {
                    merges.push(path.clone());
                    let (hash, size) = (Some(Hash::of(&text)), text.len() as u64);
                    let mode = from.mode().unwrap_or(0o644);
                    (FileState::File { hash, size, mode, stamp: None }, Some(text))
                }
                (Way::Conflict { .. }, ConflictChoice::Keep | ConflictChoice::Merge) => {
                    report.kept.push(path);
                    continue;
                }
            };
            if let Err(reason) = self.keep(now.bytes.as_deref()) {
                report.failed.push(NotCovered { path, reason: reason.into() });
                continue;
            }
            steps.push(Step { path: net.path, from, to, bytes });
        }
        let ends = self.apply(cause, &steps)?;
        for (step, end) in steps.iter().zip(ends) {
            let path = self.display_change(&step.path, &step.from, &step.to);
            match end {
                Ok(()) if merges.contains(&path) => report.merged.push(path),
                Ok(()) => report.restored.push(path),
                Err(reason) => report.failed.push(NotCovered { path, reason: reason.into() }),
            }
        }
        Ok(report)
    }

    /// The content needed to restore a state.
    fn content(&self, state: &FileState) -> Result<Option<Vec<u8>>, UserError> {
        match state.hash() {
            Some(hash) => {
                self.store.get(hash).map(Some).map_err(|error| tau_tools::paths::reason(&error).into())
            }
            None => Ok(None),
        }
    }

    /// Carries out the steps between the two lines of a record.
    fn apply(&mut self, cause: Cause, steps: &[Step]) -> Result<Vec<Result<(), UserError>>, UserError> {
        let words = |error: std::io::Error| {
            format!("the journal cannot be written: {}", tau_tools::paths::reason(&error))
        };
        let named: Vec<(StoredPath, FileState)> =
            steps.iter().map(|step| (StoredPath(step.path.clone()), step.from.clone())).collect();
        let to = steps.iter().map(|step| step.to.clone()).collect();
        self.journal.begin_restoring(cause, now(), named.clone(), to).map_err(words)?;
        let ends = carry_out(&self.root, steps);
        let mut changes = self.changes_of(&named);
        // A directory above it may be closed again.
        let unseen =
            steps.iter().zip(&ends).filter(|(step, end)| end.is_ok() && observe(&step.path, 0).is_err());
        changes.extend(unseen.map(|(step, _)| {
            let (path, before, after) = (StoredPath(step.path.clone()), step.from.clone(), step.to.clone());
            Change { path, before, after, halfway: false }
        }));
        self.journal.end(changes, Vec::new(), false).map_err(words)?;
        Ok(ends)
    }

    /// Reverts one hunk, or the whole change of a file. Fails when the change has changed since it was
    /// listed, or cannot be removed from the current text.
    pub fn revert(&mut self, order: &RevertOrder) -> Result<RestoreReport, UserError> {
        self.end(false);
        self.writable()?;
        let found = net(&self.journal.records, 0).into_iter().find(|net| self.display_net(net) == order.path);
        let net = found.filter(|net| version(net) == order.version);
        let net = net.ok_or("the change is no longer the one that was listed; list it again")?;
        if !is_inside(&self.root, &net.path) {
            return Err(OUTSIDE.into());
        }
        let cause = Cause::Undo { checkpoint: None, from: None, leaf: None };
        let Some(index) = order.hunk else {
            return self.restore(cause, vec![net], &|_| ConflictChoice::Merge);
        };
        let gone = "its content was not kept";
        let old = self.text(net.before()).ok_or(gone)?;
        let new = self.text(net.after()).ok_or(gone)?;
        let change = diff::between(&order.path, &old, &new);
        if change.cut {
            return Err("the change is too large to be reverted in parts".into());
        }
        let hunk = change.hunks.get(index).ok_or("there is no such hunk")?;
        let less = without_hunk(&old, &new, hunk).ok_or("there is no such hunk")?;
        let now = observe(&net.path, MAX_FILE).map_err(|error| tau_tools::paths::reason(&error))?;
        let same = now.state.is_same(net.after());
        if same && less == old {
            // Nothing is left of the change.
            return self.restore(cause, vec![net], &|_| ConflictChoice::Old);
        }
        let mode = now.state.mode().unwrap_or(0o644);
        let text = match now.bytes {
            Some(text) if text == new => less,
            Some(text) => {
                merge(&new, &text, &less).ok_or("these lines were changed since; open the file instead")?
            }
            None if now.state == FileState::Absent && *net.after() == FileState::Absent => less,
            None => return Err("the file was changed since".into()),
        };
        let mut report = RestoreReport::default();
        let current = observe(&net.path, MAX_FILE).ok().and_then(|now| now.bytes);
        if let Err(reason) = self.keep(current.as_deref()) {
            report.failed.push(NotCovered { path: order.path.clone(), reason: reason.into() });
            return Ok(report);
        }
        let (hash, size) = (Some(Hash::of(&text)), text.len() as u64);
        let to = FileState::File { hash, size, mode, stamp: None };
        let steps = [Step { path: net.path, from: now.state, to, bytes: Some(text) }];
        match self.apply(cause, &steps)?.pop() {
            Some(Err(reason)) => {
                report.failed.push(NotCovered { path: order.path.clone(), reason: reason.into() });
            }
            _ => report.restored.push(order.path.clone()),
        }
        Ok(report)
    }
}
