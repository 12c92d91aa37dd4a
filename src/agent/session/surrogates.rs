//! Halves of characters in JSON: `\ud83d` without its other half, as JavaScript writes text that was cut within an
//! emoji.

use std::borrow::Cow;

use memchr::memmem;

/// Replaces each half in JSON by the replacement character, which is written as long.
pub(super) fn repair(json: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at = at.saturating_add(found);
        let low = unit(json, at.saturating_add(6)).filter(|low| (0xdc00..0xe000).contains(low));
        let length = match unit(json, at) {
            Some(0xd800..0xdc00) if low.is_some() => 12,
            Some(0xd800..0xe000) => {
                if let Some(half) = json.get_mut(at..at.saturating_add(6)) {
                    half.copy_from_slice(b"\\ufffd");
                }
                6
            }
            _ => 2,
        };
        at = at.saturating_add(length);
    }
}

/// JSON with its halves replaced.
pub fn repair_json(json: &str) -> Cow<'_, str> {
    if [b"\\ud", b"\\uD"].iter().all(|half| memmem::find(json.as_bytes(), *half).is_none()) {
        return Cow::Borrowed(json);
    }
    let mut bytes = json.as_bytes().to_vec();
    repair(&mut bytes);
    // Only escapes were replaced.
    String::from_utf8(bytes).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The unit of UTF-16 that is escaped here.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at.checked_add(6)?)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_nothing_else() {
        for (json, expected) in [
            (r"a\ud83d b", r"a\ufffd b"),
            (r"\uD83D\uDE00 \ude00\ud83d", r"\uD83D\uDE00 \ufffd\ufffd"),
            (r"\\ud83d \u00e4 \ud83d\ud83d\ude00", r"\\ud83d \u00e4 \ufffd\ud83d\ude00"),
            (r"\ud8", r"\ud8"),
            (r"\\\ud83d\n", r"\\\ufffd\n"),
        ] {
            assert_eq!(repair_json(json), expected, "{json}");
        }
    }
}
