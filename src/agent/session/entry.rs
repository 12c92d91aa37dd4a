//! One line of a session file as a value, and its parser and writer.
//!
//! Entries are links of a tree; [`super::tree`] interprets it. A line of an unknown type keeps its text, so
//! that data of other programs is not lost.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::message_json::{add_unknown_fields, parse_message};
use super::surrogates::repair_json;
use tau_protocol::message::{Message, UserContent};
pub use tau_tools::times::now;

/// An entry of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Identifies it in its file.
    pub id: Arc<str>,
    /// The previous entry on its branch; `None` for a root.
    pub parent: Option<Arc<str>>,
    /// The time of writing, in milliseconds since 1970.
    pub timestamp: i64,
    /// Its content.
    pub body: Body,
    /// The original line, if tau would write it differently: another program wrote it, and it may have
    /// unknown fields. `None` for lines of tau.
    pub raw: Option<Box<str>>,
}

/// The content of an entry: the types of section 4 of the session format.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Body {
    /// A message.
    Message { message: Arc<Message> },
    /// A change of the model.
    ModelChange { provider: String, model_id: String },
    /// A change of the thinking level; any word, as other programs have other levels.
    ThinkingLevelChange { thinking_level: String },
    /// Replaces everything before `first_kept_entry_id` by the summary.
    Compaction {
        summary: String,
        first_kept_entry_id: String,
        tokens_before: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// A summary of the branch that ends at `from_id`.
    BranchSummary {
        from_id: String,
        summary: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Value>,
    },
    /// Removes the target from the context, or replaces its content.
    ContextEdit { target_id: String, replacement: Option<ContextReplacement> },
    /// Extension data that is sent to the model as user text.
    CustomMessage {
        custom_type: String,
        content: UserContent,
        display: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// Labels an entry; without a label, removes it.
    Label {
        target_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Names the session; an empty name removes it.
    SessionInfo { name: String },
    /// An entry without a message: extension data, usage, the prompt of another program, a type or role of a
    /// later version. Holds the original line.
    #[serde(skip)]
    Other { line: Box<str> },
}

/// The new content of an edited message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextReplacement {
    /// Text or blocks.
    pub content: UserContent,
}

impl Body {
    /// The value of `type` in the file; empty for [`Body::Other`], which holds its own line.
    fn kind(&self) -> &'static str {
        match self {
            Body::Message { .. } => "message",
            Body::ModelChange { .. } => "model_change",
            Body::ThinkingLevelChange { .. } => "thinking_level_change",
            Body::Compaction { .. } => "compaction",
            Body::BranchSummary { .. } => "branch_summary",
            Body::ContextEdit { .. } => "context_edit",
            Body::CustomMessage { .. } => "custom_message",
            Body::Label { .. } => "label",
            Body::SessionInfo { .. } => "session_info",
            Body::Other { .. } => "",
        }
    }
}

/// A line to be written; the head comes first, so that lists can read it cheaply.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LineFields<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: &'a str,
    parent_id: Option<&'a str>,
    timestamp: String,
    #[serde(flatten)]
    body: &'a Body,
}

/// A parsed line of any type, with all known fields of all types. `'a` is the line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Read<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    provider: Option<String>,
    model_id: Option<String>,
    thinking_level: Option<String>,
    summary: Option<String>,
    first_kept_entry_id: Option<String>,
    tokens_before: Option<f64>,
    from_id: Option<String>,
    target_id: Option<String>,
    replacement: Option<ContextReplacement>,
    custom_type: Option<String>,
    content: Option<UserContent>,
    display: Option<bool>,
    details: Option<Value>,
    usage: Option<Value>,
    label: Option<String>,
    name: Option<String>,
}

/// The fields of every line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    id: Arc<str>,
    parent_id: Option<Arc<str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
}

impl Entry {
    /// The entry in a line; `None` if it is not a JSON object with a type and an id. An unknown type, or one
    /// whose fields do not match the specification, gives [`Body::Other`].
    pub fn parse(line: &str) -> Option<Entry> {
        let whole = repair_json(line);
        let head: Head<'_> = serde_json::from_str(&whole).ok()?;
        // A second header is not an entry: it would separate later entries from earlier ones.
        if head.kind == "session" {
            return None;
        }
        let other = || Body::Other { line: line.trim().into() };
        let known = serde_json::from_str::<Read<'_>>(&whole).ok();
        let mut entry = Entry {
            id: head.id,
            parent: head.parent_id,
            timestamp: head.timestamp.as_deref().and_then(millis).unwrap_or(0),
            body: known.and_then(|read| read.body(&head.kind)).unwrap_or_else(other),
            raw: None,
        };
        if !entry.is_written_as(line.trim()) {
            entry.raw = Some(line.trim().into());
        }
        Some(entry)
    }

