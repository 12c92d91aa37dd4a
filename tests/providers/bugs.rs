//! Bugs that users met: each once, through the agent or the reader.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tau::agent::AgentEvent;
use tau::agent::protocol::event::RunEvent;
use tau::agent::protocol::message::{Message, StopReason};
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::direct::Direct;
use tau::agent::provider::http::{Http, Network, ProxyChoice};
use tau::agent::provider::{Failure, FailureKind, ModelRequest, StreamEvent, Transport};
use tokio_util::sync::CancellationToken;

use super::{assemble, decode};
use crate::support::server::{Act, Server, stream};

fn failure(events: &[StreamEvent]) -> &Failure {
    match events.last() {
        Some(StreamEvent::Failed(failure)) => failure,
        other => panic!("{other:?} is not a failure"),
    }
}

/// Google reports an overload as bare JSON, even after a `finishReason`: that answer is incomplete.
#[test]
fn an_error_of_the_provider_takes_precedence_over_a_complete_answer() {
    let said = json!({"candidates": [{"content": {"parts": [{"text": "half"}]}, "finishReason": "STOP"}]});
    let error =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    for error in [format!("{error:#}"), error.to_string(), format!("[{error}]")] {
        let body = format!("data: {said}\n\n{error}\n");
        for size in [1, 7, body.len()] {
            let events = decode(Api::GoogleGenerativeAi, body.as_bytes(), &[size]);
            let failure = failure(&events);
            assert_eq!(
                (failure.kind, failure.message.as_str()),
                (FailureKind::Overloaded, "The model is overloaded.")
            );
            assert!(assemble(Api::GoogleGenerativeAi, &events).text().contains("half"), "what came is kept");
            let ends =
                events.iter().filter(|event| matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_)));
            assert_eq!(ends.count(), 1, "{events:?}");
        }
    }
    // The same in another format; text that is not an error changes nothing.
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let events = decode(Api::OpenaiCompletions, format!("{chat}{error}").as_bytes(), &[5]);
    assert_eq!(failure(&events).kind, FailureKind::Overloaded);
    let events = decode(Api::OpenaiCompletions, format!("{chat}{{\"note\": 1}}").as_bytes(), &[5]);
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::Stop)));
}

#[test]
fn done_alone_is_no_answer() {
    for body in
        ["data: [DONE]\n\n", "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\ndata: [DONE]\n\n"]
    {
        let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[3]);
        assert!(failure(&events).retryable(), "{body}: {events:?}");
    }
    let body = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n";
    let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[3]);
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::Stop)), "some servers end like this");
}

fn direct() -> Direct {
    let network = Network { proxy: ProxyChoice::Never, ..Network::default() };
    Direct::new(Arc::new(Http::new(network)), Default::default())
}

fn request(api: Api, base_url: &str, messages: Vec<Value>) -> ModelRequest {
    let model =
        Model { id: "m".into(), api, provider: "p".into(), base_url: base_url.into(), ..Model::default() };
    let messages =
        messages.into_iter().map(|value| Arc::new(serde_json::from_value::<Message>(value).unwrap()));
    ModelRequest { system: "sys\0tem".into(), ..ModelRequest::new(Arc::new(model), messages.collect()) }
}

async fn events(request: ModelRequest) -> Vec<StreamEvent> {
    let stream = direct().stream(request, CancellationToken::new());
    tokio::time::timeout(Duration::from_secs(20), stream.collect()).await.expect("an answer in time")
}

