//! Sends the messages before those that a front end has, a page at a time.
//!
//! Only the end of a large session is read when it is opened, and of a compacted session only the
//! model's context is sent. Messages in memory are sent immediately; a file is read on another
//! thread while everything else continues. Which part of the file comes next is up to
//! `session::paging`.

use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::call_titles::titles_of;
use super::history_cursor::HistoryCursor;
use super::state::Engine;
use crate::agent::context::compaction::size;
use crate::agent::protocol::event::AgentEvent;
use crate::agent::protocol::message::Message;
use crate::agent::protocol::query::{HistoryPage, QueryAnswer};
use crate::agent::session::paging::FilePage;

/// How much of a file is read at a time, in bytes.
const PIECE_BYTES: u64 = 2 * 1024 * 1024;
/// Largest page, in tokens.
const PAGE_TOKENS: u64 = PIECE_BYTES / 4;

type Items = [(Arc<str>, Arc<Message>)];

/// Starts over after the context of the session was sent, and reports whether there is more.
pub(crate) fn start(engine: &mut Engine) {
    let tree = engine.config.session.tree();
    let first_sent = tree.context_start().map(|entry| Arc::clone(&entry.id));
    let before =
        std::mem::replace(&mut engine.history, HistoryCursor { first_sent, ..HistoryCursor::default() });
    for ticket in before.tickets {
        let answer = Err("another session was opened".to_owned());
        engine.emit(AgentEvent::Answered { ticket, answer });
    }
    if let Some(left) = left(engine, &unsent(engine)) {
        engine.emit(AgentEvent::HistoryAvailable { left });
    }
}

/// Sends the next page: immediately, or when it has been read.
pub(crate) fn request(engine: &mut Engine, ticket: u64) {
    engine.history.tickets.push(ticket);
    if engine.history.reading.is_none() {
        advance(engine);
    }
}

/// Takes a piece that was read, and sends the page.
pub(crate) fn take(engine: &mut Engine, read: Result<FilePage, String>) {
    match read {
        Ok(piece) => {
            // Everything may have been read meanwhile for another reason; then that is paged.
            engine.config.session.add_page(piece);
            advance(engine);
        }
        Err(error) => {
            let left = left(engine, &unsent(engine));
            send(engine, Vec::new(), left, Some(error));
        }
    }
}

fn advance(engine: &mut Engine) {
    let unsent = unsent(engine);
    let session = &engine.config.session;
    if unsent.is_empty()
        && session.path_is_cut()
        && let Some(step) = session.page_before(PIECE_BYTES)
    {
        engine.history.reading = Some(spawn_blocking(|| step.read()));
        return;
    }
    let (rest, page) = unsent.split_at(page_start(&unsent));
    let mut messages: Vec<Arc<Message>> = page.iter().map(|(_, message)| Arc::clone(message)).collect();
    if let (Some((first, _)), Some(from)) = (page.first(), &engine.history.first_sent) {
        // A call may be on this page and its result on the one sent before.
        messages.extend(session.tree().results_from(from));
        engine.history.first_sent = Some(Arc::clone(first));
    }
    let left = left(engine, rest);
    send(engine, messages, left, None);
}

/// The messages in memory that were not sent.
fn unsent(engine: &Engine) -> Vec<(Arc<str>, Arc<Message>)> {
    let from = engine.history.first_sent.as_deref();
    from.map(|from| engine.config.session.tree().messages_before(from)).unwrap_or_default()
}

/// Where the last page of `items` starts; it has at least one message.
fn page_start(items: &Items) -> usize {
    let mut tokens = 0;
    let fits = |(_, message): &&(Arc<str>, Arc<Message>)| {
        let first = tokens == 0;
        tokens += size::of_message(message).max(1);
        first || tokens <= PAGE_TOKENS
    };
    items.len() - items.iter().rev().take_while(fits).count()
}

/// About how many messages of the user and the model are left: `rest`, and what was not read.
fn left(engine: &Engine, rest: &Items) -> Option<u64> {
    let unread = engine.config.session.path_is_cut();
    let unread = engine.config.session.unread().filter(|_| unread);
    let counts = |(_, message): &&(Arc<str>, Arc<Message>)| {
        matches!(**message, Message::User(_) | Message::Assistant(_))
    };
    let known = rest.iter().filter(counts).count() as u64;
    let any = unread.is_some() || !rest.is_empty();
    any.then(|| known + unread.map_or(0, |earlier| earlier.messages))
}

fn send(engine: &mut Engine, messages: Vec<Arc<Message>>, left: Option<u64>, failed: Option<String>) {
    let titles = titles_of(&engine.config.tools, &messages);
    let mut page = Some(HistoryPage { messages, titles, left, failed });
    for ticket in std::mem::take(&mut engine.history.tickets) {
        // Queries that waited for the same page: the first gets it, the others learn what is left.
        let page = page.take().unwrap_or(HistoryPage { left, ..HistoryPage::default() });
        engine.emit(AgentEvent::Answered { ticket, answer: Ok(QueryAnswer::HistoryPage(page)) });
    }
}
