//! Panels of calls and of the user's commands: readable commands, hidden parts and their marks, results, and
//! grouped calls.

use std::sync::Arc;

use serde_json::{Value, json};
use tau::agent::AgentEvent;
use tau::agent::protocol::event::{Delta, SessionEvent, ShellEvent, TurnEvent};
use tau::agent::protocol::message::{BashExecution, Block, HookNote, Message, StopReason, ToolResultMessage};
use tau::app::Msg;
use tau::app::boot::Boot;
use tau::app::geometry::{Size, TextLayout};
use tau::app::key::{Mouse, MouseButton, MouseKind};
use tau::app::screen_settings::ScreenSettings;
use tau::tools::{Details, FileDiff, Hunk, TerminalOutput, ToolOutput};
use tau::view::theme::{Theme, ThemeToken};

use crate::harness::{Screen, assistant, call, frame, frames, text};
use crate::screen::Screen as Terminal;
use crate::support::program::own_model;
use crate::support::server::{Act, Server, stream};

const SCRIPT: &str = "set -euo pipefail\nfor name in one two; do\n  echo \"$name\" | tee -a log.txt\ndone\n";

pub fn shown(screen: &mut Screen) -> String {
    text(&screen.draw())
}

#[track_caller]
pub fn has(screen: &mut Screen, words: &[&str]) {
    let shown = shown(screen);
    words.iter().for_each(|words| assert!(shown.contains(words), "no {words:?} in\n{shown}"));
}

pub fn starts(screen: &mut Screen, id: &str, name: &str, args: &Value) {
    let (tool_call_id, tool_name, args) = (id.into(), name.into(), args.clone());
    screen.agent(TurnEvent::ToolExecutionStart { tool_call_id, tool_name, args });
}

pub fn ends(screen: &mut Screen, id: &str, result: ToolOutput, is_error: bool, duration_ms: Option<u64>) {
    let (tool_call_id, tool_name) = (id.into(), String::new());
    let hooks = Vec::new();
    screen.agent(TurnEvent::ToolExecutionEnd {
        tool_call_id,
        tool_name,
        result,
        is_error,
        duration_ms,
        hooks,
    });
}

/// Actions of hooks are shown below the call, which then has its own panel.
#[test]
fn what_hooks_did_is_a_part_of_the_panel() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    let path = json!({"path": "a.txt"});
    asks(&mut screen, &[("one", "read", path.clone()), ("two", "read", path.clone())]);
    for id in ["one", "two"] {
        starts(&mut screen, id, "read", &path);
        let note = |text: &str, is_warning| HookNote {
            hook: "PreToolUse ./guard".into(),
            text: text.into(),
            is_warning,
        };
        screen.agent(TurnEvent::ToolExecutionEnd {
            tool_call_id: id.into(),
            tool_name: "read".into(),
            result: output("x", 0),
            is_error: false,
            duration_ms: Some(1),
            hooks: vec![note("changed the call\u{1b}[31m", false), note(&"failed\n".repeat(99), true)],
        });
    }
    let shown = shown(&mut screen);
    assert_eq!(shown.matches("└ hook PreToolUse ./guard: changed the call").count(), 2, "{shown}");
    assert_eq!(shown.matches("failed").count(), 12, "{shown}");
    assert!(!shown.contains('\u{1b}'));
}

/// An answer with these calls: id, name, arguments.
pub fn asks(screen: &mut Screen, calls: &[(&str, &str, Value)]) {
    let calls = calls.iter().map(|(id, name, args)| Block::ToolCall(call(id, name, args.clone())));
    let message = Arc::new(assistant(calls.collect(), StopReason::ToolUse));
    screen.agent(TurnEvent::MessageStart { message: Arc::clone(&message) });
    screen.agent(TurnEvent::MessageEnd { message });
}

pub fn output(text: &str, code: i32) -> ToolOutput {
    let total_lines = text.lines().count() as u64;
    let details =
        TerminalOutput { text: text.into(), exit_code: Some(code), total_lines, ..TerminalOutput::default() };
    ToolOutput::new(text, Details::Terminal(details))
}

