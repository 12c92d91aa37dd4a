//! The text as one row of units, for motions and text objects.

use std::ops::Range;

use crate::composer::chips::Chips;
use crate::composer::segments::{self, SegmentKind};

/// Row and column, in lines and characters.
pub(super) type Place = (usize, usize);

/// A cursor position: a segment, or the break at the end of a line.
struct Unit<'a> {
    place: Place,
    chars: usize,
    text: &'a str,
    /// A line break is a space.
    kind: SegmentKind,
}

/// The text with its line starts. Positions are unit indexes; the one after the last unit is valid, too.
pub(super) struct Text<'a> {
    units: Vec<Unit<'a>>,
    starts: Vec<usize>,
    end: Place,
}

impl<'a> Text<'a> {
    pub(super) fn new(lines: &'a [String], chips: &Chips) -> Self {
        let mut text = Text { units: Vec::new(), starts: Vec::new(), end: (0, 0) };
        for (row, line) in lines.iter().enumerate() {
            if row > 0 {
                text.units.push(Unit { place: text.end, chars: 1, text: "\n", kind: SegmentKind::Space });
            }
            text.starts.push(text.units.len());
            text.end = (row, 0);
            for segment in segments::of(line, chips) {
                text.units.push(Unit {
                    place: (row, segment.first_char),
                    chars: segment.chars,
                    text: line.get(segment.bytes).unwrap_or(""),
                    kind: segment.kind,
                });
                text.end = (row, segment.first_char + segment.chars);
            }
        }
        text
    }

    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    /// Number of lines; at least one.
    pub(super) fn rows(&self) -> usize {
        self.starts.len()
    }

    /// The place of a position.
    pub(super) fn place(&self, at: usize) -> Place {
        self.units.get(at).map_or(self.end, |unit| unit.place)
    }

    /// The position of a place, clamped to the text.
    pub(super) fn index(&self, place: Place) -> usize {
        let ends_before = |unit: &Unit| (unit.place.0, unit.place.1 + unit.chars) <= place;
        self.units.partition_point(ends_before)
    }

    pub(super) fn row(&self, at: usize) -> usize {
        self.place(at).0
    }

    /// The start of a line.
    pub(super) fn start_of(&self, row: usize) -> usize {
        self.starts.get(row).copied().unwrap_or(self.len())
    }

    /// The end of a line: its break, or the end of the text.
    pub(super) fn end_of(&self, row: usize) -> usize {
        self.starts.get(row + 1).map_or(self.len(), |next| next - 1)
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.start_of(self.row(at))
    }

    pub(super) fn line_end(&self, at: usize) -> usize {
        self.end_of(self.row(at))
    }

    pub(super) fn is_empty_row(&self, row: usize) -> bool {
        self.start_of(row) == self.end_of(row)
    }

    /// The first non-blank position of a line, else its end.
    pub(super) fn indent_end(&self, row: usize) -> usize {
        let (start, end) = (self.start_of(row), self.end_of(row));
        (start..end).find(|at| !self.is_blank(*at)).unwrap_or(end)
    }

    /// Whether it is a blank or a line break.
    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.units.get(at).is_some_and(|unit| unit.kind == SegmentKind::Space)
    }

    pub(super) fn is_chip(&self, at: usize) -> bool {
        self.units.get(at).is_some_and(|unit| unit.kind == SegmentKind::Chip)
    }

    /// Whether it is the break of an empty line.
    pub(super) fn is_empty_line(&self, at: usize) -> bool {
        self.line_start(at) == at && self.line_end(at) == at
    }

    /// Whether two positions are in words of the same kind. Each chip is a word.
    pub(super) fn is_same_word(&self, one: usize, other: usize) -> bool {
        match (self.units.get(one), self.units.get(other)) {
            (Some(one), Some(other)) => one.kind == other.kind && one.kind != SegmentKind::Chip,
            _ => false,
        }
    }

    /// The first character.
    pub(super) fn char(&self, at: usize) -> Option<char> {
        self.units.get(at).and_then(|unit| unit.text.chars().next())
    }

    /// The text of a unit; empty at the end.
    pub(super) fn str(&self, at: usize) -> &str {
        self.units.get(at).map_or("", |unit| unit.text)
    }

    pub(super) fn slice(&self, range: Range<usize>) -> String {
        range.map(|at| self.str(at)).collect()
    }

    /// The characters of a range, chips as their labels.
    pub(super) fn chars(&self, range: Range<usize>) -> usize {
        range.filter_map(|at| self.units.get(at)).map(|unit| unit.chars).sum()
    }
}
