//! Whoever waits for a session, or for an answer of it, is told why, and waits for nothing that does not come.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::answering;
use crate::live::{Home, command, only_id, other_terminal, texts, wait_for_state};
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT};
use crate::support::program::{body, calls, models_file, says, stalls};
use crate::support::server::{Act, Server, answer};
use crate::time_limit::{EndInTime, JoinInTime, RunInTime, in_time};

/// A home whose model is at this address, and its session in the background, which any process can continue.
pub fn begun_with(url: &str) -> (Home, String) {
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/models.toml"), models_file(url, "")).unwrap();
    let (code, out, err) = home.run(&["-b", "--model", "own/m", "begin"]);
    assert_eq!(code, Some(0), "{err}");
    (home, out.trim().to_owned())
}

/// Whatever the screen has asked is answered with the reason, when its session ends and afterwards.
#[test]
fn a_screen_waits_for_no_answer_of_a_killed_session() {
    let (home, id) = begun_with(&answering(Duration::ZERO, "done"));
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("done");
    // The footer says it, too.
    let is_down =
        |text: &str| text.matches("not connected").count() > text.matches("not connected: send").count();
    let has_composer = |cells: &vt100::Screen| crate::screen::composer(cells).is_some();
    let refused = "not connected: send something to open the session again";
    let commands = [
        "/jobs", "/diff", "/undo", "/redo", "/tree", "/fork", "/context", "/extensions", "/permissions",
        "/export own.md",
    ];
    for command in commands {
        let process = process_of(home.0.path(), &id);
        kill_process(process, Signal::STOP).unwrap();
        screen.type_keys(&format!("{command}\r"));
        screen.wait_until("the command was taken", |cells| {
            crate::screen::composer(cells).is_none_or(|text| !text.contains(command))
        });
        kill_process(process, Signal::KILL).unwrap();
        screen.wait_until(&format!("no wait for {command}"), |cells| {
            let text = cells.contents();
            let is_told = text.contains(refused) || text.contains("send something to open it again");
            is_down(&text) && !text.contains("loading") && is_told
        });
        // It is answered at once while there is no connection, too.
        screen.type_keys("\x1b[27u");
        screen.wait_until("the composer", has_composer);
        screen.type_keys(&format!("{command}\r"));
        screen.wait_until(&format!("an answer to {command}"), |cells| {
            !cells.contents().contains("loading") && cells.contents().contains(refused)
        });
        screen.type_keys("\x1b[27u");
        screen.wait_until("the composer", has_composer);
        screen.type_keys(&format!("after {command} again\r"));
        screen.wait_until("the connection", |cells| !is_down(&cells.contents()));
        screen.wait_until("the answer", |cells| {
            let text = cells.contents();
            text.split(&format!("after {command} again")).nth(1).is_some_and(|rest| rest.contains("done"))
        });
    }
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
}

/// A provider that accepts no requests for an hour.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_session_that_waits_for_its_provider_is_told() {
    let full = answer(
        "429 Too Many Requests",
        "retry-after: 3600\r\n",
        b"{\"error\":{\"message\":\"no quota left\"}}",
    );
    let server = Server::choosing(move |_, _| Act::Send(full.clone())).await;
    let (home, id) = begun_with(&server.url());
    let told = "the session is waiting for the provider: ";
    for words in [["wait", &id].as_slice(), &["logs", "-f", &id]] {
        let mut follower = home.command(words).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(follower.stderr.take().unwrap());
        let (told_to, told_line) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            errors.read_line(&mut line).unwrap();
            told_to.send(line)
        });
        let line = told_line.recv_timeout(TIMEOUT).expect("a line");
        assert!(line.contains(told) && line.contains("it tries again in "), "{words:?}: {line}");
        let rows: Value = serde_json::from_str(&home.run(&["sessions", "--json"]).1).unwrap();
        assert_eq!(rows[0]["state"], "running", "{rows}");
        assert_eq!(home.run(&["send", &id, "more"]).0, Some(0));
        assert_eq!(home.run(&["stop", &id]).0, Some(0));
        let ended = follower.wait_in_time("its end");
        let expected = if words.first() == Some(&"wait") { 130 } else { 0 };
        assert_eq!(ended.code(), Some(expected), "{words:?}");
        let (code, _, err) = home.run(&["send", &id, "again"]);
        assert_eq!(code, Some(0), "{err}");
        home.wait_for_state(&id, "running");
    }
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
}

