//! Session files: damage, other programs, and what must survive.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::session_files::{Folder, HEADER, check, entry, line, texts, user};
use crate::time_limit::RunInTime;
use serde_json::{Value, json};
use tau::agent::protocol::model::ThinkingLevel;
use tau::agent::session::{Session, SessionError, is_session_id, list};

#[test]
fn damaged_files_lose_the_damaged_line_only() {
    let (one, two) = (line("a", None, "one"), line("b", Some("a"), "two"));
    let whole = format!("{HEADER}\n{one}\n{two}\n");
    let both = ["user:one", "user:two"];
    let check_text = |what: &str, text: &str, expected: &[&str], skipped| {
        check(what, text.as_bytes(), expected, skipped);
    };
    check_text("whole", &whole, &both, 0);
    check_text("missing newline", whole.trim_end(), &both, 0);
    check_text("torn line", &format!("{HEADER}\n{one}\n{}", &two[..40]), &["user:one"], 1);
    check_text("nul tail", &format!("{whole}\0\0\0\0"), &both, 0);
    check_text("nul sector", &format!("{HEADER}\n{one}\n{}\n{two}\n", "\0".repeat(512)), &both, 0);
    check_text("nul before a line", &format!("{HEADER}\n{one}\n\0\0{two}\n"), &both, 0);
    check_text("byte order mark", &format!("\u{feff}{whole}"), &both, 0);
    check_text("crlf", &whole.replace('\n', "\r\n"), &both, 0);
    check_text("garbage line", &format!("{HEADER}\n{one}\n]}} what\n{two}\n"), &both, 1);
    check_text("garbage first", &format!("what\n{whole}"), &both, 1);
    check_text("half line", &format!("{HEADER}\n{one}\n{}\n{two}\n", &one[..50]), &both, 1);
    check_text("glued", &format!("{HEADER}\n{one}{two}\n"), &both, 0);
    check_text("glued to a torn line", &format!("{HEADER}\n{one}\n{}{two}\n", &one[..50]), &both, 1);
    check_text("blank lines", &format!("\n\n{HEADER}\n\n{one}\n  \n{two}\n\n"), &both, 0);
    check_text("line twice", &format!("{HEADER}\n{one}\n{two}\n{two}\n"), &both, 0);
    check_text("header twice", &format!("{whole}{HEADER}\n"), &both, 1);
    check_text("no object", &format!("{HEADER}\n{one}\n7\n[]\n{two}\n"), &both, 2);
    check_text(
        "unknown type",
        &format!("{whole}{}\n", entry("x", "c", Some("b"), json!({"y": 1}))),
        &both,
        0,
    );
    check_text("no id", &format!("{HEADER}\n{one}\n{{\"type\":\"x\"}}\n{two}\n"), &both, 1);
    check_text("deep", &format!("{HEADER}\n{one}\n{}\n{two}\n", "[".repeat(100_000)), &both, 1);
    let mut bad = format!("{HEADER}\n{one}\n{}\n", line("b", Some("a"), "t?o")).into_bytes();
    *bad.iter_mut().rfind(|byte| **byte == b'?').unwrap() = 0xff;
    check("bad utf-8", &bad, &["user:one", "user:t\u{fffd}o"], 0);
    // As JavaScript writes an emoji that was cut.
    let half = format!("{HEADER}\n{}\n", line("a", None, "cut HALF here").replace("HALF", "\\ud83d"));
    check("half a character", half.as_bytes(), &["user:cut \u{fffd} here"], 0);
}

#[test]
fn files_that_are_no_sessions_stay_as_they_are() {
    let long = "x".repeat(3_000_000);
    let entry = line("a", None, "one");
    let cases: [(&str, &str); 8] = [
        ("empty", ""),
        ("text", "hello\n"),
        ("other json", "{\"a\":1}\n"),
        ("array", "[1]\n"),
        ("half header", &HEADER[..30]),
        ("entry first", &format!("{entry}\n{HEADER}\n")),
        ("no id", "{\"type\":\"session\",\"version\":3}\n"),
        ("huge", &long),
    ];
    for (what, text) in cases {
        let folder = Folder::new();
        let path = folder.file(text);
        assert!(matches!(Session::open(&path), Err(SessionError::NotASession(_))), "{what}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{what}");
    }
}

#[test]
fn only_regular_files_are_opened() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status_in_time().success());
    let missing = folder.path().join("missing.jsonl");
    for path in [&pipe, folder.path(), &missing, Path::new("/dev/zero"), Path::new("/dev/full")] {
        assert!(matches!(Session::open(path), Err(SessionError::Io { .. })), "{}", path.display());
    }
}

