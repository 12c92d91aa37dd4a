//! The composer's text wrapped to a width, and the cursor's cell in it.
//!
//! Words are not broken where they fit on a row; a segment is broken only when it is wider than the row. The
//! cursor always has a cell: a full row is followed by an empty one when the cursor is after it.

use super::chips::Chips;
use super::segments;
use super::segments::{Segment, SegmentKind};

/// A visual row: a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisualRow {
    /// Index of the line.
    pub line: usize,
    /// Its segments, in order.
    pub segments: Vec<Segment>,
    /// Character column of its start in the line.
    pub first_char: usize,
}

impl VisualRow {
    fn width(&self) -> u16 {
        self.segments.iter().fold(0, |sum: u16, segment| sum.saturating_add(segment.width))
    }

    fn end_char(&self) -> usize {
        self.segments.last().map_or(self.first_char, |segment| segment.first_char + segment.chars)
    }
}

/// A cell of the wrapped text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CursorCell {
    pub row: usize,
    pub column: u16,
}

/// The wrapped text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComposerLayout {
    pub rows: Vec<VisualRow>,
    pub cursor: CursorCell,
}

impl ComposerLayout {
    /// Wraps `lines` at `width` cells; the cursor is given as line and character column.
    pub fn new(lines: &[String], cursor: (usize, usize), chips: &Chips, width: u16) -> Self {
        let width = width.max(1);
        let mut rows = Vec::with_capacity(lines.len());
        let mut cell = CursorCell::default();
        for (line, text) in lines.iter().enumerate() {
            wrap(line, segments::of(text, chips), width, &mut rows);
            if line == cursor.0 {
                cell = locate(&mut rows, cursor, width);
            }
        }
        ComposerLayout { rows, cursor: cell }
    }

    /// Follows the cursor to another place of the same text.
    pub(super) fn follow(&mut self, cursor: (usize, usize), width: u16) {
        let at = self.cursor.row;
        let is_alone =
            self.rows.get(at).is_some_and(|visual| visual.segments.is_empty() && visual.first_char > 0);
        if is_alone {
            // This row is there for the cursor only.
            self.rows.remove(at);
        }
        self.cursor = locate(&mut self.rows, cursor, width.max(1));
    }

    /// The line and character column nearest to a cell of visual row `row`.
    pub fn place(&self, row: usize, column: u16) -> Option<(usize, usize)> {
        let visual = self.rows.get(row)?;
        let continues = self.rows.get(row + 1).is_some_and(|next| next.line == visual.line);
        let mut at = 0u16;
        let mut last = visual.first_char;
        for segment in &visual.segments {
            if at.saturating_add(segment.width) > column {
                return Some((visual.line, segment.first_char));
            }
            at = at.saturating_add(segment.width);
            last = segment.first_char;
        }
        Some((visual.line, if continues { last } else { visual.end_char() }))
    }
}

fn wrap(line: usize, segments: Vec<Segment>, width: u16, rows: &mut Vec<VisualRow>) {
    let mut row = VisualRow { line, segments: Vec::new(), first_char: 0 };
    for segment in segments {
        if !row.segments.is_empty() && row.width().saturating_add(segment.width) > width {
            let moved =
                if segment.kind == SegmentKind::Space { Vec::new() } else { take_word(&mut row, &segment) };
            let first_char = moved.first().map_or(segment.first_char, |segment| segment.first_char);
            rows.push(std::mem::replace(&mut row, VisualRow { line, segments: moved, first_char }));
        }
        row.segments.push(segment);
    }
    rows.push(row);
}

/// Takes the unfinished word off the end of a row, unless it fills the whole row.
fn take_word(row: &mut VisualRow, next: &Segment) -> Vec<Segment> {
    if next.kind != SegmentKind::Word {
        return Vec::new();
    }
    let word = row.segments.iter().rev().take_while(|segment| segment.kind == SegmentKind::Word).count();
    let keep = row.segments.len() - word;
    if keep == 0 { Vec::new() } else { row.segments.split_off(keep) }
}

fn locate(rows: &mut Vec<VisualRow>, (line, column): (usize, usize), width: u16) -> CursorCell {
    let first = rows.partition_point(|visual| visual.line < line);
    let last = rows.partition_point(|visual| visual.line <= line).saturating_sub(1);
    let row = (first..=last)
        .find(|row| rows.get(*row).is_some_and(|visual| column < visual.end_char()))
        .unwrap_or(last);
    let Some(visual) = rows.get(row) else { return CursorCell::default() };
    let at = visual
        .segments
        .iter()
        .take_while(|segment| segment.first_char < column)
        .fold(0u16, |sum, segment| sum.saturating_add(segment.width));
    if at < width {
        return CursorCell { row, column: at };
    }
    let (line, first_char) = (visual.line, visual.end_char());
    rows.insert(row + 1, VisualRow { line, segments: Vec::new(), first_char });
    CursorCell { row: row + 1, column: 0 }
}
