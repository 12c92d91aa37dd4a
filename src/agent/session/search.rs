//! Searches the conversations of many sessions, and finds the last exchange of one.
//!
//! Lines are scanned before they are parsed, as in [`super::list`]. Only texts of users and models count: not
//! results of tools, and not the names of fields.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem;

use super::entry::{Body, Entry};
use super::list::{files, is_conversation, runs_in};
use super::read::lines;
use crate::settings::private_files::open_regular;
use tau_protocol::message::Message;
use tau_protocol::session_row::{FoundSession, LastExchange};

/// The bytes at the end of a file that are read for its last exchange.
const END: u64 = 512 * 1024;
/// The number of characters shown of a line, and those of them before the first word.
const EXCERPT: usize = 240;
const BEFORE: usize = 40;
/// The maximum length of a part of the last exchange, in characters.
const MAX_LEN: usize = 600;

/// Finds files under `root` that contain all words of `query` in one message, newest first; those that run in
/// `cwd`, or all. Case is ignored. `emit` returns whether to continue; it gets `None` from time to time, so
/// that a search that is no longer needed can end.
pub fn search(
    root: &Path,
    cwd: Option<&Path>,
    query: &str,
    emit: &mut dyn FnMut(Option<FoundSession>) -> bool,
) {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return;
    }
    for file in files(root, cwd) {
        let here = cwd.is_none_or(|cwd| runs_in(&file.path, cwd));
        let line = if here { said(&file.path, &words).unwrap_or_default() } else { None };
        if !emit(line.map(|line| FoundSession { path: file.path, line })) {
            return;
        }
    }
}

/// The line of the first message in which all words occur.
fn said(path: &Path, words: &[String]) -> std::io::Result<Option<String>> {
    let mut reader = BufReader::with_capacity(256 * 1024, open_regular(path)?);
    // A word without JSON escapes can be searched for before parsing.
    let plain = |word: &&String| word.chars().all(|c| c.is_ascii_alphanumeric());
    let finder = words.iter().find(plain).map(|word| memmem::Finder::new(word.as_bytes()));
    let (mut line, mut small) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if !is_conversation(&line) {
            continue;
        }
        if let Some(finder) = &finder {
            small.clear();
            small.extend(line.iter().map(u8::to_ascii_lowercase));
            if finder.find(&small).is_none() {
                continue;
            }
        }
        let text = std::str::from_utf8(&line).ok().and_then(Entry::parse).and_then(|entry| words_of(&entry));
        let text = text.map(|(_, text)| text).unwrap_or_default();
        let folded = text.to_lowercase();
        if words.iter().all(|word| folded.contains(word)) {
            return Ok(Some(excerpt(&text, words)));
        }
    }
}

/// The line of a text with the most words, from shortly before the first of them.
fn excerpt(text: &str, words: &[String]) -> String {
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
    format!("{}{shown}{}", if skip > 0 { "…" } else { "" }, if is_cut { "…" } else { "" })
}

/// The last exchange of a session, without reading it completely.
pub fn last_exchange(path: &Path) -> std::io::Result<LastExchange> {
    let mut file = open_regular(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(END)))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let mut last = LastExchange::default();
    let people: Vec<&[u8]> = lines(&bytes).filter(|line| is_conversation(line)).collect();
    for line in people.iter().rev() {
        let entry = std::str::from_utf8(line).ok().and_then(Entry::parse);
        match entry.as_ref().and_then(words_of) {
            Some((true, text)) => {
                last.user = cut(&text);
                return Ok(last);
            }
            Some((false, text)) if last.model.is_empty() => last.model = cut(&text),
            _ => {}
        }
    }
    Ok(last)
}

/// The text of a message, and whether it is the user's.
fn words_of(entry: &Entry) -> Option<(bool, String)> {
    let Body::Message { message } = &entry.body else { return None };
    let (person, text) = match message.as_ref() {
        Message::User(user) => (true, user.content.text()),
        Message::Assistant(answer) => (false, answer.text()),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some((person, text))
}

fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_LEN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
