//! Folds text to a simpler form and maps places back to the original.
//!
//! A folded text is searched when the exact one is not found: line ends become LF; trailing space,
//! indentation and look-alike characters are folded as requested. Lines stay lines and (for look-alikes)
//! characters stay characters, so that places map one to one.

use std::ops::Range;

/// The differences to ignore besides line ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignore {
    pub trailing_space: bool,
    pub indentation: bool,
    pub look_alikes: bool,
}

/// The prevailing line end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    Lf,
    CrLf,
    Cr,
}

impl LineEnd {
    /// The bytes of this line end.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            LineEnd::Lf => b"\n",
            LineEnd::CrLf => b"\r\n",
            LineEnd::Cr => b"\r",
        }
    }

    /// The name of this line end.
    pub fn name(self) -> &'static str {
        match self {
            LineEnd::Lf => "LF",
            LineEnd::CrLf => "CRLF",
            LineEnd::Cr => "CR",
        }
    }

    /// The prevailing line end of a text. CR alone counts only in a text without LF.
    pub fn of(text: &[u8]) -> Self {
        if memchr::memchr(b'\r', text).is_none() {
            return LineEnd::Lf;
        }
        let (mut bare, mut pairs) = (0usize, 0usize);
        for at in memchr::memchr_iter(b'\n', text) {
            match at.checked_sub(1).and_then(|before| text.get(before)) {
                Some(b'\r') => pairs += 1,
                _ => bare += 1,
            }
        }
        match (bare, pairs) {
            (0, 0) => LineEnd::Cr,
            _ if pairs > bare => LineEnd::CrLf,
            _ => LineEnd::Lf,
        }
    }
}

/// The line ends of a text; determined once, since texts may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEnds {
    pub prevailing: LineEnd,
    /// False if LF is the only line end.
    pub has_cr: bool,
}

impl LineEnds {
    /// Determines the line ends of a text.
    pub fn of(text: &[u8]) -> Self {
        LineEnds { prevailing: LineEnd::of(text), has_cr: memchr::memchr(b'\r', text).is_some() }
    }
}

/// A line of a text: its content and its line end, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextLine {
    pub content: Range<usize>,
    pub end: usize,
}

/// The lines of a part of a text. `style` says whether a lone CR ends a line.
pub fn lines(text: &[u8], part: Range<usize>, style: LineEnd) -> Vec<TextLine> {
    let byte = if style == LineEnd::Cr { b'\r' } else { b'\n' };
    let mut lines = Vec::new();
    let mut start = part.start;
    let inside = text.get(part.clone()).unwrap_or_default();
    for at in memchr::memchr_iter(byte, inside) {
        let at = part.start + at;
        let pair = style != LineEnd::Cr && at > start && text.get(at - 1) == Some(&b'\r');
        lines.push(TextLine { content: start..at - usize::from(pair), end: at + 1 });
        start = at + 1;
    }
    if start < part.end {
        lines.push(TextLine { content: start..part.end, end: part.end });
    }
    lines
}

/// A folded text with the origin of its lines.
#[derive(Debug)]
pub(crate) struct FoldedText {
    /// The folded text; every original line end is one LF.
    pub text: Vec<u8>,
    /// The start of each line in `text`, and the line it came from.
    pub lines: Vec<(usize, TextLine)>,
    ignore: Ignore,
}

impl FoldedText {
    /// Folds a part of the text that consists of whole lines.
    pub fn of(text: &[u8], part: Range<usize>, style: LineEnd, ignore: Ignore) -> Self {
        let mut folded = FoldedText { text: Vec::with_capacity(part.len()), lines: Vec::new(), ignore };
        for line in lines(text, part, style) {
            let start = folded.text.len();
            fold_line(text.get(line.content.clone()).unwrap_or_default(), ignore, &mut folded.text);
            if line.end > line.content.end {
                folded.text.push(b'\n');
            }
            folded.lines.push((start, line));
        }
        folded
    }

    /// The index of the line that contains the folded place.
    pub(crate) fn line_at(&self, place: usize) -> usize {
        self.lines.partition_point(|(start, _)| *start <= place).saturating_sub(1)
    }

    /// True if a line begins at the folded place.
    pub(crate) fn begins_line(&self, place: usize) -> bool {
        self.lines.get(self.line_at(place)).is_some_and(|(start, _)| *start == place)
    }

