//! Messages before those on the screen: requested when they are near, inserted above without moving the
//! view.

use std::sync::Arc;

use serde_json::json;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::{SessionEvent, TaskEvent};
use tau::agent::protocol::message::{Block, Message, StopReason};
use tau::agent::protocol::query::{HistoryPage, Query, QueryAnswer};
use tau::agent::{AgentCommand, AgentEvent};
use tau::app::geometry::{ScrollPosition, Size};
use tau::app::transcript::EntryBody;
use tau::app::transcript::panel::CallState;
use tau::app::{Effect, Msg};
use tau::view::memo::{RowsKey, RowsVersion};

use crate::harness::{Screen, assistant, call, frames, text, user};
use crate::screen::Screen as Terminal;
use crate::support::session_files::long_session;

fn said(name: &str, range: std::ops::Range<usize>) -> Vec<Arc<Message>> {
    range.map(|at| Arc::new(user(&format!("{name} {at}")))).collect()
}

fn page(page: HistoryPage) -> AgentEvent {
    AgentEvent::Task(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::HistoryPage(page)) })
}

fn earlier(messages: Vec<Arc<Message>>, left: Option<u64>) -> AgentEvent {
    page(HistoryPage { messages, left, ..HistoryPage::default() })
}

fn failed(why: &str) -> AgentEvent {
    page(HistoryPage { left: Some(9), failed: Some(why.into()), ..HistoryPage::default() })
}

/// A session of which `count` messages are loaded and some are not.
fn opened(messages: Vec<Arc<Message>>) -> Screen {
    let mut screen = Screen::new();
    let (session, titles) = Default::default();
    screen.agent(SessionEvent::SessionOpened { session, messages, titles });
    screen.agent(SessionEvent::HistoryAvailable { left: 5_000 });
    screen
}

/// The number of requests for more since the last call.
pub(crate) fn asked(screen: &mut Screen) -> usize {
    let is_page = |effect: &Effect| {
        matches!(
            effect,
            Effect::Agent(AgentCommand::Task(TaskCommand::Query {
                ticket: 0,
                query: Query::HistoryPage { .. }
            }))
        )
    };
    screen.take_effects().into_iter().filter(is_page).count()
}

fn row_of(screen: &mut Screen, what: &str) -> usize {
    let shown = text(&screen.draw());
    let place = shown.lines().position(|line| line.trim_end_matches(['│', '┃', ' ']).ends_with(what));
    place.unwrap_or_else(|| panic!("no {what:?} in\n{shown}"))
}

#[test]
fn they_are_asked_for_before_the_top_is_reached_and_nothing_moves() {
    let mut screen = opened(said("late", 0..100));
    assert_eq!(asked(&mut screen), 0, "nobody has looked for them");
    let mut presses = 0;
    while asked(&mut screen) == 0 {
        screen.keys("<pageup>");
        presses += 1;
        assert!(presses < 30);
    }
    let before = text(&screen.draw());
    assert!(!before.contains("earlier messages"), "the row is not reached yet:\n{before}");
    screen.agent(earlier(said("early", 0..5_000), None));
    assert_eq!(text(&screen.draw()), before);
    for _ in 0..presses {
        screen.keys("<pageup>");
    }
    assert!(text(&screen.draw()).contains("early 49"));
    assert_eq!(asked(&mut screen), 0, "there are no more");
}

#[test]
fn what_was_rendered_is_not_rendered_again() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    let seen: Vec<_> = screen.model().laid.rows.iter().flatten().map(|row| row.entry).collect();
    screen.agent(earlier(said("early", 0..5_000), None));
    let model = screen.model.as_ref().unwrap();
    let users =
        model.transcript.entries().iter().filter(|entry| matches!(entry.body, EntryBody::User { .. }));
    let known = users.filter(|entry| seen.contains(&entry.id));
    let mut count = 0;
    for entry in known {
        let open = model.transcript.is_open(entry);
        let version = RowsVersion::Revision(entry.revision);
        let key = RowsKey {
            entry: entry.id,
            part: 0,
            version,
            width: model.size.width,
            layout: model.text_layout,
            open,
        };
        let rows = screen.memo.rows(key, |_, _| panic!("{entry:?} is rendered again"));
        assert!(rows[0].to_string().contains("late"));
        count += 1;
    }
    assert!(count > 4, "{count}");
}

