//! One answer of the model, with retries, and the record of a failed one.
//!
//! An answer whose start was reported is always ended and recorded, also when it failed half-way: its text
//! counts, and its calls are recorded and answered but never run. `retry` decides whether a failure is
//! retried. No tool runs in here, so a retry never runs one twice.

use std::collections::HashSet;
use std::sync::Arc;

use super::compact::CompactionEnd;
use super::exchange::{Exchange, ExchangeEnd};
use super::hooks::Hooks;
use super::refused_parts::RefusedParts;
use super::retry_wait::{WaitEnd, keep, remaining_wait, retries, wait};
use super::run::log::Run;
use super::state::Engine;
use super::{compact, exchange, refused_parts};
use crate::engine::base::call_titles::ArrivingTitles;
use crate::engine::base::clock::now;
use crate::engine::base::retry::{AfterFailure, Retries};
use crate::engine::calls::tool_calls;
use crate::engine::queries::session_usage;
use crate::provider::assemble::Assembler;
use crate::provider::{Failure, FailureKind, ModelRequest, StreamEvent};
use tau_protocol::event::{Delta, NoticeLevel, RunEvent, TurnEvent};
use tau_protocol::message::{AssistantMessage, Block, Message, StopReason, ToolCall};
use tau_protocol::model::Model;
use tau_protocol::plan_limits::PlanLimits;
use tau_tools::invisible;

/// The error message of an aborted answer.
const ABORTED: &str = "aborted";

/// Asks the model until there is an answer, a failure that is not retried, or an abort. The message
/// is in the session, and its `MessageEnd` reported, when this returns. `None` if a limit ended the run before a
/// request was sent.
pub(crate) async fn answer(run: &mut Run<'_>) -> Option<Arc<Message>> {
    let retries = retries(run.engine);
    let mut turn = Turn {
        run,
        retries,
        retrying: false,
        compacted: false,
        refused: None,
        sent_without: false,
        half: Vec::new(),
    };
    if let Some(message) = turn.wait_on().await {
        return Some(message);
    }
    loop {
        let mut attempt = turn.attempt();
        let end = exchange::send(&mut Request { turn: &mut turn, attempt: &mut attempt }).await;
        let done = match end {
            ExchangeEnd::Complete => Some(turn.complete(attempt)),
            ExchangeEnd::Stopped => Some(turn.on_stop(attempt)),
            ExchangeEnd::Limited(limit) => {
                turn.end_retry(Some(&limit.why));
                turn.run.engine.meters.ended_by = Some(limit.end);
                return None;
            }
            ExchangeEnd::Failed(failure) => turn.on_failure(attempt, failure).await,
        };
        if done.is_some() {
            return done;
        }
    }
}

/// One request and its answer so far.
struct Attempt {
    model: Arc<Model>,
    assembler: Assembler,
    timestamp: i64,
    /// Ids of the calls that are complete.
    complete_calls: HashSet<String>,
    titles: ArrivingTitles,
    /// Whether the start of the message was reported.
    begun: bool,
}

impl Attempt {
    /// The empty message that is reported at the start.
    fn empty_message(&self) -> AssistantMessage {
        AssistantMessage {
            api: self.model.api,
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            timestamp: self.timestamp,
            ..AssistantMessage::default()
        }
    }
}

/// The answer of one turn, until an attempt succeeds.
struct Turn<'r, 'a> {
    run: &'r mut Run<'a>,
    retries: Retries,
    /// Whether this is between `AutoRetryStart` and `AutoRetryEnd`.
    retrying: bool,
    /// Whether the conversation was compacted because the request was too long.
    compacted: bool,
    /// The failure after which the request was retried without parts that may have caused it.
    refused: Option<(Failure, RefusedParts)>,
    /// Whether that retry was made.
    sent_without: bool,
    /// The text and thinking of the last failed attempt, until another one writes something.
    half: Vec<Block>,
}

/// The request of an attempt.
struct Request<'t, 'r, 'a> {
    turn: &'t mut Turn<'r, 'a>,
    attempt: &'t mut Attempt,
}

