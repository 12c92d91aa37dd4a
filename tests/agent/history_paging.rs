//! The messages before those of an opened session: sent a page at a time.

use std::path::{Path, PathBuf};

use tau::agent::protocol::query::{HistoryPage, Query, QueryAnswer};
use tau::agent::session::{Access, Session};

use super::*;
use crate::sessions::{HEADER, entry, line};

/// A session of about `megabytes`, of messages of 50,000 bytes.
fn large(dir: &Path, megabytes: usize) -> (PathBuf, usize) {
    let count = megabytes * 20;
    let mut lines = vec![HEADER.to_owned()];
    for at in 0..count {
        let parent = at.checked_sub(1).map(|at| format!("m{at}"));
        let text = format!("message {at} {}", "word ".repeat(10_000));
        lines.push(line(&format!("m{at}"), parent.as_deref(), &text));
    }
    let path = dir.join("large.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    (path, count)
}

/// The words with which messages begin.
fn begins(messages: &[Arc<Message>]) -> Vec<String> {
    let words = |message: &Arc<Message>| {
        crate::fake::said(message).split(' ').skip(1).take(2).collect::<Vec<_>>().join(" ")
    };
    messages.iter().map(words).collect()
}

/// The messages that are sent first, and how many are left.
async fn first(bench: &mut Bench) -> (Vec<Arc<Message>>, Option<u64>) {
    let reported = bench.until(|event| matches!(event, AgentEvent::HistoryAvailable { .. })).await;
    let Some(AgentEvent::HistoryAvailable { left }) = reported.last() else { panic!() };
    match reported.iter().rev().nth(1) {
        Some(AgentEvent::SessionOpened { messages, .. }) => (messages.clone(), Some(*left)),
        other => panic!("{other:?}"),
    }
}

/// One page back.
async fn back(bench: &mut Bench) -> (Vec<Arc<Message>>, Option<u64>, Option<String>) {
    bench.send(AgentCommand::Query { ticket: 1, query: Query::HistoryPage }).await;
    let mut reported = bench.until(|event| matches!(event, AgentEvent::Answered { ticket: 1, .. })).await;
    match reported.pop() {
        Some(AgentEvent::Answered { answer: Ok(QueryAnswer::HistoryPage(page)), .. }) => {
            let HistoryPage { messages, left, failed, .. } = page;
            (messages, left, failed)
        }
        other => panic!("{other:?}"),
    }
}

fn with_session(session: &Path, answers: Vec<Vec<Step>>) -> Bench {
    let session = Session::open_tail(session, Access::Write, 1 << 20).unwrap();
    Bench::with(Player::new(answers), |config| config.session = session)
}

#[tokio::test]
async fn all_pages_arrive_in_order_also_during_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 8);
    let mut bench = with_session(&path, Vec::new());
    let (mut all, mut left) = first(&mut bench).await;
    assert_eq!(left, Some((count - all.len()) as u64));
    // A command of the user runs at the same time.
    let bash =
        AgentCommand::Bash { id: None, command: "sleep 30".into(), exclude_from_context: false, size: None };
    bench.send(bash).await;
    let mut steps = 0;
    while left.is_some() {
        let (messages, now, failed) = back(&mut bench).await;
        assert!(!messages.is_empty() && failed.is_none());
        all.splice(0..0, messages);
        (left, steps) = (now, steps + 1);
        assert_eq!(left.unwrap_or(0), (count - all.len()) as u64);
    }
    assert!((3..=5).contains(&steps), "{steps}");
    let expected: Vec<String> = (0..count).map(|at| format!("message {at}")).collect();
    assert_eq!(begins(&all), expected);
    assert_eq!(back(&mut bench).await, (Vec::new(), None, None));
}

