//! Encodes a responses request.
//!
//! Items are sent back without their ids: nothing is stored at the provider (`store: false`), and unknown ids
//! are refused, while encrypted content needs no id.

use serde_json::{Map, Value, json};

use super::super::messages::{of_openai, split_result};
use super::super::quirks::{self, Quirks};
use super::super::{Failure, Headers, HttpRequest, ModelRequest, token_claims};
use tau_protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use tau_tools::{Content, ToolSpec};

/// The maximum length of a cache key, in characters.
const MAX_CACHE_KEY: usize = 64;

/// The smallest accepted limit of an answer, in tokens.
const MIN_OUTPUT: u64 = 16;

/// The request in this format.
pub(super) fn encode(request: &ModelRequest) -> Result<HttpRequest, Failure> {
    let quirks = Quirks::of(&request.model);
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("input".into(), Value::Array(input(request)));
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    if !request.tools.is_empty() {
        let strict = Quirks::of(&request.model).flag("supports_strict_mode") != Some(false);
        body.insert("tools".into(), request.tools.iter().map(|spec| tool(spec, strict)).collect());
    }
    if quirks.chatgpt() {
        body.insert("instructions".into(), instructions(&request.system).into());
    }
    // The backend of ChatGPT refuses a limit.
    if let Some(limit) = request.max_tokens.filter(|_| !quirks.chatgpt()) {
        body.insert("max_output_tokens".into(), limit.max(MIN_OUTPUT).into());
    }
    if let Some(temperature) = quirks::temperature(request) {
        body.insert("temperature".into(), temperature.into());
    }
    if !request.session_id.is_empty() {
        let key: String = request.session_id.chars().take(MAX_CACHE_KEY).collect();
        body.insert("prompt_cache_key".into(), key.into());
    }
    if request.model.reasoning {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        if let Some(effort) = quirks::effort(request) {
            let mut reasoning = json!({ "effort": effort });
            if quirks::thinks(request) && quirks.flag("supports_reasoning_summary").unwrap_or(!quirks.xai()) {
                reasoning = json!({ "effort": effort, "summary": "auto" });
            }
            body.insert("reasoning".into(), reasoning);
        }
    }
    let mut headers = quirks::headers(request);
    quirks::bearer(&mut headers, request);
    if quirks.chatgpt() {
        chatgpt_headers(&mut headers, request);
    }
    quirks::own_headers(&mut headers, &request.model);
    let url = quirks::address(&request.model.base_url, "/responses");
    Ok(HttpRequest { url, headers, body: Value::Object(body) })
}

/// The system prompt for the backend of ChatGPT, which refuses requests without one.
fn instructions(system: &str) -> &str {
    if system.is_empty() { "You are a helpful assistant." } else { system }
}

/// The account and the session, which the backend of ChatGPT expects in headers.
fn chatgpt_headers(headers: &mut Headers, request: &ModelRequest) {
    let account = request.key.as_ref().and_then(|key| token_claims::chatgpt_account(key.expose()));
    headers.0.extend(account.map(|account| ("chatgpt-account-id".to_owned(), account)));
    if !request.session_id.is_empty() {
        for name in ["session-id", "x-client-request-id"] {
            headers.0.push((name.to_owned(), request.session_id.clone()));
        }
    }
}

/// `strict` is on by default, and strict schemas forbid optional arguments. Endpoints without that mode
/// (`knows_strict` is false) refuse the field.
fn tool(spec: &ToolSpec, knows_strict: bool) -> Value {
    let mut tool = json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    });
    if knows_strict && let Some(map) = tool.as_object_mut() {
        map.insert("strict".into(), false.into());
    }
    tool
}

fn input(request: &ModelRequest) -> Vec<Value> {
    let quirks = Quirks::of(&request.model);
    let has_system = !quirks.chatgpt();
    of_openai(request, has_system, "input_text", user_content, |message, items, pictures| match message {
        Message::Assistant(assistant) => assistant_items(assistant, items),
        Message::ToolResult(result) => items.push(tool_output(result, quirks, pictures)),
        _ => {}
    })
}

fn user_content(content: &UserContent) -> Value {
    let part = |block: &Block| match block {
        Block::Text { text, .. } if !text.is_empty() => Some(json!({ "type": "input_text", "text": text })),
        Block::Image { data, mime_type } => Some(picture(mime_type, data)),
        _ => None,
    };
    match content {
        UserContent::Text(text) => json!([{ "type": "input_text", "text": text }]),
        UserContent::Blocks(blocks) => blocks.iter().filter_map(part).collect(),
    }
}

fn picture(mime_type: &str, data: &str) -> Value {
    json!({ "type": "input_image", "detail": "auto", "image_url": format!("data:{mime_type};base64,{data}") })
}

/// The items of an assistant message, in order.
fn assistant_items(message: &AssistantMessage, items: &mut Vec<Value>) {
    for block in &message.content {
        match block {
            Block::Text { text, text_signature } if !text.is_empty() => {
                let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
                let mut item = json!({ "type": "message", "role": "assistant", "content": content });
                let phase =
                    text_signature.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
                if let (Some(phase), Some(map)) =
                    (phase.as_ref().and_then(|sign| sign.get("phase")), item.as_object_mut())
                {
                    map.insert("phase".into(), phase.clone());
                }
                items.push(item);
            }
            Block::Thinking { thinking_signature: Some(json), .. } => items.extend(reasoning_item(json)),
            Block::ToolCall(call) => items.push(json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments.to_string(),
            })),
            _ => {}
        }
    }
}

/// A reasoning item, without the fields that only a stored item may have. `None` if there is nothing in it
/// that the provider could read again.
fn reasoning_item(json: &str) -> Option<Value> {
    let mut item: Value = serde_json::from_str(json).ok()?;
    let map = item.as_object_mut()?;
    if map.get("type").and_then(Value::as_str) != Some("reasoning") {
        return None;
    }
    let encrypted = map.get("encrypted_content").is_some_and(Value::is_string);
    let spoken = map.get("content").and_then(Value::as_array).is_some_and(|content| !content.is_empty());
    if !encrypted && !spoken {
        return None;
    }
    map.retain(|field, value| match field.as_str() {
        "type" | "summary" => true,
        "encrypted_content" | "content" => !value.is_null(),
        _ => false,
    });
    map.entry("summary").or_insert_with(|| json!([]));
    Some(item)
}

fn tool_output(result: &ToolResultMessage, quirks: Quirks<'_>, pictures: &mut Vec<Value>) -> Value {
    let images = result.content.iter().any(|content| matches!(content, Content::Image { .. }));
    let inside = quirks.flag("supports_tool_result_images").unwrap_or(quirks.openai());
    let output = if images && inside {
        parts(&result.content)
    } else {
        let (text, seen) = split_result(&result.content, picture, "(see the image below)");
        pictures.extend(seen);
        text.into()
    };
    json!({ "type": "function_call_output", "call_id": result.tool_call_id, "output": output })
}

fn parts(content: &[Content]) -> Value {
    let part = |content: &Content| match content {
        Content::Text { text } => json!({ "type": "input_text", "text": text }),
        Content::Image { data, mime_type } => picture(mime_type, data),
    };
    content.iter().map(part).collect()
}
