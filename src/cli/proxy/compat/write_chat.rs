//! Answers in the format of OpenAI's chat completions.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::read::REASONING;
use super::{AnswerFacts, AnswerWriter, Line};
use tau_agent::provider::Failure;
use tau_protocol::event::Delta;
use tau_protocol::message::{AssistantMessage, Block, StopReason, ToolCall, Usage};

/// Writes an answer.
pub(super) struct ChatWriter {
    facts: AnswerFacts,
    /// The place of each call among the calls, and whether its arguments have begun.
    calls: HashMap<usize, (usize, bool)>,
}

impl ChatWriter {
    pub(super) fn new(facts: AnswerFacts) -> Self {
        ChatWriter { facts, calls: HashMap::new() }
    }

    fn base(&self, object: &str, choices: Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.facts.id),
            "object": object,
            "created": self.facts.created,
            "model": self.facts.model,
            "choices": choices,
        })
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> Line {
        let choice = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
        Line::plain(&self.base("chat.completion.chunk", choice))
    }

    fn call_chunk(&self, place: usize, call: Value) -> Line {
        let mut call = call;
        if let Some(map) = call.as_object_mut() {
            map.insert("index".to_owned(), place.into());
        }
        self.chunk(json!({ "tool_calls": [call] }), None)
    }
}

fn finish(reason: StopReason) -> &'static str {
    match reason {
        StopReason::ToolUse => "tool_calls",
        StopReason::Length => "length",
        StopReason::Stop | StopReason::Error | StopReason::Aborted | StopReason::Other => "stop",
    }
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input.saturating_add(usage.output),
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
    })
}

impl AnswerWriter for ChatWriter {
    fn begin(&mut self) -> Vec<Line> {
        vec![self.chunk(json!({ "role": "assistant", "content": "" }), None)]
    }

    fn delta(&mut self, delta: &Delta) -> Vec<Line> {
        match delta {
            Delta::TextDelta { delta, .. } => vec![self.chunk(json!({ "content": delta }), None)],
            Delta::ThinkingDelta { delta, .. } => {
                vec![self.chunk(json!({ REASONING: delta }), None)]
            }
            Delta::ToolCallStart { content_index, id, tool_name } => {
                let place = self.calls.len();
                self.calls.insert(*content_index, (place, false));
                let function = json!({ "name": tool_name, "arguments": "" });
                vec![self.call_chunk(place, json!({ "id": id, "type": "function", "function": function }))]
            }
            Delta::ToolCallDelta { content_index, delta } => {
                let Some(call) = self.calls.get_mut(content_index) else { return Vec::new() };
                call.1 = true;
                let place = call.0;
                vec![self.call_chunk(place, json!({ "function": { "arguments": delta } }))]
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                // Arguments that came at once had no deltas.
                match self.calls.get(content_index) {
                    Some((place, false)) => {
                        let arguments = super::arguments_text(&tool_call.arguments);
                        vec![self.call_chunk(*place, json!({ "function": { "arguments": arguments } }))]
                    }
                    Some((_, true)) | None => Vec::new(),
                }
            }
            Delta::TextStart { .. }
            | Delta::TextEnd { .. }
            | Delta::ThinkingStart { .. }
            | Delta::ThinkingEnd { .. } => Vec::new(),
        }
    }

    fn signature(&mut self, _: usize, _: &str, _: bool) -> Vec<Line> {
        Vec::new()
    }

    fn end(&mut self, message: &AssistantMessage) -> Vec<Line> {
        let mut lines = vec![self.chunk(json!({}), Some(finish(message.stop_reason)))];
        if self.facts.with_usage {
            let mut last = self.base("chat.completion.chunk", json!([]));
            if let Some(map) = last.as_object_mut() {
                map.insert("usage".to_owned(), usage(&message.usage));
            }
            lines.push(Line::plain(&last));
        }
        lines.push(Line { event: None, data: "[DONE]".to_owned() });
        lines
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Line> {
        let error = json!({ "message": failure.message, "type": "api_error", "code": null, "param": null });
        vec![Line::plain(&json!({ "error": error }))]
    }

    fn whole(&self, message: &AssistantMessage) -> Value {
        let call = |call: &ToolCall| {
            let function = json!({ "name": call.name, "arguments": super::arguments_text(&call.arguments) });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        let calls: Vec<Value> = message.tool_calls().map(call).collect();
        let thoughts: Vec<&str> = message
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Thinking { thinking, .. } if !thinking.is_empty() => Some(thinking.as_str()),
                _ => None,
            })
            .collect();
        let text = message.text();
        let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
        let mut answer = json!({ "role": "assistant", "content": content, "refusal": null });
        if let Some(map) = answer.as_object_mut() {
            if !calls.is_empty() {
                map.insert("tool_calls".to_owned(), calls.into());
            }
            if !thoughts.is_empty() {
                map.insert(REASONING.to_owned(), thoughts.join("\n\n").into());
            }
        }
        let choice = json!([{ "index": 0, "message": answer, "logprobs": null,
            "finish_reason": finish(message.stop_reason) }]);
        let mut whole = self.base("chat.completion", choice);
        if let Some(map) = whole.as_object_mut() {
            map.insert("usage".to_owned(), usage(&message.usage));
        }
        whole
    }
}
