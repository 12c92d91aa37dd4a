//! Encodes a `generateContent` request.

use serde_json::{Map, Value, json};

use super::super::messages::split_result;
use super::super::quirks::{self, Quirks};
use super::super::{Failure, HttpRequest, ModelRequest};
use tau_protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use tau_protocol::model::ThinkingLevel;
use tau_tools::ToolSpec;

/// Replaces the signature of another model's call; without one, Gemini 3 refuses the conversation. Source:
/// ai.google.dev/gemini-api/docs/thought-signatures.
const FOREIGN: &str = "skip_thought_signature_validator";

/// The request in this format.
pub(super) fn encode(request: &ModelRequest) -> Result<HttpRequest, Failure> {
    let mut body = Map::new();
    body.insert("contents".into(), Value::Array(contents(request)));
    if !request.system.is_empty() {
        body.insert("systemInstruction".into(), json!({ "parts": [{ "text": &*request.system }] }));
    }
    if !request.tools.is_empty() {
        let list: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{ "functionDeclarations": list }]));
    }
    let mut config = Map::new();
    if let Some(limit) = request.max_tokens {
        config.insert("maxOutputTokens".into(), limit.into());
    }
    if let Some(temperature) = quirks::temperature(request) {
        config.insert("temperature".into(), temperature.into());
    }
    if let Some(thinking) = thinking(request) {
        config.insert("thinkingConfig".into(), thinking);
    }
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    let mut headers = quirks::headers(request);
    if Quirks::of(&request.model).vertex() {
        quirks::bearer(&mut headers, request);
    } else if let Some(key) = request.key.as_ref().filter(|key| !key.is_empty()) {
        headers.0.push(("x-goog-api-key".into(), key.expose().to_owned()));
    }
    quirks::own_headers(&mut headers, &request.model);
    Ok(HttpRequest { url: url(request), headers, body: Value::Object(body) })
}

fn url(request: &ModelRequest) -> String {
    let base = request.model.base_url.trim().trim_end_matches('/');
    let base = base.strip_suffix("/models").unwrap_or(base);
    let id = request.model.id.strip_prefix("models/").unwrap_or(&request.model.id);
    format!("{base}/models/{id}:streamGenerateContent?alt=sse")
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "parametersJsonSchema": spec.parameters })
}

/// Models with words for their levels get a level, the others a budget in tokens.
fn thinking(request: &ModelRequest) -> Option<Value> {
    let model = &request.model;
    if !model.reasoning {
        return None;
    }
    let word = model.thinking_levels.get(&request.thinking);
    if !quirks::thinks(request) {
        // Models whose thinking cannot be switched off get the minimum.
        return match word {
            Some(None) => None,
            _ if model.id.contains("2.5-pro") => Some(json!({ "thinkingBudget": 128 })),
            _ => Some(json!({ "thinkingBudget": 0 })),
        };
    }
    match word {
        Some(Some(word)) => Some(json!({ "includeThoughts": true, "thinkingLevel": word })),
        _ => {
            let budget = quirks::budget(request).unwrap_or_else(|| budget(request.thinking));
            Some(json!({ "includeThoughts": true, "thinkingBudget": budget }))
        }
    }
}

/// The thinking budget in tokens, within the limits of all models of the 2.5 family.
fn budget(level: ThinkingLevel) -> u64 {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => 24_576,
    }
}

fn contents(request: &ModelRequest) -> Vec<Value> {
    let nested = Quirks::of(&request.model)
        .flag("supports_multimodal_function_response")
        .unwrap_or(request.model.id.contains("gemini-3"));
    let signs = request.model.id.contains("gemini-3");
    let mut turns: Vec<(&str, bool, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, is_result, mut parts) = match &**message {
            Message::User(user) => ("user", false, user_parts(&user.content)),
            Message::Assistant(assistant) => ("model", false, model_parts(assistant, signs)),
            Message::ToolResult(result) => ("user", true, result_parts(result, nested)),
            _ => continue,
        };
        // All results of a turn go into one content.
        match turns.last_mut() {
            Some((_, true, content)) if is_result => content.append(&mut parts),
            _ if parts.is_empty() => {}
            _ => turns.push((role, is_result, parts)),
        }
    }
    turns.into_iter().map(|(role, _, parts)| json!({ "role": role, "parts": parts })).collect()
}

fn picture(mime_type: &str, data: &str) -> Value {
    json!({ "inlineData": { "mimeType": mime_type, "data": data } })
}

fn user_parts(content: &UserContent) -> Vec<Value> {
    let part = |block: &Block| match block {
        Block::Text { text, .. } if !text.is_empty() => Some(json!({ "text": text })),
        Block::Image { data, mime_type } => Some(picture(mime_type, data)),
        _ => None,
    };
    content.blocks().iter().filter_map(part).collect()
}

fn model_parts(message: &AssistantMessage, signs: bool) -> Vec<Value> {
    let mut parts: Vec<Value> = Vec::new();
    let mut called = false;
    for block in &message.content {
        let (mut part, signature) = match block {
            Block::Text { text, text_signature } if !text.is_empty() => {
                (json!({ "text": text }), text_signature.as_deref())
            }
            Block::Thinking { thinking, thinking_signature, .. } if !thinking.is_empty() => {
                (json!({ "thought": true, "text": thinking }), thinking_signature.as_deref())
            }
            Block::ToolCall(call) => {
                let call_part = json!({ "id": call.id, "name": call.name, "args": call.arguments });
                // Of parallel calls only the first carries a signature.
                let stand_in = Some(FOREIGN).filter(|_| signs && !called);
                called = true;
                (json!({ "functionCall": call_part }), call.thought_signature.as_deref().or(stand_in))
            }
            _ => continue,
        };
        if let (Some(signature), Some(map)) = (signature, part.as_object_mut()) {
            map.insert("thoughtSignature".into(), signature.into());
        }
        parts.push(part);
    }
    parts
}

/// The answer to a call; pictures go inside it or, for older models, next to it.
fn result_parts(result: &ToolResultMessage, nested: bool) -> Vec<Value> {
    let (text, mut pictures) = split_result(&result.content, picture, "(see the image)");
    let field = if result.is_error { "error" } else { "output" };
    let mut response =
        json!({ "id": result.tool_call_id, "name": result.tool_name, "response": { field: text } });
    if let Some(map) = response.as_object_mut().filter(|_| nested && !pictures.is_empty()) {
        map.insert("parts".into(), std::mem::take(&mut pictures).into());
    }
    let mut parts = vec![json!({ "functionResponse": response })];
    parts.append(&mut pictures);
    parts
}