impl Exchange for Request<'_, '_, '_> {
    const ANSWER: &'static str = "answer";

    fn engine(&mut self) -> &mut Engine {
        self.turn.run.engine
    }

    fn model(&self) -> Arc<Model> {
        self.attempt.model.clone()
    }

    fn messages(&self) -> (Vec<Arc<Message>>, Option<Hooks>) {
        let config = &self.turn.run.engine.config;
        let messages = config.session.context().messages;
        let messages =
            refused_parts::messages_for_model(&messages, &self.attempt.model, self.turn.refused_parts());
        (messages, Some(config.behavior.hooks.clone()))
    }

    fn request(&mut self, messages: Vec<Arc<Message>>) -> ModelRequest {
        let engine = &self.turn.run.engine;
        let (context, model) = (engine.config.session.context().messages, &self.attempt.model);
        let thinking = refused_parts::level(engine.thinking(), &context, model, self.turn.refused_parts());
        self.turn.run.engine.request(model, messages, thinking)
    }

    fn receive(&mut self, event: StreamEvent) {
        if let StreamEvent::Silent { idle_ms, limit_ms } = event {
            self.turn.run.engine.emit(RunEvent::Stalled { idle_ms, limit_ms });
        }
        if let StreamEvent::Plan(windows) = &event {
            let (provider, windows) = (self.attempt.model.provider.clone(), windows.clone());
            let limits = PlanLimits { provider, windows };
            self.turn.run.engine.emit(RunEvent::PlanLimits { limits });
        }
        let Some(delta) = self.attempt.assembler.take(event) else { return };
        self.turn.begin(self.attempt);
        if let Delta::ToolCallEnd { tool_call, .. } = &delta {
            self.attempt.complete_calls.insert(tool_call.id.clone());
        }
        if !is_empty(&delta) {
            let engine = &mut *self.turn.run.engine;
            let title = self.attempt.titles.take(&engine.config.tools, &delta);
            let usage = self.attempt.assembler.usage();
            engine.emit(TurnEvent::MessageUpdate { usage, assistant_message_event: delta });
            title.into_iter().for_each(|title| engine.emit(title));
        }
    }

    fn answer(&mut self) -> &mut Assembler {
        &mut self.attempt.assembler
    }
}

impl Turn<'_, '_> {
    fn attempt(&self) -> Attempt {
        let model = self.run.engine.config.model.clone().unwrap_or_default();
        let timestamp = now();
        let assembler = Assembler::with_call_ids(&model, timestamp, self.call_ids());
        Attempt {
            model,
            assembler,
            timestamp,
            complete_calls: HashSet::new(),
            titles: ArrivingTitles::default(),
            begun: false,
        }
    }

    /// Reports the start of the answer, if not yet done.
    fn begin(&mut self, attempt: &mut Attempt) {
        if attempt.begun {
            return;
        }
        attempt.begun = true;
        self.end_retry(None);
        self.run.open_turn();
        self.note_refused_parts();
        let message = Arc::new(Message::Assistant(attempt.empty_message()));
        self.run.engine.emit(TurnEvent::MessageStart { message });
    }

    /// Once the answer has begun, records that the refused parts stay out of requests, and shows a notice.
    fn note_refused_parts(&mut self) {
        let Some((failure, parts)) = self.refused.take() else { return };
        self.run.commit(parts.note());
        let (names, why) = (parts.names(), &failure.message);
        let (text, hint) = match parts.are_named_in(&failure) {
            true => (
                format!("the provider refused {names} of this conversation: {why}"),
                "the request was sent once more without them, and they stay out for this model".to_owned(),
            ),
            false => (
                format!("the provider refused the request: {why}"),
                format!(
                    "it was accepted without {names} of this conversation, which stay out for this model"
                ),
            ),
        };
        self.run.engine.notice(NoticeLevel::Warning, text, Some(&hint));
    }

    /// The parts that the request is sent without.
    fn refused_parts(&self) -> Option<&RefusedParts> {
        self.refused.as_ref().map(|(_, parts)| parts)
    }

    /// Retries the request if something in the conversation may have made it fail; again if the next failure names
    /// something else. `is_last` when nothing else is left to try.
    fn send_without(&mut self, attempt: &Attempt, failure: &Failure, is_last: bool) -> bool {
        if attempt.begun || self.sent_without && self.refused.is_none() {
            return false;
        }
        let messages = self.run.engine.config.session.context().messages;
        let parts = RefusedParts::of(failure, &messages, &attempt.model, self.refused_parts(), is_last);
        let Some(parts) = parts else { return false };
        session_usage::spend(self.run.engine, attempt.assembler.usage());
        let first = self.refused.take().map_or_else(|| failure.clone(), |(first, _)| first);
        self.refused = Some((first, parts));
        self.sent_without = true;
        true
    }

