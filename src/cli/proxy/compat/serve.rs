//! Answers requests in the formats of other programs.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::mpsc;

use super::super::server::{Client, ErrorResponse, LINES, Serving, begin, forward, now};
use super::{AnswerFacts, AnswerWriter, Dialect, Line};
use tau_agent::provider::assemble::Assembler;
use tau_agent::provider::{Failure, FailureKind, StreamEvent};

/// A part of an answer for its client.
enum AnswerPart {
    Line(Line),
    Whole(Value),
    Failed(Failure),
}

/// The routes of these formats.
pub(in super::super) fn routes() -> Router<Arc<Serving>> {
    let to = |dialect| {
        post(
            move |State(serving): State<Arc<Serving>>, Extension(client): Extension<Client>, body: Bytes| async move {
                answer(dialect, serving, client, &body).await
            },
        )
    };
    Router::new()
        .route("/v1/chat/completions", to(Dialect::Chat))
        .route("/v1/responses", to(Dialect::Responses))
        .route("/v1/messages", to(Dialect::Messages))
}

/// Answers a request. Fails when it is not valid, not allowed, or failed before anything was said.
async fn answer(
    dialect: Dialect,
    serving: Arc<Serving>,
    client: Client,
    body: &[u8],
) -> Result<Response, ErrorResponse> {
    let invalid = |text: String| ErrorResponse::new(StatusCode::BAD_REQUEST, "invalid_request_error", text);
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| invalid(format!("the request is not valid: {error}")))?;
    let asked = dialect.read(&value).map_err(|error| invalid(error.into()))?;
    let model = serving.find_model(&asked.model, &client)?;
    asked.check_for(&model).map_err(|error| invalid(error.into()))?;
    let created = now();
    let facts = AnswerFacts {
        id: uuid::Uuid::now_v7().simple().to_string(),
        model: asked.model.clone(),
        created,
        with_usage: asked.with_usage,
    };
    let (is_stream, max_tokens) = (asked.stream, asked.max_tokens);
    let request = |model, key| asked.into_request(model, key);
    let (events, counted) =
        begin(&serving, client, Arc::clone(&model), body.len(), max_tokens, request).await?;
    let assembler = Assembler::new(&model, created.saturating_mul(1000));
    let mut teller = Teller { assembler, writer: dialect.writer(facts), is_stream, has_begun: false };
    let (sender, mut told) = mpsc::channel(LINES);
    let tell = move |event: Option<StreamEvent>| match event {
        Some(event) => teller.tell(event),
        None => teller.begin_early(),
    };
    serving.answers.spawn(forward(events, counted, tell, sender));
    match told.recv().await {
        Some(AnswerPart::Whole(whole)) => Ok(Json(whole).into_response()),
        Some(AnswerPart::Failed(failure)) => Err(error_response(&failure)),
        Some(AnswerPart::Line(first)) => {
            let rest = futures_util::stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
            let lines = futures_util::stream::iter([AnswerPart::Line(first)]).chain(rest);
            let events = lines.filter_map(async |told| match told {
                AnswerPart::Line(line) => Some(Ok::<_, Infallible>(event(line))),
                AnswerPart::Whole(_) | AnswerPart::Failed(_) => None,
            });
            Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
        }
        None => {
            Err(ErrorResponse::new(StatusCode::BAD_GATEWAY, "api_error", "the answer ended without an end"))
        }
    }
}

fn event(line: Line) -> Event {
    let event = Event::default().data(line.data);
    match line.event {
        Some(name) => event.event(name),
        None => event,
    }
}

/// Tells a client about the events of an answer.
struct Teller {
    assembler: Assembler,
    writer: Box<dyn AnswerWriter>,
    is_stream: bool,
    has_begun: bool,
}

impl Teller {
    fn tell(&mut self, event: StreamEvent) -> Vec<AnswerPart> {
        let mut lines = Vec::new();
        match event {
            StreamEvent::Thinking | StreamEvent::Silent { .. } | StreamEvent::Plan(_) => return Vec::new(),
            // Before anything was said, the status can say it.
            StreamEvent::Failed(failure) if !self.has_begun || !self.is_stream => {
                return vec![AnswerPart::Failed(failure)];
            }
            StreamEvent::Failed(failure) => lines.extend(self.writer.fail(&failure)),
            StreamEvent::Stop(_) => {
                self.assembler.feed(&event);
                if !self.is_stream {
                    return vec![AnswerPart::Whole(self.writer.whole(&self.assembler.snapshot()))];
                }
                self.begin(&mut lines);
                lines.extend(self.writer.end(&self.assembler.snapshot()));
            }
            StreamEvent::Signature { content_index, ref signature, redacted } => {
                self.begin(&mut lines);
                lines.extend(self.writer.signature(content_index, signature, redacted));
                self.assembler.feed(&event);
            }
            event => {
                if let Some(delta) = self.assembler.take(event) {
                    self.begin(&mut lines);
                    lines.extend(self.writer.delta(&delta));
                }
            }
        }
        if self.is_stream { lines.into_iter().map(AnswerPart::Line).collect() } else { Vec::new() }
    }

    /// Begins a stream before anything was said, unless it has begun.
    fn begin_early(&mut self) -> Vec<AnswerPart> {
        let mut lines = Vec::new();
        if self.is_stream {
            self.begin(&mut lines);
        }
        lines.into_iter().map(AnswerPart::Line).collect()
    }

    fn begin(&mut self, lines: &mut Vec<Line>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            lines.extend(self.writer.begin());
        }
    }
}

/// The failure as an answer of this server. A key that the provider refused is not the client's.
fn error_response(failure: &Failure) -> ErrorResponse {
    let (status, kind) = match failure.kind {
        FailureKind::NotFound => (StatusCode::NOT_FOUND, "not_found_error"),
        FailureKind::Request | FailureKind::Overflow | FailureKind::Refused => {
            (StatusCode::BAD_REQUEST, "invalid_request_error")
        }
        FailureKind::RateLimit => (StatusCode::TOO_MANY_REQUESTS, "rate_limit_error"),
        FailureKind::Timeout => (StatusCode::GATEWAY_TIMEOUT, "api_error"),
        FailureKind::Overloaded | FailureKind::Aborted => {
            (StatusCode::SERVICE_UNAVAILABLE, "overloaded_error")
        }
        FailureKind::Auth | FailureKind::Network | FailureKind::Protocol | FailureKind::Config => {
            (StatusCode::BAD_GATEWAY, "api_error")
        }
    };
    let wait = failure.retry_after_ms.map(|wait| i64::try_from(wait.div_ceil(1000)).unwrap_or(i64::MAX));
    ErrorResponse { wait, ..ErrorResponse::new(status, kind, failure.message.clone()) }
}
