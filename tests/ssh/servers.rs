//! Sessions of other machines on the board, and commands for them, behind a real sshd on loopback.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::sshd::{Sshd, WithTau};
use crate::board::{QUIET, begin, server, wait_for_file};
use crate::harness::answering;
use crate::live::{command, texts, wait_for_state};
use crate::screen::{TIMEOUT, composer};
use crate::support::program::{calls, says};
use crate::time_limit::{EndInTime, RunInTime};

/// Begins a session in the background there.
/// The key of the first row.
const HOME: &str = "\x1b[H";

fn begin_there(sshd: &Sshd, prompt: &str) -> String {
    let mut begun = command(&sshd.home(), &["-b", prompt]);
    begun.env("TAU_BASE_URL", sshd.url()).env("TAU_MODEL", "m");
    let (code, out, err) = texts(&begun.output_in_time());
    assert_eq!(code, Some(0), "{err}");
    out.trim().to_owned()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    crate::time_limit::until(TIMEOUT, is_so, || what.to_owned());
}

#[test]
fn sessions_of_servers_are_answered_and_opened_on_the_board() {
    let touch = calls("bash", &json!({ "command": "touch made; echo one two" }));
    let model = server(vec![touch, says("All is clean."), says("As you like."), says("Once more.")]);
    let Some(sshd) = Sshd::start(WithTau::InPath, &model.url()) else { return };
    let id = begin(&sshd.home(), &model, "clean up");
    wait_for_state(&sshd.home(), &id, "waiting");
    let board = sshd.with_servers(&["ssh://box/~/work", "ssh://closed", "ssh://keyless"], "board");
    board.wait_for("? waiting   clean up");
    board.wait_for("box:work");
    board.wait_for("× closed cannot be reached: ");
    board.wait_for("Connection refused");
    board.wait_for("× keyless cannot be reached: ssh cannot log in without you: ");
    // The session that was listed first stays selected.
    board.press_until(HOME, &format!("ssh://box#{id}"));
    board.type_keys("a");
    board.wait_for("Run this command?");
    board.wait_for("touch made; echo one two");
    std::thread::sleep(QUIET);
    assert!(!sshd.work().join("made").exists(), "it ran unasked");
    board.press_until("1", "answered");
    wait_for_file(&sshd.work().join("made"));
    board.wait_for("✓ done      clean up");
    board.wait_for("All is clean.");
    // Its process has ended; a message begins another one.
    wait_until("it stays open", || !sshd.home().join(format!("tau/logs/live/{id}.lock")).exists());
    board.type_keys("m");
    board.wait_for("enter sends · esc goes back");
    board.type_keys("now the cellar\r");
    board.wait_for("As you like.");
    wait_for_state(&sshd.home(), &id, "done");
    board.wait_for("h archives");
    board.type_keys("h");
    board.wait_for("archived; tab shows what was archived");
    board.type_keys("\t");
    board.wait_for("Archived sessions");
    board.wait_for("✓ done      clean up");
    board.type_keys("h");
    board.wait_for("nothing was put away");
    board.type_keys("\t");
    board.wait_for("✓ done      clean up");
    board.type_keys("\r");
    board.wait_until("composer", |cells| composer(cells).is_some());
    board.wait_for("▌ clean up");
    board.wait_for("As you like.");
    board.type_keys("again\r");
    board.wait_for("Once more.");
}

#[test]
fn a_server_that_is_lost_is_said_and_comes_back() {
    let url = answering(Duration::from_secs(60), "never");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    let id = begin_there(&sshd, "count the stars");
    wait_for_state(&sshd.home(), &id, "running");
    let screen = sshd.with_servers(&["ssh://box"], "--model demo");
    screen.wait_until("composer", |cells| composer(cells).is_some());
    std::thread::sleep(QUIET);
    assert!(!sshd.starts().exists(), "ssh is started before the board is opened");
    screen.type_keys("\x18l");
    screen.wait_for("● running   count the stars");
    sshd.signal(Signal::STOP);
    for pid in sshd.connections() {
        kill_process(pid, Signal::KILL).unwrap();
    }
    screen.wait_for("× box cannot be reached: ");
    screen.wait_until("gone", |cells| !cells.contents().contains("count the stars"));
    sshd.signal(Signal::CONT);
    screen.wait_for("● running   count the stars");
    assert!(!screen.text().contains("cannot be reached"));
    screen.press_until(HOME, &format!("ssh://box#{id}"));
    screen.type_keys("xx");
    screen.wait_for("○ idle      count the stars");
    // Nobody looks any more.
    screen.type_keys("q");
    wait_until("the connection stays", || sshd.connections().is_empty());
}

