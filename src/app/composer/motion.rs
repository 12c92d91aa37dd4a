//! Moving the cursor: by segment, by word, by visual row.

use super::layout::ComposerLayout;
use super::{Composer, segments};

impl Composer {
    /// One segment to the left, over line starts.
    pub fn left(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_before() {
            Some(segment) => self.move_to(row, column - segment.chars),
            None if row > 0 => self.move_to(row - 1, usize::MAX),
            None => {}
        }
    }

    /// One segment to the right, over line ends.
    pub fn right(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_after() {
            Some(segment) => self.move_to(row, column + segment.chars),
            None if row + 1 < self.buffer.lines().len() => self.move_to(row + 1, 0),
            None => {}
        }
    }

    /// To the start of the word before.
    pub(crate) fn word_left(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_left(&self.segments_of(row), column) {
            start if start < column => self.move_to(row, start),
            _ => self.left(),
        }
    }

    /// To the end of the word after.
    pub(crate) fn word_right(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_right(&self.segments_of(row), column) {
            end if end > column => self.move_to(row, end),
            _ => self.right(),
        }
    }

    /// To the start of the line.
    pub(crate) fn line_start(&mut self) {
        let (row, _) = self.buffer.cursor();
        self.move_to(row, 0);
    }

    /// To the end of the line.
    pub(crate) fn line_end(&mut self) {
        let (row, _) = self.buffer.cursor();
        self.move_to(row, usize::MAX);
    }

    /// A visual row up at `width` cells; false on the first one.
    pub fn up(&mut self, width: u16) -> bool {
        let layout = self.layout(width);
        layout.cursor.row.checked_sub(1).is_some_and(|row| self.go_to_row(&layout, row))
    }

    /// A visual row down at `width` cells; false on the last one.
    pub fn down(&mut self, width: u16) -> bool {
        let layout = self.layout(width);
        let row = layout.cursor.row + 1;
        row < layout.rows.len() && self.go_to_row(&layout, row)
    }

    fn go_to_row(&mut self, layout: &ComposerLayout, row: usize) -> bool {
        let column = self.column.unwrap_or(layout.cursor.column);
        let Some((line, chars)) = layout.place(row, column) else { return false };
        self.jump(line, chars);
        self.close_step();
        self.column = Some(column);
        true
    }

    pub(super) fn move_to(&mut self, row: usize, column: usize) {
        self.jump(row, column);
        self.close_step();
        self.column = None;
    }
}
