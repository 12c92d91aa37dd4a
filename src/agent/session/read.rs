//! Reads session files: the header and the entries, even if damaged.
//!
//! Never changes a file. [`super::migrate`] converts text of older versions.

use super::entry::Entry;
use super::header::Header;
use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read};

/// The maximum size of a header, including text before it.
const HEADER_LIMIT: u64 = 1024 * 1024 + 64 * 1024;

/// The content of a session file.
#[derive(Debug)]
pub(crate) struct Contents {
    pub header: Header,
    pub entries: Vec<Entry>,
    /// The number of unreadable lines.
    pub skipped: usize,
}

/// The header of a file, without reading a large one to its end. Lines before it that are not JSON are
/// skipped; `None` if the first JSON line is not a header.
pub fn header(file: &mut impl Read) -> io::Result<Option<Header>> {
    let found = header_line(&mut BufReader::new(file.take(HEADER_LIMIT)))?;
    Ok(found.map(|(header, _)| header))
}

/// The header and its line; like [`header`], but for any reader.
pub(crate) fn header_line(reader: &mut impl BufRead) -> io::Result<Option<(Header, Box<str>)>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = reader.by_ref().take(HEADER_LIMIT);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let bare = bare(&line);
        if serde_json::from_slice::<serde::de::IgnoredAny>(bare).is_ok() {
            return Ok(Header::parse(bare).map(|header| (header, String::from_utf8_lossy(bare).into())));
        }
    }
}

/// The contents of a session; `None` if it is not one.
pub fn contents(bytes: &[u8]) -> Option<Contents> {
    let header = header(&mut &*bytes).ok()??;
    let mut entries = Vec::new();
    let mut skipped = 0;
    let mut headed = false;
    for line in lines(bytes) {
        // The header is the first JSON line; nothing before it counts.
        if !headed && Header::parse(line).is_some() {
            headed = true;
        } else if !parse_line(line, &mut entries) {
            skipped += 1;
        }
    }
    Some(Contents { header, entries, skipped })
}

/// The entries of lines within a file, and the number of unreadable lines.
pub fn entries(bytes: &[u8]) -> (Vec<Entry>, usize) {
    let mut entries = Vec::new();
    let torn = lines(bytes).filter(|line| !parse_line(line, &mut entries)).count();
    (entries, torn)
}

/// The lines that are not blank, without line ends and damage around them.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').map(bare).filter(|line| !line.is_empty())
}

/// A line without white space, a byte order mark, and the zeros that a crash can leave in a file.
pub fn bare(line: &[u8]) -> &[u8] {
    let mut line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    while let [0 | b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = line {
        line = rest;
    }
    while let [rest @ .., 0 | b' ' | b'\t' | b'\r' | b'\n'] = line {
        line = rest;
    }
    line
}

/// Adds the entry in a line; returns whether the line was intact.
fn parse_line(line: &[u8], entries: &mut Vec<Entry>) -> bool {
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        // Damaged characters in a text are no reason to lose the rest of it.
        Err(_) => String::from_utf8_lossy(line),
    };
    if let Some(entry) = Entry::parse(&text) {
        entries.push(entry);
        return true;
    }
    recover(&text, entries)
}

/// Searches for complete entries in a line that is not one: a program without repair appends its first line
/// to a torn one. Returns true if the line consisted only of complete entries.
fn recover(text: &str, entries: &mut Vec<Entry>) -> bool {
    // Inside a string the quotes would be escaped, so this begins a value; the limit keeps a damaged line of
    // megabytes from being parsed at every block in it.
    let starts = memchr::memmem::find_iter(text.as_bytes(), b"{\"type\":\"").take(16);
    for start in starts {
        let Some((before, rest)) = text.split_at_checked(start) else { continue };
        let values = serde_json::Deserializer::from_str(rest).into_iter::<&serde_json::value::RawValue>();
        let Ok(values) = values.collect::<Result<Vec<_>, _>>() else { continue };
        let found: Vec<Entry> = values.iter().filter_map(|value| Entry::parse(value.get())).collect();
        if !found.is_empty() {
            entries.extend(found);
            return before.is_empty();
        }
    }
    false
}
