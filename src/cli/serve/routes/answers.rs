//! Answers to the agent's questions.

use axum::http::StatusCode;

use super::super::answer_types::{AnswerQuestion, ApprovalDecision};
use super::super::extract::{AlreadyOpen, JsonBody, Names};
use super::super::problem::Problem;
use tau_protocol::command::QuestionCommand;

/// Decides on a call that awaits approval. The first answer counts.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/approvals/{approval}", tag = "answers", request_body = ApprovalDecision, responses(
    (status = 204, description = "Accepted"),
    (status = 404, description = "Nothing with this id is waiting"),
    (status = 409, description = "The session is not open"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("approval" = String, Path, description = "The id in `approval_requested`"),
)))]
pub(super) async fn approval(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, id)): Names<(String, String)>,
    JsonBody(body): JsonBody<ApprovalDecision>,
) -> Result<StatusCode, Problem> {
    if !live.waits_for_approval(&id) {
        return Err(Problem::not_found(
            "no call with this id is waiting for approval; it may have been answered already",
        ));
    }
    live.send(QuestionCommand::AnswerApproval { id, answer: body.into() }).await?;
    live.sync().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Answers a question. The first answer counts.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/questions/{question}", tag = "answers", request_body = AnswerQuestion, responses(
    (status = 204, description = "Accepted"),
    (status = 404, description = "Nothing with this id is waiting"),
    (status = 409, description = "The session is not open"),
    (status = 422, description = "Not a valid answer"),
), params(
    ("id" = String, Path, description = "The id of the session"),
    ("question" = String, Path, description = "The id in `extension_ui_request`"),
)))]
pub(super) async fn question(
    AlreadyOpen(live): AlreadyOpen,
    Names((_, id)): Names<(String, String)>,
    JsonBody(body): JsonBody<AnswerQuestion>,
) -> Result<StatusCode, Problem> {
    let answer = body.answer().ok_or_else(|| {
        Problem::refused("give one of value, confirmed, values, answers, accepted (true with a mode), declined or cancelled")
    })?;
    if !live.answer_question(id, answer).await? {
        return Err(Problem::not_found(
            "no question with this id is waiting; it may have been answered already",
        ));
    }
    Ok(StatusCode::NO_CONTENT)
}
