//! The tree of a session, its forks, undo in it, and its compaction.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::super::app::App;
use super::super::branch_types::{Compact, ForkSession, Forked, Restored, UndoSession};
use super::super::extract::{Changeable, JsonBody, Opened};
use super::super::live::{Ended, LiveSession};
use super::super::problem::Problem;
use super::sessions::detail;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::{RunCommand, SessionCommand};
use tau_protocol::event::{RunEvent, SessionEvent};
use tau_protocol::query::ask;
use tau_protocol::undo::{ConflictChoice, RestoreReport, UndoOrder};

/// Shows the tree of a session: a row for each entry, parents before children, and the current position.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/tree", tag = "branches", responses(
    (status = 200, description = "`rows` (`id`, `parent`: a row, `kind`, `text`, `label`, `at`) and `leaf`: a row", body = Object),
    (status = 409, description = "In use by another tau"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn tree(Opened(live): Opened) -> Result<Json<Value>, Problem> {
    let outline = live.ask(ask::Outline).await?.0.map_err(Problem::failed)?;
    serde_json::to_value(&outline).map(Json).map_err(|error| Problem::failed(error.to_string()))
}

/// Forks a session: with everything, or with the part before a user message.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/fork", tag = "branches", request_body = ForkSession, responses(
    (status = 201, description = "It was made and is open", body = Forked),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "There is no such message, or nothing to take over"),
    (status = 503, description = "No more sessions may be open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn fork(
    State(app): State<App>,
    Opened(live): Opened,
    JsonBody(body): JsonBody<ForkSession>,
) -> Result<Response, Problem> {
    let (fork, text) = app.hub().fork(&live, body.entry_id).await?;
    Ok((StatusCode::CREATED, Json(Forked { session: detail(&fork), text })).into_response())
}

/// Undoes everything from a prompt on: files, conversation or both. Stops running work.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/undo", tag = "branches", request_body = UndoSession, responses(
    (status = 200, description = "What was restored", body = Restored),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "There is no such prompt, or nothing can be restored"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn undo(
    Changeable(live): Changeable,
    JsonBody(body): JsonBody<UndoSession>,
) -> Result<Json<Restored>, Problem> {
    let choices =
        body.choices.into_iter().map(|(path, choice)| (path, ConflictChoice::from(choice))).collect();
    let (scope, otherwise) =
        (body.scope.unwrap_or_default().into(), body.otherwise.unwrap_or_default().into());
    let order = UndoOrder { entry_id: body.entry_id, scope, choices, otherwise };
    let (report, error) = restored(&live, AgentCommand::Session(SessionCommand::Undo { order })).await?;
    match error {
        Some(error) => Err(Problem::refused(error)),
        None => Ok(Json(Restored::from(report))),
    }
}

/// Replaces the earlier part of the conversation with a summary. Answers once that is done.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/compact", tag = "branches", request_body = Compact, responses(
    (status = 204, description = "It is done"),
    (status = 409, description = "The agent works, or the session is in use by another tau"),
    (status = 422, description = "There is nothing to summarize, or the model failed"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn compact(
    Changeable(live): Changeable,
    JsonBody(body): JsonBody<Compact>,
) -> Result<StatusCode, Problem> {
    if live.read_facts(|facts, _| facts.mirror.running) {
        return Err(Problem::conflict("busy", "the agent works; compact when it has finished, or abort it"));
    }
    let command = AgentCommand::Run(RunCommand::Compact { instructions: body.instructions });
    let found = first(&live, command, |event| match event {
        AgentEvent::Run(RunEvent::CompactionEnd { result, error_message, aborted, .. }) => {
            Some((result.is_some(), error_message.clone(), *aborted))
        }
        _ => None,
    });
    match found.await? {
        (true, ..) => Ok(StatusCode::NO_CONTENT),
        (false, Some(error), _) => Err(Problem::refused(error)),
        (false, None, true) => Err(Problem::conflict("aborted", "the compaction was stopped")),
        (false, None, false) => Err(Problem::refused("there is nothing to summarize")),
    }
}

async fn restored(
    live: &LiveSession,
    command: AgentCommand,
) -> Result<(RestoreReport, Option<String>), Ended> {
    first(live, command, |event| match event {
        AgentEvent::Session(SessionEvent::FilesRestored { report, error }) => {
            Some((report.clone(), error.clone()))
        }
        _ => None,
    })
    .await
}

/// Sends a command and waits for the first later event that satisfies `seen`.
async fn first<T>(
    live: &LiveSession,
    command: AgentCommand,
    seen: impl Fn(&AgentEvent) -> Option<T>,
) -> Result<T, Ended> {
    let mut position = live.read_facts(|_, log| log.last());
    live.send(command).await?;
    loop {
        let following = live.after(position, usize::MAX);
        if let Some(found) = following.events.iter().find_map(|kept| seen(&kept.event)) {
            return Ok(found);
        }
        position = following.position;
        if !live.wait_after(position).await {
            return Err(Ended);
        }
    }
}
