//! Settings with mistakes in them, in the real program: the screen warns and starts, the front ends
//! without one refuse.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::screen::Screen;

const SHELL: &str = "/bin/sh";

/// Starts tau on a screen, with this as its `config.toml`, after these shell commands.
fn start(config: &str, before: &str, flags: &str) -> Screen {
    let script = format!(
        "mkdir -p \"$TAU_HOME/themes\"; printf '%s' '{config}' >\"$TAU_HOME/config.toml\"; {before}\n\
         exec \"$TAU_BIN\" {flags}"
    );
    Screen::program(Path::new(SHELL), &["-c", &script], 120, 30)
}

/// The screen without its line breaks, so that a long path may be wrapped anywhere.
fn flat(cells: &vt100::Screen) -> String {
    cells.contents().lines().map(str::trim).collect::<Vec<_>>().join("").replace(' ', "")
}

#[track_caller]
fn check(screen: &Screen, parts: &[&str]) {
    for part in parts {
        let part = part.replace(' ', "");
        screen.wait_until(&part, |cells| flat(cells).contains(&part));
    }
    screen.type_keys("still here");
    screen.wait_for("still here");
}

#[test]
fn a_line_that_is_not_understood_is_a_warning_and_the_others_apply() {
    let config =
        "# mine\nthinking = \"hgih\"\nhide_thinking = 1\nmodel = \"demo:low\"\nbash_timeout = \"x\"\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:2: unknown value `hgih`; did you mean `high`?",
            "config.toml:3: `hide_thinking` needs true or false, not the number 1",
            "config.toml:5: `bash_timeout` needs a whole number from 0 on, not the text \"x\"",
            "scripted demo (not an AI) · low",
        ],
    );
}

#[test]
fn keys_that_are_not_understood_are_warnings_with_their_lines() {
    let config =
        "thinking = \"low\"\n\n[keys]\nmodels = [\"ctrl+banana\"]\nflurb = [\"f5\"]\ntop = [\"f1\"]\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:5: unknown action \"flurb\"; F1 in tau lists the names",
            "config.toml:4: `ctrl+banana` is not a key",
            "config.toml:6: f1 no longer means \"help\"",
        ],
    );
    screen.type_keys("\x15");
    screen.reload("keys.top = [\"f99\"]\n", "config.toml:1: `f99` is not a key");
}

#[test]
fn a_model_a_tool_or_a_theme_that_is_not_there_is_a_warning() {
    let config = "theme = \"nope\"\nmodel = \"nosuch/model\"\ntools = [\"read\", \"rm\"]\n";
    let screen = start(config, "", "");
    check(
        &screen,
        &[
            "config.toml:1: no theme \"nope\"",
            "config.toml:2: no model matches \"nosuch/model\"",
            "config.toml:3: unknown tool \"rm\"",
            "using auto",
        ],
    );
    let screen = start("", "export TAU_THINKING=hgih", "--theme nope");
    check(&screen, &["--theme: no theme \"nope\"", "TAU_THINKING: `hgih` is not known"]);
}

#[test]
fn a_theme_file_with_a_mistake_is_a_warning_with_its_line() {
    let theme = "printf '[colors]\\nlink = 9\\ntext = \"purplish\"\\n' >\"$TAU_HOME/themes/mine.toml\"";
    let screen = start("theme = \"mine\"\n", theme, "");
    check(&screen, &["mine.toml:3: colors.text:", "using auto"]);
}

#[test]
fn a_terminal_that_moves_no_cursor_is_refused_with_a_hint() {
    let mut screen = start("", "export TERM=dumb", "");
    assert_eq!(screen.wait_exit().code(), Some(3));
    let text = screen.text();
    assert!(text.starts_with("tau: cannot show the screen") && text.contains("use tau -p"), "{text}");
    assert!(!screen.bytes().contains(&0x1b), "{text}");
    let mut screen = start("", "export TERM=dumb", "-p --model demo help");
    assert_eq!(screen.wait_exit().code(), Some(0));
}

/// A server that refuses every request so, and counts them.
fn refusing(body: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 64 * 1024]);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
        }
    });
    (port, count)
}

#[test]
fn a_compaction_that_fails_says_so_and_a_refusal_is_not_retried() {
    let (port, count) =
        refusing("{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"bad thing\"}}");
    let before = "TAU_DEMO_SPEED=max \"$TAU_BIN\" -p --session-id one --model demo hi >answer";
    let screen = start("", before, &format!("--continue --base-url http://127.0.0.1:{port} --model m"));
    screen.wait_for("tau-demo.md is yours");
    screen.type_keys("/compact\r");
    check(&screen, &["compaction failed: bad thing", "the conversation is unchanged; try /compact again"]);
    let once = count.load(Ordering::SeqCst);
    assert!((1..=2).contains(&once), "{once} requests");
    screen.type_keys("\x15again\r");
    screen.wait_until("the error of the prompt", |cells| cells.contents().matches("bad thing").count() >= 2);
    assert_eq!(count.load(Ordering::SeqCst), once + 1, "a 400 is not retried");
}
