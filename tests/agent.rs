//! The agent task against scripts: order of events, aborts, retries, queues, sessions.

mod allowed_calls;
mod approvals;
mod compaction;
mod demo;
mod formats;
mod history_paging;
mod law;
mod parallel;
mod pictures;
mod prefix;
mod queues;
mod retries;
mod sessions;
mod shell;
mod terminal;
mod tree;
mod undo;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::agent::protocol::command::{
    Queue, QueueChange, QueuedMessage, RunCommand, SessionChange, SettingsCommand, ShellCommand,
};
use tau::agent::protocol::event::TurnEvent;
use tau::agent::protocol::message::{Message, StopReason, ToolResultMessage};
use tau::agent::provider::FailureKind;
use tau::agent::{AgentCommand, AgentEvent};
use tau::tools::{Content, Toolbox};

use crate::fake::Step::{Call, Cut, Fail, HalfCall, Hang, Panic, Say, Stop, Wait};
use crate::fake::{Bench, FakeTool, Manner, Player, Step, brief, files, model, prompt};
use crate::time_limit::SOON;

const STOP: Step = Stop(StopReason::Stop);
const USE: Step = Stop(StopReason::ToolUse);

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn ms(ms: u64) -> Value {
    json!({ "ms": ms })
}

/// A command of the user, in a terminal of this size.
fn bash_in(id: &str, command: &str, size: Option<(u16, u16)>) -> AgentCommand {
    let (id, command) = (Some(id.into()), command.into());
    ShellCommand::Bash { id, command, exclude_from_context: false, size, without_sandbox: false }.into()
}

