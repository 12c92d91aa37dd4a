//! Answers in the format of Anthropic's messages.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{AnswerFacts, AnswerWriter, Line};
use tau_agent::provider::Failure;
use tau_protocol::event::Delta;
use tau_protocol::message::{AssistantMessage, Block, StopReason, Usage};

/// Writes an answer.
pub(super) struct MessagesWriter {
    facts: AnswerFacts,
    /// The open blocks, by their place in the message.
    open: HashMap<usize, Open>,
    /// The number of blocks that were begun.
    begun: usize,
    /// A block of thinking whose end waits, because its signature may still come.
    waiting: Option<usize>,
}

/// An open block.
#[derive(Default)]
struct Open {
    /// Its place on the wire; `None` while it has not begun there.
    place: Option<usize>,
    signature: Option<String>,
    redacted: bool,
    /// Whether a part of it was written.
    is_written: bool,
}

impl MessagesWriter {
    pub(super) fn new(facts: AnswerFacts) -> Self {
        MessagesWriter { facts, open: HashMap::new(), begun: 0, waiting: None }
    }

    /// Begins a block on the wire.
    fn start(&mut self, content_index: usize, block: Value, lines: &mut Vec<Line>) -> usize {
        let place = self.begun;
        self.begun += 1;
        self.open.entry(content_index).or_default().place = Some(place);
        let data = json!({ "type": "content_block_start", "index": place, "content_block": block });
        lines.push(Line::for_event("content_block_start", &data));
        place
    }

    fn piece(&mut self, content_index: usize, delta: Value, lines: &mut Vec<Line>) {
        let Some(open) = self.open.get_mut(&content_index) else { return };
        let Some(place) = open.place else { return };
        open.is_written = true;
        let data = json!({ "type": "content_block_delta", "index": place, "delta": delta });
        lines.push(Line::for_event("content_block_delta", &data));
    }

    fn stop(&mut self, content_index: usize, lines: &mut Vec<Line>) {
        if let Some(place) = self.open.remove(&content_index).and_then(|open| open.place) {
            lines.push(Line::for_event(
                "content_block_stop",
                &json!({ "type": "content_block_stop", "index": place }),
            ));
        }
    }

    /// Ends the block of thinking that waits for its signature.
    fn settle(&mut self, lines: &mut Vec<Line>) {
        let Some(index) = self.waiting.take() else { return };
        let Some(open) = self.open.get(&index) else { return };
        let (signature, redacted, begun) = (open.signature.clone(), open.redacted, open.place.is_some());
        match signature {
            Some(data) if redacted && !begun => {
                self.start(index, json!({ "type": "redacted_thinking", "data": data }), lines);
            }
            Some(signature) => {
                if !begun {
                    self.start(index, thinking_block(), lines);
                }
                self.piece(index, json!({ "type": "signature_delta", "signature": signature }), lines);
            }
            None => {}
        }
        self.stop(index, lines);
    }
}

fn thinking_block() -> Value {
    json!({ "type": "thinking", "thinking": "", "signature": "" })
}

fn reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::ToolUse => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::Stop | StopReason::Error | StopReason::Aborted | StopReason::Other => "end_turn",
    }
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
    })
}

impl AnswerWriter for MessagesWriter {
    fn begin(&mut self) -> Vec<Line> {
        let message = json!({
            "id": format!("msg_{}", self.facts.id),
            "type": "message",
            "role": "assistant",
            "model": self.facts.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": usage(&Usage::default()),
        });
        vec![Line::for_event("message_start", &json!({ "type": "message_start", "message": message }))]
    }

