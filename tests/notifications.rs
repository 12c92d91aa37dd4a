//! Notifications and progress in the real program: the bytes sent to the terminal.

use std::time::Duration;

use crate::harness::answering;
use crate::screen::Screen;

const FOCUS_LOST: &str = "\x1b[O";
const FOCUS_GAINED: &str = "\x1b[I";
/// Longer than the shortest run that notifies the user.
const LONG: Duration = Duration::from_millis(3_300);

/// tau with such a model and these settings and variables.
fn start(takes: Duration, config: &str, before: &str) -> Screen {
    let script = format!(
        "mkdir -p \"$TAU_HOME\"; printf '%s' '{config}' >\"$TAU_HOME/config.toml\"; export NO_PROXY='*'\n{before}"
    );
    Screen::prepared(&script, &format!("--base-url {} --model m", answering(takes, "all done")), 80, 24)
}

fn bytes(screen: &Screen) -> String {
    String::from_utf8_lossy(&screen.bytes()).into_owned()
}

/// Waits until this was sent to the terminal.
#[track_caller]
fn wait_for_bytes(screen: &Screen, sequence: &str) {
    let mut log = String::new();
    let sent = || {
        log = bytes(screen);
        log.contains(sequence)
    };
    until(sent, sequence);
}

/// Waits for a condition, up to half a minute.
#[track_caller]
fn until(holds: impl FnMut() -> bool, what: &str) {
    crate::time_limit::until(crate::screen::TIMEOUT, holds, || format!("never: {what:?}"));
}

#[test]
fn a_long_run_that_ends_while_the_window_has_no_focus_is_reported() {
    for (config, before, expected) in [
        ("notify = \"osc9\"", "", "\x1b]9;tau: finished · check the build\x1b\\"),
        ("", "export TERM=xterm-kitty", "\x1b]99;i=tau;tau: finished · check the build\x1b\\"),
        ("notify = \"osc777\"", "", "\x1b]777;notify;tau;finished · check the build\x1b\\"),
        (
            "notify = \"osc9\"",
            "export TMUX=/nowhere,1,0",
            "\x1bPtmux;\x1b\x1b]9;tau: finished · check the build\x1b\x1b\\\x1b\\\x07",
        ),
    ] {
        let screen = start(LONG, config, before);
        screen.type_keys("check the build\r");
        screen.wait_for("waiting for the model");
        screen.type_keys(FOCUS_LOST);
        wait_for_bytes(&screen, expected);
        screen.wait_for("all done");
    }
}

#[test]
fn nobody_is_notified_who_looks_or_wants_no_notification() {
    let silent = |takes, config: &str, focus: &str| {
        let screen = start(takes, config, "");
        screen.type_keys(FOCUS_LOST);
        screen.type_keys(focus);
        screen.type_keys("check the build\r");
        screen.wait_for("all done");
        screen.wait_until("the end of the run", |cells| !cells.contents().contains(" stops"));
        assert!(!bytes(&screen).contains("finished"), "{config}");
    };
    silent(LONG, "notify = \"osc9\"", FOCUS_GAINED);
    silent(LONG, "notify = \"off\"", "");
    silent(Duration::ZERO, "notify = \"osc9\"", "");
}

#[test]
fn progress_is_shown_during_a_run_and_cleared_on_every_way_out() {
    let (on, off) = ("\x1b]9;4;3;0\x1b\\", "\x1b]9;4;0;0\x1b\\");
    let screen = start(LONG, "progress = \"on\"", "");
    assert!(!bytes(&screen).contains("\x1b]9;4"));
    screen.type_keys("check the build\r");
    wait_for_bytes(&screen, on);
    wait_for_bytes(&screen, off);
    drop(screen);
    let mut screen = start(Duration::from_secs(60), "progress = \"on\"", "");
    screen.type_keys("check the build\r");
    wait_for_bytes(&screen, on);
    assert!(!bytes(&screen).contains(off));
    screen.signal(rustix::process::Signal::TERM);
    screen.wait_exit();
    let log = bytes(&screen);
    assert!(log.rfind(off) > log.rfind(on) && log.rfind(off) < log.rfind("\x1b[?1049l"), "{log:?}");
    let screen = start(Duration::ZERO, "", "");
    screen.type_keys("check the build\r");
    screen.wait_for("all done");
    assert!(!bytes(&screen).contains("\x1b]9;4"), "this terminal is not known to show progress");
}

#[test]
fn notifications_and_progress_change_while_tau_runs() {
    let screen = start(LONG, "notify = \"off\"\nprogress = \"off\"", "");
    screen.reload("notify = \"osc9\"\nprogress = \"on\"", "notify osc9, progress on");
    screen.type_keys("check the build\r");
    wait_for_bytes(&screen, "\x1b]9;4;3;0\x1b\\");
    screen.type_keys(FOCUS_LOST);
    wait_for_bytes(&screen, "\x1b]9;tau: finished · check the build\x1b\\");
}
