//! Answers queries for pages of history before the messages that were sent initially.
//!
//! Only the end of a large session is read when it is opened, and for a compacted session only the model's
//! context is sent. The rest is first surveyed on another thread to locate its pages; each page is read
//! there, sent, and not kept.

use tokio::task::spawn_blocking;

use crate::engine::base::call_titles::titles_of;
use crate::engine::base::history_cursor::HistoryCursor;
use crate::engine::state::Engine;
use crate::session::history::{BranchPage, History};
use crate::session::survey::Survey;
use tau_protocol::event::{SessionEvent, TaskEvent};
use tau_protocol::message::Message;
use tau_protocol::query::{HistoryPage, PageFrom, PageGoal, QueryAnswer};
use tau_tools::user_error::UserError;

/// Starts over after the context of the session was sent, and reports whether there is more.
pub(crate) fn start(engine: &mut Engine) {
    let session = &engine.config.session;
    let (history, unsurveyed) = (History::in_memory(session.tree()), session.survey_job());
    let cursor = HistoryCursor { history, unsurveyed, ..HistoryCursor::default() };
    for ticket in std::mem::replace(&mut engine.history, cursor).tickets() {
        let answer = Err("another session was opened".into());
        engine.emit(TaskEvent::Answered { ticket, answer });
    }
    survey(engine);
    if let Some(left) = messages_left(engine, &engine.history.history) {
        engine.emit(SessionEvent::HistoryAvailable { left });
    }
}

/// Starts the survey of the unread part.
fn survey(engine: &mut Engine) {
    let job = engine.history.unsurveyed.clone();
    engine.history.survey = job.map(|job| spawn_blocking(move || job.read()));
}

/// The approximate number of messages before those that were sent; `None` if there are none.
fn messages_left(engine: &Engine, history: &History) -> Option<u64> {
    let session = &engine.config.session;
    let known = history.messages_left(session.tree());
    let is_known = engine.history.unsurveyed.is_none() || !session.path_is_cut();
    if is_known { known } else { Some(known.unwrap_or(0) + estimate(engine)) }
}

/// The approximate number of messages in the unread part, assuming the average length of those read.
fn estimate(engine: &Engine) -> u64 {
    let session = &engine.config.session;
    let path = session.tree().path_messages();
    let known = path.iter().filter(|message| matches!(***message, Message::User(_) | Message::Assistant(_)));
    (known.count().max(1) as f64 * session.unread_share()) as u64
}

/// Handles the survey of the unread part.
pub(crate) fn on_survey(engine: &mut Engine, survey: Survey) {
    engine.history.unsurveyed = None;
    let history = std::mem::take(&mut engine.history.history).with_file(survey);
    if let Some(left) = messages_left(engine, &history) {
        engine.emit(SessionEvent::HistoryAvailable { left });
    }
    engine.history.history = history;
}

/// Handles a failed survey: pending queries get the error, and the next query tries again.
pub(crate) fn on_survey_failure(engine: &mut Engine, error: &str) {
    for (ticket, ..) in std::mem::take(&mut engine.history.waiting) {
        take(engine, ticket, Err(error.to_owned().into()));
    }
}

/// Sends a page: immediately, or when it has been read.
pub(crate) fn request(engine: &mut Engine, ticket: u64, from: PageFrom, goal: PageGoal) {
    engine.history.waiting.push_back((ticket, from, goal));
    advance(engine);
}

/// Reads the next requested page, unless a read is in progress.
pub(crate) fn advance(engine: &mut Engine) {
    if engine.history.unsurveyed.is_some()
        && engine.history.survey.is_none()
        && !engine.history.waiting.is_empty()
    {
        survey(engine);
    }
    while engine.history.survey.is_none()
        && engine.history.reading.is_none()
        && let Some((ticket, from, goal)) = engine.history.waiting.pop_front()
    {
        let job = engine.history.history.job(engine.config.session.tree(), from, goal);
        if job.reads_file() {
            engine.history.reading = Some((ticket, spawn_blocking(move || job.read())));
        } else {
            take(engine, ticket, job.read().map_err(|error| error.to_string().into()));
        }
    }
}

/// Sends a page that was read.
pub(crate) fn take(engine: &mut Engine, ticket: u64, page: Result<BranchPage, UserError>) {
    let (page, failed) = match page {
        Ok(page) => (page, None),
        Err(error) => {
            let left = messages_left(engine, &engine.history.history);
            (BranchPage { left, ..BranchPage::default() }, Some(error))
        }
    };
    let BranchPage { messages, place, left, after } = page;
    let titles = titles_of(&engine.config.tools, &messages);
    let (start, end) = (place.start as u64, place.end as u64);
    let page = HistoryPage { messages, titles, left, failed: failed.map(String::from), after, start, end };
    engine.emit(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::HistoryPage(page)) });
}