#[test]
fn a_command_of_several_lines_can_be_read() {
    let mut screen = Screen::new();
    screen.run();
    let long = format!("cargo test --workspace{}", " --exclude some-member".repeat(6));
    asks(&mut screen, &[("a", "bash", json!({"command": SCRIPT})), ("b", "bash", json!({"command": long}))]);
    starts(&mut screen, "a", "bash", &json!({"command": SCRIPT}));
    ends(&mut screen, "a", output("one\ntwo\n", 0), false, Some(700));
    let expected = [
        "● bash                                                                     0.7s\n",
        "│ $ set -euo pipefail\n│   for name in one two; do\n│     echo \"$name\" | tee -a log.txt\n│   done\n│ one\n",
        "○ bash                                                                   queued\n│ $ cargo test",
    ];
    has(&mut screen, &expected);
    frames(&mut screen, "command");
    let narrow = shown(&mut screen);
    assert_eq!(narrow.matches("some-member").count(), 6, "nothing of it is cut:\n{narrow}");
}

#[test]
fn of_a_long_command_eight_rows_are_shown_and_all_with_a_key() {
    let script: String = (1..=30).map(|n| format!("echo line-{n}\n")).collect();
    let mut screen = Screen::new();
    screen.run();
    asks(&mut screen, &[("a", "bash", json!({"command": script}))]);
    has(&mut screen, &["│   echo line-7\n│   ⋯ 23 hidden lines · ctrl+o to expand\n"]);
    assert!(!shown(&mut screen).contains("line-8"));
    screen.keys("<ctrl+o>");
    has(&mut screen, &["echo line-12\n", "echo line-30\n"]);
    assert!(!shown(&mut screen).contains("hidden"));
    // The same for a user command.
    let mut screen = Screen::new();
    let command: String = script.trim_end().into();
    let start = AgentEvent::Shell(ShellEvent::BashStart {
        id: Some("user-3".into()),
        command: command.clone(),
        exclude_from_context: false,
        size: None,
        without_sandbox: false,
    });
    screen.agent(start);
    has(&mut screen, &["$ echo line-1 ", "  echo line-7\n  ⋯ 23 hidden lines · ctrl+o to expand\n"]);
    let message = BashExecution {
        command,
        exit_code: Some(3),
        timestamp: screen.at + 4_200,
        ..BashExecution::default()
    };
    screen.agent(ShellEvent::BashEnd { id: Some("user-3".into()), message });
    has(&mut screen, &["4.2s ✗ exit 3\n"]);
    screen.keys("<ctrl+o>");
    has(&mut screen, &["  echo line-30\n"]);
}

#[test]
fn arguments_are_shown_while_they_arrive() {
    let mut screen = Screen::new();
    screen.run();
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::ToolUse)) });
    let start = |screen: &mut Screen, content_index, tool_name: &str| {
        let (id, tool_name) = (format!("c{content_index}"), tool_name.to_owned());
        screen.delta(Delta::ToolCallStart { content_index, id, tool_name });
    };
    let piece = |screen: &mut Screen, content_index, delta: &str| {
        screen.delta(Delta::ToolCallDelta { content_index, delta: delta.into() });
    };
    start(&mut screen, 0, "bash");
    piece(&mut screen, 0, "{\"command\": \"set -e\\ncd /s");
    has(&mut screen, &["○ bash\n│ $ set -e\n│   cd /s\n"]);
    piece(&mut screen, 0, "rv \\u26");
    piece(&mut screen, 0, "11\\necho");
    has(&mut screen, &["│   cd /srv ☑\n│   echo\n"]);
    start(&mut screen, 1, "write");
    let lines: String = (1..=20).map(|n| format!("row {n}\\n")).collect();
    piece(&mut screen, 1, &format!("{{\"path\":\"a.txt\",\"content\":\"{lines}"));
    has(&mut screen, &["○ write\n│ ⋯ 12 hidden lines\n│ row 13\n", "│ row 20\n"]);
}

