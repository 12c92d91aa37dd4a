//! The selection: its ends, the marked cells, its text.
//!
//! The model holds the mouse positions; the ends of words and lines are found here, from the rows. Copied
//! text is logical text: marks are left out, and wrapped lines are joined again.

use std::ops::Range;

use super::{Place, Walk};
use tau_app::geometry::{Anchor, Point, SelectionUnit};

use crate::parts;
use crate::row::{Row, Rows};

/// Characters that are part of a word besides letters and digits, so that a path, an address or a
/// flag is one word.
const WORD: &str = "_-./~?&=%+#@:";
/// Word characters that may end a sentence.
const SENTENCE_END: [&str; 3] = [".", "?", ":"];

/// The content of a place in a line that may be wrapped.
struct LineCell {
    /// The row within the part.
    row: usize,
    column: u16,
    kind: CellKind,
    ends_sentence: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellKind {
    Word,
    Blank,
    /// Selected on its own.
    Other,
}

impl Walk<'_> {
    /// The first and last cell of the selection, if there is one.
    pub(super) fn selection_ends(&mut self) -> Option<(Point, Point)> {
        let selection = self.model.transcript.selection?;
        let (from, to) = (selection.from.min(selection.to), selection.from.max(selection.to));
        match selection.unit {
            SelectionUnit::Cell => (from != to).then_some((from, to)),
            SelectionUnit::Word => Some((self.word_at(from).0, self.word_at(to).1)),
            SelectionUnit::Line => Some((self.line_at(from).0, self.line_at(to).1)),
        }
    }

    /// The rows of the part at a point, the index of the point's row among them, and the number of rows
    /// above the first.
    fn rows_at(&mut self, point: Point) -> Option<(Rows, usize, u32)> {
        let place = self.place_of(point.anchor)?;
        let (gap, rows) = self.rows(place.index, place.part)?;
        let row = place.row.checked_sub(u32::from(gap))?;
        Some((rows, row as usize, u32::from(gap)))
    }

    /// The first and the last cell of the word at a point.
    fn word_at(&mut self, point: Point) -> (Point, Point) {
        let Some((rows, row, above)) = self.rows_at(point) else { return (point, point) };
        let cells = line_cells(&rows, line_around(&rows, row));
        let at = cells.iter().rposition(|cell| (cell.row, cell.column) <= (row, point.column));
        let Some(at) = at.filter(|at| cells.get(*at).is_some_and(|cell| cell.row == row)) else {
            return (point, point);
        };
        let word = word_around(&cells, at);
        let point = |cell: Option<&LineCell>| {
            cell.map_or(point, |cell| Point {
                anchor: Anchor { row: cell.row as u32 + above, ..point.anchor },
                column: cell.column,
            })
        };
        (point(cells.get(word.start)), point(cells.get(word.end.saturating_sub(1))))
    }

    /// The first and the last cell of the line at a point.
    fn line_at(&mut self, point: Point) -> (Point, Point) {
        let Some((rows, row, above)) = self.rows_at(point) else { return (point, point) };
        let line = line_around(&rows, row);
        let at = |row: usize, column: u16| Point {
            anchor: Anchor { row: row as u32 + above, ..point.anchor },
            column,
        };
        (at(line.start, 0), at(line.end.saturating_sub(1), self.width))
    }

