//! Decodes a streamed message.
//!
//! Blocks of tools that the provider runs itself, and unknown kinds, are skipped.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::blocks::{BlockIndex, BlockWriter, Redaction};
use super::super::classify::from_error;
use super::super::finish::Finish;
use super::super::json::{RareField, Text, count, lenient, raw_value};
use super::super::objects::{ObjectDecoder, cut_off};
use super::super::{Failure, FailureKind, StreamEvent};
use tau_protocol::message::{StopReason, Usage};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Text<'a>,
    #[serde(default)]
    index: u64,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    usage: RareField<Value>,
    error: RareField<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    signature: RareField<Text<'a>>,
    #[serde(borrow, default)]
    stop_reason: RareField<Text<'a>>,
    stop_details: RareField<Value>,
}

/// A content block of the provider.
#[derive(Debug)]
struct Block {
    index: u64,
    kind: Kind,
    /// Its index in the message; `None` until it has content.
    place: Option<BlockIndex>,
    /// The signature of thinking, or the initial input of a call.
    aside: String,
    streamed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
    Other,
}

/// The decoder of the format.
#[derive(Debug, Default)]
pub(super) struct AnthropicDecoder {
    blocks: BlockWriter,
    open: Vec<Block>,
    usage: Option<Usage>,
    stop: Option<String>,
    explanation: Option<String>,
    ended: bool,
}

impl ObjectDecoder for AnthropicDecoder {
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn object(&mut self, text: &str, name: &str, out: &mut Vec<StreamEvent>) -> serde_json::Result<()> {
        self.event(serde_json::from_str(text)?, text, name, out);
        Ok(())
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        while let Some(index) = self.open.first().map(|block| block.index) {
            self.block_stop(index, out);
        }
        self.blocks.fail(failure, out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.fail(cut_off("message_stop"), out);
    }
}

impl AnthropicDecoder {
    fn event(&mut self, event: Event<'_>, text: &str, name: &str, out: &mut Vec<StreamEvent>) {
        match event.kind.0.as_ref() {
            "content_block_delta" => {
                if let Some(delta) = &event.delta {
                    self.block_delta(event.index, delta, out);
                }
            }
            "content_block_start" => self.block_start(event.index, &raw_value(event.content_block), out),
            "content_block_stop" => self.block_stop(event.index, out),
            "message_start" => self.message_start(&raw_value(event.message), out),
            "message_delta" => {
                if let Some(delta) = event.delta {
                    self.message_delta(delta);
                }
                self.merge_usage(event.usage.as_deref(), out);
            }
            "message_stop" => self.message_stop(out),
            "error" => self.fail(from_error(&event.error.unwrap_or_default()), out),
            // A complete message, from servers that do not stream.
            "message" => {
                self.message_start(&lenient(text).unwrap_or_default(), out);
                self.message_stop(out);
            }
            _ if name == "error" || event.error.is_some() => {
                self.fail(from_error(&lenient(text).unwrap_or_default()), out);
            }
            _ => {}
        }
    }

    /// Usually an empty message; some answers are entirely in it.
    fn message_start(&mut self, message: &Value, out: &mut Vec<StreamEvent>) {
        if let Some(id) = message.get("id").and_then(Value::as_str) {
            out.push(StreamEvent::ResponseId(id.to_owned()));
        }
        self.merge_usage(message.get("usage"), out);
        for (index, block) in
            message.get("content").and_then(Value::as_array).into_iter().flatten().enumerate()
        {
            self.block_start(index as u64, block, out);
            self.block_stop(index as u64, out);
        }
        self.stop = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        self.explain(message.get("stop_details"));
    }

    fn block_start(&mut self, index: u64, block: &Value, out: &mut Vec<StreamEvent>) {
        self.block_stop(index, out);
        let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        let (kind, place, aside) = match field("type") {
            "text" => (Kind::Text, None, String::new()),
            "thinking" => {
                out.push(StreamEvent::Thinking);
                (Kind::Thinking, None, field("signature").to_owned())
            }
            "redacted_thinking" => {
                let place = self.blocks.begin_thinking(out);
                self.blocks.sign(place, field("data"), Redaction::Yes, out);
                (Kind::Other, Some(place), String::new())
            }
            "tool_use" => {
                let place = self.blocks.begin_call(field("id"), field("name"), out);
                let input =
                    block.get("input").filter(|input| input.as_object().is_none_or(|map| !map.is_empty()));
                let input = input.filter(|input| !input.is_null()).map(Value::to_string);
                (Kind::Call, Some(place), input.unwrap_or_default())
            }
            _ => (Kind::Other, None, String::new()),
        };
        self.open.push(Block { index, kind, place, aside, streamed: false });
        match kind {
            Kind::Text => self.append(index, Kind::Text, field("text"), out),
            Kind::Thinking => self.append(index, Kind::Thinking, field("thinking"), out),
            Kind::Call | Kind::Other => {}
        }
    }

