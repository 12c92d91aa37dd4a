//! Finds known secrets in encoded forms: base64, hex in words of any size, percent-encoded, reversed, in UTF-16.
//!
//! A form is a sequence of symbols. The text is read as symbols too, once per encoding: line ends, blanks and
//! the separators of dumps are skipped, so a value is found wherever it was broken. The full comparison is
//! made only where the first symbols of a form occur.

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;

use super::visible::Visible;

/// The minimum length of a value whose forms are searched, in bytes. Forms of shorter ones would be found by
/// accident.
pub(super) const MIN_ENCODED: usize = 6;
/// The number of symbols by which a form is found.
const START: usize = 4;
/// The number of symbols from which the beginning of a form is held back at the end of a text that continues.
const MIN_BEGUN: usize = 3;
/// The maximum bytes that are skipped between two symbols: a longer gap is something else.
const MAX_GAP: usize = 160;

/// An encoding in which a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// Both alphabets: `-` is treated as `+` and `_` as `/`.
    Base64,
    /// Digits of either case. The other columns of `xxd`, `hexdump -C` and `od -tx1` are skipped.
    Hex,
    /// Bytes, where `%41`, `\x41`, `\u0041` and `\/` each stand for one.
    Escaped,
    /// Such bytes, where `%2541` stands for one, too.
    EscapedTwice,
    /// Bytes, where `=41` stands for one, and a line may end with `=`.
    Quoted,
    /// Unencoded bytes.
    Plain,
}

const ENCODINGS: [Encoding; 6] = [
    Encoding::Base64,
    Encoding::Hex,
    Encoding::Escaped,
    Encoding::EscapedTwice,
    Encoding::Quoted,
    Encoding::Plain,
];
/// The sizes of the words in which dumps print bytes with the last one first.
const WORDS: [usize; 3] = [2, 4, 8];

/// The symbol at a position of the text.
enum Step {
    Symbol(u8),
    /// It is skipped between two symbols of a form.
    Passed,
    /// It occurs in no form.
    Other,
}

impl Encoding {
    /// The symbol at `at`, and the position of the next.
    fn step(self, text: &[u8], at: usize) -> (Step, usize) {
        let byte = text.get(at).copied().unwrap_or_default();
        let one = |step| (step, at + 1);
        match self {
            Encoding::Plain => one(Step::Symbol(byte)),
            Encoding::Quoted if byte == b'=' && text.get(at + 1) == Some(&b'\n') => (Step::Passed, at + 2),
            Encoding::Escaped | Encoding::EscapedTwice | Encoding::Quoted => match self.decode(text, at) {
                Some((byte, length)) => (Step::Symbol(byte), at + length),
                None => one(Step::Symbol(byte)),
            },
            Encoding::Base64 => match BASE64[usize::from(byte)] {
                PASSED => one(Step::Passed),
                OTHER => one(Step::Other),
                symbol => one(Step::Symbol(symbol)),
            },
            Encoding::Hex => match HEX[usize::from(byte)] {
                PASSED if byte == b'\n' => {
                    (Step::Passed, at + 1 + offset(text.get(at + 1..).unwrap_or_default()))
                }
                PASSED if is_column(text, at) => {
                    let rest = text.get(at..).unwrap_or_default();
                    (Step::Passed, at + memchr::memchr(b'\n', rest).unwrap_or(rest.len()).max(1))
                }
                // `0x41`
                0 if matches!(text.get(at + 1), Some(b'x' | b'X')) => (Step::Passed, at + 2),
                PASSED => one(Step::Passed),
                OTHER => one(Step::Other),
                symbol => one(Step::Symbol(symbol)),
            },
        }
    }

