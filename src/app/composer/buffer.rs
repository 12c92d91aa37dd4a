//! The lines of the composer, its cursor and its undo log: the only user of the text area crate.
//!
//! The text area works by code point and keeps an undo step for each edit. Neither is visible: the composer moves and
//! deletes by segment and groups undo steps itself.

use ratatui_textarea::{CursorMove, DataCursor, TextArea};

/// Maximum number of undo steps.
const UNDO_STEPS: usize = 10_000;

/// Lines, a cursor and an undo log. Rows and columns count lines and characters.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    area: TextArea<'static>,
}

impl Default for Buffer {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(UNDO_STEPS);
        Buffer { area }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.lines() == other.lines() && self.cursor() == other.cursor()
    }
}

impl Buffer {
    /// The lines; at least one.
    pub(super) fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// A line; empty beyond the last one.
    pub(super) fn line(&self, row: usize) -> &str {
        self.area.lines().get(row).map_or("", String::as_str)
    }

    /// Row and column of the cursor.
    pub(super) fn cursor(&self) -> (usize, usize) {
        let DataCursor(row, column) = self.area.cursor();
        (row, column)
    }

    /// Moves the cursor, clamped to the text. A jump ends at 65,535; what is further is reached from there or from
    /// the end.
    pub(super) fn jump(&mut self, row: usize, column: usize) {
        let last = self.lines().len().saturating_sub(1);
        let row = row.min(last);
        let end = self.line(row).chars().count();
        let column = column.min(end);
        match (u16::try_from(row), u16::try_from(column)) {
            (Ok(row), Ok(column)) => return self.area.move_cursor(CursorMove::Jump(row, column)),
            (Ok(row), Err(_)) => self.area.move_cursor(CursorMove::Jump(row, 0)),
            (Err(_), _) => {
                self.area.move_cursor(CursorMove::Bottom);
                (row..last).for_each(|_| self.area.move_cursor(CursorMove::Up));
            }
        }
        self.area.move_cursor(CursorMove::End);
        (column..end).for_each(|_| self.area.move_cursor(CursorMove::Back));
    }

    /// Inserts text at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        self.area.insert_str(text);
    }

    /// Inserts a line break at the cursor.
    pub(super) fn new_line(&mut self) {
        self.area.insert_newline();
    }

    /// Deletes characters after the cursor; false when nothing was deleted.
    pub(super) fn delete(&mut self, chars: usize) -> bool {
        self.area.delete_str(chars)
    }

    /// Joins the line of the cursor with the one before.
    pub(super) fn delete_line_break(&mut self) {
        self.area.delete_newline();
    }

    /// Undoes this many edits.
    pub(super) fn undo(&mut self, edits: u32) {
        for _ in 0..edits {
            self.area.undo();
        }
    }

    /// Redoes this many edits.
    pub(super) fn redo(&mut self, edits: u32) {
        for _ in 0..edits {
            self.area.redo();
        }
    }
}
