//! A session's total usage in the footer: all of it from the start, whatever is loaded.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Block, Message, StopReason, Usage};
use tau::agent::protocol::model::Model;
use tau::app::Msg;
use tau::app::boot::Boot;
use tau::app::effect::Effect;
use tau::app::geometry::Size;
use tau::app::request::{ScreenReply, ScreenRequest};

use crate::harness::{Screen as Drawn, assistant, boot, text};
use crate::screen::Screen;

/// A session with this many exchanges, each of 1,000 tokens in, 10 out and this cost, with answers of this
/// many bytes, and a compaction with the same usage at the end.
fn session(dir: &tempfile::TempDir, exchanges: usize, cost: f64, bytes: usize) -> PathBuf {
    let time = "2026-01-02T03:04:05.678Z";
    let cwd = dir.path().to_str().unwrap();
    let mut text =
        json!({"type": "session", "version": 3, "id": "long", "timestamp": time, "cwd": cwd}).to_string();
    let usage = json!({"input": 1000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1010,
        "cost": {"input": cost, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": cost}});
    let mut parent = serde_json::Value::Null;
    for n in 0..exchanges {
        let user = json!({"role": "user", "content": format!("question {n}"), "timestamp": 1});
        let answer = json!({"role": "assistant", "content": [{"type": "text", "text": "x ".repeat(bytes / 2)}],
            "api": "openai-completions", "provider": "own", "model": "m", "usage": usage,
            "stopReason": "stop", "timestamp": 1});
        for (kind, message) in [("q", user), ("a", answer)] {
            let id = format!("{kind}{n}");
            // The format of the program itself: the type first.
            write!(
                text,
                "\n{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"message\":{message}}}"
            )
            .unwrap();
            parent = json!(id);
        }
    }
    write!(
        text,
        "\n{{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":{parent},\"timestamp\":\"{time}\",\"summary\":\"short\",\
         \"firstKeptEntryId\":\"q{}\",\"tokensBefore\":9,\"usage\":{usage}}}\n",
        exchanges - 1
    )
    .unwrap();
    let file = dir.path().join("long.jsonl");
    std::fs::write(&file, text).unwrap();
    file
}

/// The last row of the screen.
fn footer(cells: &vt100::Screen) -> String {
    cells.contents().lines().last().unwrap_or_default().to_owned()
}

#[test]
fn totals_are_those_of_the_whole_session_from_the_start() {
    // A small file, and one of which only the end is read: 100 answers of 100 KB.
    for (exchanges, bytes, money, tokens) in
        [(9, 100, "$0.100", "↑10k ↓100"), (99, 100_000, "$1.000", "↑100k ↓1k")]
    {
        let dir = tempfile::tempdir().unwrap();
        let file = session(&dir, exchanges, 0.01, bytes);
        let screen = Screen::start(&["--session", file.to_str().unwrap(), "--model", "demo"], 110, 20);
        screen.wait_until(money, |cells| {
            let footer = footer(cells);
            // A smaller amount is never shown.
            assert!(!footer.contains('$') || footer.contains(money), "{footer}");
            footer.contains(money) && footer.contains(tokens)
        });
        // Loading earlier messages adds nothing.
        screen.type_keys("\x1b[1;5H");
        screen.wait_until("the first question", |cells| {
            assert!(footer(cells).contains(money), "{}", footer(cells));
            cells.contents().contains("question 0")
        });
        assert!(screen.screen(footer).contains(tokens), "{}", screen.text());
    }
}

#[test]
fn a_price_that_is_not_known_stays_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let file = session(&dir, 2, 0.0, 100);
    let screen = Screen::start(&["--session", file.to_str().unwrap(), "--model", "demo"], 100, 20);
    screen.wait_until("$?", |cells| footer(cells).contains("↑3k ↓30 · $?"));
}

fn long_name() -> Model {
    Model {
        name: "A Model With A Rather Long Name (latest)".into(),
        reasoning: true,
        ..Model::clone(&crate::harness::ai())
    }
}

fn answered(model: Model, width: u16) -> Drawn {
    let mut screen = Drawn::boot(Boot { model: Some(Arc::new(model)), ..boot() });
    screen.send(Msg::Resized(Size { width, height: 24 }));
    let Message::Assistant(mut answer) = assistant(vec![Block::text("yes")], StopReason::Stop) else {
        unreachable!()
    };
    answer.usage = Usage { input: 12_345, output: 678, ..Usage::default() };
    answer.usage.cost.total = 0.1234;
    screen.agent(TurnEvent::MessageEnd { message: Arc::new(Message::Assistant(answer)) });
    screen
}

fn last_row(screen: &mut Drawn) -> String {
    text(&screen.draw()).lines().last().unwrap().to_owned()
}

#[test]
fn tokens_give_way_first() {
    for width in [80, 100, 120, 200] {
        let mut screen = answered(long_name(), width);
        let footer = last_row(&mut screen);
        for part in ["parser", "$", "6% of 200k", "A Model With A Rather Long Name (latest)", " · auto"] {
            assert!(footer.contains(part), "{width}: {part}: {footer}");
        }
        assert_eq!(footer.contains("thinking off"), width >= 120, "{footer}");
        assert_eq!(footer.contains("↑12k ↓678"), width >= 120, "{footer}");
        assert_eq!(footer.contains("~/work/parser") && footer.contains("$0.123"), width >= 100, "{footer}");
    }
}

/// They give way to the branch, too, however wide the window.
#[test]
fn the_branch_is_not_cut_while_tokens_are_shown() {
    let branch = "feature/a-very-long-branch-name-for-the-footer";
    let mut screen = answered(Model::clone(&crate::harness::ai()), 80);
    let asks = |effect: Effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Branch {}) => Some(ticket),
        _ => None,
    };
    let ticket = screen.take_effects().into_iter().find_map(asks).expect("the branch is asked for");
    screen.send(Msg::Finished(ticket, ScreenReply::Branch(Some(branch.to_owned()))));
    let mut was_shown = false;
    for width in (60..200).rev() {
        screen.send(Msg::Resized(Size { width, height: 24 }));
        let footer = last_row(&mut screen);
        assert!(footer.contains(branch) || !footer.contains('↑'), "{width}: {footer}");
        was_shown |= footer.contains('↑');
    }
    assert!(was_shown);
}

#[test]
fn an_unknown_window_is_said() {
    let mut screen = answered(Model { context_window: 0, ..Model::clone(&crate::harness::ai()) }, 80);
    let footer = last_row(&mut screen);
    assert!(footer.contains("$0.123 · ? ctx · Coder"), "{footer}");
}

#[test]
fn a_remark_leaves_the_directory() {
    let mut screen = Drawn::new();
    screen.keys("/clone<enter>");
    let footer = last_row(&mut screen);
    for part in [" parser ", " you are now in a copy of this session ", "0% of 200k · Coder · auto"] {
        assert!(footer.contains(part), "{footer}");
    }
    screen.send(Msg::Resized(Size { width: 50, height: 12 }));
    let shown = text(&screen.draw());
    assert!(shown.contains(" you are now in a copy of this session"), "{shown}");
    assert!(last_row(&mut screen).contains("parser ") && last_row(&mut screen).ends_with("auto"), "{shown}");
    screen.wait(3_000);
    assert!(!text(&screen.draw()).contains("a copy of this session"));
}