    fn forms(self, value: &[u8]) -> Vec<Vec<u8>> {
        let backwards: Vec<u8> = value.iter().rev().copied().collect();
        // Both byte orders of UTF-16 have this in them.
        let mut wide: Vec<u8> = value.iter().flat_map(|byte| [*byte, 0]).collect();
        wide.pop();
        match self {
            Encoding::Base64 => {
                let texts = [value, &*backwards, &*wide].into_iter();
                let forms: Vec<Vec<u8>> =
                    texts.flat_map(|text| (0..3).map(move |offset| base64(text, offset))).collect();
                let turned = forms.iter().map(|form| form.iter().rev().copied().collect());
                turned.collect::<Vec<_>>().into_iter().chain(forms).collect()
            }
            Encoding::Hex => {
                let digits = |bytes: &[u8]| -> Vec<u8> {
                    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
                };
                let plain = digits(value);
                let turned = plain.iter().rev().copied().collect();
                let in_words = WORDS
                    .into_iter()
                    .flat_map(|size| (0..size).flat_map(move |before| words_of_digits(value, size, before)));
                [plain, turned, digits(&wide)].into_iter().chain(in_words).collect()
            }
            Encoding::Escaped | Encoding::EscapedTwice | Encoding::Quoted | Encoding::Plain => {
                vec![value.to_vec(), backwards]
            }
        }
    }

    /// Whether the text may contain forms that are not found by another encoding.
    fn may_be_in(self, text: &[u8]) -> bool {
        let has_escape = |mut marks: memchr::Memchr2<'_>| marks.any(|at| self.decode(text, at).is_some());
        match self {
            Encoding::Escaped => has_escape(memchr::memchr2_iter(b'%', b'\\', text)),
            Encoding::Quoted => has_escape(memchr::memchr2_iter(b'=', b'=', text)),
            Encoding::EscapedTwice => memchr::memmem::find(text, b"%25").is_some(),
            Encoding::Base64 | Encoding::Hex | Encoding::Plain => true,
        }
    }

    /// The byte of an escape at `at`, and the length of the escape.
    fn decode(self, text: &[u8], at: usize) -> Option<(u8, usize)> {
        let mark = match text.get(at..)? {
            [b'=', ..] if self == Encoding::Quoted => 1,
            _ if self == Encoding::Quoted => return None,
            // The `%` is an escape itself.
            [b'%', b'2', b'5', a, b, ..]
                if self == Encoding::EscapedTwice && a.is_ascii_hexdigit() && b.is_ascii_hexdigit() =>
            {
                3
            }
            [b'%', ..] => 1,
            [b'\\', b'x', ..] => 2,
            [b'\\', b'u', b'0', b'0', ..] => 4,
            [b'\\', b'/', ..] => return Some((b'/', 2)),
            _ => return None,
        };
        let digit = |at: usize| text.get(at).map(|byte| HEX[usize::from(*byte)]).filter(|digit| *digit < 16);
        Some((digit(at + mark)? << 4 | digit(at + mark + 1)?, mark + 2))
    }

    /// The symbols of bytes, where one byte is sufficient.
    fn table(self) -> &'static [u8; 256] {
        match self {
            Encoding::Base64 => &BASE64,
            Encoding::Hex => &HEX,
            Encoding::Escaped | Encoding::EscapedTwice | Encoding::Quoted | Encoding::Plain => &[PASSED; 256],
        }
    }
}

/// The base64 symbols that depend only on `value` when `offset` bytes precede it.
fn base64(value: &[u8], offset: usize) -> Vec<u8> {
    let first = (offset * 8).div_ceil(6);
    let last = (offset + value.len()) * 8 / 6;
    let bit = |at: usize| {
        let byte = (at / 8).checked_sub(offset).and_then(|at| value.get(at)).copied().unwrap_or_default();
        byte >> (7 - at % 8) & 1
    };
    (first..last).map(|symbol| (0..6).fold(0, |bits, at| bits << 1 | bit(symbol * 6 + at))).collect()
}

