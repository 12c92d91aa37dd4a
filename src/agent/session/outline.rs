//! The tree of a session for people: a row an entry, parents before children.
//!
//! Plain data for front ends. How it is drawn, folded and searched is theirs.

use std::collections::HashMap;

use jiff::tz::TimeZone;

use super::entry::{Body, Entry};
use super::tree::Tree;
use crate::agent::protocol::message::{Block, Message, StopReason};
pub use crate::agent::protocol::outline::{Outline, OutlineRow, RowKind};
use crate::tools::Content;

/// Longest text of a row, in characters.
const LONGEST: usize = 200;

impl Outline {
    /// The outline of a tree. Of entries with one id only the last is in it.
    pub fn of(tree: &Tree) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut rows: Vec<OutlineRow> = Vec::new();
        let zone = TimeZone::system();
        for entry in tree.entries() {
            let newest = tree.get(&entry.id).is_some_and(|newest| std::ptr::eq(newest, entry));
            if !newest {
                continue;
            }
            // A parent on a later line would make a ring; it counts as missing.
            let parent = entry.parent.as_ref().and_then(|id| places.get(&**id)).copied();
            let (kind, text) = words(&entry.body);
            places.insert(&entry.id, rows.len());
            rows.push(OutlineRow {
                id: entry.id.to_string(),
                parent,
                kind,
                text: one_line(&text),
                label: tree.label(&entry.id).map(str::to_owned),
                at: entry.timestamp,
                ahead: minutes_ahead(entry.timestamp, &zone),
            });
        }
        let leaf = tree.leaf().and_then(|leaf| places.get(&*leaf.id)).copied();
        Outline { rows, leaf }
    }
}

fn minutes_ahead(at: i64, zone: &TimeZone) -> Option<i32> {
    let time = jiff::Timestamp::from_millisecond(at).ok().filter(|_| !zone.is_unknown())?;
    Some(zone.to_offset(time).seconds() / 60)
}

/// What going to an entry means: the new current entry, and the text that comes
/// back to be edited. A message of the user is left out, so that it can be changed.
pub(crate) fn landing(tree: &Tree, id: &str) -> Option<(Option<String>, Option<String>)> {
    let entry = tree.get(id)?;
    Some(match user_text(entry) {
        Some(text) => (entry.parent.as_ref().map(ToString::to_string), Some(text)),
        None => (Some(id.to_owned()), None),
    })
}

fn user_text(entry: &Entry) -> Option<String> {
    let Body::Message { message } = &entry.body else { return None };
    match message.as_ref() {
        Message::User(user) => Some(user.content.text()),
        _ => None,
    }
}

fn words(body: &Body) -> (RowKind, String) {
    match body {
        Body::Message { message } => of_message(message),
        Body::ModelChange { provider, model_id } => {
            (RowKind::Setting, format!("model: {provider}/{model_id}"))
        }
        Body::ThinkingLevelChange { thinking_level } => {
            (RowKind::Setting, format!("thinking: {thinking_level}"))
        }
        Body::Compaction { summary, .. } => (RowKind::Compaction, summary.clone()),
        Body::BranchSummary { summary, .. } => (RowKind::Branch, summary.clone()),
        Body::ContextEdit { target_id, replacement } => {
            let what = if replacement.is_some() { "shortened" } else { "removed" };
            (RowKind::Setting, format!("{what} in the context: {target_id}"))
        }
        Body::CustomMessage { content, .. } => (RowKind::Custom, content.text()),
        Body::Label { target_id, label } => match label {
            Some(label) => (RowKind::Setting, format!("label of {target_id}: {label}")),
            None => (RowKind::Setting, format!("label removed: {target_id}")),
        },
        Body::SessionInfo { name } => (RowKind::Setting, format!("name: {name}")),
        Body::Other { .. } => (RowKind::Setting, "entry of another program".to_owned()),
    }
}

fn of_message(message: &Message) -> (RowKind, String) {
    match message {
        Message::User(user) => (RowKind::User, user.content.text()),
        Message::Assistant(answer) => {
            let text = answer.text();
            if !text.trim().is_empty() {
                return (RowKind::Assistant, text);
            }
            let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
            match answer.stop_reason {
                _ if !calls.is_empty() => (RowKind::Calls, calls.join(", ")),
                StopReason::Aborted => (RowKind::Assistant, "(stopped)".to_owned()),
                StopReason::Error => (
                    RowKind::Assistant,
                    answer.error_message.clone().unwrap_or_else(|| "(failed)".to_owned()),
                ),
                _ => (RowKind::Assistant, thought(&answer.content)),
            }
        }
        Message::ToolResult(result) => {
            let text = result.content.iter().find_map(|content| match content {
                Content::Text { text } => Some(text.as_str()),
                Content::Image { .. } => None,
            });
            (RowKind::Tool, format!("{}: {}", result.tool_name, text.unwrap_or("(image)")))
        }
        Message::BashExecution(run) => (RowKind::Shell, format!("$ {}", run.command)),
        Message::Custom(custom) => (RowKind::Custom, custom.content.text()),
        Message::BranchSummary(branch) => (RowKind::Branch, branch.summary.clone()),
        Message::CompactionSummary(summary) => (RowKind::Compaction, summary.summary.clone()),
    }
}

fn thought(content: &[Block]) -> String {
    let thought = content.iter().find_map(|block| match block {
        Block::Thinking { thinking, .. } => Some(thinking.clone()),
        _ => None,
    });
    thought.unwrap_or_else(|| "(no text)".to_owned())
}

/// The words in a text on one line, cut.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(LONGEST));
        if line.len() > LONGEST {
            break;
        }
    }
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => {
            line.truncate(at);
            line + "…"
        }
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_ahead_by_what_held_then() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let ahead = |time: &str, zone: &TimeZone| {
            minutes_ahead(time.parse::<jiff::Timestamp>().unwrap().as_millisecond(), zone)
        };
        assert_eq!(ahead("2026-01-15T12:00:00Z", &berlin), Some(60));
        assert_eq!(ahead("2026-07-15T12:00:00Z", &berlin), Some(120));
        assert_eq!(ahead("2026-07-15T12:00:00Z", &TimeZone::unknown()), None);
        assert_eq!(minutes_ahead(i64::MAX, &berlin), None);
    }
}
