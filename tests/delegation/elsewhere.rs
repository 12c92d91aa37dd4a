//! A helper at work, reached from other processes.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::screen::{bash, play};
use super::{Asked, delegate};
use crate::live::{command, other_terminal, texts};
use crate::live_requests::post;
use crate::support::processes::{alive, rare_sleep};
use crate::support::program::{calls_all, says_using};
use crate::time_limit::RunInTime;

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_at_work_is_listed_watched_and_steered_from_elsewhere() {
    let choose = |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "count the files" }))], 10),
        (true, 0) => bash("until test -e go; do sleep 0.05; done; echo counted"),
        (true, 1) => bash("touch second"),
        (true, _) => says_using("There are seven.", 10),
        _ => says_using("All done.", 10),
    };
    let asked = play("--permission-mode ask", choose, |screen| {
        let home = screen.home().to_owned();
        screen.type_keys("go\r");
        screen.wait_for("until test -e go");
        std::thread::sleep(Duration::from_millis(600));
        screen.type_keys("y");
        screen.wait_for("bash until test -e go");
        screen.type_keys("\x18l");
        screen.wait_for("↳ work 1: count the files");
        screen.wait_for("2 running");
        // It is one of the live sessions, and names its parent.
        let helper = live_helper(&home);
        let id = helper["id"].as_str().unwrap().to_owned();
        let listed = |args: &[&str]| texts(&command(&home, args).output_in_time()).1;
        let rows: Vec<Value> = serde_json::from_str(&listed(&["sessions", "--json"])).unwrap();
        let row = rows.iter().find(|row| row["id"] == id.as_str()).unwrap();
        assert_eq!((&row["helper"], &row["parentId"]), (&json!("work"), &helper["parent"]), "{row}");
        assert!(listed(&["sessions"]).contains("↳ work: count the files"));
        let other = other_terminal(&home, &format!("\"$TAU_BIN\" attach {id}"));
        other.wait_for("until test -e go");
        // Where it is says its directory, and not by which socket it is reached.
        other.wait_for("/work");
        assert!(!other.text().contains(".sock"), "{}", other.text());
        // Its rights are those of its parent.
        other.type_keys("\x1b[Z");
        other.wait_for("a helper accepts only messages and answers");
        let (code, _, err) = texts(&command(&home, &["send", &id, "and be quick"]).output_in_time());
        assert_eq!(code, Some(0), "{err}");
        std::fs::write(home.join("work/go"), "").unwrap();
        // What it asks is answered there as well as here.
        other.wait_for("touch second");
        std::thread::sleep(Duration::from_millis(700));
        other.type_keys("y");
        screen.type_keys("\x1b");
        screen.wait_for("All done.");
        assert!(home.join("work/second").exists());
        assert!(!screen.text().contains("Run this command?"), "{}", screen.text());
        wait_until_gone(&home);
    })
    .await;
    let told = asked
        .iter()
        .any(|asked| asked.is_helper() && asked.body["messages"].to_string().contains("and be quick"));
    assert!(told, "the message did not reach the helper");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_is_stopped_alone_from_elsewhere() {
    let nap = rare_sleep();
    let command_of_helper = format!("sleep {nap}");
    let choose = move |asked: &Asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "take long" }))], 10),
        (true, _) => bash(&command_of_helper),
        _ => says_using("Then without it.", 10),
    };
    let looked = nap.clone();
    let asked = play("--permission-mode auto", choose, move |screen| {
        let home = screen.home().to_owned();
        screen.type_keys("go\r");
        screen.wait_for(&format!("bash sleep {looked}"));
        let helper = live_helper(&home);
        // Requests for what is its parent's are refused, not left without an answer.
        for (path, body) in [("/undo", json!({})), ("/compact", json!({})), ("/worktree", json!({}))] {
            let answer = post(&helper, path, &body);
            assert!(answer.starts_with("HTTP/1.1 409 ") && answer.contains("a helper takes"), "{answer}");
        }
        let id = helper["id"].as_str().unwrap().to_owned();
        let (code, _, err) = texts(&command(&home, &["stop", &id]).output_in_time());
        assert_eq!(code, Some(0), "{err}");
        screen.wait_for("Then without it.");
        assert!(alive(&looked).is_empty());
        wait_until_gone(&home);
    })
    .await;
    assert!(!asked.last().unwrap().is_helper());
}

/// The record of the only helper at work.
fn live_helper(home: &Path) -> Value {
    let begun = Instant::now();
    loop {
        if let Some(record) = live_helpers(home).pop() {
            return record;
        }
        assert!(begun.elapsed() < crate::time_limit::SOON, "no helper is listed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_until_gone(home: &Path) {
    crate::time_limit::until(
        crate::time_limit::SOON,
        || live_helpers(home).is_empty(),
        || "the helper is still listed".to_owned(),
    );
}

fn live_helpers(home: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(home.join("tau/logs/live")).into_iter().flatten().flatten();
    let read = |path: PathBuf| serde_json::from_slice::<Value>(&std::fs::read(path).ok()?).ok();
    files.filter_map(|file| read(file.path())).filter(|record| record["parent"].is_string()).collect()
}
