//! Makes a conversation valid for a model, whichever model it was held with.
//!
//! Pure. The result consists only of user, assistant and tool result messages, in an order that every
//! provider accepts: each call has exactly one result, directly after its turn. Signatures are kept for the
//! model that made them and dropped for all others. The same conversation and model always give the same
//! messages, so that provider caches hit.

pub(crate) mod call_ids;
mod user_messages;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use call_ids::CallIds;
use tau_protocol::extension::plain_name;
use tau_protocol::message::{AssistantMessage, Block, Message, StopReason, ToolCall, ToolResultMessage};
use tau_protocol::model::{Api, Model};
use tau_tools::{Content, Details};

/// The replacement for a missing result.
const INTERRUPTED: &str = "no result: the call was interrupted";

/// The replacement for a picture that the model cannot see.
const UNSEEN: &str = "(an image was here; this model does not take images)";

/// The maximum length of the name of a tool (OpenAI; others allow more).
const MAX_NAME_LEN: usize = 64;

/// The conversation in a form that `model` accepts.
pub fn for_model(messages: &[Arc<Message>], model: &Model) -> Vec<Arc<Message>> {
    let mut handoff =
        Handoff { model, ids: CallIds::new(model), out: Vec::new(), turn: Vec::new(), held: Vec::new() };
    for message in messages {
        match &**message {
            Message::Assistant(assistant) => handoff.assistant(assistant, message),
            Message::ToolResult(result) => handoff.result(result),
            other => {
                if let Some(user) = user_messages::user_message(other, message, model) {
                    handoff.user(user);
                }
            }
        }
    }
    handoff.settle();
    handoff.out
}

/// A call without its result yet.
struct Waiting {
    /// The id in the session.
    original: String,
    /// The id sent to the model.
    id: String,
    name: String,
    result: Option<Arc<Message>>,
    timestamp: i64,
}

struct Handoff<'a> {
    model: &'a Model,
    ids: CallIds,
    out: Vec<Arc<Message>>,
    /// The calls of the last turn, until all of them have results.
    turn: Vec<Waiting>,
    /// User messages between calls and their results.
    held: Vec<Arc<Message>>,
}

