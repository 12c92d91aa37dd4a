//! Extractors of handlers, which refuse with problems.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use super::app::App;
use super::live::{AgentEnded, LiveSession};
use super::problem::Problem;

/// The body of a request, as JSON.
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            return Err(Problem::unsupported_media_type("send the body as application/json"));
        }
        let bytes = Bytes::from_request(request, app).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                let most = app.max_body();
                Problem::too_large(format!("a body has at most {most} bytes; see --max-body"))
            } else {
                Problem::invalid(format!("the body cannot be read: {}", rejection.body_text()))
            }
        })?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| Problem::invalid(format!("the body is not valid: {error}")))?;
        reader.end().map_err(|error| Problem::invalid(format!("the body is not valid: {error}")))?;
        Ok(JsonBody(value))
    }
}

/// The query string.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Query::<T>::from_request_parts(parts, app).await {
            Ok(Query(value)) => Ok(Params(value)),
            Err(rejection) => Err(Problem::invalid(rejection.body_text())),
        }
    }
}

/// The variable parts of the path.
pub(crate) struct Names<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Names<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match Path::<T>::from_request_parts(parts, app).await {
            Ok(Path(value)) => Ok(Names(value)),
            Err(rejection) => Err(Problem::invalid(rejection.body_text())),
        }
    }
}

/// The session named by the path, opened if necessary.
pub(crate) struct OpenedSession(pub Arc<LiveSession>);

impl FromRequestParts<App> for OpenedSession {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let id = session_id(parts, app).await?;
        app.hub().open(&id).await.map(OpenedSession)
    }
}

/// The session named by the path, opened if necessary. That of a helper is refused: its settings, rights and session
/// are those of its parent, and it takes messages and answers only.
pub(crate) struct Changeable(pub Arc<LiveSession>);

impl FromRequestParts<App> for Changeable {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let OpenedSession(live) = OpenedSession::from_request_parts(parts, app).await?;
        match &live.helper {
            None => Ok(Changeable(live)),
            Some(helper) => Err(Problem::conflict(
                "helper",
                format!("a helper takes messages and answers only; do this in the session {}", helper.parent),
            )),
        }
    }
}

/// The session named by the path, which must be open.
pub(crate) struct AlreadyOpen(pub Arc<LiveSession>);

impl FromRequestParts<App> for AlreadyOpen {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let id = session_id(parts, app).await?;
        if let Some(live) = app.hub().find(&id) {
            return Ok(AlreadyOpen(live));
        }
        // For a missing session there is another error.
        app.hub().saved_place(&id).await?;
        Err(Problem::conflict("not-open", format!("the session {id} is not open on this server")))
    }
}

async fn session_id(parts: &mut Parts, app: &App) -> Result<String, Problem> {
    let Names(names) = Names::<Vec<(String, String)>>::from_request_parts(parts, app).await?;
    let named = names.into_iter().find(|(name, _)| name == "id");
    named.map(|(_, id)| id).ok_or_else(|| Problem::not_found("the path names no session"))
}

impl From<AgentEnded> for Problem {
    fn from(_: AgentEnded) -> Self {
        Problem::conflict("closed", "the session was closed meanwhile; send the request again to open it")
    }
}
