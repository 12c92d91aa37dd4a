//! Requests a summary from the model, without tools or streaming to the front end.

use std::sync::Arc;

use crate::context::compaction::SUMMARY_SYSTEM_PROMPT;
use crate::engine::base::clock::now;
use crate::engine::base::retry::AfterFailure;
use crate::engine::exchange;
use crate::engine::exchange::{Exchange, ExchangeEnd};
use crate::engine::hooks::Hooks;
use crate::engine::queries::session_usage;
use crate::engine::retry_wait::{WaitEnd, retries, wait};
use crate::engine::state::Engine;
use crate::provider::assemble::Assembler;
use crate::provider::{Failure, FailureKind, ModelRequest, StreamEvent};
use tau_protocol::event::RunEvent;
use tau_protocol::message::{Message, StopReason, Usage, UserContent, UserMessage};
use tau_protocol::model::{Model, ThinkingLevel};

/// A summary as the model wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) text: String,
    pub(crate) usage: Usage,
    /// Whether it was cut by the length limit.
    pub(crate) cut_off: bool,
}

/// Requests a summary, and retries after transient failures; waits are reported like those of an answer.
/// `None` if the user stopped it.
pub(crate) async fn summarize(
    engine: &mut Engine,
    model: &Arc<Model>,
    text: String,
    max_tokens: u64,
) -> Option<Result<Summary, Failure>> {
    let mut retries = retries(engine);
    let ended = loop {
        let failure = match attempt(engine, model, text.clone(), max_tokens).await {
            Some(Err(failure)) => failure,
            other => break other,
        };
        // An answer that is not a summary is left to the caller, which asks differently.
        let delay_ms = match retries.after(&failure) {
            _ if failure.kind == FailureKind::Protocol => break Some(Err(failure)),
            AfterFailure::Wait(delay_ms) => delay_ms,
            AfterFailure::GiveUp(text) => break Some(Err(Failure { message: text, hint: None, ..failure })),
        };
        engine.emit(RunEvent::AutoRetryStart {
            attempt: retries.count(),
            max_attempts: retries.max(),
            delay_ms,
            error_message: failure.to_string(),
        });
        match wait(engine, delay_ms).await {
            WaitEnd::Elapsed | WaitEnd::Limited => {}
            WaitEnd::GivenUp => break Some(Err(failure)),
            WaitEnd::Stopped => break None,
        }
    };
    if retries.count() > 0 {
        let final_error = match &ended {
            Some(Ok(_)) => None,
            Some(Err(failure)) => Some(failure.to_string()),
            None => Some("aborted".to_owned()),
        };
        let (success, attempt) = (final_error.is_none(), retries.count());
        engine.emit(RunEvent::AutoRetryEnd { success, attempt, final_error });
    }
    ended
}

/// Makes one request; `None` if the user stopped it.
async fn attempt(
    engine: &mut Engine,
    model: &Arc<Model>,
    text: String,
    max_tokens: u64,
) -> Option<Result<Summary, Failure>> {
    let assembler = Assembler::new(model, now());
    let prompt = UserMessage { timestamp: now(), ..UserMessage::new(UserContent::Text(text)) };
    let prompt = Arc::new(Message::User(prompt));
    let mut request = SummaryRequest { engine, model, prompt, max_tokens, assembler };
    let end = exchange::send(&mut request).await;
    let SummaryRequest { engine, assembler, .. } = request;
    let usage = assembler.usage();
    let ended = match end {
        ExchangeEnd::Stopped => None,
        ExchangeEnd::Limited(limit) => Some(Err(Failure::new(FailureKind::Config, limit.why))),
        ExchangeEnd::Failed(failure) if failure.kind == FailureKind::Aborted => None,
        ExchangeEnd::Failed(failure) => Some(Err(failure)),
        ExchangeEnd::Complete => Some(summary(assembler)),
    };
    match &ended {
        // The summary is kept with its usage.
        Some(Ok(_)) => session_usage::meter_usage(engine, &usage),
        _ => session_usage::spend(engine, usage),
    }
    ended
}

struct SummaryRequest<'a> {
    engine: &'a mut Engine,
    model: &'a Arc<Model>,
    prompt: Arc<Message>,
    max_tokens: u64,
    assembler: Assembler,
}

impl Exchange for SummaryRequest<'_> {
    const ANSWER: &'static str = "summary";

    fn engine(&mut self) -> &mut Engine {
        self.engine
    }

    fn model(&self) -> Arc<Model> {
        self.model.clone()
    }

    fn messages(&self) -> (Vec<Arc<Message>>, Option<Hooks>) {
        (vec![self.prompt.clone()], None)
    }

    fn request(&mut self, messages: Vec<Arc<Message>>) -> ModelRequest {
        ModelRequest {
            system: SUMMARY_SYSTEM_PROMPT.into(),
            thinking: self.model.nearest(ThinkingLevel::Off),
            max_tokens: Some(self.max_tokens),
            session_id: self.engine.conversation_id(),
            join_deltas: true,
            ..ModelRequest::new(self.model.clone(), messages)
        }
    }

    fn receive(&mut self, event: StreamEvent) {
        self.assembler.feed(&event);
    }

    fn answer(&mut self) -> &mut Assembler {
        &mut self.assembler
    }
}

fn summary(assembler: Assembler) -> Result<Summary, Failure> {
    let message = assembler.message();
    let text = message.text();
    match message.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let why = message.error_message.unwrap_or_else(|| "the provider ended the answer".into());
            Err(Failure::new(FailureKind::Protocol, why))
        }
        _ if text.trim().is_empty() => {
            Err(Failure::new(FailureKind::Protocol, "the model sent an empty summary"))
        }
        reason => Ok(Summary { text, usage: message.usage, cut_off: reason == StopReason::Length }),
    }
}
