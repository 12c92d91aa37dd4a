//! Encodes a chat completion request.
//!
//! Chat templates of local servers join `content` as a string, so text stays a plain string and an assistant
//! message always has content, even if empty.

use serde_json::{Map, Value, json};

use super::super::messages::{of_openai, split_result};
use super::super::quirks::{self, Quirks};
use super::super::{Failure, HttpRequest, ModelRequest};
use super::reasoning::FIELDS;
use tau_protocol::message::{AssistantMessage, Block, Message, ToolCall, ToolResultMessage, UserContent};
use tau_tools::ToolSpec;

/// The request in this format.
pub(super) fn encode(request: &ModelRequest) -> Result<HttpRequest, Failure> {
    let quirks = Quirks::of(&request.model);
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("messages".into(), Value::Array(messages(request)));
    body.insert("stream".into(), true.into());
    // Mistral always reports usage and refuses the field.
    if quirks.flag("supports_usage_in_streaming").unwrap_or(!quirks.mistral()) {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
        if quirks.flag("zai_tool_stream") == Some(true) {
            body.insert("tool_stream".into(), true.into());
        }
    }
    if let Some(limit) = quirks::answer_limit(request) {
        body.insert(quirks.max_tokens_field().into(), limit.into());
    }
    if let Some(temperature) = quirks::temperature(request) {
        body.insert("temperature".into(), temperature.into());
    }
    if quirks.openai() && !request.session_id.is_empty() {
        body.insert("prompt_cache_key".into(), request.session_id.clone().into());
    }
    thinking(request, &mut body);
    if quirks.word("cache_control_format") == Some("anthropic") {
        mark_cache(&mut body);
    }
    let mut headers = quirks::headers(request);
    quirks::bearer(&mut headers, request);
    quirks::own_headers(&mut headers, &request.model);
    let url = quirks::address(&request.model.base_url, "/chat/completions");
    Ok(HttpRequest { url, headers, body: Value::Object(body) })
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": { "name": spec.name, "description": spec.description, "parameters": spec.parameters },
    })
}

/// The thinking parameters, by the quirk `thinking_format`.
fn thinking(request: &ModelRequest, body: &mut Map<String, Value>) {
    if !request.model.reasoning {
        return;
    }
    let quirks = Quirks::of(&request.model);
    let on = quirks::thinks(request);
    let effort = quirks::effort(request);
    let takes_effort = quirks.flag("supports_reasoning_effort");
    let switch = json!({ "type": if on { "enabled" } else { "disabled" } });
    let send_effort = match quirks.word("thinking_format") {
        Some("openrouter") => {
            let effort = effort.clone().unwrap_or_else(|| "none".into());
            body.insert("reasoning".into(), json!({ "effort": effort }));
            false
        }
        Some("deepseek") => {
            body.insert("thinking".into(), switch);
            on && takes_effort != Some(false)
        }
        Some("zai") => {
            body.insert("thinking".into(), switch);
            on && takes_effort == Some(true)
        }
        Some("qwen") => {
            body.insert("enable_thinking".into(), on.into());
            on && takes_effort == Some(true)
        }
        Some("together") => {
            body.insert("reasoning".into(), json!({ "enabled": on }));
            on && takes_effort == Some(true)
        }
        Some("baseten") => {
            let arguments = quirks.value("chat_template_args").cloned();
            let arguments =
                arguments.unwrap_or_else(|| json!({ "enable_thinking": { "$var": "thinking.enabled" } }));
            body.insert("chat_template_args".into(), fill_variables(&arguments, on));
            takes_effort == Some(true)
        }
        _ => takes_effort != Some(false),
    };
    if let Some(effort) = effort.filter(|_| send_effort) {
        body.insert("reasoning_effort".into(), effort.into());
    }
}

/// The arguments of a chat template with its variables filled in.
fn fill_variables(arguments: &Value, on: bool) -> Value {
    match arguments {
        Value::Object(map) if map.get("$var").and_then(Value::as_str) == Some("thinking.enabled") => {
            on.into()
        }
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), fill_variables(value, on))).collect()
        }
        other => other.clone(),
    }
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let quirks = Quirks::of(&request.model);
    of_openai(request, true, "text", user_content, |message, list, pictures| match message {
        Message::Assistant(assistant) => list.push(assistant_message(assistant, quirks)),
        Message::ToolResult(result) => list.push(tool_message(result, quirks, pictures)),
        _ => {}
    })
}

