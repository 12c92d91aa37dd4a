//! Goals, through the program itself: a command decides when the work is done.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::approvals::terminal::play;
use crate::background_jobs::wire::Client;
use crate::background_jobs::{Home, bash};
use crate::support::program::{Ended, bare, run, says, text_of};
use crate::support::server::{Act, answer};
use crate::time_limit::{InTime, SOON, until};

/// A goal that is reached once the file `done` exists.
const GOAL: &str = "echo run >> runs; test -f done || { echo it is missing; exit 3; }";

async fn print(home: &Home, arguments: &[&str]) -> Ended {
    run(&mut home.tau(arguments), None).await
}

/// The number of times that the goal's command has run.
fn runs(home: &Home) -> usize {
    let file = home.dir.path().join("work/runs");
    std::fs::read_to_string(file).map(|text| text.lines().count()).unwrap_or_default()
}

/// The only session's file.
pub(crate) fn session(home: &Home) -> PathBuf {
    let mut found = Vec::new();
    let mut open = vec![home.dir.path().to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false
                    if path.extension().is_some_and(|end| end == "jsonl")
                        && path.components().any(|part| part.as_os_str() == "sessions") =>
                {
                    found.push(path);
                }
                false => {}
            }
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The goals in the events of a run.
fn goals(ended: &Ended) -> Vec<Value> {
    let records = ended.records();
    records
        .iter()
        .filter(|record| record["type"] == "goal_changed")
        .map(|record| record["goal"].clone())
        .collect()
}

#[tokio::test]
async fn a_run_continues_until_the_command_succeeds() {
    let home = Home::new(vec![says("All done!"), bash("touch done"), says("Now it is.")]).await;
    let ended = print(&home, &["-p", "--until", GOAL, "make it"]).await;
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "Now it is.\n", ""));
    assert_eq!(runs(&home), 2, "after each time that the model stopped");
    let texts: Vec<String> = home.messages(0).iter().map(text_of).collect();
    assert!(texts.iter().any(|text| text.contains("the work is done when `echo run >> runs;")), "{texts:?}");
    let texts: Vec<String> = home.messages(1).iter().map(text_of).collect();
    let [.., output, round] = texts.as_slice() else { panic!("{texts:?}") };
    assert!(output.contains("it is missing") && output.contains("exited with code 3"), "{output}");
    assert!(round.starts_with("[tau] Goal, round 2 of 20: `echo run"), "{round}");
    assert!(round.contains("failed with exit code 3."), "{round}");
}

#[tokio::test]
async fn a_goal_ends_at_its_limit_of_rounds_or_when_the_model_gives_up() {
    // The model works, but never reaches it.
    let work = || [bash("true"), says("So.")];
    let home = Home::new(work().into_iter().chain(work()).chain(work()).collect()).await;
    let ended = print(&home, &["-p", "--until", GOAL, "--max-rounds", "2", "make it"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (5, "So.\n"), "{}", ended.err);
    assert!(ended.err.contains("the goal was not reached within its limit of rounds"), "{}", ended.err);
    assert!(!ended.err.contains("/goal"), "there are no slash commands: {}", ended.err);
    assert_eq!((runs(&home), home.server.requests().len()), (2, 4));
    // The model only talks.
    let home = Home::new(vec![says("It cannot be done."), says("As I said."), says("never")]).await;
    let ended = print(&home, &["--json", "--until", GOAL, "make it"]).await;
    let records = ended.records();
    let end = records.last().unwrap();
    assert_eq!((ended.code, &end["exitCode"], &end["reason"]), (8, &json!(8), &json!("goal given up")));
    let states: Vec<_> =
        goals(&ended).iter().map(|goal| goal["state"].as_str().unwrap().to_owned()).collect();
    assert_eq!(states, ["active", "active", "active", "givenUp"]);
    assert_eq!((&goals(&ended)[3]["rounds"], &goals(&ended)[3]["exitCode"]), (&json!(2), &json!(3)));
    let home = Home::new(vec![says("It cannot be done."), says("As I said."), says("never")]).await;
    let ended = print(&home, &["-p", "--until", GOAL, "make it"]).await;
    assert_eq!((ended.code, ended.out.as_str()), (8, "As I said.\n"), "{}", ended.err);
}

#[tokio::test]
async fn without_a_prompt_the_command_runs_first() {
    let home = Home::new(vec![bash("touch done"), says("Made.")]).await;
    let ended = print(&home, &["-p", "--until", GOAL]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "Made.\n"), "{}", ended.err);
    assert!(home.last(0).starts_with("[tau] Goal, round 1 of 20"), "{}", home.last(0));
    // It is reached already: no model is asked.
    let ended = print(&home, &["-p", "--until", GOAL]).await;
    assert_eq!((ended.code, ended.out.as_str(), ended.err.as_str()), (0, "", ""));
    assert_eq!((runs(&home), home.server.requests().len()), (3, 2));
}

