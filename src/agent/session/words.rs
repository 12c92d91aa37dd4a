//! Words of users and models, for searches and previews.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

use super::entry::{Body, Entry};
use crate::secrets::redact::MARK;
use tau_protocol::message::Message;
use tau_protocol::session_row::LastExchange;
use tau_protocol::title;
use tau_tools::budget::shorten;

/// The number of characters shown of a line, and those of them before the first word.
const EXCERPT: usize = 240;
const BEFORE: usize = 40;
/// The maximum length of a passage, in characters.
const PASSAGE: usize = 60;
/// The maximum length of a part of the last exchange, in characters.
const MAX_LEN: usize = 600;

/// The place in a text in which all words occur: the line with the most of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// The line, from shortly before the first word, cut.
    pub(super) line: String,
    /// The part of it from the first word on, exactly as in the text, for finding it again.
    pub(super) passage: String,
}

/// The first combining class of marks above or below a letter, such as accents. Lower classes belong to other scripts.
const ACCENT: u8 = 200;

/// A character for comparison: without case, so that `ß` is `ss`, and without accents, so a mark on its own gives nothing.
pub(super) fn fold_char(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase).filter_map(|c| {
        // Variation selectors only say how an emoji looks.
        let is_accent =
            |c: char| canonical_combining_class(c) >= ACCENT || matches!(c, '\u{fe00}'..='\u{fe0f}');
        if c.is_ascii() || is_accent(c) {
            return Some(c).filter(char::is_ascii);
        }
        let mut parts = std::iter::once(c).nfd();
        let base = parts.next()?;
        Some(if parts.all(is_accent) { base } else { c })
    })
}

/// A text for comparison.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().flat_map(fold_char).collect() }
}

/// A text with one blank between words, whatever lines they are in.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a query, in their form for comparison. A phrase in double quotes is one word; punctuation around other
/// words is dropped.
pub(super) fn words_in(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let is_quoted = query.matches('"').count() > 1;
    for (at, part) in query.split('"').enumerate() {
        if is_quoted && at % 2 == 1 {
            words.push(in_one_line(part));
            continue;
        }
        words.extend(part.split_whitespace().map(|word| {
            let bare = word.trim_start_matches(['(', '[', '{', '\'', '"']);
            let bare = bare.trim_end_matches([',', '.', ';', ':', '!', '?', ')', ']', '}', '\'', '"']);
            if bare.is_empty() { word.to_owned() } else { bare.to_owned() }
        }));
    }
    words.retain(|word| !word.is_empty());
    words.iter().map(|word| fold(word)).collect()
}

/// The place in a text in which all words occur.
pub(super) fn matching(text: &str, words: &[String]) -> Option<Match> {
    let is_phrase = words.iter().any(|word| word.contains(' '));
    let folded = if is_phrase { fold(&in_one_line(text)) } else { fold(text) };
    words.iter().all(|word| folded.contains(word)).then(|| place(text, words))
}