    fn complete(&mut self, mut attempt: Attempt) -> Arc<Message> {
        self.begin(&mut attempt);
        let mut message = attempt.assembler.message();
        if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
            let text = "the provider ended the answer with an error";
            message.error_message.get_or_insert_with(|| text.into());
        } else if message.tool_calls().next().is_none() && invisible::is_blank(&message.text()) {
            let hint = "send a message to continue, or choose another model";
            let thinks = message.content.iter().any(|block| matches!(block, Block::Thinking { .. }));
            let text = if thinks {
                "the model only thought, and gave no answer"
            } else {
                "the model sent an empty answer"
            };
            self.run.engine.notice(NoticeLevel::Warning, text, Some(hint));
        }
        self.run.commit_answer(message)
    }

    /// Keeps the content that arrived before an abort. Complete calls stay, and get a result each.
    fn on_stop(&mut self, mut attempt: Attempt) -> Arc<Message> {
        self.refused = None;
        self.end_retry(Some(ABORTED));
        self.begin(&mut attempt);
        let mut message = attempt.assembler.message();
        keep_calls(&mut message, |call| attempt.complete_calls.contains(&call.id));
        message.stop_reason = StopReason::Aborted;
        message.error_message = Some(ABORTED.into());
        self.keep_half(&mut message);
        self.run.commit_answer(message)
    }

    /// Handles a failure; `None` if there is to be another attempt, after the wait for it.
    async fn on_failure(&mut self, attempt: Attempt, failure: Failure) -> Option<Arc<Message>> {
        if self.run.engine.current.stop.is_cancelled() {
            return Some(self.on_stop(attempt));
        }
        if failure.kind == FailureKind::Overflow && !self.compacted {
            return self.too_long(attempt, failure).await;
        }
        if self.send_without(&attempt, &failure, false) {
            return None;
        }
        let failure = match self.refused.take_if(|_| !failure.retryable()) {
            // The first failure is the reason for the retry, which did not help.
            Some((first, _)) => first,
            None => with_hint(failure),
        };
        let delay_ms = match self.retries.after(&failure) {
            AfterFailure::Wait(delay_ms) => delay_ms,
            AfterFailure::GiveUp(_) if self.send_without(&attempt, &failure, true) => return None,
            AfterFailure::GiveUp(text) => {
                self.refused = None;
                return Some(self.give_up(attempt, &text));
            }
        };
        let error_message = failure.to_string();
        if attempt.begun {
            self.end_partial(attempt, &error_message).await;
        } else {
            // A request costs money even if its answer never became a message.
            session_usage::spend(self.run.engine, attempt.assembler.usage());
        }
        if self.run.engine.meters.used.spent_limit().is_some() {
            return None;
        }
        keep(self.run.engine, delay_ms);
        self.wait(delay_ms, error_message).await
    }

    /// Waits for the remainder of a wait that was cut short by the end of an earlier run. Returns a message
    /// if that ends the turn.
    async fn wait_on(&mut self) -> Option<Arc<Message>> {
        let delay_ms = remaining_wait(self.run.engine)?;
        let error_message = "the provider's limit was reached before the last restart".to_owned();
        self.wait(delay_ms, error_message).await
    }

    /// Reports a wait, and waits. Returns a message if that ends the turn.
    async fn wait(&mut self, delay_ms: u64, error_message: String) -> Option<Arc<Message>> {
        self.retrying = true;
        self.run.engine.emit(RunEvent::AutoRetryStart {
            attempt: self.retries.count(),
            max_attempts: self.retries.max(),
            delay_ms,
            error_message: error_message.clone(),
        });
        match wait(self.run.engine, delay_ms).await {
            WaitEnd::Elapsed | WaitEnd::Limited => None,
            WaitEnd::GivenUp => Some(self.give_up(self.attempt(), &error_message)),
            WaitEnd::Stopped => Some(self.on_stop(self.attempt())),
        }
    }

    /// Compacts the conversation, once, so that the request can be retried.
    async fn too_long(&mut self, attempt: Attempt, failure: Failure) -> Option<Arc<Message>> {
        self.compacted = true;
        let failure = with_hint(failure);
        self.end_retry(Some(&failure.to_string()));
        if attempt.begun {
            self.end_partial(attempt, &failure.to_string()).await;
        } else {
            session_usage::spend(self.run.engine, attempt.assembler.usage());
        }
        match compact::on_overflow(self.run.engine).await {
            CompactionEnd::Done => None,
            CompactionEnd::Aborted => Some(self.on_stop(self.attempt())),
            CompactionEnd::Failed(_) if self.run.engine.meters.used.spent_limit().is_some() => None,
            CompactionEnd::Failed(_) if self.send_without(&self.attempt(), &failure, true) => None,
            CompactionEnd::Failed(why) => {
                let is_same = why.contains(&failure.message);
                let why = if is_same { " in the same way".to_owned() } else { format!(": {why}") };
                let text = format!("{failure}; compacting the conversation failed{why}");
                Some(self.give_up(self.attempt(), &text))
            }
        }
    }

    /// Gives up with the failure as the answer.
    fn give_up(&mut self, mut attempt: Attempt, text: &str) -> Arc<Message> {
        self.end_retry(Some(text));
        self.begin(&mut attempt);
        self.partial(attempt, text)
    }

    /// Records the content that arrived before a failure as a turn of its own, before another attempt.
    async fn end_partial(&mut self, attempt: Attempt, text: &str) {
        let partial = self.partial(attempt, text);
        if let Message::Assistant(answer) = partial.as_ref() {
            let results = tool_calls::run_all(self.run, answer).await;
            self.run.close_turn(partial.clone(), results);
        }
    }

    /// Records the content that arrived before a failure. Its calls never ran and never will.
    fn partial(&mut self, attempt: Attempt, text: &str) -> Arc<Message> {
        let mut message = attempt.assembler.message();
        message.stop_reason = StopReason::Error;
        message.error_message = Some(text.to_owned());
        self.keep_half(&mut message);
        self.run.commit_answer(message)
    }

    /// An answer takes the place of the failed one before it; without content of its own, it takes over the text
    /// that is on the screen. Calls stay with the failed one, since their ids are unique.
    fn keep_half(&mut self, message: &mut AssistantMessage) {
        if message.content.is_empty() {
            message.content = std::mem::take(&mut self.half);
        }
        let is_said = |block: &&Block| matches!(block, Block::Text { .. } | Block::Thinking { .. });
        self.half = message.content.iter().filter(is_said).cloned().collect();
    }

    /// The ids of all calls so far. A result refers to its call by id, so ids must be unique.
    fn call_ids(&self) -> HashSet<String> {
        let messages = self.run.engine.config.session.context().messages;
        let calls = messages.iter().filter_map(|message| match message.as_ref() {
            Message::Assistant(answer) => Some(answer.tool_calls().map(|call| call.id.clone())),
            _ => None,
        });
        calls.flatten().collect()
    }

    /// Reports the outcome of the retries, if there were any.
    fn end_retry(&mut self, final_error: Option<&str>) {
        if std::mem::take(&mut self.retrying) {
            let attempt = self.retries.count();
            let final_error = final_error.map(str::to_owned);
            let success = final_error.is_none();
            self.run.engine.emit(RunEvent::AutoRetryEnd { success, attempt, final_error });
        }
    }
}

fn with_hint(failure: Failure) -> Failure {
    if failure.kind == FailureKind::Overflow && failure.hint.is_none() {
        let hint = "the conversation is too long for this model: start a new session, or choose a model \
                    with a larger context window";
        return failure.hint(hint);
    }
    failure
}

/// Whether a delta has no content; such deltas are not reported.
fn is_empty(delta: &Delta) -> bool {
    match delta {
        Delta::TextDelta { delta, .. }
        | Delta::ThinkingDelta { delta, .. }
        | Delta::ToolCallDelta { delta, .. } => delta.is_empty(),
        _ => false,
    }
}

/// Drops the calls of a message that `keep` does not select.
fn keep_calls(message: &mut AssistantMessage, keep: impl Fn(&ToolCall) -> bool) {
    message.content.retain(|block| match block {
        Block::ToolCall(call) => keep(call),
        _ => true,
    });
}
