//! Golden frames: every visible thing at 200x50, 120x40, 80x24 and 40x12, with all colours, with 256 and
//! with 16.

use std::sync::Arc;

use serde_json::json;
use tau::agent::protocol::command::{AgentCommand, TaskCommand};
use tau::agent::protocol::event::{Delta, NoticeLevel, QueueEvent, RunEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::{Block, StopReason, Usage};
use tau::agent::protocol::model::{Api, Model};
use tau::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use tau::agent::protocol::query::QueryAnswer;
use tau::agent::protocol::session_row::{LastExchange, SessionRow};
use tau::app::boot::Boot;
use tau::app::request::{ScreenReply, ScreenRequest, SessionRows};
use tau::app::{Effect, Msg};
use tau::tools::{Content, Details, FileDiff, Hunk, TerminalOutput, ToolOutput};

use crate::harness::{START, Screen, ai, assistant, boot, call, frames};

mod attempts;
mod every_state;
pub mod overlays;
mod states;
mod undo;
mod writing;

/// Markdown with every element.
const ANSWER: &str = include_str!("golden/answer.md");

#[test]
fn start() {
    frames(&mut Screen::new(), "start");
}

#[test]
fn demo_start() {
    let model = Model { api: Api::Scripted, ..ai() };
    frames(&mut Screen::boot(Boot { demo: true, model: Some(Arc::new(model)), ..boot() }), "demo");
}

#[test]
fn streaming_answer() {
    let mut screen = Screen::new();
    screen.user("explain the parser, please");
    screen.run();
    screen.at += 1_300;
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
    screen.delta(Delta::ThinkingStart { content_index: 0 });
    screen.delta(Delta::ThinkingDelta { content_index: 0, delta: "The user wants *an explanation*.".into() });
    screen.at += 2_000;
    screen.delta(Delta::ThinkingEnd { content_index: 0, content: String::new() });
    screen.delta(Delta::TextStart { content_index: 1 });
    screen.delta(Delta::TextDelta {
        content_index: 1,
        delta: "It reads **tokens** and\n\n- makes\n- tre".into(),
    });
    screen.wait(500);
    frames(&mut screen, "streaming");
}

#[test]
fn markdown_answer() {
    let mut screen = Screen::new();
    screen.answer(ANSWER, 7);
    frames(&mut screen, "markdown");
}

/// A turn with a read, an edit with its diff, a failed command and a running one.
fn tools() -> Screen {
    let mut screen = Screen::new();
    screen.user("fix the failing test in parser.rs");
    screen.run();
    let calls = [
        call("c1", "read", json!({"path": "src/parser.rs"})),
        call("c2", "edit", json!({"path": "src/parser.rs"})),
        call("c3", "bash", json!({"command": "cargo test parser"})),
        call("c4", "bash", json!({"command": "sleep 60"})),
    ];
    let content = calls.iter().cloned().map(Block::ToolCall).collect();
    let message = Arc::new(assistant(content, StopReason::ToolUse));
    screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
    screen.agent(TurnEvent::MessageEnd { message });
    let read: String = (1..=30).map(|n| format!("{n:>6}  let token = lexer.next();\n")).collect();
    let hunk = Hunk {
        old_start: 41,
        new_start: 41,
        lines: [" fn empty() -> Vec<Token> {", "-    Vec::new()", "+    vec![Token::Eof]", " }"]
            .map(String::from)
            .to_vec(),
    };
    let diff = FileDiff {
        path: "src/parser.rs".into(),
        added: 1,
        removed: 1,
        hunks: vec![hunk],
        ..FileDiff::default()
    };
    let failed = TerminalOutput {
        text: "running 3 tests\ntest parser::empty … \u{1b}[31mFAILED\u{1b}[0m\n".into(),
        exit_code: Some(101),
        total_lines: 43,
        truncated: true,
        ..TerminalOutput::default()
    };
    let results = [
        (ToolOutput { content: vec![Content::text(read)], details: Details::None }, false, 12),
        (ToolOutput::new("Replaced 1 occurrence", Details::Diff(diff)), false, 3),
        (ToolOutput::new("exit code 101", Details::Terminal(failed)), true, 1_234),
    ];
    for (call, (result, is_error, duration)) in calls.iter().zip(results) {
        start_call(&mut screen, call);
        screen.agent(TurnEvent::ToolExecutionEnd {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            result,
            is_error,
            duration_ms: Some(duration),
            hooks: Vec::new(),
        });
    }
    start_call(&mut screen, &calls[3]);
    screen.wait(2_500);
    screen
}

fn start_call(screen: &mut Screen, call: &tau::agent::protocol::message::ToolCall) {
    screen.agent(TurnEvent::ToolExecutionStart {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        args: call.arguments.clone(),
    });
}

#[test]
fn tool_panels() {
    let mut screen = tools();
    frames(&mut screen, "tools");
    screen.keys("<ctrl+o>");
    frames(&mut screen, "tools-open");
}

/// Everything an answer says besides its details must be on the screen.
#[test]
fn refusals_cuts_and_timeouts_are_said() {
    let hunk = Hunk { old_start: 1, new_start: 1, lines: vec![" a".into(), "+b".into()] };
    let diff = |path: &str| {
        let path = path.into();
        Details::Diff(FileDiff {
            path,
            added: 1,
            removed: 0,
            hunks: vec![hunk.clone()],
            ..FileDiff::default()
        })
    };
    let killed = TerminalOutput { text: "left\n".into(), signal: Some(15), ..TerminalOutput::default() };
    let answers = [
        (
            "edit",
            "a.txt has changed since you last saw it; nothing was written. What changed:\n+b",
            Details::None,
            true,
        ),
        (
            "edit",
            "Replaced 1 occurrence in b.txt (1 line changed)\nThe exact text was not found; it was matched ignoring trailing space.",
            diff("b.txt"),
            false,
        ),
        (
            "find",
            "src/\n[showing 1 of 5 paths; narrow `pattern` or `path`, or raise `limit`]\n",
            Details::Paths { paths: vec!["src/".into()], cut: true },
            false,
        ),
        (
            "bash",
            "left\nprocess 7 (sleep) is still running in the background; its later output is lost\ntimed out after 1 s and was killed; set a longer `timeout` if it needs more time",
            Details::Terminal(killed),
            true,
        ),
    ];
    let mut screen = Screen::new();
    screen.run();
    for (index, (name, text, details, is_error)) in answers.into_iter().enumerate() {
        let call = call(&format!("c{index}"), name, json!({"path": "a.txt"}));
        start_call(&mut screen, &call);
        screen.agent(TurnEvent::ToolExecutionEnd {
            tool_call_id: call.id,
            tool_name: call.name,
            result: ToolOutput::new(text, details),
            is_error,
            duration_ms: Some(5),
            hooks: Vec::new(),
        });
    }
    frames(&mut screen, "said");
    let shown = crate::harness::text(&screen.draw());
    for words in [
        "└ a.txt has changed since the model read it; nothing was written\n",
        "└ matched ignoring trailing space\n",
        "└ process 7 (sleep) is still running in the background\n",
        "└ timed out after 1 s and was killed\n",
    ] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    screen.keys("<ctrl+o>");
    let shown = crate::harness::text(&screen.draw());
    assert!(shown.contains("└ [showing 1 of 5 paths; narrow `pattern` or"), "{shown}");
}

#[test]
fn queue_and_retry() {
    let mut screen = Screen::new();
    screen.run();
    screen.agent(QueueEvent::QueueUpdate {
        steering: vec!["look at the lexer first".into()],
        follow_up: vec!["then write a changelog entry".into()],
    });
    screen.agent(RunEvent::AutoRetryStart {
        attempt: 2,
        max_attempts: 4,
        delay_ms: 4_000,
        error_message: "overloaded".into(),
    });
    screen.keys("more to come");
    frames(&mut screen, "queue");
    screen.keys("<alt+up>");
    frames(&mut screen, "queue-list");
}

#[test]
fn composer_grows_and_shell_mode_shows() {
    let mut screen = Screen::new();
    screen.keys("!for f in *.rs; do<ctrl+j>  wc -l $f<ctrl+j>done | sort -n");
    frames(&mut screen, "shell-mode");
}

#[test]
fn wide_text_is_typed_and_shown() {
    let mut screen = Screen::new();
    screen.user("한국어 漢字 👨‍👩‍👧‍👦 🇩🇪 é ❤️ end");
    screen.answer("한국어 漢字 👨‍👩‍👧‍👦 🇩🇪 é ❤️ end", 1);
    screen.send(Msg::Paste("한국어 漢字 👨‍👩‍👧‍👦 🇩🇪 é ❤️ end".into()));
    frames(&mut screen, "wide");
}

#[test]
fn errors_have_hints() {
    let mut screen = Screen::new();
    screen.agent(TaskEvent::Notice {
        level: NoticeLevel::Error,
        text: "the key was refused".into(),
        hint: Some("store another with /login".into()),
    });
    screen.keys("/nosuch<enter>");
    frames(&mut screen, "errors");
}

#[test]
fn session_picker() {
    let mut screen = Screen::new();
    screen.take_effects();
    screen.keys("/resume<enter>");
    let ticket = screen.take_effects().into_iter().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Sessions { all: false }) => Some(ticket),
        _ => None,
    });
    let row = |n: i64, prompt: &str| SessionRow {
        path: format!("/s/{n}.jsonl").into(),
        first_prompt: prompt.into(),
        modified: START - n * 3_700_000,
        messages: 3 * n as u64 + 1,
        size: 12_345 * n as u64,
        ..SessionRow::default()
    };
    let rows = vec![row(0, "fix the failing test"), row(1, "explain 漢字"), row(30, "write \u{1b}[2J docs")];
    screen.send(Msg::Finished(
        ticket.expect("asked"),
        ScreenReply::Sessions(SessionRows { rows, done: true, troubles: Vec::new() }),
    ));
    screen.keys("e");
    let ticket = screen.take_effects().into_iter().rev().find_map(|effect| match effect {
        Effect::Ask(ticket, ScreenRequest::Preview { path }) => {
            assert_eq!(path, std::path::Path::new("/s/1.jsonl"));
            Some(ticket)
        }
        _ => None,
    });
    let words = LastExchange {
        user: "what does \u{1b}[2J 漢字 mean?".into(),
        model: "Chinese characters. ".repeat(20),
    };
    screen.send(Msg::Finished(ticket.expect("asked"), ScreenReply::LastExchange(words)));
    frames(&mut screen, "sessions");
}

