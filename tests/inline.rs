//! tau on the shell's screen: finished rows go to the terminal's scrollback, once and in order, and nothing
//! that was there is lost.

mod lists;

use std::sync::Arc;

use rustix::process::Signal;
use serde_json::json;
use tau::agent::AgentEvent;
use tau::agent::protocol::event::{
    Delta, Question, QuestionEvent, RunEvent, SessionEvent, SessionInfo, TurnEvent,
};
use tau::agent::protocol::message::{Block, StopReason, Usage};
use tau::app::boot::Boot;
use tau::app::geometry::{ScreenKind, Size};
use tau::app::{Msg, update};
use tau::tools::{Details, TerminalOutput, ToolOutput};

use crate::harness::{Screen, assistant, boot, call, golden, memo, root, text, user};
use crate::screen::{Screen as Terminal, check_order};

const FAST: &str = "export TAU_DEMO_SPEED=max";

/// Waits until the run is over: the line with its cost appears this many times.
fn wait_for_runs(terminal: &Terminal, count: usize) {
    wait_for_rows(terminal, "the end of the run", count, |row| row.contains("↑") && row.starts_with("  "));
}

/// Waits for this many rows of a kind, on the screen or above it.
fn wait_for_rows(terminal: &Terminal, what: &str, count: usize, is_one: impl Fn(&str) -> bool) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || terminal.rows().iter().filter(|row| is_one(row.trim_end())).count() >= count,
        || format!("no {what}:\n{}", terminal.rows().join("\n")),
    );
}

const TOUR: [&str; 12] = [
    "shell one", "shell two", "τ tau", "▌ hello", "Hello from the demo", "!!ls", "╭─ rust",
    "First, what is here", "I'll write a new file", "Now I'll change a line", "That was the tour", "▌ table",
];

#[test]
fn what_is_finished_is_in_the_scrollback_once_and_in_order() {
    for (columns, rows) in [(80, 24), (120, 40), (40, 12)] {
        let terminal = Terminal::inline(FAST, "", columns, rows);
        terminal.type_keys("hello\r");
        wait_for_runs(&terminal, 1);
        terminal.type_keys("table\r");
        wait_for_runs(&terminal, 2);
        let all = terminal.rows();
        check_order(&all, &TOUR);
        check_order(&all, &["▌ table", "A table, from the script", "and one below it", "ask for something"]);
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        for never in ["?1049h", "?1000h", "\x1b[2J", "\x1b[H", "\x1b[3J"] {
            assert!(!bytes.contains(never), "{never} is sent");
        }
    }
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    let check = |terminal: &Terminal, exit: &str| {
        terminal.wait_for(exit);
        let rows = terminal.rows();
        check_order(
            &rows,
            &["shell one", "▌ table", "and one below it", "to continue: tau --continue", exit],
        );
        assert!(!rows.iter().any(|row| row.contains("ask for something")), "{}", rows.join("\n"));
        assert!(terminal.settings_are_as_before());
        terminal.screen(|cells| assert!(!cells.hide_cursor() && !cells.bracketed_paste()));
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        for (on, off) in [("\x1b[?7l", "\x1b[?7h"), ("\x1b[>7u", "\x1b[<1u"), ("\x1b[?1004h", "\x1b[?1004l")]
        {
            assert!(bytes.rfind(on) < bytes.rfind(off), "{off:?} does not follow {on:?}");
        }
    };
    let begun = || {
        let terminal = Terminal::inline(FAST, "", 80, 24);
        terminal.type_keys("table\r");
        wait_for_runs(&terminal, 1);
        terminal
    };
    let terminal = begun();
    terminal.type_keys("\x04");
    check(&terminal, "exit=0");
    let terminal = begun();
    let pid = std::process::Command::new("pgrep")
        .args(["-P", &terminal.pid().as_raw_nonzero().to_string()])
        .output();
    let pid: i32 = String::from_utf8(pid.unwrap().stdout).unwrap().trim().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    check(&terminal, "exit=143");
}

#[test]
fn what_was_still_arriving_is_printed_before_the_end() {
    let terminal = Terminal::inline("", "", 80, 24);
    terminal.type_keys("slow\r");
    terminal.wait_for("answering 1.");
    // Stops, and leaves.
    terminal.type_keys("\x03\x03");
    terminal.wait_for("press ctrl+c again to quit");
    terminal.type_keys("\x03");
    terminal.wait_for("exit=0");
    check_order(&terminal.rows(), &["▌ slow", "This answer is slow", "stopped", "to continue", "exit=0"]);
}

