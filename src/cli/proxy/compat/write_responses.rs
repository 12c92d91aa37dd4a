//! Answers in the format of OpenAI's responses.

use serde_json::{Value, json};

use super::{AnswerFacts, AnswerWriter, Line};
use tau_agent::provider::Failure;
use tau_protocol::event::Delta;
use tau_protocol::message::{AssistantMessage, Block, StopReason, ToolCall, Usage};

/// Writes an answer.
pub(super) struct ResponsesWriter {
    facts: AnswerFacts,
    /// The items so far; open ones are completed later.
    items: Vec<Item>,
    /// The number of events so far.
    sequence: u64,
    /// An item of reasoning whose end waits, because its signature may still come.
    waiting: Option<usize>,
}

/// An item of the output.
struct Item {
    /// Its place in the message.
    content_index: usize,
    kind: Kind,
    text: String,
    signature: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Text,
    Reasoning,
    Call { id: String, name: String },
}

impl ResponsesWriter {
    pub(super) fn new(facts: AnswerFacts) -> Self {
        ResponsesWriter { facts, items: Vec::new(), sequence: 0, waiting: None }
    }

    fn event(&mut self, name: &'static str, mut data: Value, lines: &mut Vec<Line>) {
        if let Some(map) = data.as_object_mut() {
            map.insert("type".to_owned(), name.into());
            map.insert("sequence_number".to_owned(), self.sequence.into());
        }
        self.sequence += 1;
        lines.push(Line::for_event(name, &data));
    }

    /// The answer with this status and output.
    fn response(&self, status: &str, output: Vec<Value>, usage: Value) -> Value {
        let incomplete = (status == "incomplete").then(|| json!({ "reason": "max_output_tokens" }));
        json!({
            "id": format!("resp_{}", self.facts.id),
            "object": "response",
            "created_at": self.facts.created,
            "status": status,
            "model": self.facts.model,
            "output": output,
            "error": null,
            "incomplete_details": incomplete,
            "instructions": null,
            "metadata": {},
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "store": false,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "usage": usage,
        })
    }

    fn place(&self, content_index: usize) -> Option<usize> {
        self.items.iter().rposition(|item| item.content_index == content_index)
    }

    /// The item as it is written: complete, or as it begins.
    fn item_json(&self, place: usize, is_done: bool) -> Value {
        let Some(item) = self.items.get(place) else { return Value::Null };
        let id = self.id(place);
        let status = if is_done { "completed" } else { "in_progress" };
        match &item.kind {
            Kind::Text => {
                let content = if is_done { vec![text_part(&item.text)] } else { Vec::new() };
                json!({ "id": id, "type": "message", "status": status, "role": "assistant", "content": content })
            }
            Kind::Reasoning => {
                reasoning(&id, if is_done { &item.text } else { "" }, item.signature.as_deref())
            }
            Kind::Call { id: call_id, name } => json!({
                "id": id, "type": "function_call", "status": status, "call_id": call_id, "name": name,
                "arguments": if is_done { item.text.as_str() } else { "" },
            }),
        }
    }

    fn id(&self, place: usize) -> String {
        let kind = match self.items.get(place).map(|item| &item.kind) {
            Some(Kind::Reasoning) => "rs",
            Some(Kind::Call { .. }) => "fc",
            Some(Kind::Text) | None => "msg",
        };
        format!("{kind}_{}_{place}", self.facts.id)
    }

    fn start(&mut self, content_index: usize, kind: Kind, lines: &mut Vec<Line>) {
        let place = self.items.len();
        self.items.push(Item { content_index, kind: kind.clone(), text: String::new(), signature: None });
        let item = self.item_json(place, false);
        self.event("response.output_item.added", json!({ "output_index": place, "item": item }), lines);
        let id = self.id(place);
        match kind {
            Kind::Text => {
                let data = json!({ "item_id": id, "output_index": place, "content_index": 0, "part": text_part("") });
                self.event("response.content_part.added", data, lines);
            }
            Kind::Reasoning => {
                let part = json!({ "type": "summary_text", "text": "" });
                let data = json!({ "item_id": id, "output_index": place, "summary_index": 0, "part": part });
                self.event("response.reasoning_summary_part.added", data, lines);
            }
            Kind::Call { .. } => {}
        }
    }

