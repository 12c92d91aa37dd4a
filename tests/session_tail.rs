//! Large sessions are opened at their end, and lists cache their findings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::json;
use tau::agent::protocol::model::ThinkingLevel;
use tau::agent::protocol::session_row::SessionRow;
use tau::agent::session::index::SessionIndex;
use tau::agent::session::last_exchange::last_exchange;
use tau::agent::session::list::list_with_index;
use tau::agent::session::{Access, Session};

use crate::session_search::hits;
use crate::support::session_files::{Folder, HEADER, assistant, entry, line, texts, user};

/// A session of `count` messages, with a name and level at its beginning.
fn long(count: usize, extra: &[(usize, String)]) -> String {
    let mut lines = vec![
        HEADER.to_owned(),
        entry("model_change", "m", None, json!({"provider": "p", "modelId": "q"})),
        entry("thinking_level_change", "t", Some("m"), json!({"thinkingLevel": "high"})),
        entry("session_info", "n", Some("t"), json!({"name": "the name"})),
    ];
    let mut parent = "n".to_owned();
    for at in 0..count {
        for (_, extra) in extra.iter().filter(|(place, _)| *place == at) {
            lines.push(extra.replace("PARENT", &parent));
            parent = serde_json::from_str::<serde_json::Value>(extra).unwrap()["id"].as_str().unwrap().into();
        }
        let id = format!("e{at}");
        lines.push(line(&id, Some(&parent), &format!("message {at}")));
        parent = id;
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_end_is_read_first_and_the_rest_when_it_is_needed() {
    let folder = Folder::new();
    let text = long(200, &[]);
    let path = folder.file(&text);
    let mut session = Session::open_tail(&path, Access::Write, 2_000).unwrap();
    let shown = texts(&session);
    assert!(shown.len() < 20 && shown.last().unwrap() == "user:message 199", "{shown:?}");
    assert_eq!((session.unread().is_some(), session.info().name.as_deref()), (true, None));
    assert_eq!(session.context().thinking, None, "it is in what was not read");
    session.survey();
    assert_eq!(session.info().name.as_deref(), Some("the name"));
    let context = session.context();
    assert_eq!(context.model, Some(("p".into(), "q".into())));
    assert_eq!(context.thinking, Some(ThinkingLevel::High));
    assert!(!session.is_context_loaded());
    session.append(user("new")).unwrap();
    session.whole().unwrap();
    assert!(session.unread().is_none() && session.is_context_loaded());
    let all = texts(&session);
    assert_eq!((all.len(), all[0].as_str(), all[200].as_str()), (201, "user:message 0", "user:new"));
    session.append(assistant("end")).unwrap();
    drop(session);
    let whole = Session::open(&path).unwrap();
    assert_eq!(texts(&whole).len(), 202);
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text), "nothing of it has changed");
}

#[test]
fn what_could_not_be_written_is_there_after_the_rest_was_read() {
    let folder = Folder::new();
    let path = folder.file(long(100, &[]));
    let mut session = Session::open_tail(&path, Access::Read, 2_000).unwrap();
    session.append(user("in memory")).unwrap();
    session.whole().unwrap();
    let all = texts(&session);
    assert_eq!((all.len(), all[100].as_str()), (101, "user:in memory"));
}

#[test]
fn a_compaction_at_the_end_makes_the_context_known() {
    let compaction = |kept: &str| {
        let fields = json!({"summary": "sum", "firstKeptEntryId": kept, "tokensBefore": 9});
        entry("compaction", "k", Some("PARENT"), fields)
    };
    let check = |kept: &str, known: bool| {
        let folder = Folder::new();
        let path = folder.file(long(200, &[(195, compaction(kept))]));
        let session = Session::open_tail(&path, Access::Write, 3_000).unwrap();
        assert_eq!(session.is_context_loaded(), known, "{kept}");
        if known {
            assert_eq!(texts(&session), texts(&Session::open_as(&path, Access::Read).unwrap()), "{kept}");
        }
    };
    check("e193", true);
    check("k", true);
    check("", true);
    check("e3", false);
}

#[test]
fn small_and_odd_files_are_read_whole() {
    let folder = Folder::new();
    let path = folder.file(long(20, &[]));
    assert!(Session::open_tail(&path, Access::Read, 1 << 20).unwrap().unread().is_none());
    let huge = line("a", None, &"x".repeat(9_000));
    let path = folder.file(format!("{HEADER}\n{huge}\n"));
    let session = Session::open_tail(&path, Access::Read, 2_000).unwrap();
    assert_eq!((session.unread(), texts(&session).len()), (None, 1));
    let older = long(50, &[]).replace("\"version\":3", "\"version\":2");
    let path = folder.file(older);
    assert!(Session::open_tail(&path, Access::Read, 2_000).unwrap().unread().is_none());
}

