//! The formats of other programs: the same answer in each, streamed and whole, and the clients' own packages.

use serde_json::{Value, json};

use super::*;

/// A chat answer of the provider that thinks, says a word and calls a tool.
fn thinks_and_calls() -> Act {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let events = [
        delta(json!({"reasoning_content": "Let me look."})),
        delta(json!({"content": "I look"})),
        delta(json!({"content": " at it."})),
        call(
            json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"pa"}}),
        ),
        call(json!({"index": 0, "function": {"arguments": "th\":\"a\"}"}})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}}),
    ];
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Act::Send(stream(&format!("{body}data: [DONE]\n\n")))
}

fn chat(stream: bool) -> Value {
    let function = json!({"name": "read", "arguments": "{\"path\":\"a\"}"});
    json!({"model": "own/m", "stream": stream, "stream_options": {"include_usage": true}, "max_tokens": 100,
        "messages": [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look."}]},
            {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c0", "type": "function",
                "function": function}]},
            {"role": "tool", "tool_call_id": "c0", "content": "text of a"}],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}]})
}

fn responses(stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "instructions": "Be brief.", "max_output_tokens": 100,
        "input": [{"role": "user", "content": "Look."},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
            {"type": "function_call", "call_id": "c0", "name": "read", "arguments": "{\"path\":\"a\"}"},
            {"type": "function_call_output", "call_id": "c0", "output": "text of a"}],
        "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}}]})
}

fn messages(stream: bool) -> Value {
    json!({"model": "own/m", "stream": stream, "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Look."},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c0", "name": "read", "input": {"path": "a"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c0", "content": "text of a"}]}],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}]})
}

#[tokio::test]
async fn the_same_conversation_is_passed_on_from_every_format() {
    let proxy = Proxy::start(vec![says("hello")]).await;
    let token = proxy.token(&["me"]).await;
    let formats = [
        ("/v1/chat/completions", chat(false)),
        ("/v1/responses", responses(false)),
        ("/v1/messages", messages(false)),
    ];
    for (path, asked) in formats {
        proxy.post(path, &token, &asked).await;
        let sent = body(&proxy.upstream.requests().pop().unwrap());
        let of_chat = chat(false);
        let mut expected = of_chat["messages"].clone();
        expected[1]["content"] = json!("Look.");
        assert_eq!(sent["messages"], expected, "{path}");
        assert_eq!(sent["tools"][0]["function"]["name"], "read", "{path}");
        assert_eq!(sent["tools"][0]["function"]["parameters"], json!({"type": "object"}), "{path}");
        assert_eq!(sent["max_tokens"], 100, "{path}: {sent}");
    }
}

impl Proxy {
    async fn post(&self, path: &str, token: &str, body: &Value) -> (String, String) {
        let head = format!("POST {path} HTTP/1.1\r\nauthorization: Bearer {token}\r\n");
        let (head, body) = self.send(&head, &body.to_string()).await;
        (head, unchunked(&body))
    }
}

/// A body that may have arrived in chunks.
fn unchunked(body: &str) -> String {
    let mut rest = body;
    let mut whole = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { return body.to_owned() };
        if size == 0 {
            return whole;
        }
        whole += &after[..size];
        rest = &after[size + 2..];
    }
    if whole.is_empty() { body.to_owned() } else { whole }
}

/// The data of the events in a body.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