    fn piece(&mut self, content_index: usize, piece: &str, lines: &mut Vec<Line>) {
        let Some(place) = self.place(content_index) else { return };
        let id = self.id(place);
        let Some(item) = self.items.get_mut(place) else { return };
        item.text.push_str(piece);
        let (name, data) = match item.kind {
            Kind::Text => (
                "response.output_text.delta",
                json!({ "item_id": id, "output_index": place, "content_index": 0, "delta": piece, "logprobs": [] }),
            ),
            Kind::Reasoning => (
                "response.reasoning_summary_text.delta",
                json!({ "item_id": id, "output_index": place, "summary_index": 0, "delta": piece }),
            ),
            Kind::Call { .. } => (
                "response.function_call_arguments.delta",
                json!({ "item_id": id, "output_index": place, "delta": piece }),
            ),
        };
        self.event(name, data, lines);
    }

    fn stop(&mut self, content_index: usize, lines: &mut Vec<Line>) {
        let Some(place) = self.place(content_index) else { return };
        let id = self.id(place);
        let Some(item) = self.items.get(place) else { return };
        let (kind, text) = (item.kind.clone(), item.text.clone());
        match kind {
            Kind::Text => {
                let data = json!({ "item_id": id, "output_index": place, "content_index": 0, "text": text,
                    "logprobs": [] });
                self.event("response.output_text.done", data, lines);
                let data = json!({ "item_id": id, "output_index": place, "content_index": 0, "part": text_part(&text) });
                self.event("response.content_part.done", data, lines);
            }
            Kind::Reasoning => {
                let data = json!({ "item_id": id, "output_index": place, "summary_index": 0, "text": text });
                self.event("response.reasoning_summary_text.done", data, lines);
                let part = json!({ "type": "summary_text", "text": text });
                let data = json!({ "item_id": id, "output_index": place, "summary_index": 0, "part": part });
                self.event("response.reasoning_summary_part.done", data, lines);
            }
            Kind::Call { name, .. } => {
                let data = json!({ "item_id": id, "output_index": place, "name": name, "arguments": text });
                self.event("response.function_call_arguments.done", data, lines);
            }
        }
        let item = self.item_json(place, true);
        self.event("response.output_item.done", json!({ "output_index": place, "item": item }), lines);
        // A later block of the same place is another item.
        if let Some(item) = self.items.get_mut(place) {
            item.content_index = usize::MAX;
        }
    }

    /// Ends the reasoning that waits for its signature.
    fn settle(&mut self, lines: &mut Vec<Line>) {
        if let Some(index) = self.waiting.take() {
            self.stop(index, lines);
        }
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn reasoning(id: &str, text: &str, signature: Option<&str>) -> Value {
    let summary =
        if text.is_empty() { Vec::new() } else { vec![json!({ "type": "summary_text", "text": text })] };
    json!({ "id": id, "type": "reasoning", "summary": summary, "encrypted_content": signature })
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    json!({
        "input_tokens": input,
        "input_tokens_details": { "cached_tokens": usage.cache_read },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input.saturating_add(usage.output),
    })
}

fn status(message: &AssistantMessage) -> &'static str {
    if message.stop_reason == StopReason::Length { "incomplete" } else { "completed" }
}

impl AnswerWriter for ResponsesWriter {
    fn begin(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        for name in ["response.created", "response.in_progress"] {
            let response = self.response("in_progress", Vec::new(), Value::Null);
            self.event(name, json!({ "response": response }), &mut lines);
        }
        lines
    }

