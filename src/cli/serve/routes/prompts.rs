//! Prompts, queued messages, and stopping.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::super::app::App;
use super::super::extract::{AlreadyOpen, JsonBody, OpenedSession};
use super::super::hub::{NewSession, SessionOptions, about_to_end};
use super::super::live::LiveSession;
use super::super::problem::Problem;
use super::super::stream::EventStream;
use super::super::types::{Accepted, Disposition, ImageBlock, PromptAnywhere, PromptSession, QueueMessage};
use crate::live::others::refuse_command;
use tau_protocol::attachment::picture_bytes;
use tau_protocol::command::{AgentCommand, Queue, QueueCommand, RunCommand, ShellCommand, TaskCommand};
use tau_protocol::message::{Block, UserMessage};
use tau_protocol::query::Query;

/// Sends a prompt, and streams the events until the agent has settled.
///
/// The stream begins with `session` and ends with `done`. Disconnecting before that aborts the run, unless
/// the prompt was sent with `detach`.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/prompt", tag = "prompts", request_body = PromptSession, responses(
    (status = 200, description = "The events of the run", body = crate::serve::types::EventFrame, content_type = "text/event-stream"),
    (status = 202, description = "Accepted; with `detach`", body = Accepted),
    (status = 409, description = "The agent works, or the session is in use by another tau"),
    (status = 422, description = "There is nothing to send, it is a command of the screen or an unknown one, or no model is selected"),
    (status = 507, description = "Accepted, but the session cannot be saved; with `detach`"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn prompt(
    State(app): State<App>,
    OpenedSession(live): OpenedSession,
    JsonBody(body): JsonBody<PromptSession>,
) -> Result<Response, Problem> {
    let streaming = body.streaming.map(Queue::from);
    run(&app, &live, body.prompt, body.images, streaming, body.detach).await
}

/// Sends a prompt to a session, or to a new one, and streams the events.
#[cfg_attr(test, utoipa::path(post, path = "/api/prompt", tag = "prompts", request_body = PromptAnywhere, responses(
    (status = 200, description = "The events of the run", body = crate::serve::types::EventFrame, content_type = "text/event-stream"),
    (status = 202, description = "Accepted; with `detach`", body = Accepted),
    (status = 404, description = "There is no such session"),
    (status = 409, description = "The agent works, or the session is in use by another tau"),
    (status = 422, description = "There is nothing to send, it is a command of the screen or an unknown one, or no model is selected"),
    (status = 507, description = "Accepted, but the session cannot be saved; with `detach`"),
    (status = 503, description = "No more sessions may be open"),
)))]
pub(super) async fn prompt_anywhere(
    State(app): State<App>,
    JsonBody(body): JsonBody<PromptAnywhere>,
) -> Result<Response, Problem> {
    check_message(&body.prompt, &body.images)?;
    let is_for_new = body.cwd.is_some() || body.model.is_some() || body.permission_mode.is_some();
    let live = match body.session_id {
        Some(_) if is_for_new => {
            let text = "cwd, model and permissionMode are for a new session; leave sessionId out, or them";
            return Err(Problem::refused(text));
        }
        Some(id) => app.hub().open(&id).await?,
        None => {
            let options = SessionOptions {
                model: body.model,
                mode: body.permission_mode.map(Into::into),
                ..SessionOptions::default()
            };
            let cwd = body.cwd.map(PathBuf::from);
            app.hub().create(NewSession { cwd, options, ..NewSession::default() }).await?
        }
    };
    let streaming = body.streaming.map(Queue::from);
    run(&app, &live, body.prompt, body.images, streaming, body.detach).await
}

