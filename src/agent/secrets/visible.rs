//! Text without escape sequences, which may occur anywhere in a secret.

use std::ops::Range;

use memchr::memchr2;

use tau_tools::vt::sequence::{self, Leading};

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