#[test]
fn at_the_very_top_the_first_message_stays_where_it_is() {
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let mut screen = opened(said("late", 0..60));
        screen.send(Msg::Resized(Size { width, height }));
        screen.keys(&"<pageup>".repeat(60));
        assert_eq!(asked(&mut screen), 1, "one at a time");
        let row = row_of(&mut screen, "late 0");
        screen.agent(earlier(said("early", 0..300), Some(9)));
        assert_eq!(row_of(&mut screen, "late 0"), row, "{width}x{height}");
        let shown = text(&screen.draw());
        assert!(shown.contains("early 299") && !shown.contains("loading"), "{shown}");
        assert_eq!(asked(&mut screen), 0, "the top is far away again");
        screen.keys(&"<pageup>".repeat(300));
        assert_eq!(asked(&mut screen), 1);
        assert!(text(&screen.draw()).contains("9 earlier messages"));
    }
}

#[test]
fn home_ends_at_the_very_first_message() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    assert!(text(&screen.draw()).contains("5000 earlier messages · loading"));
    assert_eq!(asked(&mut screen), 1);
    let messages = said("early", 0..100);
    screen.agent(page(HistoryPage { messages, after: Some(4_900), end: 100, ..HistoryPage::default() }));
    let shown = text(&screen.draw());
    assert!(shown.contains("tau") && shown.contains("early 0"), "{shown}");
    assert!(!shown.contains("earlier messages"), "{shown}");
    assert_eq!(asked(&mut screen), 0);
    assert!(matches!(screen.model().transcript.entries()[0].body, EntryBody::Welcome));
}

#[test]
fn home_pressed_while_a_session_opens_counts() {
    let mut screen = Screen::new();
    let (session, titles) = Default::default();
    screen.agent(SessionEvent::SessionOpened { session, messages: said("late", 0..60), titles });
    screen.keys("<ctrl+home>");
    screen.agent(SessionEvent::HistoryAvailable { left: 100 });
    assert_eq!(asked(&mut screen), 1);
    screen.agent(earlier(said("early", 0..100), None));
    assert!(text(&screen.draw()).contains("early 0"));
}

#[test]
fn who_goes_elsewhere_meanwhile_is_not_taken_back() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home><ctrl+end>");
    assert_eq!(asked(&mut screen), 1);
    let before = text(&screen.draw());
    screen.agent(earlier(said("early", 0..100), Some(9)));
    assert_eq!(text(&screen.draw()), before);
    assert_eq!((asked(&mut screen), screen.model().transcript.position), (0, ScrollPosition::Tail));
}

#[test]
fn a_session_that_does_not_fill_the_screen_asks_at_once() {
    let mut screen = opened(said("late", 0..3));
    assert_eq!(asked(&mut screen), 1);
    screen.agent(earlier(said("early", 0..3), Some(7)));
    let row = row_of(&mut screen, "late 2");
    assert_eq!(asked(&mut screen), 1, "there is room for more");
    screen.agent(earlier(said("older", 0..90), Some(7)));
    assert_eq!(row_of(&mut screen, "late 2"), screen.model().laid.page as usize - 1, "was {row}");
    assert_eq!(asked(&mut screen), 0);
}

#[test]
fn what_failed_is_said_and_tried_again_when_the_user_looks_up() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    assert_eq!(asked(&mut screen), 1);
    screen.agent(failed("it is gone"));
    let shown = text(&screen.draw());
    assert!(shown.contains("9 earlier messages cannot be read: it is gone"), "{shown}");
    screen.wait(10_000);
    screen.keys("x<pagedown>");
    assert_eq!(asked(&mut screen), 0, "not by itself");
    screen.keys("<pageup>");
    assert_eq!(asked(&mut screen), 1);
    screen.agent(earlier(said("early", 0..5), None));
    screen.keys("<ctrl+home>");
    let shown = text(&screen.draw());
    assert!(shown.contains("early 0") && !shown.contains("cannot be read"), "{shown}");
}

