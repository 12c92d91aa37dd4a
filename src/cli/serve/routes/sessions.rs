//! Sessions: making, listing, showing, changing, closing, deleting.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::super::app::App;
use super::super::elsewhere::Elsewhere;
use super::super::extract::{Changeable, JsonBody, Names, Params};
use super::super::hub::{NewSession, SessionOptions, blocking};
use super::super::live::LiveSession;
use super::super::problem::Problem;
use super::super::types::{
    ChangeSession, CreateSession, ListParams, QueuedTexts, SessionDetail, SessionList, SessionSummary,
};
use crate::live::record::{FoundRecord, LiveRecord};
use tau_agent::session::entry::iso;
use tau_agent::session::foreign;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{AgentCommand, SessionChange, SessionCommand, SettingsCommand};
use tau_protocol::live_session::LiveState;
use tau_protocol::session_row::{SessionOrigin, SessionRow};

/// Default number of sessions on a page.
const PAGE: u32 = 100;

/// Makes a session.
///
/// Its file is created with the first message.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = CreateSession, responses(
    (status = 201, description = "It was made and is open", body = SessionDetail,
     headers(("location" = String, description = "Its path"))),
    (status = 409, description = "There is a session of this id"),
    (status = 422, description = "The directory or the model cannot be used"),
    (status = 503, description = "No more sessions may be open"),
)))]
pub(super) async fn create(
    State(app): State<App>,
    JsonBody(body): JsonBody<CreateSession>,
) -> Result<Response, Problem> {
    let new = NewSession {
        id: body.id,
        cwd: body.cwd.map(PathBuf::from),
        name: body.name,
        parent: None,
        options: SessionOptions {
            model: body.model,
            thinking: body.thinking.map(Into::into),
            mode: body.permission_mode.map(Into::into),
        },
    };
    let live = app.hub().create(new).await?;
    let mut response = (StatusCode::CREATED, Json(detail(&live))).into_response();
    if let Ok(place) = HeaderValue::from_str(&format!("/api/sessions/{}", live.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    Ok(response)
}

/// Makes the session with this id, or opens it if it exists: a balancer in front of several servers can route
/// by the path.
#[cfg_attr(test, utoipa::path(put, path = "/api/sessions/{id}", tag = "sessions", request_body = CreateSession, responses(
    (status = 200, description = "It existed already and is open; nothing was changed", body = SessionDetail),
    (status = 201, description = "It was made and is open", body = SessionDetail),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "The id, the directory or the model cannot be used"),
    (status = 503, description = "No more sessions may be open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn put(
    State(app): State<App>,
    Names(id): Names<String>,
    JsonBody(body): JsonBody<CreateSession>,
) -> Result<Response, Problem> {
    if body.id.as_ref().is_some_and(|other| *other != id) {
        return Err(Problem::refused("id: the path names another one"));
    }
    match app.hub().open(&id).await {
        Ok(live) => Ok(Json(detail(&live)).into_response()),
        Err(problem) if problem.status == StatusCode::NOT_FOUND.as_u16() => {
            create(State(app), JsonBody(CreateSession { id: Some(id), ..body })).await
        }
        Err(problem) => Err(problem),
    }
}

/// Lists sessions, saved and open ones, newest first.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions", tag = "sessions", params(ListParams), responses(
    (status = 200, description = "A page of sessions", body = SessionList),
)))]
pub(super) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<SessionList>, Problem> {
    let limit = params.limit.unwrap_or(PAGE);
    if !(1..=1_000).contains(&limit) {
        return Err(Problem::invalid("limit: give a number from 1 to 1000"));
    }
    let cwd = params.cwd.map(PathBuf::from);
    let saved = app.hub().saved_and_foreign_sessions(cwd.clone()).await?;
    let mut live: HashMap<String, Arc<LiveSession>> =
        app.hub().all().into_iter().map(|live| (live.id.clone(), live)).collect();
    let mut sessions: Vec<SessionSummary> = Vec::new();
    let mut others = records(&app).await?;
    let known: HashSet<String> = others.keys().cloned().collect();
    let saved: Vec<SessionSummary> = saved
        .into_iter()
        .map(|row| match (live.remove(&row.id), others.remove(&row.id)) {
            (Some(live), _) => summary(&row, &FactSource::Here(&live)),
            (None, Some(found)) => summary(&row, &FactSource::Elsewhere(&found)),
            (None, None) => summary(&row, &FactSource::Nothing),
        })
        .collect();
    // Sessions without messages have no file.
    let is_of = |dir: &Path| cwd.as_ref().is_none_or(|cwd| dir == cwd);
    let is_here = |live: &&Arc<LiveSession>| live.read_facts(|facts, _| is_of(&facts.mirror.session.cwd));
    let mut unsaved: Vec<SessionSummary> = live
        .values()
        .filter(is_here)
        .map(|live| unsaved_summary(&live.id, &FactSource::Here(live)))
        .collect();
    others.retain(|id, found| found.is_live && !live.contains_key(id) && is_of(&found.record.directory));
    unsaved.extend(others.iter().map(|(id, found)| unsaved_summary(id, &FactSource::Elsewhere(found))));
    unsaved.sort_by(|a, b| b.id.cmp(&a.id));
    sessions.extend(unsaved);
    sessions.extend(saved);
    if params.open {
        sessions.retain(|session| session.live || known.contains(&session.id));
    }
    let from = match &params.after {
        None => 0,
        Some(after) => {
            let at = sessions.iter().position(|session| session.id == *after);
            at.ok_or_else(|| Problem::invalid("after: no session of this id is in the list"))?
                .saturating_add(1)
        }
    };
    let end = from.saturating_add(limit as usize);
    let page: Vec<SessionSummary> = sessions.get(from..end.min(sessions.len())).unwrap_or_default().to_vec();
    let next = (end < sessions.len()).then(|| page.last().map(|last| last.id.clone())).flatten();
    Ok(Json(SessionList { sessions: page, next }))
}

