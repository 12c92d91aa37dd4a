//! Answers questions about the session, as JSON text in the shapes of the RPC wire.
//!
//! Reads only. Text and not a tree of values, because the tree of a long session is nested
//! deeper than a recursive writer could follow. What a front end knows by itself (whether a run
//! goes on, which models there are) is not asked here.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compact;
use super::task::Agent;
use crate::agent::context::compaction::size;
use crate::agent::protocol::command::Wish;
use crate::agent::protocol::message::{Message, Usage};
use crate::agent::session::entry::{Body, Entry, iso};
use crate::agent::session::tree::Tree;

/// There is no source of an empty session.
const NOTHING: &str = "nothing has been said in this session yet, so there is nothing to write";

/// The answer to a question, or why there is none.
pub(crate) fn inspect(agent: &Agent, wish: &Wish) -> Result<String, String> {
    let tree = agent.config.session.tree();
    Ok(match wish {
        Wish::State => text(&state(agent)),
        Wish::Messages => text(&json!({ "messages": agent.config.session.context_json() })),
        Wish::LastText => text(&last_text(&agent.config.session.context().messages)),
        Wish::ForkMessages => text(&fork_messages(tree)),
        Wish::Stats => text(&stats(agent)),
        Wish::Entries { since } => entries(tree, since.as_deref())?,
        Wish::Tree => nested(tree),
        Wish::Source => text(&agent.config.session.source().ok_or(NOTHING)?),
    })
}

fn text(value: &impl Serialize) -> String {
    // Nothing in a session can fail to become JSON: keys are strings, numbers finite.
    serde_json::to_string(value).unwrap_or_default()
}

fn state(agent: &Agent) -> Value {
    let session = &agent.config.session;
    let info = session.info();
    json!({
        "sessionFile": info.file,
        "sessionId": info.id,
        "sessionName": info.name,
        "autoCompactionEnabled": agent.config.room.auto,
        "steeringMode": agent.queues.steering_mode(),
        "followUpMode": agent.queues.follow_up_mode(),
        "messageCount": session.context().messages.len(),
        "pendingMessageCount": agent.queues.len(),
        "thinkingLevel": agent.thinking(),
    })
}

fn last_text(messages: &[Arc<Message>]) -> Value {
    let last = messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    last.map_or_else(|| json!({}), |text| json!({ "text": text }))
}

fn fork_messages(tree: &Tree) -> Value {
    let said = tree.entries().iter().filter_map(|entry| {
        let Body::Message { message } = &entry.body else { return None };
        let Message::User(user) = message.as_ref() else { return None };
        let text = user.content.text();
        (!text.trim().is_empty()).then(|| json!({ "entryId": &*entry.id, "text": text }))
    });
    json!({ "messages": said.collect::<Vec<_>>() })
}

fn line(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.line()).trim_end().to_owned()
}

fn leaf(tree: &Tree) -> String {
    text(&tree.leaf().map(|leaf| &*leaf.id))
}