#[test]
fn stops_and_skips_are_neutral_and_failures_are_said_to_people() {
    let mut screen = Screen::new();
    screen.run();
    let calls = [
        ("a", "bash", json!({"command": "sleep 60"})),
        ("b", "edit", json!({"path": "src/a.rs", "old_string": "x", "new_string": "y"})),
        ("c", "read", json!({"path": "notes.md"})),
        ("d", "write", json!({"path": "b.txt", "content": "one\ntwo\n"})),
        ("e", "bash", json!({"command": "true"})),
    ];
    asks(&mut screen, &calls);
    for (id, name, args) in calls.iter().take(4) {
        starts(&mut screen, id, name, args);
    }
    let stopped = TerminalOutput { text: "so far\n".into(), signal: Some(15), ..TerminalOutput::default() };
    let stopped = ToolOutput::new("so far\naborted by the user after 4.1 s", Details::Terminal(stopped));
    ends(&mut screen, "a", stopped, true, Some(4_100));
    let words = |text: &str| ToolOutput::new(text, Details::None);
    ends(&mut screen, "b", words("skipped: not run, because the user sent a message"), true, None);
    ends(
        &mut screen,
        "c",
        words("notes.md does not exist; list the directory with bash and ls"),
        true,
        Some(2),
    );
    ends(&mut screen, "d", words("cannot write b.txt: permission denied"), true, Some(2));
    let expected = [
        "■ bash  sleep 60                                              stopped after 4.1s\n│ so far\n",
        "– edit  src/a.rs skipped: you sent a message\n",
        "✗ read  notes.md\n└ File not found: notes.md\n",
        "✗ write  b.txt\n└ Cannot write b.txt: permission denied\n",
        "○ bash  true                                                              queued\n",
    ];
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = flat(&shown(&mut screen));
    expected.iter().for_each(|words| assert!(all.contains(&flat(words)), "{words} in\n{all}"));
    for gone in ["signal", "list the directory", "because"] {
        assert!(!all.contains(gone), "{gone}: {all}");
    }
    frames(&mut screen, "ends");
    screen.send(Msg::Resized(Size { width: 80, height: 40 }));
    screen.keys("<ctrl+o>");
    has(
        &mut screen,
        &[
            "│ notes.md does not exist; list the directory with bash and ls\n",
            "│ content:\n│   one\n│   two\n",
        ],
    );
}

#[test]
fn calls_that_look_share_a_row_until_they_are_wanted() {
    let mut screen = Screen::new();
    screen.user("look");
    screen.run();
    let read = |path: &str| ("read", json!({"path": path}));
    let looks = [
        read("src/parser.rs"),
        read("src/lexer.rs"),
        ("ls", json!({"path": "src"})),
        read("missing.rs"),
        read("a.rs"),
        read("b.rs"),
    ];
    let ids: Vec<String> = (0..looks.len()).map(|n| format!("c{n}")).collect();
    let calls: Vec<_> =
        ids.iter().zip(&looks).map(|(id, (name, args))| (&**id, *name, args.clone())).collect();
    asks(&mut screen, &calls);
    has(&mut screen, &["○ read  parser.rs, lexer.rs · ls  src · read  missing.rs, a.rs, b.rs"]);
    for (id, (name, args)) in ids.iter().zip(&looks) {
        starts(&mut screen, id, name, args);
        match id.as_str() {
            "c3" => {
                let text = "missing.rs does not exist; did you mean lexer.rs?";
                ends(&mut screen, id, ToolOutput::new(text, Details::None), true, Some(1));
            }
            id => {
                ends(
                    &mut screen,
                    id,
                    ToolOutput::new(format!("text of {id}"), Details::None),
                    false,
                    Some(1),
                );
            }
        }
    }
    let folded = "● read  src/parser.rs, src/lexer.rs · ls  src\n\n✗ read  missing.rs\n└ File not found: missing.rs\n\n● read  a.rs, b.rs\n";
    has(&mut screen, &[folded]);
    assert!(!shown(&mut screen).contains("text of"));
    frames(&mut screen, "group");
    // A click opens all calls of a row, another click on any of them closes them again.
    let row = shown(&mut screen).lines().position(|line| line.starts_with("● read  src")).unwrap() as u16;
    click(&mut screen, row);
    has(&mut screen, &["│ text of c0", "│ text of c1", "● ls  src\n│ text of c2", "● read  a.rs, b.rs\n"]);
    let row = shown(&mut screen).lines().position(|line| line.starts_with("● ls")).unwrap() as u16;
    click(&mut screen, row);
    has(&mut screen, &[folded]);
    screen.keys("<ctrl+o>");
    has(&mut screen, &["│ text of c2", "│ text of c5"]);
    screen.keys("<ctrl+o>");
    has(&mut screen, &[folded]);
}

