//! The ends of answers: complete, truncated, and no answer at all.

use serde_json::{Value, json};
use tau::agent::protocol::message::StopReason;
use tau::agent::protocol::model::Api;
use tau::agent::provider::{FailureKind, StreamEvent};

use super::decode;

/// The expected end of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Stop(StopReason),
    Failed(FailureKind),
}

const LENGTH: End = End::Stop(StopReason::Length);
const CALLS: End = End::Stop(StopReason::ToolUse);
const BROKEN: End = End::Failed(FailureKind::Overloaded);
const REFUSED: End = End::Failed(FailureKind::Refused);
const PROTOCOL: End = End::Failed(FailureKind::Protocol);
const OVERFLOW: End = End::Failed(FailureKind::Overflow);
const NETWORK: End = End::Failed(FailureKind::Network);

/// Whether the answer called a tool before it ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Came {
    Call,
    Nothing,
}

fn body(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn chat(came: Came, reason: &str) -> String {
    let call = json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]);
    let said = json!({"choices": [{"delta": {"tool_calls": call}}]});
    let end = json!({"choices": [{"delta": {}, "finish_reason": reason}]});
    let events = if came == Came::Call { vec![said, end] } else { vec![end] };
    body(&events) + "data: [DONE]\n\n"
}

fn anthropic(came: Came, reason: &str) -> String {
    let call = json!({"type": "tool_use", "id": "c", "name": "f", "input": {}});
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m"}})];
    if came == Came::Call {
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": call}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    events.push(json!({"type": "message_stop"}));
    body(&events)
}

fn google(came: Came, reason: &str) -> String {
    let parts = json!([{"functionCall": {"name": "f", "args": {}}}]);
    let said = json!({"candidates": [{"content": {"parts": parts}}]});
    let end = json!({"candidates": [{"finishReason": reason}]});
    body(&if came == Came::Call { vec![said, end] } else { vec![end] })
}

/// The last event of type `kind` with this status, and this reason for being incomplete.
fn responses(came: Came, kind: &str, status: Value, reason: Value) -> String {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let done = json!({"type": "response.output_item.done", "output_index": 0, "item": call});
    let response = json!({"status": status, "incomplete_details": {"reason": reason}});
    let end = json!({"type": kind, "response": response});
    body(&if came == Came::Call { vec![done, end] } else { vec![end] })
}

fn check(api: Api, body: &str, expected: End) {
    let events = decode(api, body.as_bytes(), &[body.len()]);
    let found = match events.last() {
        Some(StreamEvent::Stop(reason)) => End::Stop(*reason),
        Some(StreamEvent::Failed(failure)) => {
            let retried = matches!(expected, BROKEN | PROTOCOL | NETWORK);
            assert_eq!(failure.retryable(), retried, "{body}: {failure}");
            End::Failed(failure.kind)
        }
        other => panic!("{body}: {other:?}"),
    };
    assert_eq!(found, expected, "{body}");
}

#[test]
fn words_for_the_end_of_an_answer() {
    use Came::{Call, Nothing};
    let cases = [
        (Call, "stop", CALLS),
        (Call, "tool_calls", CALLS),
        (Call, "whatever", CALLS),
        (Call, "length", LENGTH),
        (Call, "max_tokens", LENGTH),
        (Call, "error", BROKEN),
        (Call, "network_error", BROKEN),
        (Call, "insufficient_system_resource", BROKEN),
        (Call, "abort", BROKEN),
        (Call, "sensitive", REFUSED),
        (Call, "content-filter", REFUSED),
        (Call, "content_filter: PROHIBITED_CONTENT", REFUSED),
        (Call, "function_call_filter: MALFORMED_FUNCTION_CALL", PROTOCOL),
        (Call, "model_context_window_exceeded", LENGTH),
        (Nothing, "model_context_window_exceeded", OVERFLOW),
        (Nothing, "error", BROKEN),
    ];
    for (came, reason, expected) in cases {
        check(Api::OpenaiCompletions, &chat(came, reason), expected);
        check(Api::AnthropicMessages, &anthropic(came, reason), expected);
    }
    let cases = [
        (Call, "STOP", CALLS),
        (Call, "MAX_TOKENS", LENGTH),
        (Call, "SAFETY", REFUSED),
        (Call, "IMAGE_RECITATION", REFUSED),
        (Call, "MALFORMED_FUNCTION_CALL", PROTOCOL),
        (Call, "UNEXPECTED_TOOL_CALL", PROTOCOL),
        (Call, "OTHER", PROTOCOL),
        (Call, "FINISH_REASON_UNSPECIFIED", PROTOCOL),
        (Call, "A_REASON_OF_NEXT_YEAR", PROTOCOL),
    ];
    for (came, reason, expected) in cases {
        check(Api::GoogleGenerativeAi, &google(came, reason), expected);
    }
}

#[test]
fn states_of_a_response() {
    use Came::{Call, Nothing};
    let none = || Value::Null;
    let cases = [
        (Call, "response.completed", json!("completed"), none(), CALLS),
        (Call, "response.completed", none(), none(), CALLS),
        (Call, "response.completed", json!("in_progress"), none(), CALLS),
        (Call, "response.completed", json!("failed"), none(), BROKEN),
        (Call, "response.failed", none(), none(), BROKEN),
        (Call, "response.failed", json!("in_progress"), none(), BROKEN),
        (Call, "response.cancelled", none(), none(), BROKEN),
        (Call, "response.done", json!("cancelled"), none(), BROKEN),
        (Call, "response.done", json!("in_progress"), none(), BROKEN),
        (Call, "response.incomplete", none(), none(), LENGTH),
        (Call, "response.incomplete", none(), json!("max_output_tokens"), LENGTH),
        (Call, "response.incomplete", json!("incomplete"), json!("of another kind"), LENGTH),
        (Call, "response.incomplete", json!("incomplete"), json!("content_filter"), REFUSED),
        (Call, "response.incomplete", json!("incomplete"), json!("server_error"), BROKEN),
        (Nothing, "response.incomplete", json!("incomplete"), json!("context_length_exceeded"), OVERFLOW),
    ];
    for (came, kind, status, reason, expected) in cases {
        check(Api::OpenaiResponses, &responses(came, kind, status, reason), expected);
    }
    check(Api::OpenaiCompletions, "data: {\"choices\":[]}\n\n", NETWORK);
}
