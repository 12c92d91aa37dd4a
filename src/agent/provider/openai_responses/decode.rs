//! Decodes a streamed response.
//!
//! Items are identified by `output_index`, because some servers change ids between the events of one item.
//! The complete item of `output_item.done` fills in parts that were not streamed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::blocks::{BlockIndex, BlockWriter, Redaction};
use super::super::classify::{from_error, is_bare_error};
use super::super::finish::Finish;
use super::super::json::{StringOrJson, Text, count, lenient, raw_value};
use super::super::objects::{ObjectDecoder, cut_off};
use super::super::{Failure, StreamEvent};
use tau_protocol::message::Usage;

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(borrow, default)]
    delta: StringOrJson<'a>,
    output_index: Option<u64>,
    summary_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: StringOrJson<'a>,
}

/// The state of an output item.
#[derive(Debug, Default)]
struct Item {
    place: Option<BlockIndex>,
    /// Whether any of its text was streamed.
    streamed: bool,
    /// The last part: the source of its text, and its index there.
    part: Option<(Source, u64)>,
    done: bool,
}

/// The source of reasoning text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Summary,
    Content,
}

/// The decoder of the format.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    blocks: BlockWriter,
    items: BTreeMap<u64, Item>,
    /// The index assumed for events without one: that of the last item.
    last: u64,
    identified: bool,
    ended: bool,
}

