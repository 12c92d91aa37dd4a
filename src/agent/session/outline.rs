//! The tree of a session for display: one row per entry, parents before children.
//!
//! Plain data for front ends, which draw, fold and search it.

use crate::settings::local_zone::local_zone;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use pulldown_cmark::{Event, Options, Parser, TagEnd};

use super::entry::{Body, Entry};
use super::tree::Tree;
use super::{Session, SessionError, read};
use tau_protocol::call_ending::CallEnding;
use tau_protocol::goal::ROUND;
use tau_protocol::message::{Block, Message, StopReason, ToolCall, ToolResultMessage};
use tau_protocol::outline::{Outline, OutlineRow, RowKind};
use tau_tools::budget::shorten;
use tau_tools::{Content, Details, TerminalOutput};

/// The maximum length of a row's text, in characters.
const MAX_LEN: usize = 200;
/// The maximum length of the part that describes a call.
const ACTION: usize = 120;

pub(crate) type CallTitle<'a> = &'a dyn Fn(&ToolCall) -> Option<String>;

/// The outline of a tree. Of entries with the same id only the last is included.
pub fn outline(tree: &Tree) -> Outline {
    let mut growing = GrowingOutline::new(&|_| None);
    tree.entries().iter().for_each(|entry| growing.add(entry));
    growing.finish(tree.leaf())
}

impl Session {
    /// The outline of the complete session, with the titles that `title` returns for tool calls. Unread parts
    /// of a large file are read for that, line by line, and not kept; if that fails, it is the outline of the
    /// readable part, and the error is `Io`. Blocks.
    pub(crate) fn outline(&self, title: CallTitle<'_>) -> (Outline, Result<(), SessionError>) {
        let mut growing = GrowingOutline::new(title);
        let mut outcome = Ok(());
        if let Some(file) = self.unread_file() {
            let add = |_, line: &[u8]| read::entries(line).0.iter().for_each(|entry| growing.add(entry));
            outcome = file.lines(add).map_err(|source| SessionError::Io { path: file.path.clone(), source });
        }
        self.tree.entries().iter().for_each(|entry| growing.add(entry));
        (growing.finish(self.tree.leaf()), outcome)
    }
}

/// An outline to which entries are added in file order.
struct GrowingOutline<'a> {
    title: CallTitle<'a>,
    zone: TimeZone,
    rows: Vec<OutlineRow>,
    /// Rows of entries whose id was taken by a later entry.
    replaced: Vec<usize>,
    /// The row of an entry.
    places: HashMap<Arc<str>, usize>,
    /// Titles of calls, by call id.
    titles: HashMap<String, String>,
    /// Labels, by entry id.
    labels: HashMap<String, String>,
}

impl<'a> GrowingOutline<'a> {
    fn new(title: CallTitle<'a>) -> Self {
        GrowingOutline {
            title,
            zone: local_zone(),
            rows: Vec::new(),
            replaced: Vec::new(),
            places: HashMap::new(),
            titles: HashMap::new(),
            labels: HashMap::new(),
        }
    }

    fn add(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Message { message } => {
                if let Message::Assistant(answer) = message.as_ref() {
                    let titles = answer.tool_calls().map(|call| (call.id.clone(), action(call, self.title)));
                    self.titles.extend(titles);
                }
            }
            Body::Label { target_id, label } => match label.as_ref().filter(|label| !label.is_empty()) {
                Some(label) => drop(self.labels.insert(target_id.clone(), label.clone())),
                None => drop(self.labels.remove(target_id)),
            },
            _ => {}
        }
        // A parent on a later line would make a cycle; it counts as missing.
        let parent = entry.parent.as_ref().and_then(|id| self.places.get(id)).copied();
        let (kind, text) = words(&entry.body, &self.titles);
        self.replaced.extend(self.places.insert(Arc::clone(&entry.id), self.rows.len()));
        self.rows.push(OutlineRow {
            id: entry.id.to_string(),
            parent,
            kind,
            text: one_line(&text),
            label: None,
            at: entry.timestamp,
            ahead: minutes_ahead(entry.timestamp, &self.zone),
        });
    }

    fn finish(mut self, leaf: Option<&Entry>) -> Outline {
        let mut leaf = leaf.and_then(|leaf| self.places.get(&leaf.id)).copied();
        self.replaced.sort_unstable();
        let replaced = &self.replaced;
        // The new position of a row once replaced rows before it are removed.
        let moved = |place: usize| replaced.binary_search(&place).err().map(|before| place - before);
        let mut at = 0..;
        self.rows.retain(|_| at.next().is_some_and(|place| moved(place).is_some()));
        for row in &mut self.rows {
            row.parent = row.parent.and_then(moved);
            row.label = self.labels.get(&row.id).cloned();
        }
        leaf = leaf.and_then(moved);
        Outline { rows: self.rows, leaf }
    }
}

fn minutes_ahead(at: i64, zone: &TimeZone) -> Option<i32> {
    let time = jiff::Timestamp::from_millisecond(at).ok().filter(|_| !zone.is_unknown())?;
    Some(zone.to_offset(time).seconds() / 60)
}

