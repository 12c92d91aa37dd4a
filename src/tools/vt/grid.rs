//! The cells of one screen of a terminal, its cursor, and what scrolled out at the top.
//!
//! Pure. Every number from outside is clamped here, so nothing a program writes can make it
//! panic or cost more memory than the window has cells. Rows are as long as what was written in
//! them; what is behind is blank.

use std::collections::VecDeque;

use super::sgr::{SgrColor, SgrStyle};

/// Bytes of marks that one character may carry.
const MARKS: usize = 32;
/// A line that scrolled out is told in parts of about this size, in bytes.
const LONG_LINE: usize = 16 * 1024;
/// Stands in the cells that a wide character or a tab covers beyond its first.
const COVERED: char = '\0';

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenCell {
    character: char,
    /// Combining marks and joined characters.
    marks: Option<Box<str>>,
    /// How it looks.
    pub style: SgrStyle,
}

impl ScreenCell {
    fn blank(style: SgrStyle) -> Self {
        ScreenCell { character: ' ', marks: None, style }
    }

    /// What stands in it; empty where the character before covers it.
    pub fn text(&self) -> String {
        match self.character {
            COVERED => String::new(),
            '\t' => " ".to_owned(),
            character => {
                std::iter::once(character).chain(self.marks.as_deref().unwrap_or("").chars()).collect()
            }
        }
    }
}

/// A line of text, its wrapped rows joined.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScreenLine {
    /// Tabs are kept, every other control character is gone.
    pub text: String,
    /// Bytes of `text` and how they look; what is left at the end is unstyled.
    pub runs: Vec<(usize, SgrStyle)>,
    /// The next line is a part of this one, which is very long.
    pub continues: bool,
}

impl ScreenLine {
    fn push(&mut self, row: &ScreenRow) {
        for cell in &row.cells {
            if cell.character == COVERED {
                continue;
            }
            let before = self.text.len();
            self.text.push(cell.character);
            self.text.push_str(cell.marks.as_deref().unwrap_or(""));
            let added = self.text.len() - before;
            match self.runs.last_mut() {
                Some((length, style)) if *style == cell.style => *length += added,
                None if cell.style == SgrStyle::default() => {}
                None => self.runs.extend([(before, SgrStyle::default()), (added, cell.style)]),
                Some(_) => self.runs.push((added, cell.style)),
            }
        }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScreenRow {
    cells: Vec<ScreenCell>,
    /// The next row goes on with the same line.
    wrapped: bool,
}

impl ScreenRow {
    /// Its cells as far as something was written.
    pub fn cells(&self) -> &[ScreenCell] {
        &self.cells
    }

    fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| cell.character == ' ' && cell.style == SgrStyle::default())
    }

    fn pad(&mut self, length: usize) {
        while self.cells.len() < length {
            self.cells.push(ScreenCell::blank(SgrStyle::default()));
        }
    }

    fn is_covered(&self, column: usize) -> bool {
        self.cells.get(column).is_some_and(|cell| cell.character == COVERED)
    }

    /// Has no character reach over the border before this cell.
    fn cut(&mut self, column: usize) {
        if self.is_covered(column) {
            self.sever(column);
        }
    }

    /// Makes single cells of the character that covers this one together with others.
    fn sever(&mut self, column: usize) {
        let mut start = column;
        while start > 0 && self.is_covered(start) {
            start -= 1;
        }
        let mut end = start + 1;
        while self.is_covered(end) {
            end += 1;
        }
        if end - start > 1
            && let Some(cells) = self.cells.get_mut(start..end)
        {
            cells.iter_mut().for_each(|cell| (cell.character, cell.marks) = (' ', None));
        }
    }

    fn put(&mut self, column: usize, cell: ScreenCell) {
        self.pad(column);
        self.sever(column);
        match self.cells.get_mut(column) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
    }

    fn erase(&mut self, from: usize, to: usize, blank: &ScreenCell) {
        if from >= to {
            return;
        }
        self.cut(from);
        self.cut(to);
        if to >= self.cells.len() && blank.style == SgrStyle::default() {
            self.cells.truncate(from);
        } else {
            self.pad(to);
            if let Some(cells) = self.cells.get_mut(from..to) {
                cells.fill(blank.clone());
            }
        }
    }
}

/// Where the next character goes, and how it looks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cursor {
    pub column: usize,
    pub row: usize,
    pub style: SgrStyle,
    /// A character stands in the last column; the next begins a new row.
    pub at_end: bool,
}

/// Which part of a row or of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErasePart {
    FromCursor,
    ToCursor,
    All,
}

/// One screen.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    rows: VecDeque<ScreenRow>,
    columns: usize,
    pub cursor: Cursor,
    pub saved: Cursor,
    /// First and last row of the part that scrolls.
    margins: (usize, usize),
    /// Lines that scrolled out, when they are to be told.
    scrolled_off: Option<Vec<ScreenLine>>,
    /// The beginning of a line whose other rows are still here.
    unfinished: Option<ScreenLine>,
}

impl Grid {
    /// A blank screen. Lines that scroll out are collected when it `keeps` them.
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

    /// Width and height.
    pub fn size(&self) -> (usize, usize) {
        (self.columns, self.rows.len())
    }

