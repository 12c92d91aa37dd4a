//! Golden frames of transient states: loading and empty lists, work in progress or stopped, remarks, a
//! window that is too small; and a check that each is drawn at every size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;
use tau::agent::protocol::event::{
    CompactionReason, Delta, Question, RunEvent, SessionEvent, SessionInfo, ShellEvent, TaskEvent, TurnEvent,
};
use tau::agent::protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau::agent::protocol::form::FormField;
use tau::agent::protocol::live_session::{
    BoardList, LiveRow, LiveState, MissingServer, WaitingQuestion, WaitingQuestions,
};
use tau::agent::protocol::message::{Block, CompactionSummary, Message, StopReason};
use tau::agent::protocol::query::QueryAnswer;
use tau::agent::protocol::session_row::SessionRow;
use tau::agent::protocol::worktree::WorktreeRow;
use tau::app::Msg;
use tau::app::boot::Boot;
use tau::app::key::{Mods, Mouse, MouseButton, MouseKind};
use tau::app::request::{
    LocalModelServer, LoginProvider, ScreenReply, ScreenRequest, SessionRows, SettingList, SettingShown,
};
use tau::tools::jobs::{JobProcess, JobRow, JobState};
use tau::tools::{Details, ToolOutput};

use super::overlays::reply;
use super::undo::answer;
use crate::approvals::command_request;
use crate::harness::{START, Screen, assistant, boot, call, frames, root, text};

#[test]
fn sessions_that_load_and_change() {
    let mut screen = Screen::new();
    screen.keys("/resume<enter>");
    frames(&mut screen, "sessions-loading");
    let row = |n: i64, prompt: &str| SessionRow {
        path: format!("/s/{n}.jsonl").into(),
        first_prompt: prompt.into(),
        modified: START - n * 3_700_000,
        messages: 3,
        size: 12_345,
        ..SessionRow::default()
    };
    let rows = vec![row(1, "fix the failing test"), row(2, "write docs")];
    let listed = screen.take_effects().into_iter().find_map(|effect| match effect {
        tau::app::Effect::Ask(ticket, ScreenRequest::Sessions { .. }) => Some(ticket),
        _ => None,
    });
    let ticket = listed.expect("asked");
    screen.send(Msg::Finished(
        ticket,
        ScreenReply::Sessions(SessionRows { rows, done: true, troubles: Vec::new() }),
    ));
    screen.keys("<ctrl+r> today");
    frames(&mut screen, "sessions-renaming");
    screen.keys("<esc><ctrl+d>");
    frames(&mut screen, "sessions-deleting");
    screen.keys("<esc>/resume<enter>");
    reply(
        &mut screen,
        ScreenReply::Sessions(SessionRows { rows: Vec::new(), done: true, troubles: Vec::new() }),
    );
    frames(&mut screen, "sessions-none");
    screen.keys("<esc>");
    let session = SessionInfo { file: Some("/s/2.jsonl".into()), ..SessionInfo::default() };
    screen.agent(SessionEvent::SessionOpened { session, messages: Vec::new(), titles: BTreeMap::new() });
    screen.take_effects();
    screen.keys("/resume<enter>");
    let rows = vec![row(1, "fix the failing test"), row(2, "write docs")];
    reply(&mut screen, ScreenReply::Sessions(SessionRows { rows, done: true, troubles: Vec::new() }));
    frames(&mut screen, "sessions-open");
    // It is open, and what runs in it continues.
    screen.keys("docs");
    screen.take_effects();
    screen.keys("<enter>");
    let sent = screen.take_effects();
    assert!(!sent.iter().any(|effect| matches!(effect, tau::app::Effect::Agent(_))), "{sent:?}");
    assert!(screen.model().overlays.is_empty());
}

