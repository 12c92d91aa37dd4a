//! Decodes a streamed chat completion.
//!
//! Dialects differ most in tool calls (with or without `index`, ids repeated or absent), in the place of
//! reasoning, and in the end of a stream; see the functions for each.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::super::blocks::{BlockIndex, BlockWriter};
use super::super::classify::{from_error, is_bare_error};
use super::super::finish::Finish;
use super::super::json::{Count, FirstOf, ListOrText, RareField, StringOrJson, Text, lenient};
use super::super::objects::{ObjectDecoder, cut_off};
use super::super::repeated_frame::RepeatedFrames;
use super::super::{Failure, FailureKind, StreamEvent};
use super::reasoning::Reasoning;
use super::usage;
use crate::provider::partial_json;
use tau_protocol::message::StopReason;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    id: StringOrJson<'a>,
    #[serde(borrow, default)]
    /// Only one answer is requested, so only the first choice is used.
    choices: Option<FirstOf<Choice<'a>>>,
    usage: RareField<Value>,
    x_groq: RareField<Value>,
    error: RareField<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Piece<'a>>,
    /// A complete answer, from servers that do not stream; some repeat it next to each delta.
    #[serde(borrow, default)]
    message: RareField<Piece<'a>>,
    #[serde(borrow, default)]
    finish_reason: RareField<Text<'a>>,
    error: RareField<Value>,
    usage: RareField<Value>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    content: StringOrJson<'a>,
    #[serde(borrow, default)]
    refusal: RareField<Text<'a>>,
    #[serde(borrow, default)]
    reasoning_content: RareField<StringOrJson<'a>>,
    #[serde(borrow, default)]
    reasoning: RareField<StringOrJson<'a>>,
    #[serde(borrow, default)]
    reasoning_text: RareField<StringOrJson<'a>>,
    reasoning_details: RareField<Value>,
    #[serde(borrow, default)]
    tool_calls: Option<ListOrText<CallPiece<'a>>>,
}

impl Chunk<'_> {
    /// The piece of text, if there is nothing else in it.
    fn only_text(&self) -> Option<&str> {
        let Chunk { id: _, choices: Some(FirstOf(Some(choice))), usage: None, x_groq: None, error: None } =
            self
        else {
            return None;
        };
        let Choice { delta: Some(piece), message: None, finish_reason: None, error: None, usage: None } =
            choice
        else {
            return None;
        };
        match piece {
            Piece {
                content: StringOrJson::Text(Cow::Borrowed(text)),
                refusal: None,
                reasoning_content: None,
                reasoning: None,
                reasoning_text: None,
                reasoning_details: None,
                tool_calls: None,
            } => Some(text),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow, default)]
    id: StringOrJson<'a>,
    #[serde(borrow, default)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: StringOrJson<'a>,
}

/// A call in flight. Its block begins when its name is known.
#[derive(Debug)]
struct Call {
    index: Option<u64>,
    id: String,
    place: Option<BlockIndex>,
    /// Arguments that arrived before the name.
    waiting: String,
}

/// The decoder of the format.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    blocks: BlockWriter,
    calls: Vec<Call>,
    reasoning: Reasoning,
    /// The frame of which most pieces of text come.
    repeated: RepeatedFrames,
    identified: bool,
    /// The last `finish_reason`.
    finish: Option<String>,
    done: bool,
    ended: bool,
}