#[test]
fn what_a_server_says_on_the_board_is_plain_text() {
    let Some(sshd) = Sshd::start(WithTau::InPath, "http://127.0.0.1:9/v1") else { return };
    sshd.place(
        "tau",
        concat!(
            "#!/bin/sh\nif [ \"$2\" = protocol ]; then exec \"$TAU_BIN\" \"$@\"; fi\n",
            "echo 'tau-attach: {\"refused\":{\"why\":\"\\u001b[31mred\\u001b]0;title\\u0007\"}}'\n"
        ),
    );
    let board = sshd.with_servers(&["ssh://box"], "board");
    board.wait_for("× box cannot be reached: ␛[31mred␛]0;title␇");
    // Another tau is none.
    sshd.place("tau", "#!/bin/sh\necho 'tau 0.0.9, attach 1'\n");
    let board = sshd.with_servers(&["ssh://box"], "board");
    board.wait_for("this version of tau is not installed there; tau attach ssh://box copie");
    // A bad setting is said, and the board shows the rest.
    let board = sshd.with_servers(&["box"], "board");
    board.wait_for("idle      (no messages yet)");
    board.press_until("\x1b", "`box` is not an ssh address");
}

#[test]
fn commands_reach_sessions_of_other_machines() {
    let model = server(vec![says("The first."), says("The second.")]);
    let Some(sshd) = Sshd::start(WithTau::InPath, &model.url()) else { return };
    fs::write(sshd.home().join(".bashrc"), "printf 'noise\\033[31m\\n'\n").unwrap();
    let id = begin_there(&sshd, "hello");
    let there = format!("ssh://box#{}", &id[30..]);
    let run = |arguments: &[&str]| texts(&sshd.client(arguments).output_in_time());
    assert_eq!(run(&["wait", &there]), (Some(0), String::new(), String::new()));
    assert_eq!(run(&["logs", &there]), (Some(0), "The first.\n".into(), String::new()));
    let mut sending = sshd.client(&["send", &there]);
    sending.stdin(Stdio::piped());
    let mut sending = sending.spawn().unwrap();
    std::io::Write::write_all(&mut sending.stdin.take().unwrap(), b"'and; $(id)\n\\ more").unwrap();
    assert!(sending.wait_in_time("the end of what sends").success());
    assert_eq!(run(&["wait", &there]).0, Some(0));
    assert_eq!(run(&["logs", "-f", &there]).1, "The first.\nThe second.\n");
    assert!(model.requests().last().unwrap().contains("'and; $(id)\\n\\\\ more"));
    assert_eq!(
        run(&["stop", &there]),
        (Some(0), String::new(), "tau: nothing runs in this session\n".into())
    );
    for (arguments, code, text) in [
        (&["logs", "ssh://box#ffff"][..], 3, "no session"),
        (&["logs", "ssh://box"][..], 2, "name a session there: ssh://box#ID"),
        (&["logs", "ssh://box#-oProxyCommand=x;id"][..], 2, "is not an ssh address"),
        (&["wait", "ssh://closed#4f2a"][..], 3, "cannot reach closed: "),
        (&["send", "ssh://keyless#4f2a", "x"][..], 3, "Permission denied"),
    ] {
        let (found, out, err) = run(arguments);
        assert_eq!((found, out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(err.contains(text), "{arguments:?}: {err}");
    }
}

#[test]
fn a_command_that_is_ended_here_ends_there() {
    let url = answering(Duration::from_secs(60), "never");
    let Some(sshd) = Sshd::start(WithTau::InPath, &url) else { return };
    let id = begin_there(&sshd, "count the stars");
    let there = format!("ssh://box#{id}");
    let mut waiting = sshd.client(&["wait", &there]);
    let mut waiting = waiting.stdin(Stdio::null()).spawn().unwrap();
    wait_until("no connection", || !sshd.connections().is_empty());
    // Its ssh is left, and ends with what it has started there.
    std::thread::sleep(QUIET);
    waiting.kill().unwrap();
    waiting.wait_in_time("the end of what was killed");
    wait_until("the connection stays", || sshd.connections().is_empty());
    let (code, _, err) = texts(&sshd.client(&["stop", &there]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
    // Its run was stopped, and so says the command that waits.
    assert_eq!(texts(&sshd.client(&["wait", &there]).output_in_time()).0, Some(130));
    let mut following = sshd.client(&["logs", "-f", &there]);
    let mut child = following.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(BufReader::new(child.stdout.take().unwrap()).lines().count(), 0);
    child.wait_in_time("the end of what is followed");
}
