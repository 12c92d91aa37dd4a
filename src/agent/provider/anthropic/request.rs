//! Encodes a messages request.
//!
//! Cache marks are set on the system prompt, the last tool and the last two user messages: four, which is the
//! maximum. Source of the thinking settings: docs.claude.com/en/build-with-claude/extended-thinking and
//! /adaptive-thinking.

use serde_json::{Map, Value, json};

use super::super::quirks::{self, Quirks};
use super::super::{Failure, Headers, HttpRequest, ModelRequest};
use tau_protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use tau_protocol::model::ThinkingLevel;
use tau_tools::{Content, ToolSpec};

/// The limit of an answer if neither request nor model has one, in tokens.
const DEFAULT_MAX_TOKENS: u64 = 8_192;

/// The smallest thinking budget that is accepted, in tokens.
const MIN_BUDGET: u64 = 1_024;

/// The request in this format.
pub(super) fn encode(request: &ModelRequest) -> Result<HttpRequest, Failure> {
    let quirks = Quirks::of(&request.model);
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    let limit = quirks::answer_limit(request).unwrap_or(DEFAULT_MAX_TOKENS);
    body.insert("max_tokens".into(), limit.into());
    if !request.system.is_empty() {
        let mut block = json!({ "type": "text", "text": &*request.system });
        mark(&mut block);
        body.insert("system".into(), json!([block]));
    }
    body.insert("messages".into(), Value::Array(messages(request)));
    if !request.tools.is_empty() {
        body.insert("tools".into(), tools(&request.tools, quirks).into());
    }
    body.insert("stream".into(), true.into());
    let thinks = thinking(request, limit, &mut body);
    // With thinking on, the temperature is fixed.
    if let Some(temperature) = quirks::temperature(request).filter(|_| !thinks) {
        body.insert("temperature".into(), temperature.into());
    }
    let (headers, betas) = headers(request);
    let url = cloud(request, &betas, &mut body).unwrap_or_else(|| url(&request.model.base_url));
    Ok(HttpRequest { url, headers, body: Value::Object(body) })
}

/// The address of a cloud; the model moves there from the body, and the version into it. `None` for other
/// endpoints.
fn cloud(request: &ModelRequest, betas: &[&str], body: &mut Map<String, Value>) -> Option<String> {
    let quirks = Quirks::of(&request.model);
    let base = request.model.base_url.trim().trim_end_matches('/');
    let (version, url) = if quirks.bedrock() {
        let id: String = url::form_urlencoded::byte_serialize(request.model.id.as_bytes()).collect();
        body.remove("stream");
        ("bedrock-2023-05-31", format!("{base}/model/{id}/invoke-with-response-stream"))
    } else if quirks.vertex() {
        ("vertex-2023-10-16", format!("{base}/models/{}:streamRawPredict", request.model.id))
    } else {
        return None;
    };
    body.remove("model");
    body.insert("anthropic_version".into(), version.into());
    if quirks.bedrock() && !betas.is_empty() {
        body.insert("anthropic_beta".into(), betas.into());
    }
    Some(url)
}

/// The base has no `/v1`; a base with it, or the complete address, is accepted as well.
fn url(base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    let base = base.strip_suffix("/messages").unwrap_or(base);
    let base = base.strip_suffix("/v1").unwrap_or(base);
    format!("{base}/v1/messages")
}

/// The headers, and the betas among them.
fn headers(request: &ModelRequest) -> (Headers, Vec<&'static str>) {
    let quirks = Quirks::of(&request.model);
    let mut headers = quirks::headers(request);
    let of_cloud = quirks.bedrock() || quirks.vertex();
    if !of_cloud {
        headers.0.push(("anthropic-version".into(), "2023-06-01".into()));
    }
    let mut betas = Vec::new();
    let is_claude = quirks.anthropic() || of_cloud;
    if quirks::thinks(request) && quirks.flag("force_adaptive_thinking") != Some(true) && is_claude {
        betas.push("interleaved-thinking-2025-05-14");
    }
    if of_cloud {
        if quirks.bedrock() {
            headers.0.retain(|(name, _)| name != "accept");
            headers.0.push(("accept".into(), "application/vnd.amazon.eventstream".into()));
        } else if !betas.is_empty() {
            headers.0.push(("anthropic-beta".into(), betas.join(",")));
        }
        quirks::bearer(&mut headers, request);
        quirks::own_headers(&mut headers, &request.model);
        return (headers, betas);
    }
    if let Some(key) = request.key.as_ref().filter(|key| !key.is_empty()) {
        let token = key.expose().starts_with("sk-ant-oat");
        let bearer = quirks.word("auth_header") == Some("authorization");
        if token {
            betas.push("oauth-2025-04-20");
        } else if !bearer {
            headers.0.push(("x-api-key".into(), key.expose().to_owned()));
        }
        // Other servers with this format accept only one of the two.
        if token || bearer || !quirks.anthropic() {
            headers.0.push(("authorization".into(), format!("Bearer {}", key.expose())));
        }
    }
    if !betas.is_empty() {
        headers.0.push(("anthropic-beta".into(), betas.join(",")));
    }
    quirks::own_headers(&mut headers, &request.model);
    (headers, betas)
}

