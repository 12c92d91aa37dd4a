//! One answer of the model: request, stream, retries, and what is kept when it goes wrong.
//!
//! An answer that was begun is always ended and kept, also when it failed half way: its text
//! counts, its calls are kept and answered, but never run. Whether a failure is worth another try is `retry`'s to say. No tool
//! runs in here, so a retry never runs one twice.

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use super::behavior;
use super::call_titles::Titles;
use super::compact;
use super::compact::Ending;
use super::limits::RunEnd;
use super::retry::{Retries, Verdict};
use super::run::Run;
use super::task::{Agent, now, panic_text};
use super::tool_calls;
use crate::agent::protocol::event::{AgentEvent, Delta, NoticeLevel};
use crate::agent::protocol::message::{AssistantMessage, Block, Message, StopReason, ToolCall, Usage};
use crate::agent::protocol::model::Model;
use crate::agent::provider::assemble::Assembler;
use crate::agent::provider::{EventStream, Failure, FailureKind, ModelRequest, StreamEvent};
use crate::agent::secrets::Secret;

/// Events taken from the stream at once, at most, when they are there already.
const CHUNK: usize = 32;
/// What an aborted answer says of itself.
const ABORTED: &str = "aborted";

/// Asks the model until there is an answer, a failure that stays, or an abort. The message is
/// in the session, and its `MessageEnd` told, when this returns.
pub(crate) async fn answer(run: &mut Run<'_>) -> Arc<Message> {
    let retries = retries(run.agent);
    let mut answering = Answering { run, retries, retrying: false, compacted: false };
    loop {
        let mut flight = answering.flight();
        let done = match answering.fly(&mut flight).await {
            Outcome::Complete => Some(answering.complete(flight)),
            Outcome::Stopped => Some(answering.stopped(flight)),
            Outcome::Failed(failure) => answering.failed(flight, failure).await,
        };
        if let Some(message) = done {
            return message;
        }
    }
}

/// How a request ended.
enum Outcome {
    Complete,
    Stopped,
    Failed(Failure),
}

/// How a wait ended.
pub(crate) enum Waited {
    Elapsed,
    GivenUp,
    Stopped,
}

/// One request and what has come of its answer.
struct Flight {
    model: Arc<Model>,
    assembler: Assembler,
    timestamp: i64,
    /// Ids of the calls that have come to their end.
    whole_calls: HashSet<String>,
    titles: Titles,
    /// True once the front end was told that a message begins.
    begun: bool,
}

impl Flight {
    /// The message as it is told of at its beginning: empty.
    fn empty(&self) -> AssistantMessage {
        AssistantMessage {
            content: Vec::new(),
            api: self.model.api,
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            usage: Usage::default(),
            stop_reason: StopReason::Stop,
            error_message: None,
            response_id: None,
            timestamp: self.timestamp,
        }
    }
}

/// An answer being sought.
struct Answering<'r, 'a> {
    run: &'r mut Run<'a>,
    retries: Retries,
    /// True between `AutoRetryStart` and `AutoRetryEnd`.
    retrying: bool,
    /// True once room was made because the request was too long.
    compacted: bool,
}

impl Answering<'_, '_> {
    fn flight(&self) -> Flight {
        let model = self.run.agent.config.model.clone().unwrap_or_default();
        let timestamp = now();
        let assembler = Assembler::beside(&model, timestamp, self.call_ids());
        Flight {
            model,
            assembler,
            timestamp,
            whole_calls: HashSet::new(),
            titles: Titles::default(),
            begun: false,
        }
    }

    /// Sends the request and passes on what comes.
    async fn fly(&mut self, flight: &mut Flight) -> Outcome {
        let (keys, model) = (self.run.agent.config.keys.clone(), flight.model.clone());
        let key = match self.run.agent.attend_unless_stopped(async move { keys.key(&model).await }).await {
            None => return Outcome::Stopped,
            Some(Err(failure)) => return Outcome::Failed(failure),
            Some(Ok(key)) => key,
        };
        let messages = match self.messages(flight).await {
            None => return Outcome::Stopped,
            Some(Err(failure)) => return Outcome::Failed(failure),
            Some(Ok(messages)) => messages,
        };
        let request = self.request(flight, key, messages);
        let stream = match self.send(request) {
            Ok(stream) => stream,
            Err(failure) => return Outcome::Failed(failure),
        };
        let mut events = AssertUnwindSafe(stream).catch_unwind().ready_chunks(CHUNK);
        loop {
            let Some(chunk) = self.run.agent.attend_unless_stopped(events.next()).await else {
                return Outcome::Stopped;
            };
            let Some(chunk) = chunk else {
                let text = "the stream ended before the answer was complete";
                return Outcome::Failed(Failure::new(FailureKind::Network, text));
            };
            for event in chunk {
                let outcome = match event {
                    Ok(event) => self.take(flight, event),
                    Err(panic) => Some(Outcome::Failed(crashed(&*panic))),
                };
                if let Some(outcome) = outcome {
                    return outcome;
                }
            }
        }
    }

