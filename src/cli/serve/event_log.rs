//! The last events of a session, numbered, in the form for clients.
//!
//! Each event is written once, as a frame of an event stream, when the first client reads it, and shared by all
//! clients. A client is a position in this log and nothing else, so a slow one costs no memory. The log is bounded: a
//! client that falls too far behind gets the number of missed events.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use serde_json::Value;

use super::event_record;
use super::sender::Sender;
use crate::protocol;
use tau_app::transcript::message_size::value_size;
use tau_protocol::event::AgentEvent;

/// Maximum size of a session's events, in bytes.
const KEPT_BYTES: usize = 512 * 1024;
/// Maximum number of a session's events.
const KEPT_EVENTS: usize = 8_192;

/// A position: the number of the last event seen.
pub(crate) type Position = u64;

/// A stored event.
#[derive(Debug)]
pub(crate) struct LoggedEvent {
    pub event: AgentEvent,
    /// The sender whose screen alone gets it; `None` for all screens. Other clients get every event.
    pub only: Option<Sender>,
    opening: Arc<str>,
    number: Position,
    /// The approximate size of its record, in bytes.
    size: usize,
    /// Its frame, once a client has read it.
    frame: OnceLock<Bytes>,
}

impl LoggedEvent {
    /// Its frame: id, name and record.
    pub fn frame(&self) -> Bytes {
        let write = || frame(Some(&id(&self.opening, self.number)), &event_record::record(&self.event));
        self.frame.get_or_init(write).clone()
    }
}

fn id(opening: &str, number: Position) -> String {
    format!("{opening}-{number}")
}

#[derive(Debug)]
pub(crate) struct EventLog {
    /// Part of every id: ids from an earlier opening of the session are invalid here.
    opening: Arc<str>,
    /// The number of the last event; the first one has 1.
    last: Position,
    kept: VecDeque<Arc<LoggedEvent>>,
    bytes: usize,
}

/// The events after a position.
#[derive(Debug, Default)]
pub(crate) struct Following {
    /// The number of events in between that were dropped.
    pub missed: u64,
    pub events: Vec<Arc<LoggedEvent>>,
    /// The position after them.
    pub position: Position,
}

impl EventLog {
    /// An empty log, whose ids begin with `opening`.
    pub fn new(opening: String) -> Self {
        EventLog { opening: opening.into(), last: 0, kept: VecDeque::new(), bytes: 0 }
    }

    /// The number of the last event.
    pub fn last(&self) -> Position {
        self.last
    }

    /// The id of the event with this number.
    pub fn id(&self, position: Position) -> String {
        id(&self.opening, position)
    }

    /// The number in an id, if it belongs to this log.
    pub fn position(&self, id: &str) -> Option<Position> {
        let number = id.strip_prefix(&*self.opening)?.strip_prefix('-')?;
        number.parse().ok().filter(|position| *position <= self.last)
    }

    /// Adds an event, and the sender whose screen alone gets it.
    pub fn push(&mut self, event: AgentEvent, only: Option<Sender>) {
        self.last = self.last.saturating_add(1);
        let size = value_size(&event_record::record(&event));
        self.bytes = self.bytes.saturating_add(size);
        let (opening, number) = (Arc::clone(&self.opening), self.last);
        let event = LoggedEvent { event, only, opening, number, size, frame: OnceLock::new() };
        self.kept.push_back(Arc::new(event));
        while self.kept.len() > 1 && (self.bytes > KEPT_BYTES || self.kept.len() > KEPT_EVENTS) {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.bytes = self.bytes.saturating_sub(oldest.size);
        }
    }

    /// Counts an event that nobody reads.
    pub fn skip(&mut self) {
        self.last = self.last.saturating_add(1);
        self.kept.clear();
        self.bytes = 0;
    }

