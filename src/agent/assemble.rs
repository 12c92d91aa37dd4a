//! Folds stream events into an assistant message; pure, O(1) a delta.

use super::message::AssistantMessage;
use super::model::Model;
use super::provider::StreamEvent;

/// An assistant message in flight.
#[derive(Debug)]
pub struct Assembler;

impl Assembler {
    /// An empty message of `model`, begun at `timestamp` (milliseconds since 1970).
    pub fn new(_model: &Model, _timestamp: i64) -> Self {
        todo!()
    }

    /// Takes the next event. Tool calls whose arguments did not parse keep them as a string.
    pub fn feed(&mut self, _event: &StreamEvent) {
        todo!()
    }

    /// The message so far. Empty blocks are left out, usage is priced.
    pub fn message(self) -> AssistantMessage {
        todo!()
    }
}