/// The digits of a value in words of this size, as they are printed when `before` bytes precede it in the first one.
/// What fills the last word is unknown, or missing.
fn words_of_digits(value: &[u8], size: usize, before: usize) -> Vec<Vec<u8>> {
    let (first, rest) = value.split_at((size - before).min(value.len()));
    let turned =
        |bytes: &[u8]| -> Vec<u8> { bytes.iter().rev().flat_map(|byte| [byte >> 4, byte & 15]).collect() };
    // The first symbols must be known.
    let begins = first.len() * 2 >= START;
    let mut digits = if begins { turned(first) } else { Vec::new() };
    digits.extend(std::iter::repeat_n(ANY, if begins { before * 2 } else { 0 }));
    let whole = rest.chunks_exact(size);
    let last = whole.remainder();
    whole.for_each(|word| digits.extend(turned(word)));
    let mut ends = vec![Vec::new()];
    if !last.is_empty() && digits.len() >= START {
        ends.push(turned(last));
        ends.push([vec![ANY; (size - last.len()) * 2], turned(last)].concat());
    }
    let forms = ends.into_iter().map(|end| [&*digits, &*end].concat());
    forms.filter(|form| form.iter().filter(|digit| **digit != ANY).count() >= MIN_ENCODED * 2).collect()
}

/// Any symbol, in a form.
const ANY: u8 = 253;
/// Marks in the symbol tables: skipped, and in no form.
const PASSED: u8 = 254;
const OTHER: u8 = 255;

static BASE64: [u8; 256] = {
    let mut table = [OTHER; 256];
    let symbols = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < symbols.len() {
        table[symbols[at] as usize] = at as u8;
        at += 1;
    }
    (table[b'-' as usize], table[b'_' as usize]) = (62, 63);
    let blanks = b" \t\r\n";
    let mut at = 0;
    while at < blanks.len() {
        table[blanks[at] as usize] = PASSED;
        at += 1;
    }
    table
};

static HEX: [u8; 256] = {
    let mut table = [OTHER; 256];
    let mut digit = 0;
    while digit < 16 {
        let byte = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
        table[byte as usize] = digit;
        table[byte.to_ascii_uppercase() as usize] = digit;
        digit += 1;
    }
    let between = b" \t\r\n:-,;%\\xX'\"{}[]|";
    let mut at = 0;
    while at < between.len() {
        table[between[at] as usize] = PASSED;
        at += 1;
    }
    table
};

/// The length of the offset at the beginning of a dump's line, including its separator.
fn offset(line: &[u8]) -> usize {
    let blanks = line.iter().take(4).take_while(|byte| **byte == b' ').count();
    let rest = line.get(blanks..).unwrap_or_default();
    let digits = rest.iter().take(17).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let ends = matches!(rest.get(digits), Some(b':' | b' '));
    if (6..=16).contains(&digits) && ends { blanks + digits + 1 } else { 0 }
}

/// Whether the text column of a dump begins here, to the right of its digits: after two blanks, or between
/// bars.
fn is_column(text: &[u8], at: usize) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or_default();
    match byte(Some(at)) {
        b'|' => byte(at.checked_sub(1)) == b' ',
        b' ' if byte(at.checked_sub(1)) == b' ' && byte(at.checked_sub(2)).is_ascii_hexdigit() => {
            // `hexdump -C` also has two blanks between two halves.
            let next = text.get(at + 1..).unwrap_or_default();
            // `hexdump -x` has four between words.
            let next = next.strip_prefix(b"  ").filter(|word| is_word(word, 4)).map_or(next, |_| b"00 ");
            !is_word(next, 2)
        }
        _ => false,
    }
}

/// Whether a text begins with exactly this number of digits.
fn is_word(text: &[u8], length: usize) -> bool {
    text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count() == length
        && matches!(text.get(length), Some(b' ' | b'\n'))
}

/// The length from a byte of a dump to the end of its line, if the text column is there.
fn column(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let rest = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len())).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| HEX[usize::from(**byte)] < 16 || **byte == b' ').count();
    let begins = (0..=digits.min(rest.len())).any(|before| is_column(text, at + before));
    if begins { rest.len() } else { 0 }
}

/// The forms of an encoding, by their first symbols.
#[derive(Clone, Debug, Default)]
struct Forms {
    starts: HashMap<[u8; START], Vec<Vec<u8>>>,
    /// A filter for the starts, so that most positions of a text cost one lookup.
    filter: Vec<u64>,
    longest: usize,
}

