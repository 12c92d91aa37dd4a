//! What the head of a panel says of a call whose tool tau does not know.

use serde_json::Value;

/// Longest value of an argument in a title, in characters.
const MAX_VALUE_LEN: usize = 120;

/// The arguments as `name=value`.
pub(super) fn of_arguments(args: &Value) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => short(text),
        other => short(&other.to_string()),
    };
    let fields = args.as_object().into_iter().flatten();
    fields.map(|(name, given)| format!("{name}={}", value(given))).collect::<Vec<_>>().join(" ")
}

/// A text in one line, cut if it is long.
pub(super) fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(MAX_VALUE_LEN).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}
