//! Searches entries for text: the raw line first, and parses it only if the longest word occurs.

use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use serde_json::Value;

use super::list::MESSAGE;
use tau_protocol::needle::Needle;

/// Fields without text for users.
const UNSAID: &[&str] = tau_tools::words!(
    "type id parentId timestamp role api provider model stopReason toolCallId toolName \
     thinkingSignature thoughtSignature textSignature data mimeType firstKeptEntryId"
);

/// Whether a line of a session, or a message as JSON, contains the text. If that depends on how it is drawn,
/// the result may be true.
pub(super) fn is_said_in(needle: &Needle) -> impl Fn(&[u8]) -> bool {
    let word = needle.longest_word();
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(!needle.is_exact()).fixed_strings(true);
    let matcher = Some(word).filter(|word| !word.is_empty()).and_then(|word| builder.build(word).ok());
    move |line| {
        let may_say = matcher.as_ref().is_none_or(|matcher| matcher.is_match(line).unwrap_or(true));
        may_say && is_shown(line) && serde_json::from_slice(line).is_ok_and(|value| says(&value, needle))
    }
}

/// Whether it is an entry, or a message, that is drawn.
fn is_shown(line: &[u8]) -> bool {
    let shown: [&[u8]; 5] = [
        MESSAGE, br#"{"type":"compaction""#, br#"{"type":"branch_summary""#, br#"{"type":"custom_message""#,
        br#"{"role":"#,
    ];
    shown.iter().any(|start| line.starts_with(start)) || !line.starts_with(br#"{"type":"#)
}

fn says(value: &Value, needle: &Needle) -> bool {
    match value {
        Value::String(text) => needle.count(&needle.fold(text, true)) > 0,
        Value::Array(values) => values.iter().any(|value| says(value, needle)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| !UNSAID.contains(&name.as_str()) && says(value, needle))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
