//! Text without escape sequences, which may occur anywhere in a secret.

use std::ops::Range;

use memchr::{memchr, memchr2};

use tau_tools::vt::sequence::{self, Leading};

/// The maximum length of a file's name before the number of a line.
const MAX_PREFIX: usize = 256;

/// The length of the number of a line at its beginning, as in `  12  `, `12:` and `a.txt:12:`, with what is behind it.
fn number(line: &[u8]) -> usize {
    let of_number = |line: &[u8]| {
        let blanks = line.iter().take(12).take_while(|byte| **byte == b' ').count();
        let rest = line.get(blanks..).unwrap_or_default();
        let digits = rest.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
        let rest = rest.get(digits..).unwrap_or_default();
        let ends = digits > 0 && matches!(rest.first(), Some(b':' | b'-' | b'\t' | b' ' | b'|'));
        let behind = rest.iter().skip(1).take_while(|byte| matches!(byte, b' ' | b'\t' | b'|')).count();
        ends.then_some(blanks + digits + 1 + behind)
    };
    let before = line.get(..line.len().min(MAX_PREFIX)).unwrap_or_default();
    let before = before.get(..memchr(b'\n', before).unwrap_or(before.len())).unwrap_or_default();
    let of_file = || {
        let colons = memchr(b':', before)?;
        let rest = before.get(colons + 1..)?;
        of_number(rest).map(|length| colons + 1 + length)
    };
    of_number(before).or_else(of_file).unwrap_or_default()
}

/// The length of a sign at the beginning of a line.
fn sign(line: &[u8]) -> usize {
    match line {
        [b'>', b' ', ..] => 2,
        [b'+' | b'-' | b'>' | b'<' | b'|' | b'#', ..] => 1,
        _ => 0,
    }
}

/// A text without its escape sequences and the carriage returns of line ends, with the source of each byte.
pub(super) struct Visible {
    pub(super) text: String,
    from: Vec<usize>,
}

impl Visible {
    /// The visible part of `raw`; `None` if that is all of it.
    pub(super) fn of(raw: &str) -> Option<Self> {
        let bytes = raw.as_bytes();
        memchr2(0x1b, b'\r', bytes)?;
        let mut visible =
            Visible { text: String::with_capacity(raw.len()), from: Vec::with_capacity(raw.len()) };
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = memchr2(0x1b, b'\r', rest).unwrap_or(rest.len());
            visible.push(raw, at..at + plain);
            at += plain;
            at += match bytes.get(at) {
                Some(0x1b) => 1 + sequence_length(bytes.get(at + 1..).unwrap_or_default()),
                Some(_) if !ends_line(bytes, at) => {
                    visible.push(raw, at..at + 1);
                    1
                }
                Some(_) => 1,
                None => 0,
            };
        }
        Some(visible)
    }

    /// The text without what programs put before its lines, of at most [`MAX_PREFIX`] bytes: numbers, with or
    /// without the name of a file, and the signs of a diff or a quotation. `None` for one that no line has.
    pub(super) fn without_prefixes(raw: &str) -> impl Iterator<Item = Self> + '_ {
        let prefixes: [fn(&[u8]) -> usize; 2] = [number, sign];
        prefixes.into_iter().filter_map(move |prefix| {
            let starts =
                || std::iter::once(0).chain(memchr::memchr_iter(b'\n', raw.as_bytes()).map(|at| at + 1));
            let length = |at: usize| prefix(raw.as_bytes().get(at..).unwrap_or_default());
            starts().find(|at| length(*at) > 0)?;
            let mut rest = Visible { text: String::new(), from: Vec::new() };
            let ends = starts().skip(1).chain([raw.len()]);
            starts().zip(ends).for_each(|(start, end)| rest.push(raw, start + length(start)..end));
            Some(rest)
        })
    }

    fn push(&mut self, raw: &str, range: Range<usize>) {
        self.text.push_str(raw.get(range.clone()).unwrap_or_default());
        self.from.extend(range);
    }

    /// The range of the raw text that corresponds to a visible range.
    pub(super) fn raw(&self, range: Range<usize>) -> Range<usize> {
        let start = self.from.get(range.start).copied().unwrap_or_default();
        let end =
            range.end.checked_sub(1).and_then(|last| self.from.get(last)).map_or(start, |last| last + 1);
        start..end.max(start)
    }

    /// The position in the raw text, of the given length, that corresponds to a visible position.
    pub(super) fn raw_at(&self, at: usize, length: usize) -> usize {
        self.from.get(at).copied().unwrap_or(length)
    }
}

fn ends_line(bytes: &[u8], at: usize) -> bool {
    bytes.get(at..).unwrap_or_default().iter().find(|byte| **byte != b'\r') == Some(&b'\n')
}

fn sequence_length(after: &[u8]) -> usize {
    match sequence::after_escape(after) {
        Leading::Complete(_, length) | Leading::Malformed(length) => length,
        Leading::Incomplete => after.len(),
    }
}

/// The escape sequences in `raw`, without the text between them.
pub(super) fn sequences(raw: &str) -> String {
    let mut out = String::new();
    let mut rest = raw;
    while let Some((_, after)) = rest.split_once('\u{1b}') {
        let length = sequence_length(after.as_bytes());
        out.push('\u{1b}');
        out.push_str(after.get(..length).unwrap_or_default());
        rest = after.get(length..).unwrap_or_default();
    }
    out
}

/// The maximum length of an incomplete sequence, in bytes.
const MAX_LEN: usize = 4 * 1024;

/// The position of an incomplete escape sequence, or of a carriage return whose line feed may follow; the
/// length of `raw` if nothing matches.
pub(super) fn incomplete(raw: &str) -> usize {
    let trimmed = raw.trim_end_matches('\r').len();
    let Some(at) = memchr::memrchr(0x1b, raw.as_bytes()).filter(|at| raw.len() - at < MAX_LEN) else {
        return trimmed;
    };
    match sequence::after_escape(raw.as_bytes().get(at + 1..).unwrap_or_default()) {
        Leading::Incomplete => at,
        Leading::Complete(..) | Leading::Malformed(_) => trimmed,
    }
}
