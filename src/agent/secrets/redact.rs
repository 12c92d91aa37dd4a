//! Finds secrets in text and puts a mark in their place.
//!
//! Two kinds are known: values that are secret here (keys, variables whose names say so), and
//! the shapes in which vendors write their keys. A word is masked whole or not at all.

use std::collections::BTreeSet;

/// What stands in the place of a secret.
const MARK: &str = "[secret]";
/// Shorter values are as likely to be ordinary words.
const SHORTEST: usize = 8;

/// Beginnings of keys, and how many characters have to follow at least.
const SHAPES: [(&str, usize); 20] = [
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("gsk_", 20),
    ("xai-", 20),
    ("hf_", 20),
    ("r8_", 20),
    ("pplx-", 20),
    ("AIza", 30),
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("npm_", 30),
];

/// Length of the shortest key of these shapes.
const SHORTEST_KEY: usize = 20;

/// Masks text and counts.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    /// Longest first, so that none is hidden by a part of it.
    values: Vec<String>,
    found: usize,
}

impl Mask {
    /// A mask for these values, and for keys of known shapes.
    pub fn new(secrets: &[String]) -> Self {
        let values: BTreeSet<String> = secrets
            .iter()
            .map(|value| value.trim().to_owned())
            .filter(|value| value.len() >= SHORTEST)
            .collect();
        let mut values: Vec<String> = values.into_iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Mask { values, found: 0 }
    }

    /// How many were masked so far.
    pub fn count(&self) -> usize {
        self.found
    }

    /// The text without secrets.
    pub fn text(&mut self, text: &str) -> String {
        let mut masked = text.to_owned();
        for value in &self.values {
            let times = masked.matches(value.as_str()).count();
            if times > 0 {
                self.found += times;
                masked = masked.replace(value.as_str(), MARK);
            }
        }
        let masked = self.private_keys(&masked);
        self.words(&masked)
    }

    /// A line of JSON without secrets. It stays JSON: what is masked stands within its strings.
    pub fn json_line(&mut self, line: &str) -> String {
        match serde_json::from_str(line) {
            Ok(value) => self.value(value).to_string(),
            Err(_) => self.text(line),
        }
    }

    fn value(&mut self, value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item)).collect()),
            Value::Object(fields) => {
                Value::Object(fields.into_iter().map(|(name, value)| (name, self.value(value))).collect())
            }
            other => other,
        }
    }

    /// Words that look like keys.
    fn words(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for piece in text.split_inclusive(|c| !is_of_word(c)) {
            let word = piece.strip_suffix(|c| !is_of_word(c)).unwrap_or(piece);
            match before_key(word) {
                Some(before) => {
                    self.found += 1;
                    out.push_str(before);
                    out.push_str(MARK);
                    out.extend(piece.strip_prefix(word));
                }
                None => out.push_str(piece),
            }
        }
        out
    }

    fn private_keys(&mut self, text: &str) -> String {
        const BEGIN: &str = "-----BEGIN ";
        const END: &str = "PRIVATE KEY-----";
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, begun)) = rest.split_once(BEGIN) {
            let inner = begun.split_once(END).filter(|(kind, _)| kind.len() < 40);
            let Some((kind, key)) = inner else {
                out.push_str(before);
                out.push_str(BEGIN);
                rest = begun;
                continue;
            };
            out.push_str(before);
            out.push_str(MARK);
            self.found += 1;
            // A key that was cut off is masked to the end.
            let end = format!("-----END {kind}{END}");
            rest = key.split_once(end.as_str()).map_or("", |(_, after)| after);
        }
        out + rest
    }
}

/// Keys have digits or large letters in them; words with dashes do not.
fn mixed(key: &str) -> bool {
    key.chars().skip(3).any(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// What stands before the key that a word holds; none when it holds none.
fn before_key(word: &str) -> Option<&str> {
    // Nearly all words are shorter than any key, and looking at them closer takes long.
    if word.len() < SHORTEST_KEY {
        return None;
    }
    let token = word.starts_with("eyJ") && word.len() > 60 && word.matches('.').count() == 2;
    SHAPES.iter().find_map(|(begin, least)| shaped(word, begin, *least)).or(token.then_some(""))
}

fn shaped<'w>(word: &'w str, begin: &str, least: usize) -> Option<&'w str> {
    let (before, key) = word.split_at_checked(word.find(begin)?)?;
    // In the middle of another word these letters are no beginning.
    let begins = before.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    (begins && key.len() >= begin.len() + least && mixed(key)).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_words_are_not() {
        let long = "A1b2C3d4E5f6G7h8I9j0K1l2";
        let check = |text: &str, expected: &str, count: usize| {
            let mut mask = Mask::new(&["hunter2-hunter2".to_owned(), "short".to_owned()]);
            assert_eq!((mask.text(text).as_str(), mask.count()), (expected, count), "{text}");
        };
        check("the password is hunter2-hunter2.", "the password is [secret].", 1);
        check("short", "short", 0);
        check(&format!("key=sk-ant-api03-{long}\n"), "key=[secret]\n", 1);
        check(&format!("ghp_{long} and AIza{long}{long}"), "[secret] and [secret]", 2);
        check(&format!("\"Bearer xoxb-{long}\""), "\"Bearer [secret]\"", 1);
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
        check("AKIAIOSFODNN7EXAMPLE", "[secret]", 1);
        let pem = "x\n-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\ny";
        check(pem, "x\n[secret]\ny", 1);
        check("-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc", 0);
        check("-----BEGIN PRIVATE KEY-----\nabc", "[secret]", 1);
        let token = format!("eyJ{long}.{long}.{long}");
        check(&format!("token: {token}!"), "token: [secret]!", 1);
    }

    #[test]
    fn no_key_is_shorter_than_what_is_looked_at() {
        let shortest = SHAPES.iter().map(|(begin, least)| begin.len() + least).min();
        assert_eq!(shortest, Some(SHORTEST_KEY));
    }

    #[test]
    fn lines_stay_json() {
        let mut mask = Mask::new(&["with \"quotes\" in it".to_owned()]);
        let line = r#"{"a":["with \"quotes\" in it",1],"b":{"c":"x"}}"#;
        assert_eq!(mask.json_line(line), r#"{"a":["[secret]",1],"b":{"c":"x"}}"#);
        assert_eq!(mask.count(), 1);
    }
}
