//! A session in the format of another agent, for continuing it there.
//!
//! The current branch is written; of a compacted conversation the summary comes before the messages that were
//! kept, as these agents have it. What a format cannot hold is counted.

mod claude;
mod codex;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::provider::handoff::call_ids::CallIds;
use crate::secrets::redact::Redactor;
use crate::session::Session;
use crate::session::entry::{iso, now};
use crate::session::foreign::places::ForeignPlaces;
use tau_protocol::message::{Block, Message, ToolResultMessage};
use tau_protocol::session_row::SessionOrigin;

/// A session as a file of another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignSession {
    pub program: SessionOrigin,
    pub id: String,
    /// Its lines.
    pub text: String,
    /// The number of secrets that were masked.
    pub masked: usize,
    /// The content that the format cannot hold: its name in the singular, and the count.
    pub left_out: BTreeMap<&'static str, usize>,
    created: i64,
}

impl ForeignSession {
    /// The session for `program`; `None` for tau itself and for opencode, which has a database. The session must
    /// have been read completely ([`Session::whole`]).
    pub fn of(session: &Session, program: SessionOrigin, secrets: &[String]) -> Option<Self> {
        let created = creation_time(session);
        let mut writer = Writer {
            id: tau_tools::ids::id().to_string(),
            cwd: &session.info().cwd,
            lines: Vec::new(),
            left_out: BTreeMap::new(),
        };
        let messages = session.tree().portable_messages();
        match program {
            SessionOrigin::Claude => {
                let messages = with_own_ids(&messages, &mut writer);
                claude::write(&mut writer, &messages, session.info().name.as_deref());
            }
            SessionOrigin::Codex => {
                let messages = with_own_ids(&messages, &mut writer);
                codex::write(&mut writer, &messages, created);
            }
            SessionOrigin::Pi => writer.lines = pi(session, &writer.id),
            SessionOrigin::Tau | SessionOrigin::Opencode => return None,
        }
        let others = session.tree().entries().iter().filter(|entry| entry.is_message()).count();
        let others =
            others.saturating_sub(session.tree().branch().iter().filter(|entry| entry.is_message()).count());
        if program != SessionOrigin::Pi && others > 0 {
            writer.left_out.insert("side-branch message", others);
        }
        let mut redactor = Redactor::new(secrets);
        let mut text = String::new();
        for line in &writer.lines {
            text.push_str(&redactor.json_line(line));
            text.push('\n');
        }
        let (id, left_out) = (writer.id, writer.left_out);
        Some(ForeignSession { program, id, text, masked: redactor.count(), left_out, created })
    }

    /// The file in which the program finds it, for a session of `cwd`.
    pub fn file(&self, places: &ForeignPlaces, cwd: &Path) -> Option<PathBuf> {
        places.file_for(self.program, cwd, &self.id, self.created)
    }
}

/// The time of the session's beginning, in milliseconds since 1970.
fn creation_time(session: &Session) -> i64 {
    let header = serde_json::from_str::<Value>(session.header()).ok();
    let time = header.as_ref().and_then(|header| header.get("timestamp")?.as_str());
    time.and_then(|time| time.parse::<jiff::Timestamp>().ok())
        .map_or_else(now, jiff::Timestamp::as_millisecond)
}

/// The lines of the session, whose format pi shares, under another id.
fn pi(session: &Session, id: &str) -> Vec<String> {
    let mut header: Value = serde_json::from_str(session.header()).unwrap_or_default();
    if let Some(fields) = header.as_object_mut() {
        fields.insert("id".to_owned(), id.into());
        // Another program's file is nothing that pi could open.
        fields.shift_remove("parentSession");
    }
    let kept = session.lines();
    let line = |entry: &crate::session::entry::Entry| {
        let line = kept.get(&*entry.id).cloned().unwrap_or_else(|| entry.line());
        String::from_utf8_lossy(&line).trim_end().to_owned()
    };
    std::iter::once(header.to_string()).chain(session.tree().entries().iter().map(line)).collect()
}

/// Collects the lines of one session.
struct Writer<'a> {
    id: String,
    cwd: &'a Path,
    lines: Vec<String>,
    left_out: BTreeMap<&'static str, usize>,
}

impl Writer<'_> {
    fn line(&mut self, value: &Value) {
        self.lines.push(value.to_string());
    }

    fn leave_out(&mut self, what: &'static str) {
        let count = self.left_out.entry(what).or_default();
        *count = count.saturating_add(1);
    }
}

/// The time of a message, in the format of these files.
fn time_of(message: &Message) -> String {
    iso(match message {
        Message::User(user) => user.timestamp,
        Message::Assistant(answer) => answer.timestamp,
        Message::ToolResult(result) => result.timestamp,
        Message::BashExecution(run) => run.timestamp,
        Message::Custom(custom) => custom.timestamp,
        Message::BranchSummary(branch) => branch.timestamp,
        Message::CompactionSummary(summary) => summary.timestamp,
        Message::Application(own) => own.timestamp,
    })
}

/// The text of an abandoned branch's summary, for the model.
fn branch_text(summary: &str) -> String {
    format!("Summary of a branch of this conversation that was left:\n\n{summary}")
}

/// The messages with ids of calls as providers accept them, each of one call. Results without a call are left out.
fn with_own_ids(messages: &[Arc<Message>], writer: &mut Writer<'_>) -> Vec<Arc<Message>> {
    let (mut ids, mut kept) = (CallIds::plain(), Vec::new());
    // The calls of the last answer without a result: the id in the session, and the new one.
    let mut open: Vec<(String, String)> = Vec::new();
    for message in messages {
        match &**message {
            Message::Assistant(answer) => {
                let mut answer = answer.clone();
                open.clear();
                for block in &mut answer.content {
                    if let Block::ToolCall(call) = block {
                        let id = ids.valid(&call.id, false);
                        open.push((std::mem::replace(&mut call.id, id.clone()), id));
                    }
                }
                kept.push(Arc::new(Message::Assistant(answer)));
            }
            Message::ToolResult(result) => {
                match open.iter().position(|(original, _)| *original == result.tool_call_id) {
                    Some(at) => {
                        let tool_call_id = open.remove(at).1;
                        let result = ToolResultMessage { tool_call_id, ..result.clone() };
                        kept.push(Arc::new(Message::ToolResult(result)));
                    }
                    None => writer.leave_out("unmatched tool result"),
                }
            }
            _ => kept.push(Arc::clone(message)),
        }
    }
    kept
}

/// The pictures and the text of blocks, each by a function.
fn parts(
    blocks: &[Block],
    text: impl Fn(&str) -> Value,
    picture: impl Fn(&str, &str) -> Value,
) -> Vec<Value> {
    let part = |block: &Block| match block {
        Block::Text { text: said, .. } if !said.trim().is_empty() => Some(text(said)),
        Block::Image { data, mime_type } => Some(picture(mime_type, data)),
        Block::Text { .. } | Block::Thinking { .. } | Block::ToolCall(_) | Block::Unknown(_) => None,
    };
    blocks.iter().filter_map(part).collect()
}