pub fn click(screen: &mut Screen, row: u16) {
    for kind in [MouseKind::Down(MouseButton::Left), MouseKind::Up(MouseButton::Left)] {
        let mouse = Mouse { kind, column: 4, row, mods: tau::app::key::Mods::NONE };
        screen.send(Msg::Mouse(mouse));
    }
}

#[test]
fn calls_that_run_side_by_side_are_counted_by_name() {
    let mut screen = Screen::new();
    screen.user("go");
    screen.run();
    let (command, path) = (json!({"command": "sleep 9"}), json!({"path": "a.txt"}));
    let calls = [("one", "bash", command.clone()), ("two", "read", path), ("three", "bash", command)];
    asks(&mut screen, &calls);
    calls.iter().for_each(|(id, name, arguments)| starts(&mut screen, id, name, arguments));
    has(&mut screen, &["running bash ×2, read "]);
}

#[test]
fn many_names_are_counted_where_they_do_not_fit() {
    let mut screen = Screen::new();
    screen.run();
    let paths: Vec<String> = (0..30).map(|n| format!("/a/long/way/to/file-{n}.rs")).collect();
    let ids: Vec<String> = (0..30).map(|n| n.to_string()).collect();
    let args: Vec<Value> = paths.iter().map(|path| json!({"path": path})).collect();
    let calls: Vec<_> = ids.iter().zip(&args).map(|(id, args)| (&**id, "read", args.clone())).collect();
    asks(&mut screen, &calls);
    has(&mut screen, &["○ read  file-0.rs, file-1.rs, file-2.rs, file-3.rs, file-4.rs, +25 more"]);
}

#[test]
fn a_summary_is_for_people() {
    let mut screen = Screen::new();
    let summary = "It works.\n\n<files>\nread:\n- a.rs\nmodified:\n- b.rs\n</files>";
    let message = Message::CompactionSummary(tau::agent::protocol::message::CompactionSummary {
        summary: summary.into(),
        tokens_before: 1,
        timestamp: 0,
    });
    let (session, titles) = Default::default();
    screen.agent(SessionEvent::SessionOpened { session, messages: vec![Arc::new(message)], titles });
    screen.keys("<ctrl+o>");
    has(&mut screen, &["It works.\n", "Files\n\n  Read:\n\n  • a.rs\n\n  Modified:\n\n  • b.rs\n"]);
    assert!(!shown(&mut screen).contains("files>"));
}

