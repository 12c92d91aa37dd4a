//! The direct transport: encodes, sends, reads, decodes.
//!
//! The wire format is that of the model, or one for all models (see `proxy`). It ends every stream within a
//! limited time: by the provider's last event, by a failure, or because nothing arrived. Retries are up to
//! the agent loop.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::aws_key::AwsKey;
use super::bedrock;
use super::event_stream::AwsEventStream;
use super::http::{Http, RequestFailure, ResponseBody, abort_failure};
pub use super::idle_timeout::IdleLimits;
use super::idle_timeout::IdleTimer;
use super::nul::without_nul;
use super::reader::AnswerReader;
use super::wire_listener::{AnswerRecord, WireListener};
use super::{
    AnswerDecoder, EventStream, Failure, FailureKind, HttpRequest, ModelRequest, StreamEvent, Transport,
    WireFormat, wire_format,
};
use crate::secrets::Secrets;
use tau_protocol::plan_limits::PlanWindow;

/// Sends requests directly to the providers.
#[derive(Clone, Default)]
pub struct Direct {
    http: Arc<Http>,
    /// The format of every request; `None` for the model's own.
    format: Option<Arc<dyn WireFormat>>,
    listener: Option<WireListener>,
    /// The limits of silence in an answer.
    pub limits: IdleLimits,
}

tau_tools::debug_fields!(Direct { limits });

impl Direct {
    /// A transport over `http`.
    pub fn new(http: Arc<Http>, limits: IdleLimits) -> Self {
        Direct { http, format: None, listener: None, limits }
    }

    /// Adds a listener that receives every request and its answer.
    #[must_use]
    pub fn with_wire_listener(self, listener: WireListener) -> Self {
        Direct { listener: Some(listener), ..self }
    }

    /// Sends all requests in one format, independent of their model.
    pub(crate) fn in_format(self, format: Arc<dyn WireFormat>) -> Self {
        Direct { format: Some(format), ..self }
    }

    /// The HTTP client of the requests.
    pub fn http(&self) -> &Http {
        &self.http
    }
}

impl Transport for Direct {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let answer = Answer {
            http: Arc::clone(&self.http),
            format: self.format.clone(),
            listener: self.listener.clone(),
            record: None,
            secrets: Secrets::default(),
            joins: request.join_deltas,
            state: State::New(Box::new(request)),
            cancel,
            watch: IdleTimer::new(self.limits, Instant::now()),
            queue: VecDeque::new(),
            events: None,
        };
        // Boxed, as it is moved with every event.
        Box::pin(stream::unfold(Box::new(answer), |mut answer| async move {
            let event = answer.next().await?;
            Some((event, answer))
        }))
    }
}

/// The request as sent: in that wire format, and without NUL characters.
pub fn encode(format: &dyn WireFormat, request: &ModelRequest) -> Result<HttpRequest, Failure> {
    format.encode(&without_nul(request))
}

/// The request with the signature that a cloud expects.
fn sign(request: &ModelRequest, mut encoded: HttpRequest) -> Result<HttpRequest, Failure> {
    bedrock::sign_request(request, &mut encoded, jiff::Timestamp::now())?;
    Ok(encoded)
}

/// An answer in progress.
struct Answer {
    http: Arc<Http>,
    format: Option<Arc<dyn WireFormat>>,
    listener: Option<WireListener>,
    /// The record of this answer for the listener.
    record: Option<AnswerRecord>,
    /// Secrets that the message of a failure must not contain.
    secrets: Secrets,
    /// Whether pieces of a block that arrive together become one event.
    joins: bool,
    cancel: CancellationToken,
    state: State,
    watch: IdleTimer,
    queue: VecDeque<StreamEvent>,
    /// Converts the event stream of AWS.
    events: Option<AwsEventStream>,
}

/// A request that is waiting for the head of its answer.
type Sending = Pin<Box<dyn Future<Output = Result<ResponseBody, RequestFailure>> + Send>>;

enum State {
    New(Box<ModelRequest>),
    Sent { sending: Sending, decoder: Box<dyn AnswerDecoder> },
    Reading { body: Box<ResponseBody>, reader: Box<AnswerReader> },
    Ended,
}

