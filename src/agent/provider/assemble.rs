//! Folds stream events into an assistant message; pure, O(1) per delta.
//!
//! Omissions of providers are repaired here, on entry: calls without an id get one, duplicate ids are
//! changed, usage is priced. Nothing here knows a wire format.

use std::collections::{BTreeMap, HashSet};

use super::{Failure, FailureKind, StreamEvent, inline_thinking, partial_json};
use tau_protocol::event::Delta;
use tau_protocol::message::{AssistantMessage, Block, StopReason, ToolCall, Usage};
use tau_protocol::model::{Api, Model};

/// A block in flight.
#[derive(Clone, Debug)]
enum Slot {
    Text {
        text: String,
        signature: Option<String>,
    },
    Thinking {
        text: String,
        signature: Option<String>,
        redacted: bool,
    },
    /// `complete` once the call has ended; before that the arguments are text.
    Call {
        id: String,
        name: String,
        text: String,
        complete: Option<serde_json::Value>,
        signature: Option<String>,
    },
}

/// An assistant message in flight.
#[derive(Debug, Default)]
pub struct Assembler {
    model: Model,
    timestamp: i64,
    slots: BTreeMap<usize, Slot>,
    taken: HashSet<String>,
    usage: Usage,
    response_id: Option<String>,
    stop: Option<StopReason>,
    failure: Option<Failure>,
}

impl Assembler {
    /// An empty message of `model`, begun at `timestamp` (milliseconds since 1970).
    pub fn new(model: &Model, timestamp: i64) -> Self {
        Self::with_call_ids(model, timestamp, HashSet::new())
    }

    /// Like [`Assembler::new`], in a conversation where the call ids in `taken` are in use.
    pub fn with_call_ids(model: &Model, timestamp: i64, taken: HashSet<String>) -> Self {
        Assembler {
            model: Model { quirks: serde_json::Map::new(), ..model.clone() },
            timestamp,
            taken,
            ..Assembler::default()
        }
    }

