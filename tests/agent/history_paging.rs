//! The messages before those of an opened session, sent a page at a time.

use std::path::{Path, PathBuf};

use tau::agent::protocol::command::{RunCommand, SessionCommand, ShellCommand, TaskCommand};
use tau::agent::protocol::event::{SessionEvent, TaskEvent, TurnEvent};
use tau::agent::protocol::query::{HistoryPage, PageFrom, PageGoal, Query, QueryAnswer};
use tau::agent::session::outline::outline;
use tau::agent::session::{Access, Session};

use super::*;
use crate::support::session_files::{HEADER, entry, line};

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

/// The first words of messages.
fn begins(messages: &[Arc<Message>]) -> Vec<String> {
    let words = |message: &Arc<Message>| {
        crate::fake::said(message).split(' ').skip(1).take(2).collect::<Vec<_>>().join(" ")
    };
    messages.iter().map(words).collect()
}

/// The messages that are sent first, and the number of earlier ones as soon as it is known.
async fn first(bench: &mut Bench) -> (Vec<Arc<Message>>, Option<u64>) {
    let is_left =
        |event: &AgentEvent| matches!(event, AgentEvent::Session(SessionEvent::HistoryAvailable { .. }));
    let mut reported = bench.until(is_left).await;
    let is_cut = matches!(&reported[0], AgentEvent::Session(SessionEvent::SessionOpened { messages, .. }) if messages.len() > 4);
    if is_cut {
        // The first is a guess.
        reported.extend(bench.until(is_left).await);
    }
    let Some(AgentEvent::Session(SessionEvent::HistoryAvailable { left })) = reported.last() else {
        panic!()
    };
    match &reported[0] {
        AgentEvent::Session(SessionEvent::SessionOpened { messages, .. }) => (messages.clone(), Some(*left)),
        other => panic!("{other:?}"),
    }
}

/// A page.
async fn ask(bench: &mut Bench, from: PageFrom, goal: PageGoal) -> HistoryPage {
    bench.send(TaskCommand::Query { ticket: 1, query: Query::HistoryPage { from, goal } }).await;
    let mut reported =
        bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { ticket: 1, .. }))).await;
    match reported.pop() {
        Some(AgentEvent::Task(TaskEvent::Answered {
            answer: Ok(QueryAnswer::HistoryPage(page)), ..
        })) => page,
        other => panic!("{other:?}"),
    }
}

/// The page before this one.
async fn back(bench: &mut Bench, before: &HistoryPage) -> HistoryPage {
    ask(bench, PageFrom::Before { position: Some(before.start) }, PageGoal::Next).await
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
    let (mut all, left) = first(&mut bench).await;
    assert_eq!(left, Some((count - all.len()) as u64));
    // A user command runs at the same time.
    let bash = AgentCommand::Shell(ShellCommand::Bash {
        id: None,
        command: "sleep 30".into(),
        exclude_from_context: false,
        size: None,
        without_sandbox: false,
    });
    bench.send(bash).await;
    let mut page = ask(&mut bench, PageFrom::default(), PageGoal::Next).await;
    let mut steps = 0;
    loop {
        assert!(!page.messages.is_empty() && page.failed.is_none());
        assert_eq!(page.after, (steps > 0).then(|| left.unwrap() - page.end));
        all.splice(0..0, page.messages.clone());
        steps += 1;
        assert_eq!(page.left.unwrap_or(0), (count - all.len()) as u64);
        if page.left.is_none() {
            break;
        }
        page = back(&mut bench, &page).await;
    }
    assert!((12..=18).contains(&steps), "{steps}");
    let expected: Vec<String> = (0..count).map(|at| format!("message {at}")).collect();
    assert_eq!(begins(&all), expected);
    assert_eq!(back(&mut bench, &page).await.messages, Vec::new());
}

#[tokio::test]
async fn pages_are_read_wherever_somebody_looks() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = large(dir.path(), 8);
    let mut bench = with_session(&path, Vec::new());
    first(&mut bench).await;
    let top = ask(&mut bench, PageFrom::After { position: 0 }, PageGoal::Next).await;
    assert_eq!((begins(&top.messages)[0].as_str(), top.start, top.left), ("message 0", 0, None));
    let next = ask(&mut bench, PageFrom::After { position: top.end }, PageGoal::Next).await;
    assert_eq!(begins(&next.messages)[0], format!("message {}", top.end));
    assert!(next.after < top.after && next.left == Some(top.end), "{:?}", next.after);
    let text = |text: &str| PageGoal::Text { text: text.to_owned() };
    for (from, sought, found) in [
        (PageFrom::default(), "Message 77 ", false),
        (PageFrom::default(), "message 77 word", true),
        (PageFrom::After { position: 0 }, "MESSAGE 77".to_lowercase().as_str(), true),
        (PageFrom::After { position: 78 }, "message 77 ", false),
        (PageFrom::Before { position: Some(77) }, "message 77 ", false),
        (PageFrom::Before { position: Some(78) }, "message 77 ", true),
        (PageFrom::default(), "parentId", false),
    ] {
        let page = ask(&mut bench, from, text(sought)).await;
        let has = begins(&page.messages).contains(&"message 77".to_owned());
        assert_eq!((has, page.messages.is_empty()), (found, !found), "{sought} {from:?}");
        assert!(page.messages.len() < 20, "not everything up to it");
    }
    let prompt = ask(&mut bench, PageFrom::Before { position: Some(50) }, PageGoal::Prompt).await;
    assert_eq!((begins(&prompt.messages)[0].as_str(), prompt.start), ("message 49", 49));
}

