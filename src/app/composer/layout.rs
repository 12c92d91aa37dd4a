//! The composer's text wrapped to a width, and the cursor's cell in it.
//!
//! Words are kept whole where they fit; units never are broken unless one alone is wider than
//! the row. The cursor always has a cell: a row that is full to the last cell is followed by
//! an empty one when the cursor stands behind it.

use super::chips::Chips;
use super::segments;
use super::segments::{Segment, SegmentKind};

/// A visual row: a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisualRow {
    /// Index of the line.
    pub line: usize,
    /// Its units, in order.
    pub units: Vec<Segment>,
    /// Character column of its start in the line.
    pub first_char: usize,
}

impl VisualRow {
    fn width(&self) -> u16 {
        self.units.iter().fold(0, |sum: u16, unit| sum.saturating_add(unit.width))
    }

    fn end_char(&self) -> usize {
        self.units.last().map_or(self.first_char, |unit| unit.first_char + unit.chars)
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
            let first = rows.len();
            wrap(line, segments::of(text, chips), width, &mut rows);
            if line == cursor.0 {
                cell = locate(&mut rows, first, cursor.1, width);
            }
        }
        ComposerLayout { rows, cursor: cell }
    }

    /// The line and character column nearest to a cell of visual row `row`.
    pub fn place(&self, row: usize, column: u16) -> Option<(usize, usize)> {
        let visual = self.rows.get(row)?;
        let continues = self.rows.get(row + 1).is_some_and(|next| next.line == visual.line);
        let mut at = 0u16;
        let mut last = visual.first_char;
        for unit in &visual.units {
            if at.saturating_add(unit.width) > column {
                return Some((visual.line, unit.first_char));
            }
            at = at.saturating_add(unit.width);
            last = unit.first_char;
        }
        Some((visual.line, if continues { last } else { visual.end_char() }))
    }
}

fn wrap(line: usize, units: Vec<Segment>, width: u16, rows: &mut Vec<VisualRow>) {
    let mut row = VisualRow { line, units: Vec::new(), first_char: 0 };
    for unit in units {
        if !row.units.is_empty() && row.width().saturating_add(unit.width) > width {
            let moved = if unit.kind == SegmentKind::Space { Vec::new() } else { take_word(&mut row, &unit) };
            let first_char = moved.first().map_or(unit.first_char, |unit| unit.first_char);
            rows.push(std::mem::replace(&mut row, VisualRow { line, units: moved, first_char }));
        }
        row.units.push(unit);
    }
    rows.push(row);
}

/// Takes the unfinished word off the end of a row, unless it fills the row from its start.
fn take_word(row: &mut VisualRow, next: &Segment) -> Vec<Segment> {
    if next.kind != SegmentKind::Word {
        return Vec::new();
    }
    let word = row.units.iter().rev().take_while(|unit| unit.kind == SegmentKind::Word).count();
    let keep = row.units.len() - word;
    if keep == 0 { Vec::new() } else { row.units.split_off(keep) }
}

fn locate(rows: &mut Vec<VisualRow>, first: usize, column: usize, width: u16) -> CursorCell {
    let last = rows.len().saturating_sub(1);
    let row = (first..=last)
        .find(|row| rows.get(*row).is_some_and(|visual| column < visual.end_char()))
        .unwrap_or(last);
    let Some(visual) = rows.get(row) else { return CursorCell::default() };
    let at = visual
        .units
        .iter()
        .take_while(|unit| unit.first_char < column)
        .fold(0u16, |sum, unit| sum.saturating_add(unit.width));
    if at < width {
        return CursorCell { row, column: at };
    }
    let (line, first_char) = (visual.line, visual.end_char());
    rows.insert(row + 1, VisualRow { line, units: Vec::new(), first_char });
    CursorCell { row: row + 1, column: 0 }
}
