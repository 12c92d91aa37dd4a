//! Requests of each format against goldens in `tests/golden/requests` (rewritten with `TAU_BLESS=1`, then
//! reviewed).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tau::agent::protocol::message::{
    AssistantMessage, Block, Message, ToolCall, ToolResultMessage, UserContent, UserMessage,
};
use tau::agent::protocol::model::{Api, Model, ThinkingLevel};
use tau::agent::provider::{Headers, ModelRequest, handoff, wire_format};
use tau::agent::secrets::Secret;
use tau::tools::{Content, Details, ToolSpec};

const DOT: &str = "iVBORw0KGgo=";

fn model(api: Api, provider: &str, id: &str, base_url: &str, quirks: Value) -> Model {
    let Value::Object(quirks) = quirks else { panic!("quirks are an object") };
    Model {
        id: id.into(),
        api,
        provider: provider.into(),
        base_url: base_url.into(),
        reasoning: true,
        input: vec!["text".into(), "image".into()],
        context_window: 200_000,
        max_tokens: 64_000,
        quirks,
        ..Model::default()
    }
}

fn image() -> Block {
    Block::Image { data: DOT.into(), mime_type: "image/png".into() }
}

fn assistant(model: &Model, content: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        api: model.api,
        provider: model.provider.clone(),
        model: model.id.clone(),
        ..AssistantMessage::default()
    })
}

fn call(id: &str, name: &str, arguments: Value, signature: Option<&str>) -> Block {
    let thought_signature = signature.map(str::to_owned);
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments, thought_signature })
}

fn result(id: &str, name: &str, content: Vec<Content>, is_error: bool) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: name.into(),
        content,
        details: Details::None,
        is_error,
        timestamp: 0,
        duration_ms: None,
        hooks: Vec::new(),
    })
}

fn user(content: UserContent) -> Message {
    Message::User(UserMessage { timestamp: 0, ..UserMessage::new(content) })
}

fn thinking(text: &str, signature: &str, redacted: bool) -> Block {
    Block::Thinking { thinking: text.into(), thinking_signature: Some(signature.into()), redacted }
}

