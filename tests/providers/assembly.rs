//! From events to a message, and the dialects of streams that no recording shows.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::message::{Block, StopReason, ToolCall, Usage};
use tau::agent::protocol::model::{Api, Model, Price};
use tau::agent::provider::assemble::Assembler;
use tau::agent::provider::scripted::{calls, says};
use tau::agent::provider::{Failure, FailureKind, StreamEvent};

use super::{assemble, decode, model};
use crate::support::dice::Dice;

/// A body of chat chunks with these deltas, then a finish reason and `[DONE]`.
fn chat(deltas: &[Value], finish: &str) -> String {
    let chunk =
        |delta: &Value| format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }));
    let body: String = deltas.iter().map(chunk).collect();
    format!(
        "{body}data: {}\n\ndata: [DONE]\n\n",
        json!({"choices": [{"delta": {}, "finish_reason": finish}]})
    )
}

fn call_deltas(list: Value) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|calls| json!({ "tool_calls": calls })).collect()
}

#[test]
fn dialects_of_tool_calls() {
    let check = |what: &str, list: Value, wanted: Value| {
        let body = chat(&call_deltas(list), "stop");
        let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[body.len()]);
        let message = assemble(Api::OpenaiCompletions, &events);
        let found: Vec<Value> =
            message.tool_calls().map(|call| json!([call.id, call.name, call.arguments])).collect();
        assert_eq!(Value::Array(found), wanted, "{what}");
        assert_eq!(message.stop_reason, StopReason::ToolUse, "{what}");
    };
    let piece = |index: Value, id: Value, name: Value, arguments: Value| json!([{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]);
    let n = Value::Null;
    check(
        "id and name in every piece",
        json!([
            piece(json!(0), json!("c"), json!("f"), json!("")),
            piece(json!(0), json!("c"), json!("f"), json!("{\"a\":")),
            piece(json!(0), json!("c"), json!("f"), json!("1}"))
        ]),
        json!([["c", "f", {"a": 1}]]),
    );
    check(
        "index 0 for all",
        json!([
            piece(json!(0), json!("c"), json!("f"), json!("{}")),
            piece(json!(0), json!("d"), json!("g"), json!("{}"))
        ]),
        json!([["c", "f", {}], ["d", "g", {}]]),
    );
    check(
        "no index",
        json!([
            piece(n.clone(), json!("c"), json!("f"), json!("{\"a\"")),
            piece(n.clone(), n.clone(), n.clone(), json!(":1}")),
            piece(n.clone(), json!("d"), json!("g"), json!("{}"))
        ]),
        json!([["c", "f", {"a": 1}], ["d", "g", {}]]),
    );
    check(
        "interleaved, from 1",
        json!([
            piece(json!(1), json!("c"), json!("f"), json!("{\"a\":")),
            piece(json!(2), json!("d"), json!("g"), json!("{\"b\":")),
            piece(json!(1), n.clone(), n.clone(), json!("1}")),
            piece(json!(2), n.clone(), n.clone(), json!("2}"))
        ]),
        json!([["c", "f", {"a": 1}], ["d", "g", {"b": 2}]]),
    );
    check(
        "object as arguments",
        json!([piece(json!(0), json!("c"), json!("f"), json!({"a": 1}))]),
        json!([["c", "f", {"a": 1}]]),
    );
    check(
        "name late",
        json!([
            piece(json!(0), json!("c"), n.clone(), json!("{\"a\":")),
            piece(json!(0), n.clone(), json!("f"), json!("1}"))
        ]),
        json!([["c", "f", {"a": 1}]]),
    );
    check("no name", json!([piece(json!(0), json!("c"), n.clone(), json!("{}"))]), json!([["c", "", {}]]));
    check(
        "no id",
        json!([piece(json!(0), json!(""), json!("f"), n.clone())]),
        json!([["call_0_0", "f", {}]]),
    );
    check(
        "one id twice",
        json!([
            piece(json!(0), json!("c"), json!("f"), n.clone()),
            piece(json!(1), json!("c"), json!("f"), n)
        ]),
        json!([["c", "f", {}], ["c_2", "f", {}]]),
    );
}