#[tokio::test]
async fn it_works_in_the_middle_of_a_run_and_after_all_was_read_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 8);
    let mut bench = with_session(&path, vec![vec![Say("half"), Hang]]);
    let (mut all, _) = first(&mut bench).await;
    // The model needs the complete context, so the rest of the file is read now.
    bench.prompt("go").await;
    bench.until(|event| matches!(event, AgentEvent::Turn(TurnEvent::MessageUpdate { .. }))).await;
    let mut page = ask(&mut bench, PageFrom::default(), PageGoal::Next).await;
    let mut steps = 1;
    while page.left.is_some() {
        all.splice(0..0, page.messages.clone());
        page = back(&mut bench, &page).await;
        steps += 1;
    }
    all.splice(0..0, page.messages);
    assert!(steps > 2, "still in steps");
    assert_eq!(all.len(), count);
    bench.send(RunCommand::Abort).await;
    assert!(brief(&bench.settled().await).contains(&"end assistant Aborted half".to_owned()));
    bench.send(TaskCommand::Query { ticket: 2, query: Query::Outline }).await;
    let reported = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    let Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::Outline(outline)), .. })) =
        reported.last()
    else {
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
    let page = ask(&mut bench, PageFrom::default(), PageGoal::Next).await;
    assert_eq!((page.messages.len(), page.left), (0, left));
    assert!(page.failed.unwrap().contains("No such file"));
    std::fs::rename(&aside, &path).unwrap();
    let page = ask(&mut bench, PageFrom::After { position: 0 }, PageGoal::Next).await;
    assert_eq!((page.messages.len() as u64, page.failed), (page.end, None));
    assert_eq!(page.end + page.after.unwrap() + known.len() as u64, count as u64);
}

/// Its rows are read from the file, of which only the end was read before.
#[tokio::test]
async fn the_tree_of_a_large_session_is_that_of_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 3);
    let whole = outline(Session::open_as(&path, Access::Read).unwrap().tree());
    let mut bench = with_session(&path, Vec::new());
    first(&mut bench).await;
    bench.send(TaskCommand::Query { ticket: 2, query: Query::Outline }).await;
    let mut reported =
        bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    let Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::Outline(outline)), .. })) =
        reported.pop()
    else {
        panic!()
    };
    assert_eq!((outline.rows.len(), outline.leaf), (count, Some(count - 1)));
    assert!(outline == whole);
}

#[tokio::test]
async fn what_is_known_to_be_used_is_said_although_the_rest_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let (path, count) = large(dir.path(), 3);
    let answer = json!({"message": {"role": "assistant", "content": [{"type": "text", "text": "x"}],
        "api": "openai-completions", "provider": "p", "model": "m", "stopReason": "stop",
        "usage": {"input": 700, "output": 7, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 707}}});
    let last = entry("message", "last", Some(&format!("m{}", count - 1)), answer);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{last}\n")).unwrap();
    let session = Session::open_tail(&path, Access::Write, 1 << 20).unwrap();
    std::fs::rename(&path, dir.path().join("aside.jsonl")).unwrap();
    let mut bench = Bench::with(Player::new(Vec::new()), |config| config.session = session);
    let reported = bench
        .until(|event| {
            matches!(event, AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(_), .. }))
        })
        .await;
    assert!(
        reported.iter().any(|event| matches!(
            event,
            AgentEvent::Session(SessionEvent::SessionUsage { usage: None, .. })
        ))
    );
    let Some(AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(usage), .. })) = reported.last()
    else {
        panic!()
    };
    assert_eq!((usage.input, usage.output), (700, 7));
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
    let HistoryPage { messages, left, .. } = ask(&mut bench, PageFrom::default(), PageGoal::Next).await;
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
    let (from, goal) = (PageFrom::default(), PageGoal::Next);
    bench.send(TaskCommand::Query { ticket: 7, query: Query::HistoryPage { from, goal } }).await;
    bench.send(SessionCommand::Change(SessionChange::New)).await;
    let reported =
        bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { ticket: 7, .. }))).await;
    assert!(
        reported.iter().any(|event| matches!(event, AgentEvent::Session(SessionEvent::SessionOpened { .. })))
    );
    assert!(
        matches!(reported.last(), Some(AgentEvent::Task(TaskEvent::Answered { answer: Err(_), .. }))),
        "{reported:?}"
    );
    // Asked too late: the new session has nothing before it.
    let page = ask(&mut bench, PageFrom::default(), PageGoal::Next).await;
    assert_eq!(page, HistoryPage::default());
    bench.prompt("go").await;
    let reported = bench.settled().await;
    assert!(!reported.iter().any(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))));
}