/// The real program, with a model that sends a script piece by piece.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_readable_in_a_terminal_while_it_arrives_and_after() {
    let piece = |arguments: &str, first: bool| {
        let id = if first { ",\"id\":\"c1\"" } else { "" };
        let name = if first { "\"name\":\"bash\"," } else { "" };
        let arguments = serde_json::to_string(arguments).unwrap();
        format!(
            "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0{id},\"function\":{{{name}\"arguments\":{arguments}}}}}]}}}}]}}\n\n"
        )
    };
    let script: String = (1..=12).map(|n| format!("echo step-{n}\\n")).collect();
    let head = piece("{\"command\":\"set -e\\necho half", true);
    let rest = piece("-way\\n", false) + &piece(&format!("{script}\"}}"), false);
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let acts = vec![Act::Stall(stream(&head))];
    let server = Server::start(acts).await;
    let args = own_model(&server.url()).map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let screen = Terminal::start(&args, 80, 24);
    screen.wait_for("ask for something");
    screen.type_keys("go\r");
    screen.wait_until("the command so far", |cells| {
        cells.contents().contains("$ set -e") && cells.contents().contains("echo half")
    });
    let done = "data: {\"choices\":[{\"delta\":{\"content\":\"Finished.\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":30}}\n\ndata: [DONE]\n\n";
    let acts = vec![Act::Send(stream(&(head + &rest + end))), Act::Send(stream(done))];
    let server = Server::start(acts).await;
    let args = own_model(&server.url()).map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let screen = Terminal::start(&args, 80, 40);
    screen.wait_for("ask for something");
    screen.type_keys("go\r");
    screen.wait_for("Finished.");
    // The provider has not reported what the first answer used.
    screen.wait_for("~↑2.5k ↓84");
    let shown = screen.text();
    for words in ["$ set -e", "echo half-way", "echo step-5", "⋯ 7 hidden lines", "\n│ step-12"] {
        assert!(shown.contains(words), "no {words:?} in\n{shown}");
    }
    assert!(!shown.contains("echo step-6") && shown.contains("⋯ 6 hidden lines"), "{shown}");
    screen.type_keys("\x0f");
    screen.wait_until("everything", |cells| {
        let shown = cells.contents();
        let first = shown.lines().any(|line| line.trim_end() == "│ step-1");
        first && shown.contains("echo step-12") && !shown.contains("hidden")
    });
    // A user command: the same, as typed.
    screen.type_keys("\x0f!for n in 1 2; do\x0aecho $n-user\x0adone\r");
    screen.wait_for("2-user");
    screen.wait_for("$ for n in 1 2; do");
}

#[test]
fn prose_is_not_wider_than_set_but_code_and_tables_are() {
    let words = "word ".repeat(60);
    let wide = "x".repeat(150);
    let text = format!("{words}\n\n- {words}\n\n```\n{wide}\n```\n\n| {wide} |\n|---|\n| b |\n");
    let widest = |prose_width: u16| {
        let text_layout = TextLayout { prose_width, ..TextLayout::default() };
        let mut screen = Screen::boot(Boot {
            settings: ScreenSettings { text_layout, ..ScreenSettings::default() },
            ..crate::harness::boot()
        });
        screen.send(Msg::Resized(Size { width: 180, height: 40 }));
        screen.answer(&text, 50);
        let shown = shown(&mut screen);
        assert_eq!(shown.matches(&wide).count(), 2, "code and tables have the whole width:\n{shown}");
        shown.lines().filter(|line| line.contains("word")).map(|line| line.chars().count()).max()
    };
    assert_eq!((widest(100), widest(60), widest(0)), (Some(101), Some(61), Some(178)));
}

#[test]
fn a_link_that_streams_in_does_not_jump() {
    let mut screen = Screen::new();
    screen.agent(TurnEvent::MessageStart { message: Arc::new(assistant(vec![], StopReason::Stop)) });
    screen.delta(Delta::TextStart { content_index: 0 });
    let mut last = 0;
    for piece in "See the [Python docs](https://docs.python.org/3/) for more.".chars() {
        screen.delta(Delta::TextDelta { content_index: 0, delta: piece.into() });
        let shown = shown(&mut screen);
        let Some(line) = shown.lines().find(|line| line.starts_with("  See")) else { continue };
        assert!(!line.contains(['[', ']']), "{line}");
        assert!(line.len() >= last, "{line} is shorter than before");
        last = line.len();
    }
    has(&mut screen, &["  See the Python docs (https://docs.python.org/3/) for more.\n"]);
}

