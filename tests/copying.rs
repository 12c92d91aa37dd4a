//! Text selected with the mouse is copied when the button is released: the real program in a terminal.

use std::sync::Arc;
use std::time::Duration;

use tau::agent::AgentEvent;
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Block, StopReason};
use tau::app::effect::TERMINAL_COPY;
use tau::app::request::{ScreenReply, ScreenRequest};
use tau::app::{Effect, Msg};

use crate::harness::{self, assistant};
use crate::screen::{MouseReport, Screen};

const DEMO: &str = "export TAU_DEMO_SPEED=max";

/// Drags from one cell to another; returns the copied text once the footer has confirmed it.
fn drag(screen: &Screen, from: (u16, u16), to: (u16, u16), confirmed: &str) -> String {
    let before = screen.copied().len();
    screen.mouse(MouseReport::Press, from);
    screen.mouse(MouseReport::Drag, to);
    screen.mouse(MouseReport::Release, to);
    copied_after(screen, before, confirmed)
}

/// Clicks twice or more often, and drags before the last release. Returns the last copied text: a third
/// click comes after the copy of a double click, or before it.
#[track_caller]
fn clicks(
    screen: &Screen,
    times: usize,
    (at, to): ((u16, u16), (u16, u16)),
    confirmed: &str,
    expected: &str,
) {
    // An earlier click must not count as one of these.
    std::thread::sleep(Duration::from_millis(450));
    for _ in 1..times {
        screen.mouse(MouseReport::Press, at);
        screen.mouse(MouseReport::Release, at);
    }
    let before = screen.copied().len();
    screen.mouse(MouseReport::Press, at);
    if at != to {
        screen.mouse(MouseReport::Drag, to);
    }
    screen.mouse(MouseReport::Release, to);
    copied_until(screen, confirmed, |copied| {
        copied.len() > before && copied.last().is_some_and(|last| last == expected)
    });
}

fn copied_after(screen: &Screen, before: usize, confirmed: &str) -> String {
    copied_until(screen, confirmed, |copied| copied.len() > before)
}