/// Frames that are the same but for their text are told by comparison, so texts that look like frames must not
/// mislead it.
#[test]
fn every_piece_of_text_arrives_whatever_the_frames_around_it_are() {
    let pieces = [
        "a", " ", "größer 😀", "\"", "\\", "\n", "\\n", "\"}}]}", "\"},\"index\":0}]}", "{\"content\":\"",
        "\u{1}", "null", "[DONE]",
    ];
    let mut dice = Dice::new(36);
    for _ in 0..300 {
        let (mut body, mut expected) = (String::new(), String::new());
        for _ in 0..40 {
            let piece = pieces[dice.below(pieces.len())];
            let mut delta = json!({ "content": piece });
            if dice.below(8) == 0 {
                delta["role"] = json!("assistant");
            }
            let mut event = json!({ "choices": [{ "index": 0, "delta": delta }], "created": dice.below(2) });
            match dice.below(8) {
                0 => event["choices"][0]["finish_reason"] = Value::Null,
                1 => event["obfuscation"] = json!(piece),
                2 => event["usage"] = Value::Null,
                _ => {}
            }
            expected.push_str(piece);
            let _ = write!(body, "data: {event}\n\n");
        }
        body.push_str("data: [DONE]\n\n");
        let events = decode(Api::OpenaiCompletions, body.as_bytes(), &[1 + dice.below(500)]);
        assert_eq!(assemble(Api::OpenaiCompletions, &events).text(), expected, "{body}");
    }
}

#[test]
fn broken_bodies() {
    let check = |body: &str, kind: FailureKind, text: &str| {
        for sizes in [[1], [7], [100_000]] {
            let events = decode(Api::OpenaiCompletions, body.as_bytes(), &sizes);
            let Some(StreamEvent::Failed(failure)) = events.last() else { panic!("{body}: {events:?}") };
            assert_eq!(failure.kind, kind, "{body}: {failure}");
            let message = assemble(Api::OpenaiCompletions, &events);
            assert_eq!((message.text().as_str(), message.stop_reason), (text, StopReason::Error), "{body}");
            assert_eq!(message.error_message.as_deref(), Some(failure.message.as_str()));
        }
    };
    let said = "data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n";
    check("", FailureKind::Network, "");
    check(said, FailureKind::Network, "so far");
    check(&format!("{said}data: {{\"choices\":[{{\"del"), FailureKind::Network, "so far");
    check(&format!("{said}data: {{\"choices\":[{{\"del\n\n{said}"), FailureKind::Protocol, "so far");
    check(&format!("{said}error: {{\"message\":\"gone\",\"code\":503}}"), FailureKind::Overloaded, "so far");
    check("{\n \"error\": {\n  \"code\": 429,\n  \"message\": \"slow\"\n }\n}\n", FailureKind::RateLimit, "");
    check("[{\n \"error\": {\n  \"code\": 400,\n  \"message\": \"bad\"\n }\n}]", FailureKind::Request, "");
    check("<html><title>Login</title></html>", FailureKind::Protocol, "");
    check("event: error\ndata: overloaded\n\n", FailureKind::Overloaded, "");
}

#[test]
fn odd_but_whole_bodies() {
    let check = |body: &str, text: &str| {
        let message =
            assemble(Api::OpenaiCompletions, &decode(Api::OpenaiCompletions, body.as_bytes(), &[3]));
        assert_eq!((message.text().as_str(), message.stop_reason), (text, StopReason::Stop), "{body}");
    };
    let end = "data: [DONE]\n\n";
    check(
        &format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"\\ud83d!\"}}}}]}}\n\n{end}"),
        "\u{fffd}!",
    );
    check(
        &format!(
            "data: ping\n\ndata: \n\ndata: {{\"choices\":[{{\"delta\":{{\"content\":\"a\"}}}}]}}\n\n{end}data: junk {{\n\n"
        ),
        "a",
    );
    check("{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}", "whole");
}

