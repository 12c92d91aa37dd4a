//! What a session has cost and what it ran is told at every way out: quit, another session, signals.

use std::path::{Path, PathBuf};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::live::only_id;
use crate::live_ends::process_of;
use crate::screen::{Screen, TIMEOUT};
use crate::support::processes::{alive, rare_sleep};
use crate::support::program::{body, calls_all, models_file, says, says_using, stalls, text_of};
use crate::support::server::{Act, Server};
use crate::time_limit::until;

/// Plays a user of a model that acts as `choose` says and costs a cent for 10 tokens; the shell shows what tau says at
/// its end. Returns what was played, and the number of requests.
async fn play<T: Send + 'static>(
    choose: impl Fn(&Value) -> Act + Send + Sync + 'static,
    play: impl FnOnce(&Screen, &dyn Fn() -> usize) -> T + Send + 'static,
) -> T {
    let server = Server::choosing(move |_, request| choose(&body(request))).await;
    let models =
        models_file(&server.url(), "context_window = 100000\ncost = { input = 1000.0, output = 0.0 }\n");
    tokio::task::spawn_blocking(move || {
        let script = format!(
            "mkdir -p \"$TAU_HOME\"; export TAU_PERMISSION_MODE=auto\n\
             printf '[helpers]\\nenabled = true\\n' >\"$TAU_HOME/config.toml\"\n\
             cat >\"$TAU_HOME/models.toml\" <<'END'\n{models}\nEND\n\
             \"$TAU_BIN\" --model own/m; echo \"exit=$?\"; cat"
        );
        let screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 110, 30);
        screen.wait_until("composer", |cells| crate::screen::composer(cells).is_some());
        play(&screen, &|| server.requests().len())
    })
    .await
    .unwrap()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.extend(path.extension().is_some_and(|end| end == "jsonl").then_some(path)),
        }
    }
}

/// The dollars of the requests in all sessions, and whether any are estimated.
fn kept(home: &Path) -> (f64, bool) {
    let mut sessions = Vec::new();
    files(&home.join("tau"), &mut sessions);
    let lines = sessions.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>()
    });
    let used = lines.map(|entry| match &entry["message"]["usage"] {
        Value::Null => entry["usage"].clone(),
        usage => usage.clone(),
    });
    let used: Vec<Value> = used.collect();
    let dollars = used.iter().filter_map(|usage| usage["cost"]["total"].as_f64()).sum();
    (dollars, used.iter().any(|usage| usage["estimated"] == true))
}

/// The dollars in the log of all sessions.
fn logged(home: &Path) -> f64 {
    let log = std::fs::read_to_string(home.join("tau/logs/spending.log")).unwrap();
    log.lines().map(|line| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap()).sum()
}

/// The dollars that tau has named at its end in this line, and whether it said that they are estimated.
fn told(screen: &Screen, what: &str) -> (f64, bool) {
    let text = screen.text();
    let line = text.lines().find_map(|line| line.split_once(what)).expect(&text).1;
    let (about, dollars) = line.split_once('$').unwrap();
    let dollars: String = dollars.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect();
    (dollars.parse().unwrap(), about == "about ")
}

fn is_same(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-4
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_question_under_way_counts_at_every_way_out() {
    let choose = |body: &Value| match text_of(body["messages"].as_array().unwrap().last().unwrap()) {
        last if last.contains("beside the work") => stalls("So far"),
        _ => says_using("Hello there.", 10),
    };
    for way in ["quit", "TERM", "HUP", "/new"] {
        play(choose, move |screen, _| {
            let home = screen.home().to_owned();
            let tau = process_of(&home, &only_id(&home));
            screen.type_keys("hi\r");
            screen.wait_for("Hello there.");
            screen.type_keys("/btw and why?");
            screen.wait_for_composer("/btw and why?");
            screen.type_keys("\r");
            screen.wait_for("So far");
            match way {
                "quit" => screen.type_keys("\x04"),
                "TERM" => kill_process(tau, Signal::TERM).unwrap(),
                "HUP" => kill_process(tau, Signal::HUP).unwrap(),
                command => {
                    screen.type_keys(command);
                    screen.wait_for_composer(command);
                    screen.type_keys("\r");
                    screen.wait_for("stopped");
                    screen.wait_until("another session", |cells| !cells.contents().contains("Hello there."));
                    screen.type_keys("\x04");
                }
            }
            screen.wait_for("exit=");
            let ((dollars, estimated), logged) = (kept(&home), logged(&home));
            assert!(estimated && dollars > 0.02 && is_same(dollars, logged), "{way}: {dollars} {logged}");
            // After another session, that of all is told.
            let (whole, about) =
                told(screen, if way == "/new" { "tau has cost " } else { "this session has cost " });
            assert!(about && is_same(whole, logged), "{way}: {whole} {logged}\n{}", screen.text());
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn quitting_stops_helpers_before_anything_is_waited_for() {
    let choose = |body: &Value| {
        let messages = body["messages"].as_array().unwrap();
        let is_helper = text_of(&messages[0]).contains("You are a helper");
        match is_helper {
            true => calls_all(&[("bash", json!({ "command": "sleep 0.02; date" }))], 10),
            false => calls_all(&["a", "b", "c"].map(|task| ("delegate", json!({ "task": task }))), 10),
        }
    };
    play(choose, |screen, count| {
        screen.type_keys("go\r");
        until(TIMEOUT, || count() > 12, || format!("no helper is at work: {}", screen.text()));
        let before = count();
        screen.type_keys("\x04");
        screen.wait_for("exit=");
        let (after, home) = (count() - before, screen.home());
        // They would continue for two seconds.
        assert!(after < 20, "{after} requests after the key");
        let ((whole, _), (dollars, _), logged) =
            (told(screen, "this session has cost "), kept(home), logged(home));
        assert!(is_same(whole, logged) && is_same(dollars, logged), "{whole} {dollars} {logged}");
        // Each request under way may have been cut before its answer began.
        let asked = count() as f64 / 100.0;
        assert!(logged <= asked + 1e-6 && asked - logged < 0.05, "{logged} of {asked}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_stopped_before_the_end_is_named_at_the_end() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let choose = move |_: &Value| calls_all(&[("bash", json!({ "command": command }))], 10);
    play(choose, move |screen, _| {
        screen.type_keys("go\r");
        until(TIMEOUT, || !alive(&nap).is_empty(), || screen.text());
        screen.type_keys("\x1b");
        until(TIMEOUT, || alive(&nap).is_empty(), || screen.text());
        screen.wait_for("■");
        screen.type_keys("\x04");
        screen.wait_for("exit=");
        let text = screen.text();
        let named = text
            .lines()
            .any(|line| line.contains("stopped process") && line.contains(&format!("sleep {nap}")));
        assert!(named, "{text}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_board_marks_a_cost_that_is_estimated() {
    play(
        |_| says("Hello there."),
        |screen, _| {
            screen.type_keys("hi\r");
            screen.wait_for("Hello there.");
            screen.type_keys("\x18l");
            screen.wait_for("own/m · ~$");
            screen.type_keys("q");
            screen.wait_until("no board", |cells| !cells.contents().contains("own/m · ~$"));
            screen.type_keys("\x04");
            screen.wait_for("exit=");
        },
    )
    .await;
}
