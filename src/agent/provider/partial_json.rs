//! JSON text of tool arguments: parsed strictly when complete, leniently while it arrives.
//!
//! The strict parser decides which arguments run; the lenient one is only for titles and never runs. The
//! reader walks the text once, so its cost is linear; callers use it rarely.

use serde_json::{Map, Value};

/// The maximum nesting; deeper values are left out.
const MAX_DEPTH: usize = 64;

/// The arguments of a finished call. Nothing, blanks and `null` are an empty object; text that is not valid
/// JSON or not an object is returned as a string, which is never run.
pub fn arguments(raw: &str) -> Value {
    let text = raw.trim();
    if text.is_empty() || text == "null" {
        return Value::Object(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => value,
        _ => Value::String(raw.to_owned()),
    }
}

/// The part of the value that `text` already holds: a string that is cut ends where the text ends, a key
/// without its value is left out. Null if there is nothing yet.
pub fn partial(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let mut reader = Reader { rest: text };
    reader.value(0).unwrap_or(Value::Null)
}

/// The remaining text.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Consumes `token` if it is next.
    fn take(&mut self, token: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip_blanks();
        if depth > MAX_DEPTH {
            return None;
        }
        match self.rest.chars().next()? {
            '{' => Some(Value::Object(self.object(depth))),
            '[' => Some(Value::Array(self.array(depth))),
            '"' => self.string().map(|(text, _)| Value::String(text)),
            _ => self.scalar(),
        }
    }

    fn object(&mut self, depth: usize) -> Map<String, Value> {
        let mut map = Map::new();
        self.take('{');
        loop {
            self.skip_blanks();
            let Some((key, true)) = self.string() else {
                // No key follows in an empty object, and its end is not the end of the enclosing one.
                self.take('}');
                break;
            };
            if !self.take(':') {
                break;
            }
            let Some(value) = self.value(depth + 1) else { break };
            map.insert(key, value);
            if !self.take(',') {
                self.take('}');
                break;
            }
        }
        map
    }

    fn array(&mut self, depth: usize) -> Vec<Value> {
        let mut list = Vec::new();
        self.take('[');
        while let Some(value) = self.value(depth + 1) {
            list.push(value);
            if !self.take(',') {
                break;
            }
        }
        self.take(']');
        list
    }

    /// A string, and whether its closing quote has arrived.
    fn string(&mut self) -> Option<(String, bool)> {
        let body = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        for (at, c) in body.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let (inside, rest) = body.split_at_checked(at)?;
                    self.rest = rest.strip_prefix('"').unwrap_or_default();
                    return Some((unescape(inside), true));
                }
                _ => {}
            }
        }
        self.rest = "";
        Some((unescape(body), false))
    }

    /// A number, true, false or null; `None` if it is cut.
    fn scalar(&mut self) -> Option<Value> {
        let end = self.rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        serde_json::from_str(word).ok()
    }
}

/// Unescapes a JSON string that may be cut in the middle of an escape.
fn unescape(inside: &str) -> String {
    // A cut escape is at most a surrogate pair short of its last digit: 11 bytes.
    let mut text = inside;
    for _ in 0..12 {
        if let Ok(whole) = serde_json::from_str::<String>(&format!("\"{text}\"")) {
            return whole;
        }
        let Some((end, _)) = text.char_indices().next_back() else { break };
        text = text.get(..end).unwrap_or_default();
    }
    inside.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_arguments() {
        let check = |raw: &str, expected: Value| assert_eq!(arguments(raw), expected, "{raw:?}");
        check("", json!({}));
        check(" ", json!({}));
        check("null", json!({}));
        check("{}", json!({}));
        check(" {\"a\": 1} ", json!({"a": 1}));
        check("{\"a\": ", json!("{\"a\": "));
        check("[1]", json!("[1]"));
        check("\"x\"", json!("\"x\""));
        check("{\"a\":1}{\"b\":2}", json!("{\"a\":1}{\"b\":2}"));
    }

    #[test]
    fn arguments_in_flight() {
        let check = |text: &str, expected: Value| assert_eq!(partial(text), expected, "{text:?}");
        check("", Value::Null);
        check("{", json!({}));
        check("{\"pa", json!({}));
        check("{\"path\"", json!({}));
        check("{\"path\":", json!({}));
        check("{\"path\":\"src/ma", json!({"path": "src/ma"}));
        check("{\"path\":\"a\\", json!({"path": "a"}));
        check("{\"path\":\"a\\u00e", json!({"path": "a"}));
        check("{\"path\":\"\\ud83d\\ude0", json!({"path": ""}));
        check("{\"a\":\"x\",\"n\":1", json!({"a": "x", "n": 1}));
        check("{\"a\":[{\"b\":\"c\"},{\"d\":\"e", json!({"a": [{"b": "c"}, {"d": "e"}]}));
        check("{\"a\":tru", json!({}));
        check("{\"a\":{\"b\":{},\"c\":\"d", json!({"a": {"b": {}, "c": "d"}}));
        check("{\"a\":\"q\\\"uote\", \"b\":\"é", json!({"a": "q\"uote", "b": "é"}));
    }

    #[test]
    fn deep_nesting_ends() {
        assert!(partial(&"[".repeat(100_000)).is_array());
    }
}
