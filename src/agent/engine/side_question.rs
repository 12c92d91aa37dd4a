//! Side questions: the model answers beside the run, from the same conversation, without tools.
//!
//! The request has the same beginning as those of the run, so that the provider's cache is shared. Question and
//! answer are no part of the conversation; only what they cost is in the session.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::hooks::Hooks;
use super::refused_parts;
use super::state::Engine;
use crate::catalogue::keys::KeySource;
use crate::engine::base::clock::now;
use crate::engine::base::fitted_pictures::{FittedPictures, has_pictures};
use crate::engine::base::panics::catch_panic;
use crate::engine::base::side_place::{MAX_QUESTIONS, SideNews};
use crate::engine::queries::session_usage;
use crate::provider::assemble::Assembler;
use crate::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tau_protocol::event::{Delta, TaskEvent};
use tau_protocol::message::{Message, StopReason, ToolResultMessage, Usage, UserContent, UserMessage};
use tau_tools::{Content, Details};

/// The error of a question that was stopped.
const STOPPED: &str = "stopped";

/// Asks the model beside the run.
pub(crate) fn ask(engine: &mut Engine, id: String, question: &str) {
    let refusal = match () {
        () if engine.config.model.is_none() => Some("no model selected; choose one with /model".to_owned()),
        () if question.trim().is_empty() => Some("nothing to ask".to_owned()),
        () if engine.side.is_full() => Some(format!("{MAX_QUESTIONS} side questions are already open")),
        () => engine.meters.used.spent_limit().map(|limit| limit.why),
    };
    let Some(model) = engine.config.model.clone().filter(|_| refusal.is_none()) else {
        return engine.emit(TaskEvent::SideAnswerEnded { id, usage: Usage::default(), error: refusal });
    };
    engine.load_context();
    let context = engine.config.session.context().messages;
    let mut messages = refused_parts::messages_for_model(&context, &model, None);
    messages.extend(open_calls(&messages));
    messages.push(prompt(question));
    let thinking = refused_parts::level(engine.thinking(), &context, &model, None);
    let request = engine.request(&model, messages, thinking);
    let config = &engine.config;
    let asking = Asking {
        id: id.clone(),
        request,
        keys: Arc::clone(&config.keys),
        transport: Arc::clone(&config.transport),
        hooks: config.behavior.hooks.clone(),
        pictures: Arc::clone(&engine.pictures),
    };
    engine.side.start(id, |pieces, stop| asking.run(pieces, stop));
}

/// Reports news of a side question, and counts what it cost.
pub(crate) fn report(engine: &mut Engine, news: SideNews) {
    match news {
        SideNews::Delta { id, text } => engine.emit(TaskEvent::SideAnswer { id, text }),
        SideNews::Ended { id, usage, error } => {
            if usage != Usage::default() {
                session_usage::meter_usage(engine, &usage);
                let saved = engine.config.session.append_usage(json!(usage));
                engine.report_save_result(saved);
            }
            engine.emit(TaskEvent::SideAnswerEnded { id, usage, error });
        }
    }
}

/// Ends all side questions and counts what they have cost, because the session is left. One that is stopped ends at
/// once.
pub(crate) async fn end_all(engine: &mut Engine) {
    engine.side.stop_all();
    while !engine.side.is_empty() {
        let news = engine.side.next().await;
        report(engine, news);
    }
}

fn prompt(question: &str) -> Arc<Message> {
    let text = format!(
        "[tau] A question of the user beside the work. Answer it from what you know, briefly, and call no tool. \
         Then the work continues as if it had not been asked.\n\n{question}"
    );
    let message = UserMessage { timestamp: now(), ..UserMessage::new(UserContent::Text(text)) };
    Arc::new(Message::User(message))
}

/// Results for the calls at the end of the conversation that are still running.
fn open_calls(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let answered: HashSet<&str> = messages
        .iter()
        .filter_map(|message| match message.as_ref() {
            Message::ToolResult(result) => Some(result.tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    let last = messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer),
        _ => None,
    });
    let open = last.into_iter().flat_map(|answer| answer.tool_calls());
    let open = open.filter(|call| !answered.contains(call.id.as_str()));
    let result = |(id, name): (String, String)| {
        Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: id,
            tool_name: name,
            content: vec![Content::text("this call is still running")],
            details: Details::None,
            is_error: false,
            timestamp: now(),
            duration_ms: None,
            hooks: Vec::new(),
        }))
    };
    open.map(|call| (call.id.clone(), call.name.clone())).map(result).collect()
}

/// A request with all that it needs.
struct Asking {
    id: String,
    request: ModelRequest,
    keys: Arc<dyn KeySource>,
    transport: Arc<dyn Transport>,
    hooks: Hooks,
    pictures: Arc<FittedPictures>,
}

impl Asking {
    async fn run(self, pieces: mpsc::UnboundedSender<SideNews>, stop: CancellationToken) -> SideNews {
        let id = self.id.clone();
        let mut assembler = Assembler::new(&self.request.model, now());
        let sent = session_usage::of_request(&self.request);
        let work = catch_panic(self.stream(pieces, stop.clone(), &mut assembler));
        let error = match stop.run_until_cancelled(work).await {
            None => Some(STOPPED.to_owned()),
            Some(Err(panic)) => Some(format!("tau crashed while reading the answer: {panic}")),
            Some(Ok(Err(failure))) => Some(failure.to_string()),
            Some(Ok(Ok(()))) => None,
        };
        session_usage::estimate_missing(&mut assembler, sent);
        let usage = assembler.usage();
        let message = assembler.message();
        let error = error.or_else(|| match message.stop_reason {
            StopReason::Error | StopReason::Aborted => Some(
                message.error_message.clone().unwrap_or_else(|| "the provider ended the answer".to_owned()),
            ),
            _ if message.text().trim().is_empty() => Some("the model gave no answer in words".to_owned()),
            _ => None,
        });
        SideNews::Ended { id, usage, error }
    }

    async fn stream(
        self,
        pieces: mpsc::UnboundedSender<SideNews>,
        stop: CancellationToken,
        assembler: &mut Assembler,
    ) -> Result<(), Failure> {
        let Asking { id, mut request, keys, transport, hooks, pictures } = self;
        request.key = keys.key(&request.model).await?;
        let messages = hooks.apply(std::mem::take(&mut request.messages), Arc::clone(&request.model)).await?;
        request.messages = match request.model.sees() && has_pictures(&messages) {
            true => {
                let fitted = spawn_blocking(move || pictures.fit(messages)).await;
                fitted.map_err(|error| Failure::new(FailureKind::Config, error.to_string()))?
            }
            false => messages,
        };
        let mut events = transport.stream(request, stop);
        while let Some(event) = events.next().await {
            if let StreamEvent::Failed(failure) = event {
                return Err(failure);
            }
            let is_over = matches!(event, StreamEvent::Stop(_));
            match assembler.take(event) {
                Some(Delta::TextDelta { delta, .. }) if !delta.is_empty() => {
                    // The receiver lives as long as this future does.
                    let _ = pieces.send(SideNews::Delta { id: id.clone(), text: delta });
                }
                _ => {}
            }
            if is_over {
                return Ok(());
            }
        }
        let text = "the stream ended before the answer was complete";
        Err(Failure::new(FailureKind::Network, text))
    }
}