#[test]
fn a_long_header_is_found() {
    let header = HEADER.replace("\"s1\"", &format!("\"s1\",\"more\":\"{}\"", "x".repeat(1_000_000)));
    check("long header", format!("{header}\n{}\n", line("a", None, "one")).as_bytes(), &["user:one"], 0);
}

#[test]
fn the_tree_decides_what_is_read() {
    let check = |what: &str, lines: &[String], expected: &[&str]| {
        check(what, format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes(), expected, 0);
    };
    let said = |id: &str, parent: Option<&str>| line(id, parent, id);
    check("branch", &[said("a", None), said("b", Some("a")), said("c", Some("a"))], &["user:a", "user:c"]);
    check("two roots", &[said("a", None), said("b", None)], &["user:b"]);
    check("parent is missing", &[said("a", None), said("b", Some("zz"))], &["user:b"]);
    check("cycle", &[said("a", Some("b")), said("b", Some("a"))], &["user:a", "user:b"]);
    check("own parent", &[said("a", None), said("b", Some("b"))], &["user:b"]);
    check(
        "double id",
        &[said("a", None), line("a", None, "new"), said("b", Some("a"))],
        &["user:new", "user:b"],
    );
    check(
        "double id, the later below its child",
        &[said("a", None), said("b", Some("a")), line("a", None, "new"), said("c", Some("b"))],
        &["user:new", "user:b", "user:c"],
    );
    let label = entry("label", "l", Some("a"), json!({"targetId": "a", "label": "here"}));
    check("label on the way", &[said("a", None), label, said("b", Some("l"))], &["user:a", "user:b"]);
    let system = json!({"message": {"role": "system", "content": "x", "sections": []}});
    let system = entry("message", "s", None, system);
    check("system message", &[system, said("b", Some("s"))], &["user:b"]);
    let custom = json!({"customType": "x", "content": "c", "display": true});
    let custom = entry("custom_message", "c", Some("a"), custom);
    check("custom message", &[said("a", None), custom], &["user:a", "custom:c"]);
    let left = entry("branch_summary", "c", Some("a"), json!({"fromId": "b", "summary": "tried"}));
    check("branch summary", &[said("a", None), said("b", Some("a")), left], &["user:a", "branch:tried"]);
    let other = entry("custom", "c", Some("a"), json!({"customType": "x", "data": {"k": [1]}}));
    check("custom entry", &[said("a", None), other, said("b", Some("c"))], &["user:a", "user:b"]);
}

#[test]
fn compaction_makes_the_context() {
    let compaction = |id: &str, parent: &str, kept: &str| {
        let fields = json!({"summary": format!("sum {id}"), "firstKeptEntryId": kept, "tokensBefore": 9});
        entry("compaction", id, Some(parent), fields)
    };
    let said = |id: &str, parent: &str| line(id, Some(parent).filter(|parent| !parent.is_empty()), id);
    let check = |what: &str, lines: &[String], expected: &[&str]| {
        check(what, format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes(), expected, 0);
    };
    let start = || vec![said("a", ""), said("b", "a"), said("c", "b")];
    let with = |more: Vec<String>| [start(), more].concat();
    check(
        "keeps from b",
        &with(vec![compaction("k", "c", "b"), said("d", "k")]),
        &["compaction:sum k", "user:b", "user:c", "user:d"],
    );
    for (what, kept) in [("unknown", "zz"), ("itself", "k"), ("empty", "")] {
        check(what, &with(vec![compaction("k", "c", kept), said("d", "k")]), &["compaction:sum k", "user:d"]);
    }
    check(
        "two compactions",
        &with(vec![compaction("k", "c", "b"), said("d", "k"), compaction("l", "d", "c"), said("e", "l")]),
        &["compaction:sum l", "user:c", "user:d", "user:e"],
    );
    check(
        "after the compaction",
        &with(vec![compaction("k", "c", "b"), said("d", "k"), compaction("l", "d", "e"), said("e", "l")]),
        &["compaction:sum l", "user:e"],
    );
}