    fn send(&self, request: ModelRequest) -> Result<EventStream, Failure> {
        let transport = &self.run.agent.config.transport;
        let cancel = self.run.agent.stop.child_token();
        std::panic::catch_unwind(AssertUnwindSafe(|| transport.stream(request, cancel)))
            .map_err(|panic| crashed(&*panic))
    }

    /// The conversation as it is sent: after the hooks. None when the run is to stop.
    async fn messages(&mut self, flight: &Flight) -> Option<Result<Vec<Arc<Message>>, Failure>> {
        let config = &self.run.agent.config;
        let (hooks, messages) = (config.conduct.hooks.clone(), config.session.context().messages);
        self.run.agent.attend_unless_stopped(hooks.apply(messages, flight.model.clone())).await
    }

    fn request(&self, flight: &Flight, key: Option<Secret>, messages: Vec<Arc<Message>>) -> ModelRequest {
        let config = &self.run.agent.config;
        ModelRequest {
            model: behavior::budgeted(&flight.model, &config.conduct.budgets),
            key,
            system: config.system.clone(),
            messages,
            tools: config.tools.specs().into(),
            thinking: self.run.agent.thinking(),
            max_tokens: None,
            temperature: None,
            session_id: config.session.info().id.clone(),
        }
    }

    /// Takes one event; answers how the request ended when this was its end.
    fn take(&mut self, flight: &mut Flight, event: StreamEvent) -> Option<Outcome> {
        let end = match &event {
            StreamEvent::Stop(_) => Some(Outcome::Complete),
            StreamEvent::Failed(failure) => Some(Outcome::Failed(failure.clone())),
            StreamEvent::Silent { idle_ms, limit_ms } => {
                self.run.agent.emit(AgentEvent::Stalled { idle_ms: *idle_ms, limit_ms: *limit_ms });
                None
            }
            _ => None,
        };
        if let Some(delta) = flight.assembler.take(event) {
            self.begin(flight);
            if let Delta::ToolCallEnd { tool_call, .. } = &delta {
                flight.whole_calls.insert(tool_call.id.clone());
            }
            if !is_empty(&delta) {
                let title = flight.titles.take(&self.run.agent.config.tools, &delta);
                let usage = flight.assembler.usage();
                self.run.agent.emit(AgentEvent::MessageUpdate { usage, assistant_message_event: delta });
                title.into_iter().for_each(|title| self.run.agent.emit(title));
            }
        }
        end
    }

    /// Tells that the answer begins, unless that was told.
    fn begin(&mut self, flight: &mut Flight) {
        if flight.begun {
            return;
        }
        flight.begun = true;
        self.end_retry(None);
        self.run.open_turn();
        let message = Arc::new(Message::Assistant(flight.empty()));
        self.run.agent.emit(AgentEvent::MessageStart { message });
    }

