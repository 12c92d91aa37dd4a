//! The laws of the fold and of the screen, on random runs.
//!
//! A run is generated from a seed, so a failure is reproduced by its seed. The number of steps is smaller in
//! a plain `cargo test`; `TAU_LAWS=100000` sets it.

use std::sync::Arc;

use ratatui::layout::Rect;
use tau::agent::AgentEvent;
use tau::agent::protocol::approval::{ApprovalOutcome, ApprovalReason, ApprovalRequest, PermissionMode};
use tau::agent::protocol::event::{
    Delta, NoticeLevel, Question, QuestionEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent,
    TaskEvent, TurnEvent,
};
use tau::agent::protocol::message::{BashExecution, Block, StopReason};
use tau::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use tau::agent::protocol::query::{HistoryPage, QueryAnswer};
use tau::agent::protocol::session_row::LastExchange;
use tau::app::geometry::Size;
use tau::app::key::{Mouse, MouseButton, MouseKind};
use tau::app::request::{FoundSessions, ScreenReply, SessionRows, Ticket};
use tau::app::{Model, Msg, StampedMsg, update};
use tau::tools::access::{Access, Preview};
use tau::tools::{Details, FileDiff, Hunk, TerminalOutput, ToolOutput};
use tau::view::frame::Frame;
use tau::view::view;

use crate::harness::{Screen, assistant, boot, call, draw, memo, user};
use crate::support::dice::Dice;

const KEYS: &[&str] = &[
    "a", "b", "/", "@", "!", "space", "한", "👨", "enter", "alt+enter", "ctrl+j", "esc", "ctrl+c", "up",
    "down", "left", "right", "home", "end", "tab", "backspace", "delete", "ctrl+w", "ctrl+k", "ctrl+u",
    "ctrl+y", "ctrl+7", "alt+_", "pageup", "pagedown", "shift+up", "shift+down", "ctrl+home", "ctrl+end",
    "ctrl+up", "ctrl+down", "ctrl+o", "ctrl+t", "ctrl+l", "ctrl+p", "shift+tab", "ctrl+r", "ctrl+x", "f1",
    "alt+up", "ctrl+g", "ctrl+d", "\\", "q", "alt+b", "alt+f", "ctrl+f", "ctrl+n", "y", "n", "e", "v", "Y",
    "N", "alt+a", "alt+m", "/tree", "/fork", "/resume",
];

const TEXTS: &[&str] = &[
    "plain words ",
    "\n",
    "\n\n",
    "# head\n",
    "- item\n",
    "```rust\nfn x() {}\n",
    "```\n",
    "| a | b |\n|---|---|\n| 1 | 2 |\n",
    "한국어 漢字 ",
    "👨‍👩‍👧‍👦🇩🇪e\u{301}❤\u{fe0f}",
    "\u{1b}]0;title\u{7}\u{1b}[2J",
    "\u{202e}\u{e0041}\u{200b}\u{9b}31m",
    "a\tb\r\nc\rd",
    "averyveryveryveryverylongwordthatfitsnowhere",
    "> quote **bold *it*** `code` [link](http://x.y)\n",
];

const SIZES: &[(u16, u16)] = &[
    (80, 24),
    (120, 40),
    (40, 12),
    (1, 1),
    (2, 1),
    (1, 40),
    (80, 1),
    (10, 3),
    (10, 4),
    (11, 5),
    (200, 60),
    (0, 0),
];

