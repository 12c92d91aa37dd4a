//! Fuzzy matching of a query against rows, best first.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// A row that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzyMatch {
    /// Index among the given rows.
    pub index: usize,
    /// Byte offsets of the matched characters, ascending.
    pub marks: Vec<usize>,
}

/// The rows that match, best first, in their order where equal; all of them for an empty query. Every word of
/// the query must match; `'word` matches exactly, `^word` at the start, `word$` at the end, `!word` not.
pub fn rank<S: AsRef<str>>(query: &str, rows: &[S]) -> Vec<FuzzyMatch> {
    if query.trim().is_empty() {
        return (0..rows.len()).map(|index| FuzzyMatch { index, marks: Vec::new() }).collect();
    }
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let (mut chars, mut places) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (index, row) in rows.iter().map(AsRef::as_ref).enumerate() {
        places.clear();
        let text = Utf32Str::new(row, &mut chars);
        if let Some(score) = pattern.indices(text, &mut matcher, &mut places) {
            found.push((std::cmp::Reverse(score), FuzzyMatch { index, marks: bytes(row, &mut places) }));
        }
    }
    found.sort_by_key(|(score, _)| *score);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The rows in which every word of the query occurs, first the rows in which more words begin a word,
/// otherwise in their order; all of them for an empty query. A word without capitals ignores case.
pub fn rank_words<S: AsRef<str>>(query: &str, rows: &[S]) -> Vec<FuzzyMatch> {
    rank_words_of(query, rows.iter().map(AsRef::as_ref).enumerate())
}

/// Like [`rank_words`], for rows with their indices.
pub fn rank_words_of<S: AsRef<str>>(
    query: &str,
    rows: impl IntoIterator<Item = (usize, S)>,
) -> Vec<FuzzyMatch> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let mut found: Vec<(usize, FuzzyMatch)> = Vec::new();
    for (index, row) in rows {
        let row = row.as_ref();
        let places: Option<Vec<(bool, std::ops::Range<usize>)>> =
            words.iter().map(|word| word_place(row, word)).collect();
        let Some(places) = places else { continue };
        let inside = places.iter().filter(|(begins, _)| !begins).count();
        let marked = |at: &usize| places.iter().any(|(_, range)| range.contains(at));
        let marks = row.char_indices().map(|(at, _)| at).filter(marked).collect();
        found.push((inside, FuzzyMatch { index, marks }));
    }
    found.sort_by_key(|(inside, _)| *inside);
    found.into_iter().map(|(_, found)| found).collect()
}

/// The place of a word in a row: at the start of a word if possible, otherwise within one.
fn word_place(row: &str, word: &str) -> Option<(bool, std::ops::Range<usize>)> {
    let exact = word.chars().any(char::is_uppercase);
    let mut before = None;
    let mut inside = None;
    for (at, c) in row.char_indices() {
        let begins = !before.is_some_and(char::is_alphanumeric) || !c.is_alphanumeric();
        before = Some(c);
        if !begins && inside.is_some() {
            continue;
        }
        let Some(length) = starts_with(row.get(at..).unwrap_or_default(), word, exact) else { continue };
        if begins {
            return Some((true, at..at + length));
        }
        inside = Some((false, at..at + length));
    }
    inside
}

/// The number of bytes that a word matches at the start of `text`.
fn starts_with(text: &str, word: &str, exact: bool) -> Option<usize> {
    let mut chars = text.char_indices();
    for wanted in word.chars() {
        let (_, c) = chars.next()?;
        let is_same = match c.is_ascii() && wanted.is_ascii() {
            true => c.eq_ignore_ascii_case(&wanted),
            false => c.to_lowercase().eq(wanted.to_lowercase()),
        };
        if c != wanted && (exact || !is_same) {
            return None;
        }
    }
    Some(chars.offset())
}

/// The byte offsets of characters given by their places in `row`, ascending.
fn bytes(row: &str, places: &mut Vec<u32>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    let mut wanted = places.iter().map(|place| *place as usize).peekable();
    let place = |(at, (byte, _))| (wanted.next_if_eq(&at)).map(|_| byte);
    row.char_indices().enumerate().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_words_or_are_whole_parts() {
        let rows = ["anthropic/claude-sonnet-5-5", "x/corpus", "anthropic/claude-opus-4-5", "Opus Größe"];
        let check = |query: &str, expected: &[&str]| {
            let found: Vec<&str> = rank_words(query, &rows).iter().map(|found| rows[found.index]).collect();
            assert_eq!(found, expected, "{query}");
        };
        check("opus", &["anthropic/claude-opus-4-5", "Opus Größe"]);
        check("pus", &["x/corpus", "anthropic/claude-opus-4-5", "Opus Größe"]);
        check("Opus", &["Opus Größe"]);
        check("claude 5", &["anthropic/claude-sonnet-5-5", "anthropic/claude-opus-4-5"]);
        check("/claude-s", &["anthropic/claude-sonnet-5-5"]);
        check("", &rows);
        let marks = rank_words("grö", &rows).pop().map(|found| found.marks);
        assert_eq!(marks, Some(vec![5, 6, 7]));
    }

    #[test]
    fn ranks_and_marks() {
        let rows = ["src/app/update.rs", "src/view/mod.rs", "updates.md"];
        let found = rank("upd", &rows);
        assert_eq!(found.len(), 2);
        for found in &found {
            let marked: String = rows[found.index]
                .char_indices()
                .filter(|(at, _)| found.marks.contains(at))
                .map(|(_, c)| c)
                .collect();
            assert_eq!(marked, "upd");
        }
        assert_eq!(rank("", &rows).len(), 3);
        assert_eq!(rank("zzz", &rows).len(), 0);
    }

    #[test]
    fn marks_are_byte_offsets() {
        let found = rank("wor", &["größe wor"]);
        assert_eq!(found.first().map(|found| found.marks.clone()), Some(vec![8, 9, 10]));
    }

    #[test]
    fn words_and_their_signs() {
        let rows = ["src/app/update.rs", "src/view/mod.rs", "updates.md"];
        let check = |query: &str, expected: &[&str]| {
            let found: Vec<&str> = rank(query, &rows).iter().map(|found| rows[found.index]).collect();
            assert_eq!(found, expected, "{query}");
        };
        check("upd src", &["src/app/update.rs"]);
        check("^upd", &["updates.md"]);
        check("rs$", &["src/app/update.rs", "src/view/mod.rs"]);
        check("src !app", &["src/view/mod.rs"]);
        check("'mod", &["src/view/mod.rs"]);
    }
}
