//! Sessions of processes without a screen, reached from other processes: prints, attempts, programs.

use std::fs;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::Home;
use crate::live_ends::prompts;
use crate::reopened::obedient;
use crate::support::server::Server;
use crate::time_limit::{EndInTime, SOON};

/// Starts a run without a screen that lasts until somebody ends it.
fn begin(home: &Home, server: &Server, flags: &[&str]) -> Child {
    let url = server.url();
    let args = [flags, &["--base-url", &url, "--model", "m", "run sleep 613"]].concat();
    home.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The records of live sessions, once there are so many that run.
fn running(home: &Home, count: usize) -> Vec<Value> {
    let end = Instant::now() + SOON;
    loop {
        let files = fs::read_dir(home.at("tau/logs/live")).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| fs::read(file.path()).ok());
        let records = texts.filter_map(|text| serde_json::from_slice::<Value>(&text).ok());
        let found: Vec<Value> = records.filter(|record| record["state"] == "running").collect();
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < end, "{found:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_print_is_listed_steered_followed_stopped_and_waited_for() {
    let (home, server) = (Home::new(), obedient().await);
    for (flag, id) in [("-p", "printed"), ("--json", "written")] {
        let mut child = begin(&home, &server, &[flag, "--session-id", id]);
        home.wait_for_state(id, "running");
        let mut waiting = home.command(&["wait", id]).spawn().unwrap();
        let mut following = home.command(&["logs", "-f", id]).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(home.run(&["send", id, "more"]).0, Some(0));
        // Both have the session open.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(home.run(&["stop", id]).0, Some(0));
        assert_eq!(child.wait_in_time("its end").code(), Some(130), "{flag}");
        assert_eq!(waiting.wait_in_time("the end of who waits").code(), Some(130), "{flag}");
        assert_eq!(following.wait_in_time("the end of who follows").code(), Some(0), "{flag}");
        assert_eq!(home.run(&["stop", id]).2, "tau: nothing runs in this session\n");
        let left: Vec<_> = fs::read_dir(home.at("tau/logs/live")).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        // It is free, and what it was sent is in it.
        assert_eq!(home.run(&["send", id, "again"]).0, Some(0));
        assert_eq!(home.run(&["wait", id]).0, Some(0));
        assert_eq!(prompts(&home, id), ["run sleep 613", "more", "again"], "{flag}");
        fs::remove_dir_all(home.at("tau/logs/live")).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_at_work_are_steered_and_stopped_one_by_one() {
    let (home, server) = (Home::new(), obedient().await);
    let mut attempts = begin(&home, &server, &["-n", "2", "--until", "false"]);
    let records = running(&home, 2);
    for record in &records {
        assert!(record["title"].as_str().unwrap().starts_with("attempt "), "{record}");
        let id = record["id"].as_str().unwrap();
        assert_eq!(home.run(&["send", id, "more"]).0, Some(0));
        assert_eq!(home.run(&["stop", id]).0, Some(0));
    }
    assert_eq!(attempts.wait_in_time("the end of both").code(), Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_program_has_open_is_steered_from_a_terminal() {
    let (home, server) = (Home::new(), obedient().await);
    let url = server.url();
    let args = ["--mode", "rpc", "--base-url", &url, "--model", "m", "--session-id", "kept"];
    let mut command = home.command(&args);
    let mut program =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = program.stdin.take().unwrap();
    writeln!(input, r#"{{"type":"prompt","message":"run sleep 614"}}"#).unwrap();
    running(&home, 1);
    assert_eq!(home.run(&["send", "kept", "more"]).0, Some(0));
    assert_eq!(home.run(&["stop", "kept"]).0, Some(0));
    home.wait_for_state("kept", "idle");
    // At rest it takes messages, too, as a screen does.
    assert_eq!(home.run(&["send", "kept", "run touch here"]).0, Some(0));
    let end = Instant::now() + SOON;
    while !home.at("work/here").exists() {
        assert!(Instant::now() < end, "it was not sent");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(input);
    assert_eq!(program.wait_in_time("its end").code(), Some(0));
}

/// A print may be over before it is served: what was known of an earlier run is not true any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_print_replaces_what_is_known_of_an_earlier_run_in_the_background() {
    let (home, server) = (Home::new(), obedient().await);
    let url = server.url();
    let hook = "[[hooks.UserPromptSubmit]]\ncommand = 'echo no >&2; exit 2'\n";
    fs::create_dir_all(home.at("tau")).unwrap();
    for (first, then) in [(hook, ""), ("", hook)] {
        fs::write(home.at("tau/config.toml"), first).unwrap();
        let id = home.background(&url, "hello");
        assert_eq!(home.run(&["wait", &id]).0, Some(i32::from(!first.is_empty())));
        home.wait_for_state(&id, if first.is_empty() { "done" } else { "failed" });
        fs::write(home.at("tau/config.toml"), then).unwrap();
        for mode in ["-p", "--json"] {
            let (code, _, err) =
                home.run(&[mode, "--session", &id, "--base-url", &url, "--model", "m", "again"]);
            assert_eq!(code, Some(i32::from(!then.is_empty())), "{err}");
        }
        home.wait_for_state(&id, "idle");
        let (code, _, err) = home.run(&["wait", &id]);
        assert_eq!((code, err.as_str()), (Some(0), "tau: no run of this session is known; it is idle\n"));
    }
}