#[test]
fn a_call_and_its_result_that_were_parted_come_together() {
    let result = |id: &str| {
        let content = json!([{"type": "text", "text": "found it"}]);
        let result = json!({"role": "toolResult", "toolCallId": id, "toolName": "x", "content": content});
        Arc::new(serde_json::from_value::<Message>(result).unwrap())
    };
    let asks = |id: &str| {
        let calls = vec![Block::ToolCall(call(id, "x", json!({})))];
        Arc::new(assistant(calls, StopReason::ToolUse))
    };
    // The same id again, as some servers send it: the last call counts.
    let mut screen = opened(vec![result("c1"), asks("c1"), result("c1")]);
    screen.agent(earlier(vec![asks("c1"), result("c1")], None));
    let calls = screen.model().transcript.entries().iter().filter_map(|entry| match &entry.body {
        EntryBody::Tool(panel) => Some(panel.state),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [CallState::Done, CallState::Done]);
    let ids: Vec<_> = screen.model().transcript.entries().iter().map(|entry| entry.id).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn what_is_new_is_counted_without_them() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    screen.user("new");
    screen.agent(earlier(said("early", 0..50), None));
    assert_eq!(screen.model().transcript.unseen_count(), 1);
    screen.answer("the last answer", 100);
    assert_eq!(screen.model().transcript.last_answer().as_deref(), Some("the last answer"));
}

#[test]
fn another_session_knows_nothing_of_them() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    let (session, titles) = Default::default();
    let messages = said("other", 0..60);
    screen.agent(SessionEvent::SessionOpened { session, messages, titles });
    assert_eq!(asked(&mut screen), 1, "of the first session");
    screen.keys("<ctrl+home>");
    let shown = text(&screen.draw());
    assert!(shown.contains("other 0") && !shown.contains("earlier messages"), "{shown}");
    assert_eq!(asked(&mut screen), 0);
}

#[test]
fn the_row_that_says_so() {
    let mut screen = opened(said("late", 0..60));
    screen.keys("<ctrl+home>");
    frames(&mut screen, "earlier");
    screen.agent(failed("session.jsonl: No such file or directory (os error 2)"));
    screen.keys("<ctrl+home>");
    screen.agent(failed("session.jsonl: No such file or directory (os error 2)"));
    frames(&mut screen, "earlier-failed");
}

/// The real program with a real file of 7 MB: page up until the first message is visible, and home.
#[test]
fn the_first_message_of_a_large_session_is_reached_in_a_terminal() {
    const PAGE_UP: &str = "\x1b[5~";
    const HOME: &str = "\x1b[1;5H";
    const END: &str = "\x1b[1;5F";
    const FIND: &str = "\x06";
    const PREVIOUS_PROMPT: &str = "\x1b[1;5A";
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.jsonl");
    std::fs::write(&path, long_session(dir.path())).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 6 << 20);
    for home in [false, true] {
        let screen = Terminal::start(&["--session", path.to_str().unwrap()], 80, 24);
        screen.wait_for("message number 139.");
        if home {
            screen.type_keys(HOME);
        } else {
            // In the other direction: each frame is answered with another press.
            screen.wait_until("the first message", |cells| {
                screen.type_keys(PAGE_UP);
                cells.contents().contains("message number 0.")
            });
        }
        screen.wait_until("the top of all", |cells| {
            let shown = cells.contents();
            shown.contains("message number 0.") && (!home || shown.contains("? keys"))
        });
        assert!(!screen.text().contains("earlier messages"), "{}", screen.text());
        screen.type_keys(END);
        screen.wait_for("message number 139.");
        // A match in the middle is found, and the prompt before it is reached.
        screen.type_keys(FIND);
        screen.wait_for("── find");
        screen.type_keys("number 70.");
        screen.wait_for("message number 70.");
        screen.type_keys("\r\x1b");
        screen.wait_until("the end of the search", |cells| !cells.contents().contains("── find"));
        // The search for the match may still be running: each frame is answered with another press.
        screen.wait_until("a prompt at the top", |cells| {
            let shown = cells.contents();
            let at_top = shown.lines().next().is_some_and(|line| line.contains("message number "));
            if !at_top {
                screen.type_keys(PREVIOUS_PROMPT);
            }
            at_top
        });
        screen.type_keys(END);
        screen.wait_for("message number 139.");
    }
}