fn user_content(content: &UserContent) -> Value {
    let UserContent::Blocks(blocks) = content else { return content.text().into() };
    if !blocks.iter().any(|block| matches!(block, Block::Image { .. })) {
        return content.text().into();
    }
    let part = |block: &Block| match block {
        Block::Text { text, .. } if !text.is_empty() => Some(json!({ "type": "text", "text": text })),
        Block::Image { data, mime_type } => Some(picture(mime_type, data)),
        _ => None,
    };
    blocks.iter().filter_map(part).collect()
}

fn picture(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } })
}

/// The tool calls of an answer, as chat completions have them.
fn tool_calls(message: &AssistantMessage) -> Vec<Value> {
    let object = |call: &ToolCall| {
        let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
        json!({ "id": call.id, "type": "function", "function": function })
    };
    message.tool_calls().map(object).collect()
}

fn assistant_message(message: &AssistantMessage, quirks: Quirks<'_>) -> Value {
    let mut map = Map::new();
    map.insert("role".into(), "assistant".into());
    map.insert("content".into(), message.text().into());
    let calls = tool_calls(message);
    if !calls.is_empty() {
        map.insert("tool_calls".into(), calls.into());
    }
    replay(message, quirks, &mut map);
    Value::Object(map)
}

/// Puts reasoning back in its original field; see `reasoning`.
fn replay(message: &AssistantMessage, quirks: Quirks<'_>, map: &mut Map<String, Value>) {
    let mut details = Vec::new();
    let mut field = None;
    let mut texts = Vec::new();
    for block in &message.content {
        let Block::Thinking { thinking, thinking_signature, .. } = block else { continue };
        texts.push(thinking.as_str());
        match thinking_signature.as_deref() {
            Some(list) if list.starts_with('[') => {
                details.extend(serde_json::from_str::<Vec<Value>>(list).unwrap_or_default());
            }
            Some(name) => field = FIELDS.into_iter().find(|known| *known == name).or(field),
            None => {}
        }
    }
    let text = texts.join("\n\n");
    if !details.is_empty() {
        map.insert("reasoning_details".into(), details.into());
    } else if field == Some("content") {
        let thoughts = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
        let said = message.text();
        let mut parts = vec![thoughts];
        if !said.is_empty() {
            parts.push(json!({ "type": "text", "text": said }));
        }
        map.insert("content".into(), parts.into());
    } else if let Some(field) = field.filter(|_| !text.is_empty()) {
        map.insert(field.into(), text.clone().into());
    }
    let required = quirks.flag("requires_reasoning_content_on_assistant_messages") == Some(true);
    if required && !map.contains_key("reasoning_content") && !map.contains_key("reasoning_details") {
        map.insert("reasoning_content".into(), text.into());
    }
}

fn tool_message(result: &ToolResultMessage, quirks: Quirks<'_>, pictures: &mut Vec<Value>) -> Value {
    let (text, seen) = split_result(&result.content, picture, "(see the image below)");
    pictures.extend(seen);
    let mut message = json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": text });
    if quirks.flag("requires_tool_result_name").unwrap_or(quirks.mistral())
        && let Some(map) = message.as_object_mut()
    {
        map.insert("name".into(), result.tool_name.clone().into());
    }
    message
}

/// Marks for Anthropic's cache through a gateway: system prompt, last tool, last message.
fn mark_cache(body: &mut Map<String, Value>) {
    let mark = || json!({ "type": "ephemeral" });
    if let Some(Value::Object(tool)) =
        body.get_mut("tools").and_then(Value::as_array_mut).and_then(|list| list.last_mut())
    {
        tool.insert("cache_control".into(), mark());
    }
    let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) else { return };
    let role = |message: &Value, role: &str| message.get("role").and_then(Value::as_str) == Some(role);
    let system = messages.iter().position(|message| role(message, "system") || role(message, "developer"));
    let last = messages.iter().rposition(|message| role(message, "user") || role(message, "tool"));
    for at in [system, last].into_iter().flatten() {
        let Some(content) = messages.get_mut(at).and_then(|message| message.get_mut("content")) else {
            continue;
        };
        if let Value::String(text) = content {
            *content = json!([{ "type": "text", "text": text }]);
        }
        if let Some(Value::Object(part)) = content.as_array_mut().and_then(|parts| parts.last_mut()) {
            part.insert("cache_control".into(), mark());
        }
    }
}
