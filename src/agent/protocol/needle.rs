//! A search query, and the folding of text for comparison with it.

use std::borrow::Cow;

/// Markdown marks that are not drawn.
const MARKS: [char; 2] = ['*', '`'];

/// A search query. It ignores case unless it contains a capital letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    text: String,
    exact: bool,
}

impl Needle {
    /// `None` for an empty query.
    pub fn new(query: &str) -> Option<Needle> {
        let exact = query.chars().any(char::is_uppercase);
        (!query.is_empty()).then(|| Needle { text: query.to_owned(), exact })
    }

    /// True if case matters.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The longest part of the query that JSON and markdown leave unchanged: without white space, quotes,
    /// backslashes and marks. May be empty.
    pub fn longest_word(&self) -> &str {
        let alters = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\\' | '*' | '`');
        self.text.split(alters).max_by_key(|word| word.len()).unwrap_or_default()
    }

    /// Folds text for comparison. In prose a line break becomes a blank, and marks are dropped.
    pub fn fold<'a>(&self, text: &'a str, is_prose: bool) -> Cow<'a, str> {
        let skipped = |c: char| is_prose && MARKS.contains(&c) && !self.text.contains(c);
        let changes = |c: char| (is_prose && c == '\n') || skipped(c) || (!self.exact && !is_lower(c));
        if !text.chars().any(changes) {
            return Cow::Borrowed(text);
        }
        let mut folded = String::with_capacity(text.len());
        for c in text.chars().filter(|c| !skipped(*c)) {
            match c {
                '\n' if is_prose => folded.push(' '),
                c if self.exact => folded.push(c),
                c => folded.extend(c.to_lowercase()),
            }
        }
        Cow::Owned(folded)
    }

    /// The number of occurrences in folded text.
    pub fn count(&self, folded: &str) -> u32 {
        u32::try_from(folded.matches(self.text.as_str()).count()).unwrap_or(u32::MAX)
    }

    /// The byte ranges of the occurrences in folded text.
    pub fn ranges<'a>(&'a self, folded: &'a str) -> impl Iterator<Item = std::ops::Range<usize>> + 'a {
        folded.match_indices(self.text.as_str()).map(|(at, found)| at..at + found.len())
    }
}

fn is_lower(c: char) -> bool {
    if c.is_ascii() { !c.is_ascii_uppercase() } else { c.to_lowercase().eq([c]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(query: &str, text: &str, is_prose: bool) -> u32 {
        let needle = Needle::new(query).unwrap_or_else(|| panic!("no needle for {query:?}"));
        needle.count(&needle.fold(text, is_prose))
    }

    #[test]
    fn capitals_matter_when_there_is_one() {
        assert_eq!(count("err", "Err ERR err", false), 3);
        assert_eq!(count("Err", "Err ERR err", false), 1);
        assert_eq!(count("größe", "GRÖSSE Größe", false), 1);
        assert_eq!(Needle::new(""), None);
    }

    #[test]
    fn prose_is_searched_as_it_is_read() {
        assert_eq!(count("the parser reads", "the **parser**\nreads", true), 1);
        assert_eq!(count("the parser reads", "the **parser**\nreads", false), 0);
        assert_eq!(count("**parser", "the **parser**", true), 1);
        assert_eq!(count("a\nb", "a\nb", false), 1);
    }

    #[test]
    fn the_longest_word_is_as_it_stands_in_a_file() {
        let word = |query| Needle::new(query).unwrap().longest_word().to_owned();
        assert_eq!(word("say \"hello\" to **them**"), "hello");
        assert_eq!(word("größe"), "größe");
        assert_eq!(word(" \\\""), "");
    }
}
