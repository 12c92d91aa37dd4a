//! Converts session text of older versions to the current one.
//!
//! Versions 1 and 2 are converted in place, and the documents from before them to entries of a new session.
//!
//! Pure: text in, text out. The rules are section 7 of the session format.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::entry::{Body, Entry, millis, random_id};
use super::header::Header;
use super::message_json::parse_message;
use super::read::lines;

/// The text of version 3 for a file of version 1 or 2. Lines that are not JSON are unchanged.
pub(crate) fn to_current(bytes: &[u8]) -> Vec<u8> {
    let mut values: Vec<Line<'_>> = lines(bytes).map(Line::of).collect();
    let header = values.iter_mut().find_map(Line::object);
    let from = header.map_or(1, |header| {
        let from = header.get("version").and_then(Value::as_u64).unwrap_or(1);
        set_version(header);
        from
    });
    if from < 2 {
        link(&mut values);
    }
    values.iter_mut().filter_map(Line::object).for_each(rename_hook_messages);
    let mut text = Vec::with_capacity(bytes.len().saturating_mul(2));
    for line in &values {
        line.write(&mut text);
    }
    text
}

/// The text of a file with these fields in its header, or without them where they are null.
pub(super) fn with_fields(bytes: &[u8], fields: [(&str, Value); 3]) -> Vec<u8> {
    let mut fields = Some(fields);
    let mut text = Vec::with_capacity(bytes.len().saturating_add(256));
    for line in lines(bytes) {
        let line = match Header::parse(line).and_then(|_| fields.take()) {
            Some(fields) => Line::of(line).with(fields),
            None => Line::Garbage(line),
        };
        line.write(&mut text);
    }
    text
}

/// A line, parsed or not.
enum Line<'a> {
    Object(Map<String, Value>),
    Garbage(&'a [u8]),
}

impl<'a> Line<'a> {
    fn of(line: &'a [u8]) -> Self {
        serde_json::from_slice(line).map_or(Line::Garbage(line), Line::Object)
    }

    fn object(&mut self) -> Option<&mut Map<String, Value>> {
        match self {
            Line::Object(object) => Some(object),
            Line::Garbage(_) => None,
        }
    }

    /// With these fields, if it is an object.
    fn with(mut self, fields: [(&str, Value); 3]) -> Self {
        if let Some(object) = self.object() {
            object.extend(fields.map(|(name, value)| (name.to_owned(), value)));
            object.retain(|_, value| !value.is_null());
        }
        self
    }

    fn write(&self, text: &mut Vec<u8>) {
        match self {
            // A map of strings and values always becomes JSON.
            Line::Object(object) => text.extend(serde_json::to_vec(object).unwrap_or_default()),
            Line::Garbage(line) => text.extend_from_slice(line),
        }
        text.push(b'\n');
    }
}

fn set_version(header: &mut Map<String, Value>) {
    header.insert("version".into(), 3.into());
    let from = header.get("branchedFrom").filter(|from| from.is_string()).cloned();
    if let Some(from) = from.filter(|_| !header.contains_key("parentSession")) {
        header.insert("parentSession".into(), from);
    }
}

/// Gives each entry of version 1 an id, and the previous entry as parent.
fn link(values: &mut [Line<'_>]) {
    // Positions in the file count only the JSON lines, beginning with the header.
    let mut ids = vec![None];
    for entry in values.iter_mut().filter_map(Line::object).skip(1) {
        let parent = ids.last().cloned().flatten();
        let id =
            entry.get("id").and_then(Value::as_str).map_or_else(|| random_id().to_string(), str::to_owned);
        entry.insert("id".into(), id.as_str().into());
        entry.insert("parentId".into(), parent.map_or(Value::Null, Value::String));
        ids.push(Some(id));
    }
    for entry in values.iter_mut().filter_map(Line::object).skip(1) {
        let Some(index) = entry.remove("firstKeptEntryIndex") else { continue };
        let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
        if let Some(Some(id)) = index.and_then(|index| ids.get(index)) {
            entry.insert("firstKeptEntryId".into(), id.as_str().into());
        }
    }
}

fn rename_hook_messages(entry: &mut Map<String, Value>) {
    if let Some(Value::Object(message)) = entry.get_mut("message")
        && message.get("role").and_then(Value::as_str) == Some("hookMessage")
    {
        message.insert("role".into(), "custom".into());
    }
}

/// The conversation of a document from before version 1, as linked entries.
pub fn import(bytes: &[u8]) -> Vec<Entry> {
    let mut names = HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines(bytes) {
        let Ok(Value::Object(line)) = serde_json::from_slice::<Value>(line) else { continue };
        let Some(Value::Object(mut message)) = document_message(&line).cloned() else { continue };
        note_calls(&message, &mut names);
        complete_result(&mut message, &names);
        let timestamp = line.get("timestamp").and_then(Value::as_str).and_then(millis);
        let timestamp = timestamp.or_else(|| message.get("timestamp").and_then(Value::as_i64)).unwrap_or(0);
        let Some(message) = parse_message(&Value::Object(message).to_string()) else { continue };
        let parent = entries.last().map(|entry| entry.id.clone());
        let body = Body::Message { message: message.into() };
        entries.push(Entry { id: random_id(), parent, timestamp, body, raw: None });
    }
    entries
}

/// The message in a `message` line, or in the event that ended a message.
fn document_message(line: &Map<String, Value>) -> Option<&Value> {
    match line.get("type")?.as_str()? {
        "message" => line.get("message"),
        "event" => {
            let event = line.get("event")?;
            let ended = event.get("type").and_then(Value::as_str) == Some("message_end");
            event.get("message").filter(|_| ended)
        }
        _ => None,
    }
}

/// Remembers the names of the tools that a message calls.
fn note_calls(message: &Map<String, Value>, names: &mut HashMap<String, String>) {
    let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
    for block in blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some("toolCall")) {
        let text = |field| block.get(field).and_then(Value::as_str).map(str::to_owned);
        if let (Some(id), Some(name)) = (text("id"), text("name")) {
            names.insert(id, name);
        }
    }
}

/// Converts tool results, which had `output` instead of `content`, and no name.
fn complete_result(message: &mut Map<String, Value>, names: &HashMap<String, String>) {
    if message.get("role").and_then(Value::as_str) != Some("toolResult") {
        return;
    }
    if !message.contains_key("content")
        && let Some(output) = message.remove("output")
    {
        message.insert("content".into(), output);
    }
    let call = message.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
    if let Some(name) = names.get(call).filter(|_| !message.contains_key("toolName")) {
        message.insert("toolName".into(), name.as_str().into());
    }
}