/// What is a command on its screen is no message for the model.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_screen_is_not_sent_as_a_message() {
    let server = Server::start(vec![says("done")]).await;
    let (home, id) = begun_with(&server.url());
    home.wait_for_state(&id, "done");
    let before = server.requests().len();
    for text in ["/help", "/goal cargo test", "/compact keep the plan", "/usage", "!ls"] {
        let (code, out, err) = home.run(&["send", &id, text]);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{text}: {err}");
        assert!(err.contains("on the screen") || err.contains("of the screen"), "{text}: {err}");
        assert!(err.contains("open the session (tau attach ID)"), "{text}: {err}");
    }
    let board = other_terminal(home.0.path(), "$TAU_BIN board");
    board.wait_for("begin");
    board.type_keys("m");
    board.wait_for("enter sends · esc goes back");
    board.type_keys("/help\r");
    board.wait_for("`/help` is a command of the screen");
    assert_eq!(server.requests().len(), before);
}

/// A compaction is work: it is listed, continues when the screen is left, and is stopped.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_is_work() {
    let server = Server::choosing(|_, request| {
        let is_summary = body(request)["messages"][0].to_string().contains("summar");
        if is_summary { stalls("a summary") } else { says("done with it") }
    })
    .await;
    let script = format!("\"$TAU_BIN\" --base-url {} --model m\necho \"exit=$?\"; cat", server.url());
    let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 80, 24);
    screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    let home = screen.home().to_owned();
    let id = only_id(&home);
    for text in ["one", "two"] {
        screen.type_keys(text);
        screen.type_keys("\r");
        screen.wait_until(text, |cells| {
            cells.contents().matches("done with it").count() == usize::from(text == "two") + 1
        });
        wait_for_state(&home, &id, "idle");
    }
    screen.type_keys("/compact\r");
    wait_for_state(&home, &id, "running");
    screen.type_keys("\x18b");
    screen.wait_for(&format!("the session continues: tau attach {id}"));
    wait_for_state(&home, &id, "running");
    let run = |args: &[&str]| texts(&command(&home, args).output_in_time());
    let (code, _, err) = run(&["stop", &id]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(run(&["wait", &id]).0, Some(0), "the run before it was complete");
}

/// Also if nothing was said in it: what the command prints is kept, and so is the draft.
#[test]
fn a_command_that_is_left_running_in_a_new_session_is_kept() {
    let script = "\"$TAU_BIN\" --model demo\necho \"exit=$?\"; cat";
    let first = Screen::program(Path::new("/bin/bash"), &["-c", script], 80, 24);
    first.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
    let home = first.home().to_owned();
    let id = only_id(&home);
    let run = |args: &[&str]| texts(&command(&home, args).output_in_time());
    first.type_keys("!until [ -e go ]; do sleep 0.1; done; echo RES''ULT\r");
    wait_for_state(&home, &id, "running");
    // Before it is left, too, `tau sessions` shows what runs.
    let (_, listed, _) = run(&["sessions", "--json"]);
    assert!(listed.contains(&id), "{listed}");
    first.type_keys("a draft");
    first.wait_for("a draft");
    first.type_keys("\x18b");
    first.wait_for(&format!("the session continues: tau attach {id}"));
    first.wait_for("exit=0");
    let (_, listed, _) = run(&["sessions"]);
    assert_eq!(listed.matches("running").count(), 1, "{listed}");
    let waiting = std::thread::spawn({
        let (home, id) = (home.clone(), id.clone());
        move || texts(&command(&home, &["wait", &id]).output_in_time())
    });
    std::thread::sleep(Duration::from_millis(300));
    std::fs::write(home.join("work/go"), "").unwrap();
    let (code, out, err) = waiting.join_in_time("tau wait");
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    let again = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
    again.wait_for("RESULT");
    again.wait_for("a draft");
    again.type_keys("\x15\x04");
    again.wait_for("exit=0");
}

/// The run continues in its process, which has the next session open, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_screen_that_leaves_a_session_at_work_is_connected_to_the_next_one() {
    for command in ["/new", "/clone", "/fork"] {
        let server = Server::start(vec![stalls("begun"), says("in the next one")]).await;
        let (home, id) = begun_with(&server.url());
        let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
        screen.wait_for("begun");
        screen.type_keys(&format!("{command}\r"));
        if command == "/fork" {
            screen.wait_for("Fork before");
            screen.type_keys("\r");
        }
        // The next session has nothing of the answer.
        screen.wait_until("the next session", |cells| !cells.contents().contains("begun"));
        screen.wait_for("the run in the previous session continues");
        screen.type_keys("and here?\r");
        screen.wait_for("in the next one");
        let text = screen.text();
        assert!(!text.contains("not connected") && !text.contains("has ended"), "{command} {text}");
        wait_for_state(home.0.path(), &id, "running");
        assert_eq!(home.run(&["stop", &id]).0, Some(0));
        screen.type_keys("\x04");
        screen.wait_for("exit=0");
    }
}