#[test]
fn it_can_be_suspended_and_brought_back() {
    let script = "set -m; echo shell one; \"$TAU_BIN\" --inline; echo suspended; read answer; fg; echo \"exit=$?\"; cat";
    let terminal = Terminal::program(std::path::Path::new("/bin/bash"), &["-c", script], 80, 24);
    terminal.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    terminal.type_keys("kept");
    terminal.wait_for_composer("kept");
    terminal.type_keys("\x1a");
    terminal.wait_for("suspended");
    assert!(terminal.settings_are_as_before());
    let rows = terminal.rows();
    assert!(!rows.iter().any(|row| row.contains("kept")), "{}", rows.join("\n"));
    terminal.type_keys("\n");
    terminal.wait_for_composer("kept");
    check_order(&terminal.rows(), &["shell one", "suspended", "> kept"]);
    terminal.type_keys("\x03\x04");
    terminal.wait_for("exit=0");
}

#[test]
fn a_crash_leaves_what_is_shown_and_reports_below_it() {
    let this = std::env::current_exe().unwrap();
    let args = ["--exact", "inline::child_that_panics", "--ignored", "--nocapture"];
    let mut terminal = Terminal::program(&this, &args, 80, 24);
    assert_eq!(terminal.wait_exit().code(), Some(101));
    terminal.wait_for("the answer was 41");
    check_order(
        &terminal.rows(),
        &["first row", "second row", "third row", "tau crashed: the answer was 41"],
    );
}

/// Not a test: the program that the test above runs in a terminal.
#[test]
#[ignore = "run by a_crash_leaves_what_is_shown_and_reports_below_it"]
fn child_that_panics() {
    use tau::cli::tui::terminal::{FrameProperties, MouseCapture, Tty};
    let Some(home) = std::env::var_os("TAU_HOME") else { return };
    tau::cli::process::crash::install(home.into());
    let mut tty = Tty::enter(ScreenKind::Inline, MouseCapture::Off).unwrap();
    tty.draw(|frame| {
        frame.resize(ratatui::layout::Rect { height: 3, ..frame.area() });
        for (y, row) in ["first row", "second row", "third row"].into_iter().enumerate() {
            frame.buffer().set_string(0, y as u16, row, ratatui::style::Style::new());
        }
        FrameProperties { cursor: Some((0, 1)), finished: 0, floats: false }
    })
    .unwrap();
    let _ = std::thread::spawn(|| panic!("the answer was {}", 41)).join();
    std::process::exit(tau::cli::process::crash::or_crash(tau::cli::process::exit::Exit::Ok).code().into());
}

#[test]
fn the_region_follows_the_window_and_loses_nothing() {
    let terminal = Terminal::inline(FAST, "", 80, 24);
    terminal.type_keys("table\r");
    wait_for_runs(&terminal, 1);
    terminal.type_keys("draft");
    for (columns, rows) in [(60, 20), (100, 30), (40, 12), (120, 40), (80, 24)] {
        terminal.resize(columns, rows);
        terminal.wait_until("the composer in the new width", |cells| {
            let rows: Vec<String> = cells.rows(0, columns).collect();
            let rules = rows.iter().filter(|row| **row == "─".repeat(columns.into())).count();
            rules == 2 && rows.iter().filter(|row| row.starts_with("> draft")).count() == 1
        });
        // Until it has answered a key, it may draw for this size once more, and into the next one: this
        // terminal would wrap that, because it does not know the mode that cuts rows.
        terminal.type_keys("x");
        terminal.wait_for_composer("draftx");
        terminal.type_keys("\x7f");
        terminal.wait_for_composer("draft");
    }
    check_order(
        &terminal.rows(),
        &["shell one", "shell two", "▌ table", "A table, from", "and one below it", "> draft"],
    );
    terminal.type_keys("\x03\x04");
    terminal.wait_for("exit=0");
    terminal.wait_for("to continue");
}

