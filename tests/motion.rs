//! Animations off: nothing on the screen moves by itself, whatever runs.

use tau::app::boot::Boot;
use tau::app::geometry::Motion;
use tau::app::screen_settings::ScreenSettings;

use crate::harness::{Screen, boot, text};
use crate::screen::Screen as Terminal;

/// The frames of all spinners.
const MOVING: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

#[test]
fn the_screen_changes_once_a_second_at_most() {
    let mut screen = Screen::boot(Boot {
        settings: ScreenSettings { motion: Motion::Still, ..ScreenSettings::default() },
        ..boot()
    });
    screen.run();
    assert_eq!(screen.model().wants().tick, Some(1_000));
    assert!(!screen.model().wants().progress, "progress moves in the tab");
    let mut frames: Vec<String> = Vec::new();
    for _ in 0..30 {
        screen.wait(100);
        let frame = text(&screen.draw());
        assert!(!frame.contains(MOVING), "{frame}");
        if frames.last() != Some(&frame) {
            frames.push(frame);
        }
    }
    assert!((3..=4).contains(&frames.len()), "{} pictures in three seconds", frames.len());
    assert!(frames[0].contains("waiting for the model") && frames[0].contains("esc stops"), "{}", frames[0]);
}

#[test]
fn a_run_with_animations_off_writes_no_spinner() {
    for (script, args) in [
        ("", "--animations=false"),
        ("mkdir \"$TAU_HOME\"; echo 'animations = false' >\"$TAU_HOME/config.toml\"", ""),
    ] {
        let screen = Terminal::prepared(script, args, 80, 24);
        screen.type_keys("slow\r");
        screen.wait_for("· answering");
        screen.wait_for("answering 1.");
        let bytes = String::from_utf8_lossy(&screen.bytes()).into_owned();
        assert!(!bytes.contains(MOVING), "{}", bytes.escape_debug());
    }
    let screen = Terminal::prepared("", "--animations=true", 80, 24);
    screen.type_keys("slow\r");
    screen.wait_until("a spinner", |cells| cells.contents().contains(MOVING));
}

#[test]
fn printing_on_a_terminal_can_do_without_the_moving_line() {
    let printed = |script: &str, args: &str| {
        let script = format!("{script}exec \"$TAU_BIN\" -p --model demo/demo {args} table");
        let mut screen = Terminal::program(std::path::Path::new("/bin/sh"), &["-c", &script], 80, 24);
        assert!(screen.wait_exit().success(), "{}", screen.text());
        String::from_utf8_lossy(&screen.bytes()).into_owned()
    };
    assert!(printed("", "").contains(MOVING), "the moving line is not shown, so nothing is proved");
    for (script, args) in [("", "--animations=false"), ("TERM=dumb; ", "")] {
        let bytes = printed(script, args);
        assert!(!bytes.contains(MOVING) && bytes.contains("A table"), "{}", bytes.escape_debug());
    }
}

#[test]
fn the_setting_applies_at_once() {
    let screen = Terminal::prepared("", "", 100, 30);
    screen.type_keys("/settings\r");
    screen.wait_for("permission_mode");
    screen.type_keys("animations");
    screen.wait_until("the list is filtered", |cells| {
        let text = cells.contents();
        text.contains("> animations") && text.contains("animations  ") && !text.contains("permission_mode")
    });
    screen.type_keys("\r");
    screen.wait_for("animations             false");
}