/// A random message. Many make no sense; none may do harm.
fn fact(dice: &mut Dice, model: &Model) -> Msg {
    match dice.below(20) {
        0..=7 => match *dice.pick(KEYS) {
            command if command.len() > 1 && command.starts_with('/') => Msg::Paste(command.to_owned()),
            key => Msg::Key(key.parse().expect("a key")),
        },
        8 => {
            let left = MouseButton::Left;
            let kinds = [
                MouseKind::Down(left),
                MouseKind::Drag(left),
                MouseKind::Up(left),
                MouseKind::ScrollUp,
                MouseKind::ScrollDown,
            ];
            Msg::Mouse(Mouse {
                kind: *dice.pick(&kinds),
                column: dice.below(90) as u16,
                row: dice.below(30) as u16,
                mods: Default::default(),
            })
        }
        9 => Msg::Paste(dice.pick(TEXTS).repeat(dice.below(30))),
        10 => {
            let (width, height) = *dice.pick(SIZES);
            Msg::Resized(Size { width, height })
        }
        11 => Msg::Ticked,
        12 => reply(dice, model),
        _ => Msg::Agent(event(dice)),
    }
}

fn reply(dice: &mut Dice, _model: &Model) -> Msg {
    let ticket = Ticket(dice.below(60) as u64);
    let reply = match dice.below(8) {
        0 => ScreenReply::Sessions(SessionRows {
            rows: vec![Default::default(); dice.below(40)],
            done: dice.below(2) == 0,
            troubles: Vec::new(),
        }),
        1 => ScreenReply::Models(tau::app::request::ModelList {
            usable: (0..dice.below(4)).map(|_| Arc::new(crate::harness::ai())).collect(),
            ..Default::default()
        }),
        2 => ScreenReply::Files(vec!["src/ma\u{1b}in.rs".into(); dice.below(12)]),
        3 => ScreenReply::History(vec!["earlier".into(), "two\nlines".into()]),
        5 => ScreenReply::Found(FoundSessions { found: vec![Default::default()], done: dice.below(2) == 0 }),
        6 => ScreenReply::LastExchange(LastExchange {
            user: dice.pick(TEXTS).repeat(9),
            model: dice.pick(TEXTS).repeat(9),
        }),
        4 => ScreenReply::Edited(Some(dice.pick(TEXTS).to_string())),
        _ => ScreenReply::Failed("no \u{7}".into()),
    };
    Msg::Finished(ticket, reply)
}

/// A random tree.
fn outline(dice: &mut Dice) -> Outline {
    let kinds = [RowKind::User, RowKind::Assistant, RowKind::Tool, RowKind::Setting, RowKind::Branch];
    let rows: Vec<OutlineRow> = (0..dice.below(60))
        .map(|at| OutlineRow {
            id: format!("e{}", dice.below(80)),
            parent: (at > 0 && dice.below(9) > 0).then(|| dice.below(at)),
            kind: *dice.pick(&kinds),
            text: dice.pick(TEXTS).to_string(),
            label: (dice.below(5) == 0).then(|| dice.pick(TEXTS).to_string()),
            at: 0,
            ahead: (at % 3 > 0).then_some(330),
        })
        .collect();
    let leaf = (!rows.is_empty()).then(|| dice.below(rows.len()));
    Outline { rows, leaf }
}

/// Messages above all others, in plausible numbers or not.
fn earlier(dice: &mut Dice, id: String, text: String) -> AgentEvent {
    let calls = vec![Block::text(&text), Block::ToolCall(call(&id, "read", serde_json::json!({})))];
    let (person, model) = (Arc::new(user(&text)), Arc::new(assistant(calls, StopReason::Aborted)));
    let page = HistoryPage {
        messages: std::iter::repeat_n([person, model], dice.below(40)).flatten().collect(),
        titles: Default::default(),
        left: (dice.below(3) > 0).then(|| dice.below(2_000) as u64),
        after: (dice.below(2) > 0).then(|| dice.below(2_000) as u64),
        start: dice.below(3) as u64,
        end: dice.below(3) as u64,
        failed: (dice.below(4) == 0).then_some(text),
    };
    AgentEvent::Task(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::HistoryPage(page)) })
}