#[test]
fn dialogs_are_in_the_region_and_leave_no_trace() {
    for (columns, rows) in [(80, 24), (40, 12)] {
        let terminal = Terminal::inline(FAST, "", columns, rows);
        terminal.type_keys("table\r");
        wait_for_runs(&terminal, 1);
        for (open, shown) in
            [("\x1bOP", "Keys and commands"), ("/theme\r", "light"), ("/tree\r", "Session tree")]
        {
            terminal.type_keys(open);
            terminal.wait_for(shown);
            terminal.type_keys("\x1b");
            // If the next key followed at once, Esc would be Alt.
            std::thread::sleep(std::time::Duration::from_millis(200));
            terminal.wait_until("the composer again", |cells| {
                let text = cells.contents();
                text.contains("ask for something") && !text.contains("esc closes") && !text.contains('└')
            });
        }
        let all = terminal.rows();
        check_order(
            &all,
            &["shell one", "shell two", "τ tau", "▌ table", "A table, from", "and one below it", "> ask for"],
        );
        assert!(
            !all.iter().any(|row| row.contains("Session tree") || row.contains('┐')),
            "{}",
            all.join("\n")
        );
    }
}

#[test]
fn keys_that_move_in_the_transcript_say_whose_business_that_is() {
    let terminal = Terminal::inline(FAST, "", 80, 24);
    for key in ["\x1b[5~", "\x06", "\x1b[1;5H", "\x1b[1;5A"] {
        terminal.type_keys(key);
        terminal.wait_for("with your terminal");
        terminal.type_keys("x");
        terminal.wait_for_composer("x");
        terminal.wait_until("no remark", |cells| !cells.contents().contains("with your terminal"));
        terminal.type_keys("\x7f");
    }
}

#[test]
fn unfolding_prints_what_came_since_the_last_prompt_again() {
    let terminal = Terminal::inline(FAST, "", 80, 24);
    terminal.type_keys("!seq 40\r");
    wait_for_rows(&terminal, "the end of the command", 1, |row| {
        row.starts_with("$ seq 40") && row.ends_with('✓')
    });
    terminal.type_keys("table\r");
    wait_for_runs(&terminal, 1);
    terminal.type_keys("\x0f");
    wait_for_runs(&terminal, 2);
    terminal.wait_for("shown in full from here on");
    let rows = terminal.rows();
    let prompts = rows.iter().filter(|row| row.contains("▌ table")).count();
    assert_eq!(prompts, 2, "{}", rows.join("\n"));
    terminal.type_keys("\x0f");
    terminal.wait_for("folded from here on");
    let rows = terminal.rows();
    let prompts = rows.iter().filter(|row| row.contains("▌ table")).count();
    assert_eq!(prompts, 2, "{}", rows.join("\n"));
}

#[test]
fn commands_and_the_editor_get_the_keyboard() {
    let terminal = Terminal::inline(
        &format!("{FAST}\nexport EDITOR=./ed\nprintf '#!/bin/sh\\necho edited >$1\\n' >ed; chmod +x ed"),
        "",
        80,
        24,
    );
    terminal.type_keys("!echo ready; read x; echo got $x\r");
    // What is typed says `ready` as well.
    terminal.wait_for("types into it");
    terminal.type_keys("\x1bOQ");
    terminal.wait_for("typing into");
    terminal.type_keys("words\r");
    terminal.wait_for("got words");
    terminal.wait_for("ask for something");
    terminal.type_keys("\x07");
    terminal.wait_for_composer("edited");
    check_order(&terminal.rows(), &["shell one", "τ tau", "got words", "> edited"]);
}

#[test]
fn a_session_that_is_continued_is_printed_from_its_last_messages_on() {
    let script = format!(
        "{FAST}\nfor n in 1 2 3 4 5 6 7 8 9 10 11 12; do \"$TAU_BIN\" -p --session-id one --model demo/demo \"table $n\" \
         >answer || exit; done"
    );
    let terminal = Terminal::inline(&script, "--session one", 80, 24);
    terminal.wait_until("the last message", |cells| {
        let text = cells.contents();
        text.contains("▌ table 12") && text.contains("and one below it") && text.contains("ask for something")
    });
    let rows = terminal.rows();
    check_order(
        &rows,
        &["shell one", "shell two", "earlier messages", "▌ table 11", "▌ table 12", "ask for"],
    );
    assert!(
        !rows.iter().any(|row| row.contains("▌ table 1") && row.trim_end().ends_with(" 1")),
        "{}",
        rows.join("\n")
    );
    assert!(rows.len() < 260, "{} rows", rows.len());
}

/// A screen with an open session.
fn opened(size: Size) -> Screen {
    opened_on(ScreenKind::Inline, size)
}