#[test]
fn the_assembler_repairs_and_prices() {
    let price = Price { input: 1.0, output: 2.0, cache_read: 0.5, cache_write: 4.0 };
    let model = Model { cost: Some(price), ..model(Api::Scripted) };
    let mut assembler = Assembler::with_call_ids(&model, 255, ["a".to_owned()].into());
    let usage =
        Usage { input: 1_000_000, output: 500_000, cache_read: 10, cache_write: 0, ..Usage::default() };
    assembler.feed(&StreamEvent::Usage(usage));
    let mut told = Vec::new();
    for event in calls(&[("a", "f", json!({})), ("", "g", Value::Null), ("b", "h", json!("{bad"))]) {
        told.extend(assembler.take(event));
    }
    let message = assembler.message();
    let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a_2", "call_ff_1", "b"]);
    let ends = told.iter().filter_map(|delta| match delta {
        Delta::ToolCallEnd { tool_call, .. } => Some(tool_call.id.as_str()),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), ids, "listeners are told the same ids");
    let arguments: Vec<Value> = message.tool_calls().map(|call| call.arguments.clone()).collect();
    assert_eq!(arguments, [json!({}), json!({}), json!("{bad")]);
    assert_eq!(message.usage.total_tokens, 1_500_010);
    assert!((message.usage.cost.total - 2.000_005).abs() < 1e-9);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
}

#[test]
fn how_a_message_ends() {
    let check = |last: StreamEvent, reason: StopReason, error: Option<&str>| {
        let mut events = says("hi");
        *events.last_mut().unwrap() = last;
        let message = assemble(Api::Scripted, &events);
        assert_eq!((message.stop_reason, message.error_message.as_deref()), (reason, error));
        assert_eq!(message.content, [Block::text("hi")]);
    };
    check(StreamEvent::Stop(StopReason::Stop), StopReason::Stop, None);
    check(StreamEvent::Stop(StopReason::Length), StopReason::Length, None);
    check(StreamEvent::Stop(StopReason::ToolUse), StopReason::Stop, None);
    check(StreamEvent::Failed(Failure::new(FailureKind::Network, "gone")), StopReason::Error, Some("gone"));
    check(
        StreamEvent::Failed(Failure::new(FailureKind::Aborted, "stopped")),
        StopReason::Aborted,
        Some("stopped"),
    );
    check(StreamEvent::ResponseId("r".into()), StopReason::Error, Some("the answer was cut off"));
}

#[test]
fn signatures_and_empty_blocks() {
    let delta = StreamEvent::Delta;
    let sign = |content_index, signature: &str, redacted| StreamEvent::Signature {
        content_index,
        signature: signature.into(),
        redacted,
    };
    let events = [
        delta(Delta::ThinkingStart { content_index: 0 }),
        sign(0, "s", true),
        delta(Delta::ThinkingEnd { content_index: 0, content: String::new() }),
        delta(Delta::TextStart { content_index: 1 }),
        delta(Delta::TextEnd { content_index: 1, content: String::new() }),
        delta(Delta::ToolCallStart { content_index: 2, id: "a".into(), tool_name: "f".into() }),
        sign(2, "t", false),
        delta(Delta::ToolCallDelta { content_index: 2, delta: "{\"cut".into() }),
    ];
    let thought =
        Block::Thinking { thinking: String::new(), thinking_signature: Some("s".into()), redacted: true };
    let call = ToolCall {
        id: "a".into(),
        name: "f".into(),
        arguments: json!("{\"cut"),
        thought_signature: Some("t".into()),
    };
    assert_eq!(assemble(Api::Scripted, &events).content, [thought, Block::ToolCall(call)]);
}

#[test]
fn a_large_argument() {
    let big = "x".repeat(5 << 20);
    let whole = json!({ "content": big }).to_string();
    let deltas: Vec<Value> =
        std::iter::once(json!([{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]))
            .chain(
                whole.as_bytes().chunks(64 << 10).map(
                    |part| json!([{"index": 0, "function": {"arguments": String::from_utf8_lossy(part)}}]),
                ),
            )
            .map(|calls| json!({ "tool_calls": calls }))
            .collect();
    let body = chat(&deltas, "tool_calls");
    let message =
        assemble(Api::OpenaiCompletions, &decode(Api::OpenaiCompletions, body.as_bytes(), &[16 << 10]));
    assert_eq!(message.tool_calls().next().unwrap().arguments["content"].as_str().unwrap().len(), big.len());
}
