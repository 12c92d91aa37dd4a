//! Groups of keys in columns, one after the other, as low as possible.

use ratatui::text::{Line, Span};

use crate::theme::{Theme, ThemeToken};
use crate::wrap;

/// The minimum width of a column, in cells.
const COLUMN: u16 = 36;
/// The maximum number of columns.
const MAX_COLUMNS: usize = 3;

/// A heading, and keys with their actions.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) entries: Vec<(String, &'static str)>,
}

/// The rows, at most `width` cells wide.
pub(super) fn rows(groups: &[Group], theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let count = usize::from(width / COLUMN).clamp(1, MAX_COLUMNS);
    let heights: Vec<usize> = groups.iter().map(|group| group.entries.len() + 1).collect();
    let all: usize = heights.iter().sum();
    let least = (all.div_ceil(count)..all).find(|most| divide(&heights, *most).len() <= count);
    let column = usize::from(width) / count;
    let mut rows: Vec<Line<'static>> = Vec::new();
    let mut rest = groups;
    for (at, length) in divide(&heights, least.unwrap_or(all)).into_iter().enumerate() {
        let (own, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        rest = after;
        for (y, line) in one_column(own, column, theme).into_iter().enumerate() {
            if y == rows.len() {
                rows.push(Line::default());
            }
            if let Some(row) = rows.get_mut(y) {
                let missing = (at * column).saturating_sub(wrap::spans_cells(&row.spans));
                row.spans.push(Span::raw(" ".repeat(missing)));
                row.spans.extend(line.spans);
            }
        }
    }
    rows
}

/// The number of groups in each column, given the maximum height of a column.
fn divide(heights: &[usize], most: usize) -> Vec<usize> {
    let (mut columns, mut used) = (vec![0], 0);
    for height in heights {
        match columns.last_mut() {
            Some(groups) if *groups == 0 || used + height <= most => {
                *groups += 1;
                used += height;
            }
            _ => {
                columns.push(1);
                used = *height;
            }
        }
    }
    columns
}

fn one_column(groups: &[Group], width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let keys = groups.iter().flat_map(|group| &group.entries).map(|(key, _)| wrap::cells(key)).max();
    let keys = keys.unwrap_or(0) + 1;
    let mut rows = Vec::new();
    for group in groups {
        rows.push(Line::from(Span::styled(group.title, theme.style(ThemeToken::Heading))));
        rows.extend(group.entries.iter().map(|(key, label)| {
            let spans = vec![
                Span::styled(format!(" {key:<keys$}"), theme.style(ThemeToken::Accent)),
                Span::styled(*label, theme.style(ThemeToken::Text)),
            ];
            wrap::truncate_line(Line::from(spans), u16::try_from(width).unwrap_or(u16::MAX))
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stay_whole_and_fill_columns_in_order() {
        assert_eq!(divide(&[3, 3, 3], 6), [2, 1]);
        assert_eq!(divide(&[3, 4, 3], 6), [1, 1, 1]);
        assert_eq!(divide(&[9], 6), [1]);
    }
}
