//! A line as units: what the cursor moves over and what a deletion takes in one go.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::cells;
use super::chips::Chips;

/// A grapheme cluster, or a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it is in the line.
    pub bytes: Range<usize>,
    /// Number of characters before it in the line.
    pub first_char: usize,
    /// Its characters (code points).
    pub chars: usize,
    /// Its cells.
    pub width: u16,
    pub kind: SegmentKind,
}

/// What a unit is to word motion and wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    Space,
    Word,
    /// Punctuation, and everything that may be broken before and after.
    Other,
    Chip,
}

/// The units of a line.
pub fn of(line: &str, chips: &Chips) -> Vec<Segment> {
    let mut units = Vec::new();
    let mut at = 0;
    for label in chips.spans(line) {
        graphemes(line, at..label.start, &mut units);
        push(line, label.clone(), SegmentKind::Chip, &mut units);
        at = label.end;
    }
    graphemes(line, at..line.len(), &mut units);
    units
}

fn graphemes(line: &str, span: Range<usize>, units: &mut Vec<Segment>) {
    let start = span.start;
    for (offset, cluster) in line.get(span).unwrap_or("").grapheme_indices(true) {
        let bytes = start + offset..start + offset + cluster.len();
        push(line, bytes, kind(cluster), units);
    }
}

fn push(line: &str, bytes: Range<usize>, kind: SegmentKind, units: &mut Vec<Segment>) {
    let text = line.get(bytes.clone()).unwrap_or("");
    let first_char = units.last().map_or(0, |unit: &Segment| unit.first_char + unit.chars);
    units.push(Segment { bytes, first_char, chars: text.chars().count(), width: cells(text), kind });
}

fn kind(cluster: &str) -> SegmentKind {
    match cluster.chars().next() {
        Some(c) if c.is_whitespace() => SegmentKind::Space,
        Some(c) if (c.is_alphanumeric() || c == '_') && cells(cluster) < 2 => SegmentKind::Word,
        _ => SegmentKind::Other,
    }
}

/// The character column of the start of the word before `column`.
pub fn word_left(units: &[Segment], column: usize) -> usize {
    let mut before = units.iter().rev().filter(|unit| unit.first_char < column).peekable();
    let mut start = column;
    while let Some(unit) = before.next_if(|unit| unit.kind == SegmentKind::Space) {
        start = unit.first_char;
    }
    if let Some(unit) = before.next() {
        start = unit.first_char;
        while let Some(same) =
            before.next_if(|other| unit.kind != SegmentKind::Chip && other.kind == unit.kind)
        {
            start = same.first_char;
        }
    }
    start
}

/// The character column of the end of the word after `column`.
pub fn word_right(units: &[Segment], column: usize) -> usize {
    let mut after = units.iter().filter(|unit| unit.first_char >= column).peekable();
    let mut end = column;
    while let Some(unit) = after.next_if(|unit| unit.kind == SegmentKind::Space) {
        end = unit.first_char + unit.chars;
    }
    if let Some(unit) = after.next() {
        end = unit.first_char + unit.chars;
        while let Some(same) =
            after.next_if(|other| unit.kind != SegmentKind::Chip && other.kind == unit.kind)
        {
            end = same.first_char + same.chars;
        }
    }
    end
}
