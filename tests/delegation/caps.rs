//! Limits of money and tokens hold for every request of a tree, just before it is sent: after a wait for a retry, after
//! a cut answer, below a goal, over attempts, and where a provider reports no usage.

use serde_json::{Value, json};

use super::{Asked, Home, delegate};
use crate::background_jobs::wire::Client;
use crate::support::program::{calling, calls_all, run, says, says_using};
use crate::support::server::{Act, answer, stream};
use crate::time_limit::InTime;

/// A call of a command, for which 10 tokens cost 1 cent.
fn works(command: &str, tokens: u64) -> Act {
    calls_all(&[("bash", json!({ "command": command }))], tokens)
}

/// Has helpers do these tasks, and then says that it is done.
fn asks_helpers(asked: &Asked, tasks: &[Value]) -> Act {
    match asked.results().len() {
        0 => calls_all(&tasks.iter().cloned().map(delegate).collect::<Vec<_>>(), 10),
        _ => says_using("done", 10),
    }
}

/// An answer that is cut after its usage was reported.
fn cut(tokens: u64) -> Act {
    let delta = json!({"choices": [{"index": 0, "delta": {"content": "The first half, "}}]});
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens});
    let usage = json!({"choices": [], "usage": usage});
    Act::Reset(stream(&format!("data: {delta}\n\ndata: {usage}\n\n")))
}

#[tokio::test]
async fn requests_that_wait_for_a_retry_are_not_sent_above_the_limit() {
    for (setting, flag) in [("", "--max-cost"), ("session_cost = 0.45\n", "")] {
        let refused = tempfile::tempdir().unwrap();
        let place = refused.path().to_owned();
        let until_both = format!(
            "for i in $(seq 200); do [ $(ls {} | wc -l) = 2 ] && break; sleep 0.05; done",
            place.display()
        );
        let home = Home::new(move |asked| match (asked.is_helper(), asked.task()) {
            (false, _) => {
                let tasks = ["one waits", "other waits", "works"];
                asks_helpers(asked, &tasks.map(|task| json!({ "task": task })))
            }
            (true, task) if task.contains("waits") => {
                std::fs::write(place.join(task), "").unwrap();
                let busy = "{\"error\": {\"message\": \"overloaded\"}}";
                Act::Send(answer("503 Service Unavailable", "retry-after: 3\r\n", busy.as_bytes()))
            }
            (true, _) if asked.results().is_empty() => works(&until_both, 10),
            (true, _) => works("true", 600),
        })
        .await;
        let config = home.config().join("config.toml");
        let all = format!("{setting}{}", std::fs::read_to_string(&config).unwrap());
        std::fs::write(config, all).unwrap();
        let arguments = [flag, "0.45", "go"];
        let ended = home.print(&arguments[if flag.is_empty() { 2 } else { 0 }..]).await;
        assert_eq!(ended.code, 5, "{setting}{flag}: {}", ended.err);
        let asked: Vec<String> = home.of_helpers().iter().map(Asked::task).collect();
        let waiting = asked.iter().filter(|task| task.contains("waits")).count();
        assert_eq!((waiting, asked.len()), (2, 4), "{setting}{flag}: {asked:?}");
    }
}

#[tokio::test]
async fn the_usage_of_a_cut_answer_counts_before_the_next_request_is_decided() {
    let costs = "this run has reached its cost limit ($0.6000 so far)";
    let tokens = "this run has reached its token limit (600 tokens so far)";
    for (limit, why, asked) in [
        (["--max-cost", "0.05"], costs, 1),
        (["--max-tokens", "50"], tokens, 1),
        (["--max-cost", "1"], "this run has reached its cost limit ($1.2000 so far)", 2),
    ] {
        let home = Home::new(|_| cut(600)).await;
        let ended = home.print(&[&limit[..], &["go"]].concat()).await;
        assert_eq!((ended.code, home.asked().len()), (5, asked), "{limit:?}: {}", ended.err);
        assert!(ended.err.contains(why), "{limit:?}: {}", ended.err);
    }
    let home = Home::new(|asked| match asked.is_helper() {
        true => cut(600),
        false => asks_helpers(asked, &[json!({ "task": "x", "dollars": 0.05 })]),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, home.of_helpers().len()), (0, 1), "{}", ended.err);
    let result = home.parent().results()[0].clone();
    assert!(result.contains("this helper has reached its cost limit ($0.6000 so far)"), "{result}");
}