/// The sessions that other processes have open, or that have ended in the background.
async fn records(app: &App) -> Result<HashMap<String, FoundRecord>, Problem> {
    if app.elsewhere().is_none() {
        return Ok(HashMap::new());
    }
    let app = app.clone();
    let mut found = blocking(move || app.elsewhere().map(Elsewhere::all).unwrap_or_default()).await?;
    found.retain(|_, found| found.has_row());
    Ok(found)
}

/// Shows a session. Does not open it.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", responses(
    (status = 200, description = "The session", body = SessionDetail),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn show(
    State(app): State<App>,
    Names(id): Names<String>,
) -> Result<Json<SessionDetail>, Problem> {
    if let Some(live) = app.hub().find(&id) {
        return Ok(Json(detail(&live)));
    }
    let (path, source) = app.hub().saved_place(&id).await?;
    let cwd = foreign::places::directory(&path, source);
    let rows = app.hub().saved_and_foreign_sessions(cwd).await?;
    let row = rows.into_iter().find(|row| row.id == id);
    let row = row.ok_or_else(|| Problem::not_found("the session was deleted meanwhile"))?;
    Ok(Json(SessionDetail {
        id: row.id,
        name: row.name,
        cwd: row.cwd.display().to_string(),
        ..SessionDetail::default()
    }))
}