impl Answer {
    async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            // Stopping is immediate, even if events are queued.
            if self.cancel.is_cancelled() {
                self.cut_short(abort_failure());
            }
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if matches!(self.state, State::New(_)) {
                // Who waits for the user's message to be saved hears of it before the work on the request.
                tokio::task::yield_now().await;
            }
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return None,
                State::New(request) => self.begin(&request),
                State::Sent { sending, decoder } => self.send(sending, decoder).await,
                State::Reading { body, reader } => self.read(body, reader).await,
            }
        }
    }

    fn begin(&mut self, request: &ModelRequest) {
        let fixed = self.format.clone();
        let format = fixed.as_deref().or_else(|| wire_format(request.model.api).map(|format| format as _));
        let Some(format) = format else {
            let message = format!("the model {} has no known wire format", request.model.reference());
            return self.emit(vec![StreamEvent::Failed(Failure::new(FailureKind::Config, message))]);
        };
        match encode(format, request).and_then(|encoded| sign(request, encoded)) {
            Err(failure) => self.emit(vec![StreamEvent::Failed(failure)]),
            Ok(encoded) => {
                self.secrets = encoded.headers.secrets();
                request.key.iter().for_each(|key| self.secrets.add(key.expose()));
                if let Some(key) = request.key.as_ref().and_then(AwsKey::parse) {
                    key.secrets().iter().for_each(|secret| self.secrets.add(secret));
                }
                self.events = bedrock::has_event_stream(&request.model).then(AwsEventStream::default);
                self.record =
                    self.listener.as_ref().map(|listener| listener.report_request(&encoded, &self.secrets));
                let (http, cancel) = (Arc::clone(&self.http), self.cancel.clone());
                let sending = Box::pin(async move { http.send(&encoded, &cancel).await });
                self.watch.note(&[], Instant::now());
                self.state = State::Sent { sending, decoder: format.decoder() };
            }
        }
    }

    async fn send(&mut self, mut sending: Sending, decoder: Box<dyn AnswerDecoder>) {
        let answered = tokio::select! {
            biased;
            answered = &mut sending => Some(answered),
            () = sleep_until(self.watch.wakes()) => None,
        };
        match answered {
            Some(Ok(mut body)) => {
                self.queue.extend(plan_event(std::mem::take(&mut body.plan)));
                let reader = AnswerReader::new(decoder).without(self.secrets.clone()).joining(self.joins);
                let reader = Box::new(reader.by_way_of(body.proxy.take()));
                self.state = State::Reading { body: Box::new(body), reader };
            }
            Some(Err(RequestFailure { failure, plan })) => {
                self.queue.extend(plan_event(plan));
                self.emit(vec![StreamEvent::Failed(failure)]);
            }
            None => match self.watch.wake(Instant::now()) {
                Some(Err(failure)) => self.emit(vec![StreamEvent::Failed(failure)]),
                silent => {
                    self.queue.extend(silent.and_then(Result::ok));
                    self.state = State::Sent { sending, decoder };
                }
            },
        }
    }

    async fn read(&mut self, mut body: Box<ResponseBody>, mut reader: Box<AnswerReader>) {
        let mut events = Vec::new();
        let mut came = false;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => reader.fail(abort_failure(), &mut events),
            part = body.chunk() => match part {
                Ok(Some(bytes)) => {
                    came = true;
                    let bytes = bytes.as_ref();
                    let mut converted = Vec::new();
                    let pushed = self.events.as_mut().map(|stream| stream.push(bytes, &mut converted));
                    let is_converted = pushed.is_some();
                    let bytes = if is_converted { converted.as_slice() } else { bytes };
                    self.record.iter_mut().for_each(|record| record.add(bytes));
                    reader.push(bytes, &mut events);
                    if let Some(Err(failure)) = pushed {
                        reader.fail(failure, &mut events);
                    }
                }
                Ok(None) => reader.finish(&mut events),
                Err(failure) => reader.fail(failure, &mut events),
            },
            () = sleep_until(self.watch.wakes()) => {}
        }
        let now = Instant::now();
        if came {
            self.watch.note(&events, now);
        }
        // Also after bytes without content, which may arrive endlessly.
        match self.watch.wake(now) {
            Some(Err(failure)) => reader.fail(failure, &mut events),
            Some(Ok(silent)) if !reader.has_ended() => events.push(silent),
            _ => {}
        }
        if !reader.has_ended() {
            self.state = State::Reading { body, reader };
        }
        self.emit(events);
    }

    /// Queues events. Keys are already removed from their messages.
    fn emit(&mut self, events: Vec<StreamEvent>) {
        for event in &events {
            let error = match event {
                StreamEvent::Stop(_) => None,
                StreamEvent::Failed(failure) => Some(failure.to_string()),
                _ => continue,
            };
            self.record.iter_mut().for_each(|record| record.end(error.clone()));
        }
        self.queue.extend(events);
    }

    /// Ends the answer now. Events that are already queued are delivered.
    fn cut_short(&mut self, failure: Failure) {
        let ends = |event: &StreamEvent| matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_));
        let mut events = Vec::new();
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => {}
            State::New(_) | State::Sent { .. } => events.push(StreamEvent::Failed(failure)),
            State::Reading { mut reader, .. } if !self.queue.iter().any(ends) => {
                reader.fail(failure, &mut events);
            }
            State::Reading { .. } => {}
        }
        self.emit(events);
    }
}

/// The event that tells how much of the plan's limits is used; `None` if nothing is known of them.
fn plan_event(windows: Vec<PlanWindow>) -> Option<StreamEvent> {
    (!windows.is_empty()).then_some(StreamEvent::Plan(windows))
}
