//! Session files: their lines, and the texts that come out of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tau::agent::protocol::message::{Message, UserContent, UserMessage};
use tau::agent::session::{Session, SessionError};
use tempfile::TempDir;

/// The first line of a session file.
pub const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/srv/web"}"#;

/// A user message.
pub fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::User(UserMessage { timestamp: 1, ..UserMessage::new(UserContent::Text(text.into())) }))
}

/// An answer of the model.
pub fn assistant(text: &str) -> Arc<Message> {
    let message = json!({"role": "assistant", "content": [{"type": "text", "text": text}],
        "api": "openai-completions", "provider": "local", "model": "m1", "stopReason": "stop"});
    Arc::new(serde_json::from_value(message).unwrap())
}

/// A user message as an entry of a file.
pub fn line(id: &str, parent: Option<&str>, text: &str) -> String {
    let message = json!({"role": "user", "content": text, "timestamp": 5});
    entry("message", id, parent, json!({"message": message}))
}

/// A line of a file with the fields of every entry.
pub fn entry(kind: &str, id: &str, parent: Option<&str>, fields: Value) -> String {
    let mut entry =
        json!({"type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:06.000Z"});
    let object = entry.as_object_mut().unwrap();
    object.extend(fields.as_object().unwrap().clone());
    entry.to_string()
}

/// The texts of a context, each message as `role:text`.
pub fn texts(session: &Session) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User(user) => format!("user:{}", user.content.text()),
        Message::Assistant(answer) => format!("assistant:{}", answer.text()),
        Message::ToolResult(result) => {
            format!("result {}:{}", result.tool_name, serde_json::to_string(&result.content).unwrap())
        }
        Message::Custom(custom) => format!("custom:{}", custom.content.text()),
        Message::CompactionSummary(summary) => format!("compaction:{}", summary.summary),
        Message::BranchSummary(summary) => format!("branch:{}", summary.summary),
        Message::BashExecution(bash) => format!("bash:{}", bash.command),
        Message::Application(own) => format!("{}:", own.role()),
    };
    session.context().messages.iter().map(text).collect()
}

/// A separate folder for a test.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn file(&self, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join("session.jsonl");
        fs::write(&path, bytes).unwrap();
        path
    }
}

/// Opens a session whose lock may still be held by a process that is just ending.
pub fn opened_soon(path: &Path) -> Session {
    for _ in 0..200 {
        match Session::open(path) {
            Err(SessionError::Locked { .. }) => std::thread::sleep(std::time::Duration::from_millis(10)),
            other => return other.unwrap(),
        }
    }
    panic!("{} stays locked", path.display());
}

/// Opens bytes as a session and compares the context and the number of skipped lines. Then appends, and
/// compares again after reopening: nothing may be lost or merged.
pub fn check(what: &str, bytes: &[u8], expected: &[&str], skipped: usize) {
    let folder = Folder::new();
    let path = folder.file(bytes);
    let mut session = Session::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(texts(&session), expected, "{what}");
    assert_eq!(session.skipped_lines(), skipped, "{what}: skipped");
    session.append(user("more")).unwrap();
    session.append(assistant("and more")).unwrap();
    drop(session);
    let after = fs::read(&path).unwrap();
    let added = after.strip_prefix(bytes).unwrap_or_else(|| panic!("{what}: what was there has changed"));
    let own_line = if bytes.ends_with(b"\n") { b'{' } else { b'\n' };
    assert_eq!(added[0], own_line, "{what}: nothing is glued to what was there");
    let mut expected: Vec<String> = expected.iter().map(|text| (*text).to_owned()).collect();
    expected.extend(["user:more".to_owned(), "assistant:and more".to_owned()]);
    assert_eq!(texts(&opened_soon(&path)), expected, "{what}: reopened");
}

/// The lines of a session of 7 MB in this directory: 140 messages, of which the first row has the number.
pub fn long_session(cwd: &Path) -> String {
    let mut lines = vec![HEADER.replace("/srv/web", cwd.to_str().unwrap())];
    for at in 0..140 {
        let parent = (at > 0).then(|| format!("m{}", at - 1));
        let text = format!("message number {at}.\n{}", "word ".repeat(10_000));
        lines.push(line(&format!("m{at}"), parent.as_deref(), &text));
    }
    lines.join("\n") + "\n"
}
