//! Tells what stands before the messages that were told of a session, a step at a time.
//!
//! Of a large session only the end was read, and of a compacted one only what the model is told
//! was told. What is in memory is told at once; a file is read back on a thread of its own while
//! everything else goes on. Where a session is read from is `session/back`.

use std::future::pending;
use std::sync::Arc;

use tokio::task::{JoinHandle, spawn_blocking};

use super::call_titles;
use super::task::Agent;
use crate::agent::context::compaction::size;
use crate::agent::protocol::event::AgentEvent;
use crate::agent::protocol::message::Message;
use crate::agent::session::SessionError;
use crate::agent::session::paging::FilePage;

/// As much of a file is read back at a time, in bytes.
const PIECE: u64 = 2 * 1024 * 1024;
/// As much is told at a time, in tokens as `compact::size` counts them.
const TOLD: u64 = PIECE / 4;

type Items = [(Arc<str>, Arc<Message>)];

/// How far back a session has been told.
#[derive(Default)]
pub(crate) struct Earlier {
    /// The entry before which nothing was told.
    from: Option<Arc<str>>,
    /// A piece of the file that is being read because it was asked for.
    reading: Option<JoinHandle<Result<FilePage, SessionError>>>,
}

impl Earlier {
    /// The piece that is being read, or why it cannot be; pending while none is. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<FilePage, String> {
        let Some(reading) = &mut self.reading else { return pending().await };
        let read = reading.await;
        self.reading = None;
        match read {
            Ok(piece) => piece.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Notes that the context of the session was told, and tells whether there is anything before it.
pub(crate) fn begin(agent: &mut Agent) {
    let tree = agent.config.session.tree();
    let from = tree.context_start().map(|entry| Arc::clone(&entry.id));
    agent.earlier = Earlier { from, reading: None };
    let left = left(agent, &before(agent));
    if left.is_some() {
        tell(agent, Vec::new(), left, None);
    }
}

/// Tells the next step back: at once, or when it has been read.
pub(crate) fn show(agent: &mut Agent) {
    if agent.earlier.reading.is_none() {
        step(agent);
    }
}

/// Takes in what was read, and tells it.
pub(crate) fn take(agent: &mut Agent, read: Result<FilePage, String>) {
    match read {
        Ok(piece) => {
            // All may have been read meanwhile for another reason; then it is told from there.
            agent.config.session.add_page(piece);
            step(agent);
        }
        Err(error) => {
            let left = left(agent, &before(agent));
            tell(agent, Vec::new(), left, Some(error));
        }
    }
}

fn step(agent: &mut Agent) {
    let before = before(agent);
    let session = &agent.config.session;
    if before.is_empty()
        && session.path_is_cut()
        && let Some(step) = session.page_before(PIECE)
    {
        agent.earlier.reading = Some(spawn_blocking(|| step.read()));
        return;
    }
    let (rest, told) = before.split_at(cut(&before));
    let mut messages: Vec<Arc<Message>> = told.iter().map(|(_, message)| Arc::clone(message)).collect();
    if let (Some((first, _)), Some(from)) = (told.first(), &agent.earlier.from) {
        // A call and its result may have been parted.
        messages.extend(session.tree().results_from(from));
        agent.earlier.from = Some(Arc::clone(first));
    }
    let left = left(agent, rest);
    tell(agent, messages, left, None);
}

/// The messages in memory that were not told.
fn before(agent: &Agent) -> Vec<(Arc<str>, Arc<Message>)> {
    let from = agent.earlier.from.as_deref();
    from.map(|from| agent.config.session.tree().messages_before(from)).unwrap_or_default()
}

/// Where the last messages begin that are told together; at least one.
fn cut(items: &Items) -> usize {
    let mut weight = 0;
    let fits = |(_, message): &&(Arc<str>, Arc<Message>)| {
        let first = weight == 0;
        weight += size::of_message(message).max(1);
        first || weight <= TOLD
    };
    items.len() - items.iter().rev().take_while(fits).count()
}

/// About how many messages of people and models are left when these are, and what was not read.
fn left(agent: &Agent, rest: &Items) -> Option<u64> {
    let unread = agent.config.session.path_is_cut();
    let unread = agent.config.session.unread().filter(|_| unread);
    let said = |(_, message): &&(Arc<str>, Arc<Message>)| {
        matches!(**message, Message::User(_) | Message::Assistant(_))
    };
    let known = rest.iter().filter(said).count() as u64;
    let any = unread.is_some() || !rest.is_empty();
    any.then(|| known + unread.map_or(0, |earlier| earlier.messages))
}

fn tell(agent: &mut Agent, messages: Vec<Arc<Message>>, left: Option<u64>, failed: Option<String>) {
    let titles = call_titles::of(&agent.config.tools, &messages);
    agent.emit(AgentEvent::EarlierShown { messages, titles, left, failed });
}