fn opened_on(kind: ScreenKind, size: Size) -> Screen {
    let mut screen = Screen::boot(Boot { screen: kind, size, ..boot() });
    let session = SessionInfo { id: "one".into(), ..SessionInfo::default() };
    let titles = std::collections::BTreeMap::new();
    screen.fold(Msg::Agent(AgentEvent::Session(SessionEvent::SessionOpened {
        session,
        messages: Vec::new(),
        titles,
    })));
    screen
}

/// Draws frames until nothing more is finished, and folds their results; returns the printed rows, and those
/// of the region.
fn print(screen: &mut Screen, printed: &mut Vec<String>) -> Vec<String> {
    loop {
        let model = screen.model.take().unwrap();
        let Size { width, height } = model.size;
        let mut frame = tau::view::frame::Frame::blank(ratatui::layout::Rect::new(0, 0, width, height));
        let drawing = tau::view::draw(&model, &mut screen.memo, &mut frame);
        let rows: Vec<String> = text(frame.buffer()).lines().map(str::to_owned).collect();
        let (finished, live) = rows.split_at(drawing.finished.into());
        assert!(live.len() <= usize::from(height), "{} rows are live on {height}", live.len());
        printed.extend_from_slice(finished);
        let stamped = tau::app::StampedMsg { at: screen.at, msg: Msg::Laid(drawing.laid) };
        screen.model = Some(update(model, stamped).0);
        if !drawing.more && drawing.finished == 0 {
            return live.to_vec();
        }
    }
}

/// A piece of the message in flight.
fn delta(screen: &mut Screen, delta: Delta) {
    screen.fold(Msg::Agent(AgentEvent::Turn(TurnEvent::MessageUpdate {
        usage: Usage::default(),
        assistant_message_event: delta,
    })));
}

/// A prompt, and an answer that streams in, in pieces of `step` bytes, with a frame after each.
fn stream(screen: &mut Screen, answer: &str, step: usize, printed: &mut Vec<String>) {
    let whole = |content| Arc::new(assistant(content, StopReason::Stop));
    screen.fold(Msg::Agent(AgentEvent::Turn(TurnEvent::MessageStart {
        message: Arc::new(user("a question")),
    })));
    screen.fold(Msg::Agent(AgentEvent::Run(RunEvent::AgentStart)));
    screen.fold(Msg::Agent(AgentEvent::Turn(TurnEvent::MessageStart { message: whole(vec![]) })));
    delta(screen, Delta::TextStart { content_index: 0 });
    let mut rest = answer;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(step.min(rest.len())));
        delta(screen, Delta::TextDelta { content_index: 0, delta: piece.to_owned() });
        rest = after;
        print(screen, printed);
    }
    delta(screen, Delta::TextEnd { content_index: 0, content: answer.to_owned() });
    screen.fold(Msg::Agent(AgentEvent::Turn(TurnEvent::MessageEnd {
        message: whole(vec![Block::text(answer)]),
    })));
    screen.fold(Msg::Agent(AgentEvent::Run(RunEvent::AgentSettled { aborted: false })));
}

/// Law: the printed rows and the final live rows are what a screen of any height would show.
#[test]
fn the_scrollback_is_the_transcript() {
    let answer = std::fs::read_to_string(root().join("tests/golden/answer.md")).unwrap();
    for (width, height) in [(80, 24), (120, 40), (40, 12), (20, 5)] {
        for step in [3, 40, 5_000] {
            let mut screen = opened(Size { width, height });
            let mut printed = Vec::new();
            stream(&mut screen, &answer, step, &mut printed);
            let live = print(&mut screen, &mut printed);
            let tall = Size { width, height: 2_000 };
            let (buffer, _) = crate::harness::draw(screen.model(), &mut memo(), tall);
            let whole: Vec<String> = text(&buffer).lines().map(str::to_owned).collect();
            let end = printed.iter().rposition(|row| !row.is_empty()).unwrap() + 1;
            assert_eq!(printed[..end], whole[..end], "{width}x{height} in pieces of {step}");
            let rest = whole[end..].iter().find(|row| !row.is_empty()).unwrap();
            assert!(rest.starts_with("──"), "not printed: {rest}");
            assert!(live.len() <= 4, "{live:?}");
        }
    }
}

