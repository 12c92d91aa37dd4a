//! Starts, opens, forks and changes sessions.
//!
//! The session changes only while nothing is running. If a session cannot be opened, the current one stays
//! open.

use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::refusals::{is_open, message_text};
use super::{branch, open_session};
use crate::engine::attend::end_shells;
use crate::engine::base::conversation::Conversation;
use crate::engine::base::queue::KeptQueues;
use crate::engine::state::Engine;
use crate::engine::{announce, background_jobs, commands, gate, side_question};
use crate::session::{ForkRange, Session};
use tau_protocol::command::{AgentCommand, SessionChange, SessionCommand};
use tau_protocol::event::{NoticeLevel, QueueEvent, SessionEvent};
use tau_protocol::message::Message;
use tau_tools::paths::resolve;
use tau_tools::user_error::UserError;

/// The time that the user's commands have to end before the session changes.
const SHELLS_END: Duration = Duration::from_millis(900);

/// Carries out a session command. The user's running commands end first, in their own session.
pub(crate) async fn session(engine: &mut Engine, command: SessionChange) {
    let place = engine.config.place.clone();
    let mut returned = None;
    let next = match &command {
        SessionChange::Name { .. } => {
            return commands::apply(engine, AgentCommand::Session(SessionCommand::Change(command)));
        }
        SessionChange::GoTo { entry_id, summary } => {
            return branch::go_to(engine, entry_id, summary.as_ref()).await;
        }
        SessionChange::New => Session::begin(place.dir.as_deref(), &place.cwd, None),
        SessionChange::Continued { parent } => Session::begin_after(place.dir.as_deref(), &place.cwd, parent),
        SessionChange::Clone => {
            engine.load_all();
            match engine.config.session.fork(place.dir.as_deref(), ForkRange::All) {
                Some(session) => session,
                None => {
                    let error = "the earlier part of this session cannot be read, so it cannot be copied";
                    return engine.emit(SessionEvent::SessionRefused { error: error.into() });
                }
            }
        }
        SessionChange::Fork { entry_id } => match fork(engine, entry_id) {
            Ok((session, text)) => {
                returned = Some(text);
                session
            }
            Err(error) => {
                engine.notice(NoticeLevel::Error, error.clone(), Some("choose one of your messages"));
                return engine.emit(SessionEvent::SessionRefused { error: error.into() });
            }
        },
        SessionChange::Import { path } => {
            let path = resolve(&place.cwd, &path.to_string_lossy());
            match Session::copy(&path, place.dir.as_deref(), Some(&place.cwd)) {
                Ok(session) => session,
                Err(error) => return announce::report_session_refusal(engine, &error),
            }
        }
        SessionChange::Open { path } | SessionChange::Offer { path, .. } if is_open(engine, path) => {
            return announce::report_session(engine);
        }
        SessionChange::Offer { path, source } => match open_session::open_or_ask(engine, path, *source).await
        {
            Some(mut session) => {
                // A failed write is tried again with the first message.
                session.continue_on_screen().unwrap_or_default();
                session
            }
            None => return,
        },
        SessionChange::Open { path } => match open_session::open(engine, path).await {
            Ok(session) => session,
            Err(error) => return announce::report_session_refusal(engine, &error),
        },
    };
    switch_to(engine, next).await;
    if let Some(text) = returned {
        engine.emit(QueueEvent::QueueReturned { texts: vec![text], images: Vec::new() });
    }
}

/// Leaves the current session for `next`.
async fn switch_to(engine: &mut Engine, next: Session) {
    side_question::end_all(engine).await;
    end_shells(engine, Instant::now() + SHELLS_END).await;
    announce::record_pending(engine);
    background_jobs::leave_session(engine);
    if !engine.queues.is_empty() {
        let messages = engine.queues.take();
        announce::queues(engine);
        announce::return_messages(engine, messages);
    }
    engine.flush();
    if !engine.queues.is_empty() {
        // They stay in the session that is left.
        engine.queues.restore(KeptQueues::default());
        engine.emit(engine.queues.update());
    }
    let before = engine.cwd().to_owned();
    let lost = engine.config.session.has_unsaved();
    engine.config.session = next;
    engine.enter_directory();
    if engine.cwd() != before {
        // The prompt names the directory, and includes its instruction files.
        engine.refresh_system_prompt();
    }
    engine.forget_session_state();
    gate::end_session(engine);
    announce::report_session(engine);
    announce::restore_settings(engine);
    if lost {
        let text = "the last messages of the previous session could not be saved and are lost";
        engine.notice(NoticeLevel::Error, text, Some("check the disk"));
    }
}

/// A new session with everything before a user message, and the text of that message.
fn fork(engine: &mut Engine, entry_id: &str) -> Result<(Session, String), UserError> {
    engine.load_all();
    let text = message_text(engine, entry_id)?;
    let dir = engine.config.place.dir.clone();
    let fork = engine.config.session.fork(dir.as_deref(), ForkRange::Before(entry_id));
    Ok((fork.ok_or_else(|| format!("Entry not found: {entry_id}"))?, text))
}

/// Continues from `messages`, on a new branch of the same session.
pub(crate) fn replace_messages(engine: &mut Engine, messages: Vec<Arc<Message>>) {
    engine.config.session.go_to(None);
    for message in messages {
        engine.record(message);
    }
    engine.flush();
    engine.conversation = Conversation::default();
    announce::report_session(engine);
}
