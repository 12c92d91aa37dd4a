//! A screen that is stopped and continued by signals, in a shell with job control.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::pty::ready;
use crate::screen::Screen;

/// The process that the shell waits for.
fn waiter_of(screen: &Screen) -> Pid {
    let shell = screen.pid().as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

/// Only the process that the shell waits for is stopped, as by `kill -STOP` with the number that `jobs` shows.
#[test]
fn it_is_back_after_a_stop_that_it_cannot_catch() {
    let script = "set -m; \"$TAU_BIN\"; echo stopped; read answer; fg; echo \"exit=$? after $answer\"; cat";
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
    ready(&screen);
    screen.type_keys("kept");
    screen.wait_for("kept");
    kill_process(waiter_of(&screen), Signal::STOP).unwrap();
    screen.wait_for("stopped");
    // It is for the shell.
    screen.type_keys("line\n");
    screen.wait_until("the screen again", |cells| !cells.contents().contains("stopped"));
    for _ in 0..4 {
        screen.type_keys("\x7f");
    }
    screen.wait_until("an empty composer", |cells| !cells.contents().contains("kept"));
    screen.type_keys("\x04");
    screen.wait_for("exit=0 after line");
}

/// The shell gives the terminal back to a job that runs without a signal.
#[test]
fn it_is_back_after_it_ran_in_the_background() {
    let script = "set -m; \"$TAU_BIN\"; echo stopped; read answer; kill -CONT %1; read answer; echo \"got $answer\"; \
                  read answer; fg; echo \"exit=$?\"; cat";
    for how in ["\x1a", "STOP"] {
        let screen = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
        ready(&screen);
        screen.type_keys("kept");
        screen.wait_for("kept");
        let waiter = waiter_of(&screen);
        match how {
            "STOP" => kill_process_group(waiter, Signal::STOP).unwrap(),
            key => screen.type_keys(key),
        }
        screen.wait_for("stopped");
        screen.type_keys("\n");
        screen.type_keys("a line\n");
        screen.wait_for("got a line");
        screen.type_keys("\n");
        screen.wait_until("the screen again", |cells| {
            let text = cells.contents();
            cells.alternate_screen() && text.contains("kept") && !text.contains("got a line")
        });
        for _ in 0..4 {
            screen.type_keys("\x7f");
        }
        screen.wait_until("an empty composer", |cells| !cells.contents().contains("kept"));
        screen.type_keys("\x04");
        screen.wait_for("exit=0");
        // After a stop, this shell brings back the settings that it found.
        assert!(how == "STOP" || screen.settings_are_as_before());
    }
}

/// A request from outside, to the whole job as by `kill -TSTP %1` or to the process that the shell waits for, stops it
/// once.
#[test]
fn a_request_to_stop_stops_it_once() {
    let script = "set -m; \"$TAU_BIN\"; for n in $(seq 99); do echo \"stop $n\"; read answer; fg; done";
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
    ready(&screen);
    let waiter = waiter_of(&screen);
    for round in 1..=8 {
        match round % 2 {
            0 => kill_process(waiter, Signal::TSTP).unwrap(),
            _ => kill_process_group(waiter, Signal::TSTP).unwrap(),
        }
        screen.wait_for(&format!("stop {round}"));
        screen.type_keys("\n");
        screen.wait_until("the screen again", |cells| cells.alternate_screen());
        screen.type_keys(&format!("round {round}"));
        screen.wait_for(&format!("round {round}"));
        screen.type_keys("\x15");
        ready(&screen);
    }
}