#[tokio::test]
async fn no_request_holds_nul() {
    let reasoning = json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "a\0b"}],
        "encrypted_content": "x"});
    let messages = vec![
        json!({"role": "user", "content": "u\0u"}),
        json!({"role": "user", "content": [{"type": "text", "text": "v\0v"}]}),
        json!({"role": "assistant", "api": "x", "provider": "p", "model": "m", "stopReason": "toolUse", "content": [
            {"type": "thinking", "thinking": "t\0t", "thinkingSignature": reasoning.to_string()},
            {"type": "text", "text": "w\0w"},
            {"type": "toolCall", "id": "c", "name": "n\0n", "arguments": {"k\0k": ["a\0a", {"b": "b\0b"}]}},
        ]}),
        json!({"role": "toolResult", "toolCallId": "c", "toolName": "n\0n", "isError": false,
            "content": [{"type": "text", "text": "r\0r"}]}),
    ];
    let apis =
        [Api::OpenaiCompletions, Api::OpenaiResponses, Api::AnthropicMessages, Api::GoogleGenerativeAi];
    for api in apis {
        let server = Server::start(vec![Act::Send(stream("data: {}\n\n"))]).await;
        let request = request(api, &server.url(), messages.clone());
        let before = format!("{:?}", request.messages);
        events(request.clone()).await;
        let sent = server.requests().join("\n");
        assert!(sent.contains("w\u{fffd}w"), "{api:?}: {sent}");
        let escapes = sent.replace("\\\\\\\\", "");
        assert!(!sent.contains('\0') && !escapes.contains("u0000"), "{api:?}: {sent}");
        assert_eq!(format!("{:?}", request.messages), before, "the session's messages stay as they came");
    }
}

#[tokio::test]
async fn an_address_that_cannot_work_is_a_configuration_error() {
    let cases = [
        ("localhost:8080/v1", "does not begin with http:// or https://"),
        ("127.0.0.1:8080/v1", "does not begin with http:// or https://"),
        ("api.example.com/v1", "does not begin with http:// or https://"),
        ("what is this", "does not begin with http:// or https://"),
        ("", "the provider has no address"),
        ("ftp://127.0.0.1/v1", "ftp:// is not supported"),
        ("file:///etc/passwd", "file:// is not supported"),
        ("unix:/run/x.sock", "does not begin with http:// or https://"),
        ("http://", ""),
        ("http://[::1/v1", ""),
        ("ftp://user:hunter2@127.0.0.1/v1", "ftp:// is not supported"),
    ];
    for (base_url, why) in cases {
        let found = events(request(Api::OpenaiCompletions, base_url, Vec::new())).await;
        let failure = failure(&found);
        assert_eq!(failure.kind, FailureKind::Config, "{base_url}: {failure}");
        assert!(failure.message.contains(why) && !failure.retryable(), "{base_url}: {failure}");
        let how = if base_url.is_empty() { "base_url" } else { "http://localhost:8080/v1" };
        assert!(failure.to_string().contains(how), "how to write it: {failure}");
        assert!(!failure.message.contains("hunter2"), "{failure}");
    }
}

/// The agent does not retry such an address, but does retry after `[DONE]` alone.
#[tokio::test]
async fn the_agent_retries_what_can_pass_only() {
    let observed = crate::faults::run("localhost:8080/v1").await;
    assert!(
        !observed.iter().any(|event| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }))),
        "{observed:?}"
    );
    let ok = "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = Server::start(vec![Act::Send(stream("data: [DONE]\n\n")), Act::Send(stream(ok))]).await;
    let observed = crate::faults::run(&server.url()).await;
    assert!(
        observed.iter().any(|event| matches!(event, AgentEvent::Run(RunEvent::AutoRetryStart { .. }))),
        "{observed:?}"
    );
    assert_eq!(server.requests().len(), 2);
}

