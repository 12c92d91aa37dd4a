//! Keys that expire while they are kept: a request whose key is refused is sent once more, with
//! another key if there is one by now.
//!
//! Only a refusal before any part of an answer counts. Where keys come from is the
//! business of the [`KeySource`]; all other failures are the agent loop's.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use tokio_util::sync::CancellationToken;

use super::http::aborted;
use super::key_source::KeySource;
use super::{EventStream, Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau_protocol::model::Model;

/// Sends requests through another transport, and asks for another key when one is refused.
#[derive(Clone)]
pub struct KeyRefresh {
    inner: Arc<dyn Transport>,
    keys: Arc<dyn KeySource>,
}

impl std::fmt::Debug for KeyRefresh {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyRefresh").finish_non_exhaustive()
    }
}

impl KeyRefresh {
    /// Over `inner`. `keys` is what the keys of the requests came from.
    pub fn new(inner: Arc<dyn Transport>, keys: Arc<dyn KeySource>) -> Self {
        KeyRefresh { inner, keys }
    }

    /// The refusal with whose key it was, where that came from, and what to do.
    fn named(&self, model: &Model, refusal: Failure) -> Failure {
        let provider = &model.provider;
        match self.keys.place(model) {
            Some(place) => {
                let hint = format!(
                    "{provider} refused the API key from {place}: change it there, or save another with `tau auth set {provider}` or /login"
                );
                Failure { hint: Some(hint), ..refusal }
            }
            None => refusal,
        }
    }

    /// The answer to the request with another key.
    ///
    /// # Errors
    /// The refusal, without another key.
    async fn again(&self, second: Second, refusal: Failure) -> Result<EventStream, Failure> {
        let Second { request, cancel } = second;
        let Some(refused) = request.key.clone() else { return Err(refusal) };
        let renewed = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(aborted()),
            renewed = self.keys.renewed(&request.model, &refused) => renewed,
        };
        match renewed {
            Ok(Some(key)) => Ok(self.inner.stream(ModelRequest { key: Some(key), ..request }, cancel)),
            Ok(None) => Err(refusal),
            Err(failure) => {
                let message = format!("{}; no other key: {}", refusal.message, failure.message);
                Err(Failure { message, hint: failure.hint, ..refusal })
            }
        }
    }
}

/// What is needed to send a request once more.
struct Second {
    request: ModelRequest,
    cancel: CancellationToken,
}

/// One answer, or two.
struct Answer {
    transport: KeyRefresh,
    stream: EventStream,
    model: Arc<Model>,
    /// `None` once part of the answer came, or the second request is running.
    second: Option<Second>,
}

impl Answer {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            let event = self.stream.next().await?;
            let refusal = match event {
                StreamEvent::Silent { .. } => return Some(event),
                StreamEvent::Failed(failure) if failure.kind == FailureKind::Auth => failure,
                _ => {
                    self.second = None;
                    return Some(event);
                }
            };
            let refusal = self.transport.named(&self.model, refusal);
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
        let stream = self.inner.stream(request, cancel);
        let model = Arc::clone(&second.request.model);
        let answer = Answer { transport: self.clone(), stream, model, second: Some(second) };
        stream::unfold(answer, |mut answer| async move { Some((answer.next().await?, answer)) }).boxed()
    }
}