    /// The selected text: for several parts, the source of complete ones; otherwise the visible text,
    /// without marks and with wrapped lines joined.
    pub(super) fn selected_text(&mut self) -> Option<String> {
        let (from, to) = self.selection?;
        let mut at = self.place_of(from.anchor)?;
        let last = self.place_of(to.anchor)?;
        let within_one = (at.index, at.part) == (last.index, last.part);
        let mut copied = CopiedText::default();
        while at <= last {
            let (gap, rows) = self.rows(at.index, at.part)?;
            let gap = u32::from(gap);
            let height = gap + rows.len() as u32;
            let is_last = (at.index, at.part) == (last.index, last.part);
            let end = if is_last { last.row + 1 } else { height };
            let is_complete = !within_one
                && at.row <= gap
                && end >= height
                && reaches(&rows, 0, self.columns_at((from, to), Place { row: gap, ..at }), true)
                && reaches(
                    &rows,
                    rows.len().saturating_sub(1),
                    self.columns_at((from, to), Place { row: height.saturating_sub(1), ..at }),
                    false,
                );
            let source = self.entries().get(at.index).and_then(|entry| parts::source(entry, at.part));
            if at.row < gap {
                copied.line("");
            }
            match source.filter(|_| is_complete) {
                Some(source) => copied.line(&source),
                None => {
                    for row in at.row.max(gap)..end {
                        let columns = self.columns_at((from, to), Place { row, ..at });
                        if let Some(row) = rows.get((row - gap) as usize) {
                            copied.row(row, columns);
                        }
                    }
                }
            }
            copied.end_part();
            match self.next_part(at.index, at.part) {
                Some((index, part)) => at = Place { index, part, row: 0 },
                None => break,
            }
        }
        Some(copied.finish())
    }

    fn columns_at(&self, ends: (Point, Point), place: Place) -> Range<u16> {
        columns(ends, self.anchor(place), self.width)
    }
}

/// The selected columns of a row.
pub(super) fn columns((from, to): (Point, Point), row: Anchor, width: u16) -> Range<u16> {
    if row < from.anchor || row > to.anchor {
        return 0..0;
    }
    let start = if row == from.anchor { from.column } else { 0 };
    let end = if row == to.anchor { to.column.saturating_add(1) } else { width };
    start.min(width)..end.min(width)
}

/// True if the columns reach to the row's first cell of text (`first`), or to its last.
fn reaches(rows: &[Row], row: usize, columns: Range<u16>, first: bool) -> bool {
    let Some(row) = rows.get(row) else { return true };
    let text = row.text_columns();
    let is_text = |column: u16| text.iter().any(|run| run.contains(&column));
    let mut missed = row.clusters().filter(|cell| {
        is_text(cell.column)
            && !cell.text.trim().is_empty()
            && if first { cell.column < columns.start } else { cell.column >= columns.end }
    });
    missed.next().is_none()
}

/// The rows of the line that a row belongs to.
fn line_around(rows: &[Row], row: usize) -> Range<usize> {
    let continues = |row: usize| rows.get(row).is_some_and(|row| row.glue().is_some());
    let (mut start, mut end) = (row, row + 1);
    while start > 0 && continues(start) {
        start -= 1;
    }
    while continues(end) {
        end += 1;
    }
    start..end
}

/// The text of a line that is wrapped into these rows, cell by cell.
fn line_cells(rows: &[Row], line: Range<usize>) -> Vec<LineCell> {
    let mut cells = Vec::new();
    for (row, drawn) in rows.iter().enumerate().take(line.end).skip(line.start) {
        if drawn.glue().is_some_and(|glue| !glue.is_empty()) {
            // Nothing is drawn there, but it ends words.
            cells.push(LineCell { row, column: 0, kind: CellKind::Blank, ends_sentence: false });
        }
        let text = drawn.text_columns();
        let is_text = |column: u16| text.iter().any(|run| run.contains(&column));
        cells.extend(drawn.clusters().filter(|cell| is_text(cell.column)).map(|cell| LineCell {
            row,
            column: cell.column,
            kind: kind_of(cell.text),
            ends_sentence: SENTENCE_END.contains(&cell.text),
        }));
    }
    cells
}

fn kind_of(cluster: &str) -> CellKind {
    match cluster.chars().next() {
        Some(c) if c.is_alphanumeric() || WORD.contains(c) => CellKind::Word,
        Some(c) if c.is_whitespace() => CellKind::Blank,
        _ => CellKind::Other,
    }
}

