//! A typed line over as many rows as it needs, with the cursor's position.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::line_edit::LineEdit;
use tau_app::printable::printable_line;

/// The text after `label`, each row at most `width` cells wide, and the cursor's row and column.
pub(crate) fn rows(label: &str, line: &LineEdit, width: u16) -> (Vec<String>, (usize, u16)) {
    let width = usize::from(width.max(1));
    let (before, after) = line.at_cursor();
    let mut rows = vec![String::new()];
    let mut column = 0;
    let mut put = |text: &str| {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                rows.push(String::new());
                column = 0;
            }
            for cluster in printable_line(line).graphemes(true) {
                let cells = wrap::cells(cluster);
                if column + cells > width {
                    rows.push(String::new());
                    column = 0;
                }
                if let Some(row) = rows.last_mut() {
                    row.push_str(cluster);
                }
                column += cells;
            }
        }
        if column >= width {
            rows.push(String::new());
            column = 0;
        }
        (rows.len() - 1, u16::try_from(column).unwrap_or(u16::MAX))
    };
    put(label);
    let cursor = put(before);
    put(after);
    (rows, cursor)
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
        let (all, _) = rows("> ", &line, 1);
        assert!(all.len() > 5, "{all:?}");
    }
}
