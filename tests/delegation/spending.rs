//! Limits of cost over more than one prompt: of a session with its helpers, and of all sessions in 24 hours.

use serde_json::{Value, json};

use super::{Asked, Home, delegate};
use crate::background_jobs::wire::Client;
use crate::support::program::{calls_all, run, says_using};
use crate::support::server::Act;

/// A home with these settings, in which 10 tokens cost 1 cent.
async fn home(settings: &str, choose: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Home {
    let home = Home::new(choose).await;
    let config = home.config().join("config.toml");
    let all = format!("{settings}\n{}", std::fs::read_to_string(&config).unwrap());
    std::fs::write(config, all).unwrap();
    home
}

#[tokio::test]
async fn sessions_and_days_have_limits_over_all_prompts() {
    let home = home("session_cost = 1\nday_cost = 2", |_| says_using("done", 600)).await;
    let session = "this session has cost $1.2000; session_cost allows $1";
    let day = "your sessions have cost $2.4000 in 24 hours; day_cost allows $2";
    for (arguments, code, why, asked) in [
        (["-p", "the first"].as_slice(), 0, "", 1),
        (&["-p", "-c", "the second"], 0, "", 2),
        // An answer is never cut; then nothing is asked any more, in this session.
        (&["-p", "-c", "the third"], 5, session, 2),
        (&["-p", "another session"], 0, "", 3),
        (&["-p", "and another one"], 0, "", 4),
        (&["-p", "the last one"], 5, day, 4),
    ] {
        let ended = run(&mut home.tau(arguments), None).await;
        assert_eq!(ended.code, code, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(why), "{arguments:?}: {}", ended.err);
        assert_eq!(home.asked().len(), asked, "{arguments:?}");
    }
    // The prompts are in their sessions.
    let kept = home.sessions().iter().filter(|(_, text)| text.contains("the last one")).count();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_day_whose_costs_cannot_be_recorded_is_over() {
    let home = home("day_cost = 2", |_| says_using("done", 600)).await;
    let ended = run(&mut home.tau(&["-p", "the first"]), None).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let log = home.config().join("logs/spending.log");
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    let ended = run(&mut home.tau(&["-p", "the second"]), None).await;
    assert_eq!(ended.code, 5, "{}", ended.err);
    let why = format!("day_cost cannot be kept, as costs cannot be recorded: {}", log.display());
    assert!(ended.err.contains(&why), "{}", ended.err);
    assert_eq!(home.asked().len(), 1);
}

#[tokio::test]
async fn what_helpers_cost_counts_in_the_limit_of_the_session() {
    let home = home("session_cost = 1", |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 10),
        (true, n) if n < 5 => calls_all(&[("bash", json!({ "command": "true" }))], 600),
        _ => says_using("done", 10),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!(ended.code, 5, "{}", ended.err);
    assert!(ended.err.contains("this session has cost $1.2100; session_cost allows $1"), "{}", ended.err);
    assert_eq!(home.of_helpers().len(), 2);
    let ended = home.print(&["-c", "more"]).await;
    assert_eq!((ended.code, home.asked().len()), (5, 3), "{}", ended.err);
}

#[tokio::test]
async fn what_helpers_cost_is_in_the_records_of_the_session() {
    let home = home("", |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 100),
        _ => says_using("done", 100),
    })
    .await;
    // By kind of token, too: here, only those that are sent have a price.
    let ended = run(&mut home.tau(&["--json", "go"]), None).await;
    let end: Value = serde_json::from_str(ended.out.lines().last().unwrap()).unwrap();
    for cost in [&end["cost"], &end["usage"]["cost"]["total"], &end["usage"]["cost"]["input"]] {
        assert!((cost.as_f64().unwrap() - 0.3).abs() < 1e-6, "{end}");
    }
    let begun = run(&mut home.tau(&["-b", "go"]), None).await;
    assert_eq!(begun.code, 0, "{}", begun.err);
    let id = begun.out.trim();
    assert_eq!(run(home.program().args(["wait", id]), None).await.code, 0);
    let record = std::fs::read(home.config().join(format!("logs/live/{id}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert!((record["cost"].as_f64().unwrap() - 0.3).abs() < 1e-6, "{record}");
}

#[tokio::test]
async fn nothing_is_asked_above_the_limit_and_every_request_counts() {
    let summarizes = |asked: &Asked| asked.system().contains("summar");
    let home = home("session_cost = 1.25", move |asked| {
        if summarizes(asked) { says_using("", 350) } else { says_using("done", 600) }
    })
    .await;
    let ended = home.print(&["first"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut client = Client::of(home.tau(&["--mode", "rpc", "-c"]));
    // A summary that is empty is asked for once more; both have their price.
    let failed = client.ask(json!({ "id": "1", "type": "compact" })).await;
    assert!(failed["error"].as_str().unwrap().contains("an empty summary"), "{failed}");
    let stats = client.ask(json!({ "id": "2", "type": "get_session_stats" })).await;
    let cost = stats["data"]["cost"].as_f64().unwrap();
    assert!((cost - 1.3).abs() < 1e-6 && home.asked().len() == 3, "{stats}");
    let reached = "this session has cost $1.3000; session_cost allows $1.25";
    let failed = client.ask(json!({ "id": "3", "type": "compact" })).await;
    assert!(failed["error"].as_str().unwrap().to_lowercase().contains(reached), "{failed}");
    client.send(json!({ "id": "s", "type": "side_question", "message": "And?" })).await;
    let ended = client.record("the end", |record| record["type"] == "side_answer_ended").await;
    assert_eq!(ended["error"], reached);
    client.child.kill().await.unwrap();
    let ended = home.print(&["-c", "more"]).await;
    assert!(ended.code == 5 && ended.err.contains(reached), "{}", ended.err);
    assert_eq!(home.asked().len(), 3);
    let spent = std::fs::read_to_string(home.config().join("logs/spending.log")).unwrap();
    let spent: f64 = spent.lines().map(|line| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap()).sum();
    assert!((spent - 1.3).abs() < 1e-6, "{spent}");
}

#[tokio::test]
async fn a_helper_that_is_opened_again_counts_in_the_limit_of_its_tree() {
    let home = home("session_cost = 0.35", |asked| match (asked.is_helper(), asked.results().len()) {
        (false, 0) => calls_all(&[delegate(json!({ "task": "x" }))], 100),
        _ => says_using("done", 100),
    })
    .await;
    let ended = home.print(&["go"]).await;
    assert_eq!((ended.code, home.asked().len()), (0, 3), "{}", ended.err);
    let ids = |is_helper: bool| {
        let of_kind = |(header, _): &(Value, String)| header["helper"].is_string() == is_helper;
        let found = home.sessions().into_iter().find(of_kind).unwrap();
        found.0["id"].as_str().unwrap().to_owned()
    };
    let (helper, parent) = (ids(true), ids(false));
    let reached = "this session has cost $0.4000; session_cost allows $0.35";
    for (session, code, asked) in [(&helper, 0, 4), (&parent, 5, 4), (&helper, 5, 4)] {
        let ended = home.print(&["--session", session, "more"]).await;
        assert_eq!((ended.code, home.asked().len()), (code, asked), "{}", ended.err);
        assert!(code == 0 || ended.err.contains(reached), "{}", ended.err);
        // A notice of print mode names no command of the screen.
        assert!(code == 0 || ended.err.contains("raise session_cost in config.toml"), "{}", ended.err);
    }
}

#[tokio::test]
async fn a_line_of_the_future_is_not_dated_again() {
    let home = home("day_cost = 0.25", |_| says_using("done", 10)).await;
    let log = home.config().join("logs/spending.log");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let line = format!("{} 0.500000\n", now + 3 * 86_400);
    std::fs::write(&log, &line).unwrap();
    for _ in 0..2 {
        let ended = home.print(&["go"]).await;
        assert!(ended.code == 5 && ended.err.contains("have cost $0.5000 in 24 hours"), "{}", ended.err);
        assert!(std::fs::read_to_string(&log).unwrap().starts_with(&line));
    }
    assert_eq!(home.asked().len(), 0);
}