/// The effect of going to an entry: the new current entry, and the text that is returned for editing. A user
/// message is left out, so that it can be changed; so is the message with which a round of the goal begins.
pub(crate) fn landing(tree: &Tree, id: &str) -> Option<(Option<String>, Option<String>)> {
    let entry = tree.get(id)?;
    let before = || entry.parent.as_ref().map(ToString::to_string);
    Some(match user_text(entry) {
        Some(text) => (before(), Some(text)),
        None if begins_round(entry) => (before(), None),
        None => (Some(id.to_owned()), None),
    })
}

/// Whether a round of the goal begins with it.
fn begins_round(entry: &Entry) -> bool {
    matches!(&entry.body, Body::Message { message }
        if matches!(message.as_ref(), Message::Custom(custom) if custom.custom_type == ROUND))
}

fn user_text(entry: &Entry) -> Option<String> {
    let Body::Message { message } = &entry.body else { return None };
    match message.as_ref() {
        Message::User(user) => Some(user.content.text()),
        _ => None,
    }
}

fn words(body: &Body, titles: &HashMap<String, String>) -> (RowKind, String) {
    match body {
        Body::Message { message } => of_message(message, titles),
        Body::ModelChange { provider, model_id } => {
            (RowKind::Setting, format!("model: {provider}/{model_id}"))
        }
        Body::ThinkingLevelChange { thinking_level } => {
            (RowKind::Setting, format!("thinking: {thinking_level}"))
        }
        Body::Compaction { summary, .. } => (RowKind::Compaction, plain(summary)),
        Body::BranchSummary { summary, .. } => (RowKind::Branch, plain(summary)),
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
        Body::Other { line } => {
            let is_own = line.contains("\"customType\":\"tau.");
            let text = if is_own { "note of tau" } else { "entry of another program" };
            (RowKind::Setting, text.to_owned())
        }
    }
}

fn of_message(message: &Message, titles: &HashMap<String, String>) -> (RowKind, String) {
    match message {
        Message::User(user) => (RowKind::User, user.content.text()),
        Message::Assistant(answer) => {
            let text = answer.text();
            if !text.trim().is_empty() {
                return (RowKind::Assistant, plain(&text));
            }
            let title = |call: &ToolCall| titles.get(call.id.as_str()).cloned();
            let calls: Vec<String> = answer.tool_calls().filter_map(title).collect();
            match answer.stop_reason {
                _ if !calls.is_empty() => (RowKind::Calls, calls.join(", ")),
                StopReason::Aborted => (RowKind::Assistant, "(stopped)".to_owned()),
                StopReason::Error => (
                    RowKind::Assistant,
                    answer.error_message.clone().unwrap_or_else(|| "(failed)".to_owned()),
                ),
                _ => (RowKind::Assistant, thinking_text(&answer.content)),
            }
        }
        Message::ToolResult(result) => {
            let call = titles.get(result.tool_call_id.as_str()).unwrap_or(&result.tool_name);
            (RowKind::Tool, format!("{call}{}", ending(result)))
        }
        Message::BashExecution(run) => {
            let end = match run.exit_code {
                _ if run.cancelled => " ■".to_owned(),
                _ if run.exit_unknown => String::new(),
                Some(0) => String::new(),
                Some(code) => format!(" ✗{code}"),
                None => " ✗".to_owned(),
            };
            (RowKind::Shell, format!("$ {}{end}", line_start(&run.command)))
        }
        Message::Custom(custom) => (RowKind::Custom, custom.content.text()),
        Message::Application(own) => (RowKind::Custom, format!("({})", own.role())),
        Message::BranchSummary(branch) => (RowKind::Branch, plain(&branch.summary)),
        Message::CompactionSummary(summary) => (RowKind::Compaction, plain(&summary.summary)),
    }
}

/// A description of a call: its tool and its title, or else its first string argument.
pub(crate) fn action(call: &ToolCall, title: &dyn Fn(&ToolCall) -> Option<String>) -> String {
    let first = || {
        let fields = call.arguments.as_object()?;
        let named = ["command", "path", "pattern"].into_iter().find_map(|name| fields.get(name)?.as_str());
        named.or_else(|| fields.values().find_map(|value| value.as_str())).map(str::to_owned)
    };
    let title = title(call).or_else(first).unwrap_or_default();
    format!("{} {}", call.name, line_start(&title)).trim_end().to_owned()
}

/// The outcome of a call that did not succeed.
pub(crate) fn ending(result: &ToolResultMessage) -> String {
    if !result.is_error {
        return String::new();
    }
    let text = result.content.iter().find_map(|content| match content {
        Content::Text { text } => Some(text.trim()),
        Content::Image { .. } => None,
    });
    let text = text.unwrap_or_default();
    match (CallEnding::of(text), &result.details) {
        (CallEnding::Unstarted | CallEnding::Stopped, _) => " ■".to_owned(),
        (CallEnding::Skipped, _) => " –".to_owned(),
        (_, Details::Terminal(TerminalOutput { exit_code: Some(code), .. })) => format!(" ✗{code}"),
        _ => " ✗".to_owned(),
    }
}

