//! Undo data of calls: aborted ones, and those next to user commands.

use tau::agent::protocol::command::{RunCommand, SessionCommand, ShellCommand, TaskCommand};
use tau::agent::protocol::event::{SessionEvent, ShellEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::protocol::undo::{SessionChanges, UndoOrder, UndoScope};
use tau::agent::undo::UndoOptions;

use super::*;

/// An agent that keeps undo data, and its directory.
fn keeping(answers: Vec<Vec<Step>>) -> (Bench, tempfile::TempDir) {
    let kept = tempfile::tempdir().unwrap();
    let bench = Bench::with(Player::new(answers), |config| {
        config.tools = Toolbox::all();
        config.behavior.undo = Some(UndoOptions { dir: kept.path().into(), quota: 1 << 30, own: "".into() });
    });
    (bench, kept)
}

async fn changes(bench: &mut Bench) -> SessionChanges {
    bench.send(TaskCommand::Query { ticket: 77, query: Query::Changes }).await;
    let events =
        bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { ticket: 77, .. }))).await;
    match events.last() {
        Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::Changes(changes)), .. })) => {
            changes.clone()
        }
        other => panic!("{other:?}"),
    }
}

fn bash(command: &str) -> Step {
    Call("a", "bash", json!({ "command": command }))
}

#[tokio::test]
async fn a_command_that_was_aborted_can_be_undone() {
    let (mut bench, _kept) = keeping(vec![vec![bash("echo half >a; echo started; sleep 60; echo >b"), USE]]);
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { .. }))).await;
    bench.send(RunCommand::Abort).await;
    bench.settled().await;
    let paths: Vec<String> = changes(&mut bench).await.files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["a"]);
}

#[tokio::test]
async fn what_a_command_of_the_user_changes_is_not_the_agents() {
    let answers = vec![
        vec![bash("echo agent >a"), USE],
        vec![Say("ok"), STOP],
        vec![bash("echo agent >c"), USE],
        vec![Say("ok"), STOP],
    ];
    let (mut bench, _kept) = keeping(answers);
    bench.prompt("go").await;
    bench.settled().await;
    let command = "echo mine >b".to_owned();
    bench
        .send(ShellCommand::Bash {
            id: None,
            command,
            exclude_from_context: false,
            size: None,
            without_sandbox: false,
        })
        .await;
    bench.until(|event| matches!(event, AgentEvent::Shell(ShellEvent::BashEnd { .. }))).await;
    bench.prompt("again").await;
    bench.settled().await;
    let paths: Vec<String> = changes(&mut bench).await.files.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, ["a", "c"]);
}

#[tokio::test]
async fn nothing_is_kept_of_calls_that_read() {
    let call = Call("a", "ls", json!({}));
    let (mut bench, kept) = keeping(vec![vec![call, USE], vec![Say("ok"), STOP]]);
    bench.prompt("go").await;
    bench.settled().await;
    assert!(changes(&mut bench).await.files.is_empty());
    let journals = std::fs::read_dir(kept.path()).unwrap().flatten();
    assert!(journals.into_iter().all(|folder| !folder.path().join("journal.jsonl").exists()));
}

/// A job outlives its session; its end must not be taken for that of a command of the user.
#[tokio::test]
async fn a_job_of_another_session_does_not_make_a_file_of_the_user_the_agents() {
    let job =
        Call("j", "bash", json!({ "command": "until test -e go; do sleep 0.05; done", "background": true }));
    let answers = vec![
        vec![job, USE],
        vec![Say("ok"), STOP],
        vec![bash("echo agent >c; touch mine; until test -e b; do sleep 0.05; done; sleep 0.2"), USE],
        vec![Say("ok"), STOP],
    ];
    let (mut bench, _kept) = keeping(answers);
    bench.prompt("go").await;
    bench.settled().await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    std::fs::write(bench.dir.path().join("go"), "").unwrap();
    let is_over = |event: &AgentEvent| match event {
        AgentEvent::Shell(ShellEvent::JobsChanged { jobs }) => jobs.iter().all(|job| job.ended.is_some()),
        _ => false,
    };
    bench.until(is_over).await;
    bench.send(bash_in("b", "until test -e mine; do sleep 0.05; done; echo mine >b; sleep 1", None)).await;
    bench.prompt("again").await;
    bench.settled().await;
    let written: String =
        files(&bench.dir).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let prompt = written.lines().find(|line| line.contains(r#""again""#)).unwrap();
    let entry_id = serde_json::from_str::<Value>(prompt).unwrap()["id"].as_str().unwrap().to_owned();
    let order = UndoOrder { entry_id, scope: UndoScope::Files, ..UndoOrder::default() };
    bench.send(SessionCommand::Undo { order }).await;
    let restored =
        |event: &AgentEvent| matches!(event, AgentEvent::Session(SessionEvent::FilesRestored { .. }));
    let told = bench.until(restored).await;
    assert!(bench.dir.path().join("b").exists(), "{told:?}");
}