    pub(crate) fn is_message(&self) -> bool {
        matches!(self.body, Body::Message { .. })
    }

    /// The content of a line, with or without an id: version 1 had none.
    pub(super) fn parse_any(line: &str) -> Option<Body> {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        let line = repair_json(line);
        let kind: Kind = serde_json::from_str(&line).ok()?;
        serde_json::from_str::<Read<'_>>(&line).ok()?.body(&kind.r#type)
    }

    /// The line of this entry, with its line end. The original line is returned unchanged.
    pub fn line(&self) -> Vec<u8> {
        let mut bytes = match (&self.raw, &self.body) {
            (Some(line), _) | (None, Body::Other { line }) => line.as_bytes().to_vec(),
            // Nothing in an entry can fail to become JSON: keys are strings, numbers finite.
            _ => serde_json::to_vec(&self.line_fields()).unwrap_or_default(),
        };
        bytes.push(b'\n');
        bytes
    }

    /// The line of an entry with extension data that replaces this one.
    pub(crate) fn custom_line(&self, custom_type: &str, data: Value) -> String {
        self.line_of("custom", json!({ "customType": custom_type, "data": data }))
    }

    /// The line of an entry of this type with these fields that replaces this one.
    pub(crate) fn line_of(&self, kind: &str, fields: Value) -> String {
        let mut line = json!({
            "type": kind,
            "id": *self.id,
            "parentId": self.parent.as_deref(),
            "timestamp": iso(self.timestamp),
        });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        line.to_string()
    }

    /// The extension data in this entry, if it is of this type.
    pub(crate) fn custom_data(&self, custom_type: &str) -> Option<Value> {
        let Body::Other { line } = &self.body else { return None };
        if !line.contains(custom_type) {
            return None;
        }
        let mut value: Value = serde_json::from_str(line).ok()?;
        (value.get("customType").and_then(Value::as_str) == Some(custom_type)).then(|| value["data"].take())
    }

    fn line_fields(&self) -> LineFields<'_> {
        LineFields {
            kind: self.body.kind(),
            id: &self.id,
            parent_id: self.parent.as_deref(),
            timestamp: iso(self.timestamp),
            body: &self.body,
        }
    }

    /// Whether tau would write exactly this line, so that it need not be kept.
    fn is_written_as(&self, line: &str) -> bool {
        if matches!(self.body, Body::Other { .. }) {
            return true;
        }
        let mut expected = ExactWriter(line.as_bytes());
        serde_json::to_writer(&mut expected, &self.line_fields()).is_ok() && expected.0.is_empty()
    }

    /// `message`, which this entry adds to the context, as JSON, with unknown fields from other programs.
    pub(crate) fn message_json(&self, message: &Message) -> Value {
        let mut value = serde_json::to_value(message).unwrap_or_default();
        let raw = self.raw.as_deref().and_then(|line| serde_json::from_str::<Read<'_>>(line).ok());
        let raw = raw.and_then(|read| serde_json::from_str::<Value>(read.message?.get()).ok());
        if let (Body::Message { message: stored }, Some(raw)) = (&self.body, raw) {
            // The content of an edited message is not that of the line.
            let is_edited = **stored != *message;
            add_unknown_fields(&mut value, raw, is_edited);
        }
        value
    }
}

/// Accepts exactly these bytes; the first difference is an error.
struct ExactWriter<'a>(&'a [u8]);

