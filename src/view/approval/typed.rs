//! A typed line over as many rows as it needs, with the cursor's position.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::line_edit::LineEdit;
use tau_app::printable::printable_line;

/// The text after `label`, each row at most `width` cells wide and broken at blanks if it has any, and the cursor's
/// row and column.
pub(crate) fn rows(label: &str, line: &LineEdit, width: u16) -> (Vec<String>, (usize, u16)) {
    let width = usize::from(width.max(1));
    let (before, after) = line.at_cursor();
    let mut clusters = clusters_of(label);
    let label = clusters.len();
    clusters.extend(clusters_of(before));
    let cursor = clusters.len();
    clusters.extend(clusters_of(after));
    let starts = row_starts(&clusters, label, width);
    let ends = starts.iter().skip(1).copied().chain([clusters.len()]);
    let text = |(start, end): (&usize, usize)| {
        let row = clusters.get(*start..end).unwrap_or_default();
        row.iter().filter(|cluster| *cluster != "\n").map(String::as_str).collect()
    };
    let mut rows: Vec<String> = starts.iter().zip(ends).map(text).collect();
    let row = starts.iter().rposition(|start| *start <= cursor).unwrap_or_default();
    let start = starts.get(row).copied().unwrap_or_default();
    let column = cells(clusters.get(start..cursor).unwrap_or_default());
    if column < width {
        return (rows, (row, u16::try_from(column).unwrap_or(u16::MAX)));
    }
    rows.insert(row + 1, String::new());
    (rows, (row + 1, 0))
}

/// The characters of a text, with its line ends.
fn clusters_of(text: &str) -> Vec<String> {
    let line = |line| printable_line(line).graphemes(true).map(str::to_owned).collect::<Vec<_>>();
    text.split('\n').map(line).collect::<Vec<_>>().join(&"\n".to_owned())
}

fn cells(clusters: &[String]) -> usize {
    clusters.iter().map(|cluster| wrap::cells(cluster)).sum()
}

/// The index of each row's first cluster. No row ends within the first `label` clusters for a word behind them.
fn row_starts(clusters: &[String], label: usize, width: usize) -> Vec<usize> {
    let (mut starts, mut start, mut column) = (vec![0], 0, 0);
    for (at, cluster) in clusters.iter().enumerate() {
        if cluster == "\n" {
            (start, column) = (at + 1, 0);
            starts.push(start);
            continue;
        }
        column += wrap::cells(cluster);
        if column <= width {
            continue;
        }
        let is_blank = |at: &usize| clusters.get(*at).is_some_and(|cluster| cluster == " ");
        let word = (start.max(label)..at).rev().find(is_blank).map(|blank| blank + 1);
        // A word that is wider than a row is broken anywhere.
        for from in word.into_iter().chain([at]) {
            if column > width && from > start {
                start = from;
                column = cells(clusters.get(from..=at).unwrap_or_default());
                starts.push(start);
            }
        }
    }
    starts
}

/// The rows of a line below a list, and the cursor's row and column.
pub(crate) fn lines(
    label: &'static str,
    line: &LineEdit,
    theme: &Theme,
    width: u16,
) -> (Vec<Line<'static>>, Option<(usize, u16)>) {
    let (rows, cursor) = rows(label, line, width);
    let line = |row: String| match row.strip_prefix(label) {
        Some(text) => {
            Line::from(vec![Span::styled(label, theme.style(ThemeToken::Accent)), Span::raw(text.to_owned())])
        }
        None => Line::raw(row),
    };
    (rows.into_iter().map(line).collect(), Some(cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_take_more_rows_and_the_cursor_is_where_it_types() {
        let line = LineEdit::new("ab한국c");
        assert_eq!(rows("> ", &line, 20), (vec!["> ab한국c".to_owned()], (0, 9)));
        assert_eq!(rows("> ", &line, 6), (vec!["> ab한".to_owned(), "국c".to_owned()], (1, 3)));
        assert_eq!(rows("> ", &line, 9), (vec!["> ab한국c".to_owned(), String::new()], (1, 0)));
        let lines = LineEdit::new("ab\nc");
        assert_eq!(rows("> ", &lines, 20), (vec!["> ab".to_owned(), "c".to_owned()], (1, 1)));
        let words = LineEdit::new("one two  three 한국어 fourteen");
        assert_eq!(rows("> ", &words, 11).0, ["> one two  ", "three ", "한국어 ", "fourteen"]);
        assert_eq!(rows("> ", &words, 8).0, ["> one ", "two  ", "three ", "한국어 ", "fourteen", ""]);
        let (all, _) = rows("> ", &line, 1);
        assert!(all.len() > 5, "{all:?}");
    }
}
