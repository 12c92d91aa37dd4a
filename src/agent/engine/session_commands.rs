//! Beginning, opening and naming sessions, and taking up where one was left.
//!
//! A change of session happens only while nothing runs. A session that cannot be opened leaves
//! the present one as it is.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use tokio::time::{Duration, Instant, sleep};

use super::commands;
use super::task::{Agent, now};
use super::{branch, call_titles, history_paging, open_session};
use crate::agent::protocol::command::SessionCommand;
use crate::agent::protocol::event::{AgentEvent, NoticeLevel};
use crate::agent::protocol::message::{Message, ToolResultMessage};
use crate::agent::protocol::model::Model;
use crate::agent::session::entry::Body;
use crate::agent::session::tail::TAIL;
use crate::agent::session::{Access, ForkRange, Session, SessionError};
use crate::tools::{Content, Details};

/// How long the person's commands may take to end before the session changes.
const SHELLS: Duration = Duration::from_millis(900);
/// How long to wait before a lock is asked for again.
const LOCKED: Duration = Duration::from_millis(20);

/// The first events: which session, which model, which thinking level.
pub(crate) fn greet(agent: &mut Agent) {
    opened(agent);
    if agent.config.model.is_none() {
        restore(agent);
    } else if let Some(model) = agent.config.model.clone() {
        agent.emit(AgentEvent::ModelChanged { model });
    }
    let level = agent.thinking();
    agent.emit(AgentEvent::ThinkingLevelChanged { level });
}

/// Carries out a session command. What the person had running ends first, in its own session.
pub(crate) async fn session(agent: &mut Agent, command: SessionCommand) {
    let place = agent.config.place.clone();
    let mut said = None;
    let next = match &command {
        SessionCommand::Name { name: wanted } => return name(agent, wanted),
        SessionCommand::GoTo { entry_id, summary } => {
            return branch::go_to(agent, entry_id, summary.as_ref()).await;
        }
        SessionCommand::New => Session::begin(place.dir.as_deref(), &place.cwd, None),
        SessionCommand::Continued { parent } => {
            Session::begin_after(place.dir.as_deref(), &place.cwd, parent)
        }
        SessionCommand::Clone => {
            agent.complete();
            match agent.config.session.fork(place.dir.as_deref(), ForkRange::All) {
                Some(session) => session,
                None => return,
            }
        }
        SessionCommand::Fork { entry_id } => match fork(agent, entry_id) {
            Ok((session, text)) => {
                said = Some(text);
                session
            }
            Err(error) => {
                agent.notice(NoticeLevel::Error, error.clone(), Some("choose a message of yours"));
                return agent.emit(AgentEvent::SessionRefused { error });
            }
        },
        SessionCommand::Open { path } | SessionCommand::Offer { path } if is_open(agent, path) => {
            return opened(agent);
        }
        SessionCommand::Offer { path } => match open_session::open(agent, path).await {
            Some(session) => session,
            None => return,
        },
        SessionCommand::Open { path } => match open(agent, path).await {
            Ok(session) => session,
            Err(error) => return refused(agent, &error),
        },
    };
    agent.end_shells(Instant::now() + SHELLS).await;
    agent.flush();
    let before = agent.cwd().to_owned();
    let lost = agent.config.session.has_unsaved();
    agent.config.session = next;
    if agent.cwd() != before {
        // The prompt names the directory, and has its instruction files.
        agent.renew_prompt();
    }
    agent.unwritten = false;
    agent.file_versions = Arc::default();
    if !agent.queues.is_empty() {
        let messages = agent.queues.take();
        let update = agent.queues.update();
        agent.emit(update);
        super::commands::give_back(agent, messages);
    }
    opened(agent);
    restore(agent);
    if lost {
        let text = "the last messages of the session that was left could not be written to its file";
        agent.notice(NoticeLevel::Error, text, Some("they are gone; look after the disk"));
    }
    if let Some(text) = said {
        agent.emit(AgentEvent::QueueReturned { texts: vec![text], images: Vec::new() });
    }
}

/// What stands before a message of the person's, as a new session, and the text of the message.
fn fork(agent: &mut Agent, entry_id: &str) -> Result<(Session, String), String> {
    agent.complete();
    let session = &agent.config.session;
    let entry = session.tree().get(entry_id).ok_or_else(|| format!("Entry not found: {entry_id}"))?;
    let text = match &entry.body {
        Body::Message { message } => match message.as_ref() {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        },
        _ => None,
    };
    let text = text.ok_or_else(|| format!("Entry is not a user message: {entry_id}"))?;
    let dir = agent.config.place.dir.as_deref();
    let fork = session.fork(dir, ForkRange::Before(entry_id));
    Ok((fork.ok_or_else(|| format!("Entry not found: {entry_id}"))?, text))
}

/// Goes on from `messages`, on a branch of their own; the session stays the same.
pub(crate) fn replace(agent: &mut Agent, messages: Vec<Arc<Message>>) {
    agent.config.session.go_to(None);
    for message in messages {
        agent.record(message);
    }
    agent.flush();
    agent.file_versions = Arc::default();
    opened(agent);
}

