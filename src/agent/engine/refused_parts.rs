//! Leaves parts of a conversation that a provider refuses out of later requests.
//!
//! Providers refuse a request for something in its history: a picture, a signature of thinking, a reasoning
//! item, the id of a call. Each later request has the same history, so the session would never be answered
//! again. Refused parts are left out for that model; parts that come later are sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::engine::base::clock::now;
use crate::provider::{Failure, FailureKind};
use tau_protocol::message::{
    AssistantMessage, Block, CustomMessage, Message, ToolResultMessage, UserContent, UserMessage,
};
use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::Content;

/// The type of the message that leaves refused parts out of everything before it.
const NOTE: &str = "tau.refused_parts";
/// The replacement for a picture.
const PICTURE: &str = "(an image was here; the provider refused it)";

/// A kind of part that requests can do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Part {
    Pictures,
    /// Thinking, its signatures, and the ids of items that belong to it.
    Reasoning,
    /// The model's own ids of calls.
    CallIds,
}

/// Words in errors that name a kind of part, in lower case.
const WORDS: [(Part, &[&str]); 3] = [
    (
        Part::Pictures,
        tau_tools::words!(
            "image picture photo media vision modal inline_data inlinedata base64 pixel document"
        ),
    ),
    (
        Part::Reasoning,
        &["thinking", "thought", "signature", "reasoning", "encrypted", "redacted", "decrypt", "rs_"],
    ),
    (
        Part::CallIds,
        &[
            "tool_use", "tool_call", "tool call", "tool use", "tool_result", "tool result", "function call",
            "function_call", "call_id", "call id", "toolu", "fc_", "duplicate", "unique",
        ],
    ),
];

/// Words in errors about a part that is refused each time, whatever the kind of the error says.
const LASTING: [&str; 18] = [
    "support", "failed to load", "decod", "not process", "unable to process", "identify", "invalid",
    "not valid", "not enabled", "not allowed", "may be provided", "verified", "flagged", "too large",
    "too small", "required for image", "embedding from", "format",
];

/// Words in errors about a server that is busy: nothing in the request is the reason.
const BUSY: [&str; 7] = ["overload", "busy", "unavailable", "try again", "timeout", "timed out", "capacity"];

/// Words in errors about a wrong key, some of which mention a signature.
const KEYS: [&str; 4] = ["key", "token", "credential", "request signature"];

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Part::Pictures => "pictures",
            Part::Reasoning => "earlier thinking",
            Part::CallIds => "the ids of earlier tool calls",
        }
    }

    /// Whether a message has such a part.
    fn is_in(self, message: &Message) -> bool {
        let is_picture = |block: &Block| matches!(block, Block::Image { .. });
        match (self, message) {
            (Part::Pictures, Message::User(UserMessage { content, .. })) => has_block(content, is_picture),
            (Part::Pictures, Message::Custom(custom)) => has_block(&custom.content, is_picture),
            (Part::Pictures, Message::ToolResult(result)) => {
                result.content.iter().any(|part| matches!(part, Content::Image { .. }))
            }
            (Part::Reasoning, Message::Assistant(answer)) => answer.content.iter().any(|block| match block {
                Block::Thinking { .. } => true,
                Block::Text { text_signature, .. } => text_signature.is_some(),
                Block::ToolCall(call) => call.thought_signature.is_some(),
                _ => false,
            }),
            (Part::CallIds, Message::Assistant(answer)) => answer.tool_calls().next().is_some(),
            _ => false,
        }
    }
}

fn has_block(content: &UserContent, is: impl Fn(&Block) -> bool) -> bool {
    matches!(content, UserContent::Blocks(blocks) if blocks.iter().any(is))
}

/// The kinds of part that an error names.
fn parts_named(failure: &Failure) -> impl Iterator<Item = Part> {
    let lower = failure.message.to_lowercase().replace("documentation", "");
    let named = move |(_, words): &(Part, &[&str])| words.iter().any(|word| lower.contains(word));
    WORDS.into_iter().filter(named).map(|(part, _)| part)
}