#[tokio::test]
async fn it_works_in_the_middle_of_a_run_and_after_all_was_read_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 8);
    let mut bench = with_session(&path, vec![vec![Say("half"), Hang]]);
    let (mut all, mut left) = first(&mut bench).await;
    // The model needs the complete context, so the rest of the file is read now.
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::MessageUpdate { .. })).await;
    let mut steps = 0;
    while left.is_some() {
        let (messages, now, _) = back(&mut bench).await;
        all.splice(0..0, messages);
        (left, steps) = (now, steps + 1);
    }
    assert!(steps > 2, "still in steps");
    assert_eq!(all.len(), count);
    bench.send(AgentCommand::Abort).await;
    assert!(brief(&bench.settled().await).contains(&"end assistant Aborted half".to_owned()));
    bench.send(AgentCommand::Query { ticket: 2, query: Query::Outline }).await;
    let reported = bench.until(|event| matches!(event, AgentEvent::Answered { .. })).await;
    let Some(AgentEvent::Answered { answer: Ok(QueryAnswer::Outline(outline)), .. }) = reported.last() else {
        panic!()
    };
    let last = outline.rows.last().unwrap();
    let said = outline.rows.iter().filter(|row| row.text.starts_with("message")).count();
    assert_eq!((said, last.text.as_str()), (count, "half"));
}

#[tokio::test]
async fn a_file_that_is_gone_is_said_and_can_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 3);
    let mut bench = with_session(&path, Vec::new());
    let (known, left) = first(&mut bench).await;
    let aside = dir.path().join("aside.jsonl");
    std::fs::rename(&path, &aside).unwrap();
    let (messages, still, failed) = back(&mut bench).await;
    assert_eq!((messages.len(), still), (0, left));
    assert!(failed.unwrap().contains("No such file"));
    std::fs::rename(&aside, &path).unwrap();
    let (messages, left, failed) = back(&mut bench).await;
    assert_eq!((messages.len() + known.len(), left, failed), (count, None, None));
}

#[tokio::test]
async fn what_was_compacted_away_can_be_seen_above_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let compaction = json!({"summary": "sum", "firstKeptEntryId": "b", "tokensBefore": 9});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "c", "toolName": "x",
        "content": [{"type": "text", "text": "found"}]}});
    let call = json!({"message": {"role": "assistant", "api": "x", "provider": "p", "model": "m",
        "content": [{"type": "toolCall", "id": "c", "name": "x", "arguments": {}}], "stopReason": "toolUse"}});
    let lines = [
        HEADER.to_owned(),
        line("a", None, "first"),
        entry("message", "aa", Some("a"), call),
        // Kept from a result on, whose call is not kept.
        entry("message", "b", Some("aa"), result),
        line("bb", Some("b"), "kept"),
        entry("compaction", "k", Some("bb"), compaction),
        line("d", Some("k"), "after"),
    ];
    let path = dir.path().join("small.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut bench = with_session(&path, Vec::new());
    let (known, left) = first(&mut bench).await;
    assert_eq!((known.len(), left), (4, Some(2)));
    let (messages, left, _) = back(&mut bench).await;
    let reported: Vec<String> = messages.iter().map(|message| crate::fake::said(message)).collect();
    assert_eq!((reported.len(), reported[0].as_str(), left), (3, "user first", None));
    assert!(reported[2].starts_with("result c"), "{reported:?}");
}

#[tokio::test]
async fn a_change_of_session_ends_paging() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = large(dir.path(), 8);
    let mut bench = with_session(&path, Vec::new());
    first(&mut bench).await;
    bench.send(AgentCommand::Query { ticket: 7, query: Query::HistoryPage }).await;
    bench.send(AgentCommand::Session(SessionCommand::New)).await;
    let reported = bench.until(|event| matches!(event, AgentEvent::Answered { ticket: 7, .. })).await;
    assert!(reported.iter().any(|event| matches!(event, AgentEvent::SessionOpened { .. })));
    assert!(matches!(reported.last(), Some(AgentEvent::Answered { answer: Err(_), .. })), "{reported:?}");
    // Asked too late: the new one has nothing before it.
    assert_eq!(back(&mut bench).await, (Vec::new(), None, None));
    bench.prompt("go").await;
    let reported = bench.settled().await;
    assert!(!reported.iter().any(|event| matches!(event, AgentEvent::Answered { .. })));
}
