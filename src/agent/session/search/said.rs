//! The text of an entry that a user may look for: messages, thinking, calls and their results, summaries.

use serde_json::Value;

use crate::session::entry::{Body, Entry};
use tau_protocol::message::{Block, Message};
use tau_tools::Content;

/// The text of an entry; empty if nothing was said in it.
pub(super) fn text_of(entry: &Entry) -> String {
    let mut text = String::new();
    match &entry.body {
        Body::Message { message } => message_text(message, &mut text),
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => add(&mut text, summary),
        // Notes of tau for the model say the same in many sessions.
        Body::CustomMessage { custom_type, content, display, .. }
            if *display || !custom_type.starts_with("tau.") =>
        {
            add(&mut text, &content.text());
        }
        Body::CustomMessage { .. }
        | Body::ModelChange { .. }
        | Body::ThinkingLevelChange { .. }
        | Body::ContextEdit { .. }
        | Body::Label { .. }
        | Body::SessionInfo { .. }
        | Body::Other { .. } => {}
    }
    text
}

fn message_text(message: &Message, text: &mut String) {
    match message {
        Message::User(user) => add(text, &user.content.text()),
        Message::Assistant(answer) => {
            for block in &answer.content {
                match block {
                    Block::Text { text: said, .. } => add(text, said),
                    Block::Thinking { thinking, .. } => add(text, thinking),
                    Block::ToolCall(call) => {
                        add(text, &call.name);
                        values(&call.arguments, text);
                    }
                    Block::Image { .. } | Block::Unknown(_) => {}
                }
            }
            add(text, answer.error_message.as_deref().unwrap_or_default());
        }
        Message::ToolResult(result) => {
            for part in &result.content {
                if let Content::Text { text: output } = part {
                    add(text, output);
                }
            }
        }
        Message::BashExecution(run) => {
            add(text, &run.command);
            add(text, &run.output);
        }
        Message::Custom(custom) => add(text, &custom.content.text()),
        Message::BranchSummary(branch) => add(text, &branch.summary),
        Message::CompactionSummary(compaction) => add(text, &compaction.summary),
        Message::Application(_) => {}
    }
}

/// Adds the texts in the arguments of a call.
fn values(value: &Value, text: &mut String) {
    match value {
        Value::String(value) => add(text, value),
        Value::Array(items) => items.iter().for_each(|item| values(item, text)),
        Value::Object(fields) => fields.values().for_each(|value| values(value, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add(text: &mut String, more: &str) {
    if !more.trim().is_empty() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(more);
    }
}