pub fn edited(screen: &mut Screen) {
    let lines = [
        " fn total(list: &[u32]) -> u32 {",
        "-    let mut sum = 0;",
        "-    for n in list { sum += n; }",
        "-    sum",
        "+    list.iter().sum()",
        " }",
        "+",
        "+fn mean(list: &[u32]) -> u32 { total(list) / list.len() as u32 }",
    ];
    let hunk = Hunk { old_start: 9, new_start: 9, lines: lines.map(String::from).to_vec() };
    let diff =
        FileDiff { path: "src/a.rs".into(), added: 3, removed: 3, hunks: vec![hunk], ..FileDiff::default() };
    let args = json!({"path": "src/a.rs"});
    screen.run();
    asks(screen, &[("e", "edit", args.clone())]);
    starts(screen, "e", "edit", &args);
    ends(screen, "e", ToolOutput::new("Replaced 1 occurrence", Details::Diff(diff)), false, Some(3));
}

#[test]
fn diffs_are_side_by_side_where_there_is_room_or_when_asked_for() {
    let mut screen = Screen::new();
    edited(&mut screen);
    frame(&mut screen, "diff-split", 140, 24);
    let split = shown(&mut screen);
    let row = split.lines().find(|line| line.contains("let mut sum")).unwrap();
    assert!(row.contains("list.iter().sum()"), "{split}");
    screen.keys("<alt+s>");
    let unified = shown(&mut screen);
    let row = unified.lines().find(|line| line.contains("let mut sum")).unwrap();
    assert!(!row.contains("list.iter().sum()"), "{unified}");
    screen.send(Msg::Resized(Size { width: 80, height: 24 }));
    screen.keys("<alt+s>");
    frame(&mut screen, "diff-split", 80, 24);
    assert!(
        shown(&mut screen).lines().any(|line| line.contains("let mut sum") && line.contains("list.iter()"))
    );
    // If two columns do not fit, it stays unchanged.
    screen.send(Msg::Resized(Size { width: 40, height: 24 }));
    let narrow = shown(&mut screen);
    assert!(narrow.lines().all(|line| !(line.contains("let mut") && line.contains("list.iter"))), "{narrow}");
}

#[test]
fn a_changed_word_has_the_foreground_of_the_mark() {
    let mut screen = Screen::new();
    let lines = ["-let total = 1;", "+let total = 2;"].map(String::from).to_vec();
    let hunk = Hunk { old_start: 1, new_start: 1, lines };
    let diff =
        FileDiff { path: "a.rs".into(), added: 1, removed: 1, hunks: vec![hunk], ..FileDiff::default() };
    screen.run();
    starts(&mut screen, "e", "edit", &json!({"path": "a.rs"}));
    ends(&mut screen, "e", ToolOutput::new("Replaced", Details::Diff(diff)), false, Some(3));
    let buffer = screen.draw();
    let theme = Theme::builtin("dark").unwrap();
    for (word, token) in [("1", ThemeToken::DiffRemovedWord), ("2", ThemeToken::DiffAddedWord)] {
        let style = theme.style(token);
        let marked = buffer.content().iter().find(|cell| cell.symbol() == word && Some(cell.bg) == style.bg);
        assert_eq!(marked.map(|cell| Some(cell.fg)), Some(style.fg), "{word}");
    }
}

/// The key and the setting, in the real program.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_turns_diffs_and_prose_has_a_width_in_a_terminal() {
    let edit = json!({"path": "a.txt", "old_string": "stale line", "new_string": "fresh line"});
    let arguments = serde_json::to_string(&edit.to_string()).unwrap();
    let call = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"c1\",\"function\":{{\"name\":\"edit\",\"arguments\":{arguments}}}}}]}}}}]}}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let words = "word ".repeat(60) + "Finished.";
    let done = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\ndata: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let server = Server::start(vec![Act::Send(stream(&call)), Act::Send(stream(&done))]).await;
    let url = server.url();
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; echo 'stale line' > a.txt; echo 'prose_width = 60' > \"$TAU_HOME/config.toml\"; \
         exec \"$TAU_BIN\" --base-url {url} --api-key x --model m"
    );
    let screen = Terminal::program(std::path::Path::new("/bin/sh"), &["-c", &script], 160, 40);
    screen.wait_for("ask for something");
    screen.type_keys("go\r");
    screen.wait_for("Finished.");
    let shown = screen.text();
    let widest = shown.lines().filter(|line| line.contains("word")).map(|line| line.trim_end().len()).max();
    assert!(widest.is_some_and(|widest| (50..=62).contains(&widest)), "{widest:?} in\n{shown}");
    // At 160 columns the new line is on the right.
    let column = |cells: &vt100::Screen| {
        let text = cells.contents();
        text.lines().find_map(|line| line.find("fresh line"))
    };
    screen.wait_until("two columns", |cells| column(cells).is_some_and(|at| at > 80));
    screen.type_keys("\x1bs");
    screen.wait_until("one column", |cells| column(cells).is_some_and(|at| at < 40));
    screen.type_keys("\x1bs");
    screen.wait_until("two columns", |cells| column(cells).is_some_and(|at| at > 80));
}

