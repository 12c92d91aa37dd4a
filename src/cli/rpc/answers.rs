//! Answers of the agent in the shapes of the RPC protocol.
//!
//! The tree is written as text without recursion, because a long session's tree is nested too deeply for a
//! recursive writer.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

use tau_agent::session::entry::iso;
use tau_protocol::extension::{ExtensionKind, ExtensionSource, PromptCommand};
use tau_protocol::query::{
    QueryAnswer, SessionEntries, SessionEntry, SessionState, SessionStats, WindowUsage,
};
use tau_tools::path_text;

/// The data of an answer, as JSON text. Entries answer two commands.
pub fn text(command: &str, answer: &QueryAnswer) -> String {
    match answer {
        QueryAnswer::Entries(entries) if command == "get_tree" => tree(entries),
        QueryAnswer::Entries(found) => entries(found),
        QueryAnswer::State(found) => json(&state(found)),
        QueryAnswer::MessageRecords(found) => messages(json!({ "messages": found })),
        QueryAnswer::LastText(Some(text)) => json(&json!({ "text": text })),
        QueryAnswer::LastText(None) => "{}".to_owned(),
        QueryAnswer::ForkMessages(messages) => json(&json!({ "messages": messages })),
        QueryAnswer::Stats(found) => json(&stats(found)),
        QueryAnswer::Titles(titles) => json(&json!({ "titles": titles })),
        QueryAnswer::Text(text) => json(&json!({ "text": text })),
        QueryAnswer::Checkpoints(found) => json(&json!({ "checkpoints": found })),
        QueryAnswer::Changes(found) => json(found),
        QueryAnswer::UndoPlan(found) => json(found),
        QueryAnswer::Commands(found) => {
            json(&json!({ "commands": found.iter().map(command_row).collect::<Vec<_>>() }))
        }
        QueryAnswer::PermissionRules(found) => json(found),
        QueryAnswer::ArgumentValues(found) => json(found),
        QueryAnswer::Resources(found) => json(&json!({ "resources": found })),
        QueryAnswer::Jobs(found) => json(&json!({ "jobs": found })),
        QueryAnswer::Extensions(found) => json(&json!({ "extensions": found })),
        QueryAnswer::Done
        | QueryAnswer::Messages(_)
        | QueryAnswer::HistoryPage(_)
        | QueryAnswer::Outline(_)
        | QueryAnswer::Source(_)
        | QueryAnswer::Secrets(_)
        | QueryAnswer::ContextUsage(_) => "null".to_owned(),
    }
}

fn json(value: &impl Serialize) -> String {
    // No part of a session can fail to become JSON: keys are strings, numbers finite.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

fn command_row(found: &PromptCommand) -> Value {
    let source = match found.kind {
        ExtensionKind::Skill => "skill",
        ExtensionKind::McpServer => "mcp",
        ExtensionKind::PromptTemplate
        | ExtensionKind::Hook
        | ExtensionKind::CustomTool
        | ExtensionKind::HelperKind
        | ExtensionKind::Package => "prompt",
    };
    let scope = match found.source {
        ExtensionSource::User | ExtensionSource::Package => "user",
        ExtensionSource::Project => "project",
        ExtensionSource::Session => "temporary",
    };
    let path = found.path.as_deref().map(path_text::text);
    let info = json!({ "path": path, "source": "local", "scope": scope, "origin": "top-level" });
    let mut row = json!({
        "name": found.name,
        "description": found.description,
        "argumentHint": found.argument_hint,
        "source": source,
        "sourceInfo": info,
    });
    if let (false, Some(fields)) = (found.arguments.is_empty(), row.as_object_mut()) {
        fields.insert("arguments".to_owned(), json!(found.arguments));
    }
    row
}

/// The agent's part of the state, with nulls.
pub fn state(state: &SessionState) -> Value {
    crate::protocol::plain(state)
}

/// Drops the fields that have no value.
pub(crate) fn drop_nulls(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}

fn messages(mut found: Value) -> String {
    for message in found.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(fields) = message.as_object_mut() {
            fields.shift_remove("responseId");
            fields.shift_remove("durationMs");
        }
    }
    found.to_string()
}

fn stats(stats: &SessionStats) -> Value {
    let usage = &stats.usage;
    let mut value = json!({
        "sessionFile": stats.session_file.as_deref().map(path_text::text),
        "sessionId": stats.session_id,
        "userMessages": stats.user_messages,
        "assistantMessages": stats.assistant_messages,
        "toolCalls": stats.tool_calls,
        "toolResults": stats.tool_results,
        "totalMessages": stats.total_messages,
        "tokens": {
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "total": usage.total_tokens,
        },
        "cost": usage.cost.total,
        "estimated": usage.estimated.then_some(true),
        "contextUsage": stats.window.as_ref().map(window),
    });
    drop_nulls(&mut value);
    value
}

fn window(window: &WindowUsage) -> Value {
    let size = window.context_window;
    let percent = window.tokens.map(|tokens| tokens as f64 * 100.0 / size as f64);
    json!({ "tokens": window.tokens, "contextWindow": size, "percent": percent })
}

fn entries(found: &SessionEntries) -> String {
    let lines: Vec<&str> = found.entries.iter().map(|entry| entry.line.as_str()).collect();
    format!(r#"{{"entries":[{}],"leafId":{}}}"#, lines.join(","), json(&found.leaf_id))
}

fn tree(found: &SessionEntries) -> String {
    let known: HashMap<&str, usize> =
        found.entries.iter().enumerate().map(|(at, entry)| (entry.id.as_str(), at)).collect();
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, entry) in found.entries.iter().enumerate() {
        // A parent is on an earlier line; any other parent would make a cycle.
        let parent = entry.parent_id.as_deref().and_then(|id| known.get(id)).copied();
        children.entry(parent.filter(|parent| *parent < at)).or_default().push(at);
    }
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
        let Some(entry) = found.entries.get(*at) else { continue };
        node(&mut out, entry);
        open.push(children.get(&Some(*at)).map(Vec::as_slice).unwrap_or_default().iter());
    }
    out.push_str(&format!(r#","leafId":{}}}"#, json(&found.leaf_id)));
    out
}

/// Opens the node of an entry; its children follow.
fn node(out: &mut String, entry: &SessionEntry) {
    out.push_str(&format!(r#"{{"entry":{}"#, entry.line));
    if let Some(label) = &entry.label {
        let time = json(&iso(label.timestamp));
        out.push_str(&format!(r#","label":{},"labelTimestamp":{time}"#, json(&label.text)));
    }
    out.push_str(r#","children":["#);
}