impl ObjectDecoder for ResponsesDecoder {
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn object(&mut self, text: &str, name: &str, out: &mut Vec<StreamEvent>) -> serde_json::Result<()> {
        self.event(&serde_json::from_str(text)?, text, name, out);
        Ok(())
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        self.blocks.fail(failure, out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.fail(cut_off("a terminal response event"), out);
    }
}

impl ResponsesDecoder {
    fn event(&mut self, event: &Event<'_>, text: &str, name: &str, out: &mut Vec<StreamEvent>) {
        let index = event.output_index.unwrap_or(self.last);
        self.last = index;
        match event.kind.0.as_ref() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.text(index, &event.delta.text(), out);
            }
            "response.function_call_arguments.delta" => self.arguments(index, &event.delta.text(), out),
            "response.reasoning_summary_text.delta" => {
                let part = (Source::Summary, event.summary_index.unwrap_or(0));
                self.thinking(index, part, &event.delta.text(), out);
            }
            // The next part may take as long as the first.
            "response.reasoning_summary_part.done" => out.push(StreamEvent::Thinking),
            "response.reasoning_text.delta" => {
                let part = (Source::Content, event.content_index.unwrap_or(0));
                self.thinking(index, part, &event.delta.text(), out);
            }
            "response.function_call_arguments.done" => {
                self.rest_of_arguments(index, &event.arguments.text(), out);
            }
            "response.output_item.added" => self.on_item_added(index, &raw_value(event.item), out),
            "response.output_item.done" => self.on_item_done(index, &raw_value(event.item), out),
            "response.created" | "response.in_progress" | "response.queued" => {
                self.identify(event.response, out);
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                self.terminal(event.kind.0.as_ref(), &raw_value(event.response), out);
            }
            "error" => self.error(event.error, text, out),
            "" => self.on_untyped_object(text, name, out),
            kind if kind.starts_with("response.") => {}
            // The type of an error may be its name.
            _ => self.on_unknown_object(text, out),
        }
    }

    fn identify(&mut self, response: Option<&RawValue>, out: &mut Vec<StreamEvent>) {
        if !self.identified {
            self.take_id(&raw_value(response), out);
        }
    }

    fn take_id(&mut self, response: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(id) = response.get("id").and_then(Value::as_str).filter(|_| !self.identified) {
            self.identified = true;
            out.push(StreamEvent::ResponseId(id.to_owned()));
        }
    }

    /// An object without a type: an error, or a complete response from a server that does not stream.
    fn on_untyped_object(&mut self, text: &str, name: &str, out: &mut Vec<StreamEvent>) {
        let value = lenient(text).unwrap_or_default();
        let failed = value.get("error").is_some_and(|error| !error.is_null());
        let object = value.get("object").and_then(Value::as_str);
        if name == "error"
            || failed && object.is_none()
            || object != Some("response") && is_bare_error(&value)
        {
            self.fail(from_error(&value), out);
        } else if object == Some("response") {
            self.terminal("", &value, out);
        }
    }

    /// An object of a type that is not one of events: an error, or of no interest.
    fn on_unknown_object(&mut self, text: &str, out: &mut Vec<StreamEvent>) {
        let value = lenient(text).unwrap_or_default();
        if value.get("object").and_then(Value::as_str) == Some("error") {
            self.fail(from_error(&value), out);
        }
    }

    fn error(&mut self, error: Option<&RawValue>, text: &str, out: &mut Vec<StreamEvent>) {
        let value = match raw_value(error) {
            Value::Null => lenient(text).unwrap_or_default(),
            value => value,
        };
        self.fail(from_error(&value), out);
    }

    fn text(&mut self, index: u64, text: &str, out: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let item = self.items.entry(index).or_default();
        let place = *item.place.get_or_insert_with(|| self.blocks.begin_text(out));
        item.streamed = true;
        self.blocks.append(place, text, out);
    }

    /// Parts of one item are joined by a blank line. If both summary and raw text arrive, the kind that came
    /// first counts.
    fn thinking(&mut self, index: u64, part: (Source, u64), text: &str, out: &mut Vec<StreamEvent>) {
        let item = self.items.entry(index).or_default();
        if text.is_empty() || item.part.is_some_and(|(source, _)| source != part.0) {
            return;
        }
        let place = *item.place.get_or_insert_with(|| self.blocks.begin_thinking(out));
        if item.part.is_some_and(|last| last != part) {
            self.blocks.append(place, "\n\n", out);
        }
        item.part = Some(part);
        item.streamed = true;
        self.blocks.append(place, text, out);
    }

    fn arguments(&mut self, index: u64, text: &str, out: &mut Vec<StreamEvent>) {
        let Some(item) = self.items.get_mut(&index) else { return };
        if let Some(place) = item.place {
            item.streamed |= !text.is_empty();
            self.blocks.append(place, text, out);
        }
    }

    /// Completes the arguments: adds the part that was not streamed.
    fn rest_of_arguments(&mut self, index: u64, complete: &str, out: &mut Vec<StreamEvent>) {
        let Some(place) = self.items.get(&index).and_then(|item| item.place) else { return };
        let rest = complete.strip_prefix(self.blocks.arguments(place)).map(str::to_owned);
        self.blocks.append(place, &rest.unwrap_or_default(), out);
    }

    fn on_item_added(&mut self, index: u64, item: &Value, out: &mut Vec<StreamEvent>) {
        if item.get("type").and_then(Value::as_str) == Some("function_call") {
            let field = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
            let place = self.blocks.begin_call(field("call_id"), field("name"), out);
            self.items.insert(index, Item { place: Some(place), ..Item::default() });
            self.blocks.append(place, field("arguments"), out);
        } else {
            if item.get("type").and_then(Value::as_str) == Some("reasoning") {
                out.push(StreamEvent::Thinking);
            }
            self.items.insert(index, Item::default());
        }
    }

    fn on_item_done(&mut self, index: u64, item: &Value, out: &mut Vec<StreamEvent>) {
        if self.items.get(&index).is_some_and(|known| known.done) {
            return;
        }
        match item.get("type").and_then(Value::as_str) {
            Some("function_call") => {
                if self.items.get(&index).and_then(|item| item.place).is_none() {
                    self.on_item_added(index, item, out);
                }
                let arguments = item.get("arguments").and_then(Value::as_str).unwrap_or_default();
                self.rest_of_arguments(index, arguments, out);
            }
            Some("message") => self.message(index, item, out),
            Some("reasoning") => self.reasoning(index, item, out),
            _ => {}
        }
        let known = self.items.entry(index).or_default();
        known.done = true;
        if let Some(place) = known.place {
            self.blocks.close(place, out);
        }
    }

    fn message(&mut self, index: u64, item: &Value, out: &mut Vec<StreamEvent>) {
        if !self.items.get(&index).is_some_and(|known| known.streamed) {
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                let text = part.get("text").or_else(|| part.get("refusal"));
                self.text(index, text.and_then(Value::as_str).unwrap_or_default(), out);
            }
        }
        let place = self.items.get(&index).and_then(|known| known.place);
        // The phase distinguishes comment and answer and must be sent back with the text.
        if let (Some(place), Some(phase)) = (place, item.get("phase").and_then(Value::as_str)) {
            let signature = serde_json::json!({ "phase": phase }).to_string();
            self.blocks.sign(place, &signature, Redaction::No, out);
        }
    }

    fn reasoning(&mut self, index: u64, item: &Value, out: &mut Vec<StreamEvent>) {
        let list = |name: &str| item.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
        if !self.items.get(&index).is_some_and(|known| known.streamed) {
            let (source, parts) = match list("summary") {
                Some(parts) => (Source::Summary, Some(parts)),
                None => (Source::Content, list("content")),
            };
            for (at, part) in parts.into_iter().flatten().enumerate() {
                let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                self.thinking(index, (source, at as u64), text, out);
            }
        }
        let encrypted = item.get("encrypted_content").is_some_and(Value::is_string);
        let known = self.items.entry(index).or_default();
        if known.place.is_none() && !encrypted {
            return;
        }
        let redacted = if known.place.is_none() { Redaction::Yes } else { Redaction::No };
        let place = *known.place.get_or_insert_with(|| self.blocks.begin_thinking(out));
        if encrypted || list("content").is_some() || list("summary").is_some() {
            self.blocks.sign(place, &item.to_string(), redacted, out);
        }
    }

    /// Handles the last event. Its list of items counts only if no item was seen before (some servers send
    /// nothing else, some send it empty), and its calls if none was. `kind` is the event's type; empty for a response
    /// without one.
    fn terminal(&mut self, kind: &str, response: &Value, out: &mut Vec<StreamEvent>) {
        self.take_id(response, out);
        let (is_first, had_calls) =
            (self.items.is_empty() && self.blocks.is_empty(), self.blocks.has_calls());
        for item in response.get("output").and_then(Value::as_array).into_iter().flatten() {
            let is_call = item.get("type").and_then(Value::as_str) == Some("function_call");
            if is_first || is_call && !had_calls {
                let next = self.items.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
                self.on_item_done(next, item, out);
            }
        }
        if let Some(usage) = response.get("usage").and_then(usage) {
            out.push(StreamEvent::Usage(usage));
        }
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return self.fail(from_error(error), out);
        }
        self.end(kind, response, out);
    }

    /// Ends the answer according to the event's type, else the status. Servers forget to update the status of
    /// complete responses, so there the type counts.
    fn end(&mut self, kind: &str, response: &Value, out: &mut Vec<StreamEvent>) {
        let reported = response.get("status").and_then(Value::as_str).unwrap_or("completed");
        let status = match (kind, reported) {
            ("response.failed", _) => "failed",
            ("response.cancelled", _) => "cancelled",
            ("response.incomplete", _) => "incomplete",
            ("response.completed", "in_progress" | "queued") => "completed",
            _ => reported,
        };
        self.ended = true;
        let (finish, reported) = match status {
            "incomplete" => {
                let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
                let reason = reason.unwrap_or(status);
                match Finish::from_name(reason) {
                    Finish::Stop | Finish::Unknown => (Finish::Length, reason),
                    known => (known, reason),
                }
            }
            "in_progress" | "queued" => (Finish::Broken, status),
            _ => (Finish::from_name(status), status),
        };
        finish.end(reported, &mut self.blocks, out);
    }
}

/// The counts of a `usage` object. Cache reads and writes are inside `input_tokens`, reasoning
/// is inside `output_tokens`.
fn usage(value: &Value) -> Option<Usage> {
    let field = |path: &str| value.pointer(path).and_then(count);
    let input = field("/input_tokens")?;
    let cache_read = field("/input_tokens_details/cached_tokens").unwrap_or(0);
    let cache_write = field("/input_tokens_details/cache_write_tokens").unwrap_or(0);
    Some(Usage {
        input: input.saturating_sub(cache_read.saturating_add(cache_write)),
        output: field("/output_tokens").unwrap_or(0),
        cache_read,
        cache_write,
        ..Usage::default()
    })
}
