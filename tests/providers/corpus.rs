//! Every recorded stream decodes to what the vendor's own client made of it, however its bytes
//! are split.

use std::path::Path;

use serde_json::{Value, json};
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::message::{AssistantMessage, Block, Usage};
use tau::agent::protocol::model::Api;
use tau::agent::provider::failure::from_status;
use tau::agent::provider::{FailureKind, StreamEvent};

use super::{assemble, decode, recordings};

/// A small generator of numbers, so that splits differ and yet repeat.
struct Dice(u64);

impl Dice {
    fn sizes(&mut self, most: usize) -> Vec<usize> {
        (0..97).map(|_| 1 + (self.next() as usize) % most).collect()
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn thinking(message: &AssistantMessage) -> String {
    let text = |block: &Block| match block {
        Block::Thinking { thinking, .. } => Some(thinking.clone()),
        _ => None,
    };
    message.content.iter().filter_map(text).collect()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

fn usage(usage: &Usage) -> Value {
    if *usage == Usage::default() {
        return Value::Null;
    }
    json!({
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    })
}

/// What differs between a message and an expectation.
fn differences(message: &AssistantMessage, expected: &Value) -> Vec<String> {
    let mut list = Vec::new();
    let mut check = |what: &str, found: Value, wanted: Value| {
        if found != wanted {
            list.push(format!("{what}: found {found}, wanted {wanted}"));
        }
    };
    let text = |name: &str| expected[name].as_str().unwrap_or_default().to_owned();
    check("text", message.text().into(), text("text").into());
    check("thinking", squeezed(&thinking(message)).into(), squeezed(&text("thinking")).into());
    check("stop_reason", serde_json::to_value(message.stop_reason).unwrap(), expected["stop_reason"].clone());
    check(
        "usage",
        usage(&message.usage),
        match &expected["usage"] {
            zero if zero.as_object().is_some_and(|map| map.values().all(|count| count == 0)) => Value::Null,
            other => other.clone(),
        },
    );
    check("error", message.error_message.is_some().into(), (!expected["error"].is_null()).into());
    let wanted = expected["tool_calls"].as_array().cloned().unwrap_or_default();
    let found: Vec<Value> = message
        .tool_calls()
        .zip(wanted.iter().map(|call| &call["id"]).chain(std::iter::repeat(&Value::Null)))
        .map(|(call, id)| {
            // Where the provider sends no id, one is made up.
            let id = if id.is_null() && !call.id.is_empty() { Value::Null } else { call.id.clone().into() };
            json!({ "id": id, "name": call.name, "arguments": call.arguments })
        })
        .collect();
    check("tool_calls", found.into(), wanted.into());
    list
}

/// Checks a message against an expectation and its alternatives.
pub fn check(name: &str, message: &AssistantMessage, expected: &Value) {
    let first = differences(message, expected);
    if first.is_empty() {
        return;
    }
    for other in expected["accept"].as_array().into_iter().flatten() {
        let mut merged = expected.clone();
        for (field, value) in other.as_object().unwrap() {
            merged[field] = value.clone();
        }
        if differences(message, &merged).is_empty() {
            return;
        }
    }
    panic!("{name}: {first:#?}");
}

/// The laws that the events of any stream hold, whatever is in it.
fn check_laws(name: &str, events: &[StreamEvent]) {
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut next = 0;
    for (at, event) in events.iter().enumerate() {
        let last = at + 1 == events.len();
        let ends = matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_));
        assert_eq!(last, ends, "{name}: the end is told once, at the end");
        let StreamEvent::Delta(delta) = event else { continue };
        match delta {
            Delta::TextStart { content_index }
            | Delta::ThinkingStart { content_index }
            | Delta::ToolCallStart { content_index, .. } => {
                assert_eq!(*content_index, next, "{name}: places are given in turn");
                next += 1;
                open.push((*content_index, String::new()));
            }
            Delta::TextDelta { content_index, delta }
            | Delta::ThinkingDelta { content_index, delta }
            | Delta::ToolCallDelta { content_index, delta } => {
                assert!(!delta.is_empty(), "{name}: no empty delta");
                let block = open.iter_mut().find(|(place, _)| place == content_index).expect(name);
                block.1.push_str(delta);
            }
            Delta::TextEnd { content_index, content } | Delta::ThinkingEnd { content_index, content } => {
                let at = open.iter().position(|(place, _)| place == content_index).expect(name);
                assert_eq!(open.remove(at).1, *content, "{name}: the end holds the whole");
            }
            Delta::ToolCallEnd { content_index, .. } => {
                let at = open.iter().position(|(place, _)| place == content_index).expect(name);
                open.remove(at);
            }
        }
    }
    assert!(open.is_empty(), "{name}: blocks are closed");
}

pub fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn recorded_streams() {
    let Some(folder) = recordings() else { return };
    let mut count = 0;
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "sse") || name.starts_with("http") {
            continue;
        }
        let meta = read_json(&path.with_extension("meta.json"));
        let expected = read_json(&path.with_extension("expected.json"));
        let api = Api::named(meta["api"].as_str().unwrap()).unwrap();
        let body = std::fs::read(&path).unwrap();
        let whole = decode(api, &body, &[body.len()]);
        check_laws(&name, &whole);
        check(&name, &assemble(api, &whole), &expected);
        for sizes in [vec![1], dice.sizes(7), dice.sizes(90), dice.sizes(2_000)] {
            assert!(decode(api, &body, &sizes) == whole, "{name}: a split changes the events");
        }
        count += 1;
    }
    println!("{count} recorded streams");
    assert!(count > 200);
}

#[test]
fn recorded_error_answers() {
    let Some(folder) = recordings() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "sse") || !name.starts_with("http") {
            continue;
        }
        let meta = read_json(&path.with_extension("meta.json"));
        let expected = read_json(&path.with_extension("expected.json"));
        let status = meta["http_status"].as_u64().unwrap() as u16;
        let body = std::fs::read_to_string(&path).unwrap();
        let failure = from_status(status, &[], &body, 0);
        assert_eq!(failure.message, expected["error"].as_str().unwrap(), "{name}");
        let kinds: &[FailureKind] = match meta["special"][0].as_str().unwrap() {
            "http error: overflow" => &[FailureKind::Overflow],
            "http error: auth" => &[FailureKind::Auth],
            "http error: model" => &[FailureKind::NotFound, FailureKind::Request],
            _ => &[FailureKind::Request, FailureKind::RateLimit, FailureKind::Overloaded],
        };
        assert!(kinds.contains(&failure.kind), "{name}: {failure:?}");
        count += 1;
    }
    println!("{count} recorded error answers");
    assert!(count > 20);
}