#[test]
fn edits_change_the_context() {
    let edit = |id: &str, parent: &str, target: &str, replacement: Value| {
        entry("context_edit", id, Some(parent), json!({"targetId": target, "replacement": replacement}))
    };
    let answer = json!({"message": {"role": "assistant", "content": [{"type": "text", "text": "long"}],
        "api": "x", "provider": "p", "model": "m", "stopReason": "deferred"}});
    let result = json!({"message": {"role": "toolResult", "toolCallId": "t", "toolName": "bash",
        "content": [{"type": "text", "text": "long"}], "isError": false}});
    let start = || {
        vec![
            line("a", None, "one"),
            entry("message", "b", Some("a"), answer.clone()),
            entry("message", "c", Some("b"), result.clone()),
        ]
    };
    let check = |what: &str, edits: Vec<String>, expected: &[&str]| {
        let lines = [start(), edits].concat();
        check(what, format!("{HEADER}\n{}\n", lines.join("\n")).as_bytes(), expected, 0);
    };
    let long = r#"result bash:[{"type":"text","text":"long"}]"#;
    let short = r#"result bash:[{"type":"text","text":"short"}]"#;
    let content = json!({"content": "short"});
    check("out", vec![edit("e", "c", "a", Value::Null)], &["assistant:long", long]);
    check("user", vec![edit("e", "c", "a", content.clone())], &["user:short", "assistant:long", long]);
    check("assistant", vec![edit("e", "c", "b", content.clone())], &["user:one", "assistant:short", long]);
    check("result", vec![edit("e", "c", "c", content.clone())], &["user:one", "assistant:long", short]);
    let twice = vec![edit("e", "c", "a", Value::Null), edit("f", "e", "a", content)];
    check("the last one counts", twice, &["user:short", "assistant:long", long]);
    check("unknown target", vec![edit("e", "c", "zz", Value::Null)], &["user:one", "assistant:long", long]);
}

#[test]
fn messages_without_content_are_empty() {
    let message = |fields: Value| entry("message", "a", None, json!({"message": fields}));
    let check = |fields: Value, expected: &str| {
        let text = format!("{HEADER}\n{}\n", message(fields));
        check(expected, text.as_bytes(), &[expected], 0);
    };
    check(json!({"role": "user"}), "user:");
    check(json!({"role": "user", "content": null, "timestamp": 1}), "user:");
    check(json!({"role": "assistant", "content": null, "stopReason": "stop"}), "assistant:");
    check(json!({"role": "assistant", "content": "text"}), "assistant:text");
    check(json!({"role": "toolResult", "toolCallId": "c", "toolName": "x"}), "result x:[]");
    let odd = json!({"role": "assistant", "content": [{"type": "text", "text": "t"}], "api": "z", "provider": "p",
        "model": "m", "stopReason": "later", "usage": {"input": -1.5}, "timestamp": 1.5, "durationMs": 7});
    check(odd, "assistant:t");
}

#[test]
fn versions_one_and_two_are_rewritten() {
    let v1 = concat!(
        r#"{"type":"session","id":"old","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/srv","provider":"p","modelId":"m","thinkingLevel":"high","branchedFrom":"/x.jsonl","mine":7}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-02T03:04:06.000Z","message":{"role":"user","content":"one"}}"#,
        "\nbroken {\n",
        r#"{"type":"message","timestamp":"2025-01-02T03:04:07.000Z","message":{"role":"user","content":"two","extra":1}}"#,
        "\n",
        r#"{"type":"compaction","timestamp":"2025-01-02T03:04:08.000Z","summary":"s","firstKeptEntryIndex":2,"tokensBefore":5}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-02T03:04:09.000Z","message":{"role":"hookMessage","customType":"h","content":"three","display":true}}"#,
    );
    let folder = Folder::new();
    let path = folder.file(v1);
    let mut session = Session::open(&path).unwrap();
    assert_eq!(texts(&session), ["compaction:s", "user:two", "custom:three"]);
    let context = session.context();
    assert_eq!(context.model, Some(("p".into(), "m".into())));
    assert_eq!(context.thinking, Some(ThinkingLevel::High));
    session.append(user("four")).unwrap();
    drop(session);
    let text = fs::read_to_string(&path).unwrap();
    for kept in ["\"version\":3", "\"mine\":7", "\"parentSession\":\"/x.jsonl\"", "\"extra\":1", "broken {\n"]
    {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert!(!text.contains("firstKeptEntryIndex") && !text.contains("hookMessage"));
    let again = Session::open(&path).unwrap();
    assert_eq!(texts(&again), ["compaction:s", "user:two", "custom:three", "user:four"]);
    drop(again);
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "a second opening changes nothing");

    let v2 = HEADER.replace(":3,", ":2,");
    let hook =
        json!({"message": {"role": "hookMessage", "customType": "h", "content": "x", "display": false}});
    let path = folder.file(format!(
        "{v2}\n{}\n{}\n",
        line("a", None, "one"),
        entry("message", "b", Some("a"), hook)
    ));
    assert_eq!(texts(&Session::open(&path).unwrap()), ["user:one", "custom:x"]);
    assert!(fs::read_to_string(&path).unwrap().starts_with(HEADER));
}

