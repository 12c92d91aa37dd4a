//! The stream of an attached screen: the events of the agent as they are, for tau itself.
//!
//! It begins with a greeting; then comes the session as a whole, or what follows the last frame that the
//! screen got. Where events in between are no longer kept, the session comes as a whole again.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use serde::Serialize;

use super::event_log::Position;
use super::live::{Client, Fate, KEEP_ALIVE, LiveSession, Screen};
use super::metrics::{Metrics, OpenStream};
use super::stream::event_stream;
use crate::attach::wire::{Closed, Greeting, Happened, frame};
use tau_agent::api::events::join;
use tau_protocol::event::AgentEvent;
use tau_protocol::event::{NoticeLevel, SessionEvent, SettingsEvent, TaskEvent};
use tau_protocol::model::Model;

/// Bytes of events that are handed to a connection at once.
const CHUNK: usize = 64 * 1024;
/// Most bytes of pieces of a text that are sent as one.
const JOINED: usize = 16 * 1024;
/// Most bytes of the frame with the whole session: clients take events of 64 MiB.
const MAX_SIZE: usize = 48 << 20;
/// Longest silence of a stream.
const QUIET: Duration = Duration::from_secs(15);

/// The stream of a screen.
pub(crate) struct ScreenStream {
    session: Arc<LiveSession>,
    screen: Screen,
    state: State,
    /// Whether the server is about to end.
    server_ends: Box<dyn Fn() -> bool + Send>,
    metrics: Arc<Metrics>,
    _client: Client,
    _counted: OpenStream,
}

enum State {
    /// Nothing was sent. What the screen has already, if that is known.
    New(Option<Position>),
    /// The session comes next, as a whole.
    Opening,
    /// It has everything up to here.
    Following(Position),
    Over,
}

impl ScreenStream {
    /// The stream of this screen, after what it got last.
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
                    return Some(written(frame::ATTACHED, &Greeting { next: self.screen.next_command() }));
                }
                State::Opening => {
                    let (events, position) = self.screen.opening();
                    self.state = State::Following(position);
                    return Some(self.opening(position, events));
                }
                State::Following(position) => {
                    let (following, told) = self.screen.after(position, CHUNK);
                    if following.missed > 0 {
                        self.metrics.sent(0, following.missed);
                        self.state = State::Opening;
                        continue;
                    }
                    let moved = (following.position > position).then_some(following.position);
                    if moved.is_some() || !told.is_empty() {
                        self.metrics.sent(following.events.len() as u64, 0);
                        self.state = State::Following(following.position);
                        let events = following.events.iter().map(|kept| AgentEvent::clone(&kept.event));
                        let events = joined(events.chain(told));
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
                            let closed = Closed { server_ends: (self.server_ends)(), deleted, not_deleted };
                            return Some(written(frame::CLOSED, &closed));
                        }
                        Err(_) => return Some(KEEP_ALIVE),
                    }
                }
                State::Over => return None,
            }
        }
    }

    /// The session as a whole; of one that is larger than a screen takes at once, the end.
    fn opening(&self, position: Position, mut events: Vec<AgentEvent>) -> Bytes {
        loop {
            let frame = self.events(frame::OPENED, Some(position), events.clone());
            let Some(AgentEvent::Session(SessionEvent::SessionOpened { messages, .. })) = events.first_mut()
            else {
                return frame;
            };
            if frame.len() <= MAX_SIZE || messages.is_empty() {
                return frame;
            }
            messages.drain(..messages.len().div_ceil(2));
            let text = "the beginning of this session is too large to be shown here".to_owned();
            let hint = Some("it is in the session's file, and /export has all of it".to_owned());
            events.retain(|event| !matches!(event, AgentEvent::Task(TaskEvent::Notice { .. })));
            events.insert(1, AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Warning, text, hint }));
        }
    }

    /// A frame of events, and the place after them.
    fn events(&self, name: &str, position: Option<Position>, events: Vec<AgentEvent>) -> Bytes {
        let id = position.map(|position| self.session.read_facts(|_, log| log.id(position)));
        let events = events.into_iter().map(for_screens).collect();
        written(name, &Happened { id, events })
    }
}

/// Joins pieces of the same text.
fn joined(events: impl Iterator<Item = AgentEvent>) -> Vec<AgentEvent> {
    let mut all: Vec<AgentEvent> = Vec::new();
    for event in events {
        if !all.last_mut().is_some_and(|last| join(last, &event, JOINED)) {
            all.push(event);
        }
    }
    all
}

/// An event without what stays on the server: where its models are reached, and how.
fn for_screens(event: AgentEvent) -> AgentEvent {
    match event {
        AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
            AgentEvent::Settings(SettingsEvent::ModelChanged { model: Arc::new(shown(&model)) })
        }
        event => event,
    }
}

/// A model as screens know it.
pub(crate) fn shown(model: &Model) -> Model {
    Model {
        base_url: String::new(),
        headers: Default::default(),
        quirks: Default::default(),
        ..model.clone()
    }
}

/// A frame of an event stream.
fn written(name: &str, content: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(content).unwrap_or_else(|error| {
        let text = format!("what happened in the session could not be sent: {error}");
        let notice = AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, hint: None });
        serde_json::to_string(&Happened { id: None, events: vec![notice] }).unwrap_or_default()
    });
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
