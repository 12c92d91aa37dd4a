//! Messages as JSON: parsed leniently, and written with their unknown fields.

use serde_json::Value;

use tau_protocol::message::{Message, Usage};
use tau_tools::Content;

/// The message of a `message` entry; `None` for unknown roles.
pub(super) fn parse_message(json: &str) -> Option<Message> {
    match serde_json::from_str(json) {
        Ok(message) => Some(message),
        Err(_) => lenient_message(serde_json::from_str(json).ok()?),
    }
}

/// Parses a message that lacks fields that this version always writes: missing or null content counts as
/// empty, and text in place of blocks as one text block.
fn lenient_message(mut message: Value) -> Option<Message> {
    let fields = message.as_object_mut()?;
    let role = fields.get("role")?.as_str()?.to_owned();
    let content = fields.entry("content").or_insert(Value::Null);
    match content {
        Value::Null => *content = Value::Array(Vec::new()),
        Value::String(text) if role != "user" && role != "custom" => {
            *content = serde_json::json!([{"type": "text", "text": text}]);
        }
        _ => {}
    }
    if role == "toolResult" {
        keep_known_blocks(content);
    }
    let defaults = match role.as_str() {
        "assistant" => {
            [("api", "unknown"), ("provider", ""), ("model", ""), ("stopReason", "stop")].as_slice()
        }
        "toolResult" => &[("toolCallId", ""), ("toolName", "")],
        "bashExecution" => &[("command", "")],
        "custom" => &[("customType", "")],
        _ => &[],
    };
    for (field, default) in defaults {
        let value = fields.entry(*field).or_insert(Value::Null);
        if !value.is_string() {
            *value = Value::from(*default);
        }
    }
    // Numbers in an unknown shape are dropped rather than the text next to them.
    for field in ["usage", "timestamp", "durationMs"] {
        if fields.get(field).is_some_and(|value| !fits(field, value)) {
            fields.remove(field);
        }
    }
    serde_json::from_value(message).ok()
}

fn fits(field: &str, value: &Value) -> bool {
    match field {
        "usage" => serde_json::from_value::<Usage>(value.clone()).is_ok(),
        "durationMs" => value.is_u64(),
        _ => value.is_i64(),
    }
}

/// Keeps only the blocks that a tool result can have; the line in the file has the others.
fn keep_known_blocks(content: &mut Value) {
    if let Value::Array(blocks) = content {
        blocks.retain(|block| serde_json::from_value::<Content>(block.clone()).is_ok());
    }
}

/// Adds missing fields from `raw` to the message and to each of its blocks.
pub(super) fn add_unknown_fields(value: &mut Value, raw: Value, is_edited: bool) {
    let (Value::Object(fields), Value::Object(raw)) = (value, raw) else { return };
    for (name, raw) in raw {
        match fields.get_mut(&name) {
            None if !raw.is_null() => drop(fields.insert(name, raw)),
            Some(Value::Array(blocks)) if name == "content" && !is_edited => add_to_blocks(blocks, raw),
            _ => {}
        }
    }
}

fn add_to_blocks(blocks: &mut [Value], raw: Value) {
    let Value::Array(raw) = raw else { return };
    // If blocks were left out, the remaining ones cannot be matched.
    if raw.len() == blocks.len() {
        blocks.iter_mut().zip(raw).for_each(|(block, raw)| add_unknown_fields(block, raw, true));
    }
}