#[test]
fn a_tree_that_loads_and_gets_a_label() {
    let mut screen = Screen::new();
    screen.keys("/tree<enter>");
    frames(&mut screen, "tree-loading");
    screen.agent(TaskEvent::Answered { ticket: 0, answer: Ok(QueryAnswer::Outline(super::outline())) });
    screen.keys("<ctrl+l>done");
    frames(&mut screen, "tree-label");
    // What is typed last is in sight, however long it is.
    for (keys, begin) in [("", "<esc><ctrl+l>"), ("/settings<enter>", "<end><enter>"), ("/model<enter>", "")]
    {
        if !keys.is_empty() {
            screen.keys(&format!("<esc><esc>{keys}"));
        }
        if keys.starts_with("/settings") {
            let row = SettingShown { key: "model".into(), ..SettingShown::default() };
            reply(
                &mut screen,
                ScreenReply::Settings(SettingList { rows: vec![row], ..SettingList::default() }),
            );
        }
        screen.keys(&format!("{begin}{}the-end", "abcde".repeat(42)));
        let shown = text(&screen.draw());
        assert!(shown.contains("the-end"), "{shown}");
        let (column, row) = screen.model().laid.cursor.expect("a cursor");
        let before: String = shown.lines().nth(row.into()).unwrap().chars().take(column.into()).collect();
        assert!(before.ends_with("the-end"), "{before}\n{shown}");
    }
}

#[test]
fn extensions() {
    let mut screen = Screen::new();
    screen.keys("/extensions<enter>");
    frames(&mut screen, "extensions-loading");
    let row = |kind, name: &str, description: &str, source, state| ExtensionRow {
        kind,
        name: name.into(),
        description: description.into(),
        source,
        path: None,
        state,
        problems: Vec::new(),
        tokens: Some(420),
    };
    let (user, project) = (ExtensionSource::User, ExtensionSource::Project);
    let mut broken = row(ExtensionKind::McpServer, "tickets", "14 tools", project, ExtensionState::Failed);
    broken.problems = vec!["the server did not start: no such file \u{1b}[2J".into()];
    let rows = vec![
        broken,
        row(ExtensionKind::Skill, "pdf", "reads and fills PDF forms", user, ExtensionState::On),
        row(ExtensionKind::Skill, "漢字", "explains characters", user, ExtensionState::Off),
        row(ExtensionKind::PromptTemplate, "review", "reviews a change", project, ExtensionState::On),
    ];
    answer(&mut screen, Ok(QueryAnswer::Extensions(rows)));
    frames(&mut screen, "extensions");
    screen.keys("<esc>/extensions<enter>");
    answer(&mut screen, Ok(QueryAnswer::Extensions(Vec::new())));
    frames(&mut screen, "extensions-none");
}

#[test]
fn worktrees() {
    let mut screen = Screen::new();
    screen.keys("/worktree<enter>");
    frames(&mut screen, "worktrees-loading");
    let row = |name: &str, has: &str, is_here, is_removed| WorktreeRow {
        name: name.into(),
        has: has.into(),
        place: format!("/h/tau-worktrees/app-0123456789abcdef/{name}"),
        is_here,
        is_removed,
    };
    let rows = vec![
        row("fix-parser", "2 commits, 1 change", true, false),
        row("漢字", "nothing of its own", false, false),
        row("old", "removed, its work is kept", false, true),
    ];
    super::overlays::reply(&mut screen, ScreenReply::Worktrees(rows));
    frames(&mut screen, "worktrees");
    screen.keys("<down>x");
    crate::approvals::pause(&mut screen);
    let failed = "a session works in 漢字: end it first, or `tau stop \u{1b}[2J1`";
    super::overlays::reply(&mut screen, ScreenReply::Failed(failed.into()));
    frames(&mut screen, "worktrees-failed");
    screen.keys("<esc>/worktree<enter>");
    super::overlays::reply(&mut screen, ScreenReply::Worktrees(Vec::new()));
    frames(&mut screen, "worktrees-none");
}

/// A form that an MCP server asks the user to fill in.
fn waiting_form() -> WaitingQuestions {
    let field = FormField::of_schema("ticket", true, &json!({"type": "string"})).unwrap();
    let (server, message) = ("tracker".into(), "Which ticket is it?".into());
    let question = Question::Form { server, message, fields: vec![field] };
    let questions = vec![WaitingQuestion { id: "q".into(), question }];
    WaitingQuestions { approvals: Vec::new(), questions }
}

