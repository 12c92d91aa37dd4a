//! Placeholders for secrets in texts: `[secret 1-k7qd: github token]`.
//!
//! The number counts the secrets of one run of tau, and the tag identifies that run. A placeholder of an
//! earlier run, as in resumed sessions, is therefore never mistaken for one of this run, and text that
//! merely mentions secrets is not a placeholder.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The start of every placeholder.
const BEGIN: &str = "[secret ";
/// The length of a tag, in characters.
pub const TAG: usize = 4;
/// The longest kind, in bytes.
const KIND: usize = 40;

/// A placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Placeholder<'a> {
    /// The number of the secret, from 1.
    pub number: u32,
    /// The run of tau that knows the value.
    pub tag: &'a str,
    /// The kind of secret.
    pub kind: &'a str,
}

impl fmt::Display for Placeholder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Placeholder { number, tag, kind } = self;
        write!(f, "{BEGIN}{number}-{tag}: {kind}]")
    }
}

/// The placeholders in `text`, in order, with their positions.
pub fn find(text: &str) -> impl Iterator<Item = (Range<usize>, Placeholder<'_>)> {
    text.match_indices(BEGIN).filter_map(|(at, _)| {
        let (placeholder, length) = read(text.get(at..)?)?;
        Some((at..at + length, placeholder))
    })
}

/// The placeholder at the start of `text`, and its length in bytes.
fn read(text: &str) -> Option<(Placeholder<'_>, usize)> {
    let body = text.strip_prefix(BEGIN)?;
    let (number, rest) = body.split_once('-').filter(|(number, _)| number.len() <= 9)?;
    let (tag, rest) = rest.split_once(": ").filter(|(tag, _)| tag.len() == TAG)?;
    let (kind, after) = rest.split_once(']').filter(|(kind, _)| (1..=KIND).contains(&kind.len()))?;
    let of_tag = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let number = number.bytes().all(|b| b.is_ascii_digit()).then(|| number.parse().ok())??;
    let valid = tag.chars().all(of_tag) && kind.chars().all(|c| of_tag(c) || c == ' ');
    valid.then(|| (Placeholder { number, tag, kind }, text.len() - after.len()))
}

/// The value of a secret, on its way to the user who asked for it. It is never written anywhere: it
/// serializes as `null` and deserializes without a value.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValue(String);

impl SecretValue {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        SecretValue(value.into())
    }

    /// The value, for the screen.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True if the value is unknown.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

impl Serialize for SecretValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for SecretValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| SecretValue::default())
    }
}

/// A secret that the user asked to see.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevealedSecret {
    /// The placeholder in texts.
    pub placeholder: String,
    /// The value; empty if unknown, as in a session of an earlier run.
    pub value: SecretValue,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_never_written() {
        let value = SecretValue::new("hunter2");
        assert_eq!(
            (serde_json::to_string(&value).ok().as_deref(), format!("{value:?}").as_str()),
            (Some("null"), "SecretValue(…)")
        );
        assert_eq!(serde_json::from_str::<SecretValue>("null").ok(), Some(SecretValue::default()));
    }

    #[test]
    fn what_is_written_is_found_again() {
        let one = Placeholder { number: 12, tag: "k7qd", kind: "github token" };
        let text = format!("a [secret {one} b {one}] [secret 1: x] [secret 1-k7qd: A] [secret 1-k7q: a]");
        let found: Vec<_> = find(&text).collect();
        assert_eq!(found.iter().map(|(_, found)| *found).collect::<Vec<_>>(), [one, one]);
        assert!(
            found.iter().all(|(range, _)| text.get(range.clone()) == Some("[secret 12-k7qd: github token]"))
        );
    }
}