    /// True if a line ends at the folded place, before its line end.
    pub(crate) fn ends_line(&self, place: usize) -> bool {
        place == self.text.len() || self.text.get(place) == Some(&b'\n')
    }

    /// The place in the original. Only for folds that keep every character of a line.
    pub fn original(&self, text: &[u8], place: usize) -> usize {
        let Some((start, line)) = self.lines.get(self.line_at(place)) else { return text.len() };
        let inside = place - start;
        let content = text.get(line.content.clone()).unwrap_or_default();
        if !self.ignore.look_alikes {
            // After the content comes only the line end.
            return if inside > content.len() { line.end } else { line.content.start + inside };
        }
        let (mut folded, mut original) = (0, 0);
        for character in characters(content) {
            if folded >= inside {
                return line.content.start + original;
            }
            let mut bytes = Vec::new();
            push_look_alike(character, &mut bytes);
            folded += bytes.len();
            original += character.len();
        }
        if folded >= inside { line.content.end } else { line.end }
    }
}

/// Appends the folded content of one line.
pub(crate) fn fold_line(content: &[u8], ignore: Ignore, out: &mut Vec<u8>) {
    let mut content = content;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0B | 0x0C);
    // Look-alike spaces count as space only if look-alikes are folded.
    let folded: Vec<u8>;
    if ignore.look_alikes && !content.is_ascii() {
        let mut bytes = Vec::with_capacity(content.len());
        characters(content).for_each(|character| push_look_alike(character, &mut bytes));
        folded = bytes;
        content = &folded;
    }
    if ignore.trailing_space {
        let kept = content.iter().rposition(|byte| !blank(byte)).map_or(0, |at| at + 1);
        content = content.get(..kept).unwrap_or_default();
    }
    if ignore.indentation {
        let from = content.iter().position(|byte| !blank(byte)).unwrap_or(content.len());
        content = content.get(from..).unwrap_or_default();
    }
    out.extend_from_slice(content);
}

/// The characters of the bytes; an invalid sequence counts as one.
fn characters(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let sound = valid.char_indices().map(move |(at, character)| {
            valid.as_bytes().get(at..at + character.len_utf8()).unwrap_or_default()
        });
        sound.chain(Some(chunk.invalid()).filter(|invalid| !invalid.is_empty()))
    })
}

fn push_look_alike(character: &[u8], out: &mut Vec<u8>) {
    let whole = std::str::from_utf8(character).ok().and_then(|text| text.chars().next());
    match whole {
        Some(character) => {
            let mut buffer = [0; 4];
            out.extend_from_slice(look_alike(character).encode_utf8(&mut buffer).as_bytes());
        }
        None => out.extend_from_slice(character),
    }
}

/// The bytes that look-alikes fold to; every other byte of a folded text occurs unchanged in the original.
pub const PLAIN: &[u8] = b"'\"- ";

/// The plain character that this one resembles: typographic quotes, dashes and spaces.
pub(crate) fn look_alike(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{00B4}' | '\u{FF07}' => '\'',
        '\u{201C}'..='\u{201F}' | '\u{2033}' | '\u{FF02}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' | '\u{FF0D}' => '-',
        '\u{00A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prevailing_line_end_is_found() {
        let cases: &[(&[u8], LineEnd)] = &[
            (b"", LineEnd::Lf),
            (b"a\nb\r\n", LineEnd::Lf),
            (b"a\r\nb\r\nc\n", LineEnd::CrLf),
            (b"a\rb\r", LineEnd::Cr),
            (b"a\rb\n", LineEnd::Lf),
        ];
        for (text, expected) in cases {
            assert_eq!(LineEnd::of(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn places_in_a_folded_text_lead_back() {
        let text = "a\r\n\u{201C}b\u{201D}\u{00A0}c\nd".as_bytes();
        let ignore = Ignore { look_alikes: true, ..Ignore::default() };
        let folded = FoldedText::of(text, 0..text.len(), LineEnd::Lf, ignore);
        assert_eq!(folded.text, b"a\n\"b\" c\nd");
        let expected = [0, 1, 3, 6, 7, 10, 12, 13, 14];
        let places: Vec<usize> = (0..9).map(|place| folded.original(text, place)).collect();
        assert_eq!(places, expected);
        assert_eq!(folded.original(text, folded.text.len()), text.len());
    }
}
