//! A line as segments: the units of cursor movement and deletion.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::cells;
use super::chips::Chips;

/// A grapheme cluster, or a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its byte range in the line.
    pub bytes: Range<usize>,
    /// Number of characters before it in the line.
    pub first_char: usize,
    /// Its characters (code points).
    pub chars: usize,
    /// Its cells.
    pub width: u16,
    pub kind: SegmentKind,
}

/// The role of a segment in word motion and wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    Space,
    Word,
    /// Punctuation, and other characters that allow a break before and after.
    Other,
    Chip,
}

/// The segments of a line.
pub fn of(line: &str, chips: &Chips) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut at = 0;
    for label in chips.spans(line) {
        graphemes(line, at..label.start, &mut segments);
        push(line, label.clone(), SegmentKind::Chip, &mut segments);
        at = label.end;
    }
    graphemes(line, at..line.len(), &mut segments);
    segments
}

fn graphemes(line: &str, span: Range<usize>, segments: &mut Vec<Segment>) {
    let start = span.start;
    for (offset, cluster) in line.get(span).unwrap_or("").grapheme_indices(true) {
        let bytes = start + offset..start + offset + cluster.len();
        push(line, bytes, kind(cluster), segments);
    }
}

fn push(line: &str, bytes: Range<usize>, kind: SegmentKind, segments: &mut Vec<Segment>) {
    let text = line.get(bytes.clone()).unwrap_or("");
    let first_char = segments.last().map_or(0, |segment: &Segment| segment.first_char + segment.chars);
    segments.push(Segment { bytes, first_char, chars: text.chars().count(), width: cells(text), kind });
}

fn kind(cluster: &str) -> SegmentKind {
    match cluster.chars().next() {
        Some(c) if c.is_whitespace() => SegmentKind::Space,
        Some(c) if (c.is_alphanumeric() || c == '_') && cells(cluster) < 2 => SegmentKind::Word,
        _ => SegmentKind::Other,
    }
}

/// The character column of the start of the word before `column`.
pub(crate) fn word_left(segments: &[Segment], column: usize) -> usize {
    let mut before = segments.iter().rev().filter(|segment| segment.first_char < column).peekable();
    let mut start = column;
    while let Some(segment) = before.next_if(|segment| segment.kind == SegmentKind::Space) {
        start = segment.first_char;
    }
    if let Some(segment) = before.next() {
        start = segment.first_char;
        while let Some(same) =
            before.next_if(|other| segment.kind != SegmentKind::Chip && other.kind == segment.kind)
        {
            start = same.first_char;
        }
    }
    start
}

/// The character column of the end of the word after `column`.
pub(crate) fn word_right(segments: &[Segment], column: usize) -> usize {
    let mut after = segments.iter().filter(|segment| segment.first_char >= column).peekable();
    let mut end = column;
    while let Some(segment) = after.next_if(|segment| segment.kind == SegmentKind::Space) {
        end = segment.first_char + segment.chars;
    }
    if let Some(segment) = after.next() {
        end = segment.first_char + segment.chars;
        while let Some(same) =
            after.next_if(|other| segment.kind != SegmentKind::Chip && other.kind == segment.kind)
        {
            end = same.first_char + same.chars;
        }
    }
    end
}
