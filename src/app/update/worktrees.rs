//! Worktrees: the list, and moves of the session from one to another.

use std::path::PathBuf;

use crate::effect::Effect;
use crate::key::Key;
use crate::model::Model;
use crate::outcome::KeyOutcome;
use crate::overlays::list::{List, report};
use crate::overlays::overlay::Overlay;
use crate::overlays::worktree_list::{WorktreeChoice, WorktreesView};
use crate::request::{ScreenRequest, Ticket};
use tau_protocol::command::{SessionChange, SessionCommand};
use tau_protocol::event::NoticeLevel;
use tau_protocol::session_row::SessionOrigin;
use tau_protocol::worktree::{self, WorktreeDone, WorktreeRow};
use tau_tools::user_error::UserError;

/// Handles `/worktree`: opens the list, or moves the session to the worktree of this name.
pub(super) fn run(model: &mut Model, name: &str, effects: &mut Vec<Effect>) {
    if name.is_empty() {
        let list = List::waiting(model.ask(ScreenRequest::Worktrees {}, effects));
        return model.overlays.push(Overlay::Worktrees(Box::new(WorktreesView { list })));
    }
    if is_busy(model) {
        // To be sent again then.
        return model.composer.set_text(&format!("/worktree {name}"));
    }
    let file = file(model);
    model.ask(ScreenRequest::EnterWorktree { name: name.to_owned(), file, resumes: false }, effects);
}

/// Whether a run keeps the session from moving; tells the user if so.
fn is_busy(model: &mut Model) -> bool {
    let is_busy = model.status.run.is_some();
    if is_busy {
        model.remark("the session moves once nothing runs: wait, or stop the run with Esc");
    }
    is_busy
}

/// The file of the session, if it has messages.
fn file(model: &Model) -> Option<PathBuf> {
    model.status.mirror.session.file.clone().filter(|_| !model.status.fresh)
}

pub(super) fn fill(model: &mut Model, ticket: Ticket, answer: Result<Vec<WorktreeRow>, UserError>) {
    if let Some(view) = model.awaiting::<WorktreesView>(ticket) {
        view.list.take(answer);
    }
}

/// Handles a key.
pub(super) fn press(
    model: &mut Model,
    mut view: Box<WorktreesView>,
    key: Key,
    page: usize,
    effects: &mut Vec<Effect>,
) {
    match view.key(key, page) {
        KeyOutcome::Closed => return,
        KeyOutcome::Ignored | KeyOutcome::Handled => {}
        KeyOutcome::Done(WorktreeChoice::Open { name }) => {
            if !is_busy(model) {
                let ask = ScreenRequest::EnterWorktree { name, file: file(model), resumes: true };
                view.list.change = Some(model.ask(ask, effects));
            }
        }
        KeyOutcome::Done(WorktreeChoice::End { name, end }) => {
            let is_here = is_here(model, &name);
            if !(is_here && is_busy(model)) {
                let (file, id) = (file(model), model.status.mirror.session.id.clone());
                let ask = ScreenRequest::EndWorktree { name, end, is_here, file, id };
                view.list.change = Some(model.ask(ask, effects));
            }
        }
    }
    model.overlays.push(Overlay::Worktrees(view));
}

/// Whether the session is in this worktree.
fn is_here(model: &Model, name: &str) -> bool {
    worktree::of(&model.status.mirror.session.cwd).is_some_and(|here| here.name == name)
}

/// Handles the result of an action: the session may have moved.
pub(super) fn on_action_result(
    model: &mut Model,
    ticket: Ticket,
    answer: Result<WorktreeDone, UserError>,
    effects: &mut Vec<Effect>,
) {
    let said = answer.as_ref().map(|done| done.said.as_str()).map_err(|error| &**error);
    let session = answer.as_ref().ok().and_then(|done| done.session.clone());
    match model.awaiting::<WorktreesView>(ticket) {
        Some(view) if session.is_none() => {
            (view.list.change, view.list.said) = (None, Some(report(&said)));
            let ticket = model.ask(ScreenRequest::Worktrees {}, effects);
            if let Some(view) = model.open::<WorktreesView>() {
                view.list.ticket = Some(ticket);
            }
        }
        _ => {
            model.overlays.retain(|overlay| !matches!(overlay, Overlay::Worktrees(_)));
            match said {
                Ok(text) if session.is_some() => model.arrival = Some(text.to_owned()),
                Ok(text) => model.transcript.notice(NoticeLevel::Info, text, None),
                Err(text) => model.transcript.notice(NoticeLevel::Warning, text, None),
            }
        }
    }
    if let Some(path) = session {
        let open = SessionChange::Offer { path, source: SessionOrigin::Tau };
        effects.push(SessionCommand::Change(open).into());
    }
}