fn entries(tree: &Tree, since: Option<&str>) -> Result<String, String> {
    let all = tree.entries();
    let from = match since {
        None => 0,
        Some(since) => match all.iter().position(|entry| *entry.id == *since) {
            Some(at) => at + 1,
            None => return Err(format!("Entry not found: {since}")),
        },
    };
    let lines: Vec<String> = all.iter().skip(from).map(line).collect();
    Ok(format!(r#"{{"entries":[{}],"leafId":{}}}"#, lines.join(","), leaf(tree)))
}

/// The entries below one another, written without recursion.
fn nested(tree: &Tree) -> String {
    let known: HashMap<&str, usize> =
        tree.entries().iter().enumerate().map(|(at, entry)| (&*entry.id, at)).collect();
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, entry) in tree.entries().iter().enumerate() {
        // A parent stands on an earlier line; any other would make a ring.
        let parent = entry.parent.as_ref().and_then(|id| known.get(&**id)).copied();
        children.entry(parent.filter(|parent| *parent < at)).or_default().push(at);
    }
    let labelled = label_times(tree);
    let mut out = String::from(r#"{"tree":["#);
    let mut open = vec![children.get(&None).map(Vec::as_slice).unwrap_or_default().iter()];
    while let Some(level) = open.last_mut() {
        let Some(at) = level.next() else {
            open.pop();
            out.push_str(if open.is_empty() { "]" } else { "]}" });
            continue;
        };
        if !out.ends_with('[') {
            out.push(',');
        }
        let Some(entry) = tree.entries().get(*at) else { continue };
        out.push_str(&format!(r#"{{"entry":{}"#, line(entry)));
        if let Some(label) = tree.label(&entry.id) {
            let time = labelled.get(&*entry.id).copied().unwrap_or_default();
            out.push_str(&format!(r#","label":{},"labelTimestamp":{}"#, text(&label), text(&iso(time))));
        }
        out.push_str(r#","children":["#);
        open.push(children.get(&Some(*at)).map(Vec::as_slice).unwrap_or_default().iter());
    }
    out.push_str(&format!(r#","leafId":{}}}"#, leaf(tree)));
    out
}

/// When each entry got its label.
fn label_times(tree: &Tree) -> HashMap<&str, i64> {
    let label = |entry: &'_ Entry| match &entry.body {
        Body::Label { target_id, label: Some(_) } => Some((target_id.clone(), entry.timestamp)),
        _ => None,
    };
    let times: HashMap<String, i64> = tree.entries().iter().filter_map(label).collect();
    let time = |entry: &Entry| times.get(&*entry.id).copied();
    tree.entries().iter().filter_map(|entry| Some((&*entry.id, time(entry)?))).collect()
}

/// Counted over the whole file, also what was compacted or branched away.
fn stats(agent: &Agent) -> Value {
    let tree = agent.config.session.tree();
    let (mut said, mut answers, mut calls, mut results, mut all) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    let mut used = Usage::default();
    for entry in tree.entries() {
        if let Body::Compaction { usage: Some(usage), .. } | Body::BranchSummary { usage: Some(usage), .. } =
            &entry.body
        {
            add(&mut used, &serde_json::from_value(usage.clone()).unwrap_or_default());
        }
        if let Body::Other { line } = &entry.body {
            add(&mut used, &spent(line));
        }
        let Body::Message { message } = &entry.body else { continue };
        all += 1;
        match message.as_ref() {
            Message::User(_) => said += 1,
            Message::ToolResult(_) => results += 1,
            Message::Assistant(answer) => {
                answers += 1;
                calls += answer.tool_calls().count() as u64;
                add(&mut used, &answer.usage);
            }
            _ => {}
        }
    }
    let info = agent.config.session.info();
    let window = agent.config.model.as_ref().map_or(0, |model| model.context_window);
    json!({
        "sessionFile": info.file,
        "sessionId": info.id,
        "userMessages": said,
        "assistantMessages": answers,
        "toolCalls": calls,
        "toolResults": results,
        "totalMessages": all,
        "tokens": {
            "input": used.input,
            "output": used.output,
            "cacheRead": used.cache_read,
            "cacheWrite": used.cache_write,
            "total": size::total(&used),
        },
        "cost": used.cost.total,
        "contextUsage": (window > 0).then(|| context_usage(agent, window)),
    })
}

fn context_usage(agent: &Agent, window: u64) -> Value {
    if size::is_stale(agent.config.session.tree()) {
        return json!({ "tokens": null, "contextWindow": window, "percent": null });
    }
    let tokens = compact::size_now(agent);
    json!({ "tokens": tokens, "contextWindow": window, "percent": tokens as f64 * 100.0 / window as f64 })
}

/// What an entry of type `usage` says, which is all that such a one is for; of others nothing.
fn spent(line: &str) -> Usage {
    #[derive(Deserialize)]
    struct Spent {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        usage: Usage,
    }
    let spent = serde_json::from_str::<Spent>(line).ok().filter(|spent| spent.kind == "usage");
    spent.map(|spent| spent.usage).unwrap_or_default()
}

fn add(sum: &mut Usage, usage: &Usage) {
    sum.input += usage.input;
    sum.output += usage.output;
    sum.cache_read += usage.cache_read;
    sum.cache_write += usage.cache_write;
    sum.cost.total += usage.cost.total;
}
