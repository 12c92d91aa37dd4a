//! Records the form of reasoning in a chat stream, so that it can be sent back the same way.
//!
//! The signature of a thinking block holds it: the name of the field that held the text, or (from OpenRouter
//! and similar gateways) the JSON list `reasoning_details`, which also carries the upstream provider's own
//! signatures and encrypted parts. `request` reads both back.

use serde_json::{Map, Value};

use super::super::StreamEvent;
use super::super::blocks::{BlockIndex, BlockWriter, Redaction};

/// The possible fields of reasoning text. `content` means parts of a list.
pub(super) const FIELDS: [&str; 4] = ["reasoning_content", "reasoning", "reasoning_text", "content"];

/// The known form of an answer's reasoning.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    field: &'static str,
    /// The thinking block that the signature belongs to: the last one.
    place: Option<BlockIndex>,
    details: Vec<Map<String, Value>>,
    signed: bool,
}

impl Reasoning {
    /// Records that text arrived in `field` and went to the block at `place`.
    pub(super) fn note_field(&mut self, field: &str, place: Option<BlockIndex>) {
        if place.is_some() {
            self.place = place;
            self.field = FIELDS.into_iter().find(|known| *known == field).unwrap_or_default();
        }
    }

    /// Handles `reasoning_details` and returns their visible text. Pieces of one detail are joined.
    pub(super) fn details(&mut self, pieces: &[Value]) -> String {
        let mut visible = String::new();
        for piece in pieces.iter().filter_map(Value::as_object) {
            for field in ["text", "summary"] {
                visible.push_str(piece.get(field).and_then(Value::as_str).unwrap_or_default());
            }
            self.join(piece);
        }
        visible
    }

    fn join(&mut self, piece: &Map<String, Value>) {
        let same = |last: &Map<String, Value>| {
            ["type", "index"].iter().all(|field| last.get(*field) == piece.get(*field))
                && piece.get("type").and_then(Value::as_str) != Some("reasoning.encrypted")
        };
        let Some(last) = self.details.last_mut().filter(|last| same(last)) else {
            self.details.push(piece.clone());
            return;
        };
        for (field, value) in piece {
            match (last.get_mut(field), value) {
                (Some(Value::String(text)), Value::String(more)) if field == "text" || field == "summary" => {
                    text.push_str(more);
                }
                (Some(known), _) if known.is_null() || known == "" => *known = value.clone(),
                (None, _) => {
                    last.insert(field.clone(), value.clone());
                }
                _ => {}
            }
        }
    }

    /// Signs the thinking block; reasoning without visible text gets a separate redacted block.
    pub(super) fn sign(&mut self, blocks: &mut BlockWriter, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.signed, true) {
            return;
        }
        let filled = |detail: &Map<String, Value>| {
            ["text", "summary", "data", "signature"]
                .iter()
                .any(|field| detail.get(*field).and_then(Value::as_str).is_some_and(|text| !text.is_empty()))
        };
        self.details.retain(filled);
        if self.details.is_empty() {
            if let Some(place) = self.place {
                blocks.sign(place, self.field, Redaction::No, out);
            }
            return;
        }
        let list: Vec<Value> = self.details.drain(..).map(Value::Object).collect();
        let signature = Value::Array(list).to_string();
        match self.place {
            Some(place) => blocks.sign(place, &signature, Redaction::No, out),
            None => {
                blocks.close_flow(out);
                let place = blocks.begin_thinking(out);
                blocks.sign(place, &signature, Redaction::Yes, out);
            }
        }
    }
}
