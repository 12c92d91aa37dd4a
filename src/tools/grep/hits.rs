//! The matching lines of one file, as they are shown.
//!
//! Fed by the searcher line by line. Owns the format of a line and the limits per file; knows nothing of
//! other files.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::budget;
use crate::counted::pluralize;
use crate::secret_cuts::{self, SecretFinder};
use crate::walk::MAX_BYTES;

/// The maximum number of bytes kept of one file's lines.
const KEPT: usize = 4 * 1024 * 1024;
/// The maximum number of bytes shown of a line.
const LINE: usize = 400;
/// The number of bytes of a long line shown before the match.
const BEFORE: usize = 120;

/// Whether the model named the file, which decides how binary content is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedByModel {
    /// The model named this file: the answer says whether there is a match.
    Yes,
    /// The file was found by a walk: it is left out.
    No,
}

/// One line of an answer, with its line end.
#[derive(Debug)]
pub(crate) struct HitLine {
    pub text: String,
    /// True for a match, false for context and notes.
    pub matches: bool,
}

/// The lines of one file.
#[derive(Debug)]
pub(crate) struct Hits<'a> {
    matcher: &'a RegexMatcher,
    path: &'a str,
    named: NamedByModel,
    secrets: &'a SecretFinder,
    /// The lines, ready to be shown.
    pub lines: Vec<HitLine>,
    /// The number of matching lines.
    pub count: u64,
    /// The total number of bytes.
    pub bytes: usize,
    /// True if there are more matches than were kept.
    pub more: bool,
    /// The position of the first NUL byte.
    binary: Option<u64>,
}

impl<'a> Hits<'a> {
    /// Collects matching lines of the file shown as `path`, up to the limit.
    pub fn new(
        matcher: &'a RegexMatcher,
        path: &'a str,
        named: NamedByModel,
        secrets: &'a SecretFinder,
    ) -> Self {
        let (lines, count, bytes) = (Vec::new(), 0, 0);
        Hits { matcher, path, named, secrets, lines, count, bytes, more: false, binary: None }
    }

    /// Adds the notes for the end of the file.
    pub fn close(&mut self) {
        if let (Some(at), NamedByModel::No, 1..) = (self.binary, self.named, self.count) {
            let note = format!("[{}: binary from byte {at}; searched up to there]\n", self.path);
            self.push(note, false);
        }
    }

    /// Drops what one answer cannot show, keeps at most `most` matching lines, and returns their weight.
    pub(crate) fn shorten(&mut self, most: u64) -> usize {
        let (mut weight, mut matches) = (0, 0);
        let fits = |line: &HitLine| {
            matches += u64::from(line.matches);
            weight += budget::token_weight(&line.text);
            matches <= most && weight <= MAX_BYTES
        };
        let kept = self.lines.iter().map(fits).take_while(|fits| *fits).count();
        // One more line, which shows that the rest was cut.
        self.lines.truncate(kept + 1);
        weight
    }

    fn push(&mut self, text: String, matches: bool) {
        self.bytes += text.len();
        self.count += u64::from(matches);
        self.lines.push(HitLine { text, matches });
    }

    fn numbered_line(&self, mark: char, number: Option<u64>, line: &[u8], at: usize) -> String {
        let number = number.unwrap_or(0);
        let mut text = format!("{}{mark}{number}{mark}", self.path);
        push_line(&mut text, line, at, self.secrets);
        text.push('\n');
        text
    }
}

/// Adds a line without its line end; of a long line, the part around `at`, with the secrets at its ends.
fn push_line(out: &mut String, line: &[u8], at: usize, secrets: &SecretFinder) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= LINE {
        return out.push_str(&String::from_utf8_lossy(line).replace('\0', "\u{2400}"));
    }
    let is_inside = |byte: &u8| byte & 0xC0 == 0x80;
    let mut start = if at < LINE - BEFORE { 0 } else { at.saturating_sub(BEFORE).min(line.len() - LINE) };
    let mut end = start + LINE;
    // Cut between characters.
    while line.get(start).is_some_and(is_inside) {
        start += 1;
    }
    while line.get(end).is_some_and(is_inside) {
        end += 1;
    }
    (start, end) = widen_to_secrets(line, (start, end), secrets);
    let part = String::from_utf8_lossy(line.get(start..end).unwrap_or_default()).replace('\0', "\u{2400}");
    if start > 0 {
        out.push_str(&format!("[… {} …]", pluralize(start, "byte")));
    }
    out.push_str(&part);
    if end < line.len() {
        out.push_str(&format!("[… {} …]", pluralize(line.len() - end, "byte")));
    }
}

/// The part of a line with all of the secrets that its ends would part.
fn widen_to_secrets(line: &[u8], (start, end): (usize, usize), secrets: &SecretFinder) -> (usize, usize) {
    // Enough to recognise them, not all of a minified file.
    let from = start.saturating_sub(secret_cuts::REACH);
    let near = line.get(from..line.len().min(end + secret_cuts::REACH)).unwrap_or_default();
    let text = secret_cuts::of_same_length(near);
    let first = secrets.start_before(&text, start - from);
    let secret = [end - from, end - from - 1].into_iter().find_map(|at| secrets.secret_cut_at(&text, at));
    // Not recognised if a mark follows at once.
    let last = secret.map_or(end - from, |secret| text.ceil_char_boundary(secret.end + 1));
    (from + first, from + last.min(text.len()))
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if let (Some(at), NamedByModel::Yes) = (self.binary, self.named) {
            let note = format!("[{}: binary file with a match; the first NUL is at byte {at}]\n", self.path);
            self.push(note, true);
            return Ok(false);
        }
        if self.bytes > KEPT {
            self.more = true;
            return Ok(false);
        }
        let line = found.bytes();
        let at =
            if line.len() > LINE { self.matcher.find(line).ok().flatten().map(|m| m.start()) } else { None };
        let text = self.numbered_line(':', found.line_number(), line, at.unwrap_or(0));
        self.push(text, true);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = self.numbered_line('-', context.line_number(), context.bytes(), 0);
        self.push(text, false);
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.push("--\n".into(), false);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> io::Result<bool> {
        self.binary.get_or_insert(offset);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let long = |before: usize, after: usize| {
            format!("{}needle{}", "é".repeat(before), "x".repeat(after)).into_bytes()
        };
        let cases = [
            (b"short\r\n".to_vec(), 0, "short".to_owned()),
            (long(0, 600), 0, format!("needle{}[… 206 bytes …]", "x".repeat(394))),
            (long(200, 5), 400, format!("[… 12 bytes …]{}needle{}", "é".repeat(194), "x".repeat(5))),
        ];
        for (line, at, expected) in cases {
            let mut out = String::new();
            push_line(&mut out, &line, at, &SecretFinder::default());
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn secrets_at_the_ends_of_a_part_are_whole() {
        let name_and_value = "API_TOKEN=zx81-Q7rr-99aB-77cc-Kd83";
        let secrets = secret_cuts::tests::finder();
        for before in 340..400 {
            let far = "x".repeat(before);
            for line in [
                format!("needle {far} {name_and_value} {}", "x".repeat(500)),
                format!(
                    "{} {name_and_value} {} needle {}",
                    "x".repeat(500),
                    "x".repeat(before - 280),
                    "x".repeat(500)
                ),
            ] {
                let mut out = String::new();
                push_line(&mut out, line.as_bytes(), line.find("needle").unwrap(), &secrets);
                let masked = secret_cuts::tests::mask(&out);
                assert!(!masked.contains("zx8") && !masked.contains("d83"), "{before}: {out}");
            }
        }
    }
}