fn event(dice: &mut Dice) -> AgentEvent {
    let id = format!("c{}", dice.below(4));
    let index = dice.below(4);
    let text = dice.pick(TEXTS).to_string();
    match dice.below(32) {
        26..=31 => decision(dice, id, text),
        24 | 25 => earlier(dice, id, text),
        22 => AgentEvent::Task(TaskEvent::Answered {
            ticket: 0,
            answer: Ok(QueryAnswer::Outline(outline(dice))),
        }),
        23 => AgentEvent::Run(RunEvent::BranchSummary { running: dice.below(2) == 0 }),
        0 => AgentEvent::Run(RunEvent::AgentStart),
        1 => AgentEvent::Run(RunEvent::AgentSettled { aborted: false }),
        2 => AgentEvent::Turn(TurnEvent::MessageStart { message: Arc::new(user(&text)) }),
        3 => AgentEvent::Turn(TurnEvent::MessageStart {
            message: Arc::new(assistant(vec![], StopReason::Stop)),
        }),
        4 => delta(Delta::TextStart { content_index: index }),
        5..=8 => delta(Delta::TextDelta { content_index: index, delta: text }),
        9 => delta(Delta::ThinkingStart { content_index: index }),
        10 => delta(Delta::TextEnd { content_index: index, content: text }),
        11 => delta(Delta::ToolCallStart { content_index: index, id, tool_name: "ba\u{1b}sh".into() }),
        12 => AgentEvent::Turn(TurnEvent::MessageEnd {
            message: Arc::new(assistant(
                vec![Block::text(text)],
                *dice.pick(&[StopReason::Stop, StopReason::Aborted]),
            )),
        }),
        13 => AgentEvent::Turn(TurnEvent::ToolExecutionStart {
            tool_call_id: id,
            tool_name: "bash".into(),
            args: "x".into(),
        }),
        14 => AgentEvent::Turn(TurnEvent::ToolExecutionUpdate {
            tool_call_id: id,
            tool_name: "bash".into(),
            args: "x".into(),
            partial_result: output(text.repeat(dice.below(50))),
        }),
        15 => AgentEvent::Turn(TurnEvent::ToolExecutionEnd {
            tool_call_id: id,
            tool_name: "bash".into(),
            result: output(text),
            is_error: dice.below(2) == 0,
            duration_ms: Some(dice.below(100_000) as u64),
            hooks: Vec::new(),
        }),
        16 => AgentEvent::Shell(ShellEvent::BashStart {
            id: Some(id),
            command: text,
            exclude_from_context: false,
            size: Some((77, 24)),
            without_sandbox: false,
        }),
        17 => AgentEvent::Shell(ShellEvent::BashExecutionUpdate {
            id: Some(id),
            delta: text.repeat(dice.below(90)),
        }),
        18 => AgentEvent::Shell(ShellEvent::BashEnd { id: Some(id), message: execution(text) }),
        19 => AgentEvent::Task(TaskEvent::Notice {
            level: NoticeLevel::Error,
            text: text.clone(),
            hint: Some(text),
        }),
        20 => AgentEvent::Questions(QuestionEvent::Asked {
            id,
            question: Question::Confirm { title: text.clone(), message: text },
        }),
        _ => opened(&id, text),
    }
}

fn opened(id: &str, text: String) -> AgentEvent {
    AgentEvent::Session(SessionEvent::SessionOpened {
        session: Default::default(),
        messages: vec![
            Arc::new(user(&text)),
            Arc::new(assistant(
                vec![Block::text(text), Block::ToolCall(call(id, "read", serde_json::json!({"path": "x"})))],
                StopReason::ToolUse,
            )),
        ],
        titles: Default::default(),
    })
}

