//! Which calls of one answer run at the same time, and what holds although they do.

use tau::agent::api::OnAsk;
use tau::agent::protocol::approval::{ApprovalAnswer, PermissionMode};
use tau::agent::protocol::command::Tuning;
use tau::agent::protocol::message::ToolResultMessage;
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::run::ParallelCalls;
use tau::agent::undo::UndoOptions;

use super::*;

fn bash(id: &'static str, command: &str) -> Step {
    Call(id, "bash", json!({ "command": command }))
}

/// An agent with the real tools, of which commands run at the same time.
fn bench(calls: Vec<Step>) -> Bench {
    let mut first = calls;
    first.push(USE);
    Bench::with(Player::new(vec![first, vec![Say("ok"), STOP]]), |config| {
        config.tools = Toolbox::all();
        config.behavior.parallel = ParallelCalls::All;
    })
}

fn results(events: &[AgentEvent]) -> Vec<ToolResultMessage> {
    let result = |event: &AgentEvent| match event {
        AgentEvent::MessageEnd { message } => match message.as_ref() {
            Message::ToolResult(result) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

fn ids(events: &[AgentEvent]) -> Vec<String> {
    results(events).into_iter().map(|result| result.tool_call_id).collect()
}

/// The calls in the order in which they ended.
fn ended(events: &[AgentEvent]) -> Vec<String> {
    let id = |event: &AgentEvent| match event {
        AgentEvent::ToolExecutionEnd { tool_call_id, .. } => Some(tool_call_id.clone()),
        _ => None,
    };
    events.iter().filter_map(id).collect()
}

#[tokio::test]
async fn two_commands_of_a_second_take_one_second_and_a_read_behind_them_none() {
    let mut bench = bench(vec![
        bash("a", "sleep 1; echo first"),
        bash("b", "sleep 1; echo second"),
        Call("c", "read", json!({ "path": "f" })),
    ]);
    std::fs::write(bench.dir.path().join("f"), "here\n").unwrap();
    let started = Instant::now();
    bench.prompt("go").await;
    let mut events = bench.until(|event| matches!(event, AgentEvent::ToolExecutionEnd { .. })).await;
    assert_eq!(ended(&events), ["c"], "the read waits for no command");
    events.extend(bench.until(|event| matches!(event, AgentEvent::TurnEnd { .. })).await);
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(1) && took < Duration::from_millis(1_900), "{took:?}");
    events.extend(bench.settled().await);
    assert_eq!(ids(&events), ["a", "b", "c"]);
}

#[tokio::test]
async fn results_are_in_the_order_of_the_calls_whichever_ends_first() {
    let calls = vec![bash("a", "sleep 0.5"), bash("b", "sleep 0.2"), bash("c", "true")];
    let mut bench = bench(calls);
    bench.prompt("go").await;
    let events = bench.settled().await;
    assert_eq!(ended(&events), ["c", "b", "a"]);
    assert_eq!(ids(&events), ["a", "b", "c"]);
}

#[tokio::test]
async fn by_default_commands_run_one_after_another() {
    let calls = vec![bash("a", "sleep 0.3; echo a >>log"), bash("b", "echo b >>log"), USE];
    let mut bench = Bench::with(Player::new(vec![calls]), |config| config.tools = Toolbox::all());
    bench.prompt("go").await;
    bench.settled().await;
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("log")).unwrap(), "a\nb\n");
}

#[tokio::test]
async fn it_can_be_changed_between_answers() {
    let calls = vec![bash("a", "sleep 0.3; echo a >>log"), bash("b", "echo b >>log"), USE];
    let mut bench = Bench::with(Player::new(vec![calls]), |config| config.tools = Toolbox::all());
    bench.send(AgentCommand::Tune(Tuning::ParallelCalls { parallel: ParallelCalls::All })).await;
    bench.prompt("go").await;
    bench.settled().await;
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("log")).unwrap(), "b\na\n");
}

#[tokio::test]
async fn changes_of_files_keep_their_order() {
    let edit = |id, old: &str, new: &str| {
        Call(id, "edit", json!({ "path": "f", "old_string": old, "new_string": new }))
    };
    let mut bench = bench(vec![
        bash("a", "sleep 0.3; echo one >f"),
        edit("b", "one", "two"),
        edit("c", "two", "three"),
        bash("d", "cat f"),
        Call("e", "read", json!({ "path": "f" })),
    ]);
    bench.prompt("go").await;
    let events = bench.settled().await;
    let results = results(&events);
    assert!(results.iter().all(|result| !result.is_error), "{results:?}");
    let text = |index: usize| match &results[index].content[0] {
        Content::Text { text } => text.as_str(),
        Content::Image { .. } => "",
    };
    assert!(text(3).starts_with("three\n"), "{}", text(3));
    assert_eq!(text(4), "     1  three\n");
}

#[tokio::test]
async fn what_they_change_at_the_same_time_is_kept_without_a_conflict() {
    let kept = tempfile::tempdir().unwrap();
    let calls = vec![
        bash("a", "echo one >both; until [ -e b ]; do sleep 0.02; done; echo a >a"),
        bash("b", "until grep -q one both; do sleep 0.02; done; echo two >>both; echo b >b"),
        USE,
    ];
    let mut bench = Bench::with(Player::new(vec![calls, vec![Say("ok"), STOP]]), |config| {
        config.tools = Toolbox::all();
        config.behavior.parallel = ParallelCalls::All;
        config.behavior.undo = Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30 });
    });
    std::fs::write(bench.dir.path().join("both"), "zero\n").unwrap();
    bench.prompt("go").await;
    bench.settled().await;
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("both")).unwrap(), "one\ntwo\n");
    bench.send(AgentCommand::Query { ticket: 77, query: Query::Changes }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Answered { ticket: 77, .. })).await;
    let Some(AgentEvent::Answered { answer: Ok(QueryAnswer::Changes(changes)), .. }) = events.last() else {
        panic!("{events:?}");
    };
    let paths: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "both"]);
    let both = &changes.files[2].diff;
    assert_eq!(both.unified(), "@@ -1,1 +1,2 @@\n-zero\n+one\n+two\n");
}

#[tokio::test]
async fn those_that_are_allowed_run_while_others_wait_for_an_answer() {
    let calls = vec![bash("a", "echo a >>log"), bash("b", "echo b >>log"), USE];
    let mut bench = Bench::with(Player::new(vec![calls, vec![Say("ok"), STOP]]), |config| {
        config.tools = Toolbox::all();
        config.behavior.parallel = ParallelCalls::All;
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
    });
    bench.prompt("go").await;
    let mut requests = Vec::new();
    while requests.len() < 2 {
        let event = bench.next().await;
        if let AgentEvent::ApprovalRequested { request } = event {
            requests.push(request);
        }
    }
    let allow = ApprovalAnswer::Allow { hunks: None, edited: None };
    for id in ["b", "a"] {
        let request = requests.iter().find(|request| request.tool_call_id == id).unwrap();
        let command = AgentCommand::AnswerApproval { id: request.id.clone(), answer: allow.clone() };
        bench.send(command).await;
        let events = bench.until(|event| matches!(event, AgentEvent::ToolExecutionEnd { .. })).await;
        assert_eq!(ended(&events), [id]);
    }
    let events = bench.settled().await;
    assert_eq!(ids(&events), ["a", "b"]);
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("log")).unwrap(), "b\na\n");
}
