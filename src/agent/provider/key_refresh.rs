//! Retries a request whose key was refused once, with another key if there is one.
//!
//! Only a refusal before any part of an answer counts. The [`KeySource`] finds keys; all other failures are
//! handled by the agent loop.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::http::abort_failure;
use super::key_source::KeySource;
use super::{EventStream, Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau_protocol::model::Model;

/// Sends requests through another transport, and requests another key when one is refused.
#[derive(Clone)]
pub struct KeyRefresh {
    inner: Arc<dyn Transport>,
    keys: Arc<dyn KeySource>,
}

tau_tools::debug_fields!(KeyRefresh {});

impl KeyRefresh {
    /// Wraps `inner`. `keys` is the source of the requests' keys.
    pub fn new(inner: Arc<dyn Transport>, keys: Arc<dyn KeySource>) -> Self {
        KeyRefresh { inner, keys }
    }

    /// The refusal with advice.
    fn add_advice(&self, model: &Model, refusal: Failure) -> Failure {
        match self.keys.advice(model) {
            Some(advice) => Failure { hint: Some(advice), ..refusal },
            None => refusal,
        }
    }

    /// The request, to the address that the source of its key names.
    fn apply_address(&self, request: ModelRequest) -> ModelRequest {
        match self.keys.address(&request.model) {
            Some(base_url) => {
                let model = Arc::new(Model { base_url, ..Model::clone(&request.model) });
                ModelRequest { model, ..request }
            }
            None => request,
        }
    }

    /// The answer to the request with another key. The error is the refusal, if there is no other key.
    async fn again(&self, second: Second, refusal: Failure) -> Result<EventStream, Failure> {
        let Second { request, cancel } = second;
        let Some(refused) = request.key.clone() else { return Err(refusal) };
        let renewed = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(abort_failure()),
            renewed = self.keys.replacement_key(&request.model, &refused) => renewed,
        };
        match renewed {
            Ok(Some(key)) => {
                let request = self.apply_address(ModelRequest { key: Some(key), ..request });
                Ok(self.inner.stream(request, cancel))
            }
            Ok(None) => Err(refusal),
            Err(failure) => {
                let message = format!("{}; no other key: {}", refusal.message, failure.message);
                Err(Failure { message, hint: failure.hint, ..refusal })
            }
        }
    }
}

/// The data needed to send a request again.
struct Second {
    request: ModelRequest,
    cancel: CancellationToken,
}

/// One answer, or two.
struct Answer {
    transport: KeyRefresh,
    stream: EventStream,
    model: Arc<Model>,
    /// `None` once part of the answer has arrived, or the second request is running.
    second: Option<Second>,
}

impl Answer {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            let event = self.stream.next().await?;
            let refusal = match event {
                StreamEvent::Silent { .. } | StreamEvent::Plan(_) => return Some(event),
                StreamEvent::Failed(failure) if failure.kind == FailureKind::Auth => failure,
                _ => {
                    self.second = None;
                    return Some(event);
                }
            };
            let refusal = self.transport.add_advice(&self.model, refusal);
            let Some(second) = self.second.take() else { return Some(StreamEvent::Failed(refusal)) };
            match self.transport.again(second, refusal).await {
                Ok(stream) => self.stream = stream,
                Err(failure) => return Some(StreamEvent::Failed(failure)),
            }
        }
    }
}

impl Transport for KeyRefresh {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let second = Second { request: request.clone(), cancel: cancel.clone() };
        let request = self.apply_address(request);
        let stream = self.inner.stream(request, cancel);
        let model = Arc::clone(&second.request.model);
        let answer = Answer { transport: self.clone(), stream, model, second: Some(second) };
        stream::unfold(answer, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
    }
}