/// A session in which the user went back once.
fn outline() -> Outline {
    let row = |id: &str, parent: Option<usize>, kind: RowKind, text: &str| OutlineRow {
        id: id.into(),
        parent,
        kind,
        text: text.into(),
        label: None,
        at: START - 3_700_000,
        ahead: Some(330),
    };
    let mut rows = vec![
        row("s", None, RowKind::Setting, "model: local/coder"),
        row("a", Some(0), RowKind::User, "fix the failing test in parser.rs"),
        row("b", Some(1), RowKind::Calls, "bash cargo test parser"),
        row("c", Some(2), RowKind::Tool, "bash cargo test parser ✗101"),
        row("d", Some(3), RowKind::Assistant, "The tokenizer \u{1b}[2J drops 漢字."),
        row("e", Some(4), RowKind::User, "rewrite the tokenizer"),
        row("f", Some(5), RowKind::Assistant, "Done, but the benchmarks are slower."),
        row("g", Some(4), RowKind::Branch, "Rewriting it made it slower."),
        row("h", Some(7), RowKind::User, "patch it instead"),
        row("i", Some(8), RowKind::Assistant, "One line was enough."),
    ];
    rows[4].label = Some("good start".into());
    Outline { rows, leaf: Some(9) }
}

#[test]
fn session_tree() {
    let mut screen = Screen::new();
    screen.keys("/tree<enter>");
    screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::Outline(outline())) });
    screen.keys("<ctrl+t><up><up>");
    frames(&mut screen, "tree");
    // The error of a call is visible in a narrow window too, where the whole call does not fit.
    crate::harness::frame(&mut screen, "tree", 30, 16);
    let shown = crate::harness::text(&screen.draw());
    assert!(shown.lines().any(|row| row.contains("bash cargo") && row.contains("✗101")), "{shown}");
    screen.keys("<enter><down>");
    frames(&mut screen, "tree-leaving");
    crate::harness::frame(&mut screen, "tree-leaving", 30, 16);
    screen.send(Msg::Resized(tau::app::geometry::Size { width: 80, height: 24 }));
    screen.keys("<down><enter>what is slower");
    frames(&mut screen, "tree-focus");
    screen.keys("<esc>");
    // The same by the clock, and then not at all.
    let time = jiff::Timestamp::from_millisecond(START - 3_700_000).unwrap();
    let time =
        jiff::tz::Offset::from_seconds(330 * 60).unwrap().to_datetime(time).strftime("%H:%M").to_string();
    screen.keys("<esc><ctrl+t>");
    let shown = crate::harness::text(&screen.draw());
    assert!(shown.contains(&time) && !shown.contains(" 1h"), "{time}: {shown}");
    screen.keys("<ctrl+t>");
    assert!(!crate::harness::text(&screen.draw()).contains(&time));
}