/// The results of calls.
fn tool_results(events: &[AgentEvent]) -> Vec<ToolResultMessage> {
    let result = |event: &AgentEvent| match event {
        AgentEvent::Turn(TurnEvent::MessageEnd { message }) => match message.as_ref() {
            Message::ToolResult(result) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

/// Checks that a prompt `go` against scripts produces exactly these events.
async fn check(answers: Vec<Vec<Step>>, expected: &[&str]) {
    let mut bench = Bench::new(answers.clone());
    bench.prompt("go").await;
    let events = bench.settled().await;
    assert_eq!(brief(&events), expected, "{answers:?}");
}

#[tokio::test]
async fn events_come_in_the_order_of_the_wire() {
    check(
        vec![vec![Say("hello there"), STOP]],
        &[
            "agent_start", "turn_start", "start user", "end user go", "start assistant", "update",
            "end assistant Stop hello there", "turn_end 0", "agent_end 2", "settled",
        ],
    )
    .await;
    check(
        vec![
            vec![Say("first"), Call("a", "echo", text("x")), Call("b", "nosuch", json!({})), USE],
            vec![Say("ok"), STOP],
        ],
        &[
            "agent_start", "turn_start", "start user", "end user go", "start assistant", "update",
            "end assistant ToolUse first [a] [b]", "run a", "ran a", "run b", "ran b failed", "start result",
            "end result a", "start result", "end result b failed", "turn_end 2", "turn_start",
            "start assistant", "update", "end assistant Stop ok", "turn_end 0", "agent_end 5", "settled",
        ],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_run_gets_a_result_that_says_why() {
    let cases = [
        (Call("a", "nosuch", json!({})), USE, "unknown tool \"nosuch\"; the tools are: echo"),
        (Call("a", "echo", json!("{\"text\": ")), USE, "not a valid JSON object (EOF"),
        (Call("a", "echo", json!("[1]")), USE, "(not an object)"),
        (Call("a", "echo", text("cut")), Stop(StopReason::Length), "length limit"),
        (Call("a", "refuse", json!({})), USE, "no, try another path"),
        (Call("a", "crash", json!({})), USE, "the tool crashed: index out of bounds"),
    ];
    for (call, stop, expected) in cases {
        let mut bench = Bench::new(vec![vec![call.clone(), stop]]);
        bench.prompt("go").await;
        let results = results(&bench.settled().await);
        let [(id, true, reported)] = results.as_slice() else { panic!("{call:?}: {results:?}") };
        assert!(id == "a" && reported.contains(expected), "{call:?}: {reported}");
    }
}

/// The results in events: id, whether it is an error, text.
fn results(events: &[AgentEvent]) -> Vec<(String, bool, String)> {
    let told = |result: ToolResultMessage| {
        let texts = result.content.iter().map(|content| match content {
            Content::Text { text } => text.as_str(),
            Content::Image { .. } => "",
        });
        let reported = texts.collect::<Vec<_>>().join("\n");
        (result.tool_call_id, result.is_error, reported)
    };
    tool_results(events).into_iter().map(told).collect()
}

#[tokio::test]
async fn calls_that_read_run_together_and_results_keep_their_order() {
    let look = Arc::new(FakeTool::new("look", Manner::Nap, true));
    let nap = Arc::new(FakeTool::new("nap", Manner::Nap, false));
    let tools = Toolbox::empty().with(look.clone()).with(nap.clone());
    let answer = vec![
        Call("a", "look", ms(120)),
        Call("b", "look", ms(40)),
        Call("c", "nap", ms(5)),
        Call("d", "nap", ms(5)),
        Call("e", "look", ms(5)),
        USE,
    ];
    let mut bench = Bench::with(Player::new(vec![answer]), |config| config.tools = tools);
    bench.prompt("go").await;
    let events = brief(&bench.settled().await);
    let ran: Vec<&str> = events
        .iter()
        .filter(|line| line.contains("ran ") || line.contains("run "))
        .map(String::as_str)
        .collect();
    let expected = ["run a", "run b", "ran b", "ran a", "run c", "ran c", "run d", "ran d", "run e", "ran e"];
    assert_eq!(ran, expected);
    let ended: Vec<&str> = events.iter().filter_map(|line| line.strip_prefix("end result ")).collect();
    assert_eq!(ended, ["a", "b", "c", "d", "e"]);
    let most = |tool: &FakeTool| tool.most.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!((most(&look), most(&nap)), (2, 1));
}

#[tokio::test]
async fn a_chatty_tool_is_shown_ten_times_a_second() {
    let mut bench = Bench::new(vec![vec![Call("a", "chatty", json!({})), USE]]);
    let begun = Instant::now();
    bench.prompt("go").await;
    let shown = brief(&bench.settled().await).iter().filter(|line| *line == "shows a").count();
    let most = begun.elapsed().as_millis() / 100 + 1;
    assert!(shown >= 2 && shown as u128 <= most, "{shown} updates, at most {most}");
}

/// Aborts when `stage` is seen: the rest has the shape of an aborted run, within a second.
async fn check_abort(answers: Vec<Vec<Step>>, stage: &str, expected: &[&str]) {
    let mut bench = Bench::new(answers);
    bench.prompt("go").await;
    if !stage.is_empty() {
        let seen = |event: &AgentEvent| brief(std::slice::from_ref(event)).iter().any(|line| line == stage);
        bench.until(seen).await;
    }
    let begun = Instant::now();
    bench.send(RunCommand::Abort).await;
    let events = brief(&bench.settled().await);
    let ended: Vec<&str> = events.iter().map(String::as_str).filter(|line| *line != "update").collect();
    let rest = ended.split_at(ended.len() - expected.len()).1;
    assert_eq!(rest, expected, "at {stage:?}: {ended:?}");
    assert!(begun.elapsed() < SOON, "took {:?}", begun.elapsed());
    bench.prompt("again").await;
    assert!(brief(&bench.settled().await).contains(&"settled".to_owned()));
}

#[tokio::test]
async fn an_abort_ends_every_stage_in_shape() {
    let end = ["turn_end 0", "agent_end 2", "settled aborted"];
    let empty = [&["start assistant", "end assistant Aborted"], &end[..]].concat();
    check_abort(vec![vec![Say("never"), STOP]], "", &empty).await;
    check_abort(vec![vec![Hang]], "end user go", &empty).await;
    let kept = [&["end assistant Aborted some"], &end[..]].concat();
    check_abort(vec![vec![Say("some"), Hang]], "update", &kept).await;
    check_abort(vec![vec![Say("some"), HalfCall("a"), Hang]], "update", &kept).await;
    let called = [
        "end assistant Aborted [a]", "run a", "ran a failed", "start result", "end result a failed",
        "turn_end 1", "agent_end 3", "settled aborted",
    ];
    check_abort(vec![vec![Call("a", "echo", json!({})), Hang]], "update", &called).await;
    for tool in ["nap", "deaf"] {
        let answer = vec![Call("a", tool, ms(60_000)), Call("b", "echo", json!({})), USE];
        let expected = [
            "ran a failed", "run b", "ran b failed", "start result", "end result a failed", "start result",
            "end result b failed", "turn_end 2", "agent_end 4", "settled aborted",
        ];
        check_abort(vec![answer], "run a", &expected).await;
    }
    let waiting = [&["retried 1 false", "start assistant", "end assistant Aborted"], &end[..]].concat();
    check_abort(vec![vec![Fail(FailureKind::Network, Some(20_000))]], "retry 1", &waiting).await;
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_warned_then_stopped() {
    let same = vec![Call("a", "echo", text("same")), USE];
    let mut bench = Bench::new(vec![same; 9]);
    bench.prompt("go").await;
    let events = bench.settled().await;
    let warned: Vec<bool> =
        results(&events).iter().map(|(_, _, text)| text.contains("same result")).collect();
    assert_eq!(warned, [false, false, true, true, true]);
    assert!(
        brief(&events)
            .iter()
            .any(|line| line.starts_with("notice Warning stopped: the model keeps repeating"))
    );
    // Duplicate ids of the provider are made distinct.
    let ids: Vec<String> = results(&events).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["a", "a_2", "a_3", "a_4", "a_5"]);
}

#[tokio::test]
async fn answers_of_a_run_are_limited() {
    let answers = (0..9).map(|n| vec![Call("a", "echo", json!({ "text": n.to_string() })), USE]);
    let mut bench = Bench::with(Player::new(answers.collect()), |config| config.limits.turns = Some(3));
    bench.prompt("go").await;
    let events = brief(&bench.settled().await);
    assert_eq!(events.iter().filter(|line| *line == "turn_start").count(), 3);
    assert!(events.iter().any(|line| line.contains("stopped after 3 answers")), "{events:?}");
}

#[tokio::test]
async fn settings_count_from_the_next_request_on() {
    let answers = vec![vec![Wait(100), Call("a", "echo", json!({})), USE]];
    let player = Player::new(answers);
    let mut bench = Bench::on(player.clone());
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnStart))).await;
    bench.send(SettingsCommand::SetModel { model: model("second") }).await;
    bench
        .send(SettingsCommand::SetThinking { level: tau::agent::protocol::model::ThinkingLevel::High })
        .await;
    bench.settled().await;
    let used: Vec<(String, &str)> = player
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| (request.model.id.clone(), request.thinking.name()))
        .collect();
    assert_eq!(used, [("first".to_owned(), "medium"), ("second".to_owned(), "high")]);
}

#[tokio::test]
async fn a_reader_that_stalls_loses_nothing_and_can_abort() {
    let mut answer = vec![Say("many words"); 400];
    answer.push(Hang);
    let mut bench = Bench::new(vec![answer]);
    bench.prompt("go").await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    bench.send(RunCommand::Abort).await;
    let events = bench.settled().await;
    let reported: String = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::Turn(TurnEvent::MessageUpdate {
                assistant_message_event: tau::agent::protocol::event::Delta::TextDelta { delta, .. },
                ..
            }) => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    let kept = events.iter().rev().find_map(|event| match event {
        AgentEvent::Turn(TurnEvent::TurnEnd { message, .. }) => match message.as_ref() {
            Message::Assistant(answer) => Some(answer.text()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(Some(reported), kept);
}

#[tokio::test]
async fn dropping_the_handle_ends_what_runs() {
    let deaf = Arc::new(FakeTool::new("deaf", Manner::Deaf, false));
    let tools = Toolbox::empty().with(deaf.clone());
    let answers = vec![vec![Call("a", "deaf", json!({})), USE]];
    let mut bench = Bench::with(Player::new(answers), |config| config.tools = tools);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. }))).await;
    let Bench { agent, dir: _dir } = bench;
    drop((agent.commands, agent.events));
    tokio::time::timeout(SOON, agent.task).await.expect("still runs").unwrap();
    let dropped = Instant::now();
    while deaf.alive.load(std::sync::atomic::Ordering::SeqCst) > 0 {
        assert!(dropped.elapsed() < SOON, "the call was not dropped");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_prompt_and_an_abort_in_one_breath_cancel() {
    let player = Player::new(Vec::new());
    let mut bench = Bench::on(player.clone());
    bench.agent.commands.try_send(prompt("go")).unwrap();
    bench.agent.commands.try_send(AgentCommand::Run(RunCommand::Abort)).unwrap();
    let events = brief(&bench.settled().await);
    assert_eq!(events.last().map(String::as_str), Some("settled aborted"));
    assert!(player.requests.lock().unwrap().is_empty());
}
