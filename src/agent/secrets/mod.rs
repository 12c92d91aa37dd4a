//! Secret values: keys and tokens.
//!
//! A [`Secret`] has no `Display` and no `Serialize`, and its `Debug` shows nothing. The only way to its value
//! is [`Secret::expose`]. [`redact`] removes secrets from text permanently, and `vault` replaces them by
//! placeholders and keeps the values. `tools/recognise` recognises secrets in text.

mod encoded;
pub mod masking;
pub(crate) mod redact;
pub mod vault;
mod visible;

use std::sync::OnceLock;

use encoded::EncodedValues;
use tau_tools::recognise::MIN_LEN;

/// A key or token.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value; surrounding white space, which pasted keys often have, is dropped.
    pub fn new(value: impl AsRef<str>) -> Self {
        Secret(value.as_ref().trim().to_owned())
    }

    /// The value itself, for a request header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `text` with every occurrence of this value redacted.
    pub fn redact(&self, text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.add_exactly(&self.0);
        secrets.redact(text)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Values that are redacted together.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Longest first.
    values: Vec<Secret>,
    /// Their encoded forms, once they are needed.
    encoded: OnceLock<EncodedValues>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.values.fmt(f)
    }
}

impl Secrets {
    /// Adds a value, and the part after its first word, as in `Bearer …`.
    pub fn add(&mut self, value: &str) {
        let rest = value.trim().split_once(' ').map(|(_, rest)| rest);
        [Some(value), rest].into_iter().flatten().for_each(|value| self.add_exactly(value));
    }

    /// Adds a value, unless it is too short to differ from a word.
    pub(crate) fn add_exactly(&mut self, value: &str) {
        let secret = Secret::new(value);
        if secret.0.len() >= MIN_LEN && !self.values.contains(&secret) {
            self.values.push(secret);
            // If one contains another, the longer one goes first, or the rest of it would stay.
            self.values.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
            self.encoded = OnceLock::new();
        }
    }

    /// The values, longest first.
    pub fn iter(&self) -> impl Iterator<Item = &Secret> {
        self.values.iter()
    }

    /// `text` with every occurrence of one of them redacted, also in an encoded form. Must be done before a text is shortened: the
    /// first part of a cut value would stay.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.replace(text).0
    }

    /// Like [`Secrets::redact`], with the number of redactions.
    fn replace(&self, text: &str) -> (String, usize) {
        let (text, found) = redact::replace_values(self.iter(), text);
        let encoded = || EncodedValues::new(self.iter().map(Secret::expose));
        let (text, encoded) = redact::replace_encoded(self.encoded.get_or_init(encoded), text);
        (text, found + encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_out_whole() {
        let check = |values: &[&str], text: &str, expected: &str| {
            let mut secrets = Secrets::default();
            values.iter().for_each(|value| secrets.add(value));
            assert_eq!(secrets.redact(text), expected, "{values:?}");
        };
        check(&["sk-12345678"], "no sk-12345678, no", "no [redacted], no");
        check(&["Bearer sk-12345678"], "sk-12345678, Bearer sk-12345678", "[redacted], [redacted]");
        check(&["sk-12345678", "sk-12345678-more"], "sk-12345678-more", "[redacted]");
        check(&["red", "", "Basic red"], "red Basic red", "red [redacted]");
        let key = &["sk/123456789"][..];
        check(key, "no sk%2F123456789, no c2svMTIzNDU2Nzg5", "no [redacted], no [redacted]");
        check(key, "no 736b2f3132333435 36373839, no 987654321/ks", "no [redacted], no [redacted]");
        check(key, "{\"key\": \"sk\\/123456789\"", "{\"key\": \"[redacted]\"");
    }
}