    /// Handles the next event. Tool calls whose arguments do not parse keep them as a string.
    pub fn feed(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Delta(delta) => self.delta(delta),
            StreamEvent::Signature { content_index, signature, redacted } => {
                self.sign(*content_index, signature, *redacted);
            }
            StreamEvent::Usage(usage) => self.usage = self.usage_with_cost(*usage),
            StreamEvent::ResponseId(id) => self.response_id = Some(id.clone()),
            StreamEvent::Thinking | StreamEvent::Silent { .. } | StreamEvent::Plan(_) => {}
            StreamEvent::Stop(reason) => self.stop = Some(*reason),
            StreamEvent::Failed(failure) => self.failure = Some(failure.clone()),
        }
    }

    /// Handles the next event and returns its delta for listeners: with the id of the call in the message,
    /// and with the entire text at the end of a block.
    pub fn take(&mut self, event: StreamEvent) -> Option<Delta> {
        self.feed(&event);
        let StreamEvent::Delta(mut delta) = event else { return None };
        match &mut delta {
            Delta::ToolCallStart { content_index, id, .. } => {
                if let Some(Slot::Call { id: counted, .. }) = self.slots.get(content_index) {
                    id.clone_from(counted);
                }
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                if let Some(Slot::Call { id: counted, .. }) = self.slots.get(content_index) {
                    tool_call.id.clone_from(counted);
                }
            }
            Delta::TextEnd { content_index, content } | Delta::ThinkingEnd { content_index, content } => {
                if let Some(text) = self.slots.get_mut(content_index).map(Slot::text) {
                    content.clone_from(text);
                }
            }
            _ => {}
        }
        Some(delta)
    }

    /// Usage so far, priced.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes these numbers of tokens as the usage, which the provider has not reported. Scripted answers use none.
    pub(crate) fn estimate(&mut self, sent: u64, received: u64) {
        if self.model.api == Api::Scripted {
            return;
        }
        let usage = Usage { input: sent, output: received, estimated: true, ..Usage::default() };
        self.usage = self.usage_with_cost(usage);
    }

    /// The failure of the answer, if any.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Whether nothing of the answer has arrived.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::TextStart { content_index } => {
                self.slots.insert(*content_index, Slot::Text { text: String::new(), signature: None });
            }
            Delta::ThinkingStart { content_index } => {
                let slot = Slot::Thinking { text: String::new(), signature: None, redacted: false };
                self.slots.insert(*content_index, slot);
            }
            Delta::ToolCallStart { content_index, id, tool_name } => {
                self.begin_call(*content_index, id, tool_name);
            }
            Delta::TextDelta { content_index, delta }
            | Delta::ThinkingDelta { content_index, delta }
            | Delta::ToolCallDelta { content_index, delta } => {
                if let Some(text) = self.slots.get_mut(content_index).map(Slot::text) {
                    text.push_str(delta);
                }
            }
            // The joined deltas are the content; this is used if there were no deltas.
            Delta::TextEnd { content_index, content } | Delta::ThinkingEnd { content_index, content } => {
                if let Some(text) =
                    self.slots.get_mut(content_index).map(Slot::text).filter(|text| text.is_empty())
                {
                    text.clone_from(content);
                }
            }
            Delta::ToolCallEnd { content_index, tool_call } => self.end_call(*content_index, tool_call),
        }
    }

    fn begin_call(&mut self, place: usize, id: &str, name: &str) {
        let id = self.unique(id, place);
        let (name, text) = (name.to_owned(), String::new());
        self.slots.insert(place, Slot::Call { id, name, text, complete: None, signature: None });
    }

    fn end_call(&mut self, place: usize, call: &ToolCall) {
        if !matches!(self.slots.get(&place), Some(Slot::Call { .. })) {
            self.begin_call(place, &call.id, &call.name);
        }
        if let Some(Slot::Call { complete, signature, .. }) = self.slots.get_mut(&place) {
            *complete = Some(match &call.arguments {
                serde_json::Value::Null => serde_json::Value::Object(serde_json::Map::new()),
                arguments if arguments.is_object() || arguments.is_string() => arguments.clone(),
                // Never run, and sent back as text: providers refuse anything else in its place.
                other => serde_json::Value::String(other.to_string()),
            });
            *signature = call.thought_signature.clone().or(signature.take());
        }
    }

    fn sign(&mut self, place: usize, text: &str, hidden: bool) {
        match self.slots.get_mut(&place) {
            Some(Slot::Text { signature, .. } | Slot::Call { signature, .. }) => {
                *signature = Some(text.to_owned());
            }
            Some(Slot::Thinking { signature, redacted, .. }) => {
                *signature = Some(text.to_owned());
                *redacted = hidden;
            }
            None => {}
        }
    }

    /// An id that no other call has. A generated one is derived from the time, so that it does not depend on
    /// chance and yet differs between the turns of a conversation.
    fn unique(&mut self, id: &str, place: usize) -> String {
        let base = match id.trim() {
            "" => format!("call_{:x}_{place}", self.timestamp.unsigned_abs()),
            given => given.to_owned(),
        };
        let mut unique = base.clone();
        let mut count = 1;
        while !self.taken.insert(unique.clone()) {
            count += 1;
            unique = format!("{base}_{count}");
        }
        unique
    }

    fn usage_with_cost(&self, usage: Usage) -> Usage {
        let sum = [usage.output, usage.cache_read, usage.cache_write];
        let total_tokens = sum.iter().fold(usage.input, |sum, part| sum.saturating_add(*part));
        let cost = self.model.cost.map(|price| price.of(&usage)).unwrap_or_default();
        Usage { total_tokens, cost, ..usage }
    }

    /// The message so far. Empty blocks are left out, usage is priced. An answer that has not
    /// ended counts as failed.
    pub fn message(self) -> AssistantMessage {
        self.snapshot()
    }

    /// A copy of the message so far, in the form of [`Assembler::message`].
    pub fn snapshot(&self) -> AssistantMessage {
        let content = with_thinking(self.slots.values().filter_map(Slot::block).collect());
        let called = content.iter().any(|block| matches!(block, Block::ToolCall(_)));
        let (stop_reason, error_message) = match (&self.failure, self.stop) {
            (Some(failure), _) if failure.kind == FailureKind::Aborted => {
                (StopReason::Aborted, Some(failure.message.clone()))
            }
            (Some(failure), _) => (StopReason::Error, Some(failure.message.clone())),
            (None, Some(StopReason::Stop)) if called => (StopReason::ToolUse, None),
            (None, Some(StopReason::ToolUse)) if !called => (StopReason::Stop, None),
            (None, Some(reason)) => (reason, None),
            (None, None) => (StopReason::Error, Some("the answer was cut off".to_owned())),
        };
        AssistantMessage {
            content,
            api: self.model.api,
            provider: self.model.provider.clone(),
            model: self.model.id.clone(),
            usage: self.usage,
            stop_reason,
            error_message,
            response_id: self.response_id.clone(),
            timestamp: self.timestamp,
        }
    }
}

/// The blocks of an answer, with the text before a closing tag of thinking at its start as thinking.
fn with_thinking(mut content: Vec<Block>) -> Vec<Block> {
    let Some(Block::Text { text, text_signature: None }) = content.first() else { return content };
    let Some((thinking, rest)) = inline_thinking::without_opening(text) else { return content };
    let thinking =
        Block::Thinking { thinking: thinking.to_owned(), thinking_signature: None, redacted: false };
    let text = Block::Text { text: rest.to_owned(), text_signature: None };
    let is_empty = |block: &Block| match block {
        Block::Thinking { thinking, .. } => thinking.is_empty(),
        Block::Text { text, .. } => text.is_empty(),
        _ => false,
    };
    content.splice(..1, [thinking, text].into_iter().filter(|block| !is_empty(block)));
    content
}

impl Slot {
    fn text(&mut self) -> &mut String {
        match self {
            Slot::Text { text, .. } | Slot::Thinking { text, .. } | Slot::Call { text, .. } => text,
        }
    }

    /// The block; `None` if it is empty.
    fn block(&self) -> Option<Block> {
        match self.clone() {
            Slot::Text { text, .. } if text.is_empty() => None,
            Slot::Text { text, signature } => Some(Block::Text { text, text_signature: signature }),
            Slot::Thinking { text, signature: None, .. } if text.is_empty() => None,
            Slot::Thinking { text, signature, redacted } => {
                Some(Block::Thinking { thinking: text, thinking_signature: signature, redacted })
            }
            Slot::Call { id, name, text, complete, signature } => {
                let arguments = complete.unwrap_or_else(|| partial_json::arguments(&text));
                Some(Block::ToolCall(ToolCall { id, name, arguments, thought_signature: signature }))
            }
        }
    }
}
