//! The expected result of a recorded stream: the form of the `.expected.json` files, and the rules for the
//! events of every stream.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use tau::agent::protocol::event::Delta;
use tau::agent::protocol::message::{AssistantMessage, Block, Usage};
use tau::agent::provider::StreamEvent;

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
    // What a provider has reported.
    if *usage == Usage::default() || usage.estimated {
        return Value::Null;
    }
    json!({
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    })
}

/// The differences between a message and an expectation.
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
            // If the provider sends no id, one is generated.
            let id = if id.is_null() && !call.id.is_empty() { Value::Null } else { call.id.clone().into() };
            json!({ "id": id, "name": call.name, "arguments": call.arguments })
        })
        .collect();
    check("tool_calls", found.into(), wanted.into());
    list
}

/// The differences between a message and the nearest of an expectation and its alternatives.
pub fn faults(message: &AssistantMessage, expected: &Value) -> Vec<String> {
    let first = differences(message, expected);
    let accepted = expected["accept"].as_array().into_iter().flatten().any(|other| {
        let mut merged = expected.clone();
        for (field, value) in other.as_object().unwrap() {
            merged[field] = value.clone();
        }
        differences(message, &merged).is_empty()
    });
    if accepted { Vec::new() } else { first }
}

/// Checks a message against an expectation and its alternatives.
pub fn check(name: &str, message: &AssistantMessage, expected: &Value) {
    let faults = faults(message, expected);
    assert!(faults.is_empty(), "{name}: {faults:#?}");
}

/// The rules that the events of any stream follow, whatever its content.
pub fn check_rules(name: &str, events: &[StreamEvent]) {
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut next = 0;
    for (at, event) in events.iter().enumerate() {
        let last = at + 1 == events.len();
        let ends = matches!(event, StreamEvent::Stop(_) | StreamEvent::Failed(_));
        assert_eq!(last, ends, "{name}: the end is reported once, at the end");
        let StreamEvent::Delta(delta) = event else { continue };
        match delta {
            Delta::TextStart { content_index }
            | Delta::ThinkingStart { content_index }
            | Delta::ToolCallStart { content_index, .. } => {
                assert_eq!(*content_index, next, "{name}: indexes are given in turn");
                next += 1;
                open.insert(*content_index);
            }
            Delta::TextDelta { content_index, delta }
            | Delta::ThinkingDelta { content_index, delta }
            | Delta::ToolCallDelta { content_index, delta } => {
                assert!(!delta.is_empty(), "{name}: no delta is empty");
                assert!(open.contains(content_index), "{name}: a delta of an open block");
            }
            Delta::TextEnd { content_index, content } | Delta::ThinkingEnd { content_index, content } => {
                assert!(content.is_empty(), "{name}: the assembler joins the text");
                assert!(open.remove(content_index), "{name}: the end of an open block");
            }
            Delta::ToolCallEnd { content_index, .. } => {
                assert!(open.remove(content_index), "{name}: the end of an open call");
            }
        }
    }
    assert!(open.is_empty(), "{name}: blocks are closed");
}

pub fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
