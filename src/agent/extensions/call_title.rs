//! Titles of calls whose tool tau does not know.

use serde_json::Value;
use tau_tools::budget::shorten;

/// The maximum length of an argument's value in a title, in characters.
const MAX_VALUE_LEN: usize = 120;

/// The arguments as `name=value`.
pub(crate) fn of_arguments(args: &Value) -> String {
    let value = |value: &Value| match value {
        Value::String(text) => short(text),
        other => short(&other.to_string()),
    };
    let fields = args.as_object().into_iter().flatten();
    fields.map(|(name, given)| format!("{name}={}", value(given))).collect::<Vec<_>>().join(" ")
}

/// A text on one line, cut if it is long.
pub(super) fn short(text: &str) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_VALUE_LEN)
}