    /// The rows, top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &ScreenRow> {
        self.rows.iter()
    }

    /// Rows down to the last one that is not blank.
    pub fn used(&self) -> usize {
        self.rows.iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1)
    }

    /// The lines that scrolled out since this was asked last.
    pub fn take_scrolled_off(&mut self) -> Vec<ScreenLine> {
        self.scrolled_off.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The lines that are on the screen, the first `rows` of it.
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

    /// Another size. What does not fit at the bottom scrolls out at the top; rows are not cut.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        let (columns, rows) = (columns.max(1), rows.max(1));
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
        self.saved = self.clamped(self.saved);
        self.cursor = self.clamped(Cursor { at_end: false, ..self.cursor });
    }

    fn clamped(&self, cursor: Cursor) -> Cursor {
        let (column, row) = (cursor.column.min(self.columns - 1), cursor.row.min(self.rows.len() - 1));
        Cursor { column, row, ..cursor }
    }

    /// Goes back to where the cursor was saved.
    pub fn restore(&mut self) {
        self.cursor = self.clamped(self.saved);
    }

    /// Moves the cursor to a column and a row, from 0, clamped.
    pub fn go(&mut self, column: usize, row: usize) {
        self.cursor = self.clamped(Cursor { column, row, at_end: false, ..self.cursor });
    }

    /// Moves the cursor by columns and rows. It does not leave the margins that it is within.
    pub fn step(&mut self, columns: isize, rows: isize) {
        let (top, bottom) = self.margins;
        let within = (top..=bottom).contains(&self.cursor.row);
        let (low, high) = if within { (top, bottom) } else { (0, self.rows.len() - 1) };
        let row = self.cursor.row.saturating_add_signed(rows).clamp(low, high);
        self.go(self.cursor.column.saturating_add_signed(columns), row);
    }

    /// The first row of the part that scrolls.
    pub fn top(&self) -> usize {
        self.margins.0
    }

    /// Sets the part that scrolls, from 0, inclusive. False, and no change, where that makes no
    /// sense.
    pub fn set_margins(&mut self, top: usize, bottom: usize) -> bool {
        let bottom = bottom.min(self.rows.len() - 1);
        let sensible = top < bottom;
        if sensible {
            self.margins = (top, bottom);
        }
        sensible
    }

    /// Writes a character of that many cells.
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
            row.put_covered(covered, style);
        }
        let next = column + width;
        (self.cursor.column, self.cursor.at_end) = (next.min(columns - 1), next >= columns);
    }

    /// Writes characters of one cell each, with wrapping.
    pub fn print_ascii(&mut self, text: &str) {
        let mut rest = text.as_bytes();
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

    /// Writes a tab: on blank ground as itself, elsewhere as a move.
    pub fn tab(&mut self) {
        let from = self.cursor.column;
        let to = (from / 8 * 8 + 8).min(self.columns - 1);
        let style = self.cursor.style;
        if let Some(row) =
            self.rows.get_mut(self.cursor.row).filter(|row| row.cells.len() <= from && to > from)
        {
            row.put(from, ScreenCell { character: '\t', marks: None, style });
            (from + 1..to).for_each(|covered| row.put_covered(covered, style));
        }
        self.go(to, self.cursor.row);
    }

    /// Adds to the character before the cursor.
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

    /// One row down; at the bottom of the part that scrolls, it scrolls.
    pub fn feed(&mut self) {
        self.cursor.at_end = false;
        match self.cursor.row {
            row if row == self.margins.1 => self.scroll_up(1),
            row => self.cursor.row = (row + 1).min(self.rows.len() - 1),
        }
    }

    /// One row up; at the top of the part that scrolls, it scrolls.
    pub fn feed_back(&mut self) {
        self.cursor.at_end = false;
        match self.cursor.row {
            row if row == self.margins.0 => self.scroll_down(1),
            row => self.cursor.row = row.saturating_sub(1),
        }
    }

    /// Moves what is between the margins up.
    pub fn scroll_up(&mut self, by: usize) {
        let (top, _) = self.margins;
        self.remove(top, by);
    }

    /// Moves what is between the margins down.
    pub fn scroll_down(&mut self, by: usize) {
        let (top, _) = self.margins;
        self.insert(top, by);
    }

    /// Blank rows at the cursor; those below move down.
    pub fn insert_rows(&mut self, count: usize) {
        self.insert(self.cursor.row, count);
    }

    /// Takes rows away at the cursor; those below move up.
    pub fn delete_rows(&mut self, count: usize) {
        let row = self.cursor.row;
        if row > self.margins.0 {
            return self.remove(row, count);
        }
        // Rows that are deleted are not rows that scroll out.
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

    /// Erased cells keep the background that is in force.
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

    /// Erases a part of the cursor's row.
    pub fn erase_in_row(&mut self, part: ErasePart) {
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
    pub fn erase(&mut self, part: ErasePart) {
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

    /// Erases characters from the cursor on.
    pub fn erase_characters(&mut self, count: usize) {
        let (blank, column) = (self.blank(), self.cursor.column);
        let end = column.saturating_add(count).min(self.columns);
        if let Some(row) = self.rows.get_mut(self.cursor.row) {
            row.erase(column, end, &blank);
        }
    }

    /// Makes room for characters at the cursor; what leaves the row is lost.
    pub fn insert_characters(&mut self, count: usize) {
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

    /// Takes characters away at the cursor; those behind move left.
    pub fn delete_characters(&mut self, count: usize) {
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

impl ScreenRow {
    fn put_covered(&mut self, column: usize, style: SgrStyle) {
        // The cell before is the one that covers: it must not be severed from this one.
        self.cut(column + 1);
        let covered = ScreenCell { character: COVERED, marks: None, style };
        match self.cells.get_mut(column) {
            Some(old) => *old = covered,
            None => self.cells.push(covered),
        }
    }
}
