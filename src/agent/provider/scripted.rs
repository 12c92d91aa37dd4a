//! Transports without a network: scripts for tests and demos, and the switch between transports.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::http::abort_failure;
use super::{EventStream, Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau_protocol::event::Delta;
use tau_protocol::message::{StopReason, ToolCall};
use tau_protocol::model::Api;

/// One step of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptStep {
    /// Sends this event.
    Event(StreamEvent),
    Wait(Duration),
    /// Sends nothing more until the request is cancelled.
    Hang,
}

/// One answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script(pub Vec<ScriptStep>);

impl From<Vec<StreamEvent>> for Script {
    fn from(events: Vec<StreamEvent>) -> Self {
        Script(events.into_iter().map(ScriptStep::Event).collect())
    }
}

impl Script {
    /// Adds a pause before each event.
    pub fn with_pauses(self, pause: Duration) -> Self {
        let steps = self.0.into_iter().flat_map(|step| [ScriptStep::Wait(pause), step]);
        Script(steps.collect())
    }

    /// Adds a pause before the answer.
    pub fn after(self, pause: Duration) -> Self {
        Script(std::iter::once(ScriptStep::Wait(pause)).chain(self.0).collect())
    }
}

/// A complete text answer that ends with `stop`.
pub fn says(text: &str) -> Vec<StreamEvent> {
    let mut events = text_block(0, text);
    events.push(StreamEvent::Stop(StopReason::Stop));
    events
}

/// An answer that calls tools: id, name and arguments of each.
pub fn calls(list: &[(&str, &str, Value)]) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    for (content_index, (id, name, arguments)) in list.iter().enumerate() {
        let (id, name) = ((*id).to_owned(), (*name).to_owned());
        let tool_name = name.clone();
        events.push(StreamEvent::Delta(Delta::ToolCallStart { content_index, id: id.clone(), tool_name }));
        let delta = arguments.to_string();
        events.push(StreamEvent::Delta(Delta::ToolCallDelta { content_index, delta }));
        let tool_call = ToolCall { id, name, arguments: arguments.clone(), thought_signature: None };
        events.push(StreamEvent::Delta(Delta::ToolCallEnd { content_index, tool_call }));
    }
    events.push(StreamEvent::Stop(StopReason::ToolUse));
    events
}

/// The events of one text block.
pub fn text_block(content_index: usize, text: &str) -> Vec<StreamEvent> {
    let content = text.to_owned();
    vec![
        StreamEvent::Delta(Delta::TextStart { content_index }),
        StreamEvent::Delta(Delta::TextDelta { content_index, delta: content.clone() }),
        StreamEvent::Delta(Delta::TextEnd { content_index, content }),
    ]
}

/// The function that answers requests.
type Answering = Box<dyn Fn(&ModelRequest) -> Script + Send + Sync>;

/// A transport that plays scripts, one per request, and records the requests.
#[derive(Default)]
pub struct ScriptedTransport {
    queue: Mutex<VecDeque<Script>>,
    answering: Option<Answering>,
    requests: Mutex<Vec<ModelRequest>>,
}

tau_tools::debug_fields!(ScriptedTransport {});

impl ScriptedTransport {
    /// Answers the requests with these scripts in order; then with a failure.
    pub fn new<S: Into<Script>>(scripts: impl IntoIterator<Item = S>) -> Self {
        let queue = scripts.into_iter().map(Into::into).collect();
        ScriptedTransport { queue: Mutex::new(queue), ..ScriptedTransport::default() }
    }

    /// Answers each request with the script that `answer` returns for it.
    pub fn answering<S: Into<Script>>(answer: impl Fn(&ModelRequest) -> S + Send + Sync + 'static) -> Self {
        ScriptedTransport {
            answering: Some(Box::new(move |request| answer(request).into())),
            ..ScriptedTransport::default()
        }
    }

    /// Appends a script to the queue.
    pub fn push(&self, script: impl Into<Script>) {
        self.queue.lock().push_back(script.into());
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().clone()
    }

    fn script(&self, request: &ModelRequest) -> Script {
        let queued = self.queue.lock().pop_front();
        match (queued, &self.answering) {
            (Some(script), _) => script,
            (None, Some(answer)) => answer(request),
            (None, None) => {
                let failure = Failure::new(FailureKind::Config, "the script has no further answer");
                vec![StreamEvent::Failed(failure)].into()
            }
        }
    }
}

impl Transport for ScriptedTransport {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        let steps: VecDeque<ScriptStep> = self.script(&request).0.into();
        self.requests.lock().push(request);
        Box::pin(stream::unfold(Some((steps, cancel)), |state| async move {
            let (mut steps, cancel) = state?;
            match play(&mut steps, &cancel).await? {
                event @ (StreamEvent::Stop(_) | StreamEvent::Failed(_)) => Some((event, None)),
                event => Some((event, Some((steps, cancel)))),
            }
        }))
    }
}

/// The next event of a script; `None` at its end.
async fn play(steps: &mut VecDeque<ScriptStep>, cancel: &CancellationToken) -> Option<StreamEvent> {
    loop {
        if cancel.is_cancelled() {
            return Some(StreamEvent::Failed(abort_failure()));
        }
        match steps.pop_front()? {
            ScriptStep::Event(event) => return Some(event),
            ScriptStep::Wait(time) => tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(time) => {}
            },
            ScriptStep::Hang => cancel.cancelled().await,
        }
    }
}

/// Sends requests of the scripted format to one transport and all others to another.
#[derive(Clone)]
pub struct Router {
    scripted: Arc<dyn Transport>,
    wire: Arc<dyn Transport>,
}

tau_tools::debug_fields!(Router {});

impl Router {
    /// `scripted` for [`Api::Scripted`], `wire` for every other format.
    pub fn new(scripted: Arc<dyn Transport>, wire: Arc<dyn Transport>) -> Self {
        Router { scripted, wire }
    }
}

impl Transport for Router {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> EventStream {
        match request.model.api {
            Api::Scripted => self.scripted.stream(request, cancel),
            _ => self.wire.stream(request, cancel),
        }
    }
}
