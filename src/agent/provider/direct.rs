//! The direct transport: encodes, sends, reads, decodes.
//!
//! The wire format is that of the model, or one for all models (see `proxy`). It ends every stream within a stated time: by the provider's last event, by a failure, or
//! because nothing came. Trying again is the agent loop's business.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::http::{Body, Http, aborted};
use super::reader::AnswerReader;
use super::{EventStream, Failure, FailureKind, ModelRequest, Provider, StreamEvent, Transport, provider};
use crate::agent::secret::Secret;

/// Sends requests to the providers themselves.
#[derive(Clone)]
pub struct Direct {
    http: Arc<Http>,
    /// The format of every request; none for that of the model.
    format: Option<Arc<dyn Provider>>,
    /// Longest wait for the first piece of an answer, from the sending on.
    pub first: Duration,
    /// Longest wait between two events of an answer. Bytes that say nothing do not count.
    pub idle: Duration,
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Direct").field("first", &self.first).field("idle", &self.idle).finish_non_exhaustive()
    }
}

impl Default for Direct {
    fn default() -> Self {
        Direct::new(Arc::default())
    }
}

impl Direct {
    /// A transport over `http`, with the usual limits of 300 and 120 seconds.
    pub fn new(http: Arc<Http>) -> Self {
        Direct { http, format: None, first: Duration::from_secs(300), idle: Duration::from_secs(120) }
    }

    /// The same for requests that all go out in one format, whatever their model.
    pub fn in_format(self, format: Arc<dyn Provider>) -> Self {
        Direct { format: Some(format), ..self }
    }
}

impl Transport for Direct {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let answer = Answer {
            transport: self.clone(),
            key: request.key.clone(),
            state: State::New(Box::new(request)),
            cancel,
            limit: self.first,
            deadline: None,
            queue: VecDeque::new(),
        };
        Box::pin(stream::unfold(answer, |mut answer| async move {
            let event = answer.next().await?;
            Some((event, answer))
        }))
    }
}

/// One answer on its way.
struct Answer {
    transport: Direct,
    key: Option<Secret>,
    cancel: CancellationToken,
    state: State,
    /// The longest wait for the next event, and when it ends.
    limit: Duration,
    deadline: Option<Instant>,
    queue: VecDeque<StreamEvent>,
}

enum State {
    New(Box<ModelRequest>),
    Reading { body: Box<Body>, reader: Box<AnswerReader> },
    Ended,
}

impl Answer {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            // Stopping is at once, whatever is still waiting to be told.
            if self.cancel.is_cancelled() {
                self.break_off(aborted());
            }
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return None,
                State::New(request) => self.begin(&request).await,
                State::Reading { body, reader } => self.read(body, reader).await,
            }
        }
    }

    async fn begin(&mut self, request: &ModelRequest) {
        let deadline = Instant::now() + self.transport.first;
        self.deadline = Some(deadline);
        let format = self.transport.format.clone();
        let format = format.as_deref().or_else(|| provider(request.model.api).map(|format| format as _));
        let sent = match format {
            None => {
                let message = format!("the model {} has no wire format", request.model.reference());
                Err(Failure::new(FailureKind::Config, message))
            }
            Some(format) => match format.encode(request) {
                Err(failure) => Err(failure),
                Ok(encoded) => {
                    let http = Arc::clone(&self.transport.http);
                    let sending = http.send(&encoded, &self.cancel);
                    let body = tokio::time::timeout_at(deadline, sending).await;
                    body.unwrap_or_else(|_| Err(silent(self.transport.first)))
                        .map(|body| (body, AnswerReader::new(format.decoder())))
                }
            },
        };
        match sent {
            Ok((body, reader)) => {
                self.state = State::Reading { body: Box::new(body), reader: Box::new(reader) }
            }
            Err(failure) => self.tell(vec![StreamEvent::Failed(failure)]),
        }
    }

    async fn read(&mut self, mut body: Box<Body>, mut reader: Box<AnswerReader>) {
        let deadline = self.deadline.unwrap_or_else(Instant::now);
        let mut events = Vec::new();
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => reader.fail(aborted(), &mut events),
            part = body.chunk() => match part {
                Ok(Some(bytes)) => reader.push(bytes.as_ref(), &mut events),
                Ok(None) => reader.finish(&mut events),
                Err(failure) => reader.fail(failure, &mut events),
            },
            () = tokio::time::sleep_until(deadline) => {}
        }
        let now = Instant::now();
        if events.iter().any(|event| matches!(event, StreamEvent::Delta(_))) {
            self.limit = self.transport.idle;
            self.deadline = Some(now + self.limit);
        } else if now >= deadline {
            // Also after bytes that say nothing, which may come without end.
            reader.fail(silent(self.limit), &mut events);
        }
        if !reader.ended() {
            self.state = State::Reading { body, reader };
        }
        self.tell(events);
    }

    /// Queues events; the provider's words are told without the key.
    fn tell(&mut self, events: Vec<StreamEvent>) {
        for mut event in events {
            if let (StreamEvent::Failed(failure), Some(key)) = (&mut event, &self.key) {
                failure.message = key.redact(&failure.message);
            }
            self.queue.push_back(event);
        }
    }

    /// Ends the answer now. What was read but not told yet is still told: it has come.
    fn break_off(&mut self, failure: Failure) {
        let ends = |event: &StreamEvent| matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_));
        let mut events = Vec::new();
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => {}
            State::New(_) => events.push(StreamEvent::Failed(failure)),
            State::Reading { mut reader, .. } if !self.queue.iter().any(ends) => {
                reader.fail(failure, &mut events);
            }
            State::Reading { .. } => {}
        }
        self.tell(events);
    }
}

fn silent(limit: Duration) -> Failure {
    let message = format!("nothing came from the provider for {} seconds", limit.as_secs_f32().round());
    Failure::new(FailureKind::Timeout, message)
}