/// A failed command shows the lines that say what failed, with blank ones squeezed; also in a session that
/// is opened again.
#[test]
fn a_failed_command_shows_what_failed() {
    let test = "FAIL: test_add (t.T)\n-----\nTraceback (most recent call last):\n  File \"t.py\", line 7, in test_add\n    \
        self.assertEqual(add(1, 2), 4)\nAssertionError: 3 != 4\n\n\n\n=====\n";
    let text = format!(".FFF\n=====\n{}\n\nRan 4 tests in 0.001s\n\nFAILED (failures=3)\n", test.repeat(3));
    let command = json!({"command": "python3 -m unittest"});
    let words =
        ["AssertionError: 3 != 4", "FAIL: test_add (t.T)", "Ran 4 tests", "FAILED (failures=3)", "✗ exit 1"];
    let mut live = Screen::new();
    live.user("go");
    live.run();
    asks(&mut live, &[("a", "bash", command.clone())]);
    starts(&mut live, "a", "bash", &command);
    ends(&mut live, "a", output(&text, 1), true, None);
    live.fold(Msg::Resized(Size { width: 80, height: 40 }));
    has(&mut live, &words);
    let rows = |screen: &mut Screen| -> Vec<String> {
        let bars = |row: &&str| row.trim_start().starts_with('│');
        shown(screen).lines().filter(bars).map(str::to_owned).collect()
    };
    let shown_rows = rows(&mut live);
    assert!(shown_rows.len() >= 15, "{shown_rows:#?}");
    assert!(!shown_rows.windows(2).any(|pair| pair.iter().all(|row| row.trim() == "│")), "{shown_rows:#?}");
    // A session that is opened again.
    let (session, titles) = Default::default();
    let result = ToolResultMessage {
        tool_call_id: "a".into(),
        tool_name: "bash".into(),
        content: output(&text, 1).content,
        details: output(&text, 1).details,
        is_error: true,
        timestamp: 0,
        duration_ms: None,
        hooks: Vec::new(),
    };
    let asked = assistant(vec![Block::ToolCall(call("a", "bash", command.clone()))], StopReason::ToolUse);
    let messages = vec![Arc::new(asked), Arc::new(Message::ToolResult(result))];
    let mut opened = Screen::new();
    opened.agent(SessionEvent::SessionOpened { session, messages, titles });
    opened.fold(Msg::Resized(Size { width: 80, height: 40 }));
    assert_eq!(rows(&mut opened), shown_rows);
    // A few more lines than are shown anyway are not hidden.
    let mut few = Screen::new();
    few.run();
    asks(&mut few, &[("a", "bash", command.clone()), ("b", "bash", command.clone())]);
    for (id, code, count) in [("a", 0, 11), ("b", 1, 19)] {
        starts(&mut few, id, "bash", &command);
        let lines: String = (0..count).map(|number| format!("{id} line {number}\n")).collect();
        ends(&mut few, id, output(&lines, code), code != 0, None);
    }
    few.fold(Msg::Resized(Size { width: 80, height: 60 }));
    has(&mut few, &["a line 0", "a line 10", "b line 0", "b line 18"]);
    assert!(!shown(&mut few).contains("hidden"), "{}", shown(&mut few));
}
