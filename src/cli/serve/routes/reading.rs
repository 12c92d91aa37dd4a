//! Reading sessions: events, history, commands, documents.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::super::app::App;
use super::super::extract::{Names, OpenedSession, Params};
use super::super::hub::blocking;
use super::super::live::{LiveSession, Moment};
use super::super::problem::Problem;
use super::super::stream::EventStream;
use super::super::types::{
    CommandList, CommandRow, EventParams, ExportFormat, ExportParams, HistoryOfSession, HistoryParams,
};
use crate::commands::export as documents;
use crate::protocol;
use tau_agent::engine::base::call_titles::titles_of;
use tau_agent::engine::calls::missing_results::missing_results;
use tau_agent::export::Format;
use tau_agent::session::foreign::sniff::sniff;
use tau_agent::session::tail::TAIL;
use tau_agent::session::{Access, Session, SessionError};
use tau_protocol::event::{AgentEvent, TurnEvent};
use tau_protocol::message::Message;
use tau_protocol::query::{PageFrom, PageGoal, SessionSource, ask};
use tau_tools::Toolbox;

/// Streams the events of a session as they happen, until it is closed. Opens it.
///
/// Without `Last-Event-ID` the stream starts now. With it, it starts after that event; events that were
/// dropped are replaced with a `gap`.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/events", tag = "reading", params(
    EventParams,
    ("id" = String, Path, description = "The id of the session"),
    ("last-event-id" = Option<String>, Header, description = "The events after this one"),
), responses(
    (status = 200, description = "The events", body = crate::serve::types::EventFrame, content_type = "text/event-stream"),
    (status = 409, description = "In use by another tau"),
    (status = 503, description = "Too many streams are open"),
)))]
pub(super) async fn events(
    State(app): State<App>,
    OpenedSession(live): OpenedSession,
    Params(params): Params<EventParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let counted = app.open_stream()?;
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok().map(str::to_owned));
    let after = header.or(params.after).filter(|id| !id.is_empty());
    let (from, is_known) = live.read_facts(|_, log| match &after {
        None => (Some(log.last()), true),
        Some(id) => (log.position(id), log.position(id).is_some()),
    });
    // An id from an earlier opening is invalid here: all events follow.
    let stream = EventStream::live(&live, from.unwrap_or(0), app.metrics(), counted);
    Ok(if is_known { stream } else { stream.after_gap() }.into_response())
}

/// Reads messages, a page of about half a megabyte at a time, the last page first. Does not open the session.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/history", tag = "reading", params(
    HistoryParams,
    ("id" = String, Path, description = "The id of the session"),
), responses(
    (status = 200, description = "A page", body = HistoryOfSession),
)))]
pub(super) async fn history(
    State(app): State<App>,
    Names(id): Names<String>,
    Params(params): Params<HistoryParams>,
) -> Result<Json<HistoryOfSession>, Problem> {
    let live = app.hub().find(&id);
    let moment = match &live {
        Some(live) if params.before.is_none() => Some(live.sync().await?),
        _ => None,
    };
    let runs = || live.as_ref().is_some_and(|live| live.read_facts(|facts, _| facts.mirror.running));
    let ran = runs();
    let (mut page, missing) = match app.hub().source(&id).await? {
        Some(source) => blocking(move || read_page(&source, params.before)).await??,
        None => (HistoryOfSession::default(), Vec::new()),
    };
    let is_interrupted = params.before.is_none() && !ran && !runs();
    if let (Some(live), Some(moment)) = (&live, moment) {
        cut(&mut page, live, moment).await?;
    }
    if is_interrupted {
        page.messages.extend(missing);
    } else {
        page.stopped = None;
    }
    Ok(Json(page))
}

fn unreadable(error: SessionError) -> Problem {
    Problem::failed(error.to_string())
}

/// The session in a source: of tau's own files only the end.
fn read_end(source: &SessionSource) -> Result<Session, Problem> {
    match source {
        SessionSource::File(path) if sniff(path).is_none() => {
            Session::open_tail(path, Access::Read, TAIL).map_err(unreadable)
        }
        other => documents::read(other).map_err(Problem::failed),
    }
}