    fn delta(&mut self, delta: &Delta) -> Vec<Line> {
        let mut lines = Vec::new();
        self.settle(&mut lines);
        match delta {
            Delta::TextStart { content_index } => self.start(*content_index, Kind::Text, &mut lines),
            Delta::ThinkingStart { content_index } => self.start(*content_index, Kind::Reasoning, &mut lines),
            Delta::ToolCallStart { content_index, id, tool_name } => {
                let kind = Kind::Call { id: id.clone(), name: tool_name.clone() };
                self.start(*content_index, kind, &mut lines);
            }
            Delta::TextDelta { content_index, delta }
            | Delta::ThinkingDelta { content_index, delta }
            | Delta::ToolCallDelta { content_index, delta } => self.piece(*content_index, delta, &mut lines),
            Delta::ThinkingEnd { content_index, .. } => self.waiting = Some(*content_index),
            Delta::TextEnd { content_index, .. } => self.stop(*content_index, &mut lines),
            Delta::ToolCallEnd { content_index, tool_call } => {
                let is_empty = |place| self.items.get(place).is_some_and(|item: &Item| item.text.is_empty());
                // Arguments that came at once had no deltas.
                if self.place(*content_index).is_some_and(is_empty) {
                    self.piece(*content_index, &super::arguments_text(&tool_call.arguments), &mut lines);
                }
                self.stop(*content_index, &mut lines);
            }
        }
        lines
    }

    fn signature(&mut self, content_index: usize, signature: &str, _: bool) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.waiting != Some(content_index) {
            self.settle(&mut lines);
        }
        if self.place(content_index).is_none() {
            self.start(content_index, Kind::Reasoning, &mut lines);
            self.waiting = Some(content_index);
        }
        if let Some(item) = self.place(content_index).and_then(|place| self.items.get_mut(place)) {
            item.signature = Some(signature.to_owned());
        }
        lines
    }

    fn end(&mut self, message: &AssistantMessage) -> Vec<Line> {
        let mut lines = Vec::new();
        self.settle(&mut lines);
        let open: Vec<usize> =
            self.items.iter().map(|item| item.content_index).filter(|index| *index != usize::MAX).collect();
        open.into_iter().for_each(|index| self.stop(index, &mut lines));
        let output = (0..self.items.len()).map(|place| self.item_json(place, true)).collect();
        let status = status(message);
        let name = if status == "incomplete" { "response.incomplete" } else { "response.completed" };
        let response = self.response(status, output, usage(&message.usage));
        self.event(name, json!({ "response": response }), &mut lines);
        lines
    }

    fn fail(&mut self, failure: &Failure) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut response = self.response("failed", Vec::new(), Value::Null);
        if let Some(map) = response.as_object_mut() {
            map.insert("error".to_owned(), json!({ "code": "server_error", "message": failure.message }));
        }
        self.event("response.failed", json!({ "response": response }), &mut lines);
        lines
    }

    fn whole(&self, message: &AssistantMessage) -> Value {
        let item = |(content_index, block): (usize, &Block)| {
            let (kind, text, signature) = match block {
                Block::Text { text, .. } => (Kind::Text, text.clone(), None),
                Block::Thinking { thinking, thinking_signature, .. } => {
                    (Kind::Reasoning, thinking.clone(), thinking_signature.clone())
                }
                Block::ToolCall(ToolCall { id, name, arguments, .. }) => {
                    let kind = Kind::Call { id: id.clone(), name: name.clone() };
                    (kind, super::arguments_text(arguments), None)
                }
                Block::Image { .. } | Block::Unknown(_) => return None,
            };
            Some(Item { content_index, kind, text, signature })
        };
        let items = message.content.iter().enumerate().filter_map(item).collect();
        let writer = ResponsesWriter { items, ..ResponsesWriter::new(self.facts.clone()) };
        let output = (0..writer.items.len()).map(|place| writer.item_json(place, true)).collect();
        writer.response(status(message), output, usage(&message.usage))
    }
}
