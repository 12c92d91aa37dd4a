//! The history of a session of which only the end is read when it is opened.

use tau::agent::protocol::query::ask;
use tau::agent::session::{Access, Session};

use super::*;
use crate::support::session_files::{HEADER, line};

#[allow(dead_code, reason = "its main function is not called here")]
#[path = "../../examples/restore_session.rs"]
mod restore_session;

/// The example as `cargo run` runs it, except for the destination of its output.
#[tokio::test]
async fn the_example_continues_a_stored_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let file = restore_session::first("demo", folder.path()).in_time("the conversation").await.unwrap();
    assert!(file.starts_with(folder.path()));
    let mut lines = Vec::new();
    let restored = restore_session::restored("demo", &file, |line| lines.push(line));
    restored.in_time("the second conversation").await.unwrap();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(lines[0], "you: help");
    let answer = lines[1].strip_prefix("model: ").unwrap();
    assert!(!answer.is_empty() && lines[2] == format!("and now: {answer}"), "{lines:?}");
    assert_eq!(lines[3], "4 messages");
    let stored = Session::open(&file).unwrap();
    assert_eq!(stored.context().messages.len(), 4, "what was said then is in the same file");
}

#[tokio::test]
async fn the_complete_history_can_be_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let count = 60;
    let mut lines = vec![HEADER.to_owned()];
    for at in 0..count {
        let parent = usize::checked_sub(at, 1).map(|at| format!("m{at}"));
        let text = format!("message {at} {}", "word ".repeat(500));
        lines.push(line(&format!("m{at}"), parent.as_deref(), &text));
    }
    let path = dir.path().join("large.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let session = Session::open_tail(&path, Access::Write, 20_000).unwrap();
    let player = Player::new(vec![vec![Say("the answer"), STOP]]);
    let agent = builder(&player).session(session).start();
    let loaded = agent.state().messages.len();
    assert!(loaded > 0 && loaded < count, "{loaded}");
    let history = agent.load_history().await.unwrap();
    assert_eq!(history.len(), count);
    assert!(texts(&history)[0].starts_with("user message 0 "));
    assert_eq!(agent.state().messages, history);
    agent.run("go").in_time("the end of the run").await.unwrap();
    let messages = agent.state().messages;
    assert_eq!(messages[..count], history[..]);
    assert_eq!(texts(&messages)[count..], ["user go", "assistant Stop the answer"]);
}

#[tokio::test]
async fn queries_have_typed_answers() {
    let player = Player::new(vec![vec![Say("the answer"), STOP]]);
    let agent = builder(&player).start();
    let refused = agent.query(ask::Source).in_time("the agent to take `query`").await;
    assert!(matches!(refused, Err(AgentError::Failed(why)) if why.contains("nothing to export")));
    agent.run("go").in_time("the end of the run").await.unwrap();
    let text = agent.query(ask::LastText).in_time("the agent to take `query`").await.unwrap();
    assert_eq!(text.as_deref(), Some("the answer"));
    let stats = agent.query(ask::Stats).in_time("the agent to take `query`").await.unwrap();
    assert_eq!((stats.user_messages, stats.assistant_messages), (1, 1));
    agent.shutdown().in_time("the end").await;
    assert_eq!(agent.query(ask::Sync).in_time("the agent to take `query`").await, Err(AgentError::Ended));
}
