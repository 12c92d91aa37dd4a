//! The json front end: prompts and lines in, every event out.

use tau::cli::headless::json::{JsonOptions, run};
use tau::cli::headless::prompts::CliPrompt;
use tokio::io::AsyncReadExt;

use super::*;

async fn json(answers: Vec<Vec<Step>>, prompts: &[&str], input: &[(u64, &str)]) -> (Exit, Vec<Value>) {
    let dir = tempfile::tempdir().unwrap();
    let config = config(Player::new(answers), dir.path());
    let (mut near, far) = tokio::io::duplex(1 << 16);
    let lines: Vec<(u64, String)> = input.iter().map(|(ms, line)| (*ms, (*line).to_owned())).collect();
    let lines_given = !lines.is_empty();
    let writing = tokio::spawn(async move {
        for (ms, line) in lines {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            near.write_all(format!("{line}\n").as_bytes()).in_time("a reader of the input").await.unwrap();
        }
    });
    let prompt = |text: &&str| CliPrompt { text: (*text).to_owned(), images: Vec::new() };
    let options = JsonOptions {
        goal: None,
        continues: false,
        prompts: prompts.iter().map(prompt).collect(),
        input: lines_given.then_some(far),
        header: config.session.header().to_owned(),
        output: None,
        schema: None,
        timeout: None,
    };
    let (out, mut read) = tokio::io::duplex(1 << 20);
    let ended = run(spawn(config), options, out, async || std::future::pending().await);
    let exit = timeout(Duration::from_secs(20), ended).await.expect("it does not end");
    writing.in_time("a reader of the lines").await.unwrap();
    let mut text = String::new();
    read.read_to_string(&mut text).in_time("the end of the stream").await.unwrap();
    (exit, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn types(records: &[Value]) -> Vec<&str> {
    let mut types: Vec<&str> = records.iter().filter_map(|record| record["type"].as_str()).collect();
    types.dedup_by(|next, last| next == last && *next == "message_update");
    types
}

#[tokio::test]
async fn header_events_end() {
    let (exit, records) = json(vec![vec![Say("hello"), STOP]; 2], &["one", "two"], &[]).await;
    assert_eq!(exit, Exit::Ok);
    let run = *tau::tools::words!(
        "agent_start turn_start message_start message_end message_start message_update message_end \
         turn_end agent_end agent_settled"
    );
    assert_eq!(types(&records), [&["session"][..], &run, &run, &["end"]].concat());
    assert_eq!((&records[0]["version"], &records[0]["type"]), (&json!(3), &json!("session")));
    for record in &records {
        assert!(record["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{record}");
    }
    let end = records.last().unwrap();
    assert_eq!((&end["reason"], &end["exitCode"]), (&json!("done"), &json!(0)));
}

#[tokio::test]
async fn the_end_says_what_went_wrong() {
    let cases = [
        (vec![Fail(FailureKind::Auth, None)], Exit::Model, "model error"),
        (vec![Say("cut"), Stop(StopReason::Length)], Exit::Limit, "limit reached"),
    ];
    for (answer, exit, reason) in cases {
        let (ended, records) = json(vec![answer], &["go"], &[]).await;
        let end = records.last().unwrap();
        assert_eq!((ended, &end["reason"], &end["exitCode"]), (exit, &json!(reason), &json!(exit.code())));
        assert!(end["error"].is_string(), "{end}");
    }
}

#[tokio::test]
async fn lines_are_worked_in_order_and_interrupted() {
    let input = [
        (0, r#"{"type":"message","content":"one"}"#),
        (0, "nonsense"),
        (150, r#"{"type":"interrupt"}"#),
        (0, r#"{"type":"message","content":"two"}"#),
    ];
    let (exit, records) = json(vec![vec![Say("half"), Hang], vec![Say("whole"), STOP]], &[], &input).await;
    assert_eq!(exit, Exit::Ok);
    let told = types(&records);
    let count = |kind: &str| told.iter().filter(|told| **told == kind).count();
    assert_eq!((count("agent_start"), count("interrupted"), count("error"), count("end")), (2, 1, 1, 1));
    let at = |kind: &str| told.iter().position(|told| *told == kind).unwrap();
    assert_eq!(at("interrupted"), at("agent_settled") + 1);
    let settled: Vec<&Value> = records.iter().filter(|record| record["type"] == "agent_settled").collect();
    assert_eq!((&settled[0]["aborted"], &settled[1]["aborted"]), (&json!(true), &json!(false)));
}
