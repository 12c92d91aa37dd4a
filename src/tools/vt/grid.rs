//! The cells of one screen of a terminal, its cursor, and the lines that scrolled off the top.
//!
//! Pure. Every number from outside is clamped here, so no output of a program can cause a panic or use more
//! memory than the window has cells. Rows are as long as the text written in them; the rest is blank. Rows
//! are in `grid/row.rs`; scrolling, inserting and erasing are in `grid/editing.rs`.

mod editing;
mod row;

use std::collections::VecDeque;

use super::sgr::{SgrColor, SgrStyle};
use row::COVERED;
pub use row::{ScreenCell, ScreenLine, ScreenRow};

/// The maximum number of bytes of marks that one character may carry.
const MARKS: usize = 32;
/// The approximate size, in bytes, of the parts in which a scrolled-off line is delivered.
const LONG_LINE: usize = 16 * 1024;

/// The position and style of the next character.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cursor {
    pub column: usize,
    pub row: usize,
    pub style: SgrStyle,
    /// True if the last column holds a character, so that the next one begins a new row.
    pub at_end: bool,
}

/// A part of a row or of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErasePart {
    FromCursor,
    ToCursor,
    All,
}

/// One screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    rows: VecDeque<ScreenRow>,
    columns: usize,
    pub cursor: Cursor,
    pub saved: Cursor,
    /// The first and last row of the scrolling region.
    margins: (usize, usize),
    /// The lines that scrolled off; `None` if they are not kept.
    scrolled_off: Option<Vec<ScreenLine>>,
    /// The start of a line whose other rows are still on the screen.
    unfinished: Option<ScreenLine>,
}

impl Grid {
    /// A blank screen, which collects lines that scroll off if it `keeps` them.
    pub fn new(columns: usize, rows: usize, keeps: bool) -> Self {
        let (columns, rows) = (columns.max(1), rows.max(1));
        Grid {
            rows: (0..rows).map(|_| ScreenRow::default()).collect(),
            columns,
            cursor: Cursor::default(),
            saved: Cursor::default(),
            margins: (0, rows - 1),
            scrolled_off: keeps.then(Vec::new),
            unfinished: None,
        }
    }

