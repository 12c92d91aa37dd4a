//! The current message for clients of the older document, repeated in full in each record.
//!
//! To limit that, adjacent deltas in one block are joined, so that at most twenty such records a second are
//! written. Pure: time comes in with the event.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::protocol;
use tau_agent::provider::StreamEvent;
use tau_agent::provider::assemble::Assembler;
use tau_protocol::event::Delta;
use tau_protocol::message::{AssistantMessage, Message, StopReason, Usage};
use tau_protocol::model::Model;

/// Minimum interval between two records of joined deltas.
const APART: Duration = Duration::from_millis(50);

/// A message in flight.
#[derive(Debug)]
pub(crate) struct PartialMessage {
    assembler: Assembler,
    usage: Usage,
    /// Deltas joined, not yet written.
    joined: Option<Delta>,
    /// Time at which the next joined deltas may be written.
    next: Option<Instant>,
}

impl PartialMessage {
    /// A message that has just begun.
    pub fn new(begun: &AssistantMessage) -> Self {
        let model = Model {
            api: begun.api,
            provider: begun.provider.clone(),
            id: begun.model.clone(),
            ..Model::default()
        };
        let assembler = Assembler::new(&model, begun.timestamp);
        PartialMessage { assembler, usage: begun.usage, joined: None, next: None }
    }

    /// Adds a piece; returns the records to write now.
    pub fn take(&mut self, usage: Usage, delta: Delta, now: Instant) -> Vec<Value> {
        self.usage = usage;
        let mut records = Vec::new();
        if !self.joins(&delta) {
            records.extend(self.flush(now));
        }
        self.assembler.feed(&StreamEvent::Delta(delta.clone()));
        match (&mut self.joined, &delta) {
            (Some(joined), delta) => append(joined, delta),
            (None, Delta::TextDelta { .. } | Delta::ThinkingDelta { .. } | Delta::ToolCallDelta { .. }) => {
                self.joined = Some(delta);
            }
            (None, _) => records.push(self.record(&delta)),
        }
        records.extend(self.tick(now));
        records
    }

    /// The record that is due by now.
    pub fn tick(&mut self, now: Instant) -> Option<Value> {
        if self.next.is_some_and(|next| next > now) { None } else { self.flush(now) }
    }

    /// The held back record, to be written before another one.
    pub fn flush(&mut self, now: Instant) -> Option<Value> {
        let joined = self.joined.take()?;
        self.next = Some(now + APART);
        Some(self.record(&joined))
    }

    /// Time at which a held back record is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.joined.as_ref().and(self.next)
    }

    /// The record of its beginning.
    pub fn start_record(&self) -> Value {
        let message = self.so_far();
        json!({
            "type": "message_update",
            "message": message,
            "assistantMessageEvent": { "type": "start", "partial": message },
        })
    }

    fn joins(&self, delta: &Delta) -> bool {
        self.joined.as_ref().is_some_and(|joined| place(joined) == place(delta))
    }

    fn so_far(&self) -> Value {
        let mut so_far = self.assembler.snapshot();
        so_far.stop_reason = StopReason::Stop;
        so_far.error_message = None;
        so_far.usage = self.usage;
        protocol::message(&Message::Assistant(so_far))
    }

    fn record(&self, delta: &Delta) -> Value {
        let message = self.so_far();
        let mut event = protocol::delta(delta);
        protocol::set(&mut event, "partial", message.clone());
        json!({ "type": "message_update", "message": message, "assistantMessageEvent": event })
    }
}

/// The record of the end of an answer: `done` with the message, or `error` if it failed or was stopped.
pub(crate) fn end_record(answer: &AssistantMessage) -> Value {
    let message = protocol::message(&Message::Assistant(answer.clone()));
    let reason = message.get("stopReason").cloned().unwrap_or_default();
    let event = match answer.stop_reason {
        StopReason::Error | StopReason::Aborted => {
            json!({ "type": "error", "reason": reason, "error": message, "partial": message })
        }
        StopReason::Stop | StopReason::Length | StopReason::ToolUse | StopReason::Other => {
            json!({ "type": "done", "reason": reason, "message": message, "partial": message })
        }
    };
    json!({ "type": "message_update", "message": message, "assistantMessageEvent": event })
}

/// The kind and block of a delta that can be joined; `None` for others.
fn place(delta: &Delta) -> Option<(u8, usize)> {
    match delta {
        Delta::TextDelta { content_index, .. } => Some((0, *content_index)),
        Delta::ThinkingDelta { content_index, .. } => Some((1, *content_index)),
        Delta::ToolCallDelta { content_index, .. } => Some((2, *content_index)),
        _ => None,
    }
}

fn append(joined: &mut Delta, next: &Delta) {
    let (
        Delta::TextDelta { delta: text, .. }
        | Delta::ThinkingDelta { delta: text, .. }
        | Delta::ToolCallDelta { delta: text, .. },
        Delta::TextDelta { delta: more, .. }
        | Delta::ThinkingDelta { delta: more, .. }
        | Delta::ToolCallDelta { delta: more, .. },
    ) = (joined, next)
    else {
        return;
    };
    text.push_str(more);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined_and_none_is_lost() {
        let begun =
            json!({"content": [], "api": "scripted", "provider": "p", "model": "m", "stopReason": "stop"});
        let mut partial = PartialMessage::new(&serde_json::from_value(begun).unwrap());
        let mut records = Vec::new();
        let mut now = Instant::now();
        records.extend(partial.take(Usage::default(), Delta::TextStart { content_index: 0 }, now));
        for _ in 0..100 {
            let delta = Delta::TextDelta { content_index: 0, delta: "ab".into() };
            records.extend(partial.take(Usage::default(), delta, now));
            now += Duration::from_millis(1);
        }
        let end = Delta::TextEnd { content_index: 0, content: "ab".repeat(100) };
        records.extend(partial.take(Usage::default(), end, now));
        assert!(records.len() <= 6, "{} records", records.len());
        let written: String =
            records.iter().filter_map(|record| record["assistantMessageEvent"]["delta"].as_str()).collect();
        assert_eq!(written, "ab".repeat(100));
        let last = records.last().unwrap();
        assert_eq!(last["message"], last["assistantMessageEvent"]["partial"]);
        assert_eq!(last["message"]["content"][0]["text"], json!("ab".repeat(100)));
        assert_eq!(last["message"]["stopReason"], json!("stop"));
        assert!(last.get("usage").is_none());
        assert_eq!(partial.due(), None);
    }
}