/// More of a session than is read at its start.
const PART: usize = 150_000;

#[tokio::test]
async fn the_goal_of_a_long_session_is_worked_on_with_all_of_it() {
    let talk = || says("I see.");
    let home = Home::new(vec![talk(), talk(), talk(), talk(), bash("touch done"), says("Made.")]).await;
    for part in 0..4 {
        let arguments: &[&str] = if part == 0 { &["-p"] } else { &["-p", "--continue"] };
        let prompt = format!("part {part} {}", "x".repeat(PART));
        assert_eq!(run(&mut home.tau(arguments), Some(&prompt)).await.code, 0);
    }
    let ended = print(&home, &["-p", "--continue", "--until", GOAL]).await;
    assert_eq!((ended.code, ended.out.as_str()), (0, "Made.\n"), "{}", ended.err);
    let texts: Vec<String> = home.messages(4).iter().map(text_of).collect();
    let parts = (0..4).filter(|part| texts.iter().any(|text| text.starts_with(&format!("part {part} x"))));
    assert_eq!(parts.count(), 4);
}

#[tokio::test]
async fn long_output_is_cut_for_the_model() {
    let loud = "seq 1 200000; test -f done";
    let home = Home::new(vec![says("All done!"), bash("touch done"), says("Now it is.")]).await;
    let ended = print(&home, &["-p", "--until", loud, "make it"]).await;
    assert_eq!(ended.code, 0, "{}", ended.err);
    let sent = &home.server.requests()[1];
    assert!(sent.contains("199999\\n200000") && sent.contains("Output truncated. Full output: "), "{sent}");
    let more = sent.len() - home.server.requests()[0].len();
    assert!(more < 20_000, "{more} bytes more");
}

#[tokio::test]
async fn a_goal_continues_after_a_failure_and_is_never_run_unasked() {
    let broken = || Act::Send(answer("401 Unauthorized", "", b"{\"error\":{\"message\":\"no\"}}"));
    let acts = vec![
        bash("true"),
        says("All done!"),
        broken(),
        says("Hello."),
        bash("touch done"),
        says("Now it is."),
    ];
    let home = Home::new(acts).await;
    let ended = print(&home, &["--json", "--until", GOAL, "make it"]).await;
    assert_eq!(ended.code, 1, "{}", ended.err);
    let last = goals(&ended).pop().unwrap();
    assert_eq!((&last["state"], &last["rounds"]), (&json!("paused"), &json!(2)));
    assert_eq!(runs(&home), 1);
    // A later run knows of it, and does not run it.
    let ended = print(&home, &["--json", "--continue", "hi"]).await;
    assert_eq!((ended.code, runs(&home)), (0, 1), "{}", ended.err);
    // The same command continues it, with what was counted.
    let ended = print(&home, &["--json", "--continue", "--until", GOAL, "continue"]).await;
    assert_eq!((ended.code, runs(&home)), (0, 2), "{}", ended.err);
    let last = goals(&ended).pop().unwrap();
    assert_eq!((&last["state"], &last["rounds"]), (&json!("reached"), &json!(3)));
}

