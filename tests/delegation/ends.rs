//! What the end of a run says of the processes that it stopped, of its cost, and of whose limit it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Home, bash, delegate};
use crate::support::processes::{alive, gone, rare_sleep};
use crate::support::program::{calls_all, says_using};
use crate::time_limit::{SOON, until};

/// The only session file of a home.
fn session(folder: &Path) -> Option<PathBuf> {
    std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).find_map(|path| {
        match path.is_dir() {
            true => session(&path),
            false => path.extension().is_some_and(|end| end == "jsonl").then_some(path),
        }
    })
}

/// A session with a goal of one minute that has used most of it, in which a command hangs, of a helper or not.
async fn ended_by_time_of_goal(of_helper: bool) {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let home =
        Home::new(move |asked| match (asked.is_helper(), asked.body.to_string().contains("hang now")) {
            (false, false) => says_using("Hello.", 10),
            (false, true) if of_helper => calls_all(&[delegate(json!({ "task": "hang now" }))], 10),
            _ => bash(&command),
        })
        .await;
    let config = home.config().join("config.toml");
    let all = format!("goal_minutes = 1\n{}", std::fs::read_to_string(&config).unwrap());
    std::fs::write(config, all).unwrap();
    assert_eq!(home.print(&["hi"]).await.code, 0);
    let file = session(&home.config().join("sessions")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let goal = json!({ "command": "false", "state": "paused", "rounds": 1, "milliseconds": 54_000 });
    let entry = json!({
        "type": "custom", "customType": "tau.goal", "data": goal, "id": "0badcafe", "parentId": last["id"],
        "timestamp": "2026-01-02T03:04:05.678Z",
    });
    std::fs::write(&file, format!("{text}{entry}\n")).unwrap();
    let ended = home.print(&["--continue", "--until", "false", "hang now"]).await;
    assert_eq!(ended.code, 5, "{}", ended.err);
    let stopped = ended.err.lines().filter(|line| line.starts_with("tau: stopped process "));
    let named: Vec<&str> = stopped.filter(|line| line.ends_with(&format!(": sleep {nap}"))).collect();
    assert_eq!(named.len(), 1, "{of_helper}: {}", ended.err);
    assert!(ended.err.contains("stopped: the goal has taken 1 min, its limit"), "{}", ended.err);
    assert!(ended.err.contains("tau: this session has cost $0.0"), "{}", ended.err);
    gone(&nap).await;
}

#[tokio::test]
async fn the_time_of_a_goal_is_named_and_so_is_what_it_stopped() {
    tokio::join!(ended_by_time_of_goal(false), ended_by_time_of_goal(true));
}

#[tokio::test]
async fn a_normal_end_that_stops_a_job_says_what_the_session_has_cost() {
    let nap = rare_sleep();
    let command = format!("sleep {nap}");
    let home = Home::new(move |asked| match asked.results().len() {
        0 => calls_all(&[("bash", json!({ "command": command, "background": true }))], 10),
        _ => says_using("done", 10),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains(&format!(" of job 1: sleep {nap}\n")), "{}", ended.err);
    assert!(ended.err.ends_with("tau: this session has cost $0.0200\n"), "{}", ended.err);
    gone(&nap).await;
}

/// A command has a tenth of a second to end when the user stops the work.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_tree_waits_for_no_command() {
    let nap = rare_sleep();
    let command = format!(
        "mkfifo begun.pipe; trap 'read -t 0.7 <>begun.pipe; touch late' TERM; touch begun; sleep {nap}; sleep {nap}"
    );
    let background = json!({ "command": command.replace("begun", "other"), "background": true });
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, _) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, 0) => calls_all(&[("bash", background.clone())], 10),
        (true, _) => bash(&command),
    })
    .await;
    let mut client = crate::background_jobs::wire::Client::of({
        let mut command = home.tau(&["--mode", "rpc"]);
        command.stdout(std::process::Stdio::piped());
        command
    });
    client.send(json!({ "type": "prompt", "id": "1", "message": "go" })).await;
    let work = home.work();
    let runs = || work.join("begun").exists() && work.join("other").exists();
    tokio::task::block_in_place(|| until(SOON, runs, || "the commands do not start".to_owned()));
    client.send(json!({ "type": "abort", "id": "2" })).await;
    client.record("the end", |record| record["type"] == "agent_settled").await;
    gone(&nap).await;
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    assert!(alive(&nap).is_empty() && !work.join("late").exists());
}

#[tokio::test]
async fn what_ended_with_a_helper_is_named_at_the_end() {
    let (job, left) = (rare_sleep(), rare_sleep());
    let begins = json!({ "command": format!("setsid -f sleep {left} >/dev/null 2>&1; touch begun; sleep {job}"), "background": true });
    let home = Home::new(move |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "serve" }))], 10),
        (true, 0) => calls_all(&[("bash", begins.clone())], 10),
        (true, 1) => bash("until test -e begun; do sleep 0.02; done"),
        (false, 1) => bash("true"),
        _ => says_using("done", 10),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    for nap in [&job, &left] {
        let is_named =
            |line: &str| line.contains("stopped process") && line.contains(&format!("sleep {nap}"));
        assert!(ended.err.lines().any(is_named), "{nap}: {}", ended.err);
        assert!(alive(nap).is_empty());
    }
}
