//! A session that cannot be saved, registered or found: its process keeps what it has, and says so to whoever asks.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;

use crate::harness::answering;
use crate::live::{Home, command, only_id, other_terminal, texts, wait_for_state};
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT};
use crate::support::program::says;
use crate::support::server::Server;
use crate::time_limit::{EndInTime, RunInTime, in_time};

const REASON: &str = "cannot save the session:";

/// A run, begun by this flag, whose answer is more than its process may write, as on a full disk.
fn run_on_a_full_disk(home: &Home, flag: &str, url: &str) -> (Option<i32>, String, String) {
    let mut begun = Command::new("bash");
    begun.args(["-c", r#"ulimit -S -f 8; exec "$0" "$@""#, env!("CARGO_BIN_EXE_tau")]);
    begun.args([flag, "--base-url", url, "--model", "m", "take your time"]).current_dir(home.at("work"));
    let plain = home.command(&[]);
    begun.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    texts(&begun.output_in_time())
}

/// Like that, in the background.
fn begun_on_a_full_disk(home: &Home, url: &str) -> String {
    let (code, out, err) = run_on_a_full_disk(home, "-b", url);
    assert_eq!(code, Some(0), "{err}");
    out.trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_printed_run_says_that_its_end_is_lost() {
    let answer = "word ".repeat(4_000);
    let (home, server) = (Home::new(), Server::start(vec![says(&answer)]).await);
    let (_, out, err) = run_on_a_full_disk(&home, "-p", &server.url());
    assert_eq!(out.trim(), answer.trim());
    assert!(err.contains("the end of this session could not be saved and is lost"), "{err}");
}

fn free_disk(process: Pid) {
    prlimit(Some(process), Resource::Fsize, Rlimit { current: None, maximum: None }).unwrap();
}

/// A `tau wait` that has said why it waits, and the rest of what it says.
fn told(home: &Home, id: &str) -> (Child, impl Read) {
    let mut waiting = home.command(&["wait", id]).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(waiting.stderr.take().unwrap());
    let (line, errors) = in_time("the first line", move || {
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        (line, errors)
    });
    assert!(line.contains(REASON) && line.contains("tries again"), "{line}");
    (waiting, errors)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_the_background_waits_until_it_can_be_saved() {
    let answer = "word ".repeat(4_000);
    let (home, server) = (Home::new(), Server::start(vec![says(&answer)]).await);
    let id = begun_on_a_full_disk(&home, &server.url());
    let (mut waiting, _errors) = told(&home, &id);
    wait_for_state(home.0.path(), &id, "running");
    assert!(home.run(&["logs", &id]).2.contains(REASON));
    // Who wants to stop it learns how.
    let process = process_of(home.0.path(), &id).as_raw_nonzero();
    let stopped = home.run(&["stop", &id]).2;
    assert!(stopped.contains(&format!("`kill {process}` gives it up")), "{stopped}");
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for(REASON);
    screen.type_keys("\x04");
    screen.wait_for("the session continues");
    screen.wait_for("exit=0");
    wait_for_state(home.0.path(), &id, "running");
    free_disk(process_of(home.0.path(), &id));
    assert_eq!(waiting.wait_in_time("tau wait").code(), Some(0));
    let (code, out, err) = home.run(&["logs", &id]);
    assert_eq!((code, out.trim(), err.as_str()), (Some(0), answer.trim(), ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_not_saved_is_a_failure() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::KILL, 101)] {
        let answer = "word ".repeat(4_000);
        let (home, server) = (Home::new(), Server::start(vec![says(&answer)]).await);
        let id = begun_on_a_full_disk(&home, &server.url());
        let (mut waiting, _errors) = told(&home, &id);
        kill_process(process_of(home.0.path(), &id), signal).unwrap();
        assert_eq!(waiting.wait_in_time("tau wait").code(), Some(code));
        let (ended, _, err) = home.run(&["wait", &id]);
        assert!(ended == Some(code) && err.contains("could not be saved and is lost"), "{ended:?} {err}");
        let rows: Value = serde_json::from_str(&home.run(&["sessions", "--json"]).1).unwrap();
        assert_eq!(rows[0]["state"], "failed", "{rows}");
        let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
        screen.wait_for("could not be saved and is lost");
        screen.type_keys("\x04");
        screen.wait_for("exit=0");
    }
}

/// The session of a terminal that may write as little.
fn on_a_full_disk(url: &str) -> Screen {
    let script = format!(
        "bash -c 'ulimit -S -f 8; exec \"$0\" \"$@\"' \"$TAU_BIN\" --base-url {url} --model m; echo \"exit=$?\"; cat"
    );
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    screen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screen_is_not_quit_without_what_cannot_be_saved() {
    for saves in [true, false] {
        let answer = "word ".repeat(4_000);
        let server = Server::start(vec![says(&answer)]).await;
        let screen = on_a_full_disk(&server.url());
        let home = screen.home().to_owned();
        let id = only_id(&home);
        screen.type_keys("take your time\r");
        screen.wait_for("free some disk space");
        wait_for_state(&home, &id, "idle");
        screen.type_keys("\x04");
        screen.wait_for("The last messages of this session cannot be saved.");
        // Nothing is lost by Enter alone.
        screen.type_keys("\r");
        screen.wait_until("no question", |cells| !cells.contents().contains("cannot be saved."));
        if saves {
            screen.type_keys("\x18b");
            screen.wait_for(&format!("the session continues: tau attach {id}"));
            screen.wait_for("exit=0");
            wait_for_state(&home, &id, "running");
            free_disk(process_of(&home, &id));
            let (code, out, err) = texts(&command(&home, &["wait", &id]).output_in_time());
            assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
        } else {
            screen.type_keys("\x04");
            screen.wait_for("cannot be saved.");
            screen.type_keys("q\r");
            screen.wait_for("could not be saved and is lost");
            screen.wait_for("exit=0");
        }
        let (code, out, err) = texts(&command(&home, &["logs", &id]).output_in_time());
        assert_eq!((code, out.trim() == answer.trim()), (Some(0), saves), "{err}");
    }
}

#[test]
fn a_screen_is_not_left_without_a_draft_that_cannot_be_kept() {
    let screen = on_a_full_disk(&answering(Duration::from_secs(60), "never"));
    let id = only_id(screen.home());
    screen.type_keys("take your time\r");
    wait_for_state(screen.home(), &id, "running");
    screen.type_keys(&format!("\x1b[200~{}\x1b[201~", "word ".repeat(4_000)));
    screen.wait_for("[paste #1");
    screen.type_keys("\x18b");
    screen.wait_for("your draft cannot be kept");
    screen.wait_for("[paste #1");
    screen.type_keys("\x18b");
    screen.wait_for("your draft could not be kept");
    screen.wait_for("exit=0");
    let (code, _, err) = texts(&command(screen.home(), &["stop", &id]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_run_that_nobody_could_find_does_not_begin() {
    let home = Home::new();
    fs::create_dir_all(home.at("tau/logs")).unwrap();
    fs::write(home.at("tau/logs/live"), "in the way").unwrap();
    let url = answering(Duration::ZERO, "an answer");
    let (code, out, err) = home.run(&["-b", "--base-url", &url, "--model", "m", "take your time"]);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("cannot serve the session: "), "{err}");
    let sessions = home.run(&["sessions", "--json"]).1;
    assert_eq!(sessions.trim(), "[]");
}

#[test]
fn a_run_that_nobody_could_find_is_not_left() {
    let url = answering(Duration::from_secs(60), "never");
    let script = format!(
        "mkdir -p \"$TAU_HOME/logs\"; touch \"$TAU_HOME/logs/live\"; \
         \"$TAU_BIN\" --base-url {url} --model m; echo \"exit=$?\"; cat"
    );
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    screen.type_keys("take your time\r");
    screen.wait_for("esc stops");
    screen.type_keys("\x18b");
    screen.wait_for("cannot be left running, as nobody would find it");
    // It is found once that is possible.
    fs::remove_file(screen.home().join("tau/logs/live")).unwrap();
    let id = only_id(screen.home());
    wait_for_state(screen.home(), &id, "running");
    screen.type_keys("\x18b");
    screen.wait_for(&format!("the session continues: tau attach {id}"));
    screen.wait_for("exit=0");
    let (code, _, err) = texts(&command(screen.home(), &["stop", &id]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
}

/// A program that runs is a file that nobody may write, not even root: as in a folder that is read-only now.
#[cfg(target_os = "linux")]
#[test]
fn a_session_is_live_though_its_lock_cannot_be_written() {
    let home = Home::new();
    let id = home.background(&answering(Duration::from_secs(60), "never"), "take your time");
    kill_process(process_of(home.0.path(), &id), Signal::KILL).unwrap();
    wait_for_state(home.0.path(), &id, "failed");
    let lock = home.at(&format!("tau/logs/live/{id}.lock"));
    let script = r#"rm -f "$0"; cp "$BASH" "$0"; exec "$0" -c 'read -r wait'"#;
    let mut runs =
        Command::new("bash").args(["-c", script]).arg(&lock).stdin(Stdio::piped()).spawn().unwrap();
    let is_busy = || {
        let opened = fs::OpenOptions::new().write(true).open(&lock);
        lock.exists() && opened.is_err_and(|error| error.kind() == ErrorKind::ExecutableFileBusy)
    };
    crate::time_limit::until(TIMEOUT, is_busy, || "the lock can be written".to_owned());
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    wait_for_state(home.0.path(), &id, "running");
    drop(held);
    wait_for_state(home.0.path(), &id, "failed");
    drop(runs.stdin.take());
    runs.wait_in_time("the program");
}

#[test]
fn nothing_is_left_beside_a_session_that_could_not_be_written() {
    let home = Home::new();
    let mut run = Command::new("bash");
    run.args(["-c", r#"ulimit -S -f 0; exec "$0" "$@" | cat"#, env!("CARGO_BIN_EXE_tau")]);
    run.args(["-p", "--model", "demo", "hello"]).current_dir(home.at("work"));
    let plain = home.command(&[]);
    run.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (_, _, err) = texts(&run.output_in_time());
    assert!(err.contains(REASON), "{err}");
    let folders = fs::read_dir(home.at("tau/sessions")).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
    let left: Vec<_> = files.map(|file| file.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".lock")), "{left:?}");
}