/// A session of this home that is not one of these.
fn next_session(home: &Path, known: &str) -> String {
    let mut found = None;
    let mut look = || {
        let files = fs::read_dir(home.join("tau/logs/live")).unwrap().map(|entry| entry.unwrap().path());
        let records = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut ids = records.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        found = ids.find(|id| id != known);
        found.is_some()
    };
    crate::time_limit::until(TIMEOUT, &mut look, || "there is no other session".to_owned());
    found.unwrap()
}

/// The process of the first screen serves it on, and the shell of that screen gets its prompt back.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_another_screen_began_outlives_the_screen_of_its_process() {
    for is_quit in [true, false] {
        let server = Server::start(vec![stalls("begun")]).await;
        let mut owner = Screen::prepared("true", &format!("--base-url {} --model m", server.url()), 80, 24);
        let home = owner.home().to_owned();
        let id = only_id(&home);
        let screen = other_terminal(&home, &format!("$TAU_BIN attach {id}"));
        screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        screen.type_keys("/new\r");
        let next = next_session(&home, &id);
        // Enter is not taken while the screen changes to the new session; what is typed stays.
        screen.type_keys("work on");
        screen.wait_for("> work on");
        screen.press_until("\r", "begun");
        wait_for_state(&home, &next, "running");
        if is_quit {
            owner.type_keys("\x04");
            owner.wait_for("a session that another screen began continues: tau attach");
            assert!(owner.wait_exit().success());
        } else {
            owner.close();
        }
        crate::time_limit::until(
            TIMEOUT,
            || !home.join(format!("tau/logs/live/{id}.json")).exists(),
            || "the session of the first screen stays".to_owned(),
        );
        wait_for_state(&home, &next, "running");
        let run = |args: &[&str]| texts(&command(&home, args).output_in_time());
        let (code, _, err) = run(&["stop", &next]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(!screen.text().contains("has ended"), "{}", screen.text());
        screen.type_keys("\x04");
        screen.wait_for("the session continues");
        screen.wait_for("exit=0");
        assert_eq!(run(&["wait", &next]).0, Some(130));
    }
}

/// Once for each time, and for what waits already.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_follows_a_session_that_waits_is_told() {
    let touch = |name: &str| calls("bash", &json!({ "command": format!("touch {name}") }));
    let server = Server::start(vec![touch("one"), touch("two"), says("all is made")]).await;
    let home = Home::new();
    fs::create_dir_all(home.at("tau")).unwrap();
    fs::write(home.at("tau/models.toml"), models_file(&server.url(), "")).unwrap();
    let (code, out, err) = home.run(&["-b", "--permission-mode", "ask", "--model", "own/m", "begin"]);
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    wait_for_state(home.0.path(), id, "waiting");
    let mut following = home.command(&["logs", "-f", id]);
    let mut following = following.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = Some(BufReader::new(following.stderr.take().unwrap()));
    let mut next_line = || {
        let mut from = errors.take().unwrap();
        let (line, from) = in_time("a line of tau logs", move || {
            let mut line = String::new();
            from.read_line(&mut line).unwrap();
            (line, from)
        });
        errors = Some(from);
        line
    };
    let told = format!("tau: the session waits for you: tau attach {id}\n");
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    for (asked, next) in [("touch one", "touch two"), ("touch two", "all is made")] {
        assert_eq!(next_line(), told);
        screen.wait_for(asked);
        screen.press_until("y", next);
    }
    assert_eq!(next_line(), "");
    let (code, out, _) = texts(&following.output_in_time("the end of the run"));
    assert_eq!((code, out.trim()), (Some(0), "all is made"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_suspended_process_is_told() {
    let server = Server::start(vec![stalls("begun")]).await;
    let (home, id) = begun_with(&server.url());
    wait_for_state(home.0.path(), &id, "running");
    let attached = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    attached.wait_for("begun");
    let process = process_of(home.0.path(), &id);
    kill_process(process, Signal::STOP).unwrap();
    attached.wait_for("is suspended");
    let mut waiting = home.command(&["wait", &id]);
    let mut waiting = waiting.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("is suspended; `fg` in its terminal or `kill -CONT"), "{said}");
    let screen = other_terminal(home.0.path(), &format!("$TAU_BIN attach {id}"));
    screen.wait_for("is suspended");
    kill_process(process, Signal::CONT).unwrap();
    screen.wait_for("begun");
    assert_eq!(home.run(&["stop", &id]).0, Some(0));
    assert_eq!(waiting.wait_in_time("tau wait").code(), Some(130));
    screen.type_keys("\x04");
    screen.wait_for("exit=0");
}
