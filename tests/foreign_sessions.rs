//! A session written by pi 1.5.2, with every kind of entry, and the contexts that pi derives from it: they
//! are the same here, wherever the conversation stands, and nothing is lost. Text written in other formats
//! is found, too.

mod continued;
mod folders;
mod listed;
mod served;
mod shapes;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tau::agent::AgentEvent;
use tau::agent::protocol::command::TaskCommand;
use tau::agent::protocol::event::TaskEvent;
use tau::agent::protocol::message::{Block, Message, UserContent};
use tau::agent::protocol::query::{Query, QueryAnswer};
use tau::agent::session::last_exchange::last_exchange;
use tau::agent::session::{ForkRange, Session};
use tau::tools::Content;

use crate::fake::{Bench, Player};
use crate::session_search::hits;
use crate::support::session_files::{Folder, assistant, user};

const LINES: &str = include_str!("golden/sessions/pi-1.5.2.jsonl");
const EXPECTED: &str = include_str!("golden/sessions/pi-1.5.2.expected.json");

/// The output of pi for the file.
#[derive(Deserialize)]
struct Expected {
    name: String,
    thinking: Value,
    model: Value,
    /// The context below each entry, one text per message.
    contexts: BTreeMap<String, Vec<String>>,
}

fn blocks(blocks: &[Block]) -> String {
    let text = |block: &Block| match block {
        Block::Text { text, .. } => text.clone(),
        Block::Thinking { thinking, .. } => format!("({thinking})"),
        Block::ToolCall(call) => format!("<{}>", call.id),
        Block::Image { .. } => "[image]".to_owned(),
        _ => String::new(),
    };
    blocks.iter().map(text).collect()
}

fn said(content: &UserContent) -> String {
    match content {
        UserContent::Text(text) => text.clone(),
        UserContent::Blocks(list) => blocks(list),
    }
}

fn told(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user:{}", said(&user.content)),
        Message::Assistant(answer) => format!("assistant:{}", blocks(&answer.content)),
        Message::ToolResult(result) => {
            let part = |part: &Content| match part {
                Content::Text { text } => text.clone(),
                Content::Image { .. } => "[image]".to_owned(),
            };
            format!("result:{}", result.content.iter().map(part).collect::<String>())
        }
        Message::Custom(custom) => format!("custom:{}", said(&custom.content)),
        Message::CompactionSummary(summary) => format!("compaction:{}", summary.summary),
        Message::BranchSummary(summary) => format!("branch:{}", summary.summary),
        Message::BashExecution(run) => format!("bash:{}", run.command),
        Message::Application(own) => format!("{}:", own.role()),
    }
}

fn values(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_context_is_the_one_that_the_other_program_makes() {
    let expected: Expected = serde_json::from_str(EXPECTED).unwrap();
    let folder = Folder::new();
    let path = folder.file(LINES);
    let mut session = Session::open(&path).unwrap();
    assert_eq!((session.info().name.as_deref(), session.skipped_lines()), (Some(&*expected.name), 0));
    let context = session.context();
    assert_eq!(serde_json::to_value(context.thinking).unwrap(), expected.thinking);
    let (provider, id) = context.model.unwrap();
    assert_eq!((&*provider, &*id), (expected.model["provider"].as_str().unwrap(), "m2"));
    assert_eq!(expected.contexts.len(), LINES.lines().count() - 1);
    for (leaf, context) in &expected.contexts {
        session.go_to(Some(leaf));
        let found: Vec<String> = session.context().messages.iter().map(|message| told(message)).collect();
        assert_eq!(found, *context, "below {leaf}");
    }
    drop(session);
    assert_eq!(fs::read_to_string(&path).unwrap(), LINES, "going about changes nothing");
}

#[test]
fn what_it_wrote_is_kept_by_appending_and_by_clones() {
    let folder = Folder::new();
    let path = folder.file(LINES);
    let mut session = Session::open(&path).unwrap();
    session.append(user("more")).unwrap();
    session.append(assistant("and more")).unwrap();
    let after = fs::read_to_string(&path).unwrap();
    assert_eq!(after.strip_prefix(LINES).unwrap().lines().count(), 2);
    let mut clone = session.fork(Some(&folder.path().join("clones")), ForkRange::All).unwrap();
    clone.append(user("in the clone")).unwrap();
    let kept = values(&cloned(&clone));
    let known = values(&after);
    let mut taken = 0;
    for entry in kept.iter().filter(|entry| entry["type"] != "label") {
        taken += usize::from(known.contains(entry));
    }
    assert_eq!(taken, session.tree().branch().len(), "every entry of the path as it was, parent and all");
}

fn cloned(session: &Session) -> String {
    let file: &Path = session.info().file.as_deref().unwrap();
    fs::read_to_string(file).unwrap()
}

#[tokio::test]
async fn what_it_used_for_other_things_counts() {
    let folder = Folder::new();
    let path = folder.file(LINES);
    let mut bench =
        Bench::with(Player::new(Vec::new()), |config| config.session = Session::open(&path).unwrap());
    bench.send(TaskCommand::Query { ticket: 1, query: Query::Stats }).await;
    let events = bench.until(|event| matches!(event, AgentEvent::Task(TaskEvent::Answered { .. }))).await;
    let Some(AgentEvent::Task(TaskEvent::Answered { answer: Ok(QueryAnswer::Stats(stats)), .. })) =
        events.last()
    else {
        panic!("{events:?}")
    };
    // Eight answers, a summary of a branch, a summary of a compaction, and a cache warm-up.
    assert_eq!((stats.usage.input, stats.usage.output), (8 * 100 + 9 + 3 + 5, 8 * 20 + 9 + 3));
}

/// Other programs write JSON with blanks, and fields in another order.
#[test]
fn what_was_said_is_found_however_it_is_written() {
    let folder = Folder::new();
    let header = r#"{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.678Z", "cwd": "/srv/web"}"#;
    let person = r#"{"type": "message", "id": "a", "parentId": null, "timestamp": "2026-01-02T03:04:05.678Z", "message": {"role": "user", "content": "the needle"}}"#;
    let model = r#"{"message":{"content":[{"type":"text","text":"a haystack"}],"api":"x","provider":"p","model":"m","stopReason":"stop","role":"assistant"},"type":"message","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:06.678Z"}"#;
    let result = r#"{"type": "message", "id": "c", "parentId": "b", "timestamp": "2026-01-02T03:04:07.678Z", "message": {"role": "toolResult", "toolCallId": "c", "toolName": "x", "content": [{"type": "text", "text": "a thread"}]}}"#;
    let path = folder.file([header, person, model, result].join("\n") + "\n");
    for (query, expected) in [("needle", 1), ("haystack", 1), ("thread", 1), ("stop", 0)] {
        assert_eq!(hits(folder.path(), None, query).len(), expected, "{query}");
    }
    let words = last_exchange(&path).unwrap();
    assert_eq!((words.user.as_str(), words.model.as_str()), ("the needle", "a haystack"));
}
