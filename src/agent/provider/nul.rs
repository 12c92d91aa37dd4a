//! Removes NUL characters from requests to providers.
//!
//! Models sometimes write NUL, commands and files contain it, and some providers refuse every request with
//! one: such a session could never continue. The session keeps the original, byte for byte, because it is the
//! record and because old sessions contain NULs anyway; here, before every wire format, U+FFFD replaces them.
//! Summaries pass through here, too.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::ModelRequest;
use tau_protocol::message::{Block, Message, UserContent};
use tau_tools::Content;

const REPLACEMENT: &str = "\u{fffd}";

/// The request without NUL characters; usually unchanged.
pub(super) fn without_nul(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    let is_clean = !request.system.contains('\0') && !request.messages.iter().any(|message| has_nul(message));
    if is_clean {
        return Cow::Borrowed(request);
    }
    let cleaned = |message: &Arc<Message>| match has_nul(message) {
        true => {
            let mut own = Message::clone(message);
            for_each_text(&mut own, &mut |text| *text = text.replace('\0', REPLACEMENT));
            Arc::new(own)
        }
        false => Arc::clone(message),
    };
    Cow::Owned(ModelRequest {
        system: request.system.replace('\0', REPLACEMENT).into(),
        messages: request.messages.iter().map(cleaned).collect(),
        ..request.clone()
    })
}

fn has_nul(message: &Message) -> bool {
    match message {
        Message::User(user) => match &user.content {
            UserContent::Text(text) => text.contains('\0'),
            UserContent::Blocks(blocks) => blocks.iter().any(block_has_nul),
        },
        Message::Assistant(answer) => answer.content.iter().any(block_has_nul),
        Message::ToolResult(result) => {
            result.tool_name.contains('\0')
                || result.content.iter().any(|part| match part {
                    Content::Text { text } => text.contains('\0'),
                    Content::Image { .. } => false,
                })
        }
        // Other kinds are turned into user messages before a request is made.
        _ => false,
    }
}

fn block_has_nul(block: &Block) -> bool {
    match block {
        Block::Text { text, text_signature } => {
            text.contains('\0') || text_signature.as_deref().is_some_and(contains_nul)
        }
        Block::Thinking { thinking, thinking_signature, .. } => {
            thinking.contains('\0') || thinking_signature.as_deref().is_some_and(contains_nul)
        }
        Block::ToolCall(call) => call.name.contains('\0') || value_has_nul(&call.arguments),
        Block::Image { .. } | Block::Unknown(_) => false,
    }
}

/// Whether a signature, which may be JSON text, contains a NUL. An escaped backslash before `u0000` only
/// costs a second check.
fn contains_nul(signature: &str) -> bool {
    signature.contains('\0') || signature.contains("\\u0000")
}

fn value_has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(value_has_nul),
        Value::Object(map) => map.iter().any(|(name, value)| name.contains('\0') || value_has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Calls `change` with every text of a message that a wire format may send.
fn for_each_text(message: &mut Message, change: &mut impl FnMut(&mut String)) {
    match message {
        Message::User(user) => match &mut user.content {
            UserContent::Text(text) => change(text),
            UserContent::Blocks(blocks) => blocks.iter_mut().for_each(|block| clean_block(block, change)),
        },
        Message::Assistant(answer) => {
            answer.content.iter_mut().for_each(|block| clean_block(block, change));
        }
        Message::ToolResult(result) => {
            change(&mut result.tool_name);
            for part in &mut result.content {
                if let Content::Text { text } = part {
                    change(text);
                }
            }
        }
        _ => {}
    }
}

fn clean_block(block: &mut Block, change: &mut impl FnMut(&mut String)) {
    match block {
        Block::Text { text, text_signature } => {
            change(text);
            text_signature.iter_mut().for_each(|signature| clean_signature(signature, change));
        }
        Block::Thinking { thinking, thinking_signature, .. } => {
            change(thinking);
            thinking_signature.iter_mut().for_each(|signature| clean_signature(signature, change));
        }
        Block::ToolCall(call) => {
            change(&mut call.name);
            clean_value(&mut call.arguments, change);
        }
        Block::Image { .. } | Block::Unknown(_) => {}
    }
}

/// Signatures that are JSON text hold items of the provider, whose texts are sent back.
fn clean_signature(signature: &mut String, change: &mut impl FnMut(&mut String)) {
    match serde_json::from_str::<Value>(signature) {
        Ok(mut value @ (Value::Object(_) | Value::Array(_))) if value_has_nul(&value) => {
            clean_value(&mut value, change);
            *signature = value.to_string();
        }
        _ => change(signature),
    }
}

fn clean_value(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| clean_value(value, change)),
        Value::Object(map) => {
            for (mut name, mut value) in std::mem::take(map) {
                change(&mut name);
                clean_value(&mut value, change);
                map.insert(name, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
