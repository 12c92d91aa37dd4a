//! Searches the conversations of many sessions, and finds the last exchange of one.
//!
//! Lines are scanned before they are parsed, as in [`super::list`]. Only texts of users and models count: not
//! results of tools, and not the names of fields.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use memchr::memmem;

use super::all::listed_of_all;
use super::entry::Entry;
use super::foreign::places::{self, ForeignPlaces};
use super::foreign::{load, sniff::sniff};
use super::list::{is_conversation, runs_in};
use super::read::lines;
use super::row::Listed;
use super::words::{cut, matching, words_of};
use crate::settings::private_files::open_regular;
use tau_protocol::session_row::{FoundSession, LastExchange, SessionOrigin};

/// The bytes at the end of a file that are read for its last exchange.
const END: u64 = 512 * 1024;

/// Finds files under `root`, and sessions of other agents, that contain all words of `query` in one message,
/// newest first; those that run in `cwd`, or all. Case is ignored. `emit` returns whether to continue; it gets
/// `None` from time to time, so that a search that is no longer needed can end.
pub fn search(
    root: &Path,
    others: &ForeignPlaces,
    cwd: Option<&Path>,
    query: &str,
    emit: &mut dyn FnMut(Option<FoundSession>) -> bool,
) {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    if words.is_empty() {
        return;
    }
    for Listed { file, origin, row } in listed_of_all(root, others, cwd) {
        let line = match origin {
            SessionOrigin::Tau | SessionOrigin::Pi => {
                let here = cwd.is_none_or(|cwd| runs_in(&file.path, cwd));
                if here { said(&file.path, &words).unwrap_or_default() } else { None }
            }
            _ => {
                let runs_in =
                    |cwd| places::directory(&file.path, origin).is_some_and(|directory| directory == cwd);
                // What has a row was listed for this directory.
                let here = row.is_some() || cwd.is_none_or(runs_in);
                if here { load::said(&file.path, origin, &words).unwrap_or_default() } else { None }
            }
        };
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
        if let Some(line) = matching(&text, words) {
            return Ok(Some(line));
        }
    }
}

/// The last exchange of a session, without reading it completely.
pub fn last_exchange(path: &Path) -> std::io::Result<LastExchange> {
    if let Some(origin) = sniff(path) {
        return load::last_exchange(path, origin);
    }
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
