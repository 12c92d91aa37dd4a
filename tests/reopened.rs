//! Sessions that are opened again after their process has ended: with their rights and limits, in their place.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tau::tools::sandbox::support::Support;

use crate::live::{command, only_id, other_terminal, texts, wait_for_state};
use crate::screen::Screen;
use crate::support::program::{calls, says, stalls};
use crate::support::server::Server;
use crate::time_limit::{EndInTime, RunInTime};

/// A provider that runs what a prompt `run COMMAND` says.
pub(crate) async fn obedient() -> Server {
    Server::choosing(|_, request| {
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default();
        let text = match &last["content"] {
            Value::Array(parts) => parts.last().map(|part| part["text"].clone()).unwrap_or_default(),
            text => text.clone(),
        };
        match text.as_str().and_then(|text| text.strip_prefix("run ")) {
            Some(command) if last["role"] == "user" => calls("bash", &json!({ "command": command })),
            _ => says("done with it"),
        }
    })
    .await
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir_all(home.path().join("work")).unwrap();
    home
}

/// The process that has a session open.
fn pid_of(home: &Path, id: &str) -> Pid {
    let record = fs::read(home.join(format!("tau/logs/live/{id}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    Pid::from_raw(i32::try_from(record["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

fn run(home: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    texts(&command(home, args).output_in_time())
}

/// Starts a session with these flags, and waits for its end; returns its id.
fn ended(home: &Path, url: &str, flags: &[&str], prompt: &str) -> String {
    let args = [&["-b", "--base-url", url, "--model", "m"], flags, &[prompt]].concat();
    let (code, id, err) = run(home, &args);
    assert_eq!(code, Some(0), "{flags:?}: {err}");
    let id = id.trim().to_owned();
    run(home, &["wait", &id]);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_keeps_the_rights_and_limits_of_its_flags() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let file = home.join("work/file");
    let cases: [(&[&str], i32); 6] = [
        (&["--permission-mode", "plan"], 0),
        (&["--tools", "read"], 0),
        (&["--no-tools"], 0),
        (&["--sandbox", "read-only"], 0),
        // As often as it was meant to answer.
        (&["--max-turns", "1"], 5),
        (&[], 0),
    ];
    for (flags, expected) in cases {
        if flags.first() == Some(&"--sandbox") && Support::here().landlock == 0 {
            continue;
        }
        let id = ended(home, &url, flags, "hello");
        // And a second time.
        for _ in 0..2 {
            let (code, _, err) = run(home, &["send", &id, "run touch file; test -f file"]);
            assert_eq!(code, Some(0), "{flags:?}: {err}");
            let (code, _, err) = run(home, &["wait", &id]);
            assert_eq!(code, Some(expected), "{flags:?}: {err}");
            let is_limited = flags.first() == Some(&"--max-turns");
            assert!(is_limited || file.exists() == flags.is_empty(), "{flags:?}");
            let _ = fs::remove_file(&file);
        }
        // The user may say otherwise.
        if flags.first() == Some(&"--tools") {
            let args = ["-p", "--base-url", &url, "--model", "m", "--session", &id, "run touch file"];
            let (code, _, err) = run(home, &args);
            assert_eq!((code, file.exists()), (Some(0), true), "{err}");
            fs::remove_file(&file).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_session_that_asked_asks_again() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let args = ["-b", "--base-url", &url, "--model", "m", "--permission-mode", "ask", "run touch file"];
    let (code, id, err) = run(home, &args);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    wait_for_state(home, id, "waiting");
    kill_process(pid_of(home, id), Signal::KILL).unwrap();
    wait_for_state(home, id, "failed");
    let (code, _, err) = run(home, &["send", id, "run touch file"]);
    assert_eq!(code, Some(0), "{err}");
    wait_for_state(home, id, "waiting");
    assert!(!home.join("work/file").exists());
    assert_eq!(run(home, &["stop", id]).0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mode_above_the_settings_holds_again_unless_they_are_stricter_now() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let file = home.join("work/file");
    let run = |args: &[&str]| texts(&command(home, args).env_remove("TAU_PERMISSION_MODE").output_in_time());
    let (code, id, err) =
        run(&["-b", "--base-url", &url, "--model", "m", "--permission-mode", "auto", "hello"]);
    assert_eq!(code, Some(0), "{err}");
    let id = id.trim();
    for (settings, holds) in
        [("", true), ("permission_mode = \"ask\"", true), ("permission_mode = \"plan\"", false)]
    {
        assert_eq!(run(&["wait", id]).0, Some(0));
        fs::write(home.join("tau/config.toml"), settings).unwrap();
        let (code, _, err) = run(&["send", id, "run touch file"]);
        assert_eq!(code, Some(0), "{err}");
        let (code, _, err) = run(&["wait", id]);
        assert_eq!((code, file.exists()), (Some(0), holds), "{settings}: {err}");
        let _ = fs::remove_file(&file);
    }
    // On a screen, too.
    fs::write(home.join("tau/config.toml"), "").unwrap();
    let (code, id, err) =
        run(&["-b", "--base-url", &url, "--model", "m", "--permission-mode", "auto", "hello"]);
    assert_eq!((code, run(&["wait", id.trim()]).0), (Some(0), Some(0)), "{err}");
    let screen = other_terminal(home, &format!("unset TAU_PERMISSION_MODE\n$TAU_BIN attach {}", id.trim()));
    screen.wait_for("done with it");
    screen.type_keys("run touch file\r");
    crate::time_limit::until(crate::screen::TIMEOUT, || file.exists(), || screen.text());
    screen.type_keys("\x04");
}

#[tokio::test(flavor = "multi_thread")]
async fn attaching_to_an_ended_session_brings_back_its_mode() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let id = ended(home, &url, &["--permission-mode", "ask"], "hello");
    let screen = other_terminal(home, &format!("export TAU_PERMISSION_MODE=auto\n$TAU_BIN attach {id}"));
    screen.wait_for("done with it");
    screen.type_keys("run touch file\r");
    wait_for_state(home, &id, "waiting");
    assert!(!home.join("work/file").exists());
    screen.type_keys("\x1b\x04");
}

/// A screen with the settings of the home, in its directory.
fn screen_without_variable(home: &Path, arguments: &str) -> Screen {
    let screen = other_terminal(home, &format!("unset TAU_PERMISSION_MODE\n$TAU_BIN {arguments}"));
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    screen
}

/// However the screen ends; and the user's usual mode is what the settings say.
#[tokio::test(flavor = "multi_thread")]
async fn a_mode_that_was_chosen_on_the_screen_holds_again() {
    let server = obedient().await;
    for (mode, is_killed, expected) in [
        ("plan", false, "idle"),
        ("plan", true, "idle"),
        ("ask", false, "waiting"),
        ("auto", true, "waiting"),
    ] {
        let home = home();
        let home = home.path();
        fs::create_dir_all(home.join("tau")).unwrap();
        let settings =
            |mode: &str| fs::write(home.join("tau/config.toml"), format!("permission_mode = \"{mode}\"\n"));
        settings("auto").unwrap();
        let screen = screen_without_variable(home, &format!("--base-url {} --model m", server.url()));
        let id = only_id(home);
        screen.press_until("\x1b[Z", if mode == "ask" { " · ask" } else { "◇ plan" });
        if mode == "auto" {
            screen.press_until("\x1b[Z", " · auto");
            settings("ask").unwrap();
        }
        screen.type_keys("hello\r");
        screen.wait_for("done with it");
        if is_killed {
            kill_process(pid_of(home, &id), Signal::KILL).unwrap();
        } else {
            screen.type_keys("\x04");
        }
        screen.wait_for("exit=");
        let mut send = command(home, &["send", &id, "run touch file"]);
        let (code, _, err) = texts(&send.env_remove("TAU_PERMISSION_MODE").output_in_time());
        assert_eq!(code, Some(0), "{mode}: {err}");
        if expected == "waiting" {
            wait_for_state(home, &id, expected);
            assert_eq!(run(home, &["stop", &id]).0, Some(0));
        }
        run(home, &["wait", &id]);
        assert!(!home.join("work/file").exists(), "{mode}");
    }
}

/// From the list as from the board; a command line counts for itself, and says what it leaves out.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_picked_has_its_rights_and_limits() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let id = ended(home, &url, &["--permission-mode", "ask", "--max-cost", "5"], "hello");
    for arguments in [format!("--base-url {url} --model m"), "--model demo --resume".to_owned()] {
        let screen = other_terminal(home, &format!("export TAU_PERMISSION_MODE=auto\n$TAU_BIN {arguments}"));
        screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        if !arguments.ends_with("--resume") {
            screen.type_keys("/resume\r");
        }
        screen.wait_for("Sessions of this directory");
        screen.wait_for("hello");
        screen.type_keys("\r");
        screen.wait_for(" · ask");
        screen.wait_for("done with it");
        screen.type_keys("run touch file\r");
        wait_for_state(home, &id, "waiting");
        screen.type_keys("\x1b");
        wait_for_state(home, &id, "idle");
        screen.type_keys("\x04");
        screen.wait_for("exit=");
    }
    let screen = other_terminal(
        home,
        &format!("export TAU_PERMISSION_MODE=auto\n$TAU_BIN --base-url {url} --model m -c"),
    );
    screen.wait_for("--permission-mode ask");
    screen.wait_for("--max-cost 5");
    screen.type_keys("run touch file\r");
    crate::time_limit::until(crate::screen::TIMEOUT, || home.join("work/file").exists(), || screen.text());
    screen.type_keys("\x04");
}

/// Whatever the screen has opened after its first session has its rights and limits later, too.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_screen_begins_or_copies_keeps_its_limits() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let flags = format!("--base-url {url} --model m --max-turns 1");
    let screen = screen_without_variable(home, &format!("{flags} --permission-mode auto"));
    let mut ids = vec![only_id(home)];
    screen.type_keys("hello\r");
    screen.wait_for("done with it");
    for (change, answers) in [("/clone\r", 2), ("/new\r", 1), ("/new\r", 1)] {
        screen.type_keys(change);
        let is_other = || !ids.contains(&only_id(home));
        crate::time_limit::until(crate::screen::TIMEOUT, is_other, || screen.text());
        ids.push(only_id(home));
        screen.type_keys("hello\r");
        screen.wait_until("the answer", |cells| {
            let text = cells.contents();
            text.matches("done with it").count() == answers && text.matches("▌ hello").count() == answers
        });
    }
    screen.type_keys("\x04");
    screen.wait_for("exit=");
    for id in ids {
        let (code, _, err) = run(home, &["send", &id, "run touch file"]);
        assert_eq!(code, Some(0), "{err}");
        // One answer, as it was meant; and nobody is asked.
        let (code, _, err) = run(home, &["wait", &id]);
        assert_eq!(code, Some(5), "{id}: {err}");
        assert!(home.join("work/file").exists(), "{id}");
        fs::remove_file(home.join("work/file")).unwrap();
    }
}

/// The session that is attached to has its rights, and another one that is picked there its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_picked_after_attaching_has_its_own_rights() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    let other = ended(home, &url, &[], "the other one");
    let first = ended(home, &url, &["--permission-mode", "plan", "--max-turns", "1"], "hello");
    for is_open in [false, true] {
        let line = format!("export TAU_PERMISSION_MODE=auto\n$TAU_BIN attach {first}");
        // One screen has it open, and the next one is attached to its process.
        let open = is_open.then(|| other_terminal(home, &line));
        open.iter().for_each(|open| open.wait_for("done with it"));
        let screen = other_terminal(home, &line);
        screen.wait_for("done with it");
        screen.wait_for("◇ plan");
        screen.type_keys("/resume\r");
        screen.wait_for("Sessions of this directory");
        screen.type_keys("other");
        screen.wait_for("the other one");
        screen.type_keys("\r");
        screen.wait_for(" · auto");
        screen.type_keys("run touch file\r");
        let file = home.join("work/file");
        crate::time_limit::until(crate::screen::TIMEOUT, || file.exists(), || screen.text());
        assert_eq!(run(home, &["wait", &other]).0, Some(0));
        fs::remove_file(&file).unwrap();
        for screen in open.iter().chain([&screen]) {
            screen.type_keys("\x04");
            screen.wait_for("exit=");
        }
        let (code, _, err) = run(home, &["send", &other, "run touch file"]);
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(run(home, &["wait", &other]).0, Some(0));
        assert!(file.exists());
        fs::remove_file(&file).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_is_shown_in_its_own_directory() {
    let (home, server) = (home(), obedient().await);
    let (home, url) = (home.path(), server.url());
    fs::create_dir_all(home.join("other")).unwrap();
    fs::write(home.join("work/of-the-work.txt"), "").unwrap();
    fs::write(home.join("other/of-the-other.txt"), "").unwrap();
    let id = ended(home, &url, &[], "hello");
    for line in
        [format!("$TAU_BIN attach {id}"), format!("$TAU_BIN --base-url {url} --model m --session {id}")]
    {
        let screen = other_terminal(home, &format!("cd ../other; {line}"));
        screen.wait_for("done with it");
        screen.wait_for("~/work");
        screen.type_keys("@of-the");
        screen.wait_for("of-the-work.txt");
        assert!(!screen.text().contains("of-the-other"), "{}", screen.text());
        screen.type_keys("\x15\x04");
        screen.wait_for("exit=");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_cannot_be_reached_is_named() {
    let (home, server) = (home(), Server::start(vec![stalls("begun")]).await);
    let (home, url) = (home.path(), server.url());
    let args = ["-p", "--base-url", &url, "--model", "m", "--session-id", "printed", "hello"];
    let mut printing = command(home, &args).stderr(std::process::Stdio::null()).spawn().unwrap();
    let end = std::time::Instant::now() + crate::screen::TIMEOUT;
    while server.requests().is_empty() {
        assert!(std::time::Instant::now() < end, "no request");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // As if it served its sessions elsewhere.
    wait_for_state(home, "printed", "running");
    fs::remove_file(home.join("tau/logs/live/printed.json")).unwrap();
    for args in [
        &["stop", "printed"][..],
        &["send", "printed", "more"],
        &["wait", "printed"],
        &["logs", "-f", "printed"],
    ] {
        let (code, _, err) = run(home, args);
        assert_eq!(code, Some(3), "{args:?}: {err}");
        let named =
            format!("process {} has this session open and cannot be reached from here", printing.id());
        assert!(err.contains(&named), "{args:?}: {err}");
    }
    printing.kill().unwrap();
    printing.wait_in_time("its end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_is_named() {
    let (home, server) = (home(), Server::start(vec![stalls("begun")]).await);
    let (home, url) = (home.path(), server.url());
    let (code, id, err) = run(home, &["-b", "--base-url", &url, "--model", "m", "hello"]);
    assert_eq!(code, Some(0), "{err}");
    let (id, pid) = (id.trim(), pid_of(home, id.trim()));
    kill_process(pid, Signal::STOP).unwrap();
    for args in [&["stop", id][..], &["send", id, "more"], &["logs", "-f", id]] {
        let (code, _, err) = run(home, args);
        assert_eq!(code, Some(3), "{args:?}: {err}");
        let named = format!("process {}, which has this session open, is suspended", pid.as_raw_nonzero());
        assert!(err.contains(&named), "{args:?}: {err}");
    }
    kill_process(pid, Signal::KILL).unwrap();
}