#[tokio::test]
async fn chat_completions() {
    let proxy = Proxy::start(vec![thinks_and_calls()]).await;
    let token = proxy.token(&["me"]).await;
    let (head, body) = proxy.post("/v1/chat/completions", &token, &chat(false)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let whole: Value = serde_json::from_str(&body).unwrap();
    let message = &whole["choices"][0]["message"];
    assert_eq!((&whole["object"], &whole["model"]), (&json!("chat.completion"), &json!("own/m")));
    assert_eq!(message["content"], "I look at it.");
    assert_eq!(message["reasoning_content"], "Let me look.");
    assert_eq!(
        message["tool_calls"][0]["function"],
        json!({"name": "read", "arguments": "{\"path\":\"a\"}"})
    );
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(whole["usage"]["prompt_tokens"], 10);
    assert_eq!(whole["usage"]["prompt_tokens_details"]["cached_tokens"], 4);

    let (head, body) = proxy.post("/v1/chat/completions", &token, &chat(true)).await;
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(body.trim_end().ends_with("data: [DONE]"), "{body}");
    let events = events(&body);
    let joined =
        |path: &str| -> String { events.iter().filter_map(|event| event.pointer(path)?.as_str()).collect() };
    assert_eq!(joined("/choices/0/delta/content"), "I look at it.");
    assert_eq!(joined("/choices/0/delta/reasoning_content"), "Let me look.");
    assert_eq!(joined("/choices/0/delta/tool_calls/0/function/arguments"), "{\"path\":\"a\"}");
    assert_eq!(joined("/choices/0/delta/tool_calls/0/id"), "c1");
    assert_eq!(joined("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(events.last().unwrap()["usage"]["completion_tokens"], 5);

    // The key stays here, and the conversation continued.
    let sent = proxy.upstream.requests();
    assert!(sent[0].contains(KEY) && !sent[0].contains(&token), "{}", sent[0]);
    assert!(sent[0].contains("Be brief.") && sent[0].contains("\"read\""), "{}", sent[0]);
    let used: Value = serde_json::from_str(&proxy.get("/api/usage", &token).await.1).unwrap();
    assert_eq!((&used["total"]["requests"], &used["total"]["output"]), (&json!(2), &json!(10)));
}

#[tokio::test]
async fn responses_of_openai() {
    let proxy = Proxy::start(vec![thinks_and_calls()]).await;
    let token = proxy.token(&["me"]).await;
    let (head, body) = proxy.post("/v1/responses", &token, &responses(false)).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let whole: Value = serde_json::from_str(&body).unwrap();
    let kinds: Vec<&str> =
        whole["output"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(
        (whole["status"].as_str(), kinds),
        (Some("completed"), vec!["reasoning", "message", "function_call"])
    );
    assert_eq!(whole["output"][1]["content"][0]["text"], "I look at it.");

    let (_, body) = proxy.post("/v1/responses", &token, &responses(true)).await;
    let events = events(&body);
    let numbers: Vec<u64> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let kind = |event: &Value| event["type"].as_str().unwrap().to_owned();
    assert_eq!(kind(&events[0]), "response.created");
    let last = events.last().unwrap();
    assert_eq!(kind(last), "response.completed");
    assert_eq!(last["response"]["output"][2]["arguments"], "{\"path\":\"a\"}");
    assert_eq!(last["response"]["usage"]["input_tokens"], 10);
    let said: String = events
        .iter()
        .filter(|event| kind(event) == "response.output_text.delta")
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(said, "I look at it.");
}

#[tokio::test]
async fn messages_of_anthropic() {
    let proxy = Proxy::start(vec![thinks_and_calls()]).await;
    let token = proxy.token(&["me"]).await;
    // As Anthropic's clients send a key.
    let head =
        format!("POST /v1/messages HTTP/1.1\r\nx-api-key: {token}\r\nanthropic-version: 2023-06-01\r\n");
    let (head, body) = proxy.send(&head, &messages(false).to_string()).await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head} {body}");
    let whole: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(whole["content"][0]["thinking"], "Let me look.");
    assert_eq!(whole["content"][1], json!({"type": "text", "text": "I look at it."}));
    assert_eq!(
        whole["content"][2],
        json!({"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a"}})
    );
    assert_eq!(whole["stop_reason"], "tool_use");
    assert_eq!(whole["usage"]["cache_read_input_tokens"], 4);

    let (_, body) = proxy.post("/v1/messages", &token, &messages(true)).await;
    assert!(body.contains("event: message_start\n") && body.contains("event: message_stop\n"), "{body}");
    let events = events(&body);
    let kinds: Vec<String> = events
        .iter()
        .map(|event| format!("{} {}", event["type"].as_str().unwrap(), event["index"]))
        .collect();
    let begun: Vec<&String> = kinds.iter().filter(|kind| kind.starts_with("content_block_start")).collect();
    assert_eq!(begun, ["content_block_start 0", "content_block_start 1", "content_block_start 2"]);
    assert_eq!(kinds.iter().filter(|kind| kind.starts_with("content_block_stop")).count(), 3);
    let joined =
        |path: &str| -> String { events.iter().filter_map(|event| event.pointer(path)?.as_str()).collect() };
    assert_eq!(joined("/delta/partial_json"), "{\"path\":\"a\"}");
    assert_eq!(joined("/delta/text"), "I look at it.");
}

#[tokio::test]
async fn models_are_listed_as_both_expect() {
    let proxy = Proxy::start(vec![says("hello")]).await;
    let token = proxy.token(&["me", "--allow", "own/*"]).await;
    let (_, body) = proxy.get("/v1/models", &token).await;
    let list: Value = serde_json::from_str(&body).unwrap();
    let ids: Vec<&str> =
        list["data"].as_array().unwrap().iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["own/m", "own/free"]);
    assert_eq!(
        (&list["object"], &list["has_more"], &list["first_id"]),
        (&json!("list"), &json!(false), &json!("own/m"))
    );
    let (_, body) = proxy.get("/v1/models/own/m", &token).await;
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["owned_by"], "own");
    let (head, _) = proxy.get("/v1/models/own/none", &token).await;
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, text) = proxy.post("/v1/messages/count_tokens", &token, &messages(true)).await;
    assert!(
        head.starts_with("HTTP/1.1 404") && text.contains("nothing at /v1/messages/count_tokens"),
        "{text}"
    );
}