/// The cells of the word, or of the blanks, around a cell.
fn word_around(cells: &[LineCell], at: usize) -> Range<usize> {
    let Some(hit) = cells.get(at).filter(|cell| cell.kind != CellKind::Other) else { return at..at + 1 };
    let same = |cell: &&LineCell| cell.kind == hit.kind;
    let before = cells.iter().take(at).rev().take_while(same).count();
    let after = cells.iter().skip(at + 1).take_while(same).count();
    let (start, mut end) = (at - before, at + 1 + after);
    while end > at + 1 && cells.get(end - 1).is_some_and(|cell| cell.ends_sentence) {
        end -= 1;
    }
    start..end
}

/// Lines being collected.
#[derive(Default)]
struct CopiedText {
    text: String,
    /// True if there is already a line.
    begun: bool,
    /// True if the last row belongs to the part being copied, so that the next one may continue it.
    open: bool,
}

impl CopiedText {
    /// Adds text as separate lines.
    fn line(&mut self, text: &str) {
        self.end_line();
        self.text.push_str(text);
        self.open = false;
    }

    /// Adds the selected text of a row; joins it to the row above if it continues that.
    fn row(&mut self, row: &Row, columns: Range<u16>) {
        if row.is_mark() {
            return;
        }
        match row.glue().filter(|_| self.open) {
            Some(glue) => self.text.push_str(glue),
            None => self.end_line(),
        }
        self.text.push_str(&row.text(columns));
        self.open = true;
    }

    fn end_line(&mut self) {
        if std::mem::replace(&mut self.begun, true) {
            self.text.truncate(self.text.trim_end_matches(' ').len());
            self.text.push('\n');
        }
    }

    fn end_part(&mut self) {
        self.open = false;
    }

    fn finish(self) -> String {
        self.text.trim_start_matches('\n').trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::{Line, Span};

    use super::*;
    use crate::wrap::{self, Break};

    fn word(text: &str, width: u16, row: usize, column: u16) -> String {
        let rows = wrap::rows(&[Span::raw(text)], width, 0, Break::Words);
        let cells = line_cells(&rows, line_around(&rows, row));
        let at = cells.iter().rposition(|cell| (cell.row, cell.column) <= (row, column)).unwrap();
        let mut found = CopiedText::default();
        let range = word_around(&cells, at);
        for cell in &cells[range] {
            let row = &rows[cell.row];
            found.text.push_str(&row.text(cell.column..cell.column + 1));
        }
        found.text
    }

    #[test]
    fn paths_and_flags_are_words_and_the_end_of_a_sentence_is_not() {
        for (text, column, expected) in [
            ("see src/main.rs:12.", 5, "src/main.rs:12"),
            ("use --base-url=http://x.y/z?", 6, "--base-url=http://x.y/z"),
            ("f(a, b)", 1, "("),
            ("a   b", 2, "   "),
            ("漢字 x", 1, "漢字"),
            ("end.", 3, "end."),
        ] {
            assert_eq!(word(text, 80, 0, column), expected, "{text:?}");
        }
    }

    #[test]
    fn a_word_that_is_wrapped_is_one_word() {
        assert_eq!(word("averyverylongword x", 6, 1, 0), "averyverylongword");
        assert_eq!(word("one two", 4, 1, 0), "two");
    }

    #[test]
    fn wrapped_rows_are_one_line_and_marks_are_none() {
        let mut copied = CopiedText::default();
        copied.row(&Row::mark(Line::raw("╭─")), 0..80);
        for row in wrap::rows(&[Span::raw("one two  three")], 5, 0, Break::Words) {
            copied.row(&row.behind(Span::raw("│ ")), 0..80);
        }
        copied.row(&Row::from(Line::raw("four  ")), 0..80);
        assert_eq!(copied.finish(), "one two  three\nfour");
    }
}
