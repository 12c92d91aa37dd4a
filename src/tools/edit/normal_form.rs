//! Composed and decomposed characters (NFC and NFD), which look alike but differ in bytes.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::Replacement;

/// The largest text that is decomposed for a search, in bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;

/// A decomposed text with the origin of each character.
struct DecomposedText {
    text: String,
    /// The start of each character with its combining marks: here, and in the original.
    starts: Vec<(usize, usize)>,
}

impl DecomposedText {
    fn of(original: &str) -> Self {
        let mut decomposed = DecomposedText { text: String::new(), starts: Vec::new() };
        let begins = |character: char| canonical_combining_class(character) == 0;
        let mut places: Vec<usize> =
            original.char_indices().filter(|(_, character)| begins(*character)).map(|(at, _)| at).collect();
        places.push(original.len());
        if places.first() != Some(&0) {
            places.insert(0, 0);
        }
        for (from, to) in places.iter().zip(places.iter().skip(1)) {
            let part = original.get(*from..*to).unwrap_or_default();
            // Every kind of line end counts as one.
            if part == "\r" && original.get(*to..).is_some_and(|rest| rest.starts_with('\n')) {
                continue;
            }
            decomposed.starts.push((decomposed.text.len(), *from));
            decomposed.text.extend(part.nfd());
        }
        decomposed.starts.push((decomposed.text.len(), original.len()));
        decomposed
    }

    /// The place in the original of the character that begins here.
    fn original(&self, place: usize) -> Option<usize> {
        let at = self.starts.binary_search_by_key(&place, |(start, _)| *start).ok()?;
        self.starts.get(at).map(|(_, original)| *original)
    }
}

/// Matches where the text has these characters in another normal form.
pub(super) fn find(text: &[u8], old: &str) -> Vec<Range<usize>> {
    let Ok(text) = std::str::from_utf8(text) else { return Vec::new() };
    if text.len() > MAX_TEXT || (text.is_ascii() || old.is_ascii()) {
        return Vec::new();
    }
    let (text, old) = (DecomposedText::of(text), DecomposedText::of(old).text);
    let found = text.text.match_indices(&*old);
    found.filter_map(|(at, _)| Some(text.original(at)?..text.original(at + old.len())?)).collect()
}

/// The change for this match, converted to the normal form of the text.
pub(super) fn adapt_replacement(change: &Replacement, found: &[u8]) -> Replacement {
    let found = String::from_utf8_lossy(found);
    let new = &change.new_string;
    let new_string = match () {
        () if found.nfd().eq(found.chars()) => new.nfd().collect(),
        () if found.nfc().eq(found.chars()) => new.nfc().collect(),
        () => new.clone(),
    };
    Replacement { old_string: found.into_owned(), new_string, replace_all: change.replace_all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn composed_and_decomposed_characters_match() {
        let (composed, decomposed) = ("a caf\u{e9} \u{ac00}", "a cafe\u{301} \u{1100}\u{1161}");
        for (text, old, expected) in [
            (decomposed, "caf\u{e9}", Some(2..8)),
            (composed, "cafe\u{301} \u{1100}\u{1161}", Some(2..11)),
            (composed, "cafe", None),
            ("cafe\u{301}\u{323}", "caf\u{e9}", None),
            ("e\u{323}\u{301}", "e\u{301}\u{323}", Some(0..5)),
        ] {
            let expected: Vec<Range<usize>> = expected.into_iter().collect();
            assert_eq!(find(text.as_bytes(), old), expected, "{text} {old}");
        }
    }
}