    fn complete(&mut self, mut flight: Flight) -> Arc<Message> {
        self.begin(&mut flight);
        let mut message = flight.assembler.message();
        if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
            let text = "the provider ended the answer with an error";
            message.error_message.get_or_insert_with(|| text.into());
        } else if message.content.is_empty() {
            let hint = "send a message to go on, or choose another model";
            self.run.agent.notice(NoticeLevel::Warning, "the model answered nothing", Some(hint));
        }
        self.run.commit_answer(message)
    }

    /// Keeps what came before an abort. Calls that came whole stay, and get a result each.
    fn stopped(&mut self, mut flight: Flight) -> Arc<Message> {
        self.end_retry(Some(ABORTED));
        self.begin(&mut flight);
        let mut message = flight.assembler.message();
        drop_calls(&mut message, |call| flight.whole_calls.contains(&call.id));
        message.stop_reason = StopReason::Aborted;
        message.error_message = Some(ABORTED.into());
        self.run.commit_answer(message)
    }

    /// Deals with a failure: waits and answers none when there is to be another try.
    async fn failed(&mut self, flight: Flight, failure: Failure) -> Option<Arc<Message>> {
        if self.run.agent.stop.is_cancelled() {
            return Some(self.stopped(flight));
        }
        if failure.kind == FailureKind::Overflow && !self.compacted {
            return self.overflown(flight, failure).await;
        }
        let failure = hinted(failure);
        if self.run.over() == Some(RunEnd::Dollars) {
            return Some(self.give_up(flight, &failure.to_string()));
        }
        let delay_ms = match self.retries.after(&failure) {
            Verdict::Wait(delay_ms) => delay_ms,
            Verdict::GiveUp(text) => return Some(self.give_up(flight, &text)),
        };
        let error_message = failure.to_string();
        if !flight.begun {
            // What never became a message was paid for all the same.
            self.run.agent.meter.spend(&flight.assembler.usage());
        } else {
            self.end_partial(flight, &error_message).await;
        }
        self.retrying = true;
        let (attempt, max_attempts) = (self.retries.used(), self.retries.max());
        let start = AgentEvent::AutoRetryStart {
            attempt,
            max_attempts,
            delay_ms,
            error_message: error_message.clone(),
        };
        self.run.agent.emit(start);
        match wait(self.run.agent, delay_ms).await {
            Waited::Elapsed => None,
            Waited::GivenUp => Some(self.give_up(self.flight(), &error_message)),
            Waited::Stopped => Some(self.stopped(self.flight())),
        }
    }

    /// Makes room, once, so that the request can be sent again.
    async fn overflown(&mut self, flight: Flight, failure: Failure) -> Option<Arc<Message>> {
        self.compacted = true;
        let failure = hinted(failure);
        self.end_retry(Some(&failure.to_string()));
        if flight.begun {
            self.end_partial(flight, &failure.to_string()).await;
        }
        match compact::on_overflow(self.run.agent).await {
            Ending::Done => None,
            Ending::Aborted => Some(self.stopped(self.flight())),
            Ending::Failed(why) => {
                let text = format!("{failure}; making room failed: {why}");
                Some(self.give_up(self.flight(), &text))
            }
        }
    }

    /// Ends with the failure as the answer.
    fn give_up(&mut self, mut flight: Flight, text: &str) -> Arc<Message> {
        self.end_retry(Some(text));
        self.begin(&mut flight);
        self.partial(flight, text)
    }

    /// Keeps what came before a failure as a turn of its own, before another try.
    async fn end_partial(&mut self, flight: Flight, text: &str) {
        let partial = self.partial(flight, text);
        if let Message::Assistant(answer) = partial.as_ref() {
            let results = tool_calls::carry_out(self.run, answer).await;
            self.run.close_turn(partial.clone(), results);
        }
    }

    /// Keeps what came before a failure. Its calls never ran and never will.
    fn partial(&mut self, flight: Flight, text: &str) -> Arc<Message> {
        let mut message = flight.assembler.message();
        message.stop_reason = StopReason::Error;
        message.error_message = Some(text.to_owned());
        self.run.commit_answer(message)
    }

    /// The ids of all calls so far: a result names its call by it, so none is used twice.
    fn call_ids(&self) -> HashSet<String> {
        let messages = self.run.agent.config.session.context().messages;
        let calls = messages.iter().filter_map(|message| match message.as_ref() {
            Message::Assistant(answer) => Some(answer.tool_calls().map(|call| call.id.clone())),
            _ => None,
        });
        calls.flatten().collect()
    }

    /// Tells how the retries ended, if there were any.
    fn end_retry(&mut self, final_error: Option<&str>) {
        if std::mem::take(&mut self.retrying) {
            let attempt = self.retries.used();
            let final_error = final_error.map(str::to_owned);
            let success = final_error.is_none();
            self.run.agent.emit(AgentEvent::AutoRetryEnd { success, attempt, final_error });
        }
    }
}

/// Waits before another try, while commands are served.
pub(crate) async fn wait(agent: &mut Agent, delay_ms: u64) -> Waited {
    let given_up = CancellationToken::new();
    agent.give_up = given_up.clone();
    let wait = async move {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(delay_ms)) => Waited::Elapsed,
            () = given_up.cancelled() => Waited::GivenUp,
        }
    };
    agent.attend_unless_stopped(wait).await.unwrap_or(Waited::Stopped)
}

/// The retries of one request.
pub(crate) fn retries(agent: &Agent) -> Retries {
    let most = if agent.auto_retry { agent.config.max_retries } else { 0 };
    Retries::seeded(most, agent.config.patience)
}

fn crashed(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = format!("tau failed to read the answer: {}", panic_text(panic));
    Failure::new(FailureKind::Config, text).hint("this is a fault of tau; please report it")
}

fn hinted(failure: Failure) -> Failure {
    if failure.kind == FailureKind::Overflow && failure.hint.is_none() {
        let hint = "the conversation is too long for this model: begin a new session, or choose a model \
                    with a larger context";
        return failure.hint(hint);
    }
    failure
}

/// Whether there is nothing in a delta; such ones are not told.
fn is_empty(delta: &Delta) -> bool {
    match delta {
        Delta::TextDelta { delta, .. }
        | Delta::ThinkingDelta { delta, .. }
        | Delta::ToolCallDelta { delta, .. } => delta.is_empty(),
        _ => false,
    }
}

/// Drops the calls of a message but those that `keep` wants.
fn drop_calls(message: &mut AssistantMessage, keep: impl Fn(&ToolCall) -> bool) {
    message.content.retain(|block| match block {
        Block::ToolCall(call) => keep(call),
        _ => true,
    });
}