#[tokio::test]
async fn mistakes_have_the_status_that_clients_know() {
    let busy = Act::Send(crate::support::server::answer(
        "429 Too Many Requests",
        "retry-after: 7\r\n",
        br#"{"error":{"message":"slow down","type":"rate_limit_error"}}"#,
    ));
    let refused = Act::Send(crate::support::server::answer(
        "401 Unauthorized",
        "",
        format!(r#"{{"error":{{"message":"wrong key {KEY}"}}}}"#).as_bytes(),
    ));
    let proxy = Proxy::start(vec![busy, refused]).await;
    let token = proxy.token(&["me", "--allow", "own/m"]).await;
    for (path, body) in [
        ("/v1/chat/completions", chat(true)),
        ("/v1/responses", responses(true)),
        ("/v1/messages", messages(true)),
    ] {
        let (head, _) = proxy.post(path, "wrong", &body).await;
        assert!(head.starts_with("HTTP/1.1 401"), "{path}: {head}");
        let mut other = body.clone();
        other["model"] = json!("own/free");
        let (head, text) = proxy.post(path, &token, &other).await;
        assert!(head.starts_with("HTTP/1.1 403"), "{path}: {head} {text}");
        other["model"] = json!("nothing");
        let (head, text) = proxy.post(path, &token, &other).await;
        assert!(
            head.starts_with("HTTP/1.1 404") && text.contains("GET /v1/models lists them"),
            "{head} {text}"
        );
        let (head, text) = proxy.post(path, &token, &json!({"model": "own/m"})).await;
        assert!(head.starts_with("HTTP/1.1 400") && text.contains("invalid_request_error"), "{head} {text}");
    }
    // Nobody is to believe that the model saw a picture, or that a word is a temperature.
    let data =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let url = json!([{"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}}]);
    let source =
        json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}]);
    for (path, mut body, content) in
        [("/v1/chat/completions", chat(false), url), ("/v1/messages", messages(false), source)]
    {
        let mut hot = body.clone();
        hot["temperature"] = json!("hot");
        body["messages"] = json!([{"role": "user", "content": content}]);
        for (body, why) in [(body, "does not take pictures"), (hot, "must be a number")] {
            let (head, text) = proxy.post(path, &token, &body).await;
            assert!(head.starts_with("HTTP/1.1 400") && text.contains(why), "{head} {text}");
        }
    }
    assert!(proxy.upstream.requests().is_empty());
    let (head, text) = proxy.post("/v1/chat/completions", &token, &chat(true)).await;
    assert!(head.starts_with("HTTP/1.1 429") && head.contains("retry-after: 7"), "{head} {text}");
    let (head, text) = proxy.post("/v1/messages", &token, &messages(false)).await;
    assert!(head.starts_with("HTTP/1.1 502") && !text.contains(KEY), "{head} {text}");
    assert!(text.starts_with(r#"{"type":"error","error":{"type":"api_error""#), "{text}");
}

/// The official packages of OpenAI and Anthropic, where Python has them: `TAU_PYTHON` names one that does.
#[tokio::test]
async fn the_packages_of_openai_and_anthropic_are_clients() {
    let Some(python) = std::env::var_os("TAU_PYTHON") else {
        println!("notice: TAU_PYTHON names no Python with the packages openai and anthropic");
        return;
    };
    let proxy = Proxy::start(vec![thinks_and_calls()]).await;
    let token = proxy.token(&["me"]).await;
    let mut command = Command::new(python);
    command.arg("-c").arg(include_str!("clients.py")).env("TAU_URL", &proxy.url).env("TAU_TOKEN", &token);
    let output = command.output().in_time("the clients").await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.trim() == "all right",
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// What is between it and its client takes a long silence for the end of the connection.
#[tokio::test]
async fn a_stream_begins_while_the_model_thinks() {
    let fault = "data: {\"error\": {\"message\": \"it broke\"}}\n\n";
    let mut head = stream(fault);
    let fault = head.split_off(head.len() - fault.len());
    let said = Arc::new(tokio::sync::Notify::new());
    let proxy = Proxy::start(vec![Act::Hold(head, Arc::clone(&said), fault)]).await;
    let (token, body) = (proxy.token(&["t"]).await, chat(true).to_string());
    let mut socket = TcpStream::connect(proxy.address()).await.unwrap();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    while !answer.contains("\"role\":\"assistant\"") {
        let mut bytes = [0; 4096];
        let read = socket.read(&mut bytes).in_time("the beginning").await.unwrap();
        assert!(read > 0, "{answer}");
        answer += std::str::from_utf8(&bytes[..read]).unwrap();
    }
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    said.notify_one();
    socket.read_to_string(&mut answer).in_time("the end").await.unwrap();
    assert!(answer.contains("it broke"), "{answer}");
}