/// An error that has no field of its own ends the answer, also before `[DONE]`.
#[test]
fn an_error_as_a_bare_object_is_one() {
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
    let typed = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "half"});
    let responses = format!("data: {typed}\n\n");
    for error in [
        json!({"object": "error", "message": "out of memory", "type": "InternalServerError", "code": 500}),
        json!({"detail": "out of memory"}),
        json!({"message": "out of memory", "choices": []}),
    ] {
        for (api, before) in [
            (Api::OpenaiCompletions, chat),
            (Api::OpenaiCompletions, ""),
            (Api::OpenaiResponses, responses.as_str()),
        ] {
            let body = format!("{before}data: {error}\n\ndata: [DONE]\n\n");
            let events = decode(api, body.as_bytes(), &[7]);
            assert_eq!(failure(&events).message, "out of memory", "{body}");
        }
    }
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
    let events =
        decode(Api::OpenaiCompletions, format!("{chat}data: {usage}\n\ndata: [DONE]\n\n").as_bytes(), &[7]);
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::Stop)));
    for error in [json!({"error": "upstream said \"no\""}).to_string(), "upstream said \"no\"".to_owned()] {
        let body = format!("event: error\ndata: {error}\n\n");
        let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[7]);
        assert_eq!(failure(&events).message, "upstream said \"no\"", "{body}");
    }
}

/// The names and the paths of the calls in a chat answer.
fn calls(pieces: &[Value]) -> Vec<(String, Value)> {
    let mut body: String = pieces
        .iter()
        .map(|piece| format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": piece}}]})))
        .collect();
    body += "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[11]);
    assert!(matches!(events.last(), Some(StreamEvent::Stop(_))), "{body}: {events:?}");
    let answer = assemble(Api::OpenaiCompletions, &events);
    answer.tool_calls().map(|call| (call.id.clone(), call.arguments["path"].clone())).collect()
}

#[test]
fn calls_of_careless_servers_are_told_apart() {
    let call = |index: Value, id: Value, path: &str| json!({"index": index, "id": id, "function": {"name": "read", "arguments": json!({"path": path}).to_string()}});
    for id in [json!(""), Value::Null] {
        let both = [call(json!(0), id.clone(), "a"), call(json!(0), id.clone(), "b")];
        for pieces in [vec![json!(both)], vec![json!([both[0]]), json!([both[1]])]] {
            let paths: Vec<Value> = calls(&pieces).into_iter().map(|(_, path)| path).collect();
            assert_eq!(paths, ["a", "b"], "{pieces:?}");
        }
    }
    // A name in every piece is no new call.
    let piece = |text: &str| json!([{"index": 0, "function": {"name": "read", "arguments": text}}]);
    let found = calls(&[piece("{\"pa"), piece("th\":\"a\"}"), piece("")]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].1, "a");
    for (index, id, expected) in
        [(json!(-1), json!("c1"), "c1"), (json!("0"), json!("c1"), "c1"), (json!(0), json!(7), "7")]
    {
        assert_eq!(calls(&[json!([call(index, id, "a")])]), [(expected.to_owned(), json!("a"))]);
    }
    assert_eq!(calls(&[json!([call(json!(0), json!("c1"), "a")]), json!("")]).len(), 1);
}

#[test]
fn a_call_that_is_only_in_the_complete_response_counts() {
    let item = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let message = json!({"type": "message", "content": [{"type": "output_text", "text": "hi"}]});
    let said = json!({"type": "response.output_text.delta", "output_index": 0, "delta": "hi"});
    let streamed = json!({"type": "response.output_item.done", "output_index": 1, "item": item("c1")});
    let end = json!({"type": "response.completed",
        "response": {"id": "r", "status": "completed", "output": [message, item("c1")]}});
    for events in [vec![&said, &end], vec![&said, &streamed, &end], vec![&end]] {
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let events = decode(Api::OpenaiResponses, body.as_bytes(), &[9]);
        let answer = assemble(Api::OpenaiResponses, &events);
        assert_eq!((answer.text().as_str(), answer.tool_calls().count()), ("hi", 1), "{body}");
    }
}

#[test]
fn a_long_answer_may_come_at_once() {
    let text = "w".repeat(200_000);
    let whole = json!({"id": "x", "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]});
    let events = decode(Api::OpenaiCompletions, whole.to_string().as_bytes(), &[4_096]);
    assert_eq!(assemble(Api::OpenaiCompletions, &events).text(), text);
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::Stop)));
}
