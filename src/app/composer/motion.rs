//! Moves the cursor by segment, by word and by visual row.

use super::layout::ComposerLayout;
use super::{Composer, segments};

impl Composer {
    /// Moves one segment to the left, across line starts.
    pub fn left(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_before() {
            Some(segment) => self.move_to(row, column - segment.chars),
            None if row > 0 => self.move_to(row - 1, usize::MAX),
            None => {}
        }
    }

    /// Moves one segment to the right, across line ends.
    pub fn right(&mut self) {
        let (row, column) = self.buffer.cursor();
        match self.segment_after() {
            Some(segment) => self.move_to(row, column + segment.chars),
            None if row + 1 < self.buffer.lines().len() => self.move_to(row + 1, 0),
            None => {}
        }
    }

    /// Moves to the start of the previous word.
    pub(crate) fn word_left(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_left(&self.segments_of(row), column) {
            start if start < column => self.move_to(row, start),
            _ => self.left(),
        }
    }

    /// Moves to the end of the next word.
    pub(crate) fn word_right(&mut self) {
        let (row, column) = self.buffer.cursor();
        match segments::word_right(&self.segments_of(row), column) {
            end if end > column => self.move_to(row, end),
            _ => self.right(),
        }
    }

    /// Moves to the start of the line.
    pub(crate) fn line_start(&mut self) {
        let (row, _) = self.buffer.cursor();
        self.move_to(row, 0);
    }

    /// Moves to the end of the line.
    pub(crate) fn line_end(&mut self) {
        let (row, _) = self.buffer.cursor();
        self.move_to(row, usize::MAX);
    }

    /// Moves up a visual row at `width` cells; false on the first one.
    pub fn up(&mut self, width: u16) -> bool {
        self.go_rows(1, width, |row| row.checked_sub(1)) > 0
    }

    /// Moves down a visual row at `width` cells; false on the last one.
    pub fn down(&mut self, width: u16) -> bool {
        self.go_rows(1, width, |row| row.checked_add(1)) > 0
    }

    /// Moves by visual rows; returns how many there were.
    pub(super) fn go_rows(&mut self, times: usize, width: u16, next: fn(usize) -> Option<usize>) -> usize {
        let mut layout = self.layout(width);
        let mut step = || {
            let is_there = next(layout.cursor.row).is_some_and(|row| self.go_to_row(&layout, row));
            layout.follow(self.buffer.cursor(), width);
            is_there
        };
        (0..times).take_while(|_| step()).count()
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