#[test]
fn fork_picker() {
    let mut screen = Screen::new();
    screen.keys("/fork<enter>");
    screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::Outline(outline())) });
    frames(&mut screen, "fork");
}

#[test]
fn side_question() {
    let mut screen = Screen::new();
    screen.keys("/btw why a map?<enter>");
    let of_question = |effect: Effect| match effect {
        Effect::Agent(AgentCommand::Task(TaskCommand::SideQuestion { id, .. })) => Some(id),
        _ => None,
    };
    let id = screen.take_effects().into_iter().find_map(of_question).expect("it was asked");
    let text = "Lookups are by **name**:\n\n- a list would be searched\n- a map is not".to_owned();
    screen.agent(TaskEvent::SideAnswer { id: id.clone(), text });
    screen.agent(TaskEvent::SideAnswerEnded { id, usage: Usage::default(), error: None });
    frames(&mut screen, "side-question");
}

#[test]
fn help_overlay() {
    let mut screen = Screen::new();
    screen.keys("<f1>");
    frames(&mut screen, "help");
    screen.keys("delete");
    frames(&mut screen, "help-filtered");
}

#[test]
fn palette_overlay() {
    let mut screen = tools();
    screen.keys("<alt+x>session");
    frames(&mut screen, "palette");
}

#[test]
fn command_completion() {
    let mut screen = Screen::new();
    screen.keys("/");
    frames(&mut screen, "commands");
}

#[test]
fn light_theme() {
    let mut screen = Screen::boot(Boot { theme: "light".into(), ..boot() });
    screen.answer(ANSWER, 40);
    frames(&mut screen, "light");
}