/// Changes name, model, thinking level or permission mode. Opens the session.
#[cfg_attr(test, utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", request_body = ChangeSession, responses(
    (status = 200, description = "The session as it is then", body = SessionDetail),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "The model cannot be used"),
    (status = 507, description = "Changed, but the session cannot be saved"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn change(
    State(app): State<App>,
    Changeable(live): Changeable,
    JsonBody(body): JsonBody<ChangeSession>,
) -> Result<Json<SessionDetail>, Problem> {
    let model = body.model.as_deref().map(|name| app.hub().model(name)).transpose()?;
    let mut commands = Vec::new();
    if let Some(model) = model {
        commands.push(AgentCommand::Settings(SettingsCommand::SetModel { model }));
    }
    if let Some(level) = body.thinking {
        commands.push(AgentCommand::Settings(SettingsCommand::SetThinking { level: level.into() }));
    }
    if let Some(mode) = body.permission_mode {
        let ceiling = live.read_facts(|facts, _| facts.mirror.mode_ceiling);
        let mode = PermissionMode::from(mode).within(ceiling).map_err(Problem::refused)?;
        commands.push(AgentCommand::Settings(SettingsCommand::SetPermissionMode { mode }));
    }
    if let Some(name) = body.name {
        commands.push(AgentCommand::Session(SessionCommand::Change(SessionChange::Name { name })));
    }
    for command in commands {
        live.send(command).await?;
    }
    live.flush().await?.map_err(Problem::not_stored)?;
    Ok(Json(detail(&live)))
}

/// Closes a session, so that another tau can open it. Aborts running work.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/close", tag = "sessions", responses(
    (status = 204, description = "It is closed"),
    (status = 409, description = "It is not open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn close(State(app): State<App>, Names(id): Names<String>) -> Result<StatusCode, Problem> {
    app.hub().close(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a session: its file goes to the trash, if there is one. Aborts running work.
#[cfg_attr(test, utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", responses(
    (status = 204, description = "It is deleted"),
    (status = 409, description = "In use by another tau"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn delete(State(app): State<App>, Names(id): Names<String>) -> Result<StatusCode, Problem> {
    app.hub().delete(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The source of facts about a session besides its file.
enum FactSource<'a> {
    Here(&'a LiveSession),
    /// Another process has it open, or it has ended in the background.
    Elsewhere(&'a FoundRecord),
    Nothing,
}

/// A session by its file.
fn summary(row: &SessionRow, known: &FactSource<'_>) -> SessionSummary {
    let summary = SessionSummary {
        id: row.id.clone(),
        source: row.source.name().to_owned(),
        name: row.name.clone(),
        first_prompt: row.first_prompt.clone(),
        cwd: row.cwd.display().to_string(),
        created: Some(iso(row.created)),
        modified: Some(iso(row.modified)),
        messages: row.messages,
        state: LiveState::Idle.name().to_owned(),
        ..SessionSummary::default()
    };
    with_known(summary, known)
}

/// A session without a file.
fn unsaved_summary(id: &str, known: &FactSource<'_>) -> SessionSummary {
    let (name, title, cwd) = match known {
        FactSource::Here(live) => live.read_facts(|facts, _| {
            let title = live.helper.as_ref().map(|helper| helper.title.clone()).unwrap_or_default();
            (facts.mirror.session.name.clone(), title, facts.mirror.session.cwd.clone())
        }),
        FactSource::Elsewhere(found) => (None, found.record.title.clone(), found.record.directory.clone()),
        FactSource::Nothing => (None, String::new(), PathBuf::new()),
    };
    let summary = SessionSummary {
        id: id.to_owned(),
        source: SessionOrigin::Tau.name().to_owned(),
        name,
        first_prompt: title,
        cwd: cwd.display().to_string(),
        ..SessionSummary::default()
    };
    with_known(summary, known)
}

fn with_known(summary: SessionSummary, known: &FactSource<'_>) -> SessionSummary {
    match known {
        FactSource::Nothing => summary,
        FactSource::Here(live) => live.read_facts(|facts, _| SessionSummary {
            live: true,
            running: facts.mirror.running,
            waiting: facts.waiting(),
            state: facts.state(true).name().to_owned(),
            model: facts.model(),
            cost: facts.meter.total().cost.total,
            estimated: facts.meter.total().estimated,
            last_line: facts.last_line(),
            parent: live.helper.as_ref().map(|helper| helper.parent.clone()),
            ..summary
        }),
        FactSource::Elsewhere(found) => {
            let LiveRecord { waiting, model, cost, estimated, last_line, archived, parent, .. } =
                found.record.clone();
            let state = found.state();
            SessionSummary {
                live: found.is_live,
                elsewhere: found.is_live,
                running: matches!(state, LiveState::Running | LiveState::Waiting),
                waiting: if state == LiveState::Waiting { waiting } else { 0 },
                state: state.name().to_owned(),
                model,
                cost,
                estimated,
                last_line,
                archived,
                parent,
                ..summary
            }
        }
    }
}

/// The current state of an open session.
pub(super) fn detail(live: &LiveSession) -> SessionDetail {
    let clients = live.clients();
    live.read_facts(|facts, log| SessionDetail {
        id: live.id.clone(),
        name: facts.mirror.session.name.clone(),
        cwd: facts.mirror.session.cwd.display().to_string(),
        live: true,
        running: facts.mirror.running,
        model: facts.model(),
        thinking: Some(facts.mirror.thinking.name().to_owned()),
        permission_mode: Some(facts.mirror.mode.name().to_owned()),
        queue: Some(QueuedTexts {
            steering: facts.mirror.steering.clone(),
            follow_up: facts.mirror.follow_up.clone(),
        }),
        approvals: facts.mirror.approvals.iter().map(|request| json!(request)).collect(),
        questions: facts.questions(),
        usage: Some(json!(facts.meter.total())),
        clients,
        last_event_id: Some(log.id(log.last())),
        replay_from: Some(log.id(facts.replay_from(log.last()))),
    })
}
