//! Putting results of background runs away, and bringing them back.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;

use super::super::app::App;
use super::super::extract::{JsonBody, Names};
use super::super::hub::blocking;
use super::super::problem::Problem;
use crate::live::record::STILL_OPEN;

/// Whether a result is put away.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveSession {
    pub archived: bool,
}

/// Puts away the result of a session that has ended in the background, or brings it back. The conversation does not
/// change.
#[cfg_attr(test, utoipa::path(post, path = "/api/sessions/{id}/archive", tag = "sessions", request_body = ArchiveSession, responses(
    (status = 204, description = "Done"),
    (status = 404, description = "No background run of this session is known"),
    (status = 409, description = "The session is open"),
), params(("id" = String, Path, description = "The id of the session"))))]
pub(super) async fn archive(
    State(app): State<App>,
    Names(id): Names<String>,
    JsonBody(body): JsonBody<ArchiveSession>,
) -> Result<StatusCode, Problem> {
    let open = || Problem::conflict("session-in-use", STILL_OPEN);
    if app.hub().find(&id).is_some() {
        return Err(open());
    }
    let archived = blocking(move || app.elsewhere().map(|elsewhere| elsewhere.archive(&id, body.archived)));
    match archived.await? {
        Some(Ok(())) => Ok(StatusCode::NO_CONTENT),
        Some(Err(error)) if error.kind() == std::io::ErrorKind::ResourceBusy => Err(open()),
        Some(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Problem::failed(format!("cannot archive the session: {error}")))
        }
        Some(Err(_)) | None => Err(Problem::not_found("no background run of this session is known")),
    }
}
