//! Jobs and their sessions: the model has those of its own, and learns after a crash what became of them.

use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use super::wire::Client;
use super::{Home, background, jobs};
use crate::support::processes::{alive, gone, kill, rare_sleep};
use crate::support::program::{says, stalls, text_of};
use crate::time_limit::{InTime, SOON};

fn reports(home: &Home, request: usize) -> String {
    let texts: Vec<String> = home.messages(request).iter().map(text_of).collect();
    texts.into_iter().filter(|text| text.starts_with("[tau] job ")).collect::<Vec<_>>().join("\n\n")
}

#[tokio::test]
async fn after_a_crash_the_model_is_told_once_what_became_of_its_jobs() {
    let (runs, ends, known, further) = (rare_sleep(), rare_sleep(), rare_sleep(), rare_sleep());
    let home = Home::new(vec![
        background(&format!("sleep {known}")),
        jobs(json!({ "job": 1, "stop": true })),
        background(&format!("sleep {runs}; true")),
        background(&format!("sleep {ends}")),
        stalls("I wait"),
        background(&format!("sleep {further}")),
        says("I see."),
        says("Again."),
    ])
    .await;
    let mut child = home.tau(&["-p", "go"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while home.server.requests().len() < 5 {
        assert!(begun.elapsed() < SOON, "the last request");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    child.kill().in_time("the end").await.unwrap();
    kill(&ends).await;
    let left = alive(&runs);
    assert_eq!(left.len(), 2, "the shell and its child: {left:?}");
    let resumed = home.tau(&["-p", "--continue", "what now"]).output().in_time("the end").await.unwrap();
    assert_eq!(resumed.status.code(), Some(0), "{}", String::from_utf8_lossy(&resumed.stderr));
    let told = reports(&home, 5);
    let [second, third] = told.split("\n\n").collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert!(second.starts_with("[tau] job 2 of before: it still runs, but tau ended unexpectedly"), "{told}");
    assert!(second.ends_with(&format!("command: sleep {runs}; true")), "{told}");
    for (pid, _) in &left {
        assert!(second.contains(&format!("\nprocess {pid}: ")), "{told}");
    }
    assert!(third.starts_with("[tau] job 3 of before: it no longer runs: tau ended unexpectedly"), "{told}");
    // No number is used twice.
    assert!(home.last(6).contains("running in the background as job 4"), "{}", home.last(6));
    let again = home.tau(&["-p", "--continue", "and now"]).output().in_time("the end").await.unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(reports(&home, 7).matches(" of before: ").count(), 2, "told once: {}", reports(&home, 7));
    kill(&runs).await;
    gone(&further).await;
}

#[tokio::test]
async fn the_model_of_another_session_has_no_part_in_a_job() {
    let nap = rare_sleep();
    let home = Home::new(vec![
        background(&format!("sleep {nap}")),
        says("It runs."),
        jobs(json!({})),
        jobs(json!({ "job": 1, "stop": true })),
        says("There is none."),
    ])
    .await;
    let mut client = Client::start_with(&home, &[]);
    let settled = |record: &Value| record["type"] == "agent_settled";
    client.ask(json!({ "type": "prompt", "id": "1", "message": "go" })).await;
    client.record("the end", settled).await;
    let own = client.ask(json!({ "type": "get_jobs", "id": "2" })).await;
    assert_eq!(own["data"]["jobs"][0].get("ofOtherSession"), None, "{own}");
    assert_eq!(client.ask(json!({ "type": "new_session", "id": "3" })).await["success"], true);
    let other = client.ask(json!({ "type": "get_jobs", "id": "4" })).await;
    assert_eq!(other["data"]["jobs"][0]["ofOtherSession"], true, "{other}");
    client.ask(json!({ "type": "prompt", "id": "5", "message": "stop it" })).await;
    client.record("the end", settled).await;
    assert_eq!((home.last(3).as_str(), alive(&nap).len()), ("no jobs", 1));
    assert_eq!(home.last(4), "jobs: no job 1; this session has no jobs");
    drop(client.child.stdin.take());
    assert!(client.child.wait().in_time("its end").await.unwrap().success());
    gone(&nap).await;
}