/// The parts of a conversation that a provider refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedParts {
    provider: String,
    model: String,
    parts: Vec<Part>,
}

impl RefusedParts {
    /// The parts of these messages to leave out after this failure: those it names, or all if it names none.
    /// `None` if nothing in the messages can be the reason. After a request without the parts `before`, only what
    /// it names in addition. `is_last` when nothing else is left to try.
    pub(crate) fn of(
        failure: &Failure,
        messages: &[Arc<Message>],
        model: &Model,
        before: Option<&RefusedParts>,
        is_last: bool,
    ) -> Option<Self> {
        let messages = without(messages, model).0;
        let before = before.map_or(&[][..], |before| &before.parts);
        let has = |part: &Part| {
            !before.contains(part)
                && (*part != Part::Pictures || model.sees())
                && messages.iter().any(|message| part.is_in(message))
        };
        let lower = failure.message.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let named: Vec<Part> = parts_named(failure).filter(has).collect();
        let content = |named: Vec<Part>| named.into_iter().filter(|part| *part != Part::CallIds).collect();
        let parts = match failure.kind {
            FailureKind::Request if named.is_empty() && before.is_empty() => {
                WORDS.map(|(part, _)| part).into_iter().filter(has).collect()
            }
            FailureKind::Request => named,
            // Pictures weigh most, in tokens and bytes.
            FailureKind::Overflow => Some(Part::Pictures).into_iter().filter(has).collect(),
            // Servers report this with any status.
            FailureKind::Overloaded | FailureKind::Protocol
                if !says(&BUSY) && (is_last || says(&LASTING)) =>
            {
                named
            }
            FailureKind::Auth if says(&LASTING) && !says(&KEYS) => content(named),
            FailureKind::NotFound if says(&LASTING) || lower.contains("item") => content(named),
            FailureKind::Refused => named.into_iter().filter(|part| *part == Part::Pictures).collect(),
            FailureKind::Auth
            | FailureKind::NotFound
            | FailureKind::RateLimit
            | FailureKind::Overloaded
            | FailureKind::Network
            | FailureKind::Timeout
            | FailureKind::Protocol
            | FailureKind::Config
            | FailureKind::Aborted => return None,
        };
        let parts = if parts.is_empty() { parts } else { [before, &parts].concat() };
        let refused = RefusedParts { provider: model.provider.clone(), model: model.id.clone(), parts };
        (!refused.parts.is_empty()).then_some(refused)
    }

    /// Whether this failure is about one of them.
    pub(crate) fn are_named_in(&self, failure: &Failure) -> bool {
        parts_named(failure).any(|part| self.parts.contains(&part))
    }

    /// The names of its kinds.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| part.name()).collect();
        names.join(" and ")
    }

    /// The message that leaves them out of everything before it.
    pub(crate) fn note(&self) -> Message {
        let text = format!("[tau] The provider refused {} of the conversation up to here.", self.names());
        Message::Custom(CustomMessage::new_hidden(
            NOTE,
            format!("{text} They are left out."),
            Some(json!(self)),
            now(),
        ))
    }

    fn concerns(&self, model: &Model) -> bool {
        self.provider == model.provider && self.model == model.id
    }

    fn from_note(message: &Message) -> Option<Self> {
        let Message::Custom(note) = message else { return None };
        let details = note.details.as_ref().filter(|_| note.custom_type == NOTE)?;
        Self::deserialize(details).ok()
    }
}

/// The conversation without the parts that this model has refused, and without `more` anywhere.
pub(crate) fn messages_for_model(
    messages: &[Arc<Message>],
    model: &Model,
    more: Option<&RefusedParts>,
) -> Vec<Arc<Message>> {
    let messages = without(messages, model).0;
    more.map_or_else(|| messages.clone(), |more| strip_parts(&messages, &more.parts))
}

