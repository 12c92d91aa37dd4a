//! Errors for clients: problem details (RFC 9457), as `application/problem+json`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use tau_tools::user_error::UserError;

/// The beginning of every kind.
const KIND: &str = "urn:tau:problem:";

/// A fault, with a remedy.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Problem {
    /// The kind of problem: `urn:tau:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words.
    pub title: &'static str,
    /// The status of the response.
    pub status: u16,
    /// The fault in this request, with a remedy.
    pub detail: String,
    /// Seconds to wait before trying again.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Problem {
    /// Whether it is of the kind of this word.
    pub fn is_of_kind(&self, word: &str) -> bool {
        self.kind.strip_prefix(KIND) == Some(word)
    }

    fn new(status: StatusCode, kind: &str, title: &'static str, detail: impl Into<String>) -> Self {
        let kind = format!("{KIND}{kind}");
        Problem { kind, title, status: status.as_u16(), detail: detail.into(), retry_after: None }
    }

    /// The request is invalid.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", "The request is not valid", detail)
    }

    /// The token is missing or wrong.
    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "The token is missing or wrong", detail)
    }

    /// The sender of the request is not allowed.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "The request is not allowed", detail)
    }

    /// The target of the path does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// The path does not have this method.
    pub fn no_method(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", "The method is not allowed here", detail)
    }

    /// The state of the session does not allow it.
    pub fn conflict(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, "The session does not allow this now", detail)
    }

    /// The body is too large.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail)
    }

    /// The body has an unsupported type.
    pub fn unsupported_media_type(detail: impl Into<String>) -> Self {
        let title = "The body has the wrong content type";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", title, detail)
    }

    /// The request is valid, but cannot be carried out.
    pub fn refused(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "refused", "The request cannot be done", detail)
    }

    /// The session has taken it, but it cannot be written to its file.
    pub fn not_stored(why: UserError) -> Self {
        let detail = format!("the session has it in memory only: {why}");
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "not-stored", "The session cannot be saved", detail)
    }

    /// There were too many requests.
    pub fn too_many(detail: impl Into<String>, seconds: u64) -> Self {
        let title = "There are too many requests";
        let problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", title, detail);
        Problem { retry_after: Some(seconds), ..problem }
    }

    /// The server is full, or shutting down.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        let title = "The server cannot take this now";
        let problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", title, detail);
        Problem { retry_after: Some(5), ..problem }
    }

    /// A failure that the request did not cause.
    pub fn failed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "The server failed", detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_string(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"tau\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
