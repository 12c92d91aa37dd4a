//! Attempts at a task in the directory of a session, and its worktrees.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::super::app::App;
use super::super::attempt_types::{
    AttemptChangesFound, AttemptsFound, BeginAttempts, EnterWorktree, Moved, Said, TakeAttempt,
};
use super::super::extract::{AlreadyOpen, Changeable, JsonBody, Names};
use super::super::live::LiveSession;
use super::super::problem::Problem;
use super::super::{attached, far_attempts};
use super::sessions::detail;
use tau_app::request::{ScreenReply, ScreenRequest};
use tau_protocol::attempt::{AttemptOrder, AttemptPart, MOST_ATTEMPTS};
use tau_protocol::command::SessionChange;
use tau_protocol::session_row::SessionOrigin;

/// The answer to a request about the directory of a session.
async fn ask_session(live: &Arc<LiveSession>, request: ScreenRequest) -> Result<ScreenReply, Problem> {
    match attached::perform(live.services(), Some(Arc::clone(live)), request).await {
        ScreenReply::Failed(why) => Err(Problem::refused(why.to_string())),
        reply => Ok(reply),
    }
}

async fn ask_for_text(live: &Arc<LiveSession>, request: ScreenRequest) -> Result<Json<Said>, Problem> {
    match ask_session(live, request).await? {
        ScreenReply::Done(text) => Ok(Json(Said { text })),
        _ => Err(Problem::failed("the answer is of an unexpected kind")),
    }
}

/// Lists the newest attempts in the directory of a session.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/attempts", tag = "attempts", responses(
    (status = 200, description = "The attempts; without `id` there are none", body = AttemptsFound),
    (status = 409, description = "The session is not open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn list(AlreadyOpen(live): AlreadyOpen) -> Result<Json<AttemptsFound>, Problem> {
    match ask_session(&live, ScreenRequest::Attempts {}).await? {
        ScreenReply::Attempts(list) => {
            let services = live.services();
            let begun = services.hosted.far.borrow();
            Ok(Json(AttemptsFound::new(list, &begun)))
        }
        _ => Err(Problem::failed("the answer is of an unexpected kind")),
    }
}

/// Begins attempts at a task: sessions in copies of the directory, until a command succeeds.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/attempts", tag = "attempts", request_body = BeginAttempts, responses(
    (status = 202, description = "Started; list them to follow their progress"),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "Attempts are already running, or cannot be started"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn begin(
    Changeable(live): Changeable,
    JsonBody(body): JsonBody<BeginAttempts>,
) -> Result<StatusCode, Problem> {
    let BeginAttempts { count, until, task, models } = body;
    if !(1..=MOST_ATTEMPTS).contains(&count) {
        return Err(Problem::invalid(format!("count: from 1 to {MOST_ATTEMPTS}")));
    }
    if task.trim().is_empty() || until.trim().is_empty() {
        return Err(Problem::invalid("task and until: both are needed"));
    }
    let order = live.read_facts(|facts, _| AttemptOrder {
        count,
        check: until,
        task,
        thinking: models.is_empty().then_some(facts.mirror.thinking),
        models: if models.is_empty() { facts.model().into_iter().collect() } else { models },
        mode: facts.mirror.mode,
        spent: facts.meter.total().cost.total,
        session: live.id.clone(),
    });
    match far_attempts::begin(&live, order)? {
        ScreenReply::Failed(why) => Err(Problem::refused(why.to_string())),
        _ => Ok(StatusCode::ACCEPTED),
    }
}

/// Stops the attempts that were begun in this session; what they have is kept.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/attempts/stop", tag = "attempts", responses(
    (status = 200, description = "They end", body = Said),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "No attempts are running"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn stop(AlreadyOpen(live): AlreadyOpen) -> Result<Json<Said>, Problem> {
    ask_for_text(&live, ScreenRequest::StopAttempts {}).await
}

/// Returns what the attempts have changed, file by file.
#[cfg_attr(test, utoipa::path(get, path = "/api/sessions/{id}/attempts/{attempts}/changes", tag = "attempts", responses(
    (status = 200, description = "The files with the hunks of each attempt", body = AttemptChangesFound),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "There are no such attempts"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("attempts" = String, Path, description = "The id of the attempts"),
)))]
pub(super) async fn changes(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, id)): Names<(String, String)>,
) -> Result<Json<AttemptChangesFound>, Problem> {
    match ask_session(&live, ScreenRequest::AttemptChanges { id, number: None }).await? {
        ScreenReply::AttemptFiles(files) => Ok(Json(AttemptChangesFound { files })),
        _ => Err(Problem::failed("the answer is of an unexpected kind")),
    }
}

/// Applies an attempt to the directory and removes all copies, or applies hunks of several and keeps them.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/attempts/{attempts}/take", tag = "attempts", request_body = TakeAttempt,
    responses(
    (status = 200, description = "What was done", body = Said),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "There is no such attempt, it is still running, or its result no longer applies"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("attempts" = String, Path, description = "The id of the attempts"),
)))]
pub(super) async fn take(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, id)): Names<(String, String)>,
    JsonBody(body): JsonBody<TakeAttempt>,
) -> Result<Json<Said>, Problem> {
    let request = match (body.attempt, body.parts) {
        (Some(number), parts) if parts.is_empty() => ScreenRequest::TakeAttempt { id, number },
        (None, parts) if !parts.is_empty() => {
            let part = |part: super::super::attempt_types::TakePart| AttemptPart {
                attempt: part.attempt,
                path: part.path,
                hunk: part.hunk,
            };
            ScreenRequest::TakeAttemptParts { id, parts: parts.into_iter().map(part).collect() }
        }
        _ => return Err(Problem::invalid("give either attempt or parts")),
    };
    ask_for_text(&live, request).await
}

/// Removes the copies, and takes nothing.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/attempts/{attempts}/drop", tag = "attempts", responses(
    (status = 200, description = "What was done", body = Said),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "There are no such attempts, or they are still running"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("attempts" = String, Path, description = "The id of the attempts"),
)))]
pub(super) async fn drop_all(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, id)): Names<(String, String)>,
) -> Result<Json<Said>, Problem> {
    ask_for_text(&live, ScreenRequest::DropAttempts { id }).await
}

/// Makes or finds a worktree of the session's repository, and a copy of the session there.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/worktree", tag = "attempts", request_body = EnterWorktree, responses(
    (status = 201, description = "The copy is open", body = Moved),
    (status = 409, description = "In use by another tau"),
    (status = 422, description = "The worktree cannot be made"),
    (status = 503, description = "No more sessions may be open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn worktree(
    State(app): State<App>,
    Changeable(live): Changeable,
    JsonBody(body): JsonBody<EnterWorktree>,
) -> Result<Response, Problem> {
    let file = live.read_facts(|facts, _| facts.mirror.session.file.clone());
    let file = file.filter(|file| file.exists());
    let request = ScreenRequest::EnterWorktree { name: body.name, file, resumes: false };
    let ScreenReply::WorktreeDone(done) = ask_session(&live, request).await? else {
        return Err(Problem::failed("the answer is of an unexpected kind"));
    };
    let path = done.session.ok_or_else(|| Problem::failed("no session was made there"))?;
    let open = SessionChange::Offer { path, source: SessionOrigin::Tau };
    let left = attached::leave(app.hub(), Some(live), open).await?;
    let moved = app.hub().open(&left.id).await?;
    Ok((StatusCode::CREATED, Json(Moved { session: detail(&moved), text: done.said })).into_response())
}