#[test]
fn frames() {
    let mut screen = opened(Size { width: 60, height: 16 });
    let mut printed = Vec::new();
    screen.fold(Msg::Agent(AgentEvent::Turn(TurnEvent::MessageStart {
        message: Arc::new(user("a question")),
    })));
    screen.fold(Msg::Agent(AgentEvent::Run(RunEvent::AgentStart)));
    delta(&mut screen, Delta::TextStart { content_index: 0 });
    let text = "A paragraph that is over.\n\nAnother one that is\nstill being";
    delta(&mut screen, Delta::TextDelta { content_index: 0, delta: text.into() });
    let live = print(&mut screen, &mut printed);
    let mut content = format!("printed:\n{}\nlive:\n{}\n", printed.join("\n"), live.join("\n"));
    for key in "/theme".chars().map(String::from).chain(["enter".to_owned()]) {
        screen.fold(Msg::Key(key.parse().unwrap()));
    }
    let live = print(&mut screen, &mut printed);
    content.push_str(&format!("with a dialog:\n{}\n", live.join("\n")));
    golden("frames/inline-60x16.txt", &content);
}

/// The main scenes on the shell's screen: the printed rows of each, and the rows below them.
fn scenes(kind: ScreenKind) -> String {
    let mut screen = opened_on(kind, Size { width: 80, height: 24 });
    let mut content = String::new();
    let mut scene = |screen: &mut Screen, name: &str| {
        let mut printed = Vec::new();
        let live = print(screen, &mut printed);
        content.push_str(&format!("== {name}\n{}\n-- live\n{}\n", printed.join("\n"), live.join("\n")));
    };
    let agent = |screen: &mut Screen, event: AgentEvent| screen.fold(Msg::Agent(event));
    let keys = |screen: &mut Screen, keys: &[&str]| {
        keys.iter().for_each(|key| screen.fold(Msg::Key(key.parse().unwrap())));
    };
    scene(&mut screen, "welcome");
    agent(
        &mut screen,
        AgentEvent::Turn(TurnEvent::MessageStart { message: Arc::new(user("fix the failing test")) }),
    );
    agent(&mut screen, AgentEvent::Run(RunEvent::AgentStart));
    let empty = Arc::new(assistant(Vec::new(), StopReason::Stop));
    agent(&mut screen, AgentEvent::Turn(TurnEvent::MessageStart { message: empty }));
    delta(&mut screen, Delta::TextStart { content_index: 0 });
    let text = "I look at the **parser** first. It is in `src/parser.rs`.\n\n- one\n- two\n\nThen";
    delta(&mut screen, Delta::TextDelta { content_index: 0, delta: text.into() });
    scene(&mut screen, "streaming");
    let run = call("c1", "bash", json!({"command": "cargo test parser"}));
    let content_of = vec![Block::text(text), Block::ToolCall(run.clone())];
    let message = Arc::new(assistant(content_of, StopReason::ToolUse));
    agent(&mut screen, AgentEvent::Turn(TurnEvent::MessageEnd { message }));
    agent(
        &mut screen,
        AgentEvent::Turn(TurnEvent::ToolExecutionStart {
            tool_call_id: run.id.clone(),
            tool_name: run.name.clone(),
            args: run.arguments.clone(),
        }),
    );
    scene(&mut screen, "a call that runs");
    let failed = TerminalOutput {
        text: "running 3 tests\ntest parser::empty … FAILED\n".into(),
        exit_code: Some(101),
        total_lines: 2,
        ..TerminalOutput::default()
    };
    agent(
        &mut screen,
        AgentEvent::Turn(TurnEvent::ToolExecutionEnd {
            tool_call_id: run.id,
            tool_name: run.name,
            result: ToolOutput::new("exit code 101", Details::Terminal(failed)),
            is_error: true,
            duration_ms: Some(1_234),
            hooks: Vec::new(),
        }),
    );
    scene(&mut screen, "its result");
    let (title, message) = ("Continue?".into(), "The model repeats itself.".into());
    let question = Question::Confirm { title, message };
    agent(&mut screen, AgentEvent::Questions(QuestionEvent::Asked { id: "q".into(), question }));
    scene(&mut screen, "a question");
    keys(&mut screen, &["esc"]);
    agent(&mut screen, AgentEvent::Run(RunEvent::AgentSettled { aborted: false }));
    scene(&mut screen, "the end of the run");
    keys(&mut screen, &["/", "t", "h", "e", "m", "e", "enter"]);
    scene(&mut screen, "a list");
    keys(&mut screen, &["esc"]);
    scene(&mut screen, "after it");
    content
}

#[test]
fn main_scenes() {
    golden("frames/inline-scenes-80x24.txt", &scenes(ScreenKind::Inline));
    golden("frames/reader-scenes-80x24.txt", &scenes(ScreenKind::Reader));
}
