//! Redacts secrets in text.
//!
//! Two kinds are known: secret values on this machine (keys, variables whose names suggest secrets), and the
//! shapes of providers' keys. Errors and logs are redacted for the first kind, text that is shared with
//! others for both. A word is redacted entirely or not at all.

use super::encoded::EncodedValues;
use super::{Secret, Secrets};
use tau_tools::recognise;

/// The replacement for a secret.
pub(crate) const MARK: &str = "[redacted]";

/// `text` with every occurrence of one of the values replaced, and the number of replacements. If values
/// contain each other, the longer must come first.
pub(super) fn replace_values<'a>(values: impl Iterator<Item = &'a Secret>, text: &str) -> (String, usize) {
    let mut found = 0;
    let mut text = text.to_owned();
    for value in values {
        let times = text.matches(value.expose()).count();
        if times > 0 {
            found += times;
            text = text.replace(value.expose(), MARK);
        }
    }
    (text, found)
}

/// `text` with every value in an encoded form replaced, and the number of replacements.
pub(super) fn replace_encoded(values: &EncodedValues, text: String) -> (String, usize) {
    let mut ranges = values.find(&text);
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let (mut out, mut at, mut found) = (String::with_capacity(text.len()), 0, 0);
    for range in ranges {
        if range.start >= at {
            out.push_str(text.get(at..range.start).unwrap_or_default());
            out.push_str(MARK);
            found += 1;
        }
        at = at.max(range.end);
    }
    out.push_str(text.get(at..).unwrap_or_default());
    (out, found)
}

/// Redacts text and counts the redactions.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
    found: usize,
}

impl Redactor {
    /// A redactor of these values and of keys of known shapes.
    pub fn new(secrets: &[String]) -> Self {
        let mut known = Secrets::default();
        secrets.iter().for_each(|value| known.add_exactly(value));
        Redactor { secrets: known, found: 0 }
    }

    /// The number of secrets redacted so far.
    pub fn count(&self) -> usize {
        self.found
    }

    /// The text without secrets.
    pub fn text(&mut self, text: &str) -> String {
        let (masked, times) = self.secrets.replace(text);
        self.found += times;
        self.redact_likely_secrets(&masked)
    }

    /// A line of JSON without secrets. It stays valid: only the contents of its strings change.
    pub(crate) fn json_line(&mut self, line: &str) -> String {
        match serde_json::from_str(line) {
            Ok(value) => self.value(value).to_string(),
            Err(_) => self.text(line),
        }
    }

    fn value(&mut self, value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(match self.lines(&items) {
                Some(lines) => lines,
                None => items.into_iter().map(|item| self.value(item)).collect(),
            }),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, value)| (self.text(&name), self.value(value))).collect(),
            ),
            other => other,
        }
    }

    /// The lines of a text, such as those of a change, without secrets that extend over several of them. `None` if
    /// the values are something else.
    fn lines(&mut self, items: &[serde_json::Value]) -> Option<Vec<serde_json::Value>> {
        let lines: Option<Vec<&str>> =
            items.iter().map(|item| item.as_str().filter(|line| !line.contains('\n'))).collect();
        let text = lines.filter(|lines| lines.len() > 1)?.join("\n");
        Some(self.text(&text).split('\n').map(Into::into).collect())
    }

    /// Redacts text that looks like a secret.
    fn redact_likely_secrets(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for found in recognise::find(text) {
            out.push_str(text.get(from..found.start).unwrap_or_default());
            out.push_str(MARK);
            from = found.end;
            self.found += 1;
        }
        out + text.get(from..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_redacted_and_words_are_not() {
        let long = "A1b2C3d4E5f6G7h8I9j0K1l2";
        let check = |text: &str, expected: &str, count: usize| {
            let mut redactor = Redactor::new(&["hunter2-hunter2".to_owned(), "short".to_owned()]);
            assert_eq!((redactor.text(text).as_str(), redactor.count()), (expected, count), "{text}");
        };
        check("the password is hunter2-hunter2.", "the password is [redacted].", 1);
        check("short", "short", 0);
        check(&format!("key=sk-ant-api03-{long}\n"), "key=[redacted]\n", 1);
        check(&format!("ghp_{long} and AIza{long}{long}"), "[redacted] and [redacted]", 2);
        check(&format!("\"Bearer xoxb-{long}\""), "\"Bearer [redacted]\"", 1);
        check(
            "a task-oriented-approach-to-everything-here",
            "a task-oriented-approach-to-everything-here",
            0,
        );
        check(
            "sk-short risk-management-of-the-whole-thing",
            "sk-short risk-management-of-the-whole-thing",
            0,
        );
        check("AKIAY34FZKBOKMUTVV7A", "[redacted]", 1);
        // The example key in the AWS documentation.
        check("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE", 0);
        let pem = "x\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\ny";
        check(pem, "x\n[redacted]\ny", 1);
        check("-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc", 0);
        check("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]", 1);
        let token = format!("eyJ{long}.{long}.{long}");
        check(&format!("token: {token}!"), "token: [redacted]!", 1);
    }

    #[test]
    fn lines_stay_json() {
        let mut redactor = Redactor::new(&["with \"quotes\" in it".to_owned()]);
        let line = r#"{"a":["with \"quotes\" in it",1],"b":{"c":"x"}}"#;
        assert_eq!(redactor.json_line(line), r#"{"a":["[redacted]",1],"b":{"c":"x"}}"#);
        assert_eq!(redactor.count(), 1);
        let line = r#"{"lines":["+-----BEGIN PRIVATE KEY-----","+abc","+-----END PRIVATE KEY-----","+x"],"b":["c",""]}"#;
        assert_eq!(redactor.json_line(line), r#"{"lines":["+[redacted]","+x"],"b":["c",""]}"#);
    }
}
