//! Finds the matches of a search on the screen, in logical lines, however wrapped.

use std::ops::Range;

use super::{Place, Walk};
use crate::parts;
use crate::row::Row;
use tau_app::transcript::EntryBody;
use tau_app::transcript::find::Occurrence;
use tau_protocol::needle::Needle;

/// The cells of a match on one row of a part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FoundCells {
    /// The row within the part, without the gap.
    pub(super) row: usize,
    pub(super) columns: Range<u16>,
}

/// The matches in one part.
pub(super) struct FoundInPart {
    pub(super) index: usize,
    pub(super) part: u32,
    pub(super) all: Vec<Vec<FoundCells>>,
}

/// The current match: a part, and the number of the match in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurrentPlace {
    pub(super) index: usize,
    pub(super) part: u32,
    pub(super) nth: usize,
}

impl Walk<'_> {
    /// The part that draws a match; the last part of the entry if fewer are drawn than exist.
    pub(super) fn locate_match(&mut self, place: Occurrence) -> Option<CurrentPlace> {
        let index = self.model.transcript.index_of(place.entry)?;
        let entry = self.entries().get(index)?;
        let count = parts::count(self.model, entry);
        let whole = matches!(entry.body, EntryBody::Tool(_) | EntryBody::Command(_));
        let end = if whole { count } else { place.part.saturating_add(1).min(count) };
        let (mut left, mut last) = (place.nth as usize, None);
        for part in place.part..end {
            let found = self.count_matches(index, part);
            if left < found {
                return Some(CurrentPlace { index, part, nth: left });
            }
            if found > 0 {
                last = Some(CurrentPlace { index, part, nth: found - 1 });
            }
            left -= found;
        }
        last
    }

    /// The number of matches drawn in a part.
    pub(super) fn count_matches(&mut self, index: usize, part: u32) -> usize {
        if self.found.as_ref().is_none_or(|found| (found.index, found.part) != (index, part)) {
            let all = match (self.rows(index, part), &self.needle) {
                (Some((_, rows)), Some(needle)) => occurrences(&rows, needle),
                _ => Vec::new(),
            };
            self.found = Some(FoundInPart { index, part, all });
        }
        self.found.as_ref().map_or(0, |found| found.all.len())
    }

    /// The row to bring onto the screen for a search.
    pub(super) fn row_to_show(&mut self) -> Option<Place> {
        let place = self.model.transcript.find.as_ref()?.place_to_show()?;
        match self.current {
            Some(CurrentPlace { index, part, nth }) => {
                self.count_matches(index, part);
                let row = self.found.as_ref()?.all.get(nth)?.first()?.row;
                let (gap, _) = self.rows(index, part)?;
                Some(Place { index, part, row: row as u32 + u32::from(gap) })
            }
            // The match is not drawn: its entry is the nearest place.
            None => Some(Place { index: self.model.transcript.index_of(place.entry)?, part: 0, row: 0 }),
        }
    }

    /// The top of a screen that shows a row: unchanged if the row is in sight, otherwise a third of the
    /// screen above it.
    pub(super) fn top_showing(&mut self, row: Place, top: Place, height: usize) -> Place {
        // The first row may be covered by the pinned prompt.
        let mut at = self.next_row(top);
        for _ in 2..height {
            match at {
                Some(place) if place == row => return top,
                Some(place) => at = self.next_row(place),
                None => break,
            }
        }
        self.rows_back(row, height / 3)
    }
}

/// All matches in the rows of a part, from top to bottom.
fn occurrences(rows: &[Row], needle: &Needle) -> Vec<Vec<FoundCells>> {
    let mut found = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        let rest = rows.get(start + 1..).unwrap_or_default();
        let end = start + 1 + rest.iter().take_while(|row| row.glue().is_some()).count();
        in_line(rows, start..end, needle, &mut found);
        start = end;
    }
    found
}

/// The matches in a line that is wrapped into these rows.
fn in_line(rows: &[Row], line: Range<usize>, needle: &Needle, found: &mut Vec<Vec<FoundCells>>) {
    let mut text = String::new();
    // The end of each cluster's text, and its cells.
    let mut cells: Vec<(usize, usize, Range<u16>)> = Vec::new();
    for (index, row) in rows.iter().enumerate().take(line.end).skip(line.start) {
        text.push_str(&needle.fold(row.glue().unwrap_or_default(), false));
        let runs = row.text_columns();
        let run_of = |column: u16| runs.iter().position(|run| run.contains(&column));
        let mut before = None;
        for cell in row.clusters() {
            let Some(run) = run_of(cell.column) else { continue };
            // No match extends from one cell of a table into the next.
            if before.is_some_and(|before| before != run) {
                text.push('\n');
            }
            before = Some(run);
            text.push_str(&needle.fold(cell.text, false));
            let width = crate::width::cells(cell.text) as u16;
            cells.push((text.len(), index, cell.column..cell.column.saturating_add(width)));
        }
    }
    for bytes in needle.ranges(&text) {
        let from = cells.partition_point(|(end, ..)| *end <= bytes.start);
        let mut place: Vec<FoundCells> = Vec::new();
        let mut before = 0;
        for (end, row, columns) in cells.iter().skip(from) {
            if before >= bytes.end {
                break;
            }
            before = *end;
            match place.last_mut() {
                Some(last) if last.row == *row && last.columns.end == columns.start => {
                    last.columns.end = columns.end;
                }
                _ => place.push(FoundCells { row: *row, columns: columns.clone() }),
            }
        }
        found.push(place);
    }
}

#[cfg(test)]
mod tests {
    use ratatui::text::{Line, Span};

    use super::*;
    use crate::wrap::{self, Break};

    fn columns(rows: &[Row], query: &str) -> Vec<Vec<(usize, u16, u16)>> {
        let found = Needle::new(query).map(|needle| occurrences(rows, &needle)).unwrap_or_default();
        let cells = |place: Vec<FoundCells>| -> Vec<(usize, u16, u16)> {
            place.into_iter().map(|cells| (cells.row, cells.columns.start, cells.columns.end)).collect()
        };
        found.into_iter().map(cells).collect()
    }

    #[test]
    fn words_are_found_across_soft_breaks_and_not_in_marks() {
        let rows: Vec<Row> = wrap::rows(&[Span::raw("one two  three")], 7, 0, Break::Words)
            .into_iter()
            .map(|row| row.behind(Span::raw("│ ")))
            .collect();
        assert_eq!(columns(&rows, "TWO  th"), Vec::<Vec<_>>::new(), "capitals matter");
        assert_eq!(columns(&rows, "two  th"), [vec![(0, 6, 9), (1, 2, 4)]]);
        assert_eq!(columns(&rows, "│"), Vec::<Vec<_>>::new());
    }

    #[test]
    fn wide_characters_and_tables() {
        let row = Row::from(Line::raw("漢字 Größe"));
        assert_eq!(columns(std::slice::from_ref(&row), "字 gr"), [vec![(0, 2, 7)]]);
        let table = Row::table(Line::raw("ab │ cd"), vec![0..2, 5..7]);
        assert_eq!(columns(std::slice::from_ref(&table), "cd"), [vec![(0, 5, 7)]]);
        assert_eq!(columns(&[table], "bc"), Vec::<Vec<_>>::new());
    }
}
