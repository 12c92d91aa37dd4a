//! Provider streams: server-sent events, and the decoder of each wire format.

use std::sync::Arc;

use serde_json::Value;
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::message::{AssistantMessage, Message, ToolResultMessage, UserContent, UserMessage};
use tau::agent::protocol::model::{Api, Model};
use tau::agent::provider::direct::encode;
use tau::agent::provider::proxy::wire::{WireDecoder, WireWriter};
use tau::agent::provider::sse::{STRAY, SseFrame, SseParser};
use tau::agent::provider::{AnswerDecoder, ModelRequest, StreamEvent, handoff, wire_format};
use tau::tools::{Content, Details};

use super::driver::{behavior, cuts, magnitude};
use super::{Target, bodies, run};
use crate::providers::expected::check_rules;
use crate::providers::{assemble, decode_with, handoff::check_valid, model, request, sizes};

/// The maximum length of a failure's message, in bytes.
const MAX_MESSAGE: usize = 2_048;

#[test]
fn sse() {
    run(Target {
        name: "sse",
        check: check_sse,
        seeds: bodies(""),
        words: &[
            "data:", "data: ", "data", "event: x\n", "event: error\n", "error:", ": ping\n", "id: 1\n",
            "retry: 1\n", "\u{feff}",
        ],
        cases: 1_500,
    });
}

fn frames(input: &[u8], sizes: &[usize]) -> Vec<SseFrame> {
    let mut parser = SseParser::default();
    let mut frames = Vec::new();
    let mut rest = input;
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (part, tail) = rest.split_at((*size).min(rest.len()));
        parser.push(part, |frame| frames.push(frame.clone())).expect("no event is that large");
        rest = tail;
    }
    parser.finish(|frame| frames.push(frame.clone())).expect("no event is that large");
    frames
}

fn check_sse(input: &[u8]) -> u64 {
    let whole = frames(input, &[input.len().max(1)]);
    let mut dice = cuts(input);
    for most in [1, 7, 200] {
        assert_eq!(frames(input, &sizes(&mut dice, most)), whole, "a split changes the events");
    }
    let mut size = 0;
    for frame in &whole {
        assert!(!frame.event.contains(['\n', '\r']), "a name is one line: {frame:?}");
        assert!(!frame.data.contains('\r'), "line ends are unified: {frame:?}");
        size += frame.event.len() + frame.data.len();
    }
    // A byte that is not UTF-8 becomes three.
    assert!(size <= 3 * input.len() + STRAY.len() + 5 * whole.len(), "{size} bytes out of {}", input.len());
    // Complete events do not depend on the rest of the input.
    let blank = input.windows(2).rposition(|pair| pair == b"\n\n").map_or(0, |at| at + 2);
    let mut before = frames(&input[..blank], &[64]);
    before.retain(|frame| frame.event != STRAY);
    assert!(whole.starts_with(&before), "a later event changes an earlier one");
    let kinds: Vec<(u32, bool)> = whole
        .iter()
        .take(12)
        .map(|frame| (magnitude(frame.data.len()) / 3, frame.event.is_empty()))
        .collect();
    behavior((magnitude(whole.len()), kinds))
}

/// Values that a decoder branches on.
const WORDS: &[&str] = &[
    "data: [DONE]\n\n",
    "data: {}\n\n",
    "data: ",
    "event: error\n",
    "\"type\":",
    "\"error\":{\"message\":\"m\",\"code\":429},",
    "\"index\":1,",
    "\"output_index\":1,",
    "\"contentIndex\":1,",
    "\"delta\":",
    "null",
    "stop",
    "length",
    "tool_calls",
    "content_filter",
    "\"text\":\"t\",",
    "\"id\":\"\",",
    "\"name\":\"f\",",
    "\"arguments\":\"{\\\"a\\\":\",",
    "\"thinking\":\"h\",",
    "\"signature\":\"s\",",
    "\"thought\":true,",
    "\"thoughtSignature\":\"s\",",
    "\"functionCall\":{\"name\":\"f\"},",
    "\"finishReason\":\"STOP\",",
    "\"usage\":{\"input_tokens\":1},",
    "\\u0000",
    "\\ud800",
    "{\"error\":{\"code\":400,\"message\":\"bare\"}}\n",
    "<html><title>t</title>",
];

