//! Asks the model for a summary: one request without tools, nothing of it streamed to anybody.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::StreamExt;

use crate::agent::engine::retry::Verdict;
use crate::agent::engine::task::{Agent, now, panic_text};
use crate::agent::engine::turn;
use crate::agent::engine::turn::Waited;
use crate::agent::protocol::event::AgentEvent;
use crate::agent::protocol::message::{Message, StopReason, Usage, UserContent, UserMessage};
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::provider::assemble::Assembler;
use crate::agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent};

/// The prompt of the model that sums up.
pub const SYSTEM: &str = include_str!("system.md");

/// A summary as the model gave it.
#[derive(Clone, Debug)]
pub struct Answer {
    pub text: String,
    pub usage: Usage,
    /// True when the length limit ended it.
    pub cut_off: bool,
}

/// Asks, again after failures that pass by themselves; the waits are told like those of an answer.
/// None when the person stopped it.
pub(in crate::agent) async fn patiently(
    agent: &mut Agent,
    model: &Arc<Model>,
    text: String,
    max_tokens: u64,
) -> Option<Result<Answer, Failure>> {
    let mut retries = turn::retries(agent);
    let ended = loop {
        let failure = match ask(agent, model, text.clone(), max_tokens).await {
            Some(Err(failure)) => failure,
            other => break other,
        };
        // An answer that is no summary is for the caller to deal with: it asks otherwise.
        let delay_ms = match retries.after(&failure) {
            _ if failure.kind == FailureKind::Protocol => break Some(Err(failure)),
            Verdict::Wait(delay_ms) => delay_ms,
            Verdict::GiveUp(text) => break Some(Err(Failure { message: text, hint: None, ..failure })),
        };
        agent.emit(AgentEvent::AutoRetryStart {
            attempt: retries.used(),
            max_attempts: retries.max(),
            delay_ms,
            error_message: failure.to_string(),
        });
        match turn::wait(agent, delay_ms).await {
            Waited::Elapsed => {}
            Waited::GivenUp => break Some(Err(failure)),
            Waited::Stopped => break None,
        }
    };
    if retries.used() > 0 {
        let final_error = match &ended {
            Some(Ok(_)) => None,
            Some(Err(failure)) => Some(failure.to_string()),
            None => Some("aborted".to_owned()),
        };
        let (success, attempt) = (final_error.is_none(), retries.used());
        agent.emit(AgentEvent::AutoRetryEnd { success, attempt, final_error });
    }
    ended
}

/// Asks once; none when the person stopped it.
async fn ask(
    agent: &mut Agent,
    model: &Arc<Model>,
    text: String,
    max_tokens: u64,
) -> Option<Result<Answer, Failure>> {
    let (keys, of) = (agent.config.keys.clone(), model.clone());
    let key = match agent.attend_unless_stopped(async move { keys.key(&of).await }).await? {
        Ok(key) => key,
        Err(failure) => return Some(Err(failure)),
    };
    let said = UserMessage { content: UserContent::Text(text), timestamp: now() };
    let request = ModelRequest {
        model: model.clone(),
        key,
        system: SYSTEM.into(),
        messages: vec![Arc::new(Message::User(said))],
        tools: [].into(),
        thinking: model.nearest(ThinkingLevel::Off),
        max_tokens: Some(max_tokens),
        temperature: None,
        session_id: agent.config.session.info().id.clone(),
    };
    let (transport, cancel) = (agent.config.transport.clone(), agent.stop.child_token());
    let started = std::panic::catch_unwind(AssertUnwindSafe(|| transport.stream(request, cancel)));
    let stream = match started {
        Ok(stream) => stream,
        Err(panic) => return Some(Err(crashed(&*panic))),
    };
    let mut assembler = Assembler::new(model, now());
    let mut events = AssertUnwindSafe(stream).catch_unwind();
    let ended = loop {
        match agent.attend_unless_stopped(events.next()).await {
            None => break None,
            Some(Some(Ok(StreamEvent::Failed(failure)))) if failure.kind == FailureKind::Aborted => {
                break None;
            }
            Some(Some(Ok(StreamEvent::Failed(failure)))) => break Some(Err(failure)),
            Some(Some(Ok(event @ StreamEvent::Stop(_)))) => {
                assembler.feed(&event);
                break Some(Ok(()));
            }
            Some(Some(Ok(event))) => assembler.feed(&event),
            Some(Some(Err(panic))) => break Some(Err(crashed(&*panic))),
            Some(None) => {
                let text = "the stream ended before the summary was complete";
                break Some(Err(Failure::new(FailureKind::Network, text)));
            }
        }
    };
    agent.meter.spend(&assembler.usage());
    ended.map(|ended| ended.and_then(|()| answer(assembler)))
}

fn answer(assembler: Assembler) -> Result<Answer, Failure> {
    let message = assembler.message();
    let text = message.text();
    match message.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            let why = message.error_message.unwrap_or_else(|| "the provider ended the answer".into());
            Err(Failure::new(FailureKind::Protocol, why))
        }
        _ if text.trim().is_empty() => {
            Err(Failure::new(FailureKind::Protocol, "the model answered without a summary"))
        }
        reason => Ok(Answer { text, usage: message.usage, cut_off: reason == StopReason::Length }),
    }
}

fn crashed(panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = format!("tau failed to read the summary: {}", panic_text(panic));
    Failure::new(FailureKind::Config, text).hint("this is a fault of tau; please report it")
}
