//! Providers: recorded streams, request goldens, hand-off, faults on the wire, assembly.

mod assembly;
pub mod corpus;
mod endings;
mod faults;
mod handoff;
mod recorded_requests;
mod renewing;
mod requests;

use std::path::PathBuf;

use tau::agent::protocol::message::AssistantMessage;
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::assemble::Assembler;
use tau::agent::provider::reader::AnswerReader;
use tau::agent::provider::{StreamEvent, provider};

/// The folder of recorded streams; none, with a notice, where it is not at hand.
pub fn recordings() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("TAU_SHARED").map(PathBuf::from);
    let places = [named, Some(root.join("../shared")), Some(root.join("../../shared"))];
    let found = places.into_iter().flatten().map(|place| place.join("corpus")).find(|place| place.is_dir());
    if found.is_none() {
        println!("skipped: the recorded streams are not at hand (set TAU_SHARED)");
    }
    found
}

/// A model of that format.
fn model(api: Api) -> Model {
    Model { id: "model".into(), api, provider: "vendor".into(), ..Model::default() }
}

/// Decodes a body that comes in parts of the sizes given, again and again.
fn decode(api: Api, body: &[u8], sizes: &[usize]) -> Vec<StreamEvent> {
    let mut reader = AnswerReader::new(provider(api).unwrap().decoder());
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

/// The message that events make.
fn assemble(api: Api, events: &[StreamEvent]) -> AssistantMessage {
    let mut assembler = Assembler::new(&model(api), 0);
    for event in events {
        assembler.feed(event);
    }
    assembler.message()
}
