//! Refuses what cannot be done with sessions before it ends a run.

use std::path::Path;

use crate::engine::announce;
use crate::engine::state::Engine;
use crate::session::entry::Body;
use crate::session::foreign::sniff::sniff;
use crate::session::tail::TAIL;
use crate::session::{Access, Session, SessionError};
use crate::undo::{NOT_RECORDED, prompts};
use tau_protocol::command::{SessionChange, SessionCommand};
use tau_protocol::event::{NoticeLevel, SessionEvent};
use tau_protocol::message::Message;
use tau_protocol::undo::{RestoreReport, UndoOrder};
use tau_tools::paths::resolve;
use tau_tools::user_error::UserError;

/// Refuses a change that cannot be carried out, and reports why.
pub(crate) fn refuses_change(engine: &mut Engine, change: &SessionChange) -> bool {
    match change {
        SessionChange::Fork { entry_id } => {
            engine.load_all();
            match message_text(engine, entry_id) {
                Ok(_) => false,
                Err(error) => {
                    engine.notice(NoticeLevel::Error, error.clone(), Some("choose one of your messages"));
                    engine.emit(SessionEvent::SessionRefused { error: error.into() });
                    true
                }
            }
        }
        SessionChange::Open { path } => {
            !is_open(engine, path) && refuses_session(engine, Session::open_tail(path, Access::Write, TAIL))
        }
        SessionChange::Import { path } => {
            let path = resolve(&engine.config.place.cwd, &path.to_string_lossy());
            let opened = match sniff(&path) {
                Some(origin) => Session::original(&path, origin),
                None => Session::open_tail(&path, Access::Read, TAIL),
            };
            refuses_session(engine, opened)
        }
        SessionChange::New
        | SessionChange::Continued { .. }
        | SessionChange::Clone
        | SessionChange::Name { .. }
        | SessionChange::GoTo { .. }
        | SessionChange::Offer { .. } => false,
    }
}

/// Refuses to go back to what is no prompt, or without recorded changes, and reports why.
pub(crate) fn refuses_undo(engine: &mut Engine, order: &UndoOrder) -> bool {
    engine.load_all();
    let prompts = prompts(engine.config.session.tree());
    let is_known = prompts.iter().any(|prompt| prompt.entry_id == order.entry_id);
    let error = match is_known {
        _ if engine.undo.place.is_none() => NOT_RECORDED,
        false => "there is no such prompt on this branch",
        true => return false,
    };
    let hint = "see /diff for what can be taken back";
    refuse_restore(engine, "cannot undo", error, Some(hint));
    true
}

/// Stops the run for a redo, unless there is nothing to redo.
pub(crate) fn stop_for_redo(engine: &mut Engine, order: UndoOrder, found: bool) {
    if !found {
        return refuse_restore(engine, "cannot redo", "there is nothing to redo", None);
    }
    engine.current.stop.cancel();
    engine.pending.commands.push_back(SessionCommand::Redo { order }.into());
}

fn refuse_restore(engine: &mut Engine, what: &str, error: &str, hint: Option<&str>) {
    engine.emit(SessionEvent::FilesRestored { report: RestoreReport::default(), error: Some(error.into()) });
    engine.notice(NoticeLevel::Error, UserError::new(what).because(error), hint);
}

/// Refuses a session that cannot be opened. Whether a lock without an apparent owner stays is seen later.
fn refuses_session(engine: &mut Engine, opened: Result<Session, SessionError>) -> bool {
    match opened {
        Ok(_) => false,
        Err(SessionError::Locked { owner, .. }) if owner.pid == 0 => false,
        Err(error) => {
            announce::report_session_refusal(engine, &error);
            true
        }
    }
}

pub(crate) fn message_text(engine: &Engine, entry_id: &str) -> Result<String, UserError> {
    let entry = engine.config.session.tree().get(entry_id);
    let entry = entry.ok_or_else(|| format!("Entry not found: {entry_id}"))?;
    match &entry.body {
        Body::Message { message } => match message.as_ref() {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        },
        _ => None,
    }
    .ok_or_else(|| format!("Entry is not a user message: {entry_id}").into())
}

/// Whether `path` is the open session: its own lock would keep it from being opened again.
pub(crate) fn is_open(engine: &Engine, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let open = engine.config.session.info().file.as_deref();
    open.and_then(real).is_some_and(|open| real(path) == Some(open))
}
