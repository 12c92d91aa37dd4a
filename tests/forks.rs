//! Forks and clones of session files: what is kept of each line, and where labels go.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tau::agent::protocol::message::Message;
use tau::agent::session::{ForkRange, Session};

const LINES: [&str; 8] = [
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/","mine":1}"#,
    r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1,"theirs":{"deep":[1]}}}"#,
    r#"{"type":"label","id":"l","parentId":"a","timestamp":"2026-01-02T03:04:07.000Z","targetId":"a","label":"start"}"#,
    r#"{"type":"marvel","id":"m","parentId":"l","timestamp":"2026-01-02T03:04:08.000Z","kept":true}"#,
    r#"{"type":"message","id":"b","parentId":"m","timestamp":"2026-01-02T03:04:09.000Z","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"api":"x","provider":"p","model":"q","stopReason":"stop","timestamp":2,"diagnostics":["d"]}}"#,
    r#"{"type":"message","id":"x","parentId":"a","timestamp":"2026-01-02T03:04:10.000Z","message":{"role":"user","content":"elsewhere","timestamp":3}}"#,
    r#"{"type":"label","id":"k","parentId":"b","timestamp":"2026-01-02T03:04:11.000Z","targetId":"x","label":"other"}"#,
    r#"{"type":"message","id":"c","parentId":"k","timestamp":"2026-01-02T03:04:12.000Z","message":{"role":"user","content":"two","timestamp":4}}"#,
];

/// The lines of the file that the fork becomes with its first message.
fn written(fork: Option<Session>, dir: &Path) -> Vec<Value> {
    let mut fork = fork.expect("a fork");
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "made before there is a word in it");
    let said: Message =
        serde_json::from_value(json!({"role": "user", "content": "on", "timestamp": 5})).unwrap();
    fork.append(Arc::new(said)).unwrap();
    let text = std::fs::read_to_string(fork.info().file.as_ref().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_fork_of_a_helpers_session_has_its_part_and_is_no_helper() {
    let dir = tempfile::tempdir().unwrap();
    let mut session = Session::begin_helper(Some(dir.path()), dir.path(), None, "explore");
    for part in ["explore", "explore"] {
        let to = tempfile::tempdir().unwrap();
        let lines = written(session.fork(Some(to.path()), ForkRange::All), to.path());
        assert_eq!((&lines[0]["helperPart"], &lines[0]["helper"]), (&json!(part), &Value::Null));
        // And a fork of that.
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        session = Session::from_lines(&text).unwrap();
    }
}

#[test]
fn forks_keep_every_field_and_write_labels_again() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("s.jsonl");
    std::fs::write(&source, LINES.join("\n") + "\n").unwrap();
    let mut session = Session::open(&source).unwrap();
    let original: Vec<Value> = LINES.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (part, kept) in
        [(ForkRange::All, ["a", "m", "b", "c"].as_slice()), (ForkRange::Before("c"), &["a", "m", "b"])]
    {
        let to = tempfile::tempdir().unwrap();
        let lines = written(session.fork(Some(to.path()), part), to.path());
        assert_eq!(lines[0]["parentSession"], json!(source));
        assert_ne!(lines[0]["id"], json!("s"));
        let ids: Vec<&str> = lines.iter().skip(1).map(|line| line["id"].as_str().unwrap()).collect();
        assert_eq!(ids[..kept.len()], *kept, "{part:?}");
        let mut parent = Value::Null;
        for line in &lines[1..=kept.len()] {
            let mut expected = original.iter().find(|old| old["id"] == line["id"]).unwrap().clone();
            expected["parentId"] = parent;
            assert_eq!(*line, expected, "{part:?}");
            parent = line["id"].clone();
        }
        let label = &lines[kept.len() + 1];
        assert_eq!((&label["targetId"], &label["label"]), (&json!("a"), &json!("start")));
        assert_eq!(lines.len(), kept.len() + 3, "{part:?}: {lines:?}");
    }
    assert!(session.fork(None, ForkRange::Before("nowhere")).is_none());
    let first = session.fork(None, ForkRange::Before("a")).unwrap();
    assert!(first.context().messages.is_empty());
    assert_eq!(std::fs::read_to_string(&source).unwrap(), LINES.join("\n") + "\n");
}