fn rows(root: &Path, known: &mut SessionIndex) -> Vec<SessionRow> {
    let mut rows = Vec::new();
    list_with_index(root, None, known, &mut |row| {
        rows.push(row);
        true
    });
    rows
}

#[test]
fn the_index_knows_files_that_have_not_changed_and_only_those() {
    let folder = Folder::new();
    let root = folder.path().join("sessions");
    let index = folder.path().join("cache/sessions.index");
    fs::create_dir_all(&root).unwrap();
    let header = |id: &str| HEADER.replace("\"s1\"", &format!("\"{id}\""));
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::write(&path, text).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
        fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    };
    let one = write("one.jsonl", &format!("{}\n{}\n", header("one"), line("a", None, "first")));
    write("two.jsonl", &format!("{}\n{}\n", header("two"), line("a", None, "second")));
    write("none.jsonl", "what");
    let mut known = SessionIndex::load(&index);
    let cold = rows(&root, &mut known);
    assert_eq!(cold.len(), 2);
    known.save(&index).unwrap();
    // Same size and time: the index is trusted, so the file was not opened.
    write("two.jsonl", &format!("{}\n{}\n", header("two"), line("a", None, "SECOND")));
    let mut known = SessionIndex::load(&index);
    assert_eq!(rows(&root, &mut known), cold);
    // Another size, another time, gone: the files are the truth.
    write("two.jsonl", &format!("{}\n{}\n", header("two"), line("a", None, "second, longer")));
    fs::remove_file(&one).unwrap();
    let warm = rows(&root, &mut known);
    assert_eq!(warm.iter().map(|row| row.first_prompt.as_str()).collect::<Vec<_>>(), ["second, longer"]);
    known.save(&index).unwrap();
    assert!(!fs::read_to_string(&index).unwrap().contains("/one.jsonl"));
    for damage in ["", "tau sessions 99\n{}\n", "tau sessions 1\n{\"mod"] {
        fs::write(&index, damage).unwrap();
        assert_eq!(rows(&root, &mut SessionIndex::load(&index)), warm, "{damage:?}");
    }
}

#[test]
fn what_was_said_is_found_and_shown() {
    let folder = Folder::new();
    let header = |id: &str| HEADER.replace("\"s1\"", &format!("\"{id}\""));
    let result = json!({"message": {"role": "toolResult", "toolCallId": "c", "toolName": "x",
        "content": [{"type": "text", "text": "needle in a result"}]}});
    let answer = json!({"message": {"role": "assistant", "content": [{"type": "text", "text": "Größe \"quoted\""}],
        "api": "x", "provider": "p", "model": "m", "stopReason": "stop"}});
    let text = [
        header("one"),
        line("a", None, "The NEEDLE and the thread"),
        line("b", Some("a"), "last question"),
        entry("message", "c", Some("b"), answer),
        entry("message", "d", Some("c"), result),
    ];
    let path = folder.path().join("one.jsonl");
    fs::write(&path, text.join("\n")).unwrap();
    fs::write(folder.path().join("two.jsonl"), format!("{}\n{}\n", header("two"), line("a", None, "thread")))
        .unwrap();
    let check = |query: &str, cwd: Option<&str>, expected: usize| {
        let found = hits(folder.path(), cwd.map(Path::new), query);
        let found: BTreeSet<&Path> = found.iter().map(|hit| hit.session.path.as_path()).collect();
        assert_eq!(found.len(), expected, "{query}: {found:?}");
    };
    check("needle", None, 1);
    check("thread needle", None, 1);
    check("thread", None, 2);
    check("GRÖSSE", None, 1);
    check("größe", None, 1);
    check("\"quoted\"", None, 1);
    check("result", None, 1);
    check("esult", None, 0);
    check("timestamp", None, 0);
    check("needle question", None, 0);
    check("thread", Some("/srv/web"), 2);
    check("thread", Some("/elsewhere"), 0);
    check(" ", None, 0);
    let words = last_exchange(&path).unwrap();
    assert_eq!((words.user.as_str(), words.model.as_str()), ("last question", "Größe \"quoted\""));
    assert!(last_exchange(&folder.path().join("none")).is_err());
}