fn run_format(name: &'static str, format: &str, check: fn(&[u8]) -> u64) {
    run(Target { name, check, seeds: bodies(format), words: WORDS, cases: 600 });
}

#[test]
fn openai_completions() {
    run_format("openai_completions", "openai-completions", |input| {
        check_format(Api::OpenaiCompletions, input)
    });
}

#[test]
fn openai_responses() {
    run_format("openai_responses", "openai-responses", |input| check_format(Api::OpenaiResponses, input));
}

#[test]
fn anthropic_messages() {
    run_format("anthropic_messages", "anthropic-messages", |input| {
        check_format(Api::AnthropicMessages, input)
    });
}

#[test]
fn google_generative_ai() {
    run_format("google_generative_ai", "google-generative-ai", |input| {
        check_format(Api::GoogleGenerativeAi, input)
    });
}

#[test]
fn app_server() {
    run_format("app_server", "proxy", |input| {
        let whole = check_splits(input, &|| Box::new(WireDecoder::default()));
        check_message(&assemble(Api::Scripted, &whole));
        summary(&whole)
    });
}

fn check_format(api: Api, input: &[u8]) -> u64 {
    let whole = check_splits(input, &|| wire_format(api).unwrap().decoder());
    check_rules("fuzz", &whole);
    let message = assemble(api, &whole);
    check_message(&message);
    check_goes_back(api, &message);
    check_proxied(&whole);
    summary(&whole)
}

/// The events of the input, which are the same for any split, and bounded by the input.
fn check_splits(input: &[u8], decoder: &dyn Fn() -> Box<dyn AnswerDecoder>) -> Vec<StreamEvent> {
    let whole = decode_with(decoder(), input, &[input.len().max(1)]);
    let mut dice = cuts(input);
    for most in [1, 30, 1_000] {
        let split = decode_with(decoder(), input, &sizes(&mut dice, most));
        assert!(split == whole, "a split changes the events");
    }
    assert!(whole.len() <= 4 * input.len() + 64, "{} events from {} bytes", whole.len(), input.len());
    let text: usize = whole.iter().map(text_length).sum();
    // Arguments that are not text are rewritten: `1e9` becomes `1000000000.0`.
    assert!(text <= 8 * input.len() + 64, "{text} bytes of text from {}", input.len());
    if let Some(StreamEvent::Failed(failure)) = whole.last() {
        assert!(failure.message.len() <= MAX_MESSAGE, "a message of {} bytes", failure.message.len());
    }
    whole
}

fn text_length(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::Delta(
            Delta::TextDelta { delta, .. }
            | Delta::ThinkingDelta { delta, .. }
            | Delta::ToolCallDelta { delta, .. },
        ) => delta.len(),
        StreamEvent::Delta(Delta::ToolCallStart { id, tool_name, .. }) => id.len() + tool_name.len(),
        StreamEvent::ResponseId(id) => id.len(),
        _ => 0,
    }
}

/// A message is valid in sessions, and survives writing and reading.
fn check_message(message: &AssistantMessage) {
    for call in message.tool_calls() {
        assert!(call.arguments.is_object() || call.arguments.is_string(), "{:?}", call.arguments);
        assert!(!call.id.is_empty(), "a call without an id");
    }
    let json = serde_json::to_string(message).expect("it can be written");
    let again: AssistantMessage = serde_json::from_str(&json).expect("it can be read");
    // Numbers with a fraction may lose their last digit, but only once.
    let twice = serde_json::to_string(&again).expect("it can be written");
    assert_eq!(without_digits(&twice), without_digits(&json), "a session holds what came");
}

