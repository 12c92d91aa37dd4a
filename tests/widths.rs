//! Character widths of the terminal: measured invisibly in the real program, cached, obeyed.

use std::process::Command;
use std::time::Instant;

use crate::screen::Screen;
use crate::time_limit::RunInTime;

const ATTRIBUTES: &str = "\x1b[?62;22c";
const WHERE: &str = "\x1b[6n";
/// In the order of the samples: emoji, emoji style, keycap, joined, skin tone, flag, jamo, ambiguous.
const USUAL: [u16; 8] = [2, 2, 2, 2, 2, 2, 2, 1];
/// A terminal that draws emoji in one cell, and joined emoji, flags and arrows wider than usual.
const ODD: [u16; 8] = [1, 1, 1, 4, 2, 4, 2, 2];

fn written(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

/// Waits until this was written this many times.
fn wait_for_bytes(screen: &Screen, bytes: &str, times: usize) {
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || written(screen).matches(bytes).count() >= times,
        || format!("{bytes:?} is not written:\n{}", screen.text()),
    );
}

/// The terminal identifies itself, which answers the queries of the start.
fn introduce(screen: &Screen, version: &str) {
    screen.type_keys(&format!("\x1bP>|{version}\x1b\\{ATTRIBUTES}"));
}

fn answer(screen: &Screen, cells: [u16; 8]) {
    let columns: String = cells.iter().map(|cells| format!("\x1b[9;{}R", cells + 1)).collect();
    screen.type_keys(&format!("{columns}{ATTRIBUTES}"));
}

#[test]
fn nothing_is_seen_of_the_measuring() {
    let screen = Screen::prepared("", "", 80, 24);
    wait_for_bytes(&screen, "\x1b[c", 1);
    let before = screen.text();
    introduce(&screen, "fake(1)");
    wait_for_bytes(&screen, "\x1b[c", 2);
    assert_eq!(screen.text(), before);
    let text = written(&screen);
    let (at, end) = (text.find(WHERE).unwrap(), text.rfind(WHERE).unwrap());
    let update = text[..at].rfind("\x1b[?2026h").unwrap()..end + text[end..].find("\x1b[?2026l").unwrap();
    let measured = &text[update];
    assert_eq!(measured.matches(WHERE).count(), 8, "{measured:?}");
    assert!(!measured.contains("\x1b[?2026l") && measured.contains("\x1b[8m"), "{measured:?}");
    let cursor = screen.screen(vt100::Screen::cursor_position);
    let drawn = screen.bytes().len();
    answer(&screen, USUAL);
    screen.type_keys("ab");
    screen.wait_for_composer("ab");
    assert_eq!(screen.screen(vt100::Screen::cursor_position), (cursor.0, cursor.1 + 2));
    assert!(!written(&screen)[drawn..].contains("\x1b[2J"), "nothing is drawn again");
}

#[test]
fn widths_are_remembered_for_a_version_of_a_terminal_and_obeyed() {
    // Three times, in the same terminal.
    let screen = Screen::prepared("\"$TAU_BIN\"; \"$TAU_BIN\"", "", 80, 24);
    wait_for_bytes(&screen, "\x1b[c", 1);
    introduce(&screen, "fake(1)");
    wait_for_bytes(&screen, WHERE, 8);
    assert!(screen.text().contains("────"));
    answer(&screen, ODD);
    let lines = |cells: &vt100::Screen| cells.contents().contains("----") && !cells.contents().contains('─');
    screen.wait_until("lines in ASCII", lines);
    screen.type_keys("\x1b[200~👩\u{200D}💻|🇩🇪|日\x1b[201~");
    screen.wait_for("> 👩|DE|日");
    assert!(written(&screen).contains("\x1b[2X👩"), "its second cell is blank, however wide it is");
    // The file is written in parallel to drawing.
    let file = screen.tau_home().join("cache/terminals.json");
    crate::time_limit::until(
        crate::screen::TIMEOUT,
        || file.exists(),
        || format!("{} is not written", file.display()),
    );
    screen.type_keys("\x15\x04");
    wait_for_bytes(&screen, "\x1b[?1049h", 2);
    wait_for_bytes(&screen, "\x1b[c", 3);
    let text = written(&screen);
    let second = &text[text.rfind("\x1b[?1049h").unwrap()..];
    assert!(second.contains("----") && !second.contains('─'), "known from the first frame on: {second:?}");
    introduce(&screen, "fake(1)");
    screen.type_keys("again");
    screen.wait_for("> again");
    assert_eq!(written(&screen).matches(WHERE).count(), 8, "it is not measured again");
    screen.type_keys("\x15\x04");
    wait_for_bytes(&screen, "\x1b[?1049h", 3);
    wait_for_bytes(&screen, "\x1b[c", 4);
    introduce(&screen, "fake(2)");
    wait_for_bytes(&screen, WHERE, 16);
    answer(&screen, USUAL);
    screen.wait_until("lines", |cells| cells.contents().contains("────"));
}

#[test]
fn tau_doctor_shows_the_widths() {
    let screen = Screen::prepared("", "", 80, 24);
    let doctor = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tau"));
        command.arg("doctor").env_clear().env("HOME", screen.home()).env("TAU_HOME", screen.tau_home());
        command.env("TERM", "xterm-256color");
        String::from_utf8(command.output_in_time().stdout).unwrap()
    };
    let before = doctor();
    assert!(before.contains("not measured yet"), "{before}");
    wait_for_bytes(&screen, "\x1b[c", 1);
    introduce(&screen, "fake(1)");
    wait_for_bytes(&screen, WHERE, 8);
    answer(&screen, ODD);
    let end = Instant::now() + crate::screen::TIMEOUT;
    let mut found = doctor();
    while !found.contains("joined emoji: 4 cells instead of 2") {
        assert!(Instant::now() < end, "{found}");
        found = doctor();
    }
    assert!(found.contains("set the terminal's ambiguous width to narrow"), "{found}");
}