/// The first line, shortened so that the text after it stays visible.
fn line_start(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let short: String = first.chars().take(ACTION).collect();
    if short.len() < first.len() || lines.next().is_some() { format!("{short}…") } else { short }
}

/// Markdown without its marks, up to the length of a row.
fn plain(markdown: &str) -> String {
    let end = markdown.char_indices().nth(8 * MAX_LEN).map_or(markdown.len(), |(at, _)| at);
    let mut text = String::new();
    for event in Parser::new_ext(markdown.get(..end).unwrap_or(markdown), Options::all()) {
        match event {
            Event::Text(part) | Event::Code(part) | Event::Html(part) | Event::InlineHtml(part) => {
                text.push_str(&part);
            }
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::TaskListMarker(done) => text.push_str(if done { "☑ " } else { "☐ " }),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::CodeBlock | TagEnd::TableCell,
            ) => text.push(' '),
            _ => {}
        }
    }
    if text.trim().is_empty() { markdown.to_owned() } else { text }
}

fn thinking_text(content: &[Block]) -> String {
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
        line.extend(word.chars().take(MAX_LEN));
        if line.len() > MAX_LEN {
            break;
        }
    }
    shorten(&line, MAX_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_from(message: serde_json::Value) -> Message {
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn rows_say_what_was_done_and_not_what_it_printed() {
        let result = |error: bool, text: &str, details: serde_json::Value| {
            message_from(serde_json::json!({
                "role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": error,
                "content": [{"type": "text", "text": text}], "details": details,
            }))
        };
        let failed = serde_json::json!({"kind": "terminal", "text": "E", "exitCode": 1});
        let none = serde_json::Value::Null;
        let call = |name: &str, arguments| {
            let (id, name) = ("c".to_owned(), name.to_owned());
            action(&ToolCall { id, name, arguments, thought_signature: None }, &|_| None)
        };
        let bash = call("bash", serde_json::json!({"timeout": 5, "command": "cargo test\nls"}));
        let titles = HashMap::from([("c".to_owned(), bash)]);
        for (message, expected) in [
            (result(true, "EE. ===\nexit code 1", failed), "bash cargo test… ✗1"),
            (result(false, "ok", none.clone()), "bash cargo test…"),
            (result(true, "out\naborted by the user after 1.0 s", none.clone()), "bash cargo test… ■"),
            (result(true, "skipped: not run, because", none.clone()), "bash cargo test… –"),
            (result(true, "x does not exist", none), "bash cargo test… ✗"),
            (
                message_from(serde_json::json!({"role": "bashExecution", "command": "make", "exitCode": 2})),
                "$ make ✗2",
            ),
        ] {
            assert_eq!(of_message(&message, &titles).1, expected);
        }
        assert_eq!(call("read", serde_json::json!({"path": "src/a.rs"})), "read src/a.rs");
        assert_eq!(call("x", serde_json::json!({"n": 1})), "x");
        let titled = ToolCall {
            id: "c".into(),
            name: "read".into(),
            arguments: serde_json::json!({}),
            thought_signature: None,
        };
        assert_eq!(action(&titled, &|_| Some("a.rs:1-80".to_owned())), "read a.rs:1-80");
    }

    #[test]
    fn of_entries_with_one_id_the_last_is_in_it() {
        let line = |id: &str, parent: Option<&str>, text: &str| {
            let message = serde_json::json!({"role": "user", "content": text});
            let entry = serde_json::json!({"type": "message", "id": id, "parentId": parent,
                "timestamp": "2026-01-02T03:04:06.000Z", "message": message});
            Entry::parse(&entry.to_string()).unwrap()
        };
        let label = serde_json::json!({"type": "label", "id": "l", "parentId": "d", "targetId": "c", "label": "here",
            "timestamp": "2026-01-02T03:04:06.000Z"});
        let mut tree = Tree::default();
        for entry in [
            line("a", None, "replaced"),
            line("b", Some("a"), "its parent comes later"),
            line("a", Some("b"), "in its place"),
            line("c", Some("a"), "child"),
            line("d", Some("c"), "grandchild"),
            Entry::parse(&label.to_string()).unwrap(),
        ] {
            tree.push(entry);
        }
        let Outline { rows, leaf } = outline(&tree);
        let rows: Vec<_> =
            rows.iter().map(|row| (row.text.as_str(), row.parent, row.label.as_deref())).collect();
        assert_eq!(
            rows,
            [
                ("its parent comes later", None, None),
                ("in its place", Some(0), None),
                ("child", Some(1), Some("here")),
                ("grandchild", Some(2), None),
                ("label of c: here", Some(3), None),
            ]
        );
        assert_eq!(leaf, Some(4));
    }

    #[test]
    fn answers_lose_the_marks_of_markdown() {
        let text = "### Changes\n\n- **one** `two`\n- [x] [three](http://x)\n\n```rust\nlet a;\n```";
        assert_eq!(one_line(&plain(text)), "Changes one two ☑ three let a;");
        assert_eq!(plain("[x]: /u"), "[x]: /u");
    }

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