/// The level at which the model can think about its request: models that think between calls need the
/// thinking before the calls that were just answered, so without it they do not think.
pub(crate) fn level(
    level: ThinkingLevel,
    messages: &[Arc<Message>],
    model: &Model,
    more: Option<&RefusedParts>,
) -> ThinkingLevel {
    let answers_calls = |message: &&Arc<Message>| matches!(message.as_ref(), Message::ToolResult(_));
    let can_stop = model.thinking_levels.get(&ThinkingLevel::Off) != Some(&None);
    if !can_stop || messages.last().filter(answers_calls).is_none() {
        return level;
    }
    let is_bare =
        more.is_some_and(|more| more.parts.contains(&Part::Reasoning)) || without(messages, model).1;
    if is_bare { ThinkingLevel::Off } else { level }
}

/// The messages without the parts that notes in them name; also returns whether reasoning after the last user
/// message was removed.
fn without(messages: &[Arc<Message>], model: &Model) -> (Vec<Arc<Message>>, bool) {
    let noted =
        |message: &Arc<Message>| RefusedParts::from_note(message).filter(|refused| refused.concerns(model));
    if !messages.iter().any(|message| noted(message).is_some()) {
        return (messages.to_vec(), false);
    }
    let mut out: Vec<Arc<Message>> = Vec::new();
    let mut is_bare = false;
    for message in messages {
        match noted(message) {
            Some(refused) => {
                out = strip_parts(&out, &refused.parts);
                is_bare = refused.parts.contains(&Part::Reasoning);
            }
            None => is_bare &= !matches!(message.as_ref(), Message::Assistant(_)),
        }
        out.push(Arc::clone(message));
    }
    (out, is_bare)
}

fn strip_parts(messages: &[Arc<Message>], parts: &[Part]) -> Vec<Arc<Message>> {
    let mut answers = 0_usize;
    let strip = |message: &Arc<Message>| {
        let mut message = Arc::clone(message);
        if matches!(message.as_ref(), Message::Assistant(_)) {
            answers += 1;
        }
        let is_result = matches!(message.as_ref(), Message::ToolResult(_));
        for part in parts {
            if part.is_in(&message) || (*part == Part::CallIds && is_result) {
                strip_part(Arc::make_mut(&mut message), *part, answers);
            }
        }
        message
    };
    messages.iter().map(strip).collect()
}

/// Removes a part from a message; `answers` is the number of answers up to here.
fn strip_part(message: &mut Message, part: Part, answers: usize) {
    match (part, message) {
        (Part::Pictures, Message::User(user)) => hide_pictures(&mut user.content),
        (Part::Pictures, Message::Custom(custom)) => hide_pictures(&mut custom.content),
        (Part::Pictures, Message::ToolResult(ToolResultMessage { content, .. })) => {
            for part in content.iter_mut().filter(|part| matches!(part, Content::Image { .. })) {
                *part = Content::text(PICTURE);
            }
        }
        (Part::Reasoning, Message::Assistant(answer)) => strip_reasoning(answer),
        (Part::CallIds, Message::Assistant(answer)) => {
            for block in &mut answer.content {
                if let Block::ToolCall(call) = block {
                    call.id = format!("call{answers}_{}", call.id);
                }
            }
        }
        // A result follows the answer with its call.
        (Part::CallIds, Message::ToolResult(result)) => {
            result.tool_call_id = format!("call{answers}_{}", result.tool_call_id);
        }
        _ => {}
    }
}

fn hide_pictures(content: &mut UserContent) {
    let UserContent::Blocks(blocks) = content else { return };
    for block in blocks.iter_mut().filter(|block| matches!(block, Block::Image { .. })) {
        *block = Block::text(PICTURE);
    }
}

/// Removes signatures. Thinking stays for models that need it back as text, which the hand-off decides.
fn strip_reasoning(answer: &mut AssistantMessage) {
    answer.content.retain(|block| !matches!(block, Block::Thinking { redacted: true, .. }));
    for block in &mut answer.content {
        match block {
            Block::Thinking { thinking_signature: signature, .. }
            | Block::Text { text_signature: signature, .. } => {
                *signature = None;
            }
            Block::ToolCall(call) => call.thought_signature = None,
            _ => {}
        }
    }
    // Treated like another model's answer: no id of an item is sent back either.
    answer.model.clear();
}