/// The last text for the clipboard, once all of them are as expected.
fn copied_until(screen: &Screen, confirmed: &str, ready: impl Fn(&[String]) -> bool) -> String {
    screen.wait_until("a text for the clipboard", |cells| {
        cells.contents().contains(confirmed) && cells.contents().contains(" · ")
    });
    let end = std::time::Instant::now() + crate::screen::TIMEOUT;
    loop {
        let mut copied = screen.copied();
        if ready(&copied) {
            return copied.pop().unwrap();
        }
        assert!(std::time::Instant::now() < end, "copied {copied:?}:\n{}", screen.text());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn end_of(place: (u16, u16), text: &str) -> (u16, u16) {
    (place.0 + text.chars().count() as u16 - 1, place.1)
}

#[test]
fn a_drag_is_copied_on_release_and_the_footer_says_where_to() {
    let screen = Screen::prepared(DEMO, "", 80, 24);
    screen.type_keys("!printf 'one two\\nthree four\\n'\r");
    let from = screen.find("│ one two");
    let from = (from.0 + 6, from.1);
    let to = end_of(screen.find("│ three"), "│ three");
    assert_eq!(drag(&screen, from, to, "copied 2 lines · terminal (OSC 52)"), "two\nthree");
    // Backwards, and starting at the bar, which is not text.
    let start = screen.find("│ three four");
    let end = end_of(start, "│ three");
    assert_eq!(drag(&screen, end, (0, start.1), "copied 1 line · terminal (OSC 52)"), "three");
}

#[test]
fn clicks_select_words_and_lines_and_dragging_extends_by_them() {
    let screen = Screen::prepared(DEMO, "", 40, 24);
    let line = "see src/view/transcript.rs:12, then a line that is longer than this window";
    screen.type_keys(&format!("!printf '%s\\n' '{line}' 'second one'; #\r"));
    screen.wait_for("│ second one");
    let (_, row) = screen.find("│ see src/view");
    let at = |text: &str| (2 + line.find(text).unwrap() as u16 + 2, row);
    let path = at("src/view");
    clicks(&screen, 2, (path, path), "copied 1 line", "src/view/transcript.rs:12");
    clicks(&screen, 2, (path, at("then")), "copied 1 line", "src/view/transcript.rs:12, then");
    clicks(&screen, 3, (path, path), "copied 1 line", line);
    let second = screen.find("│ second one");
    let both = format!("{line}\nsecond one");
    clicks(&screen, 3, (path, (second.0 + 4, second.1)), "copied 2 lines", &both);
}

#[test]
fn parts_of_prose_and_code_come_without_wraps_and_borders() {
    let screen = Screen::prepared(DEMO, "", 40, 40);
    let prose = "words that are a lot longer than one row of this narrow window does, code";
    screen.type_keys(&format!("{prose}\r"));
    screen.wait_for("for file in");
    screen.wait_until("the end of the answer", |cells| !cells.contents().contains("esc stops"));
    let from = screen.find("that are a");
    let to = end_of(screen.find("does, code"), "does");
    let expected = prose.strip_prefix("words ").unwrap().strip_suffix(", code").unwrap();
    assert_eq!(drag(&screen, from, to, "copied 1 line"), expected);
    // The line is wrapped here, and dragging begins in the border.
    let from = screen.find("│ pub fn even_sum");
    let to = end_of(screen.find("┊ "), "┊ ");
    let code = drag(&screen, from, (39, to.1), "copied 1 line");
    assert_eq!(code, "pub fn even_sum(numbers: &[u64]) -> u64 {");
    let last = screen.find("│ }");
    let code = drag(&screen, from, (39, last.1), "copied 3 lines");
    assert_eq!(
        code,
        "pub fn even_sum(numbers: &[u64]) -> u64 {\n    numbers.iter().filter(|n| *n % 2 == 0).sum()\n}"
    );
}

#[test]
fn rows_of_a_change_come_without_numbers_and_signs() {
    let screen = Screen::prepared(DEMO, "", 80, 40);
    screen.type_keys("write\r");
    screen.wait_for("+ Edits so far: 1");
    screen.wait_until("the end of the run", |cells| !cells.contents().contains("esc stops"));
    let removed = screen.find("- Edits so far: 0");
    let added = screen.find("+ - edit 1 changed");
    let text = drag(&screen, (0, removed.1), (79, added.1), "copied 3 lines");
    assert_eq!(
        text,
        "Edits so far: 0\nEdits so far: 1\n- edit 1 changed the number above and added this line"
    );
}

#[test]
fn cells_of_a_table_come_without_its_lines() {
    let screen = Screen::prepared(DEMO, "", 100, 40);
    screen.type_keys("help\r");
    screen.wait_until("the end of the answer", |cells| {
        cells.contents().contains("--base-url.") && !cells.contents().contains("esc stops")
    });
    let (_, first) = screen.find("list ");
    let text = drag(&screen, (0, first), (99, first + 1), "copied 2 lines");
    assert_eq!(text, "list\tlists this directory\nread FILE\treads a file");
}

/// A program that stands in for the desktop's.
const FAKE: &str = "export TAU_DEMO_SPEED=max
mkdir ~/bin
printf '#!/bin/sh\\ncat > \"$HOME/clip\"\\n' > ~/bin/xclip
printf '#!/bin/sh\\necho \"$@\" > \"$HOME/tmux\"\\ncat > \"$HOME/clip\"\\n' > ~/bin/tmux
chmod +x ~/bin/xclip ~/bin/tmux
PATH=~/bin:/usr/bin:/bin";

#[test]
fn the_clipboard_of_the_desktop_is_used_where_there_is_one() {
    for (variables, confirmed, is_local) in [
        ("DISPLAY=:99", "copied 1 line · clipboard", true),
        ("DISPLAY=:99 SSH_CONNECTION='a b'", "copied 1 line · terminal (OSC 52)", false),
        ("TMUX=/nowhere,1,0", "copied 1 line · tmux and its terminal", true),
    ] {
        let screen = Screen::prepared(&format!("{FAKE}\nexport {variables}"), "", 80, 24);
        screen.type_keys("!echo copy this\r");
        let place = screen.find("│ copy this");
        let text = drag(&screen, (place.0 + 2, place.1), (place.0 + 5, place.1), confirmed);
        assert_eq!(text, "copy", "the terminal gets it too");
        let clip = std::fs::read_to_string(screen.home().join("clip")).ok();
        assert_eq!(clip.as_deref(), is_local.then_some("copy"), "{variables}");
        let wrapped =
            String::from_utf8_lossy(&screen.bytes()).contains("\x1bPtmux;\x1b\x1b]52;c;Y29weQ==\x07\x1b\\");
        assert_eq!(wrapped, variables.starts_with("TMUX"), "{variables}");
        if wrapped {
            let arguments = std::fs::read_to_string(screen.home().join("tmux")).unwrap();
            assert_eq!(arguments, "load-buffer -w -\n");
        }
    }
}

#[test]
fn what_is_too_large_for_the_terminal_is_not_sent_and_said_to_be() {
    let text = "many words\n".repeat(TERMINAL_COPY / 10);
    for (local, said) in [
        (Ok(None), "not copied: 75000 lines, too large for the terminal (OSC 52 takes 750 KB)"),
        (Ok(Some("clipboard".to_owned())), "copied 75000 lines · clipboard"),
        (Err("xclip failed".to_owned()), "not copied: xclip failed; 75000 lines, too large"),
    ] {
        // Nothing is drawn in between: laying out so much takes long, and changes nothing here.
        let mut screen = harness::Screen::new();
        let message = assistant(vec![Block::text(&text)], StopReason::Stop);
        for event in [
            AgentEvent::Turn(TurnEvent::MessageStart {
                message: Arc::new(assistant(vec![], StopReason::Stop)),
            }),
            AgentEvent::Turn(TurnEvent::MessageEnd { message: Arc::new(message) }),
        ] {
            screen.fold(Msg::Agent(event));
        }
        screen.take_effects();
        screen.fold(Msg::Key("ctrl+x c".parse().unwrap()));
        let effects = screen.take_effects();
        let [Effect::Ask(ticket, ScreenRequest::Clipboard { .. })] = effects.as_slice() else {
            panic!("{} effects", effects.len());
        };
        let reply = match local {
            Ok(name) => ScreenReply::Clipboard(name),
            Err(why) => ScreenReply::Failed(why.into()),
        };
        screen.fold(Msg::Finished(*ticket, reply));
        let remark = screen.model().remark.as_ref().unwrap().0.to_string();
        assert!(remark.starts_with(said), "{remark}");
    }
}

#[test]
fn controls_of_bidirectional_text_are_seen_and_not_copied() {
    let screen = Screen::prepared(DEMO, "", 60, 24);
    screen.type_keys("!printf 'if (x \\342\\200\\256 and y\\342\\201\\246) \\n'\r");
    let place = screen.find("if (x <U+202E> and y<U+2066>)");
    let (row, column) = (place.1, place.0 + 6);
    screen.screen(|cells| {
        let reversed = |column| cells.cell(row, column).unwrap().inverse();
        assert!(!reversed(column - 1) && (column..column + 8).all(reversed) && !reversed(column + 8));
    });
    let copied = drag(&screen, place, end_of(place, "if (x <U+202E> and y<U+2066>)"), "copied 1 line");
    assert_eq!(copied, "if (x <U+202E> and y<U+2066>)");
    screen.type_keys("\x1b[200~a\u{202e}b\x1b[201~");
    screen.wait_for_composer("a<U+202E>b");
    screen.type_keys("\x7f\x7fc");
    screen.wait_for_composer("ac");
    assert!(!String::from_utf8_lossy(&screen.bytes()).contains(['\u{202e}', '\u{2066}']));
}

#[test]
fn neither_the_editor_nor_the_clipboard_gets_a_key() {
    let script = "export DISPLAY=:99 DB_PASS=correcthorse MY_TOKEN=abc SHOWN=here
mkdir ~/bin
printf '#!/bin/sh\\nenv >\"$HOME/clip.env\"\\ncat >\"$HOME/clip\"\\n' > ~/bin/xclip
printf '#!/bin/sh\\nenv >\"$HOME/editor.env\"; echo edited >\"$1\"\\n' > ~/bin/ed
chmod +x ~/bin/xclip ~/bin/ed
PATH=~/bin:/usr/bin:/bin EDITOR=~/bin/ed";
    let screen = Screen::prepared(&format!("{DEMO}\n{script}; export PATH EDITOR"), "", 80, 24);
    screen.type_keys("!echo copy this\r");
    let place = screen.find("│ copy this");
    drag(&screen, (place.0 + 2, place.1), (place.0 + 5, place.1), "copied 1 line · clipboard");
    screen.type_keys("draft");
    screen.wait_for_composer("draft");
    screen.type_keys("\x07");
    screen.wait_for_composer("edited");
    for (program, gets_all) in [("clip", false), ("editor", true)] {
        let env = std::fs::read_to_string(screen.home().join(format!("{program}.env"))).unwrap();
        assert!(env.contains("HOME=") && env.contains("DISPLAY=:99"), "{program}: {env}");
        assert!(!env.contains("correcthorse") && !env.contains("MY_TOKEN"), "{program}: {env}");
        assert_eq!(env.contains("SHOWN=here"), gets_all, "{program}: {env}");
    }
}
