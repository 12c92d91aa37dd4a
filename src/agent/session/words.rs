//! Words of users and models, for searches and previews.

use super::entry::{Body, Entry};
use crate::secrets::redact::MARK;
use tau_protocol::message::Message;
use tau_protocol::session_row::LastExchange;

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

/// The place in a text in which all words occur.
pub(super) fn matching(text: &str, words: &[String]) -> Option<Match> {
    let folded = text.to_lowercase();
    words.iter().all(|word| folded.contains(word)).then(|| place(text, words))
}

fn place(text: &str, words: &[String]) -> Match {
    let count = |line: &&str| {
        let line = line.to_lowercase();
        words.iter().filter(|word| line.contains(*word)).count()
    };
    // Of equal ones the last is the maximum, so the order is reversed.
    let line = text.lines().rev().max_by_key(count).unwrap_or_default().trim();
    let folded = line.to_lowercase();
    let first = words.iter().filter_map(|word| folded.find(word.as_str())).min().unwrap_or_default();
    let at = folded.get(..first).unwrap_or_default().chars().count();
    let skip = at.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(skip).take(EXCERPT).collect();
    let is_cut = line.chars().count() > skip + EXCERPT;
    let passage: String = line.chars().skip(at).take(PASSAGE).take_while(|c| !c.is_control()).collect();
    let passage = passage.split(MARK).next().unwrap_or_default().trim_end().to_owned();
    let line = format!("{}{shown}{}", if skip > 0 { "…" } else { "" }, if is_cut { "…" } else { "" });
    Match { line, passage }
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
            last.user = cut(&text);
            break;
        }
        if last.model.is_empty() {
            last.model = cut(&text);
        }
    }
    last
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_LEN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