#[test]
fn a_later_version_is_for_reading() {
    let folder = Folder::new();
    let text = format!("{}\n{}\n", HEADER.replace(":3,", ":4,"), line("a", None, "one"));
    let path = folder.file(&text);
    let mut session = Session::open(&path).unwrap();
    assert_eq!(texts(&session), ["user:one"]);
    let error = session.append(user("two")).unwrap_err().to_string();
    assert!(error.contains("later version"), "{error}");
    assert_eq!(texts(&session), ["user:one", "user:two"], "it continues in memory");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn documents_become_new_files() {
    let metadata = concat!(
        r#"{"type":"metadata","id":"d","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/srv","config":{}}"#,
        "\n",
        r#"{"type":"message","message":{"role":"user","content":"one","timestamp":7}}"#,
        "\n",
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}}],"stopReason":"toolUse"}}"#,
        "\n",
        r#"{"type":"message","message":{"role":"toolResult","toolCallId":"c1","output":"x.rs","isError":false}}"#,
        "\n",
    );
    let events = concat!(
        r#"{"type":"session","id":"d","timestamp":"2025-01-02T03:04:05.678Z","cwd":"/srv","config":{"a":1}}"#,
        "\n",
        r#"{"type":"event","event":{"type":"message_start","message":{"role":"user","content":"no"}}}"#,
        "\n",
        r#"{"type":"event","event":{"type":"message_end","message":{"role":"user","content":"one"}}}"#,
        "\n",
    );
    let result = r#"result ls:[{"type":"text","text":"x.rs"}]"#;
    let cases: [(&str, &[&str]); 2] =
        [(metadata, &["user:one", "assistant:", result]), (events, &["user:one"])];
    for (text, expected) in cases {
        let folder = Folder::new();
        let path = folder.file(text);
        let mut session = Session::open(&path).unwrap();
        assert_eq!(texts(&session), expected);
        assert_eq!(session.info().cwd, Path::new("/srv"));
        let new = session.info().file.clone().unwrap();
        assert!(new != path && !new.exists());
        session.append(user("more")).unwrap();
        drop(session);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(texts(&Session::open(&new).unwrap()).len(), expected.len() + 1);
        assert!(fs::read_to_string(&new).unwrap().contains("\"parentSession\":"));
    }
}

/// Ids become a part of paths: of what is kept for undo, and of kept rights.
#[test]
fn an_id_that_is_no_name_is_replaced() {
    let folder = Folder::new();
    for id in ["/home/u/proj", "../../proj", "a/b", "..", ".x", "", "a\0b", "-rf", &"x".repeat(129)] {
        let header = HEADER.replace("\"s1\"", &json!(id).to_string());
        let text = format!("{header}\n{}\n", line("a", None, "one"));
        let path = folder.file(&text);
        let opened = Session::open(&path).unwrap().info().id.clone();
        assert!(is_session_id(&opened), "{id:?}: {opened:?}");
        let in_memory = Session::from_lines(&text).unwrap();
        assert_eq!(in_memory.info().id, opened);
        assert_eq!(in_memory.for_printing().info().id, opened);
        assert_eq!(list::row_of(&path).unwrap().id, opened);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    assert_eq!(Session::open(&folder.file(format!("{HEADER}\n"))).unwrap().info().id, "s1");
}

#[test]
fn an_old_file_that_cannot_be_written_is_for_reading() {
    if rustix::process::geteuid().is_root() {
        return println!("skipped: root can write to every file");
    }
    let old = r#"{"type":"session","id":"old","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv"}"#;
    let message = r#"{"type":"message","timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"one","timestamp":1}}"#;
    for (file_mode, folder_mode) in [(0o444, 0o755), (0o644, 0o555)] {
        let folder = Folder::new();
        let text = format!("{old}\n{message}\n");
        let path = folder.file(&text);
        fs::set_permissions(&path, fs::Permissions::from_mode(file_mode)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(folder_mode)).unwrap();
        let mut session = Session::open(&path).unwrap();
        assert_eq!(texts(&session), ["user:one"]);
        assert!(session.append(user("two")).is_err());
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
