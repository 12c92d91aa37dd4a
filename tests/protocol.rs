//! The form of commands and events as data: one object each, identified by its `type`.
//!
//! The lines in `golden/protocol` were written by the program when each of these was one flat list. Data
//! recorded then, or sent by another build, survives reading and writing byte for byte.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tau::agent::protocol::approval::{ApprovalOutcome, PermissionMode};
use tau::agent::protocol::command::AgentCommand;
use tau::agent::protocol::event::{
    AgentEvent, CompactionReason, QuestionEvent, RunEvent, SessionEvent, TaskEvent,
};
use tau::agent::protocol::mirror::SessionMirror;
use tau::agent::protocol::model::ThinkingLevel;

const EVENTS: &str = include_str!("golden/protocol/events.jsonl");
const COMMANDS: &str = include_str!("golden/protocol/commands.jsonl");

/// Reads every line, and writes it again.
fn hold<T: Serialize + DeserializeOwned + PartialEq + Debug>(lines: &str) {
    let mut wrong = Vec::new();
    for line in lines.lines() {
        match serde_json::from_str::<T>(line) {
            Ok(value) => {
                let written = serde_json::to_string(&value).unwrap();
                if written != line {
                    wrong.push(format!("{line}\nis written as\n{written}"));
                }
                // By way of a value, as recordings are read, and with `type` as the last field.
                let mut fields: Value = serde_json::from_str(line).unwrap();
                assert_eq!(serde_json::from_value::<T>(fields.clone()).unwrap(), value);
                let kind = fields.as_object_mut().unwrap().shift_remove("type").unwrap();
                fields.as_object_mut().unwrap().insert("type".to_owned(), kind);
                assert_eq!(serde_json::from_str::<T>(&fields.to_string()).unwrap(), value);
                assert_eq!(serde_json::to_value(&value).unwrap().to_string(), line);
            }
            Err(error) => wrong.push(format!("{line}\nis not read: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn kinds(lines: &str) -> BTreeSet<String> {
    let kind = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["type"].as_str().unwrap().to_owned()
    };
    lines.lines().map(kind).collect()
}

/// The accepted values of `type`, as listed by the error for another one.
fn known<T: DeserializeOwned + Debug>() -> BTreeSet<String> {
    let error = serde_json::from_str::<T>(r#"{"type":"another","text":"x"}"#).unwrap_err().to_string();
    let (_, list) = error.split_once("unknown variant `another`, expected one of ").expect("a list");
    let (list, _) = list.rsplit_once(" at line").expect("a place");
    list.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn events_keep_their_form() {
    hold::<AgentEvent>(EVENTS);
    assert_eq!(kinds(EVENTS), known::<AgentEvent>());
}

#[test]
fn commands_keep_their_form() {
    hold::<AgentCommand>(COMMANDS);
    assert_eq!(kinds(COMMANDS), known::<AgentCommand>());
}

#[test]
fn faults_are_named() {
    let cases = [
        (r#"{"type":"compaction_start"}"#, "missing field `reason`"),
        (r#"{"type":"compaction_start","reason":"x"}"#, "unknown variant `x`, expected one of `manual`"),
        (r#"{"reason":"manual"}"#, "missing field `type`"),
        (r#"{"type":7}"#, "invalid type"),
        (r#"["compaction_start"]"#, "invalid"),
        ("7", "invalid type"),
        (r#"{"type":"agent_settled","aborted":"#, "EOF while parsing"),
    ];
    for (line, expected) in cases {
        let error = serde_json::from_str::<AgentEvent>(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    // An unknown field is skipped.
    let line = r#"{"more":[1,{"type":"x"}],"type":"agent_settled","other":1,"aborted":true}"#;
    let event: AgentEvent = serde_json::from_str(line).unwrap();
    assert_eq!(serde_json::to_string(&event).unwrap(), r#"{"type":"agent_settled","aborted":true}"#);
}

/// The state of a session after a few events, one of each kind.
#[test]
fn a_mirror_follows_events() {
    let mut mirror = SessionMirror::default();
    let events: Vec<AgentEvent> = EVENTS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all = |kind: fn(&AgentEvent) -> bool| events.iter().filter(move |event| kind(event));
    for event in all(|event| matches!(event, AgentEvent::Settings(_) | AgentEvent::Session(_))) {
        mirror.apply(event);
    }
    assert_eq!(mirror.model.as_ref().unwrap().reference(), "p/m");
    assert_eq!((mirror.thinking, mirror.mode), (ThinkingLevel::Xhigh, PermissionMode::Edits));
    assert_eq!((mirror.session.id.as_str(), mirror.session.name.as_deref()), ("s", None));
    mirror.apply(&SessionEvent::SessionInfoChanged { name: Some("n".into()) }.into());
    assert_eq!(mirror.session.name.as_deref(), Some("n"));
    mirror.apply(&RunEvent::AgentStart.into());
    mirror.apply(&RunEvent::CompactionStart { reason: CompactionReason::Overflow }.into());
    assert!(mirror.running && mirror.compacting);
    for event in all(|event| matches!(event, AgentEvent::Run(_))) {
        mirror.apply(event);
    }
    assert!(!mirror.running && !mirror.compacting);
    for event in all(|event| matches!(event, AgentEvent::Queue(_))) {
        mirror.apply(event);
    }
    assert_eq!((mirror.steering.concat().as_str(), mirror.follow_up.concat().as_str()), ("a", "b"));
    let asked: fn(&AgentEvent) -> bool = |event| {
        let is_request = |event: &QuestionEvent| {
            matches!(event, QuestionEvent::Asked { .. } | QuestionEvent::ApprovalRequested { .. })
        };
        matches!(event, AgentEvent::Questions(event) if is_request(event))
    };
    all(asked).for_each(|event| mirror.apply(event));
    assert_eq!((mirror.questions.len(), mirror.approvals.len()), (6, 2));
    assert!(mirror.asks("q") && !mirror.asks("r"));
    mirror.remove_question("q");
    assert!(mirror.questions.is_empty() && mirror.approvals.len() == 2);
    let (id, outcome) = ("q".to_owned(), ApprovalOutcome::Denied);
    mirror.apply(&QuestionEvent::ApprovalEnded { id, outcome }.into());
    assert!(mirror.approvals.is_empty());
    all(asked).for_each(|event| mirror.apply(event));
    mirror.apply(&QuestionEvent::AskWithdrawn { id: "q".into() }.into());
    assert!(mirror.questions.is_empty());
    mirror.apply(&RunEvent::AgentStart.into());
    mirror.apply(&TaskEvent::Stopped.into());
    assert!(!mirror.running && mirror.approvals.is_empty());
    assert_eq!(mirror.session.id, "s", "which session it was is still known");
}
