//! Calls of one answer that run in parallel, and what still holds.

use tau::agent::api::OnAsk;
use tau::agent::protocol::approval::{ApprovalAnswer, PermissionMode};
use tau::agent::protocol::command::{QuestionCommand, RunCommand, TaskCommand};
use tau::agent::protocol::event::{QuestionEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::ToolResultMessage;
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::undo::UndoOptions;

use super::*;

fn bash(id: &'static str, command: &str) -> Step {
    Call(id, "bash", json!({ "command": command }))
}

/// An agent with the real tools.
fn bench(calls: Vec<Step>) -> Bench {
    let mut first = calls;
    first.push(USE);
    Bench::with(Player::new(vec![first, vec![Say("ok"), STOP]]), |config| config.tools = Toolbox::all())
}

fn texts(events: &[AgentEvent]) -> Vec<String> {
    let text = |result: ToolResultMessage| match result.content.into_iter().next() {
        Some(Content::Text { text }) => text,
        _ => String::new(),
    };
    tool_results(events).into_iter().map(text).collect()
}

fn ids(events: &[AgentEvent]) -> Vec<String> {
    tool_results(events).into_iter().map(|result| result.tool_call_id).collect()
}

/// The calls in the order in which they ended.
fn ended(events: &[AgentEvent]) -> Vec<String> {
    let id = |event: &AgentEvent| match event {
        AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => Some(tool_call_id.clone()),
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
    let mut events =
        bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionEnd { .. }))).await;
    assert_eq!(ended(&events), ["c"], "the read waits for no command");
    events.extend(bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::TurnEnd { .. }))).await);
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
async fn commands_that_may_change_something_run_one_after_another() {
    let mut bench = bench(vec![
        bash("a", "sleep 0.3; echo a >>log"),
        bash("b", "echo b >>log"),
        bash("c", "cat log"),
        Call("d", "read", json!({ "path": "log" })),
        bash("e", "echo e >>log"),
    ]);
    bench.prompt("go").await;
    let events = bench.settled().await;
    let texts = texts(&events);
    assert!(texts[2].starts_with("a\nb\nexit code 0"), "{}", texts[2]);
    assert_eq!(texts[3], "     1  a\n     2  b\n");
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("log")).unwrap(), "a\nb\ne\n");
}

#[tokio::test]
async fn commands_that_take_the_lock_of_a_repository_do_not_meet() {
    let mut calls =
        vec![bash("init", "git init -q . && git config user.email a@b && git config user.name n")];
    let ids: Vec<String> = (0..6).map(|number| format!("c{number}")).collect();
    for id in &ids {
        let id: &'static str = id.clone().leak();
        calls.push(bash(id, &format!("echo x >{id}; git add {id} && git commit -qm {id}")));
        calls.push(bash(format!("s{id}").leak(), "git status --short; git log --oneline"));
    }
    let mut bench = bench(calls);
    bench.prompt("go").await;
    let events = bench.settled().await;
    let failed: Vec<_> = tool_results(&events).into_iter().filter(|result| result.is_error).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test]
async fn a_write_waits_for_earlier_reads_of_its_file_only() {
    let edit =
        |id, path: &str| Call(id, "edit", json!({ "path": path, "old_string": "old", "new_string": "new" }));
    let mut bench = bench(vec![
        Call("a", "read", json!({ "path": "f" })),
        edit("b", "f"),
        edit("c", "g"),
        Call("d", "read", json!({ "path": "f" })),
        Call("e", "grep", json!({ "pattern": "new" })),
    ]);
    ["f", "g"].iter().for_each(|file| std::fs::write(bench.dir.path().join(file), "old\n").unwrap());
    bench.prompt("go").await;
    let texts = texts(&bench.settled().await);
    assert_eq!((texts[0].as_str(), texts[3].as_str()), ("     1  old\n", "     1  new\n"));
    assert!(texts[4].contains('f') && texts[4].contains('g'), "{}", texts[4]);
}

#[tokio::test]
async fn escape_stops_all_that_run_side_by_side() {
    let mut bench = bench(vec![bash("a", "sleep 60"), bash("b", "sleep 60"), bash("c", "echo c >log")]);
    bench.prompt("go").await;
    let mut started = 0;
    while started < 2 {
        started +=
            usize::from(matches!(bench.next().await, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. })));
    }
    bench.send(RunCommand::Abort).await;
    let began = Instant::now();
    let events = bench.settled().await;
    assert!(began.elapsed() < Duration::from_secs(10));
    let results = tool_results(&events);
    assert!(results.len() == 3 && results.iter().all(|result| result.is_error), "{results:?}");
    assert!(!bench.dir.path().join("log").exists());
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
    let results = tool_results(&events);
    assert!(results.iter().all(|result| !result.is_error), "{results:?}");
    let texts = texts(&events);
    assert!(texts[3].starts_with("three\n"), "{}", texts[3]);
    assert_eq!(texts[4], "     1  three\n");
}

#[tokio::test]
async fn what_is_changed_at_the_same_time_is_kept_without_a_conflict() {
    let kept = tempfile::tempdir().unwrap();
    let write = |id, path: &str| Call(id, "write", json!({ "path": path, "content": "one\n" }));
    let calls = vec![
        write("a", "a"),
        write("b", "b"),
        bash("c", "echo two >>a; echo two >both"),
        write("d", "d"),
        USE,
    ];
    let mut bench = Bench::with(Player::new(vec![calls, vec![Say("ok"), STOP]]), |config| {
        config.tools = Toolbox::all();
        config.behavior.undo = Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30, own: "".into() });
    });
    std::fs::write(bench.dir.path().join("both"), "zero\n").unwrap();
    bench.prompt("go").await;
    bench.settled().await;
    bench.send(TaskCommand::Query { ticket: 77, query: Query::Changes }).await;
    let events =
        bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { ticket: 77, .. }))).await;
    let Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::Changes(changes)), .. })) =
        events.last()
    else {
        panic!("{events:?}");
    };
    let paths: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "b", "both", "d"]);
    assert_eq!(changes.files[0].diff.to_unified(), "@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert_eq!(changes.files[2].diff.to_unified(), "@@ -1,1 +1,1 @@\n-zero\n+two\n");
}

#[tokio::test]
async fn questions_come_together_and_the_calls_run_in_their_order() {
    let calls = vec![bash("a", "echo a >>log"), bash("b", "echo b >>log"), USE];
    let mut bench = Bench::with(Player::new(vec![calls, vec![Say("ok"), STOP]]), |config| {
        config.tools = Toolbox::all();
        config.behavior.permission_mode = PermissionMode::Ask;
        config.behavior.on_ask = OnAsk::Ask;
    });
    bench.prompt("go").await;
    let mut requests = Vec::new();
    while requests.len() < 2 {
        let event = bench.next().await;
        if let AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) = event {
            requests.push(request);
        }
    }
    let allow = ApprovalAnswer::Allow { hunks: None, edited: None };
    for id in ["b", "a"] {
        let request = requests.iter().find(|request| request.tool_call_id == id).unwrap();
        let command = AgentCommand::Questions(QuestionCommand::AnswerApproval {
            id: request.id.clone(),
            answer: allow.clone(),
        });
        bench.send(command).await;
    }
    let events = bench.settled().await;
    assert_eq!((ended(&events), ids(&events)), (vec!["a".into(), "b".into()], vec!["a".into(), "b".into()]));
    assert_eq!(std::fs::read_to_string(bench.dir.path().join("log")).unwrap(), "a\nb\n");
}
