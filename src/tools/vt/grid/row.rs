//! Rows of cells, and the lines of text that wrapped rows form.

use super::super::sgr::SgrStyle;

/// Marks the further cells that a wide character or a tab covers.
pub(super) const COVERED: char = '\0';

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ScreenCell {
    pub(super) character: char,
    /// Combining marks and joined characters.
    pub(super) marks: Option<Box<str>>,
    /// The style of the cell.
    pub style: SgrStyle,
}

impl ScreenCell {
    pub(super) fn blank(style: SgrStyle) -> Self {
        ScreenCell { character: ' ', marks: None, style }
    }

    /// The text of the cell; empty if the character before covers it.
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
    /// The text. Tabs are kept, all other control characters removed.
    pub text: String,
    /// The lengths in bytes of parts of `text`, and their styles; the rest has no style.
    pub runs: Vec<(usize, SgrStyle)>,
    /// True if this line is very long and the next one continues it.
    pub continues: bool,
}

impl ScreenLine {
    pub(super) fn push(&mut self, row: &ScreenRow) {
        self.text.reserve(row.cells.len());
        for run in row.cells.chunk_by(|one, next| one.style == next.style) {
            let before = self.text.len();
            for cell in run.iter().filter(|cell| cell.character != COVERED) {
                self.text.push(cell.character);
                if let Some(marks) = &cell.marks {
                    self.text.push_str(marks);
                }
            }
            let added = self.text.len() - before;
            if let Some(cell) = run.first().filter(|_| added > 0) {
                self.note_run(before, added, cell.style);
            }
        }
    }

    /// Records the style of text that was added after `before` bytes.
    fn note_run(&mut self, before: usize, added: usize, style: SgrStyle) {
        match self.runs.last_mut() {
            Some((length, known)) if *known == style => *length += added,
            None if style == SgrStyle::default() => {}
            None => self.runs.extend([(before, SgrStyle::default()), (added, style)]),
            Some(_) => self.runs.push((added, style)),
        }
    }
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScreenRow {
    pub(super) cells: Vec<ScreenCell>,
    /// True if the next row continues the same line.
    pub(super) wrapped: bool,
}

impl ScreenRow {
    /// The cells, up to the last one written.
    pub fn cells(&self) -> &[ScreenCell] {
        &self.cells
    }

    pub(super) fn is_blank(&self) -> bool {
        self.cells.iter().all(|cell| cell.character == ' ' && cell.style == SgrStyle::default())
    }

    pub(super) fn pad(&mut self, length: usize) {
        while self.cells.len() < length {
            self.cells.push(ScreenCell::blank(SgrStyle::default()));
        }
    }

    fn is_covered(&self, column: usize) -> bool {
        self.cells.get(column).is_some_and(|cell| cell.character == COVERED)
    }

    /// Splits a character that extends across the border before this cell.
    pub(super) fn cut(&mut self, column: usize) {
        if self.is_covered(column) {
            self.sever(column);
        }
    }

    /// Replaces a character that covers this cell and others with blank cells.
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

    pub(super) fn put(&mut self, column: usize, cell: ScreenCell) {
        self.pad(column);
        self.sever(column);
        match self.cells.get_mut(column) {
            Some(old) => *old = cell,
            None => self.cells.push(cell),
        }
    }

    pub(super) fn erase(&mut self, from: usize, to: usize, blank: &ScreenCell) {
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

    pub(super) fn put_covered_cell(&mut self, column: usize, style: SgrStyle) {
        // The previous cell covers this one, so the two must stay together.
        self.cut(column + 1);
        let covered = ScreenCell { character: COVERED, marks: None, style };
        match self.cells.get_mut(column) {
            Some(old) => *old = covered,
            None => self.cells.push(covered),
        }
    }
}
