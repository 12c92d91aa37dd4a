//! Decodes a streamed `GenerateContentResponse`.
//!
//! There is no last event: a `finishReason` may be followed by further text, so only the end of
//! the body ends an answer.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::blocks::{BlockIndex, BlockWriter, Redaction};
use super::super::classify::from_error;
use super::super::finish::Finish;
use super::super::json::{Count, FirstOf, RareField, Text, raw_value};
use super::super::objects::{ObjectDecoder, cut_off};
use super::super::{Failure, FailureKind, StreamEvent};
use tau_protocol::message::Usage;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    /// Only one answer is requested, so only the first is used.
    candidates: Option<FirstOf<Candidate<'a>>>,
    prompt_feedback: RareField<Value>,
    #[serde(borrow, default)]
    usage_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response_id: Option<Text<'a>>,
    error: RareField<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: RareField<Text<'a>>,
    #[serde(borrow, default)]
    finish_message: RareField<Text<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(borrow, default)]
    thought_signature: RareField<Text<'a>>,
    #[serde(borrow, default)]
    function_call: RareField<Call<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    args: Option<&'a RawValue>,
}

/// Sent with most events.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    prompt_token_count: Count,
    cached_content_token_count: Count,
    tool_use_prompt_token_count: Count,
    thoughts_token_count: Count,
    candidates_token_count: Count,
}

/// The decoder of the format.
#[derive(Debug, Default)]
pub(super) struct GoogleDecoder {
    blocks: BlockWriter,
    /// The block of text or thinking that was last written to.
    last: Option<BlockIndex>,
    identified: bool,
    finish: Option<(String, String)>,
    blocked: Option<String>,
    ended: bool,
}

impl ObjectDecoder for GoogleDecoder {
    fn has_ended(&self) -> bool {
        self.ended
    }

    fn object(&mut self, text: &str, _event: &str, out: &mut Vec<StreamEvent>) -> serde_json::Result<()> {
        self.chunk(serde_json::from_str(text)?, out);
        Ok(())
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        self.blocks.fail(failure, out);
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) {
        self.ended = true;
        if let Some(blocked) = self.blocked.take().filter(|_| self.blocks.is_empty()) {
            return self.blocks.fail(refusal_failure(blocked), out);
        }
        let Some((reason, message)) = self.finish.take() else {
            return self.blocks.fail(cut_off("a finishReason"), out);
        };
        let reported = if message.is_empty() { reason.clone() } else { format!("{reason}: {message}") };
        let finish = match Finish::from_name(&reason) {
            // According to the documentation, all words but two mean that there is no answer.
            Finish::Unknown => Finish::Malformed,
            known => known,
        };
        finish.end(&reported, &mut self.blocks, out);
    }
}

impl GoogleDecoder {
    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<StreamEvent>) {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return self.fail(from_error(&error), out);
        }
        if let Some(id) = Text::non_empty(&chunk.response_id).filter(|_| !self.identified) {
            self.identified = true;
            out.push(StreamEvent::ResponseId(id.to_owned()));
        }
        if let Some(feedback) = &chunk.prompt_feedback {
            self.feedback(feedback);
        }
        if let Some(candidate) = chunk.candidates.and_then(|candidates| candidates.0) {
            self.candidate(&candidate, out);
        }
        if let Some(usage) = chunk.usage_metadata.and_then(Counts::read) {
            out.push(StreamEvent::Usage(usage));
        }
    }

    fn feedback(&mut self, feedback: &Value) {
        if let Some(reason) = feedback.get("blockReason").and_then(Value::as_str) {
            let message = feedback.get("blockReasonMessage").and_then(Value::as_str).unwrap_or_default();
            self.blocked = Some(format!("prompt blocked: {reason} {message}").trim_end().to_owned());
        }
    }

    fn candidate(&mut self, candidate: &Candidate<'_>, out: &mut Vec<StreamEvent>) {
        let parts = candidate.content.as_ref().and_then(|content| content.parts.as_deref());
        for part in parts.unwrap_or_default() {
            self.part(part, out);
        }
        if let Some(reason) = Text::non_empty(&candidate.finish_reason) {
            let message = Text::non_empty(&candidate.finish_message).unwrap_or_default();
            self.finish = Some((reason.to_owned(), message.to_owned()));
        }
    }

    fn part(&mut self, part: &Part<'_>, out: &mut Vec<StreamEvent>) {
        let signature = Text::non_empty(&part.thought_signature).unwrap_or_default();
        if let Some(call) = &part.function_call {
            return self.call(call, signature, out);
        }
        let text = Text::non_empty(&part.text).unwrap_or_default();
        let place = match part.thought {
            Some(true) => self.blocks.thinking(text, out),
            _ => self.blocks.text(text, out),
        };
        self.last = place.or(self.last);
        if signature.is_empty() {
            return;
        }
        // A separate part, without text, may carry the signature of the part before it.
        if let Some(place) = self.last {
            self.blocks.sign(place, signature, Redaction::No, out);
            // Signed text is not joined with later text.
            self.blocks.close(place, out);
        }
    }

    fn call(&mut self, call: &Call<'_>, signature: &str, out: &mut Vec<StreamEvent>) {
        self.blocks.close_flow(out);
        let id = Text::non_empty(&call.id).unwrap_or_default();
        let name = Text::non_empty(&call.name).unwrap_or_default();
        let place = self.blocks.begin_call(id, name, out);
        self.blocks.sign(place, signature, Redaction::No, out);
        self.blocks.append(place, call.args.map_or("{}", RawValue::get), out);
        self.blocks.close(place, out);
    }
}

fn refusal_failure(message: String) -> Failure {
    Failure::new(FailureKind::Refused, message).hint("rephrase the prompt or choose another model")
}

impl Counts {
    fn read(raw: &RawValue) -> Option<Usage> {
        let counts = serde_json::from_str(raw.get()).or_else(|_| Counts::deserialize(raw_value(Some(raw))));
        counts.ok().and_then(Counts::usage)
    }

    /// Cached tokens are inside `promptTokenCount`; thoughts are not among the candidates; input of the
    /// provider's own tools counts as input as well. `None` without a number for the prompt.
    fn usage(self) -> Option<Usage> {
        let prompt = self.prompt_token_count.0?;
        let cache_read = self.cached_content_token_count.or_zero();
        Some(Usage {
            input: prompt
                .saturating_sub(cache_read)
                .saturating_add(self.tool_use_prompt_token_count.or_zero()),
            output: self.candidates_token_count.or_zero().saturating_add(self.thoughts_token_count.or_zero()),
            cache_read,
            ..Usage::default()
        })
    }
}
