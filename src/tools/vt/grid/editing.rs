//! Edits a grid: scrolls, inserts, deletes and erases rows and characters.

use super::{ErasePart, Grid};

impl Grid {
    /// Scrolls the region between the margins up.
    pub(crate) fn scroll_up(&mut self, by: usize) {
        let (top, _) = self.margins;
        self.remove(top, by);
    }

    /// Scrolls the region between the margins down.
    pub(crate) fn scroll_down(&mut self, by: usize) {
        let (top, _) = self.margins;
        self.insert(top, by);
    }

    /// Inserts blank rows at the cursor; those below move down.
    pub(crate) fn insert_rows(&mut self, count: usize) {
        self.insert(self.cursor.row, count);
    }

    /// Deletes rows at the cursor; those below move up.
    pub(crate) fn delete_rows(&mut self, count: usize) {
        let row = self.cursor.row;
        if row > self.margins.0 {
            return self.remove(row, count);
        }
        // Deleted rows do not count as scrolled off.
        let scrolled_off = self.scrolled_off.take();
        self.remove(row, count);
        self.scrolled_off = scrolled_off;
    }

    fn insert(&mut self, row: usize, count: usize) {
        let (top, bottom) = self.margins;
        if !(top..=bottom).contains(&row) {
            return;
        }
        for _ in 0..count.min(bottom + 1 - row) {
            self.rows.remove(bottom);
            self.rows.insert(row, self.blank_row());
        }
    }

    fn remove(&mut self, row: usize, count: usize) {
        let (top, bottom) = self.margins;
        if !(top..=bottom).contains(&row) {
            return;
        }
        for _ in 0..count.min(bottom + 1 - row) {
            let gone = self.rows.remove(row).unwrap_or_default();
            if row == 0 {
                self.scroll_off(&gone);
            }
            let blank = self.blank_row();
            self.rows.insert(bottom, blank);
        }
    }

    /// Erases a part of the cursor's row.
    pub(crate) fn erase_in_row(&mut self, part: ErasePart) {
        let (blank, columns, column) = (self.blank(), self.columns, self.cursor.column);
        let Some(row) = self.rows.get_mut(self.cursor.row) else { return };
        let columns = columns.max(row.cells.len());
        match part {
            ErasePart::FromCursor => row.erase(column, columns, &blank),
            ErasePart::ToCursor => row.erase(0, column + 1, &blank),
            ErasePart::All => row.erase(0, columns, &blank),
        }
        row.wrapped &= part == ErasePart::ToCursor;
        self.cursor.at_end &= part != ErasePart::FromCursor;
    }

    /// Erases a part of the screen.
    pub(crate) fn erase(&mut self, part: ErasePart) {
        let here = self.cursor.row;
        let rows = match part {
            ErasePart::FromCursor => here + 1..self.rows.len(),
            ErasePart::ToCursor => 0..here,
            ErasePart::All => 0..self.rows.len(),
        };
        if rows.start == 0
            && let (Some(line), Some(scrolled_off)) = (self.unfinished.take(), &mut self.scrolled_off)
        {
            scrolled_off.push(line);
        }
        for row in rows {
            let blank = self.blank_row();
            if let Some(row) = self.rows.get_mut(row) {
                *row = blank;
            }
        }
        if part != ErasePart::All {
            self.erase_in_row(part);
        }
    }

    /// Erases characters, starting at the cursor.
    pub(crate) fn erase_characters(&mut self, count: usize) {
        let (blank, column) = (self.blank(), self.cursor.column);
        let end = column.saturating_add(count).min(self.columns);
        if let Some(row) = self.rows.get_mut(self.cursor.row) {
            row.erase(column, end, &blank);
        }
    }

    /// Inserts blanks at the cursor; characters pushed out of the row are lost.
    pub(crate) fn insert_characters(&mut self, count: usize) {
        let (blank, column, columns) = (self.blank(), self.cursor.column, self.columns);
        let Some(row) = self.rows.get_mut(self.cursor.row).filter(|row| row.cells.len() > column) else {
            return;
        };
        row.cut(column);
        for _ in 0..count.min(columns - column) {
            row.cells.insert(column, blank.clone());
            row.cut(columns);
            row.cells.truncate(columns);
        }
    }

    /// Deletes characters at the cursor; those after it move left.
    pub(crate) fn delete_characters(&mut self, count: usize) {
        let (column, columns) = (self.cursor.column, self.columns);
        let Some(row) = self.rows.get_mut(self.cursor.row).filter(|row| row.cells.len() > column) else {
            return;
        };
        let end = column.saturating_add(count.min(columns)).min(row.cells.len());
        row.cut(column);
        row.cut(end);
        row.cells.drain(column..end);
    }
}
