//! Tables as rows, fitted to the width: [`Table`].
//!
//! Columns get the width they need while there is room; then the widest shrink first, down to their longest
//! word. If that is not enough, the rows are stacked: one line for each cell, after the head of its column.

use pulldown_cmark::Alignment;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::inline::InlineLines;
use super::span;
use crate::link::LinkedLine;
use crate::row::{Row, RowLink};
use crate::theme::{Theme, ThemeToken};
use crate::wrap;

/// Cells between two columns: ` │ `.
const BETWEEN: usize = 3;
/// The column width below which a table is stacked.
const NARROWEST: usize = 4;

/// A table, during and after reading. Its first row is the head.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<InlineLines>>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new() }
    }

    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the row.
    pub(super) fn cell(&mut self, cell: InlineLines) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    /// The rows of the table, at most `width` cells wide.
    pub(super) fn rows(mut self, width: u16, theme: &Theme) -> Vec<Row> {
        let head = theme.style(ThemeToken::TableHead);
        let cells = self.rows.first_mut().into_iter().flatten();
        let spans = cells.flatten().flat_map(|line| &mut line.spans);
        spans.for_each(|span| span.style = span.style.patch(head));
        match self.widths(usize::from(width)) {
            Some(widths) => self.side_by_side(&widths, theme),
            None => self.stacked_rows(width, theme),
        }
    }

    /// The width of each column, unless the table does not fit.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let columns = self.alignments.len();
        let room = width.checked_sub(BETWEEN * columns.saturating_sub(1))?;
        let most = |measure: fn(&[Span<'static>]) -> usize| -> Vec<usize> {
            let cells = |column| self.rows.iter().filter_map(move |row| row.get(column)).flatten();
            (0..columns)
                .map(|column| cells(column).map(|line| measure(&line.spans)).max().unwrap_or(0).max(1))
                .collect()
        };
        let natural = most(|line| wrap::spans_cells(line));
        if natural.iter().sum::<usize>() <= room {
            return Some(natural);
        }
        let words = most(longest_word);
        let least: Vec<usize> =
            natural.iter().zip(&words).map(|(natural, word)| *natural.min(word)).collect();
        let at = |limit: usize| -> Vec<usize> {
            natural.iter().zip(&least).map(|(natural, least)| (*natural).min(limit).max(*least)).collect()
        };
        let fits = |widths: &Vec<usize>| widths.iter().sum::<usize>() <= room;
        let limit = (NARROWEST..=width).rev().find(|limit| fits(&at(*limit)))?;
        let mut widths = at(limit);
        // The remaining width goes to the columns that were cut, from the left.
        let mut left = room - widths.iter().sum::<usize>();
        for (width, natural) in widths.iter_mut().zip(&natural) {
            let more = usize::from(left > 0 && *width < *natural);
            *width += more;
            left -= more;
        }
        Some(widths)
    }

    fn side_by_side(&self, widths: &[usize], theme: &Theme) -> Vec<Row> {
        let border = theme.style(ThemeToken::TableBorder);
        let cells: Vec<Vec<Vec<Row>>> = self.rows.iter().map(|row| wrap_cells(row, widths)).collect();
        let tall = cells.iter().skip(1).flatten().any(|cell| cell.len() > 1);
        let line = || {
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            Row::mark(Line::from(span(dashes.join("─┼─"), border)))
        };
        let mut rows = Vec::new();
        for (index, row) in cells.iter().enumerate() {
            let height = row.iter().map(Vec::len).max().unwrap_or(0).max(1);
            if index == 1 || (tall && index > 1) {
                rows.push(line());
            }
            for at in 0..height {
                rows.push(self.across(row, at, widths, border));
            }
        }
        if cells.len() == 1 {
            rows.push(line());
        }
        rows
    }

    /// One row of the screen: line `at` of each cell.
    fn across(&self, row: &[Vec<Row>], at: usize, widths: &[usize], border: Style) -> Row {
        let (mut spans, mut links) = (Vec::new(), Vec::new());
        let (mut cells, mut column_start) = (Vec::with_capacity(widths.len()), 0);
        for (column, width) in widths.iter().enumerate() {
            if column > 0 {
                spans.push(span(" │ ", border));
                column_start += BETWEEN;
            }
            let text = row.get(column).and_then(|cell| cell.get(at));
            let room = width.saturating_sub(text.map_or(0, |text| wrap::spans_cells(&text.spans)));
            let left = match self.alignments.get(column) {
                Some(Alignment::Right) => room,
                Some(Alignment::Center) => room / 2,
                _ => 0,
            };
            let text_start = column_start + left;
            cells.push(text_start as u16..(column_start + width) as u16);
            column_start += width;
            let last = column + 1 == widths.len();
            let pad = |cells: usize| (cells > 0).then(|| Span::raw(" ".repeat(cells)));
            spans.extend(pad(left));
            if let Some(text) = text {
                spans.extend_from_slice(&text.spans);
                let from = |link: &RowLink| RowLink {
                    columns: link.columns.start + text_start as u16..link.columns.end + text_start as u16,
                    link: link.link.clone(),
                };
                links.extend(text.links().iter().map(from));
            }
            spans.extend(pad(if last { 0 } else { room - left }));
        }
        Row::table(Line::from(spans), cells).with_links(links)
    }

    fn stacked_rows(&self, width: u16, theme: &Theme) -> Vec<Row> {
        let mut rows = Vec::new();
        let Some((head, body)) = self.rows.split_first() else { return rows };
        let rule = || {
            let rule = span("─".repeat(usize::from(width)), theme.style(ThemeToken::TableBorder));
            Row::mark(Line::from(rule))
        };
        if body.is_empty() {
            rows.extend(head.iter().flatten().flat_map(|line| wrap::wrap_linked(line, width, 0)));
        }
        for (index, row) in body.iter().enumerate() {
            if index > 0 {
                rows.push(rule());
            }
            for (column, cell) in row.iter().enumerate() {
                let mut whole = LinkedLine::default();
                head.get(column).into_iter().flatten().for_each(|line| whole.extend(line));
                if !whole.spans.is_empty() {
                    whole.push(span(": ", theme.style(ThemeToken::TableBorder)), None);
                }
                for text in cell {
                    whole.extend(text);
                    rows.extend(wrap::wrap_linked(&std::mem::take(&mut whole), width, 2));
                }
            }
        }
        rows
    }
}

fn wrap_cells(row: &[InlineLines], widths: &[usize]) -> Vec<Vec<Row>> {
    let wrap = |(cell, width): (&InlineLines, &usize)| {
        cell.iter().flat_map(|line| wrap::wrap_linked(line, *width as u16, 0)).collect()
    };
    row.iter().zip(widths).map(wrap).collect()
}

fn longest_word(line: &[Span<'static>]) -> usize {
    let text: String = line.iter().map(|span| span.content.as_ref()).collect();
    text.split_whitespace().map(wrap::cells).max().unwrap_or(0)
}
