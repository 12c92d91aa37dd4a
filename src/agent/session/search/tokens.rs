//! Splits text into the words that the index knows, and queries into the same words.
//!
//! A word is a run of letters and digits, without case and accents. Scripts without blanks between words and symbols, such as
//! emoji, give one word per character. SQLite's own tokenizer only has to split at blanks.

use std::collections::HashSet;

use crate::session::words::fold_char;

/// The maximum length of a word, in characters; the rest of a longer one is not indexed.
const LONGEST: usize = 40;

/// The distinct words of a text, separated by blanks.
pub(super) fn distinct(text: &str) -> String {
    let (mut seen, mut words) = (HashSet::new(), String::new());
    each(text, |word| {
        if !seen.contains(word) {
            seen.insert(word.to_owned());
            words.push_str(word);
            words.push(' ');
        }
    });
    words
}

/// A query as expressions for SQLite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expressions {
    /// Every word as a whole.
    pub(super) whole: String,
    /// Every word, the last one of each part from its beginning.
    pub(super) begun: String,
}

/// The query as expressions; `None` if it has no words.
pub(super) fn expressions(words: &[String]) -> Option<Expressions> {
    let (mut whole, mut begun) = (Vec::new(), Vec::new());
    for word in words {
        let mut found = Vec::new();
        each(word, |token| found.push(format!("\"{token}\"")));
        whole.extend_from_slice(&found);
        // Only the end of what was typed can be the beginning of a longer word.
        if let Some(last) = found.last_mut() {
            last.push('*');
        }
        begun.append(&mut found);
    }
    (!whole.is_empty()).then(|| Expressions { whole: whole.join(" AND "), begun: begun.join(" AND ") })
}

fn each(text: &str, mut take: impl FnMut(&str)) {
    let (mut word, mut length) = (String::new(), 0_usize);
    let mut end = |word: &mut String, length: &mut usize| {
        if !word.is_empty() {
            take(word);
            word.clear();
        }
        *length = 0;
    };
    for c in text.chars() {
        let mut folded = fold_char(c).peekable();
        if folded.peek().is_none() {
            // The accent of the letter before.
            continue;
        }
        let is_alone = is_word(c);
        if is_alone || !c.is_alphanumeric() {
            end(&mut word, &mut length);
        }
        for c in folded.filter(|c| is_alone || c.is_alphanumeric()) {
            if length < LONGEST {
                word.push(c);
            }
            length = length.saturating_add(1);
        }
        if is_alone {
            end(&mut word, &mut length);
        }
    }
    end(&mut word, &mut length);
}

/// Whether the character is a word: a symbol, or of a script without blanks between words.
fn is_word(c: char) -> bool {
    let is_symbol = matches!(c,
        '\u{a1}'..='\u{bf}'
        | '\u{2010}'..='\u{2027}'
        | '\u{2030}'..='\u{205e}'
        | '\u{2070}'..='\u{2bff}'
        | '\u{1f000}'..='\u{1faff}');
    is_symbol && !c.is_alphanumeric()
        || matches!(c,
            '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::{distinct, expressions};

    #[test]
    fn text_and_queries_have_the_same_words() {
        assert_eq!(distinct("Größe foo_bar(x1), FOO \"x1\" 日本語"), "grosse foo bar x1 日 本 語 ");
        assert_eq!(distinct("café cafe\u{301}s"), "cafe cafes ");
        assert_eq!(distinct(&"a".repeat(100)), format!("{} ", "a".repeat(40)));
        let query = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            expressions(&words)
        };
        let found = query(&["src/main.rs", "日本"]).unwrap();
        assert_eq!(found.begun, "\"src\" AND \"main\" AND \"rs\"* AND \"日\" AND \"本\"*");
        assert_eq!(found.whole, "\"src\" AND \"main\" AND \"rs\" AND \"日\" AND \"本\"");
        assert_eq!(query(&["\"x\"*", "OR"]).unwrap().begun, "\"x\"* AND \"or\"*");
        assert_eq!(distinct("done👍🏽 a→b 👨‍👩 ≠ ❤️"), "done 👍 🏽 a → b 👨 👩 ≠ ❤ ");
        assert_eq!(query(&["→"]).unwrap().whole, "\"→\"");
        assert_eq!(query(&["->", "!"]), None);
    }
}