impl Write for ExactWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rest = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        self.0 = rest;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read<'_> {
    /// The body of a line of type `kind`; `None` if a required field is missing.
    fn body(self, kind: &str) -> Option<Body> {
        let body = match kind {
            "message" => Body::Message { message: Arc::new(parse_message(self.message?.get())?) },
            "model_change" => Body::ModelChange { provider: self.provider?, model_id: self.model_id? },
            "thinking_level_change" => Body::ThinkingLevelChange { thinking_level: self.thinking_level? },
            "compaction" => Body::Compaction {
                summary: self.summary?,
                first_kept_entry_id: self.first_kept_entry_id.unwrap_or_default(),
                tokens_before: self.tokens_before.unwrap_or_default() as u64,
                details: self.details,
                usage: self.usage,
            },
            "branch_summary" => Body::BranchSummary {
                from_id: self.from_id.unwrap_or_default(),
                summary: self.summary?,
                details: self.details,
                usage: self.usage,
            },
            "context_edit" => Body::ContextEdit { target_id: self.target_id?, replacement: self.replacement },
            "custom_message" => Body::CustomMessage {
                custom_type: self.custom_type?,
                content: self.content.unwrap_or(UserContent::Text(String::new())),
                display: self.display.unwrap_or_default(),
                details: self.details,
            },
            "label" => Body::Label { target_id: self.target_id?, label: self.label },
            "session_info" => Body::SessionInfo { name: self.name.unwrap_or_default() },
            _ => return None,
        };
        Some(body)
    }
}

/// A timestamp of the file (ISO 8601) in milliseconds since 1970.
pub(crate) fn millis(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// The file's format of milliseconds since 1970: ISO 8601, UTC, milliseconds, `Z`.
pub fn iso(millis: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{time:.3}")
}

/// Eight random hex digits.
pub(crate) fn random_id() -> Arc<str> {
    // The last four bytes of such an id are random.
    let [.., a, b, c, d] = *tau_tools::ids::id().as_bytes();
    format!("{:08x}", u32::from_be_bytes([a, b, c, d])).into()
}

#[cfg(test)]
mod tests {
    use super::{Body, Entry, iso, millis};

    #[test]
    fn a_line_is_written_as_it_was_read() {
        let lines = [
            r#"{"type":"model_change","id":"5d0a1f3c","parentId":null,"timestamp":"2026-01-02T03:04:05.700Z","provider":"local","modelId":"coder-32b"}"#,
            r#"{"type":"thinking_level_change","id":"91b2c3d4","parentId":"5d0a1f3c","timestamp":"2026-01-02T03:04:05.700Z","thinkingLevel":"medium"}"#,
            r#"{"type":"message","id":"0c4e77aa","parentId":"91b2c3d4","timestamp":"2026-01-02T03:04:09.010Z","message":{"role":"user","content":[{"type":"text","text":"Why is the build red?"}],"timestamp":1767323049000}}"#,
            r#"{"type":"compaction","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:09.010Z","summary":"s","firstKeptEntryId":"b","tokensBefore":12}"#,
            r#"{"type":"context_edit","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:09.010Z","targetId":"b","replacement":null}"#,
            r#"{"type":"label","id":"a","parentId":"b","timestamp":"2026-01-02T03:04:09.010Z","targetId":"b"}"#,
            r#"{"type":"marvel","id":"a","parentId":"b","deep":{"x":[1,2]}}"#,
        ];
        for line in lines {
            let entry = Entry::parse(line).unwrap();
            assert_eq!(String::from_utf8(entry.line()).unwrap(), format!("{line}\n"));
        }
    }

    #[test]
    fn fields_of_other_programs_are_kept() {
        let line = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:09.010Z","own":1,"message":{"role":"user","content":[{"type":"text","text":"x","mark":2}],"timestamp":5,"mood":{"deep":[1]}}}"#;
        let entry = Entry::parse(line).unwrap();
        assert_eq!(String::from_utf8(entry.line()).unwrap(), format!("{line}\n"));
        let Body::Message { message } = &entry.body else { panic!("{entry:?}") };
        let expected = serde_json::json!({"role": "user", "content": [{"type": "text", "text": "x", "mark": 2}], "timestamp": 5, "mood": {"deep": [1]}});
        assert_eq!(entry.message_json(message), expected);
        // Lines of tau are not stored twice.
        let own = line
            .replace(r#","own":1"#, "")
            .replace(r#","mark":2"#, "")
            .replace(r#","mood":{"deep":[1]}"#, "");
        assert_eq!(Entry::parse(&own).unwrap().raw, None);
    }

    #[test]
    fn unknown_roles_are_links() {
        let line = r#"{"type":"message","id":"a","message":{"role":"system","content":"x"}}"#;
        assert_eq!(Entry::parse(line).unwrap().body, Body::Other { line: line.into() });
    }

    #[test]
    fn times_go_both_ways() {
        assert_eq!(iso(1_767_323_045_678), "2026-01-02T03:04:05.678Z");
        assert_eq!(millis("2026-01-02T03:04:05.678Z"), Some(1_767_323_045_678));
    }
}