/// Names the session, on one line.
pub(crate) fn name(agent: &mut Agent, name: &str) {
    let one_line: Vec<&str> = name.split_whitespace().collect();
    let named = agent.config.session.set_name(&one_line.join(" "));
    agent.written(named);
    let name = agent.config.session.info().name.clone();
    agent.emit(AgentEvent::SessionInfoChanged { name });
}

/// Opens a session file. A child between fork and exec still holds the lock of a file that was
/// closed; a lock that nobody seems to own is therefore asked for again.
pub(crate) async fn open(agent: &mut Agent, path: &Path) -> Result<Session, SessionError> {
    for _ in 0..10 {
        match Session::open_tail(path, Access::Write, TAIL) {
            Err(SessionError::Locked { owner, .. }) if owner.pid == 0 => agent.attend(sleep(LOCKED)).await,
            other => return other,
        }
    }
    Session::open_tail(path, Access::Write, TAIL)
}

/// Whether `path` is the session that is open: its own lock would keep it from opening again.
fn is_open(agent: &Agent, path: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let open = agent.config.session.info().file.as_deref();
    open.and_then(real).is_some_and(|open| real(path) == Some(open))
}

pub(crate) fn refused(agent: &mut Agent, error: &SessionError) {
    let hint = match error {
        SessionError::NotASession(_) => "choose a session from the list",
        SessionError::Io { .. } => "look whether the file is there and may be read",
        SessionError::Locked { .. } => "end the other tau first",
    };
    let text = format!("the session cannot be opened: {error}");
    agent.notice(NoticeLevel::Error, text.clone(), Some(hint));
    agent.emit(AgentEvent::SessionRefused { error: text });
}

/// Tells of the session. Who only looks at one writes nothing to it: the results that a killed
/// program owes are told here and written by `mend`.
pub(crate) fn opened(agent: &mut Agent) {
    let session = agent.config.session.info().clone();
    let mut messages = agent.config.session.context().messages;
    messages.extend(missing_results(&messages));
    let titles = call_titles::of(&agent.config.tools, &messages);
    agent.emit(AgentEvent::SessionOpened { session, messages, titles });
    history_paging::begin(agent);
    let (own, used) = (agent.config.session.info().cwd.clone(), agent.cwd().to_owned());
    if own != used {
        let text = format!("the directory of this session, {}, is gone", own.display());
        let hint = format!("commands run in {}", used.display());
        agent.notice(NoticeLevel::Warning, text, Some(&hint));
    }
    let skipped = agent.config.session.skipped_lines();
    if skipped > 0 {
        let text = format!("{skipped} unreadable lines of the session file were passed over");
        agent.notice(NoticeLevel::Warning, text, Some("the file itself was left as it is"));
    }
}

/// Takes up the model and the thinking level that the session names, if it names any.
pub(crate) fn restore(agent: &mut Agent) {
    let context = agent.config.session.context();
    if let Some(level) = context.thinking
        && level != agent.config.thinking
    {
        agent.config.thinking = level;
        let level = agent.thinking();
        agent.emit(AgentEvent::ThinkingLevelChanged { level });
    }
    let Some((provider, id)) = context.model else {
        return;
    };
    let same = |model: &Arc<Model>| model.provider == provider && model.id == id;
    if agent.config.model.as_ref().is_some_and(same) {
        return;
    }
    match (agent.config.find_model)(&provider, &id) {
        Some(model) => commands::take_up(agent, model),
        None => {
            let text = format!("the model of this session, {provider}/{id}, is not known here");
            agent.notice(NoticeLevel::Warning, text, Some("choose another one with /model"));
        }
    }
}

/// Writes the results that are owed, before the conversation goes on.
pub(crate) fn mend(agent: &mut Agent) {
    for result in missing_results(&agent.config.session.context().messages) {
        agent.record(result);
    }
}

/// Results for the calls at the end of a history that have none, because the program was killed
/// before they had ended, or because the conversation goes on from before them.
fn missing_results(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut answered = HashSet::new();
    for message in messages.iter().rev() {
        match message.as_ref() {
            Message::ToolResult(result) => {
                answered.insert(result.tool_call_id.as_str());
            }
            Message::BashExecution(_) | Message::Custom(_) => {}
            Message::Assistant(answer) => {
                let open = answer.tool_calls().filter(|call| !answered.contains(call.id.as_str()));
                return open.map(|call| interrupted(&call.id, &call.name)).collect();
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

fn interrupted(id: &str, name: &str) -> Arc<Message> {
    let text = "interrupted: there is no result of this call; it may have been carried out in part";
    Arc::new(Message::ToolResult(ToolResultMessage {
        tool_call_id: id.to_owned(),
        tool_name: name.to_owned(),
        content: vec![Content::text(text)],
        details: Details::None,
        is_error: true,
        timestamp: now(),
        duration_ms: None,
    }))
}