#[tokio::test]
async fn the_limit_of_a_goal_holds_in_helpers() {
    let home = Home::new(|asked| match asked.is_helper() {
        true => works("true", 100),
        false => asks_helpers(asked, &[json!({ "task": "x" })]),
    })
    .await;
    std::fs::write(home.config().join("config.toml"), "goal_cost = 0.35\n[helpers]\nenabled = true\n")
        .unwrap();
    let ended = home.print(&["--until", "false", "go"]).await;
    assert_eq!((ended.code, home.asked().len()), (5, 5), "{}", ended.err);
    assert!(ended.err.contains("stopped: the goal has cost $0.4100; its limit is $0.35"), "{}", ended.err);
    let told = home.sessions().iter().filter(|(_, text)| text.contains("the goal has cost")).count();
    assert_eq!(told, 1, "the helper's end says whose limit it was, in its parent's session");
}

#[tokio::test]
async fn attempts_have_one_budget_with_their_helpers() {
    let home = Home::new(|asked| match asked.is_helper() {
        true => works("true", 100),
        false => asks_helpers(asked, &[json!({ "task": "x" })]),
    })
    .await;
    let ended = run(&mut home.tau(&["-n", "3", "--max-cost", "1", "--until", "false", "go"]), None).await;
    assert_eq!(ended.code, 5, "{}", ended.err);
    // Requests under way are answered: at most one in each attempt.
    let asked = home.of_helpers().len();
    assert!((10..=13).contains(&asked), "{asked}: {}", ended.err);
    assert!(ended.err.contains("stopped: all attempts together have cost $1."), "{}", ended.err);
    assert!(ended.err.contains("; --max-cost allows $1"), "{}", ended.err);
}

#[tokio::test]
async fn statistics_say_that_usage_is_estimated() {
    for (act, estimated) in [(says("done"), json!(true)), (says_using("done", 10), Value::Null)] {
        let home = Home::new(move |_| act.clone()).await;
        let mut client = Client::of(home.tau(&["--mode", "rpc"]));
        client.send(json!({ "id": "1", "type": "prompt", "message": "go" })).await;
        client.record("the end", |record| record["type"] == "agent_settled").await;
        let stats = client.ask(json!({ "id": "2", "type": "get_session_stats" })).await;
        assert_eq!(stats["data"]["estimated"], estimated, "{stats}");
        client.child.kill().in_time("the end").await.unwrap();
    }
}

#[tokio::test]
async fn usage_that_is_not_reported_is_estimated_and_limited() {
    for limit in [["--max-cost", "0.5"], ["--max-tokens", "300"]] {
        let home = Home::new(|_| calling(&[("bash", json!({ "command": "true" }))])).await;
        let ended = run(&mut home.tau(&[&["--json"], &limit[..], &["go"]].concat()), None).await;
        assert_eq!((ended.code, home.asked().len()), (5, 1), "{limit:?}: {}", ended.err);
        let said = "the provider has not said how many tokens m has used";
        assert_eq!(ended.err.matches(said).count(), 1, "{limit:?}: {}{}", ended.err, ended.out);
        let end: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
        let usage = &end["usage"];
        assert_eq!(usage["estimated"], true, "{end}");
        assert!(usage["input"].as_u64().unwrap() > 300 && end["cost"].as_f64().unwrap() > 0.3, "{end}");
    }
    let home = Home::new(|asked| match asked.is_helper() {
        true => calling(&[("bash", json!({ "command": "true" }))]),
        false => asks_helpers(asked, &[json!({ "task": "x", "dollars": 0.01 })]),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, home.of_helpers().len()), (0, 1), "{}", ended.err);
    assert_eq!(ended.err.matches("has not said how many tokens").count(), 1, "{}", ended.err);
    assert!(home.parent().results()[0].contains(" tokens, about $"), "{:?}", home.parent().results());
    // Without a limit nothing depends on it.
    let home = Home::new(|_| says("done")).await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, ended.err.as_str()), (0, ""));
}
