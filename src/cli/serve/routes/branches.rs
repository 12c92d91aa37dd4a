//! The tree of a session, its forks, undo in it, and its compaction.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::super::app::App;
use super::super::branch_types::{Compact, ForkSession, Forked, Restored, UndoSession};
use super::super::extract::{Changeable, JsonBody, OpenedSession};
use super::super::live::AgentEnded;
use super::super::problem::Problem;
use super::sessions::detail;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::{RunCommand, SessionCommand};
use tau_protocol::event::{RunEvent, SessionEvent};
use tau_protocol::query::ask;
use tau_protocol::undo::{ConflictChoice, UndoOrder};

/// Shows the tree of a session: a row for each entry, parents before children, and the current position.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/tree", tag = "branches", responses(
    (status = 200, description = "`rows` (`id`, `parent`: a row, `kind`, `text`, `label`, `at`) and `leaf`: a row", body = Object),
    (status = 409, description = "In use by another tau"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn tree(OpenedSession(live): OpenedSession) -> Result<Json<Value>, Problem> {
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
    OpenedSession(live): OpenedSession,
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
    let command = AgentCommand::Session(SessionCommand::Undo { order });
    let restored =
        |event: &AgentEvent| matches!(event, AgentEvent::Session(SessionEvent::FilesRestored { .. }));
    let AgentEvent::Session(SessionEvent::FilesRestored { report, error }) =
        live.first_after(command, restored).await?
    else {
        return Err(AgentEnded.into());
    };
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
    let ended = |event: &AgentEvent| matches!(event, AgentEvent::Run(RunEvent::CompactionEnd { .. }));
    let AgentEvent::Run(RunEvent::CompactionEnd { result, error_message, aborted, .. }) =
        live.first_after(command, ended).await?
    else {
        return Err(AgentEnded.into());
    };
    match (result, error_message) {
        (Some(_), _) => Ok(StatusCode::NO_CONTENT),
        (None, Some(error)) => Err(Problem::refused(error)),
        (None, None) if aborted => Err(Problem::conflict("aborted", "the compaction was stopped")),
        (None, None) => Err(Problem::refused("there is nothing to summarize")),
    }
}