    fn block_delta(&mut self, index: u64, delta: &Delta<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(text) = Text::non_empty(&delta.text) {
            self.append(index, Kind::Text, text, out);
        }
        if let Some(text) = Text::non_empty(&delta.thinking) {
            self.append(index, Kind::Thinking, text, out);
        }
        if let Some(text) = Text::non_empty(&delta.partial_json) {
            self.append(index, Kind::Call, text, out);
        }
        if let Some(signature) = Text::non_empty(&delta.signature) {
            let block = self.open.iter_mut().rev().find(|block| block.index == index);
            if let Some(block) = block.filter(|block| block.kind == Kind::Thinking) {
                block.aside.push_str(signature);
            }
        }
    }

    /// Appends to the block at `index`, if it is of that kind.
    fn append(&mut self, index: u64, kind: Kind, text: &str, out: &mut Vec<StreamEvent>) {
        let block = self.open.iter_mut().rev().find(|block| block.index == index);
        let Some(block) = block.filter(|block| block.kind == kind && !text.is_empty()) else { return };
        let place = *block.place.get_or_insert_with(|| match kind {
            Kind::Thinking => self.blocks.begin_thinking(out),
            _ => self.blocks.begin_text(out),
        });
        block.streamed = true;
        self.blocks.append(place, text, out);
    }

    fn block_stop(&mut self, index: u64, out: &mut Vec<StreamEvent>) {
        let Some(at) = self.open.iter().rposition(|block| block.index == index) else { return };
        let block = self.open.remove(at);
        let mut place = block.place;
        match block.kind {
            // Thinking without text must still be sent back, for its signature.
            Kind::Thinking if !block.aside.is_empty() => {
                let signed = *place.get_or_insert_with(|| self.blocks.begin_thinking(out));
                self.blocks.sign(signed, &block.aside, Redaction::No, out);
            }
            Kind::Call if !block.streamed => {
                if let Some(place) = place {
                    self.blocks.append(place, &block.aside, out);
                }
            }
            _ => {}
        }
        if let Some(place) = place {
            self.blocks.close(place, out);
        }
    }

    fn message_delta(&mut self, delta: Delta<'_>) {
        if let Some(reason) = Text::non_empty(&delta.stop_reason) {
            self.stop = Some(reason.to_owned());
        }
        self.explain(delta.stop_details.as_deref());
    }

    fn explain(&mut self, details: Option<&Value>) {
        let words = details.and_then(|details| details.get("explanation")).and_then(Value::as_str);
        self.explanation = words.map(str::to_owned).or(self.explanation.take());
    }

    /// Numbers replace earlier ones; absent ones and null are ignored.
    fn merge_usage(&mut self, value: Option<&Value>, out: &mut Vec<StreamEvent>) {
        let Some(value) = value.filter(|value| value.is_object()) else { return };
        let usage = self.usage.get_or_insert_default();
        let set = |name: &str, target: &mut u64| {
            if let Some(number) = value.get(name).and_then(count) {
                *target = number;
            }
        };
        set("input_tokens", &mut usage.input);
        set("output_tokens", &mut usage.output);
        set("cache_read_input_tokens", &mut usage.cache_read);
        set("cache_creation_input_tokens", &mut usage.cache_write);
        out.push(StreamEvent::Usage(*usage));
    }

    fn message_stop(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(index) = self.open.first().map(|block| block.index) {
            self.block_stop(index, out);
        }
        self.ended = true;
        match self.stop.as_deref() {
            Some("refusal") => {
                let message = match &self.explanation {
                    Some(words) => format!("refusal: {words}"),
                    None => "refusal".to_owned(),
                };
                let failure = Failure::new(FailureKind::Refused, message);
                self.blocks.fail(failure.hint("rephrase the prompt or choose another model"), out);
            }
            Some(reason) => Finish::from_name(reason).end(reason, &mut self.blocks, out),
            None => self.blocks.stop(StopReason::Stop, out),
        }
    }
}