impl Handoff<'_> {
    fn user(&mut self, message: Arc<Message>) {
        if self.turn.is_empty() { self.out.push(message) } else { self.held.push(message) }
    }

    fn assistant(&mut self, message: &AssistantMessage, whole: &Arc<Message>) {
        self.settle();
        let broken = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
        let same = message.api == self.model.api
            && message.provider == self.model.provider
            && message.model == self.model.id;
        // Most messages are sent unchanged, and a long conversation is not copied for each request.
        let mut unchanged = same;
        let mut content = Vec::new();
        for (at, block) in message.content.iter().enumerate() {
            let kept = match block {
                Block::ToolCall(call) if broken && !call.arguments.is_object() => None,
                Block::ToolCall(call) => {
                    let (id, name) = (self.ids.valid(&call.id, same), valid_name(&call.name));
                    let is_kept =
                        unchanged && id == call.id && name == call.name && call.arguments.is_object();
                    self.turn.push(Waiting {
                        original: call.id.clone(),
                        id: id.clone(),
                        name: name.clone(),
                        result: None,
                        timestamp: message.timestamp,
                    });
                    if is_kept {
                        Some(Cow::Borrowed(block))
                    } else {
                        Some(Cow::Owned(Block::ToolCall(valid_call(call, id, name, same))))
                    }
                }
                other if unchanged && self.takes(other) => Some(Cow::Borrowed(other)),
                other => self.block(other, same).map(Cow::Owned),
            };
            let is_kept = matches!(kept, Some(Cow::Borrowed(_)));
            if unchanged && !is_kept {
                unchanged = false;
                content.extend(message.content.iter().take(at).cloned());
            }
            if !unchanged {
                content.extend(kept.map(Cow::into_owned));
            }
        }
        let sent = if unchanged { &message.content } else { &content };
        // Thinking alone is not an answer, and some providers refuse a message with nothing else.
        if sent.iter().all(|block| matches!(block, Block::Thinking { .. })) {
            return;
        }
        self.out.push(match unchanged {
            true => whole.clone(),
            false => Arc::new(Message::Assistant(AssistantMessage { content, ..without_content(message) })),
        });
    }

    /// Whether the model that wrote a block, which is not a call, accepts it unchanged.
    fn takes(&self, block: &Block) -> bool {
        match block {
            Block::Text { text, .. } => !text.trim().is_empty(),
            Block::Thinking { thinking, thinking_signature, redacted } => {
                self.thinks_again(thinking, thinking_signature.as_deref(), *redacted)
            }
            Block::ToolCall(_) | Block::Image { .. } | Block::Unknown(_) => false,
        }
    }

    /// A block that is not a call, if the model accepts it.
    fn block(&self, block: &Block, same: bool) -> Option<Block> {
        match block {
            Block::Text { text, .. } if text.trim().is_empty() => None,
            Block::Text { text, text_signature } => Some(Block::Text {
                text: text.clone(),
                text_signature: text_signature.clone().filter(|_| same),
            }),
            Block::Thinking { thinking, thinking_signature, redacted } => {
                let signature = thinking_signature.clone().filter(|_| same);
                self.thinks_again(thinking, signature.as_deref(), *redacted).then(|| Block::Thinking {
                    thinking: thinking.clone(),
                    thinking_signature: signature.clone(),
                    redacted: *redacted,
                })
            }
            Block::ToolCall(_) | Block::Image { .. } | Block::Unknown(_) => None,
        }
    }

    /// Whether thinking can be sent back. Other models' thinking is sent only where text without a signature
    /// is needed; it is never turned into visible text, which the model would imitate.
    fn thinks_again(&self, text: &str, signature: Option<&str>, redacted: bool) -> bool {
        let quirk = |name: &str| self.model.quirks.get(name).and_then(Value::as_bool) == Some(true);
        if signature.is_some() {
            return true;
        }
        if redacted || text.is_empty() {
            return false;
        }
        match self.model.api {
            Api::OpenaiCompletions => quirk("requires_reasoning_content_on_assistant_messages"),
            Api::AnthropicMessages => quirk("allow_empty_signature"),
            _ => false,
        }
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let open =
            |waiting: &&mut Waiting| waiting.result.is_none() && waiting.original == result.tool_call_id;
        // A result without a call is dropped, and so is a second one.
        let Some(waiting) = self.turn.iter_mut().find(open) else { return };
        let message = ToolResultMessage {
            tool_call_id: waiting.id.clone(),
            tool_name: waiting.name.clone(),
            content: visible_content(&result.content, self.model),
            // Details are only for display.
            details: Details::None,
            is_error: result.is_error,
            timestamp: result.timestamp,
            duration_ms: result.duration_ms,
            hooks: Vec::new(),
        };
        waiting.result = Some(Arc::new(Message::ToolResult(message)));
        if self.turn.iter().all(|waiting| waiting.result.is_some()) {
            self.settle();
        }
    }

    /// Ends a turn: results in the order of the calls, then the user messages in between.
    fn settle(&mut self) {
        for waiting in self.turn.drain(..) {
            let missing = || {
                Arc::new(Message::ToolResult(ToolResultMessage {
                    tool_call_id: waiting.id.clone(),
                    tool_name: waiting.name.clone(),
                    content: vec![Content::text(INTERRUPTED)],
                    details: Details::None,
                    is_error: true,
                    timestamp: waiting.timestamp,
                    duration_ms: None,
                    hooks: Vec::new(),
                }))
            };
            self.out.push(waiting.result.clone().unwrap_or_else(missing));
        }
        self.out.append(&mut self.held);
    }
}

/// The name of a tool in the alphabet and length that all providers accept. Models without a grammar for calls write any
/// name, and a provider refuses the whole conversation for it.
fn valid_name(name: &str) -> String {
    match name.is_empty() {
        true => "unknown".to_owned(),
        false => plain_name(&name.chars().take(MAX_NAME_LEN).collect::<String>()),
    }
}

/// A call with an id and a name that the model accepts. Arguments that are not a JSON object are wrapped in one, because
/// every format needs an object and the model should see its own text.
fn valid_call(call: &ToolCall, id: String, name: String, same: bool) -> ToolCall {
    let arguments = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        Value::String(raw) => json!({ "invalid_json": raw }),
        other => json!({ "invalid_json": other.to_string() }),
    };
    let thought_signature = call.thought_signature.clone().filter(|_| same);
    ToolCall { id, name, arguments, thought_signature }
}

/// The message without its content, which is not copied.
fn without_content(message: &AssistantMessage) -> AssistantMessage {
    AssistantMessage {
        content: Vec::new(),
        api: message.api,
        provider: message.provider.clone(),
        model: message.model.clone(),
        usage: message.usage,
        stop_reason: message.stop_reason,
        error_message: message.error_message.clone(),
        response_id: message.response_id.clone(),
        timestamp: message.timestamp,
    }
}

/// Content with notes replacing pictures that the model cannot see.
fn visible_content(content: &[Content], model: &Model) -> Vec<Content> {
    let hidden = |content: &Content| matches!(content, Content::Image { .. }) && !model.sees();
    content.iter().map(|part| if hidden(part) { Content::text(UNSEEN) } else { part.clone() }).collect()
}