/// A conversation with every kind of content, as if with `model`.
fn conversation(model: &Model) -> Vec<Message> {
    let (thought, more) = match model.api {
        Api::AnthropicMessages => {
            (thinking("Look first.", "c2ln", false), Some(thinking("", "cmVkYWN0ZWQ=", true)))
        }
        Api::OpenaiResponses => (
            thinking(
                "Look first.",
                r#"{"id":"rs_1","type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"gAAA"}"#,
                false,
            ),
            Some(thinking("", r#"{"id":"rs_2","type":"reasoning","summary":[]}"#, true)),
        ),
        Api::OpenaiCompletions if model.provider == "openrouter" => (
            thinking(
                "Look first.",
                r#"[{"type":"reasoning.text","text":"Look first.","signature":"s","index":0}]"#,
                false,
            ),
            None,
        ),
        Api::OpenaiCompletions if model.provider == "mistral" => {
            (thinking("Look first.", "content", false), None)
        }
        Api::OpenaiCompletions => (thinking("Look first.", "reasoning_content", false), None),
        _ => (thinking("Look first.", "dGhvdWdodA==", false), None),
    };
    let signature = (model.api == Api::GoogleGenerativeAi).then_some("Y2FsbA==");
    let mut first = vec![thought];
    first.extend(more);
    first.push(Block::text("I will look."));
    first.push(call("call_1", "read", json!({"path": "a.png"}), signature));
    first.push(call("call_2", "bash", json!({"command": "ls"}), None));
    vec![
        user(UserContent::Blocks(vec![Block::text("What is this?"), image()])),
        assistant(model, first),
        result(
            "call_1",
            "read",
            vec![
                Content::text("a picture"),
                Content::Image { data: DOT.into(), mime_type: "image/png".into() },
            ],
            false,
        ),
        result("call_2", "bash", vec![Content::text("ls: no")], true),
        user(UserContent::Text("Go on.".into())),
        assistant(model, vec![call("call_3", "bash", json!({}), None)]),
        result("call_3", "bash", vec![], false),
        assistant(model, vec![Block::text("Done.")]),
        user(UserContent::Text("Thanks.".into())),
    ]
}

fn request(model: Model, thinking: ThinkingLevel) -> ModelRequest {
    let messages: Vec<Arc<Message>> = conversation(&model).into_iter().map(Arc::new).collect();
    let messages = handoff::for_model(&messages, &model);
    let tool = |name: &str, schema: Value| ToolSpec {
        name: name.into(),
        label: name.into(),
        description: format!("The {name} tool."),
        parameters: schema,
        read_only: false,
    };
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let command = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    ModelRequest {
        key: Some(Secret::new("key-1234567890")),
        system: "Be brief.".into(),
        tools: vec![tool("read", path), tool("bash", command)].into(),
        thinking,
        session_id: "session-1".into(),
        ..ModelRequest::new(Arc::new(model), messages)
    }
}

fn written(request: &ModelRequest) -> Value {
    let encoded = wire_format(request.model.api).unwrap().encode(request).unwrap();
    let Headers(headers) = &encoded.headers;
    let headers: BTreeMap<&String, &String> = headers.iter().map(|(name, value)| (name, value)).collect();
    json!({ "url": encoded.url, "headers": headers, "body": encoded.body })
}

/// Compares with the golden of this name, or writes it.
fn check(name: &str, request: &ModelRequest) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/requests").join(format!("{name}.json"));
    let found = written(request);
    if std::env::var_os("TAU_BLESS").is_some() {
        crate::support::write(&path, &(serde_json::to_string_pretty(&found).unwrap() + "\n"));
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted: Value = serde_json::from_str(&golden).unwrap_or_default();
    assert_eq!(
        serde_json::to_string_pretty(&found).unwrap(),
        serde_json::to_string_pretty(&wanted).unwrap(),
        "{name}"
    );
}

fn levels(list: &[(ThinkingLevel, Option<&str>)]) -> BTreeMap<ThinkingLevel, Option<String>> {
    list.iter().map(|(level, word)| (*level, word.map(str::to_owned))).collect()
}

#[test]
fn chat() {
    use ThinkingLevel::{High, Medium, Off};
    let chat = |provider: &str, id: &str, base: &str, quirks: Value| {
        model(Api::OpenaiCompletions, provider, id, base, quirks)
    };
    check("chat-openai", &request(chat("openai", "gpt-5", "https://api.openai.com/v1", json!({})), Medium));
    let quirks = json!({
        "thinking_format": "openrouter", "cache_control_format": "anthropic", "supports_developer_role": false,
        "send_session_affinity_headers": true,
    });
    let id = "anthropic/claude-sonnet-5";
    check("chat-openrouter", &request(chat("openrouter", id, "https://openrouter.ai/api/v1/", quirks), High));
    let quirks = json!({
        "thinking_format": "deepseek", "max_tokens_field": "max_tokens",
        "requires_reasoning_content_on_assistant_messages": true, "supports_developer_role": false,
    });
    check(
        "chat-deepseek",
        &request(chat("deepseek", "deepseek-v4-flash", "https://api.deepseek.com", quirks), High),
    );
    check(
        "chat-mistral",
        &request(chat("mistral", "magistral", "https://api.mistral.ai/v1", json!({})), High),
    );
    let mut local = chat("local", "smol", "http://127.0.0.1:8080/v1", json!({}));
    (local.reasoning, local.max_tokens, local.input) = (false, 0, vec!["text".into()]);
    let mut plain = request(local, Off);
    (plain.key, plain.temperature, plain.max_tokens) = (None, Some(0.5), Some(100));
    check("chat-local", &plain);
}

#[test]
fn chat_thinking_formats() {
    use ThinkingLevel::{High, Off};
    let cases = [
        (json!({}), High, json!({"reasoning_effort": "high"})),
        (json!({}), Off, json!({})),
        (json!({"supports_reasoning_effort": false}), High, json!({})),
        (json!({"thinking_format": "openrouter"}), Off, json!({"reasoning": {"effort": "none"}})),
        (json!({"thinking_format": "zai"}), High, json!({"thinking": {"type": "enabled"}})),
        (json!({"thinking_format": "zai"}), Off, json!({"thinking": {"type": "disabled"}})),
        (
            json!({"thinking_format": "qwen", "supports_reasoning_effort": true}),
            High,
            json!({"enable_thinking": true, "reasoning_effort": "high"}),
        ),
        (
            json!({"thinking_format": "together", "supports_reasoning_effort": false}),
            Off,
            json!({"reasoning": {"enabled": false}}),
        ),
        (
            json!({"thinking_format": "baseten", "chat_template_args": {"enable_thinking": {"$var": "thinking.enabled"}}}),
            High,
            json!({"chat_template_args": {"enable_thinking": true}}),
        ),
    ];
    for (quirks, level, wanted) in cases {
        let request = request(model(Api::OpenaiCompletions, "v", "m", "http://h", quirks.clone()), level);
        let body = written(&request)["body"].clone();
        let knobs = ["reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_args"];
        let found: serde_json::Map<String, Value> =
            knobs.iter().filter_map(|knob| Some(((*knob).to_owned(), body.get(*knob)?.clone()))).collect();
        assert_eq!(Value::Object(found), wanted, "{quirks} {level:?}");
    }
}

#[test]
fn responses() {
    use ThinkingLevel::{High, Off};
    let base = "https://api.openai.com/v1";
    check(
        "responses-openai",
        &request(model(Api::OpenaiResponses, "openai", "gpt-5.4", base, json!({})), High),
    );
    check(
        "responses-xai",
        &request(model(Api::OpenaiResponses, "xai", "grok-4.3", "https://api.x.ai/v1", json!({})), High),
    );
    let mut azure =
        model(Api::OpenaiResponses, "azure", "gpt-5.2", "https://me.openai.azure.com/openai/v1", json!({}));
    azure.thinking_levels = levels(&[(Off, Some("none"))]);
    check("responses-azure-off", &request(azure, Off));
}

#[test]
fn anthropic() {
    use ThinkingLevel::{High, Off, Xhigh};
    let base = "https://api.anthropic.com";
    let anthropic = |quirks: Value| model(Api::AnthropicMessages, "anthropic", "claude", base, quirks);
    check("anthropic-budget", &request(anthropic(json!({})), High));
    check("anthropic-off", &request(anthropic(json!({})), Off));
    let mut adaptive = anthropic(json!({"force_adaptive_thinking": true}));
    adaptive.thinking_levels = levels(&[(Off, None), (Xhigh, Some("xhigh"))]);
    check("anthropic-adaptive", &request(adaptive, Xhigh));
    let quirks =
        json!({"supports_cache_control_on_tools": false, "supports_eager_tool_input_streaming": false});
    let other =
        model(Api::AnthropicMessages, "fireworks", "glm", "https://api.fireworks.ai/inference/v1", quirks);
    check("anthropic-fireworks", &request(other, High));
}

#[test]
fn google() {
    use ThinkingLevel::{High, Low, Off};
    let base = "https://generativelanguage.googleapis.com/v1beta";
    let google = |id: &str| model(Api::GoogleGenerativeAi, "google", id, base, json!({}));
    let mut three = google("gemini-3.5-flash");
    three.thinking_levels = levels(&[(Off, None), (Low, Some("low")), (High, Some("high"))]);
    check("google-3", &request(three, Low));
    check("google-2.5", &request(google("gemini-2.5-flash"), High));
    let mut off = request(google("models/gemini-2.5-flash"), Off);
    (off.max_tokens, off.temperature) = (Some(1_000), Some(0.0));
    check("google-2.5-off", &off);
}

#[test]
fn addresses() {
    let check = |api: Api, base: &str, wanted: &str| {
        let request = request(model(api, "v", "m", base, json!({})), ThinkingLevel::Off);
        assert_eq!(written(&request)["url"], wanted);
    };
    check(Api::OpenaiCompletions, "http://h/v1", "http://h/v1/chat/completions");
    check(Api::OpenaiCompletions, "http://h/v1/", "http://h/v1/chat/completions");
    check(Api::OpenaiCompletions, "http://h/v1/chat/completions", "http://h/v1/chat/completions");
    check(Api::OpenaiResponses, "http://h/v1", "http://h/v1/responses");
    check(Api::AnthropicMessages, "http://h", "http://h/v1/messages");
    check(Api::AnthropicMessages, "http://h/v1/", "http://h/v1/messages");
    check(Api::AnthropicMessages, "http://h/v1/messages", "http://h/v1/messages");
    check(
        Api::GoogleGenerativeAi,
        "http://h/v1beta",
        "http://h/v1beta/models/m:streamGenerateContent?alt=sse",
    );
}

#[test]
fn keys_stay_out_of_debug() {
    let request = request(model(Api::OpenaiCompletions, "v", "m", "http://h", json!({})), ThinkingLevel::Off);
    let encoded = wire_format(request.model.api).unwrap().encode(&request).unwrap();
    assert!(!format!("{encoded:?} {request:?}").contains("key-1234567890"));
}