fn mark(block: &mut Value) {
    if let Some(map) = block.as_object_mut() {
        map.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
}

fn tools(specs: &[ToolSpec], quirks: Quirks<'_>) -> Vec<Value> {
    let eager = quirks.flag("supports_eager_tool_input_streaming").unwrap_or(quirks.anthropic());
    let mut list: Vec<Value> = specs
        .iter()
        .map(|spec| {
            let mut tool = json!({
                "name": spec.name,
                "description": spec.description,
                "input_schema": spec.parameters,
            });
            if let Some(map) = tool.as_object_mut().filter(|_| eager) {
                map.insert("eager_input_streaming".into(), true.into());
            }
            tool
        })
        .collect();
    if let Some(last) =
        list.last_mut().filter(|_| quirks.flag("supports_cache_control_on_tools") != Some(false))
    {
        mark(last);
    }
    list
}

/// Writes whether and how long the model thinks; returns whether it does.
fn thinking(request: &ModelRequest, limit: u64, body: &mut Map<String, Value>) -> bool {
    if !request.model.reasoning {
        return false;
    }
    let has_effort = Quirks::of(&request.model).flag("force_adaptive_thinking") == Some(true);
    let has_room = has_effort || !request.limits_thinking || limit >= 2 * MIN_BUDGET;
    if !quirks::thinks(request) || !has_room {
        // A model that cannot stop thinking has no level `off`, and does not accept a switch for it.
        if request.model.thinking_levels.get(&ThinkingLevel::Off) != Some(&None) {
            body.insert("thinking".into(), json!({ "type": "disabled" }));
        }
        return false;
    }
    if has_effort {
        let effort = match quirks::effort(request) {
            Some(word) if word != "minimal" => word,
            _ => "low".to_owned(),
        };
        body.insert("thinking".into(), json!({ "type": "adaptive", "display": "summarized" }));
        body.insert("output_config".into(), json!({ "effort": effort }));
        return true;
    }
    // The budget is part of `max_tokens`, so the limit grows by it up to the model's own, unless it is for both.
    let most = if request.model.max_tokens > 0 { request.model.max_tokens } else { u64::MAX };
    let budget = quirks::budget(request).unwrap_or_else(|| budget(request.thinking));
    let total = match request.limits_thinking {
        true => limit,
        false => limit.saturating_add(budget).min(most.max(limit)),
    };
    let budget = budget.min(total.saturating_sub(MIN_BUDGET)).max(MIN_BUDGET);
    body.insert("max_tokens".into(), total.max(budget + 1).into());
    body.insert("thinking".into(), json!({ "type": "enabled", "budget_tokens": budget }));
    true
}

/// The thinking budget in tokens.
fn budget(level: ThinkingLevel) -> u64 {
    match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1_024,
        ThinkingLevel::Low => 4_096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::Xhigh => 32_768,
        ThinkingLevel::Max => 49_152,
    }
}

/// Messages with alternating roles: results and the next user message are one message.
fn messages(request: &ModelRequest) -> Vec<Value> {
    let quirks = Quirks::of(&request.model);
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, mut blocks) = match &**message {
            Message::User(user) => ("user", user_blocks(&user.content)),
            Message::Assistant(assistant) => ("assistant", assistant_blocks(assistant, quirks)),
            Message::ToolResult(result) => ("user", vec![tool_result(result)]),
            _ => continue,
        };
        if blocks.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.append(&mut blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let marked = turns.iter_mut().rev().filter(|(role, _)| *role == "user").take(2);
    for (_, blocks) in marked {
        if let Some(last) = blocks.last_mut() {
            mark(last);
        }
    }
    turns.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

/// A text block; `None` for blank text, which is refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn picture(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": mime_type, "data": data } })
}

fn user_blocks(content: &UserContent) -> Vec<Value> {
    match content {
        UserContent::Text(text) => text_block(text).into_iter().collect(),
        UserContent::Blocks(blocks) => {
            let block = |block: &Block| match block {
                Block::Text { text, .. } => text_block(text),
                Block::Image { data, mime_type } => Some(picture(mime_type, data)),
                _ => None,
            };
            blocks.iter().filter_map(block).collect()
        }
    }
}

fn assistant_blocks(message: &AssistantMessage, quirks: Quirks<'_>) -> Vec<Value> {
    let unsigned = quirks.flag("allow_empty_signature") == Some(true);
    let block = |block: &Block| match block {
        Block::Text { text, .. } => text_block(text),
        Block::Thinking { thinking_signature: Some(data), redacted: true, .. } => {
            Some(json!({ "type": "redacted_thinking", "data": data }))
        }
        Block::Thinking { thinking, thinking_signature, .. } => match thinking_signature.as_deref() {
            Some(signature) => {
                Some(json!({ "type": "thinking", "thinking": thinking, "signature": signature }))
            }
            None if unsigned => Some(json!({ "type": "thinking", "thinking": thinking, "signature": "" })),
            None => None,
        },
        Block::ToolCall(call) => {
            Some(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }))
        }
        Block::Image { .. } | Block::Unknown(_) => None,
    };
    message.content.iter().filter_map(block).collect()
}

fn tool_result(result: &ToolResultMessage) -> Value {
    let block = |content: &Content| match content {
        Content::Text { text } => text_block(text),
        Content::Image { data, mime_type } => Some(picture(mime_type, data)),
    };
    let mut content: Vec<Value> = result.content.iter().filter_map(block).collect();
    if content.is_empty() {
        content.extend(text_block("(no output)"));
    }
    let mut value = json!({ "type": "tool_result", "tool_use_id": result.tool_call_id, "content": content });
    if let Some(map) = value.as_object_mut().filter(|_| result.is_error) {
        map.insert("is_error".into(), true.into());
    }
    value
}
