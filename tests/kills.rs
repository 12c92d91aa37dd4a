//! The program is killed at random points of running turns; no reported message is lost.
//!
//! A child of this test runs an agent that never rests and reports completed messages on standard output. 20
//! kills in a plain run; `TAU_KILLS=500` for the full number: `TAU_KILLS=500 cargo test --release --test all
//! kills -- --nocapture`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::agent::AgentEvent;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::{RunEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::message::{Message, StopReason};
use tau::agent::session::entry::Body;
use tau::agent::session::list::newest;
use tau::agent::session::{Access, Session};

use crate::fake::Step::{Call, Say, Stop, Wait};
use crate::fake::{Bench, Player};
use crate::support::dice::Dice;
use crate::support::session_files::opened_soon;
use crate::time_limit::{EndInTime, JoinInTime, in_time};

/// The folder of the child's session.
const FOLDER: &str = "TAU_TEST_KILLS";
/// The start of a line that reports a complete message.
const TOLD: &str = "told ";

/// The number of kills.
pub(crate) fn kills() -> usize {
    std::env::var("TAU_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

/// Runs a child until it has reported something and a while longer, then kills it; returns the reported
/// messages.
fn killed(folder: &Path, after: Duration) -> Vec<Message> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = Vec::new();
    let mut note = |line: &str| {
        // The kill may cut a line; then it was not reported.
        let message = line.split_once(TOLD).and_then(|(_, json)| serde_json::from_str(json).ok());
        told.extend(message);
    };
    let (first, lines) = in_time("the first words of the child", move || {
        let mut lines = lines;
        (lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(TOLD))), lines)
    });
    note(&first.expect("the child says something").unwrap());
    let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<String>>());
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait_in_time("the end of the killed child");
    reader.join_in_time("the end of the child's output").iter().for_each(|line| note(line));
    told
}

/// Checks that all calls have exactly one result in the resulting request.
fn check_calls(session: &Session) {
    let model = crate::fake::model("first");
    let told = tau::agent::context::request::for_request(&session.context().messages, &model);
    let mut open: Vec<String> = Vec::new();
    for message in &told {
        match message.as_ref() {
            Message::Assistant(answer) => {
                assert!(open.is_empty(), "{open:?} have no result");
                open = answer.tool_calls().map(|call| call.id.clone()).collect();
            }
            Message::ToolResult(result) => {
                let at = open.iter().position(|id| *id == result.tool_call_id);
                open.remove(at.unwrap_or_else(|| panic!("{} has no call", result.tool_call_id)));
            }
            _ => assert!(open.is_empty(), "{open:?} have no result"),
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

fn stored(session: &Session) -> Vec<Message> {
    let message = |body: &Body| match body {
        Body::Message { message } => Some(Message::clone(message)),
        _ => None,
    };
    session.tree().entries().iter().filter_map(|entry| message(&entry.body)).collect()
}

#[test]
fn nothing_that_was_told_is_lost_to_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice::new(7);
    let (mut told, mut torn) = (0, 0);
    let began = Instant::now();
    for kill in 0..kills() {
        // A new session now and then, so that its first line is covered as well.
        let sessions = folder.path().join(format!("{}", kill / 25));
        let messages = killed(&sessions, Duration::from_micros(dice.below(40_000) as u64));
        let path = newest(&sessions, folder.path(), true).expect("a session");
        let session = opened_soon(&path);
        torn += session.skipped_lines();
        let kept = stored(&session);
        for message in &messages {
            assert!(kept.contains(message), "kill {kill}: {message:?} is lost from {}", path.display());
        }
        assert!(session.skipped_lines() <= kill + 1, "kill {kill}: one line a kill at most");
        check_calls(&session);
        told += messages.len();
    }
    println!("{} kills in {:?}: {told} messages told and kept, {torn} torn lines", kills(), began.elapsed());
}

#[tokio::test]
async fn a_killed_session_continues() {
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice::new(11);
    for _ in 0..(kills() / 20).max(2) {
        killed(folder.path(), Duration::from_micros(dice.below(20_000) as u64));
    }
    let path = newest(folder.path(), folder.path().parent().unwrap(), true).expect("a session");
    let before = opened_soon(&path).context().messages.len();
    let player = Player::new(vec![vec![Say("still here"), Stop(StopReason::Stop)]]);
    let mut bench = Bench::with(player.clone(), |config| config.session = opened_soon(&path));
    bench.prompt("continue").await;
    bench.settled().await;
    let (session, _dir) = {
        bench.send(TaskCommand::Shutdown).await;
        bench.until(|event| *event == AgentEvent::Task(TaskEvent::Stopped)).await;
        (Session::open_as(&path, Access::Read).unwrap(), bench.dir)
    };
    assert!(session.context().messages.len() >= before + 2);
    check_calls(&session);
    assert_eq!(
        crate::support::session_files::texts(&session).last().map(String::as_str),
        Some("assistant:still here")
    );
}

/// The child: continues with the session in its folder, or starts one, and never rests.
#[tokio::test]
#[ignore = "run by the tests that kill it"]
async fn child() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let cwd = folder.parent().unwrap().to_owned();
    let session = match newest(&folder, &cwd, true) {
        Some(path) => opened_soon(&path),
        None => Session::begin(Some(&folder), &cwd, None),
    };
    let player = Player::new(Vec::new());
    let mut bench = Bench::with(player.clone(), |config| config.session = session);
    let mut out = std::io::stdout();
    for turn in 0_u64.. {
        let call = |id: &'static str, arguments: Value| Call(id, "echo", arguments);
        player.add(vec![
            Say("I look"),
            call("a", json!({"text": "x".repeat(700)})),
            call("b", json!({"words": turn % 900})),
            Stop(StopReason::ToolUse),
        ]);
        player.add(vec![Wait(turn % 3), Say("so it is"), Stop(StopReason::Stop)]);
        bench.prompt(&format!("turn {turn}")).await;
        loop {
            match bench.next().await {
                AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                    writeln!(out, "{TOLD}{}", serde_json::to_string(&message).unwrap()).unwrap();
                    out.flush().unwrap();
                }
                AgentEvent::Run(RunEvent::AgentSettled { .. }) => break,
                _ => {}
            }
        }
    }
}