    /// The events after a position, of about `most` bytes; at least one if there are any.
    pub fn after(&self, position: Position, most: usize) -> Following {
        let before_kept = self.last.saturating_sub(self.kept.len() as u64);
        let missed = before_kept.saturating_sub(position);
        let skipped = usize::try_from(position.saturating_sub(before_kept)).unwrap_or(usize::MAX);
        let mut bytes = 0_usize;
        let fits = |kept: &&Arc<LoggedEvent>| {
            let fits = bytes == 0 || bytes.saturating_add(kept.size) <= most;
            bytes = bytes.saturating_add(kept.size);
            fits
        };
        let events: Vec<Arc<LoggedEvent>> =
            self.kept.iter().skip(skipped).take_while(fits).cloned().collect();
        let position = position.max(before_kept).saturating_add(events.len() as u64);
        Following { missed, events, position }
    }
}

/// A frame of an event stream (the format: <https://html.spec.whatwg.org/multipage/server-sent-events.html>).
/// Its name is the type of the record.
pub(crate) fn frame(id: Option<&str>, record: &Value) -> Bytes {
    let name = record.get("type").and_then(Value::as_str).unwrap_or("message");
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    // The record ends with a line break.
    Bytes::from(format!("{id}event: {name}\ndata: {}\n", protocol::record(&record.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tau_protocol::event::TurnEvent;

    fn log(events: usize, text: &str) -> EventLog {
        let mut log = EventLog::new("a".into());
        for n in 1..=events {
            let (tool_call_id, title) = (n.to_string(), text.to_owned());
            log.push(TurnEvent::ToolTitle { tool_call_id, title }.into(), None);
        }
        log
    }

    fn numbers(following: &Following) -> Vec<u64> {
        let number = |kept: &Arc<LoggedEvent>| {
            let text = String::from_utf8(kept.frame().to_vec()).unwrap();
            let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
            let record = serde_json::from_str::<Value>(data).unwrap();
            assert!(
                text.starts_with(&format!("id: a-{}\n", record["toolCallId"].as_str().unwrap())),
                "{text}"
            );
            record["toolCallId"].as_str().unwrap().parse().unwrap()
        };
        following.events.iter().map(number).collect()
    }

    #[test]
    fn a_position_is_followed_by_everything_after_it() {
        let log = log(3, "");
        for (position, expected) in [(0, vec![1, 2, 3]), (2, vec![3]), (3, vec![])] {
            let following = log.after(position, 1 << 20);
            assert_eq!((numbers(&following), following.missed, following.position), (expected, 0, 3));
        }
        let first = log.after(0, 1);
        assert_eq!((numbers(&first), first.position), (vec![1], 1));
    }

    #[test]
    fn what_is_kept_is_bounded_and_what_is_missed_is_counted() {
        let log = log(1_000, &"x".repeat(10_000));
        assert!(log.bytes <= KEPT_BYTES, "{}", log.bytes);
        let following = log.after(0, usize::MAX);
        let numbers = numbers(&following);
        assert_eq!(following.missed + numbers.len() as u64, 1_000);
        assert_eq!((numbers.last(), following.position), (Some(&1_000), 1_000));
        // An event larger than the whole log is still delivered.
        let huge = self::log(2, &"x".repeat(KEPT_BYTES));
        assert_eq!((huge.after(0, 1).missed, huge.after(1, 1).events.len()), (1, 1));
    }

    #[test]
    fn ids_of_another_opening_name_nothing() {
        let log = log(2, "");
        assert_eq!(log.position("a-2"), Some(2));
        for id in ["b-1", "a-3", "a-", "a", "", "2", "a--1", "a-99999999999999999999"] {
            assert_eq!(log.position(id), None, "{id}");
        }
    }

    #[test]
    fn frames_are_as_browsers_read_them() {
        let text = frame(Some("a-1"), &json!({ "type": "notice", "text": "a\nb\u{2028}" }));
        let expected = "id: a-1\nevent: notice\ndata: {\"type\":\"notice\",\"text\":\"a\\nb\\u2028\"}\n\n";
        assert_eq!(text, expected.as_bytes());
    }
}
