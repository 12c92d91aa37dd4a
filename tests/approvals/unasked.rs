//! Commands that run without approval in the real program: confined, and asked about once if the sandbox
//! stops them.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::terminal::{calling, play, saying};
use crate::sandbox::unasked::is_confined;
use crate::screen::Screen as Terminal;
use crate::support::program::own_model;
use crate::time_limit::{EndInTime, RunInTime};

/// Prints whether the process is confined: 2 for a system call filter.
const STATUS: &str = "grep Seccomp: /proc/self/status";

/// The results that the model got.
fn results(requests: &[String]) -> String {
    let last = requests.last().expect("a request");
    let (_, body) = last.split_once("\r\n\r\n").unwrap_or(("", last));
    let body: serde_json::Value = serde_json::from_str(body).expect("a body");
    let messages = body["messages"].as_array().expect("messages").iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| format!("{}\n", message["content"].as_str().unwrap_or_default())).collect()
}

async fn ran(script: &'static str, command: &str) -> String {
    let acts = vec![calling(&[("bash", json!({ "command": command }))]), saying("Finished.")];
    let requests = play(acts, script, "", (80, 24), move |screen| {
        screen.type_keys("go\r");
        screen.wait_until("an end", |cells| {
            let text = cells.contents();
            let questions = ["Run it again without the sandbox?", "Run this command?"];
            text.contains("Finished.") || questions.iter().any(|question| text.contains(question))
        });
        if !screen.text().contains("Finished.") {
            screen.press_until("n", "why not:");
            screen.type_keys("\r");
            screen.wait_for("Finished.");
        }
    })
    .await;
    results(&requests)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_confined_unless_the_mode_or_a_rule_lets_it_run() {
    needs!(is_confined());
    for (script, confined) in [
        ("", true),
        ("export TAU_PERMISSION_MODE=plan", true),
        ("export TAU_PERMISSION_MODE=auto", false),
        ("printf '[permissions]\\nallow = [\"bash(grep *)\"]\\n' > $TAU_HOME/config.toml", false),
    ] {
        let printed = ran(script, STATUS).await;
        let expected = if confined { "Seccomp:\t2" } else { "Seccomp:\t0" };
        assert!(printed.contains(expected), "{script}: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tau_s_own_process_is_out_of_reach() {
    needs!(is_confined());
    // The first are the attacks that returned every key.
    for command in [
        "base64 /proc/$PPID/environ",
        "ps eww -p $PPID | rev",
        "cat /proc/$PPID/environ | tr '\\0' '\\n'",
        "head -c 100 /proc/$PPID/mem",
        "ls -l /proc/$PPID/fd/",
    ] {
        let mode = "export TAU_PERMISSION_MODE=plan OTHER_NAME=zq81-open-sesame MY_API_KEY=zq81-open-sesame";
        let printed = ran(mode, command).await;
        let reversed: String = "zq81-open-sesame".chars().rev().collect();
        for hidden in ["zq81-open-sesame", &reversed, "enE4MS1vcGVuLXNlc2FtZ"] {
            assert!(!printed.contains(hidden), "{command}: {printed}");
        }
    }
}

/// What the map of another process's memory names.
const HELD: &str = "bin/sleep";

/// Plays a session in ask mode whose command reads the map of another process's memory, up to the question.
async fn blocked(then: impl FnOnce(&Terminal) + Send + 'static) -> Vec<String> {
    let mut other = std::process::Command::new("sleep");
    let mut other = other.arg("300").spawn().expect("sleep");
    let command = format!("cat /proc/{}/maps", other.id());
    let acts = vec![calling(&[("bash", json!({ "command": command }))]), saying("Finished.")];
    let requests = play(acts, "", "", (120, 40), move |screen| {
        screen.type_keys("go\r");
        screen.wait_for("Run it again without the sandbox?");
        screen.wait_for("processes that the command did not start are out of reach");
        screen.wait_for("1 Yes, again without the sandbox (y)");
        then(screen);
        screen.wait_for("Finished.");
    })
    .await;
    other.kill().expect("an end");
    other.wait_in_time("the end of sleep");
    requests
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_confinement_stops_is_asked_once_and_runs_again() {
    needs!(is_confined());
    let requests = blocked(|screen| {
        screen.press_until("y", "Finished.");
    })
    .await;
    let printed = results(&requests);
    assert!(printed.contains(HELD) && printed.contains("run a second time"), "{printed}");
    let requests = blocked(|screen| {
        screen.press_until("n", "why not:");
        screen.type_keys("\r");
    })
    .await;
    let printed = results(&requests);
    assert!(!printed.contains(HELD) && printed.contains("the user was asked"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn always_makes_a_rule_for_the_command() {
    needs!(is_confined());
    let saved = Arc::new(Mutex::new(String::new()));
    let config = saved.clone();
    let requests = blocked(move |screen| {
        screen.press_until("a", "Type a rule…");
        screen.type_keys("\x1b[B\x1b[B\r");
        screen.wait_for("rule:");
        screen.type_keys("\x15bash(cat *)");
        screen.wait_for("rule: bash(cat *)");
        screen.type_keys("\t\t\t");
        screen.wait_for("‹everywhere›");
        screen.type_keys("\r");
        screen.wait_for("Finished.");
        *config.lock().unwrap() = std::fs::read_to_string(screen.tau_home().join("config.toml")).unwrap();
    })
    .await;
    assert!(results(&requests).contains(HELD));
    assert!(saved.lock().unwrap().contains("bash(cat *)"), "{}", saved.lock().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_the_model_is_told() {
    needs!(is_confined());
    let mut other = std::process::Command::new("sleep");
    let mut other = other.arg("300").spawn().expect("sleep");
    let command = format!("cat /proc/{}/maps", other.id());
    let server = crate::support::server::Server::start(vec![
        calling(&[("bash", json!({ "command": command }))]),
        saying("Finished."),
    ])
    .await;
    let home = tempfile::tempdir().unwrap();
    let url = server.url();
    let folder = home.path().to_path_buf();
    let output = tokio::task::spawn_blocking(move || {
        let mut tau = std::process::Command::new(env!("CARGO_BIN_EXE_tau"));
        tau.args(own_model(&url)).args(["--permission-mode", "ask", "-p", "go"]);
        tau.current_dir(&folder).env("HOME", &folder).env("TAU_HOME", folder.join("tau"));
        tau.output_in_time()
    })
    .await
    .unwrap();
    let printed = results(&server.requests());
    other.kill().unwrap();
    other.wait_in_time("the end of sleep");
    assert!(printed.contains("It blocked a signal or a trace") && !printed.contains(HELD), "{printed}");
    assert!(output.status.code() != Some(0), "a denied call is no success");
}

/// A descriptor that tau was started with refers to an open file, which no confinement closes.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_gets_a_descriptor_that_tau_was_started_with() {
    for mode in [
        "exec 9>$HOME/leak; export TAU_PERMISSION_MODE=plan",
        "exec 9>$HOME/leak; export TAU_PERMISSION_MODE=auto TAU_SANDBOX=workspace-write",
        "exec 9>$HOME/leak; export TAU_PERMISSION_MODE=auto",
    ] {
        let printed = ran(mode, "ls /proc/self/fd/; echo leaked >&9").await;
        assert!(printed.contains("9: Bad file descriptor"), "{mode}: {printed}");
    }
}
