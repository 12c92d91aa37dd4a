//! Sends a request to the model and reads its answer, guarded against panics.
//!
//! The only place where a request is sent; answers, compactions and branch summaries all use it.

use std::sync::Arc;

use futures_util::StreamExt;
use tokio::task::spawn_blocking;

use super::attend::attend_unless_stopped;
use super::hooks::Hooks;
use super::state::Engine;
use crate::engine::base::fitted_pictures::{UnseenPictures, count_pictures, has_pictures};
use crate::engine::base::panics::{catch_panic, catch_stream_panic};
use crate::engine::base::spending::SpentLimit;
use crate::engine::queries::session_usage;
use crate::provider::assemble::Assembler;
use crate::provider::{Failure, FailureKind, ModelRequest, StreamEvent};
use tau_protocol::event::NoticeLevel;
use tau_protocol::message::Message;
use tau_protocol::model::Model;
use tau_tools::counted::pluralize;

/// The maximum number of stream events taken at once, if they have already arrived.
const CHUNK: usize = 128;

/// The outcome of a request.
pub(crate) enum ExchangeEnd {
    Complete,
    /// The run is to stop.
    Stopped,
    /// It was not sent: money or tokens are used up.
    Limited(SpentLimit),
    Failed(Failure),
}

/// A request, and the receiver of its answer.
pub(crate) trait Exchange {
    fn engine(&mut self) -> &mut Engine;

    /// The model to ask.
    fn model(&self) -> Arc<Model>;

    /// The messages to send, and the hooks they go through first.
    fn messages(&self) -> (Vec<Arc<Message>>, Option<Hooks>);

    /// The request with these messages, without a key. Built last, so that settings that changed in the
    /// meantime apply.
    fn request(&mut self, messages: Vec<Arc<Message>>) -> ModelRequest;

    /// Handles the next event of the answer.
    fn receive(&mut self, event: StreamEvent);

    /// The answer received so far.
    fn answer(&mut self) -> &mut Assembler;

    /// The name of the answer in error messages.
    const ANSWER: &'static str;
}

/// Sends a request and reads the answer to its end.
pub(crate) async fn send<E: Exchange>(exchange: &mut E) -> ExchangeEnd {
    let request = match prepare(exchange).await {
        None => return ExchangeEnd::Stopped,
        Some(Ok(request)) => request,
        Some(Err(failure)) => return ExchangeEnd::Failed(failure),
    };
    // No wait lies between this and the request.
    if let Some(limit) = exchange.engine().meters.used.spent_limit() {
        return ExchangeEnd::Limited(limit);
    }
    let sent = session_usage::of_request(&request);
    let end = match receive(exchange, request).await {
        None => ExchangeEnd::Stopped,
        Some(Ok(())) => ExchangeEnd::Complete,
        Some(Err(failure)) => ExchangeEnd::Failed(failure),
    };
    session_usage::estimate_missing(exchange.answer(), sent);
    end
}

/// The request with everything that it needs; `None` when the run is to stop.
async fn prepare<E: Exchange>(exchange: &mut E) -> Option<Result<ModelRequest, Failure>> {
    let (keys, model) = (exchange.engine().config.keys.clone(), exchange.model());
    let key = match attend_unless_stopped(exchange.engine(), async move { keys.key(&model).await }).await? {
        Ok(key) => key,
        Err(failure) => return Some(Err(failure)),
    };
    let model = exchange.model();
    let messages = match exchange.messages() {
        (messages, None) => messages,
        (messages, Some(hooks)) => {
            // The hooks replace them with notes.
            report_unseen_pictures(exchange.engine(), &model, &messages);
            let hooked = hooks.apply(messages, exchange.model());
            match attend_unless_stopped(exchange.engine(), hooked).await? {
                Ok(messages) => messages,
                Err(failure) => return Some(Err(failure)),
            }
        }
    };
    let messages = if model.sees() && has_pictures(&messages) {
        let pictures = Arc::clone(&exchange.engine().pictures);
        let fitted = spawn_blocking(move || pictures.fit(messages));
        match attend_unless_stopped(exchange.engine(), fitted).await? {
            Ok(messages) => messages,
            Err(error) => return Some(Err(crash_failure("pictures", &error.to_string()))),
        }
    } else {
        messages
    };
    Some(Ok(ModelRequest { key, ..exchange.request(messages) }))
}

/// Sends the request and reads the answer; `None` when the run is to stop.
async fn receive<E: Exchange>(exchange: &mut E, request: ModelRequest) -> Option<Result<(), Failure>> {
    let transport = exchange.engine().config.transport.clone();
    let cancel = exchange.engine().current.stop.child_token();
    let stream = match catch_panic(async { transport.stream(request, cancel) }).await {
        Ok(stream) => stream,
        Err(panic) => return Some(Err(crash_failure(E::ANSWER, &panic))),
    };
    let mut events = catch_stream_panic(stream).ready_chunks(CHUNK);
    loop {
        let Some(chunk) = attend_unless_stopped(exchange.engine(), events.next()).await? else {
            let text = format!("the stream ended before the {} was complete", E::ANSWER);
            return Some(Err(Failure::new(FailureKind::Network, text)));
        };
        for event in chunk {
            let event = match event {
                Ok(event) => event,
                Err(panic) => return Some(Err(crash_failure(E::ANSWER, &panic))),
            };
            let end = match &event {
                StreamEvent::Stop(_) => Some(Ok(())),
                StreamEvent::Failed(failure) => Some(Err(failure.clone())),
                _ => None,
            };
            exchange.receive(event);
            if let Some(end) = end {
                return Some(end.and_then(|()| check_not_empty(exchange.answer())));
            }
        }
    }
}

/// Tells the user that pictures are left out, because the model is not known to take them: those that it was
/// not told of before, and all of them after a change of the model.
fn report_unseen_pictures(engine: &mut Engine, model: &Model, messages: &[Arc<Message>]) {
    let count = if model.sees() { 0 } else { count_pictures(messages) };
    let told = std::mem::take(&mut engine.conversation.unseen_pictures);
    let known = if told.model == model.reference() { told.count } else { 0 };
    if count > known {
        let text =
            format!("{} not sent: {} may not accept images", pluralize(count - known, "picture"), model.id);
        engine.notice(NoticeLevel::Warning, text, Some(&model.picture_advice()));
    }
    engine.conversation.unseen_pictures = UnseenPictures { model: model.reference(), count };
}

/// Refuses an answer without content or usage: some servers end the stream properly when they
/// fail.
fn check_not_empty(answer: &Assembler) -> Result<(), Failure> {
    if answer.is_empty() && answer.usage().total_tokens == 0 {
        return Err(Failure::new(FailureKind::Protocol, "the provider sent an empty answer"));
    }
    Ok(())
}

fn crash_failure(answer: &str, panic: &str) -> Failure {
    let text = format!("tau crashed while reading the {answer}: {panic}");
    Failure::new(FailureKind::Config, text).hint("this is a bug in tau; please report it")
}