/// A call that needs a decision, or the outcome of one.
fn decision(dice: &mut Dice, id: String, text: String) -> AgentEvent {
    match dice.below(6) {
        0..=2 => AgentEvent::Questions(QuestionEvent::ApprovalRequested {
            request: Box::new(approval(dice, id, text)),
        }),
        3 => AgentEvent::Questions(QuestionEvent::ApprovalEnded {
            id: format!("r-{id}"),
            outcome: *dice.pick(&[
                ApprovalOutcome::Allowed,
                ApprovalOutcome::Denied,
                ApprovalOutcome::Withdrawn,
            ]),
        }),
        4 => AgentEvent::Settings(SettingsEvent::PermissionModeChanged {
            mode: *dice.pick(&PermissionMode::ALL),
            ceiling: *dice.pick(&PermissionMode::ALL),
        }),
        _ => AgentEvent::Task(TaskEvent::Answered {
            ticket: dice.below(60) as u64,
            answer: match dice.below(3) {
                0 => Ok(QueryAnswer::Titles(vec![text; dice.below(9)])),
                1 => Ok(QueryAnswer::Text(text)),
                _ => Err(text.into()),
            },
        }),
    }
}

/// A request for approval, valid or not.
fn approval(dice: &mut Dice, id: String, text: String) -> ApprovalRequest {
    let command = text.repeat(dice.below(30));
    let hunk = Hunk {
        old_start: dice.below(9) as u32,
        new_start: u32::MAX,
        lines: text.split('\n').map(|line| format!("{}{line}", dice.pick(&["+", "-", " ", ""]))).collect(),
    };
    let change = FileDiff {
        path: text.clone(),
        added: 1,
        removed: 1,
        hunks: vec![hunk; dice.below(12)],
        cut: dice.below(4) == 0,
        ..FileDiff::default()
    };
    let preview = match dice.below(4) {
        0 => Preview::None,
        3 => Preview::Arguments { arguments: serde_json::json!({"a": {"b": command}, "c": [text]}) },
        1 => Preview::Command { command },
        _ => Preview::Change { change },
    };
    let span = (dice.below(3) > 0).then(|| (dice.below(40), dice.below(90)));
    let reason =
        ApprovalReason { text: text.clone(), span, rule: Some(text.clone()), path: Some("/x".into()) };
    ApprovalRequest {
        id: format!("r-{id}"),
        tool_call_id: id,
        tool_name: "ba\u{1b}sh".into(),
        title: text.clone(),
        access: Access::unknown(),
        preview,
        reasons: vec![reason; dice.below(4)],
        suggested_rules: (0..dice.below(3)).map(|_| text.clone()).collect(),
        can_allow_exact: dice.below(2) == 0,
        sandbox: text,
        blocked: None,
        ran: dice.below(4) == 0,
        helper: (dice.below(4) == 0).then(|| "work 1".to_owned()),
    }
}

fn delta(assistant_message_event: Delta) -> AgentEvent {
    AgentEvent::Turn(TurnEvent::MessageUpdate { usage: Default::default(), assistant_message_event })
}

fn output(text: String) -> ToolOutput {
    let total_lines = text.lines().count() as u64 + 3;
    let details = Details::Terminal(TerminalOutput { text, total_lines, ..TerminalOutput::default() });
    ToolOutput::new("x", details)
}

fn execution(output: String) -> BashExecution {
    BashExecution { command: "x".into(), output, exit_code: Some(1), ..BashExecution::default() }
}

fn steps(plain: usize) -> usize {
    std::env::var("TAU_LAWS").ok().and_then(|steps| steps.parse().ok()).unwrap_or(plain)
}

/// Law 2: random messages at random sizes neither panic nor draw outside the screen. Also law 5: folding the
/// results of a frame changes nothing more.
#[test]
fn random_runs_do_not_panic_and_laid_reaches_a_fixpoint() {
    for seed in 0..3 {
        let mut dice = Dice::new(seed);
        let mut screen = Screen::new();
        for step in 0..steps(2_500) {
            let msg = fact(&mut dice, screen.model());
            screen.at += dice.below(400) as i64;
            screen.fold(msg);
            screen.log.clear();
            screen.effects.clear();
            if dice.below(4) == 0 {
                screen.draw();
                let model = screen.model().clone();
                let (_, laid) = draw(&model, &mut screen.memo, model.size);
                assert_eq!(laid, model.laid, "seed {seed}, step {step}");
            }
        }
    }
}

