//! The formats of other programs: `/v1/chat/completions`, `/v1/responses`, `/v1/messages`, `/v1/models`.
//!
//! A request in one of them becomes a request to any model of this server, and its answer is written back in
//! the same format. What a format can say and tau cannot pass on is refused, so that nobody believes it holds:
//! forced tools, more than one answer, stop sequences, answers by a schema. Sampling settings but the
//! temperature are not passed on.

mod read;
mod read_chat;
mod read_messages;
mod read_responses;
pub(super) mod serve;
mod write_chat;
mod write_messages;
mod write_responses;

use serde_json::Value;

use tau_agent::provider::Failure;
use tau_protocol::event::Delta;
use tau_protocol::message::AssistantMessage;

pub(super) use read::ClientRequest;
use tau_tools::user_error::UserError;

/// A format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

impl Dialect {
    /// The request in this format. The error is what is wrong with it, or cannot be passed on.
    pub(super) fn read(self, body: &Value) -> Result<ClientRequest, UserError> {
        match self {
            Dialect::Chat => read_chat::read(body),
            Dialect::Responses => read_responses::read(body),
            Dialect::Messages => read_messages::read(body),
        }
    }

    /// Writes an answer in this format.
    pub(super) fn writer(self, facts: AnswerFacts) -> Box<dyn AnswerWriter> {
        match self {
            Dialect::Chat => Box::new(write_chat::ChatWriter::new(facts)),
            Dialect::Responses => Box::new(write_responses::ResponsesWriter::new(facts)),
            Dialect::Messages => Box::new(write_messages::MessagesWriter::new(facts)),
        }
    }
}

/// The text of a call's arguments; what is no JSON is as the model wrote it.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        _ => arguments.to_string(),
    }
}

/// The facts that an answer states about itself.
#[derive(Clone, Debug)]
pub(super) struct AnswerFacts {
    /// A unique word for its ids.
    pub(super) id: String,
    /// The model, as the client called it.
    pub(super) model: String,
    /// Seconds since 1970.
    pub(super) created: i64,
    /// Whether a chat stream ends with the usage.
    pub(super) with_usage: bool,
}

/// A line of an event stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) event: Option<&'static str>,
    pub(super) data: String,
}

impl Line {
    /// An event without a name.
    fn plain(data: &Value) -> Self {
        Line { event: None, data: data.to_string() }
    }

    /// An event whose name is also the `type` of its data.
    fn for_event(event: &'static str, data: &Value) -> Self {
        Line { event: Some(event), data: data.to_string() }
    }
}

/// Writes one answer: piece by piece, or whole.
pub(super) trait AnswerWriter: Send {
    /// The beginning of a stream.
    fn begin(&mut self) -> Vec<Line>;

    /// A piece.
    fn delta(&mut self, delta: &Delta) -> Vec<Line>;

    /// The signature of a block.
    fn signature(&mut self, content_index: usize, signature: &str, redacted: bool) -> Vec<Line>;

    /// The end of a stream.
    fn end(&mut self, message: &AssistantMessage) -> Vec<Line>;

    /// The end of a stream that failed.
    fn fail(&mut self, failure: &Failure) -> Vec<Line>;

    /// The answer as a whole.
    fn whole(&self, message: &AssistantMessage) -> Value;
}

#[cfg(test)]
mod tests;