/// The bit of the filter for the first symbols of a form.
fn bit(start: u32) -> usize {
    (start.wrapping_mul(0x9E37_79B1) >> 16) as usize
}

impl Forms {
    fn of(encoding: Encoding, values: &[&[u8]]) -> Self {
        let mut forms = Forms { filter: vec![0; 1024], ..Forms::default() };
        for form in values.iter().flat_map(|value| encoding.forms(value)) {
            let Some(start) = form.first_chunk::<START>().copied() else { continue };
            let at = bit(u32::from_be_bytes(start));
            if let Some(word) = forms.filter.get_mut(at / 64) {
                *word |= 1 << (at % 64);
            }
            forms.longest = forms.longest.max(form.len());
            forms.starts.entry(start).or_default().push(form);
        }
        forms
    }

    fn may_start(&self, start: u32) -> bool {
        let at = bit(start);
        self.filter.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Adds the ranges of forms in the text.
    fn find(&self, encoding: Encoding, text: &[u8], found: &mut Vec<Range<usize>>) {
        let table = encoding.table();
        let mut start = 0u32;
        let mut places = [0usize; START];
        let mut count = 0usize;
        let mut at = if encoding == Encoding::Hex { offset(text) } else { 0 };
        while let Some(byte) = text.get(at) {
            let (step, next) = match table[usize::from(*byte)] {
                OTHER => (Step::Other, at + 1),
                0 | PASSED => encoding.step(text, at),
                symbol => (Step::Symbol(symbol), at + 1),
            };
            match step {
                Step::Symbol(symbol) => {
                    start = start << 8 | u32::from(symbol);
                    places[count % START] = at;
                    count += 1;
                    if self.may_start(start) && count >= START {
                        let from = places[count % START];
                        found.extend(self.end(encoding, text, start, next).map(|end| from..end));
                    }
                }
                Step::Passed => {}
                Step::Other => count = 0,
            }
            at = next;
        }
    }

    /// The end of the longest form whose first symbols end at `at`.
    fn end(&self, encoding: Encoding, text: &[u8], start: u32, at: usize) -> Option<usize> {
        let forms = self.starts.get(&start.to_be_bytes())?;
        let end = forms.iter().filter_map(|form| follows(encoding, text, at, form.get(START..)?)).max()?;
        Some(if encoding == Encoding::Hex { end + column(text, end) } else { end })
    }

    /// The start of an incomplete form at the end of the text, if the rest may follow.
    fn find_incomplete(&self, encoding: Encoding, text: &[u8]) -> Option<usize> {
        // Positions of symbols, up to the first that is in no form.
        let mut places: Vec<(usize, u8)> = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let (step, next) = encoding.step(text, at);
            match step {
                Step::Symbol(symbol) => places.push((at, symbol)),
                Step::Passed => {}
                Step::Other => places.clear(),
            }
            at = next;
        }
        let last = places.len().saturating_sub(self.longest);
        let places = places.get(last..).unwrap_or_default();
        let all = || self.starts.values().flatten();
        let begins = |from: &usize| {
            let rest = places.get(*from..).unwrap_or_default();
            all().any(|form| {
                form.len() > rest.len()
                    && rest
                        .iter()
                        .zip(form)
                        .all(|((_, symbol), of_form)| symbol == of_form || *of_form == ANY)
            })
        };
        let from = (0..(places.len() + 1).saturating_sub(MIN_BEGUN)).find(begins)?;
        places.get(from).map(|(at, _)| *at)
    }
}

/// The end of these symbols, if they follow at `at`.
fn follows(encoding: Encoding, text: &[u8], mut at: usize, symbols: &[u8]) -> Option<usize> {
    let mut symbols = symbols.iter();
    let mut wanted = symbols.next();
    let mut last = at;
    while let Some(symbol) = wanted {
        if at >= text.len() || at - last > MAX_GAP {
            return None;
        }
        let (step, next) = encoding.step(text, at);
        match step {
            Step::Symbol(found) if found == *symbol || *symbol == ANY => {
                wanted = symbols.next();
                last = next;
            }
            Step::Passed => {}
            Step::Symbol(_) | Step::Other => return None,
        }
        at = next;
    }
    Some(last)
}