/// A row of the board; `changed` is the time of its last change.
fn live_row(id: &str, state: LiveState, title: &str, changed: i64, last_line: &str) -> LiveRow {
    LiveRow {
        id: id.into(),
        state,
        title: title.into(),
        directory: "/srv/web/漢字".into(),
        model: Some("anthropic/claude-haiku-4-5".into()),
        cost: 0.125,
        estimated: false,
        last_line: last_line.into(),
        changed,
        is_live: state != LiveState::Done,
        archived: id == "e",
        parent: None,
        server: None,
    }
}

#[test]
fn the_command_for_the_board_shows_what_is_known_at_once() {
    let sessions = vec![live_row("c", LiveState::Waiting, "delete the old files", START, "May I?")];
    let list = BoardList { sessions, servers: Vec::new() };
    let first = text(&Screen::boot(Boot { board: Some(list), ..boot() }).draw());
    assert!(first.contains("delete the old files"), "{first}");
}

#[test]
fn board() {
    let mut screen = Screen::new();
    screen.keys("/board<enter>");
    frames(&mut screen, "board-loading");
    let now = screen.model().now;
    let row = |id: &str, state, title: &str, ago: i64, last_line: &str| {
        live_row(id, state, title, now - ago, last_line)
    };
    let helper = |id: &str, parent: &str, title: &str| LiveRow {
        parent: Some(parent.into()),
        ..row(id, LiveState::Running, title, 1_000, "Two of them call it.")
    };
    let rows = vec![
        helper("f", "b", "explore 1: find who calls \u{1b}[2J it"),
        helper("g", "f", "work 1: and write it down"),
        helper("h", "gone", "review 1: whose parent is not here"),
        row("a", LiveState::Done, "write the docs", 7_200_000, "All of it is written."),
        row("b", LiveState::Running, "make the tests pass \u{1b}[2J and say so", 60_000, "Three are left."),
        row("c", LiveState::Waiting, "delete the old files", 5_000, "May I delete these?\u{202e}"),
        row("d", LiveState::Failed, "", 90_000, "the server is overloaded"),
        row("e", LiveState::Done, "a thing of the past", 90_000_000, "Done."),
    ];
    let list = BoardList { sessions: rows.clone(), servers: Vec::new() };
    super::overlays::reply(&mut screen, ScreenReply::Board(list.clone()));
    frames(&mut screen, "board");
    let missing =
        |name: &str, why: Option<&str>| MissingServer { name: name.into(), why: why.map(str::to_owned) };
    let afar = LiveRow {
        id: "ssh://ada@box:2222#0199".into(),
        server: Some("ada@box".into()),
        ..row("x", LiveState::Waiting, "count the \u{1b}[2J stars", 1_000, "May I?")
    };
    let servers = vec![
        missing("shop", None),
        missing("cellar", Some("ssh: connect to host cellar port 22: Connection \u{1b}[2J refused")),
        missing("attic", Some("no route")),
        missing("barn", None),
    ];
    screen.keys("<esc>/board<enter>");
    let sessions = rows.into_iter().chain([afar]).collect();
    super::overlays::reply(&mut screen, ScreenReply::Board(BoardList { sessions, servers: servers.clone() }));
    frames(&mut screen, "board-servers");
    screen.keys("<esc>/board<enter>");
    super::overlays::reply(&mut screen, ScreenReply::Board(BoardList { sessions: Vec::new(), servers }));
    frames(&mut screen, "board-servers-none");
    screen.keys("<esc>/board<enter>");
    super::overlays::reply(&mut screen, ScreenReply::Board(list));
    screen.keys("m");
    crate::approvals::pause(&mut screen);
    screen.keys("go");
    screen.keys(" on");
    frames(&mut screen, "board-message");
    screen.keys("<esc><tab>");
    frames(&mut screen, "board-archive");
    screen.keys("<tab>a");
    crate::approvals::pause(&mut screen);
    let approvals = vec![command_request("c1", "rm -rf build && make", (0, 12))];
    let waiting = WaitingQuestions { approvals, questions: Vec::new() };
    super::overlays::reply(&mut screen, ScreenReply::Waiting(waiting));
    frames(&mut screen, "board-answering");
    // A call that was answered is not shown any more.
    let approvals = vec![command_request("c2", "rm -rf out", (0, 10))];
    screen.wait(1_500);
    let waiting = WaitingQuestions { approvals, questions: Vec::new() };
    super::overlays::reply(&mut screen, ScreenReply::Waiting(waiting));
    let shown = text(&screen.draw());
    assert!(shown.contains("rm -rf out") && !shown.contains("rm -rf build"), "{shown}");
    screen.keys("<alt+a>a");
    crate::approvals::pause(&mut screen);
    super::overlays::reply(&mut screen, ScreenReply::Waiting(waiting_form()));
    frames(&mut screen, "board-form");
    screen.keys("<esc>");
    // The details of a session have their room beside one row too.
    screen.keys("/docs");
    frames(&mut screen, "board-one");
    screen.keys("<backspace><backspace><backspace><backspace>");
    screen.keys("<esc>/board<enter>");
    super::overlays::reply(&mut screen, ScreenReply::Board(BoardList::default()));
    frames(&mut screen, "board-none");
}