    fn delta(&mut self, delta: &Delta) -> Vec<Line> {
        let mut lines = Vec::new();
        self.settle(&mut lines);
        match delta {
            Delta::TextStart { content_index } => {
                self.start(*content_index, json!({ "type": "text", "text": "" }), &mut lines);
            }
            Delta::TextDelta { content_index, delta } => {
                self.piece(*content_index, json!({ "type": "text_delta", "text": delta }), &mut lines);
            }
            Delta::ThinkingStart { content_index } => {
                self.open.insert(*content_index, Open::default());
            }
            Delta::ThinkingDelta { content_index, delta } => {
                if self.open.get(content_index).is_some_and(|open| open.place.is_none()) {
                    self.start(*content_index, thinking_block(), &mut lines);
                }
                self.piece(
                    *content_index,
                    json!({ "type": "thinking_delta", "thinking": delta }),
                    &mut lines,
                );
            }
            Delta::ThinkingEnd { content_index, .. } => self.waiting = Some(*content_index),
            Delta::ToolCallStart { content_index, id, tool_name } => {
                let block = json!({ "type": "tool_use", "id": id, "name": tool_name, "input": {} });
                self.start(*content_index, block, &mut lines);
            }
            Delta::ToolCallDelta { content_index, delta } => {
                let delta = json!({ "type": "input_json_delta", "partial_json": delta });
                self.piece(*content_index, delta, &mut lines);
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                // Arguments that came at once had no deltas.
                if self.open.get(content_index).is_some_and(|open| !open.is_written) {
                    let text = super::arguments_text(&tool_call.arguments);
                    let delta = json!({ "type": "input_json_delta", "partial_json": text });
                    self.piece(*content_index, delta, &mut lines);
                }
                self.stop(*content_index, &mut lines);
            }
            Delta::TextEnd { content_index, .. } => self.stop(*content_index, &mut lines),
        }
        lines
    }

    fn signature(&mut self, content_index: usize, signature: &str, redacted: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.waiting != Some(content_index) {
            self.settle(&mut lines);
        }
        let open = self.open.entry(content_index).or_default();
        open.signature = Some(signature.to_owned());
        open.redacted = redacted;
        // A redacted block may have nothing but its signature.
        if redacted && open.place.is_none() {
            self.waiting = Some(content_index);
        }
        lines
    }

    fn end(&mut self, message: &AssistantMessage) -> Vec<Line> {
        let mut lines = Vec::new();
        self.settle(&mut lines);
        let mut rest: Vec<usize> = self.open.keys().copied().collect();
        rest.sort_unstable();
        rest.into_iter().for_each(|index| self.stop(index, &mut lines));
        let delta = json!({ "stop_reason": reason(message.stop_reason), "stop_sequence": null });
        let data = json!({ "type": "message_delta", "delta": delta, "usage": usage(&message.usage) });
        lines.push(Line::for_event("message_delta", &data));
        lines.push(Line::for_event("message_stop", &json!({ "type": "message_stop" })));
        lines
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Line> {
        let error = json!({ "type": "api_error", "message": failure.message });
        vec![Line::for_event("error", &json!({ "type": "error", "error": error }))]
    }

    fn whole(&self, message: &AssistantMessage) -> Value {
        let block = |block: &Block| match block {
            Block::Text { text, .. } => Some(json!({ "type": "text", "text": text })),
            Block::Thinking { thinking_signature: Some(data), redacted: true, .. } => {
                Some(json!({ "type": "redacted_thinking", "data": data }))
            }
            Block::Thinking { thinking, thinking_signature, .. } => Some(json!({
                "type": "thinking", "thinking": thinking,
                "signature": thinking_signature.as_deref().unwrap_or_default(),
            })),
            Block::ToolCall(call) => {
                Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
            }
            Block::Image { .. } | Block::Unknown(_) => None,
        };
        json!({
            "id": format!("msg_{}", self.facts.id),
            "type": "message",
            "role": "assistant",
            "model": self.facts.model,
            "content": message.content.iter().filter_map(block).collect::<Vec<_>>(),
            "stop_reason": reason(message.stop_reason),
            "stop_sequence": null,
            "usage": usage(&message.usage),
        })
    }
}
