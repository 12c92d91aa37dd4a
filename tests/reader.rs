//! tau for a screen reader: lines spoken once, in order, without decoration, and the cursor where the next
//! key takes effect.

use std::path::Path;

use crate::screen::{Screen, check_order};

const FAST: &str = "export TAU_DEMO_SPEED=max";

/// Starts tau after a shell script, and waits for its prompt.
fn started(script: &str, args: &str) -> Screen {
    let script =
        format!("{script}\necho shell one\n\"$TAU_BIN\" --screen-reader {args}\necho \"exit=$?\"; cat");
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_until("the first line", |cells| cells.contents().contains("tau 0.1.0"));
    prompt(&screen, "> ");
    screen
}

/// Waits until the cursor is at the end of a row with this text.
fn prompt(screen: &Screen, text: &str) {
    screen.wait_until(&format!("the cursor behind {text:?}"), |cells| {
        let (row, column) = cells.cursor_position();
        let line = cells.rows(0, cells.size().1.get()).nth(row.into()).unwrap_or_default();
        let before: String = line.chars().take(column.into()).collect();
        !cells.hide_cursor() && before.trim_end() == text.trim_end()
    });
}

/// The spoken rows: all above the prompt.
fn said(screen: &Screen) -> Vec<String> {
    let mut rows = screen.rows();
    while rows.last().is_some_and(|row| row.is_empty() || row.starts_with('>')) {
        rows.pop();
    }
    rows
}

/// Checks that nothing is decoration, and nothing moves.
#[track_caller]
fn check_plain(screen: &Screen) {
    let drawn = |c: char| matches!(c, '\u{2500}'..='\u{25ff}' | '\u{2800}'..='\u{28ff}' | '✗' | '✻' | 'τ');
    for row in screen.rows() {
        assert!(!row.contains(drawn), "{row:?}");
    }
    let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
    assert!(!bytes.contains(drawn) && !bytes.contains("?1049h"), "{}", bytes.escape_debug());
}

#[test]
fn a_conversation_is_said_in_lines() {
    let screen = started(FAST, "");
    screen.type_keys("hello\r");
    screen.wait_for("Done: ");
    prompt(&screen, "> ");
    screen.type_keys("table\r");
    screen.wait_until("the end", |cells| cells.contents().contains("and one below it"));
    prompt(&screen, "> ");
    check_order(
        &said(&screen),
        &[
            "shell one",
            "tau 0.1.0",
            "You: hello",
            "Thinking: The script begins here.",
            "Hello from the demo",
            "I am not an AI.",
            "!!ls, the same, but the model never sees it",
            "Code, rust:",
            "println!(\"this answer is {}\", words.join(\", \"));",
            "End of code.",
            "First, what is here:",
            "write: tau-demo.md, +7 −0",
            "edit: tau-demo.md, +2 −1",
            "You: table",
            "Assistant: A table, from the script:",
            "level, example, tokens, price",
        ],
    );
    check_plain(&screen);
    let all = screen.rows().join("\n");
    assert!(all.contains("bash: ls -p"), "{all}");
}

#[test]
fn text_that_streams_in_is_said_by_the_sentence() {
    let screen = started("", "");
    screen.type_keys("slow\r");
    screen.wait_for("Assistant: This answer is slow on purpose.");
    screen.screen(|cells| assert!(!cells.contents().contains("Done"), "only when it was over"));
    check_plain(&screen);
    screen.type_keys("\x1b");
    screen.wait_for("Notice: stopped");
    let said = said(&screen);
    check_order(&said, &["You: slow", "This answer is slow on purpose.", "Notice: stopped"]);
    // The run may begin before the prompt has come back from the agent.
    check_order(&said, &["working", "This answer is slow on purpose."]);
}

#[test]
fn lists_are_numbered_and_the_selected_row_is_said() {
    let screen = started(FAST, "");
    screen.type_keys("/theme\r");
    screen.wait_for("1. auto");
    screen.wait_for("2. dark");
    prompt(&screen, "Themes, type to filter:");
    screen.type_keys("\x1b[B");
    screen.wait_for("2 of ");
    screen.type_keys("high");
    prompt(&screen, "Themes, type to filter: high");
    screen.wait_for("1. high-contrast");
    screen.type_keys("\x1b");
    prompt(&screen, "> ");
    check_plain(&screen);
}

#[test]
fn dialogs_remarks_and_completions_are_said() {
    let screen = started(FAST, "");
    screen.type_keys("\x1bOP");
    prompt(&screen, "Keys and commands:");
    screen.type_keys("\x1b");
    prompt(&screen, "> ");
    screen.type_keys("\x1b[5~");
    screen.wait_for("scroll and search with your terminal");
    prompt(&screen, "> ");
    screen.type_keys("/the");
    screen.wait_for("1 of ");
    screen.wait_for("/theme");
    prompt(&screen, "> /the");
    screen.type_keys("\x15");
    screen.type_keys("!seq 3; exit 4\r");
    screen.wait_for("Command: ");
    screen.wait_for("exit 4");
    prompt(&screen, "> ");
    check_plain(&screen);
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
    assert!(screen.settings_are_as_before());
}

#[test]
fn questions_are_said_with_the_answer_that_is_selected() {
    let script = format!("{FAST}\nmkdir -p .tau; echo 'theme = \"light\"' >.tau/config.toml");
    let script = format!("{script}\n\"$TAU_BIN\" --screen-reader\necho \"exit=$?\"; cat");
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_for("selected: ");
    let before = screen.rows().iter().filter(|row| row.contains("selected: ")).count();
    screen.type_keys("\x1b[B");
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || screen.rows().iter().filter(|row| row.contains("selected: ")).count() != before,
        || screen.rows().join("\n"),
    );
    check_plain(&screen);
    screen.type_keys("\x1b");
    prompt(&screen, "> ");
}