/// Law 3: the memo's contents make no difference to any cell, nor to copied text.
#[test]
fn cold_and_warm_memo_draw_the_same() {
    for seed in 10..12 {
        let mut dice = Dice::new(seed);
        let mut screen = Screen::new();
        for step in 0..steps(1_200) {
            let msg = fact(&mut dice, screen.model());
            screen.fold(msg);
            screen.draw();
            if dice.below(20) == 0 {
                let mut model = screen.model().clone();
                model.copying = true;
                let warm = draw(&model, &mut screen.memo, model.size);
                let cold = draw(&model, &mut memo(), model.size);
                assert_eq!(warm, cold, "seed {seed}, step {step}");
            }
        }
    }
}

/// Law 3 as well: a frame drawn over an older one looks like one on a blank screen.
#[test]
fn a_frame_over_an_older_one_looks_like_a_new_one() {
    for seed in 12..14 {
        let mut dice = Dice::new(seed);
        let mut screen = Screen::new();
        let mut frames = [Frame::default(), Frame::default()];
        for step in 0..steps(1_000) {
            let msg = fact(&mut dice, screen.model());
            screen.fold(msg);
            screen.draw();
            let model = screen.model().clone();
            let area = Rect::new(0, 0, model.size.width, model.size.height);
            let mut new = Frame::blank(area);
            view(&model, &mut screen.memo, &mut new);
            // In turns, as the terminal has one frame that is shown and one being drawn.
            let older = &mut frames[step % 2];
            if older.area() != area {
                older.resize(area);
                older.reset();
            }
            view(&model, &mut screen.memo, older);
            assert!(*older == new, "seed {seed}, step {step}");
        }
    }
}

/// Law 1: folding a recorded log from the same start gives the same model and effects, even after a round
/// trip through its file format.
#[test]
fn a_recorded_run_replays_to_the_same_model() {
    for seed in 20..22 {
        let mut dice = Dice::new(seed);
        let mut screen = Screen::new();
        for _ in 0..steps(800) {
            let msg = fact(&mut dice, screen.model());
            screen.send(msg);
        }
        let (mut model, mut effects) = tau::app::boot(boot());
        for stamped in &screen.log {
            let line = serde_json::to_string(stamped).expect("plain data");
            let stamped: StampedMsg = serde_json::from_str(&line).expect("what was written is read");
            let (next, more) = update(model, stamped);
            model = next;
            effects.extend(more);
        }
        assert!(model == *screen.model(), "seed {seed}");
        assert_eq!(effects, screen.effects, "seed {seed}");
    }
}

/// Law 8: whatever comes in, no cell holds a control character or an invisible one.
#[test]
fn no_cell_holds_a_control_character() {
    for seed in 30..32 {
        let mut dice = Dice::new(seed);
        let mut screen = Screen::new();
        for step in 0..steps(1_200) {
            let msg = fact(&mut dice, screen.model());
            screen.fold(msg);
            let buffer = screen.draw();
            for cell in buffer.content() {
                let bad = |c: char| {
                    c.is_control()
                        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
                };
                assert!(!cell.symbol().chars().any(bad), "seed {seed}, step {step}: {:?}", cell.symbol());
            }
        }
    }
}

/// Law 4, on the screen: an answer cut anywhere shows the same in the end.
#[test]
fn an_answer_cut_anywhere_shows_the_same() {
    let text: String = TEXTS.concat().replace('\u{1b}', "^") + include_str!("golden/answer.md");
    let shown = |step: usize| {
        let mut screen = Screen::new();
        screen.answer(&text, step);
        screen.keys("<ctrl+home>");
        let top = crate::harness::text(&screen.draw());
        screen.keys("<ctrl+end>");
        top + &crate::harness::text(&screen.draw())
    };
    let whole = shown(usize::MAX);
    for step in [1, 2, 3, 7, 64] {
        assert_eq!(shown(step), whole, "in pieces of {step}");
    }
}