fn place(text: &str, words: &[String]) -> Match {
    let lines: Vec<&str> = text.lines().collect();
    let count = |at: &usize| {
        let (line, end) = line_and_more(lines.get(*at..).unwrap_or_default(), words);
        words.iter().filter(|word| line.find(word.as_str()).is_some_and(|found| found < end)).count()
    };
    // Of equal ones the last is the maximum, so the order is reversed.
    let from = (0..lines.len()).rev().max_by_key(count).unwrap_or_default();
    let lines = lines.get(from..).unwrap_or_default();
    let line = lines.first().copied().unwrap_or_default().trim();
    let (folded, _) = line_and_more(lines, words);
    let first = words.iter().filter_map(|word| folded.find(word.as_str())).min().unwrap_or_default();
    let mut before = folded.get(..first).unwrap_or_default().chars().count();
    let mut was_blank = false;
    let is_before = |c: &char| {
        let count = if was_blank && c.is_whitespace() { 0 } else { fold_char(*c).count() };
        was_blank = c.is_whitespace();
        let is_before = before > 0 || count == 0;
        before = before.saturating_sub(count);
        is_before
    };
    let at = line.chars().take_while(is_before).count();
    let skip = at.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(skip).take(EXCERPT).collect();
    let is_cut = line.chars().count() > skip + EXCERPT;
    let passage: String = line.chars().skip(at).take(PASSAGE).take_while(|c| !c.is_control()).collect();
    let passage = passage.split(MARK).next().unwrap_or_default().trim_end().to_owned();
    let line = format!("{}{shown}{}", if skip > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
    Match { line, passage }
}

/// The first of these lines for comparison, with as much of the next ones as the end of a phrase can take, and the length
/// of the first.
fn line_and_more(lines: &[&str], words: &[String]) -> (String, usize) {
    let of_phrases = words.iter().filter(|word| word.contains(' ')).map(String::len);
    let more = of_phrases.max().unwrap_or_default();
    let mut rest = lines.iter().map(|line| fold(&in_one_line(line)));
    let mut text = rest.next().unwrap_or_default();
    let end = text.len();
    while text.len() < end.saturating_add(more) {
        match rest.next() {
            Some(line) if line.is_empty() => {}
            Some(line) => text = format!("{text} {line}"),
            None => break,
        }
    }
    (text, end)
}

/// The text of a message, and whether it is the user's.
pub(super) fn words_of(entry: &Entry) -> Option<(bool, String)> {
    let Body::Message { message } = &entry.body else { return None };
    let (person, text) = match message.as_ref() {
        Message::User(user) => (true, user.content.text()),
        Message::Assistant(answer) => (false, answer.text()),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((person, text))
}

/// The last exchange among these words, which come from the end of the session.
pub(super) fn exchange_of(words: impl Iterator<Item = (bool, String)>) -> LastExchange {
    let mut last = LastExchange::default();
    for (is_user, text) in words {
        if is_user {
            // pi puts attached files into the text.
            let (files, words) = title::files_and_words(&text);
            last.user = cut(if words.trim().is_empty() { files.first().unwrap_or(&words) } else { words });
            break;
        }
        if last.model.is_empty() {
            last.model = cut(&text);
        }
    }
    last
}

fn cut(text: &str) -> String {
    shorten(text.trim(), MAX_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_pi_are_no_words_of_the_user() {
        let said = |text: &str| exchange_of([(true, text.to_owned())].into_iter()).user;
        assert_eq!(said("<file name=\"/a.rs\">\nfn a() {}\n</file>\nexplain this"), "explain this");
        assert_eq!(said("<file name=\"/a.png\"></file>\n"), "/a.png");
    }

    #[test]
    fn queries_are_read_as_they_are_typed() {
        assert_eq!(words_in("\"branch two\"  E0425, (foo Café"), ["branch two", "e0425", "foo", "cafe"]);
        assert_eq!(words_in("say \"hello -> .env --x"), ["say", "hello", "->", ".env", "--x"]);
        assert_eq!(words_in("\"\" ,"), [","]);
    }

    #[test]
    fn accents_are_none_and_passages_stay_as_they_are() {
        for text in ["so naïve, a café au lait", "so nai\u{308}ve, a cafe\u{301} au lait"] {
            for query in ["cafe", "CAFÉ", "cafe\u{301}"] {
                let found = matching(text, &words_in(query)).unwrap();
                assert!(found.passage.starts_with("caf") && found.passage.ends_with(" au lait"), "{found:?}");
                assert_eq!(found.line, text);
            }
        }
        for (text, query) in
            [("Die Straße", "STRASSE"), ("STRASSE", "straße"), ("ΣΟΦΟΣ", "σοφος"), ("❤️", "❤")]
        {
            assert!(matching(text, &words_in(query)).is_some(), "{text} {query}");
        }
        assert_eq!(fold("が हिन्दी 한"), "が हिन्दी 한", "marks of other scripts are letters");
    }

    #[test]
    fn phrases_cross_the_ends_of_lines() {
        let text = "one branch\nthe  first\n\n  branch  is\n\tlong, but\nbranch isn't";
        for (query, passage) in [
            ("\"branch the\"", "branch"),
            ("\"FIRST branch is long, but\"", "first"),
            ("\"is long\"", "is"),
            ("\"the first\" isn't", "the  first"),
            ("\"branch isn't\"", "branch isn't"),
        ] {
            assert_eq!(matching(text, &words_in(query)).unwrap().passage, passage, "{query}");
        }
        assert_eq!(matching(text, &words_in("\"one the\"")), None);
    }
}
