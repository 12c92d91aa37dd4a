//! Has the session's model answer what an MCP server asks it, once the user has agreed.
//!
//! The request is one of its own beside the conversation: nothing of that is sent along. It ends when nobody
//! waits for the answer any more.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::clock::now;
use super::panics::guarded_stream;
use super::state::Engine;
use crate::agent::context::compaction::size;
use crate::agent::extensions::mcp::sampling::{SampleRequest, Sampled, spent};
use crate::agent::protocol::event::NoticeLevel;
use crate::agent::protocol::message::{AssistantMessage, Block, Message, StopReason, Usage, UserMessage};
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::agent::provider::assemble::Assembler;
use crate::agent::provider::key_source::KeySource;
use crate::agent::provider::{ModelRequest, StreamEvent, Transport};

/// Longest wait for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(300);

/// Asks the model in the background.
pub(crate) fn answer(engine: &mut Engine, request: SampleRequest, answer: oneshot::Sender<Sampled>) {
    let asking = match prepared(engine, request) {
        Ok(asking) => asking,
        Err(why) => {
            // The server may be gone.
            let _ = answer.send(Err(why));
            return;
        }
    };
    tokio::spawn(async move {
        let mut answer = answer;
        let cancel = CancellationToken::new();
        let sampled = tokio::select! {
            sampled = timeout(ANSWER_TIME, asking.ask(cancel.clone())) => sampled,
            () = answer.closed() => return cancel.cancel(),
        };
        cancel.cancel();
        let late = || format!("the model did not answer within {} seconds", ANSWER_TIME.as_secs());
        // The server may be gone.
        let _ = answer.send(sampled.unwrap_or_else(|_| Err(late())));
    });
}

/// Takes what an answer has used, and tells the user.
pub(crate) fn answered(engine: &mut Engine, server: &str, answer: &AssistantMessage) {
    engine.meters.used.spend(&answer.usage);
    let saved = engine.config.session.append_usage("sampling", answer, &format!("MCP server {server}"));
    engine.saved(saved);
    engine.notice(NoticeLevel::Info, spent(server, &answer.usage), None);
}

/// A request that can be sent.
struct Asking {
    transport: Arc<dyn Transport>,
    keys: Arc<dyn KeySource>,
    request: ModelRequest,
}

/// The request to the model in use, with secrets masked.
///
/// # Errors
/// Why it is not sent, for the server.
fn prepared(engine: &mut Engine, request: SampleRequest) -> Result<Asking, String> {
    let Some(model) = engine.config.model.clone() else { return Err("no model is selected".to_owned()) };
    if engine.meters.used.exceeded(&engine.config.limits).is_some() {
        return Err("the run has reached its limit".to_owned());
    }
    let SampleRequest { system, messages, max_tokens, temperature, .. } = request;
    let vault = &mut engine.config.behavior.masking.vault;
    let mut masked = |text: String| vault.mask(&text).unwrap_or(text);
    let system = masked(system);
    let messages: Vec<(bool, String)> =
        messages.into_iter().map(|(is_answer, text)| (is_answer, masked(text))).collect();
    let wanted = u64::from(max_tokens);
    let max_tokens = if model.max_tokens == 0 { wanted } else { wanted.min(model.max_tokens) };
    let texts = messages.iter().map(|(_, text)| size::of_text(text)).sum::<u64>() + size::of_text(&system);
    if model.context_window > 0 && texts + max_tokens > model.context_window {
        return Err("the request is larger than the context window of the model".to_owned());
    }
    let message = |(is_answer, text): (bool, String)| Arc::new(message(&model, is_answer, text));
    let request = ModelRequest {
        system: system.into(),
        messages: messages.into_iter().map(message).collect(),
        key: None,
        tools: [].into(),
        thinking: model.nearest(ThinkingLevel::Off),
        max_tokens: Some(max_tokens),
        temperature: temperature.map(f64::from),
        session_id: engine.config.session.info().id.clone(),
        model,
    };
    Ok(Asking { transport: engine.config.transport.clone(), keys: engine.config.keys.clone(), request })
}

fn message(model: &Model, is_answer: bool, text: String) -> Message {
    if !is_answer {
        return Message::User(UserMessage { timestamp: now(), ..UserMessage::from(text) });
    }
    Message::Assistant(AssistantMessage {
        content: vec![Block::text(text)],
        api: model.api,
        provider: model.provider.clone(),
        model: model.id.clone(),
        usage: Usage::default(),
        stop_reason: StopReason::Stop,
        error_message: None,
        response_id: None,
        timestamp: now(),
    })
}

impl Asking {
    /// Sends the request and reads the answer to its end.
    async fn ask(self, cancel: CancellationToken) -> Sampled {
        let Asking { transport, keys, mut request } = self;
        let model = request.model.clone();
        request.key = keys.key(&model).await.map_err(|failure| failure.to_string())?;
        let mut assembler = Assembler::new(&model, now());
        let mut events = std::pin::pin!(guarded_stream(transport.stream(request, cancel)));
        while let Some(event) = events.next().await {
            let event = event.map_err(|panic| format!("tau crashed while reading the answer: {panic}"))?;
            match &event {
                StreamEvent::Failed(failure) => return Err(failure.to_string()),
                StreamEvent::Stop(_) => {
                    assembler.feed(&event);
                    return Ok(assembler.message());
                }
                _ => assembler.feed(&event),
            }
        }
        Err("the stream ended before the answer was complete".to_owned())
    }
}