fn without_digits(json: &str) -> String {
    json.replace(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+'), "")
}

/// The conversation continues with this answer in it, whatever it was.
fn check_goes_back(api: Api, answer: &AssistantMessage) {
    let user = |text: &str| {
        Arc::new(Message::User(UserMessage {
            timestamp: 0,
            ..UserMessage::new(UserContent::Text(text.into()))
        }))
    };
    let results = answer.tool_calls().map(|call| {
        Arc::new(Message::ToolResult(ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: vec![Content::Text { text: "done".into() }],
            details: Details::None,
            is_error: false,
            timestamp: 0,
            duration_ms: None,
            hooks: Vec::new(),
        }))
    });
    let mut conversation = vec![user("begin"), Arc::new(Message::Assistant(answer.clone()))];
    conversation.extend(results);
    conversation.push(user("continue"));
    // To the model that answered, and to one with a different format.
    let others =
        [Api::AnthropicMessages, Api::OpenaiCompletions, Api::GoogleGenerativeAi, Api::OpenaiResponses];
    let other = others.into_iter().find(|other| *other != api).unwrap();
    for target in [model(api), Model { provider: "other".into(), ..model(other) }] {
        let messages = handoff::for_model(&conversation, &target);
        check_valid(&messages);
        let format = wire_format(target.api).unwrap();
        let request = ModelRequest { messages, model: Arc::new(target), ..request(api) };
        let sent = encode(format, &request).expect("it can be sent").body;
        // Some providers refuse every request that contains NUL.
        assert!(!has_nul(&sent), "a NUL is sent back: {sent}");
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(list) => list.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// An app server passes the same events on, but those that are for the timer of one connection.
fn check_proxied(events: &[StreamEvent]) {
    let events: Vec<StreamEvent> =
        events.iter().filter(|event| **event != StreamEvent::Thinking).cloned().collect();
    let mut writer = WireWriter::default();
    let lines = events.iter().filter_map(|event| writer.data(event.clone()));
    let body: String = lines.map(|line| format!("data: {line}\n\n")).collect();
    let passed = decode_with(Box::new(WireDecoder::default()), body.as_bytes(), &[4_096]);
    let (passed, events) = (format!("{passed:?}"), format!("{events:?}"));
    assert_eq!(without_digits(&passed), without_digits(&events), "an app server changes the answer");
}

/// The kinds of the events, without their text.
fn summary(events: &[StreamEvent]) -> u64 {
    let kind = |event: &StreamEvent| match event {
        StreamEvent::Delta(Delta::TextStart { .. }) => "text",
        StreamEvent::Delta(Delta::ThinkingStart { .. }) => "thinking",
        StreamEvent::Delta(Delta::ToolCallStart { id, tool_name, .. }) => {
            match (id.is_empty(), tool_name.is_empty()) {
                (false, false) => "call",
                (true, false) => "call without id",
                _ => "call without name",
            }
        }
        StreamEvent::Delta(Delta::TextEnd { .. } | Delta::ThinkingEnd { .. }) => "end",
        StreamEvent::Delta(Delta::ToolCallEnd { tool_call, .. }) => {
            if tool_call.arguments.is_object() {
                "called"
            } else {
                "called with text"
            }
        }
        StreamEvent::Delta(_) => "delta",
        StreamEvent::Signature { redacted: true, .. } => "redacted",
        StreamEvent::Signature { .. } => "signature",
        StreamEvent::Usage(usage) if usage.cache_read + usage.cache_write > 0 => "cache",
        StreamEvent::Usage(_) => "usage",
        StreamEvent::ResponseId(_) => "id",
        StreamEvent::Thinking => "thinks",
        StreamEvent::Silent { .. } => "silent",
        StreamEvent::Plan(_) => "plan",
        StreamEvent::Stop(_) => "stop",
        StreamEvent::Failed(_) => "failed",
    };
    let mut kinds: Vec<&str> = events.iter().map(kind).collect();
    kinds.dedup();
    kinds.truncate(16);
    let end = match events.last() {
        Some(StreamEvent::Stop(reason)) => format!("{reason:?}"),
        Some(StreamEvent::Failed(failure)) => {
            format!("{:?} {}", failure.kind, failure.message.chars().take(16).collect::<String>())
        }
        _ => String::new(),
    };
    behavior((kinds, end))
}
