//! The stream of an attached screen: the agent's events, unchanged, for tau itself.
//!
//! It begins with a greeting; then comes the session as a whole, or the events after the screen's last frame.
//! If events in between were dropped, the session comes as a whole again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use serde::Serialize;

use super::event_log::Position;
use super::event_record::for_screens;
use super::live::{Client, Fate, KEEP_ALIVE, LiveSession, Screen};
use super::metrics::{Metrics, OpenStream};
use super::stream::event_stream;
use crate::attach::wire::{EventBatch, Greeting, StreamEnd, frame};
use tau_agent::api::events::join;
use tau_app::transcript::message_size::message_size;
use tau_protocol::event::{AgentEvent, NoticeLevel, SessionEvent, TaskEvent};

/// Bytes of events that are sent to a connection at once.
const CHUNK: usize = 64 * 1024;
/// Maximum size of joined pieces of a text, in bytes.
const JOINED: usize = 16 * 1024;
/// Maximum size of the frame with the whole session: clients accept events of 64 MiB.
const MAX_SIZE: usize = 48 << 20;
/// Maximum silence of a stream.
const QUIET: Duration = Duration::from_secs(15);

pub(crate) struct ScreenStream {
    session: Arc<LiveSession>,
    screen: Screen,
    state: State,
    /// Whether the server is shutting down.
    server_ends: Box<dyn Fn() -> bool + Send>,
    metrics: Arc<Metrics>,
    _client: Client,
    _counted: OpenStream,
}

enum State {
    /// Nothing was sent. The screen's last position, if known.
    New(Option<Position>),
    /// The session comes next, as a whole.
    Opening,
    /// The screen has everything up to this position.
    Following(Position),
    Over,
}

impl ScreenStream {
    /// The stream of this screen, after its last frame.
    pub fn new(
        session: &Arc<LiveSession>,
        name: &str,
        after: Option<Position>,
        server_ends: impl Fn() -> bool + Send + 'static,
        metrics: &Arc<Metrics>,
        counted: OpenStream,
    ) -> Self {
        ScreenStream {
            session: Arc::clone(session),
            screen: session.attach(name),
            state: State::New(after),
            server_ends: Box::new(server_ends),
            metrics: Arc::clone(metrics),
            _client: session.client(),
            _counted: counted,
        }
    }

    /// The stream as a response.
    pub fn into_response(self) -> Response {
        event_stream(futures_util::stream::unfold(self, async |mut stream| {
            let piece = stream.next().await?;
            Some((piece, stream))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.state {
                State::New(after) => {
                    self.state = after.map_or(State::Opening, State::Following);
                    let greeting = Greeting { next: self.screen.next_command(), known: self.screen.known };
                    return Some(event_frame(frame::ATTACHED, &greeting));
                }
                State::Opening => {
                    let (events, position) = self.screen.opening();
                    self.state = State::Following(position);
                    return Some(self.opening(position, events));
                }
                State::Following(position) => {
                    let Some((following, told)) = self.screen.after(position, CHUNK) else {
                        self.state = State::Over;
                        continue;
                    };
                    if following.missed > 0 {
                        self.metrics.count_sent_events(0, following.missed);
                        self.state = State::Opening;
                        continue;
                    }
                    let moved = (following.position > position).then_some(following.position);
                    if moved.is_some() || !told.is_empty() {
                        self.metrics.count_sent_events(following.events.len() as u64, 0);
                        self.state = State::Following(following.position);
                        let events = following.events.iter().map(|kept| AgentEvent::clone(&kept.event));
                        let events = join_events(events.chain(told));
                        return Some(self.events(frame::EVENTS, moved, events));
                    }
                    let more = self.screen.wait_after(position);
                    match tokio::time::timeout(QUIET, more).await {
                        Ok(true) => {}
                        Ok(false) => {
                            self.state = State::Over;
                            let (deleted, not_deleted) = match self.session.fate().await {
                                Fate::Closed | Fate::BeingDeleted => (false, None),
                                Fate::Deleted => (true, None),
                                Fate::NotDeleted(why) => (false, Some(why)),
                            };
                            let closed =
                                StreamEnd { server_ends: (self.server_ends)(), deleted, not_deleted };
                            return Some(event_frame(frame::CLOSED, &closed));
                        }
                        Err(_) => return Some(KEEP_ALIVE),
                    }
                }
                State::Over => return None,
            }
        }
    }

    /// The session as a whole; of a session too large for a screen, the end.
    fn opening(&self, position: Position, mut events: Vec<AgentEvent>) -> Bytes {
        // A session that is certainly too large is not serialised first.
        while texts(&events) > MAX_SIZE && drop_beginning(&mut events) {}
        loop {
            let frame = self.events(frame::OPENED, Some(position), events.clone());
            if frame.len() <= MAX_SIZE || !drop_beginning(&mut events) {
                return frame;
            }
        }
    }

    /// A frame of events, and the position after them.
    fn events(&self, name: &str, position: Option<Position>, events: Vec<AgentEvent>) -> Bytes {
        let id = position.map(|position| self.session.read_facts(|_, log| log.id(position)));
        let events = events.into_iter().map(for_screens).collect();
        event_frame(name, &EventBatch { id, events })
    }
}

/// Leaves out the first half of the messages, which a notice says; returns whether there were any.
fn drop_beginning(events: &mut Vec<AgentEvent>) -> bool {
    let Some(AgentEvent::Session(SessionEvent::SessionOpened { messages, .. })) = events.first_mut() else {
        return false;
    };
    if messages.is_empty() {
        return false;
    }
    messages.drain(..messages.len().div_ceil(2));
    let text = "the beginning of this session is too large to be shown here".to_owned();
    let hint = Some("it is in the session's file, and /export has all of it".to_owned());
    events.retain(|event| !matches!(event, AgentEvent::Task(TaskEvent::Notice { .. })));
    events.insert(1, AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Warning, text, hint }));
    true
}

/// The size of the texts of a session, in bytes.
fn texts(events: &[AgentEvent]) -> usize {
    match events.first() {
        Some(AgentEvent::Session(SessionEvent::SessionOpened { messages, .. })) => {
            messages.iter().map(|message| message_size(message)).sum()
        }
        _ => 0,
    }
}

/// Joins pieces of the same text.
fn join_events(events: impl Iterator<Item = AgentEvent>) -> Vec<AgentEvent> {
    let mut all: Vec<AgentEvent> = Vec::new();
    for event in events {
        if !all.last_mut().is_some_and(|last| join(last, &event, JOINED)) {
            all.push(event);
        }
    }
    all
}

/// A frame of an event stream.
fn event_frame(name: &str, content: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(content).unwrap_or_else(|error| {
        let text = format!("what happened in the session could not be sent: {error}");
        let notice = AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, hint: None });
        serde_json::to_string(&EventBatch { id: None, events: vec![notice] }).unwrap_or_default()
    });
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