#[test]
fn jobs() {
    let mut screen = Screen::new();
    screen.keys("/jobs<enter>");
    frames(&mut screen, "jobs-loading");
    let now = screen.model().now;
    let job = |id, command: &str, state, ran: i64, last_line: &str| JobRow {
        id,
        command: command.into(),
        state,
        outcome: if state == JobState::Failed { "exit code 101 (42.0 s)".into() } else { String::new() },
        started: now - ran,
        ended: (state != JobState::Running).then_some(now - 1_000),
        cpu_ms: 12_300,
        memory: 153_000_000,
        lines: 1_204,
        last_line: last_line.into(),
        file: Some("/tmp/tau-scratch-1-a/bash-0001.log".into()),
        ..JobRow::default()
    };
    let process = |pid| JobProcess { pid, name: "node".into() };
    let rows = vec![
        job(1, "cargo test --workspace \u{1b}[2J", JobState::Failed, 43_000, "error: test failed"),
        JobRow {
            kept: true,
            processes: vec![process(7), process(8)],
            ..job(2, "npm run dev", JobState::Running, 3_900_000, "ready on :3000 漢字\u{202e}")
        },
        job(3, "python3 -m http.server", JobState::Running, 4_000, ""),
    ];
    screen.agent(ShellEvent::JobsChanged { jobs: rows.clone() });
    answer(&mut screen, Ok(QueryAnswer::Jobs(rows.clone())));
    screen.keys("<down>");
    frames(&mut screen, "jobs");
    screen.keys("<enter>");
    let log = (1..=60).map(|n| format!("line {n} of the log\u{7}\n")).collect::<String>();
    answer(&mut screen, Ok(QueryAnswer::Text(log)));
    screen.keys("<up><up>");
    frames(&mut screen, "jobs-output");
    // What is read stays, however much comes meanwhile.
    let before = text(&screen.draw());
    let later = (2_000..=2_060).map(|n| format!("line {n} of the log\n")).collect::<String>();
    let read = |shown: &str| {
        let rows = shown.lines().filter(|row| row.contains("of the log"));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    for _ in 0..2 {
        screen.agent(ShellEvent::JobsChanged { jobs: rows.clone() });
        answer(&mut screen, Ok(QueryAnswer::Text(later.clone())));
        assert_eq!(read(&text(&screen.draw())), read(&before));
    }
    screen.keys("<end>");
    screen.agent(ShellEvent::JobsChanged { jobs: rows });
    answer(&mut screen, Ok(QueryAnswer::Text(later)));
    assert!(text(&screen.draw()).contains("line 2060 of the log"));
    screen.keys("<esc><esc>/quit<enter>");
    frames(&mut screen, "leave");
    screen.keys("<esc>/jobs<enter>");
    answer(&mut screen, Ok(QueryAnswer::Jobs(Vec::new())));
    frames(&mut screen, "jobs-none");
}

/// A question about a folder that has not been answered yet.
#[test]
fn trust_of_a_new_folder() {
    let folder = tau::agent::protocol::trust::Folder {
        trust: tau::agent::protocol::trust::Trust::Unknown,
        ..crate::trust::changed_folder()
    };
    frames(&mut Screen::boot(Boot { folders: vec![folder], ..boot() }), "trust-new");
}

#[test]
fn lists_in_which_nothing_matches_or_that_wait() {
    let mut screen = Screen::new();
    screen.take_effects();
    screen.keys("<ctrl+l>");
    frames(&mut screen, "models-loading");
    screen.keys("<esc><f1>nosuchkey");
    frames(&mut screen, "help-none");
}

#[test]
fn a_key_is_checked() {
    let mut screen = Screen::new();
    screen.keys("/login<enter>");
    let provider = LoginProvider {
        id: "acme".into(),
        name: "Acme".into(),
        env: "ACME_API_KEY".into(),
        has_key: false,
        login: None,
    };
    reply(&mut screen, ScreenReply::Providers(vec![provider]));
    screen.keys("<enter>secret<enter>");
    frames(&mut screen, "login-checking");
}

/// Calls that wait, were stopped, skipped or denied.
#[test]
fn calls_that_did_not_run() {
    let mut screen = Screen::new();
    screen.user("clean up");
    screen.run();
    let ends = [
        ("sleep 60", Some("aborted by the user after 2.5 s")),
        ("make clean", Some("skipped: not run, because the user sent a message")),
        ("rm -rf build", Some("the user denied this call, it was not run: keep the cache")),
        ("rm -rf target", Some("the user denied this call, it was not run")),
        ("git status", None),
    ];
    let id = |at: usize| format!("c{at}");
    let calls: Vec<Block> = (ends.iter().enumerate())
        .map(|(at, (command, _))| Block::ToolCall(call(&id(at), "bash", json!({"command": command}))))
        .collect();
    let message = std::sync::Arc::new(assistant(calls, StopReason::ToolUse));
    screen.agent(TurnEvent::MessageStart { message: std::sync::Arc::clone(&message) });
    screen.agent(TurnEvent::MessageEnd { message });
    for (at, (_, end)) in ends.iter().enumerate() {
        let Some(end) = end else { continue };
        screen.agent(TurnEvent::ToolExecutionEnd {
            tool_call_id: id(at),
            tool_name: "bash".into(),
            result: ToolOutput::new(*end, Details::None),
            is_error: true,
            hooks: Vec::new(),
            duration_ms: Some(if at == 0 { 2_500 } else { 0 }),
        });
    }
    frames(&mut screen, "calls-not-run");
}

#[test]
fn what_the_agent_does() {
    let mut screen = Screen::new();
    screen.user("run the tests");
    screen.run();
    screen.wait(1_200);
    frames(&mut screen, "activity-waiting");
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
    screen.delta(Delta::ThinkingStart { content_index: 0 });
    screen.delta(Delta::ThinkingDelta { content_index: 0, delta: "Which tests?".into() });
    screen.wait(1_200);
    frames(&mut screen, "activity-thinking");
    screen.delta(Delta::ThinkingEnd { content_index: 0, content: "Which tests?".into() });
    screen.delta(Delta::ToolCallStart { content_index: 1, id: "c1".into(), tool_name: "bash".into() });
    screen.delta(Delta::ToolCallDelta { content_index: 1, delta: "{\"command\": \"cargo te".into() });
    screen.wait(1_200);
    frames(&mut screen, "activity-calling");
    let mut screen = Screen::new();
    screen.user("run the tests");
    screen.agent(RunEvent::BranchSummary { running: true });
    screen.wait(1_200);
    frames(&mut screen, "activity-summarizing");
}

#[test]
fn work_under_way() {
    let mut screen = Screen::new();
    screen.user("retry");
    screen.run();
    screen.agent(RunEvent::Stalled { idle_ms: 12_000, limit_ms: 60_000 });
    frames(&mut screen, "stalled");
    screen.agent(RunEvent::CompactionStart { reason: CompactionReason::Threshold });
    screen.wait(1_000);
    frames(&mut screen, "compacting");
}

#[test]
fn a_summary_of_what_came_before() {
    let summary = "## Goal\n\nFix the parser.\n\n<files>\nread:\n- a.rs\n</files>";
    let message = Message::CompactionSummary(CompactionSummary {
        summary: summary.into(),
        tokens_before: 90_000,
        timestamp: START,
    });
    let messages = vec![std::sync::Arc::new(message)];
    let mut screen = Screen::new();
    screen.agent(SessionEvent::SessionOpened {
        session: SessionInfo::default(),
        messages,
        titles: BTreeMap::new(),
    });
    frames(&mut screen, "summary");
    screen.keys("<ctrl+o>");
    frames(&mut screen, "summary-open");
}

#[test]
fn a_server_that_was_found() {
    let mut screen = Screen::boot(Boot { demo: true, ..boot() });
    let asked = screen.take_effects().into_iter().find_map(|effect| match effect {
        tau::app::Effect::Ask(ticket, ScreenRequest::Servers {}) => Some(ticket),
        _ => None,
    });
    let found = LocalModelServer {
        name: "llama.cpp".into(),
        base_url: "http://127.0.0.1:8080/v1".into(),
        models: vec!["coder".into()],
    };
    screen.send(Msg::Finished(asked.expect("asked"), ScreenReply::Servers(vec![found])));
    frames(&mut screen, "server-found");
}

#[test]
fn a_composer_with_more_than_it_shows() {
    let mut screen = Screen::new();
    let lines: String = (0..200).map(|n| format!("line {n}\n")).collect();
    screen.send(Msg::Paste(lines));
    screen.keys(" is what I mean");
    frames(&mut screen, "chip");
    screen.keys("<ctrl+j>more".repeat(20).as_str());
    frames(&mut screen, "composer-full");
    screen.keys("<ctrl+s>");
    frames(&mut screen, "stashed");
}

#[test]
fn messages_below_and_selected_text() {
    let mut screen = Screen::new();
    screen.user("count, please");
    let answer: String = (0..120).map(|at| format!("row {at}\n\n")).collect();
    screen.answer(&answer, 500);
    screen.keys("<ctrl+home><pagedown>");
    screen.answer("One more.", 9);
    frames(&mut screen, "new-messages");
    let mouse = |kind, column, row| Msg::Mouse(Mouse { kind, column, row, mods: Mods::NONE });
    screen.send(mouse(MouseKind::Down(MouseButton::Left), 3, 4));
    screen.send(mouse(MouseKind::Drag(MouseButton::Left), 6, 8));
    crate::harness::frame_as_it_is(&mut screen, "selection-80x24");
}

#[test]
fn a_window_that_is_too_small() {
    let mut screen = Screen::new();
    screen.answer("There is no room for this.", 9);
    for (width, height) in [(30, 12), (15, 4), (8, 2)] {
        crate::harness::frame(&mut screen, "small", width, height);
    }
}

/// Frames at sizes other than the four, with reasons.
const OTHER_SIZES: [&str; 13] = [
    "inline-60x16",           // the shell's screen, by what is written below each other
    "inline-scenes-80x24",    // the same
    "reader-scenes-80x24",    // plain lines
    "picture-80x24",          // the size of the picture matters, not the window's
    "selection-80x24",        // a new size ends a selection
    "diff-split-140x24",      // where there is room for both sides
    "diff-split-80x24",       // and where there is none
    "tree-30x16",             // how calls failed, where there is little room
    "tree-leaving-30x16",     // choices that begin alike
    "approval-command-30x16", // the narrowest window in which a command is asked about
    "trust-40x12",            // a long line, from its first row
    "trust-end-40x12",        // to its last
    "small",                  // windows below the least size
];

#[test]
fn everything_is_drawn_at_the_four_sizes() {
    let mut sizes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in std::fs::read_dir(root().join("tests/golden/frames")).expect("the goldens") {
        let file = file.expect("a golden").file_name().into_string().expect("a name");
        let name = file.strip_suffix(".txt").expect("text");
        let (state, size) = name.rsplit_once('-').expect("a size");
        if !OTHER_SIZES.contains(&name) && !OTHER_SIZES.contains(&state) {
            sizes.entry(state.to_owned()).or_default().insert(size.to_owned());
        }
    }
    let four = ["120x40", "200x50", "40x12", "80x24"].map(str::to_owned).into();
    let missing: Vec<_> = sizes.iter().filter(|(_, sizes)| **sizes != four).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