/// The forms of all values.
#[derive(Clone, Default)]
pub(super) struct EncodedValues {
    values: Vec<String>,
    backwards: Option<AhoCorasick>,
    forms: Vec<(Encoding, Forms)>,
}

impl EncodedValues {
    pub(super) fn new<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let values: Vec<String> =
            values.filter(|value| value.len() >= MIN_ENCODED).map(str::to_owned).collect();
        let bytes: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
        let forms = |encoding: Encoding| (encoding, Forms::of(encoding, &bytes));
        let forms = if values.is_empty() { Vec::new() } else { ENCODINGS.map(forms).to_vec() };
        let backwards = values.iter().map(|value| value.bytes().rev().collect::<Vec<u8>>());
        let backwards = AhoCorasick::new(backwards).ok().filter(|_| !values.is_empty());
        EncodedValues { values, backwards, forms }
    }

    /// The ranges of the text with values in an encoded form, but not verbatim. Forms of several lines may have
    /// numbers or signs before them.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.find_in(text);
        for bare in Visible::without_prefixes(text).filter(|_| !self.values.is_empty()) {
            found.extend(self.find_in(&bare.text).into_iter().map(|range| bare.raw(range)));
        }
        found
    }

    fn find_in(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        found.extend(self.backwards.iter().flat_map(|values| values.find_iter(bytes)).map(|hit| hit.range()));
        let is_searched = |encoding: &Encoding| *encoding != Encoding::Plain && encoding.may_be_in(bytes);
        for (encoding, forms) in self.forms.iter().filter(|(encoding, _)| is_searched(encoding)) {
            forms.find(*encoding, bytes, &mut found);
        }
        let is_plain = |part: &str| self.values.iter().any(|value| value == part);
        found.retain(|range| text.get(range.clone()).is_some_and(|part| !is_plain(part)));
        found
    }

    /// The length of the text that can be shown if it continues: after it a form may have begun.
    pub(super) fn settled_length(&self, text: &str) -> usize {
        let longest = self.forms.iter().map(|(_, forms)| forms.longest).max().unwrap_or_default();
        let from = text.ceil_char_boundary(text.len().saturating_sub(longest * 8 + MAX_GAP));
        let tail = text.get(from..).filter(|_| longest > 0).unwrap_or_default();
        // The number or sign of the last line may be incomplete.
        let lines = tail.rfind('\n').map_or(0, |at| at + 1);
        let complete = tail.get(..lines).unwrap_or_default();
        let behind_prefixes = [tail, complete].into_iter().flat_map(|tail| {
            Visible::without_prefixes(tail)
                .map(move |bare| from + bare.raw_at(self.raw_settled_length(&bare.text), text.len() - from))
        });
        let length = behind_prefixes.min().unwrap_or(text.len()).min(self.raw_settled_length(text));
        // The end of one form may be the beginning of another.
        let whole = if length < text.len() { self.find(text) } else { Vec::new() };
        let cut = whole.into_iter().filter(|range| range.start < length && length < range.end);
        cut.map(|range| range.start).min().unwrap_or(length)
    }

    fn raw_settled_length(&self, text: &str) -> usize {
        let begun = |(encoding, forms): &(Encoding, Forms)| {
            // A form including skipped bytes.
            let from = text.ceil_char_boundary(text.len().saturating_sub(forms.longest * 8 + MAX_GAP));
            let tail = text.get(from..)?;
            forms.find_incomplete(*encoding, tail.as_bytes()).map(|at| text.floor_char_boundary(from + at))
        };
        self.forms.iter().filter_map(begun).min().unwrap_or(text.len())
    }
}

#[cfg(test)]
mod tests;
