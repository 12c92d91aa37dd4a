//! A session in the background that cannot be saved: its process keeps what it has, and says so to whoever asks.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::Value;

use crate::live::{Home, other_terminal, texts, wait_for_state};
use crate::live_ends::process_of;
use crate::support::program::says;
use crate::support::server::Server;
use crate::time_limit::{EndInTime, RunInTime, in_time};

const REASON: &str = "cannot save the session:";

/// A session whose answer is more than its process may write, as on a full disk.
fn begun_on_a_full_disk(home: &Home, url: &str) -> String {
    let mut begun = Command::new("bash");
    begun.args(["-c", r#"ulimit -S -f 8; exec "$0" "$@""#, env!("CARGO_BIN_EXE_tau")]);
    begun.args(["-b", "--base-url", url, "--model", "m", "take your time"]).current_dir(home.at("work"));
    let plain = home.command(&[]);
    begun.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let (code, out, err) = texts(&begun.output_in_time());
    assert_eq!(code, Some(0), "{err}");
    out.trim().to_owned()
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
