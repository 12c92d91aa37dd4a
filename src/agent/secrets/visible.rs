//! Text without escape sequences, which may occur anywhere in a secret.

use std::ops::Range;

use memchr::{memchr, memchr2};

use tau_tools::vt::sequence::{self, Leading};

/// The maximum length of what is before a line.
const MAX_PREFIX: usize = 256;
/// The minimum length of an abbreviated commit.
const MIN_HASH: usize = 7;

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

/// The length of what `git blame` puts before a line: a commit, and the author with the date in parentheses.
fn blame(line: &[u8]) -> usize {
    let before = line.get(..line.len().min(MAX_PREFIX)).unwrap_or_default();
    let hash = before.strip_prefix(b"^").unwrap_or(before);
    let is_commit = hash.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() >= MIN_HASH;
    let open = memchr(b'(', before).filter(|_| is_commit);
    let close = open.and_then(|open| memchr(b')', before.get(open..)?).map(|length| open + length));
    close.map_or(0, |close| (close + 2).min(line.len()))
}

/// The length of a part of a prefix at the beginning of a line.
type Part = fn(&[u8]) -> usize;

/// Parts of the prefixes of lines, one after the other.
const PREFIXES: [&[Part]; 7] =
    [&[number], &[sign], &[sign, sign], &[sign, sign, sign], &[number, sign], &[sign, number], &[blame]];

/// The lengths of such prefixes of lines; `None` if a part of it is nowhere.
fn lengths(lines: &[&[u8]], steps: &[Part]) -> Option<Vec<usize>> {
    let mut lengths = vec![0; lines.len()];
    for step in steps {
        let mut is_anywhere = false;
        for (line, length) in lines.iter().zip(&mut lengths) {
            let more = step(line.get(*length..).unwrap_or_default());
            is_anywhere |= more > 0;
            *length += more;
        }
        if !is_anywhere {
            return None;
        }
    }
    Some(lengths)
}

/// The lengths of what each line has in common with one of its neighbours, except for digits, up to a character that
/// no encoding has; `None` if that is nothing but blanks.
fn common(lines: &[&[u8]]) -> Option<Vec<usize>> {
    let none: &[u8] = &[];
    let mut lengths = vec![0_usize; lines.len()];
    for (at, pair) in lines.windows(2).enumerate() {
        let [one, other] = [0, 1].map(|index| pair.get(index).copied().unwrap_or(none));
        let (of_one, of_other) = common_prefix(one, other);
        for (index, length) in [(at, of_one), (at + 1, of_other)] {
            if let Some(known) = lengths.get_mut(index) {
                *known = length.max(*known);
            }
        }
    }
    lengths.iter().any(|length| *length > 0).then_some(lengths)
}

/// How much of two lines is the same prefix, for each of them.
fn common_prefix(one: &[u8], other: &[u8]) -> (usize, usize) {
    let run = |line: &[u8], at: usize, is_part: fn(&u8) -> bool| {
        line.get(at..).unwrap_or_default().iter().take_while(|byte| is_part(byte)).count()
    };
    let (mut at, mut ends, mut is_blank) = ((0, 0), (0, 0), true);
    while at.0.max(at.1) < MAX_PREFIX {
        let (Some(first), Some(second)) = (one.get(at.0), other.get(at.1)) else { break };
        let of_kind = |is_part: fn(&u8) -> bool| {
            (is_part(first) && is_part(second)).then(|| (run(one, at.0, is_part), run(other, at.1, is_part)))
        };
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let same = (first == second && *first != b'\n').then_some((1, 1));
        let Some(step) = of_kind(u8::is_ascii_digit).or_else(|| of_kind(is_space)).or(same) else { break };
        at = (at.0 + step.0, at.1 + step.1);
        is_blank &= is_space(first);
        let is_of_encoding = first.is_ascii_alphanumeric() || b"+/=-_".contains(first);
        if first.is_ascii() && !is_of_encoding && !is_blank {
            ends = at;
        }
    }
    ends
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

    /// The text without what programs put before its lines, of at most [`MAX_PREFIX`] bytes: one of [`PREFIXES`], or
    /// what neighbouring lines have in common. Leaves out those that no line has.
    pub(super) fn without_prefixes(raw: &str) -> impl Iterator<Item = Self> + '_ {
        let lines: Vec<&[u8]> = raw.as_bytes().split_inclusive(|byte| *byte == b'\n').collect();
        let known = PREFIXES.iter().filter_map(|steps| lengths(&lines, steps)).collect::<Vec<_>>();
        let known = known.into_iter().chain(common(&lines));
        known.map(move |lengths| {
            let mut rest = Visible { text: String::new(), from: Vec::new() };
            let mut at = 0;
            for (line, length) in lines.iter().zip(lengths) {
                rest.push(raw, at + length..at + line.len());
                at += line.len();
            }
            rest
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