#[tokio::test]
async fn a_goal_from_a_file_is_asked_about_before_it_runs() {
    let home = Home::new(vec![says("Hello."), bash("touch done"), says("Made.")]).await;
    assert_eq!(print(&home, &["-p", "hi"]).await.code, 0);
    let file = session(&home);
    let text = std::fs::read_to_string(&file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let goal = json!({ "command": GOAL, "state": "active", "rounds": 7 });
    let entry = json!({
        "type": "custom", "customType": "tau.goal", "data": goal, "id": "0badcafe", "parentId": last["id"],
        "timestamp": "2026-01-02T03:04:05.678Z",
    });
    std::fs::write(&file, format!("{text}{entry}\n")).unwrap();
    let mut client = Client::start_with(&home, &["--continue"]);
    let state = client.ask(json!({ "type": "get_state", "id": "0" })).await;
    let goal = &state["data"]["goal"];
    assert_eq!((&goal["command"], &goal["state"]), (&json!(GOAL), &json!("paused")), "{state}");
    let question = |record: &Value| record["type"] == "extension_ui_request";
    for (answer, expected) in [(false, 0), (true, 2)] {
        client.send(json!({ "type": "pursue_goal", "id": "1" })).await;
        let asked = client.record("a question", question).await;
        assert_eq!(asked["method"], "confirm");
        assert!(asked["message"].as_str().unwrap().contains(GOAL), "{asked}");
        assert_eq!(runs(&home), 0, "it ran before the answer");
        client.send(json!({ "type": "extension_ui_response", "id": asked["id"], "confirmed": answer })).await;
        client.record("the end", |record| record["type"] == "agent_settled").await;
        assert_eq!(runs(&home), expected);
    }
    client.child.kill().in_time("the end").await.unwrap();
}

/// A process that is killed has saved its answers, but not what the round has cost.
#[tokio::test]
async fn what_an_interrupted_round_has_cost_is_counted() {
    let home = Home::new(vec![says("Hello.")]).await;
    assert_eq!(print(&home, &["-p", "hi"]).await.code, 0);
    let file = session(&home);
    let text = std::fs::read_to_string(&file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let spent =
        json!({ "command": GOAL, "state": "active", "rounds": 1, "dollars": 0.5, "milliseconds": 100 });
    let goal = json!({
        "type": "custom", "customType": "tau.goal", "data": spent, "id": "0badcafe", "parentId": last["id"],
        "timestamp": "2026-01-02T03:04:05.000Z",
    });
    let answer = text.lines().rev().find(|line| line.contains(r#""role":"assistant""#)).unwrap();
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    answer["message"]["usage"]["cost"]["total"] = json!(0.25);
    (answer["id"], answer["parentId"]) = (json!("0badcaff"), json!("0badcafe"));
    answer["timestamp"] = json!("2026-01-02T03:04:07.000Z");
    std::fs::write(&file, format!("{text}{goal}\n{answer}\n")).unwrap();
    let mut client = Client::start_with(&home, &["--continue"]);
    let state = client.ask(json!({ "type": "get_state", "id": "0" })).await;
    let goal = &state["data"]["goal"];
    let counted = (&goal["state"], &goal["dollars"], &goal["milliseconds"]);
    assert_eq!(counted, (&json!("paused"), &json!(0.75), &json!(2_100)), "{state}");
    client.child.kill().in_time("the end").await.unwrap();
}

#[tokio::test]
async fn a_client_sets_a_goal_whose_time_ends_its_command() {
    let home = Home::new(vec![says("All done!")]).await;
    let mut client = Client::start_with(&home, &[]);
    for refused in [json!({ "type": "pursue_goal" }), json!({ "type": "set_goal", "command": " " })] {
        let answer = client.ask(refused.clone()).await;
        assert_eq!(answer["success"], false, "{refused}: {answer}");
    }
    let goal = json!({ "type": "set_goal", "id": "1", "command": "sleep 60", "limits": { "seconds": 1 } });
    assert_eq!(client.ask(goal).await["success"], true);
    client.send(json!({ "type": "prompt", "id": "2", "message": "go" })).await;
    let capped = client.record("the end", |record| record["goal"]["state"] == "capped").await;
    assert!(capped["goal"]["milliseconds"].as_u64().unwrap() >= 1_000, "{capped}");
    client.record("the end", |record| record["type"] == "agent_settled").await;
    assert_eq!(client.ask(json!({ "type": "set_goal", "id": "3" })).await["success"], true);
    assert_eq!(client.ask(json!({ "type": "pursue_goal", "id": "4" })).await["success"], false);
    client.child.kill().in_time("the end").await.unwrap();
}

/// As with `/goal` on the screen.
#[tokio::test]
async fn a_client_has_a_run_in_progress_pursue_a_goal() {
    let wait = bash("touch begun; until test -e released; do sleep 0.05; done");
    let home = Home::new(vec![wait, says("Done."), bash("touch other"), says("Now it is.")]).await;
    let mut client = Client::start_with(&home, &[]);
    client.ask(json!({ "type": "prompt", "id": "1", "message": "go" })).await;
    let begun = async {
        while !home.dir.path().join("work/begun").exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    begun.in_time("the command").await;
    let goal = json!({ "type": "set_goal", "id": "2", "command": "test -f other" });
    for command in [goal, json!({ "type": "pursue_goal", "id": "3" })] {
        assert_eq!(client.ask(command.clone()).await["success"], true, "{command}");
    }
    std::fs::write(home.dir.path().join("work/released"), "").unwrap();
    client.record("the goal", |record| record["goal"]["state"] == "reached").await;
    client.record("the end of the run", |record| record["type"] == "agent_settled").await;
    assert_eq!(home.server.requests().len(), 4, "one run");
    drop(client.child.stdin.take());
    assert!(client.child.wait().in_time("its end").await.unwrap().success());
}

#[tokio::test]
async fn a_goal_that_is_set_during_a_check_is_decided_by_its_own_command() {
    let other = json!({ "type": "set_goal", "id": "3", "command": "test -f other" });
    let off = json!({ "type": "set_goal", "id": "2" });
    for changes in [vec![&other], vec![&off, &other]] {
        let home = Home::new(vec![says("All done!"), bash("touch other"), says("Now it is.")]).await;
        let mut client = Client::start_with(&home, &[]);
        let endless = "touch begun; until test -e released; do sleep 0.05; done";
        client.ask(json!({ "type": "set_goal", "id": "1", "command": endless })).await;
        client.send(json!({ "type": "prompt", "id": "4", "message": "go" })).await;
        let has_begun = async {
            while !home.dir.path().join("work/begun").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        has_begun.in_time("the check").await;
        for change in changes {
            assert_eq!(client.ask(change.clone()).await["success"], true);
        }
        let is_over =
            |record: &Value| record["goal"]["state"].as_str().is_some_and(|state| state != "active");
        let ended = client.record("the end of the goal", is_over).await;
        let end = (&ended["goal"]["state"], &ended["goal"]["command"], &ended["goal"]["rounds"]);
        assert_eq!(end, (&json!("reached"), &json!("test -f other"), &json!(1)), "{ended}");
        let told = home.messages(1).iter().map(text_of).collect::<String>();
        assert!(told.contains("Goal, round 1 of 20: `test -f other` failed with exit code 1"), "{told}");
        client.child.kill().in_time("the end").await.unwrap();
    }
}

#[tokio::test]
async fn undo_goes_to_each_round() {
    let home = Home::new(vec![
        bash("echo one > file"),
        says("All done!"),
        bash("echo two > file; touch done"),
        says("Now it is."),
    ])
    .await;
    assert_eq!(print(&home, &["-p", "--until", GOAL, "make it"]).await.code, 0);
    let text = || std::fs::read_to_string(home.dir.path().join("work/file")).unwrap();
    assert_eq!(text(), "two\n");
    let undo = async |arguments: &[&str]| {
        let mut command = bare(home.dir.path());
        run(command.arg("undo").args(arguments).current_dir(home.dir.path().join("work")), None).await
    };
    let listed = undo(&[]).await;
    assert!(listed.out.contains("make it"), "{} {}", listed.out, listed.err);
    assert!(listed.out.contains("Goal, round 2 of 20"), "{}", listed.out);
    let undone = undo(&["--to", "2", "--yes"]).await;
    assert_eq!((undone.code, text().as_str()), (0, "one\n"), "{}", undone.err);
    assert!(!home.dir.path().join("work/done").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goal_is_shown_paused_continued_and_dropped() {
    let acts = vec![says("All done!"), says("Still at it."), bash("touch done"), says("Now it is.")];
    let requests = play(acts, "", "--permission-mode auto", (100, 40), |screen| {
        let enter = |line: &str| {
            screen.type_keys(line);
            screen.wait_for_composer(line);
            screen.type_keys("\r");
        };
        enter("/goal test -f done || test ! -f slow || sleep 60; test -f done");
        screen.wait_for("All done!");
        // The second round has begun: the command ran before the first, and after it.
        screen.wait_for("Still at it.");
        screen.wait_for("stopped: the model has given up on the goal");
        enter("/goal resume");
        screen.wait_for("the goal is reached after 1 round");
        enter("/goal");
        screen.wait_for("reached · round 1 of 20");
        assert!(!screen.text().contains("0m0"), "{}", screen.text());
        std::fs::remove_file(screen.home().join("work/done")).unwrap();
        std::fs::write(screen.home().join("work/slow"), "").unwrap();
        enter("/goal test -f done || sleep 60");
        screen.wait_for("esc stops it, f2 types into it");
        screen.wait_for("running the goal's command");
        // Its time does not stand still meanwhile.
        let shown = || {
            let text = screen.text();
            let times = text.lines().filter_map(|line| line.split_once("at work · round "));
            times.map(|(_, rest)| rest.to_owned()).collect::<BTreeSet<_>>().len()
        };
        let moves = || {
            enter("/goal");
            shown() > 1
        };
        until(SOON, moves, || format!("its time stands still: {}", screen.text()));
        screen.type_keys("\x1b");
        screen.wait_for("the goal is paused after 0 rounds");
        screen.wait_for("goal paused");
        enter("/goal off");
        screen.wait_for("the goal is dropped");
        screen.wait_until("no goal", |cells| !cells.contents().contains("goal paused ·"));
    })
    .await;
    assert_eq!(requests.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_goal_is_resumed_during_a_run() {
    let waits = bash("touch made; until test -e released; do sleep 0.05; done");
    let acts = vec![says("I cannot."), says("As I said."), waits, says("Made.")];
    play(acts, "", "--permission-mode auto", (100, 40), |screen| {
        let enter = |line: &str| {
            screen.type_keys(line);
            screen.wait_for_composer(line);
            screen.type_keys("\r");
        };
        enter("/goal test -f made");
        screen.wait_for("stopped: the model has given up on the goal");
        enter("Make it.");
        screen.wait_for("until test -e released");
        enter("/goal resume");
        screen.wait_for("goal ·");
        std::fs::write(screen.home().join("work/released"), "").unwrap();
        screen.wait_for("the goal is reached after 0 rounds");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_limits_hold_for_the_next_goal_at_once() {
    let acts = vec![bash("true"), says("So."), bash("true"), says("So again.")];
    play(acts, "", "--permission-mode auto", (100, 30), |screen| {
        let enter = |line: &str| {
            screen.type_keys(line);
            screen.wait_for_composer(line);
            screen.type_keys("\r");
        };
        screen.reload("goal_rounds = 1\ngoal_cost = 7.5\n", "now in effect: goal_rounds 1, goal_cost 7.5");
        enter("/goal false");
        screen.wait_for("So.");
        screen.wait_for("the goal was not reached within its limit of rounds");
        enter("/goal");
        screen.wait_for("stopped by a limit · round 1 of 1");
        screen.reload("", "now in effect: goal_rounds 20, goal_cost 0");
        enter("/goal test -e begun || { touch begun; false; }");
        screen.wait_for("the goal is reached after 1 round");
        enter("/goal");
        screen.wait_for("reached · round 1 of 20");
    })
    .await;
}

#[tokio::test]
async fn waiting_for_the_provider_is_not_time_of_the_goal() {
    let full = b"{\"error\":{\"message\":\"slow down\"}}";
    let headers = "content-type: application/json\r\nretry-after: 4\r\n";
    let full = Act::Send(answer("429 Too Many Requests", headers, full));
    let home = Home::new(vec![full, says("All done!")]).await;
    let mut client = Client::start_with(&home, &[]);
    let goal = json!({ "type": "set_goal", "id": "1", "command": "true", "limits": { "seconds": 3 } });
    assert_eq!(client.ask(goal).await["success"], true);
    client.send(json!({ "type": "prompt", "id": "2", "message": "go" })).await;
    let ended = client
        .record("the end", |record| record["type"] == "goal_changed" && record["goal"]["state"] != "active")
        .await;
    assert_eq!(ended["goal"]["state"], "reached", "{ended}");
    assert!(ended["goal"]["milliseconds"].as_u64().unwrap() < 3_000, "{ended}");
    client.child.kill().in_time("the end").await.unwrap();
}