impl ObjectDecoder for ChatDecoder {
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn object(&mut self, text: &str, event: &str, out: &mut Vec<StreamEvent>) -> serde_json::Result<()> {
        if event != "error"
            && let Some(piece) = self.repeated.string(text)
        {
            self.blocks.text(piece, out);
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(text)?;
        let is_empty = chunk.choices.as_ref().is_none_or(|choices| choices.0.is_none());
        if chunk.error.is_none() && (event == "error" || is_empty) {
            let value = lenient(text).unwrap_or_default();
            if event == "error" || is_bare_error(&value) {
                self.fail(from_error(&value), out);
                return Ok(());
            }
        }
        if let Some(piece) = chunk.only_text() {
            self.repeated.remember(text, piece);
        }
        self.chunk(chunk, out);
        Ok(())
    }

    fn on_done(&mut self, out: &mut Vec<StreamEvent>) {
        self.done = true;
        self.end(out);
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        self.begin_nameless(out);
        self.reasoning.sign(&mut self.blocks, out);
        self.blocks.fail(failure, out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        self.begin_nameless(out);
        self.reasoning.sign(&mut self.blocks, out);
        match self.finish.take() {
            Some(reason) => Finish::from_name(&reason).end(&reason, &mut self.blocks, out),
            // Some servers end with only `[DONE]`; without anything before it, it is not an answer.
            None if self.done && !self.blocks.is_empty() => self.blocks.stop(StopReason::Stop, out),
            None if self.done => {
                let message = "the provider sent [DONE] without an answer";
                self.blocks.fail(Failure::new(FailureKind::Network, message), out);
            }
            None => self.blocks.fail(cut_off("a finish_reason and without [DONE]"), out),
        }
    }
}

impl ChatDecoder {
    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return self.fail(from_error(&error), out);
        }
        let id = chunk.id.text();
        if !self.identified && !id.is_empty() {
            self.identified = true;
            out.push(StreamEvent::ResponseId(id.into_owned()));
        }
        let choice = chunk.choices.and_then(|choices| choices.0);
        let choice_usage = choice.as_ref().and_then(|choice| choice.usage.as_deref()).and_then(usage::read);
        if let Some(choice) = choice {
            if let Some(error) = choice.error.filter(|error| !error.is_null()) {
                return self.fail(from_error(&error), out);
            }
            if let Some(piece) = choice.delta.or(choice.message.map(|message| *message)) {
                self.piece(piece, out);
            }
            if let Some(reason) = Text::non_empty(&choice.finish_reason) {
                self.finish = Some(reason.to_owned());
            }
        }
        let groq = chunk.x_groq.as_ref().and_then(|groq| groq.get("usage")).and_then(usage::read);
        if let Some(usage) = chunk.usage.as_deref().and_then(usage::read).or(groq).or(choice_usage) {
            out.push(StreamEvent::Usage(usage));
        }
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<StreamEvent>) {
        let named = [
            ("reasoning_content", &piece.reasoning_content),
            ("reasoning", &piece.reasoning),
            ("reasoning_text", &piece.reasoning_text),
        ];
        let mut filled = named.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?.text())));
        // Providers send the same text in several of these; the first non-empty one is used.
        let plain = filled.find(|(_, text)| !text.is_empty());
        if let Some((field, text)) = &plain {
            let place = self.blocks.thinking(text, out);
            self.reasoning.note_field(field, place);
        }
        if let Some(Value::Array(details)) = piece.reasoning_details.as_deref() {
            let text = self.reasoning.details(details);
            if plain.is_none() {
                let place = self.blocks.thinking(&text, out);
                self.reasoning.note_field("reasoning_details", place);
            }
        }
        match &piece.content {
            StringOrJson::Text(text) => {
                self.blocks.text(text, out);
            }
            StringOrJson::Other(other) => self.parts(other.as_array().map_or(&[], Vec::as_slice), out),
            StringOrJson::Nothing => {}
        }
        if let Some(refusal) = Text::non_empty(&piece.refusal) {
            self.blocks.text(refusal, out);
        }
        for call in piece.tool_calls.unwrap_or_default().0 {
            self.call(&call, out);
        }
    }

    /// `content` as a list of parts (Mistral).
    fn parts(&mut self, parts: &[Value], out: &mut Vec<StreamEvent>) {
        for part in parts {
            if let Some(text) = part.get("text").and_then(Value::as_str) {
                self.blocks.text(text, out);
            }
            match part.get("thinking") {
                Some(Value::Array(thoughts)) => {
                    for text in thoughts.iter().filter_map(|thought| thought.get("text")?.as_str()) {
                        let place = self.blocks.thinking(text, out);
                        self.reasoning.note_field("content", place);
                    }
                }
                Some(Value::String(text)) => {
                    let place = self.blocks.thinking(text, out);
                    self.reasoning.note_field("content", place);
                }
                _ => {}
            }
        }
    }

    fn call(&mut self, piece: &CallPiece<'_>, out: &mut Vec<StreamEvent>) {
        let id = piece.id.text();
        let id = id.as_ref();
        let function = piece.function.as_ref();
        let name = function.and_then(|function| Text::non_empty(&function.name)).unwrap_or_default();
        let arguments = function.map(|function| function.arguments.text()).unwrap_or_default();
        let index = piece.index.0;
        let at = match self.find_call(index, id, name, &arguments) {
            Some(at) => at,
            None => {
                let (id, waiting) = (id.to_owned(), String::new());
                self.calls.push(Call { index, id, place: None, waiting });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        match call.place {
            Some(place) => self.blocks.append(place, &arguments, out),
            None if name.is_empty() => call.waiting.push_str(&arguments),
            None => {
                self.blocks.close_flow(out);
                let place = self.blocks.begin_call(&call.id, name, out);
                call.place = Some(place);
                self.blocks.append(place, &std::mem::take(&mut call.waiting), out);
                self.blocks.append(place, &arguments, out);
            }
        }
    }

    /// The call that a piece continues; `None` if it begins a new one.
    ///
    /// The index decides if there is one. Without an index a new id means a new call. Some servers give all
    /// calls the index 0 and distinguish them only by id, or not at all: there, a name with another id, or without
    /// ids with the beginning of arguments, begins a new call after arguments that are already complete. (Others
    /// repeat id and name in every piece, which is not a new call.)
    fn find_call(&self, index: Option<u64>, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let Some(index) = index else {
            if id.is_empty() {
                return if name.is_empty() { self.calls.len().checked_sub(1) } else { None };
            }
            return self.calls.iter().rposition(|call| call.id == id);
        };
        let at = self.calls.iter().rposition(|call| call.index == Some(index))?;
        let call = self.calls.get(at)?;
        let other = match (id, call.id.as_str()) {
            ("", "") => arguments.trim_start().starts_with('{'),
            ("", _) | (_, "") => false,
            (id, known) => id != known,
        };
        let complete = || {
            let raw = call.place.map_or("", |place| self.blocks.arguments(place));
            partial_json::arguments(raw).is_object()
        };
        (!(other && !name.is_empty() && complete())).then_some(at)
    }

    /// Calls whose name never arrived still count: they get an error result.
    fn begin_nameless(&mut self, out: &mut Vec<StreamEvent>) {
        for call in self.calls.iter_mut().filter(|call| call.place.is_none()) {
            let place = self.blocks.begin_call(&call.id, "", out);
            call.place = Some(place);
            self.blocks.append(place, &call.waiting, out);
        }
    }
}