/// Queues a message that the model gets after the tool calls of the current turn.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/steer", tag = "prompts", request_body = QueueMessage, responses(
    (status = 202, description = "It waits", body = Accepted),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "There is nothing to send, or it is a command of the screen or an unknown one"),
    (status = 507, description = "It waits, but the session cannot be saved"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn steer(
    AlreadyOpen(live): AlreadyOpen,
    JsonBody(body): JsonBody<QueueMessage>,
) -> Result<Response, Problem> {
    enqueue(&live, body, Queue::Steer).await
}

/// Queues a message that the model gets when it would otherwise stop.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/follow-up", tag = "prompts", request_body = QueueMessage, responses(
    (status = 202, description = "It waits", body = Accepted),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "There is nothing to send, or it is a command of the screen or an unknown one"),
    (status = 507, description = "It waits, but the session cannot be saved"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn follow_up(
    AlreadyOpen(live): AlreadyOpen,
    JsonBody(body): JsonBody<QueueMessage>,
) -> Result<Response, Problem> {
    enqueue(&live, body, Queue::FollowUp).await
}

/// Stops running work. Answers once nothing is running.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/abort", tag = "prompts", responses(
    (status = 204, description = "Nothing runs"),
    (status = 409, description = "The session is not open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn abort(AlreadyOpen(live): AlreadyOpen) -> Result<StatusCode, Problem> {
    live.send(RunCommand::Abort).await?;
    if live.read_facts(|facts, _| facts.runs_commands()) {
        live.send(ShellCommand::AbortBash).await?;
    }
    live.idle().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a prompt; returns the events of the run, or that it was accepted.
async fn run(
    app: &App,
    live: &Arc<LiveSession>,
    text: String,
    images: Vec<ImageBlock>,
    streaming: Option<Queue>,
    detach: bool,
) -> Result<Response, Problem> {
    check_message(&text, &images)?;
    if app.hub().is_closing() {
        return Err(about_to_end());
    }
    let counted = if detach { None } else { Some(app.open_stream()?) };
    // Until the agent has accepted the prompt, no other one may be checked by the agent's state.
    let _turn = live.prompting().await;
    let (running, has_model, last) =
        live.read_facts(|facts, log| (facts.mirror.running, facts.mirror.model.is_some(), log.last()));
    if !has_model {
        let text = "no model is selected; set one with PATCH, or start the server with --model";
        return Err(Problem::refused(text));
    }
    if running && streaming.is_none() {
        let text = "the agent works; set streaming to \"steer\" or \"followUp\" to queue the message";
        return Err(Problem::conflict("busy", text));
    }
    live.check_command(&text).await?.map_err(Problem::refused)?;
    let images = images.into_iter().map(Block::from).collect();
    let message = accepted_message(text, images);
    live.send(RunCommand::PromptMessage { message, streaming: streaming.unwrap_or_default() }).await?;
    let idle = live
        .begin_asking(|ticket| AgentCommand::Task(TaskCommand::Query { ticket, query: Query::Idle }))
        .await?;
    let stream = counted.map(|counted| EventStream::live(live, last, app.metrics(), counted).of_run(idle));
    // Answered once the run has started. A stream has the events that tell of a failure to save.
    match stream {
        Some(_) => drop(live.sync().await?),
        None => live.flush().await?.map_err(Problem::not_stored)?,
    }
    let disposition = if running { Disposition::Queued } else { Disposition::Started };
    Ok(stream.map_or_else(|| accepted_response(live, disposition, last), EventStream::into_response))
}

async fn enqueue(live: &LiveSession, body: QueueMessage, queue: Queue) -> Result<Response, Problem> {
    check_message(&body.text, &body.images)?;
    live.check_command(&body.text).await?.map_err(Problem::refused)?;
    let last = live.read_facts(|_, log| log.last());
    let images = body.images.into_iter().map(Block::from).collect();
    let message = accepted_message(body.text, images);
    live.send(QueueCommand::EnqueueMessage { message, queue }).await?;
    live.flush().await?.map_err(Problem::not_stored)?;
    Ok(accepted_response(live, Disposition::Queued, last))
}

/// A message that outlives its screen and its process once the client was told that it is accepted.
fn accepted_message(text: String, images: Vec<Block>) -> UserMessage {
    UserMessage { stays_queued: true, ..UserMessage::with_blocks(text, images) }
}

fn accepted_response(live: &LiveSession, disposition: Disposition, last: u64) -> Response {
    let last_event_id = live.read_facts(|_, log| log.id(last));
    let body = Accepted { session_id: live.id.clone(), disposition, last_event_id };
    (StatusCode::ACCEPTED, Json(body)).into_response()
}

fn check_message(text: &str, images: &[ImageBlock]) -> Result<(), Problem> {
    if text.trim().is_empty() && images.is_empty() {
        return Err(Problem::refused("the message is empty: give a text or images"));
    }
    refuse_command(text).map_err(Problem::refused)?;
    for ImageBlock::Image { data, .. } in images {
        picture_bytes(data).map_err(|error| Problem::refused(error.to_string()))?;
    }
    Ok(())
}
