//! Reads JSON of providers: borrowed text, loosely typed values, repair of broken escapes.
//!
//! Only shapes that occur in several wire formats live here; the decoders interpret them.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Failure, FailureKind};

/// Text that is borrowed from the frame where it has no escapes.
///
/// A newtype, because serde borrows through it even inside an `Option`, where it would copy a
/// bare `Cow`.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl Text<'_> {
    /// The text; `None` if it is absent or empty.
    pub(super) fn non_empty<'t, 'a: 't, T: Borrow<Text<'a>>>(text: &'t Option<T>) -> Option<&'t str> {
        text.as_ref().map(|text| text.borrow().0.as_ref()).filter(|text| !text.is_empty())
    }
}

/// A field that should be a string, but is of another type with some servers.
#[derive(Debug, Default)]
pub(super) enum StringOrJson<'a> {
    /// Absent or null.
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    /// A list, an object, a number; boxed like [`RareField`].
    Other(Box<Value>),
}

impl<'de: 'a, 'a> Deserialize<'de> for StringOrJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StringOrJsonVisitor)
    }
}

struct StringOrJsonVisitor;

impl<'de> Visitor<'de> for StringOrJsonVisitor {
    type Value = StringOrJson<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(StringOrJson::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(StringOrJson::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(StringOrJson::Text(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(StringOrJson::Nothing)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(StringOrJson::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(StringOrJson::other(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(StringOrJson::other(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(StringOrJson::other(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(StringOrJson::other(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(serde::de::value::SeqAccessDeserializer::new(seq)).map(StringOrJson::other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(StringOrJson::other)
    }
}

impl StringOrJson<'_> {
    fn other(value: impl Into<Value>) -> Self {
        StringOrJson::Other(Box::new(value.into()))
    }

    /// The string, or the JSON text of another value; empty if absent.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            StringOrJson::Nothing => Cow::Borrowed(""),
            StringOrJson::Text(text) => Cow::Borrowed(text),
            StringOrJson::Other(value) => Cow::Owned(value.to_string()),
        }
    }
}

/// The first element of a list, if only one was requested. The others are skipped.
#[derive(Debug, Default)]
pub(super) struct FirstOf<T>(pub(super) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for FirstOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FirstOfVisitor(PhantomData))
    }
}

struct FirstOfVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FirstOfVisitor<T> {
    type Value = FirstOf<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let first = seq.next_element()?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FirstOf(first))
    }
}

/// A list; text in its place is no list, and counts as an empty one.
#[derive(Debug)]
pub(super) struct ListOrText<T>(pub(super) Vec<T>);

impl<T> Default for ListOrText<T> {
    fn default() -> Self {
        ListOrText(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ListOrText<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrTextVisitor(PhantomData))
    }
}

struct ListOrTextVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListOrTextVisitor<T> {
    type Value = ListOrText<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(ListOrText::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(seq)).map(ListOrText)
    }
}

/// A field that most events lack. Boxed, because an event is moved several times while it is read, which is
/// much of the work for a small one.
pub(super) type RareField<T> = Option<Box<T>>;

/// A second, slower reading of an object that typed reading refused: lone surrogates become U+FFFD, and the
/// last of repeated keys counts.
pub(super) fn lenient(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&without_lone_surrogates(text)).map_err(|_| error))
        .map_err(|error| json_failure(&error))
}

/// Has an object read by `read`; if that fails, a second time with what a strict reader refuses repaired.
pub(super) fn read_object(
    text: &str,
    mut read: impl FnMut(&str) -> serde_json::Result<()>,
) -> Result<(), Failure> {
    if read(text).is_ok() {
        return Ok(());
    }
    // Raw values cannot be borrowed from a repaired object, so its text is read again.
    read(&lenient(text)?.to_string()).map_err(|error| json_failure(&error))
}

/// The failure for an unreadable frame.
pub(super) fn json_failure(error: &serde_json::Error) -> Failure {
    Failure::new(FailureKind::Protocol, format!("the provider sent malformed JSON: {error}"))
}

/// Reads a value that was kept as raw text.
pub(super) fn raw_value(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| lenient(raw.get()).ok()).unwrap_or_default()
}

/// An integer in a field that may be absent, null, a float or a string. Negative numbers become 0.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => {
            number.as_u64().or_else(|| number.as_f64().map(|float| float.max(0.0) as u64))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A field read by [`count`].
#[derive(Debug, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl Count {
    /// The number, or 0.
    pub(super) fn or_zero(&self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Count(count(&value)))
    }
}

/// Replaces `\uD800`-`\uDFFF` escapes that are not part of a pair.
fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let unit = surrogate(after);
        let pair = after.get(5..).and_then(|tail| tail.strip_prefix('\\')).and_then(surrogate);
        let (text, taken) = match (unit, pair) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => (after.get(..11), 11),
            (Some(0xD800..=0xDFFF), _) => (Some("ufffd"), 5),
            _ => {
                let size = after.chars().next().map_or(0, char::len_utf8);
                (after.get(..size), size)
            }
        };
        out.push('\\');
        out.push_str(text.unwrap_or_default());
        rest = after.get(taken..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The code unit of an escape; `escape` begins after the backslash.
fn surrogate(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn broken_escapes_are_replaced() {
        let check = |text: &str, expected: Value| assert_eq!(lenient(text).ok(), Some(expected), "{text}");
        check(r#"{"a":"\ud83d"}"#, json!({"a": "\u{fffd}"}));
        check(r#"{"a":"\ud83d\ude00"}"#, json!({"a": "😀"}));
        check(r#"{"a":"x\ude00y\\ud83d"}"#, json!({"a": "x\u{fffd}y\\ud83d"}));
        check(r#"{"a":1,"a":2}"#, json!({"a": 2}));
        assert!(lenient("{\"a\":").is_err());
    }

    #[test]
    fn loose_values() {
        #[derive(Deserialize)]
        struct Holder<'a> {
            #[serde(borrow, default)]
            a: StringOrJson<'a>,
        }
        let check = |json: &str, expected: &str| {
            let holder: Holder = serde_json::from_str(json).unwrap();
            assert_eq!(holder.a.text(), expected, "{json}");
        };
        check(r#"{}"#, "");
        check(r#"{"a":null}"#, "");
        check(r#"{"a":"x\ny"}"#, "x\ny");
        check(r#"{"a":{"b":[1,2.5,true]}}"#, r#"{"b":[1,2.5,true]}"#);
    }
}
