//! Folds stream events into an assistant message; temporary.

use super::event::Delta;
use super::message::{AssistantMessage, Block, StopReason, ToolCall, Usage};
use super::model::Model;
use super::provider::StreamEvent;

/// An assistant message in flight.
#[derive(Debug)]
pub struct Assembler(AssistantMessage);

impl Assembler {
    /// An empty message of `model`, begun at `timestamp` (milliseconds since 1970).
    pub fn new(model: &Model, timestamp: i64) -> Self {
        Assembler(AssistantMessage {
            content: Vec::new(),
            api: model.api,
            provider: model.provider.clone(),
            model: model.id.clone(),
            usage: Usage::default(),
            stop_reason: StopReason::Stop,
            error_message: None,
            response_id: None,
            timestamp,
        })
    }

    /// Takes the next event.
    pub fn feed(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Stop(reason) => self.0.stop_reason = *reason,
            StreamEvent::Usage(usage) => self.0.usage = *usage,
            StreamEvent::Delta(delta) => self.delta(delta),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::TextStart { .. } => self.0.content.push(Block::text("")),
            Delta::ThinkingStart { .. } => self.0.content.push(Block::Thinking {
                thinking: String::new(),
                thinking_signature: None,
                redacted: false,
            }),
            Delta::TextDelta { delta, .. } | Delta::ThinkingDelta { delta, .. } => {
                if let Some(Block::Text { text, .. } | Block::Thinking { thinking: text, .. }) =
                    self.0.content.last_mut()
                {
                    text.push_str(delta);
                }
            }
            Delta::ToolCallStart { id, tool_name, .. } => self.0.content.push(Block::ToolCall(ToolCall {
                id: id.clone(),
                name: tool_name.clone(),
                arguments: serde_json::Value::String(String::new()),
                thought_signature: None,
            })),
            Delta::ToolCallEnd { tool_call, .. } => {
                self.0.content.pop();
                self.0.content.push(Block::ToolCall(tool_call.clone()));
            }
            _ => {}
        }
    }

    /// The message so far. Empty blocks are left out, usage is priced.
    pub fn message(self) -> AssistantMessage {
        self.0
    }
}