/// A page, and the results that calls at the end of the session do not have.
fn read_page(source: &SessionSource, before: Option<u64>) -> Result<(HistoryOfSession, Vec<Value>), Problem> {
    let session = read_end(source)?;
    let from = PageFrom::Before { position: before };
    let page = session.branch_page(from, PageGoal::Next).map_err(unreadable)?;
    let records =
        |messages: &[Arc<Message>]| messages.iter().map(|message| protocol::message(message)).collect();
    let history = HistoryOfSession {
        messages: records(&page.messages),
        titles: titles_of(&Toolbox::empty(), &page.messages),
        start: page.place.start as u64,
        end: page.place.end as u64,
        left: page.left,
        last_event_id: None,
        replay_from: None,
        stopped: session.limit_of_run().map(|end| format!("{}; {}", end.report(), end.remedy())),
    };
    Ok((history, records(&missing_results(&session))))
}

/// Cuts a page off at a moment, so that the later events repeat no message: newer messages are at its end.
async fn cut(page: &mut HistoryOfSession, live: &LiveSession, moment: Moment) -> Result<(), Problem> {
    // Now the log has the events of everything that can be in the page.
    live.sync().await?;
    let since: HashSet<String> = live
        .after(moment.last, usize::MAX)
        .events
        .iter()
        .filter_map(|kept| match &kept.event {
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => Some(name(&protocol::message(message))),
            _ => None,
        })
        .collect();
    while page.messages.last().is_some_and(|last| since.contains(&name(last))) {
        page.messages.pop();
    }
    let (last, replay) = live.read_facts(|_, log| (log.id(moment.last), log.id(moment.replay_from)));
    (page.last_event_id, page.replay_from) = (Some(last), Some(replay));
    Ok(())
}

/// The difference between a message and others of its time.
fn name(message: &Value) -> String {
    let part = |name: &str| message.get(name).map(Value::to_string).unwrap_or_default();
    format!("{} {} {}", part("role"), part("timestamp"), part("toolCallId"))
}

/// Lists the commands that a prompt can start with. Opens the session.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/commands", tag = "reading", responses(
    (status = 200, description = "The commands", body = CommandList),
    (status = 409, description = "In use by another tau"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn commands(OpenedSession(live): OpenedSession) -> Result<Json<CommandList>, Problem> {
    let found = live.ask(ask::Commands).await?.0.map_err(Problem::failed)?;
    let row = |command: tau_protocol::extension::PromptCommand| CommandRow {
        name: command.name,
        description: command.description,
        argument_hint: command.argument_hint,
    };
    Ok(Json(CommandList { commands: found.into_iter().map(row).collect() }))
}

/// Exports a session as a document, without secrets. Does not open the session.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/export", tag = "reading", params(
    ExportParams,
    ("id" = String, Path, description = "The id of the session"),
), responses(
    (status = 200, description = "The document", body = String, content_type = "text/html"),
    (status = 404, description = "There is no such session, or nothing in it"),
)))]
pub(super) async fn export(
    State(app): State<App>,
    Names(id): Names<String>,
    Params(params): Params<ExportParams>,
) -> Result<Response, Problem> {
    let source = app.hub().source(&id).await?;
    let source = source.ok_or_else(|| Problem::not_found("there is nothing in this session yet"))?;
    let (format, kind) = match params.format.unwrap_or_default() {
        ExportFormat::Html => (Format::Html, "text/html; charset=utf-8"),
        ExportFormat::Md => (Format::Markdown, "text/markdown; charset=utf-8"),
        ExportFormat::Jsonl => (Format::Jsonl, "application/jsonl; charset=utf-8"),
    };
    let secrets = app.hub().secrets();
    let written = blocking(move || documents::text(&source, format, &secrets)).await?;
    let (text, stem) = written.map_err(Problem::failed)?;
    let name = format!("attachment; filename=\"{stem}.{}\"", format.ending());
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    if let Ok(name) = HeaderValue::from_str(&name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
