//! Providers: recorded streams, request goldens, hand-off, faults on the wire, assembly.

mod assembly;
mod bugs;
mod corpus;
mod endings;
pub mod expected;
mod faults;
pub mod handoff;
pub mod recordings;
mod renewing;
mod request_fields;
mod requests;

use std::path::PathBuf;
use std::sync::Arc;

use tau::agent::protocol::message::AssistantMessage;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::assemble::Assembler;
use tau::agent::provider::reader::AnswerReader;
use tau::agent::provider::{AnswerDecoder, ModelRequest, StreamEvent, wire_format};

use crate::support::dice::Dice;

/// The corpus of streams and requests that others recorded. It is not part of the repository: `None`, with a
/// notice, if it is absent. Every test that uses it is the larger half of one that runs without it.
pub fn corpus_folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("TAU_SHARED").map(PathBuf::from);
    let places = [named, Some(root.join("../shared")), Some(root.join("../../shared"))];
    let found = places.into_iter().flatten().map(|place| place.join("corpus")).find(|place| place.is_dir());
    if found.is_none() {
        println!("notice: no corpus here (TAU_SHARED); our own recordings are checked by other tests");
    }
    found
}

/// A model with this format.
pub fn model(api: Api) -> Model {
    Model { id: "model".into(), api, provider: "acme".into(), ..Model::default() }
}

/// A request without messages to a model with this format.
pub fn request(api: Api) -> ModelRequest {
    ModelRequest { session_id: "s".into(), ..ModelRequest::new(Arc::new(model(api)), Vec::new()) }
}

/// Sizes of parts, from 1 to `most`.
pub fn sizes(dice: &mut Dice, most: usize) -> Vec<usize> {
    (0..97).map(|_| 1 + dice.below(most)).collect()
}

/// Decodes a body in this format that arrives in parts of these sizes, cyclically.
fn decode(api: Api, body: &[u8], sizes: &[usize]) -> Vec<StreamEvent> {
    decode_with(wire_format(api).unwrap().decoder(), body, sizes)
}

/// Decodes a body with this decoder.
pub fn decode_with(decoder: Box<dyn AnswerDecoder>, body: &[u8], sizes: &[usize]) -> Vec<StreamEvent> {
    read_with(AnswerReader::new(decoder), body, sizes)
}

/// Reads a body that arrives in parts of these sizes, cyclically.
pub fn read_with(mut reader: AnswerReader, body: &[u8], sizes: &[usize]) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    let mut rest = body;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, tail) = rest.split_at((*size).clamp(1, rest.len()));
        reader.push(part, &mut events);
        rest = tail;
    }
    reader.finish(&mut events);
    events
}

/// The message assembled from events.
pub fn assemble(api: Api, events: &[StreamEvent]) -> AssistantMessage {
    let mut assembler = Assembler::new(&model(api), 0);
    for event in events {
        assembler.feed(event);
    }
    assembler.message()
}