    /// The width and height.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows.len())
    }

    /// The rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &ScreenRow> {
        self.rows.iter()
    }

    /// The number of rows down to the last one that is not blank.
    pub fn used_rows(&self) -> usize {
        self.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1)
    }

    /// The lines that scrolled off since the last call.
    pub fn take_scrolled_off(&mut self) -> Vec<ScreenLine> {
        self.scrolled_off.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The lines in the first `rows` rows of the screen.
    pub fn lines(&self, rows: usize) -> Vec<ScreenLine> {
        let mut lines = Vec::new();
        let mut open = self.unfinished.clone();
        for row in self.rows.iter().take(rows) {
            let mut line = open.take().unwrap_or_default();
            line.push(row);
            if row.wrapped { open = Some(line) } else { lines.push(line) }
        }
        lines.extend(open);
        lines
    }

    /// Resizes the screen, unless it has this size. Rows that do not fit at the bottom scroll off the top; rows are not cut.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.max(1), rows.max(1));
        if self.size() == (columns, rows) {
            return;
        }
        while self.rows.len() > rows {
            if self.cursor.row + 1 < self.rows.len() && self.rows.back().is_some_and(ScreenRow::is_blank) {
                self.rows.pop_back();
            } else if let Some(row) = self.rows.pop_front() {
                self.scroll_off(&row);
                self.cursor.row = self.cursor.row.saturating_sub(1);
            }
        }
        while self.rows.len() < rows {
            self.rows.push_back(ScreenRow::default());
        }
        self.columns = columns;
        self.margins = (0, rows - 1);
        self.saved = self.clamp_cursor(self.saved);
        self.cursor = self.clamp_cursor(Cursor { at_end: false, ..self.cursor });
    }

    fn clamp_cursor(&self, cursor: Cursor) -> Cursor {
        let (column, row) = (cursor.column.min(self.columns - 1), cursor.row.min(self.rows.len() - 1));
        Cursor { column, row, ..cursor }
    }

    /// Moves the cursor back to its saved position.
    pub(crate) fn restore(&mut self) {
        self.cursor = self.clamp_cursor(self.saved);
    }

    /// Moves the cursor to a column and a row, from 0, clamped.
    pub(crate) fn move_to(&mut self, column: usize, row: usize) {
        self.cursor = self.clamp_cursor(Cursor { column, row, at_end: false, ..self.cursor });
    }

    /// Moves the cursor by columns and rows. It stays within its margins.
    pub(crate) fn move_by(&mut self, columns: isize, rows: isize) {
        let (top, bottom) = self.margins;
        let within = (top..=bottom).contains(&self.cursor.row);
        let (low, high) = if within { (top, bottom) } else { (0, self.rows.len() - 1) };
        let row = self.cursor.row.saturating_add_signed(rows).clamp(low, high);
        self.move_to(self.cursor.column.saturating_add_signed(columns), row);
    }

    /// The first row of the scrolling region.
    pub fn top(&self) -> usize {
        self.margins.0
    }

    /// Sets the scrolling region, from 0, inclusive. Returns false and changes nothing if it is invalid.
    pub(crate) fn set_margins(&mut self, top: usize, bottom: usize) -> bool {
        let bottom = bottom.min(self.rows.len() - 1);
        let sensible = top < bottom;
        if sensible {
            self.margins = (top, bottom);
        }
        sensible
    }

    /// Writes a character that is `width` cells wide.
    pub fn print(&mut self, character: char, width: usize, wraps: bool) {
        if width == 0 {
            return self.mark(character);
        }
        let fits = self.cursor.column + width <= self.columns;
        if wraps && (self.cursor.at_end || !fits) && width <= self.columns {
            self.wrap();
        }
        let style = self.cursor.style;
        let (column, columns) = (self.cursor.column.min(self.columns.saturating_sub(width)), self.columns);
        let Some(row) = self.rows.get_mut(self.cursor.row) else { return };
        row.put(column, ScreenCell { character, marks: None, style });
        for covered in (column + 1..column + width).take_while(|covered| *covered < columns) {
            row.put_covered_cell(covered, style);
        }
        let next = column + width;
        (self.cursor.column, self.cursor.at_end) = (next.min(columns - 1), next >= columns);
    }

    /// Writes characters of one cell each, with wrapping.
    pub(crate) fn print_ascii(&mut self, text: &[u8]) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.cursor.at_end {
                self.wrap();
            }
            let (style, column) = (self.cursor.style, self.cursor.column);
            let (now, later) = rest.split_at(rest.len().min(self.columns - column));
            let end = column + now.len();
            let Some(row) = self.rows.get_mut(self.cursor.row) else { return };
            row.pad(column);
            row.cut(column);
            row.cut(end);
            row.cells.truncate(if row.cells.len() <= end { column } else { row.cells.len() });
            let cells =
                now.iter().map(|byte| ScreenCell { character: char::from(*byte), marks: None, style });
            if row.cells.len() == column {
                row.cells.extend(cells);
            } else {
                row.cells.iter_mut().skip(column).zip(cells).for_each(|(old, new)| *old = new);
            }
            (self.cursor.column, self.cursor.at_end) = (end.min(self.columns - 1), end >= self.columns);
            rest = later;
        }
    }

    fn wrap(&mut self) {
        if let Some(row) = self.rows.get_mut(self.cursor.row) {
            row.wrapped = true;
        }
        self.cursor.column = 0;
        self.feed();
    }

    /// Writes a tab: as a character if the row is still empty there, otherwise as a move.
    pub fn tab(&mut self) {
        let from = self.cursor.column;
        let to = (from / 8 * 8 + 8).min(self.columns - 1);
        let style = self.cursor.style;
        if let Some(row) =
            self.rows.get_mut(self.cursor.row).filter(|row| row.cells.len() <= from && to > from)
        {
            row.put(from, ScreenCell { character: '\t', marks: None, style });
            (from + 1..to).for_each(|covered| row.put_covered_cell(covered, style));
        }
        self.move_to(to, self.cursor.row);
    }

    /// Adds a combining mark to the character before the cursor.
    fn mark(&mut self, character: char) {
        let at_end = self.cursor.at_end;
        let column = if at_end { self.cursor.column } else { self.cursor.column.saturating_sub(1) };
        let Some(row) = self.rows.get_mut(self.cursor.row) else { return };
        let head =
            (0..=column).rev().find(|at| row.cells.get(*at).is_some_and(|cell| cell.character != COVERED));
        let Some(cell) = head.and_then(|head| row.cells.get_mut(head)) else { return };
        let marks = cell.marks.take().map(String::from).unwrap_or_default();
        let fits = marks.len() + character.len_utf8() <= MARKS;
        cell.marks = Some(if fits { format!("{marks}{character}") } else { marks }.into());
    }

    /// Moves one row down, scrolling at the bottom of the scrolling region.
    pub fn feed(&mut self) {
        self.cursor.at_end = false;
        match self.cursor.row {
            row if row == self.margins.1 => self.scroll_up(1),
            row => self.cursor.row = (row + 1).min(self.rows.len() - 1),
        }
    }

    /// Moves one row up, scrolling at the top of the scrolling region.
    pub(crate) fn feed_back(&mut self) {
        self.cursor.at_end = false;
        match self.cursor.row {
            row if row == self.margins.0 => self.scroll_down(1),
            row => self.cursor.row = row.saturating_sub(1),
        }
    }

    fn scroll_off(&mut self, row: &ScreenRow) {
        let Some(scrolled_off) = &mut self.scrolled_off else { return };
        let mut line = self.unfinished.take().unwrap_or_default();
        line.push(row);
        if row.wrapped && line.text.len() < LONG_LINE {
            self.unfinished = Some(line);
        } else {
            line.continues = row.wrapped;
            scrolled_off.push(line);
        }
    }

    /// Erased cells have the current background.
    fn blank(&self) -> ScreenCell {
        ScreenCell::blank(SgrStyle { background: self.cursor.style.background, ..SgrStyle::default() })
    }

    fn blank_row(&self) -> ScreenRow {
        let mut row = ScreenRow::default();
        if self.cursor.style.background != SgrColor::Default {
            row.erase(0, self.columns, &self.blank());
        }
        row
    }
}
