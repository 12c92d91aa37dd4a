//! A row of the transcript, with the cells that are text.
//!
//! Besides text a row may hold marks: bars, borders, line numbers, signs, hints. Only text is copied, and
//! the rows of a wrapped line are joined again. A row therefore knows which of its cells are text, and
//! whether it continues the row above. It also knows its links.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::link::Link;
use super::picture::PictureRow;
use super::width;

/// Cells to the left of text, where heads and bars are drawn.
pub(crate) const MARGIN: u16 = 2;

/// The rows of a part.
pub type Rows = Arc<[Row]>;

/// A drawn row that knows which of its cells are text. It dereferences to its [`Line`]. Copies share their
/// contents until one of them is changed.
#[derive(Clone, Debug)]
pub struct Row(Arc<Content>);

#[derive(Clone, Debug, PartialEq)]
struct Content {
    line: Line<'static>,
    text: TextCells,
    /// The text that wrapping left out between the row above and this one; `None` on the first row of a
    /// line.
    glue: Option<Cow<'static, str>>,
    links: Vec<RowLink>,
    /// The row of a picture on these columns.
    picture: Option<(Range<u16>, PictureRow)>,
}

/// Columns of a row with a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowLink {
    pub(crate) columns: Range<u16>,
    pub(crate) link: Link,
}

/// The cells of a row that are text, as columns.
#[derive(Clone, Debug, PartialEq)]
enum TextCells {
    /// The row is a mark: a border, a hint.
    None,
    /// One run; `u16::MAX` is the end of the row, including later additions.
    Run(Range<u16>),
    /// The cells of a table, from left to right.
    Table(Vec<Range<u16>>),
}

impl From<Line<'static>> for Row {
    /// A row that consists entirely of text.
    fn from(line: Line<'static>) -> Self {
        let text = TextCells::Run(0..u16::MAX);
        Row(Arc::new(Content { line, text, glue: None, links: Vec::new(), picture: None }))
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.has_text_of(other) && self.0 == other.0
    }
}

impl Row {
    /// Whether the texts are equal. Rows that differ do so here, where a comparison is quickest.
    fn has_text_of(&self, other: &Row) -> bool {
        let (spans, others) = (&self.0.line.spans, &other.0.line.spans);
        spans.len() == others.len()
            && spans.iter().rev().zip(others.iter().rev()).all(|(span, other)| span.content == other.content)
    }
}

impl Deref for Row {
    type Target = Line<'static>;

    fn deref(&self) -> &Line<'static> {
        &self.0.line
    }
}

impl Row {
    /// The row with a change applied.
    fn with(mut self, change: impl FnOnce(&mut Content)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// A row without text, such as a border or a hint.
    pub(crate) fn mark(line: Line<'static>) -> Self {
        Row::from(line).with(|row| row.text = TextCells::None)
    }

    /// A row of a picture on these columns.
    pub(crate) fn picture(line: Line<'static>, columns: Range<u16>, picture: PictureRow) -> Self {
        Row::mark(line).with(|row| row.picture = Some((columns, picture)))
    }

    /// A row of a table, whose cells are at these columns.
    pub(crate) fn table(line: Line<'static>, cells: Vec<Range<u16>>) -> Self {
        Row::from(line).with(|row| row.text = TextCells::Table(cells))
    }

    /// Adds these links, from left to right.
    pub(crate) fn with_links(self, links: Vec<RowLink>) -> Self {
        self.with(|row| row.links = links)
    }

    /// The links of the row, from left to right.
    pub(crate) fn links(&self) -> &[RowLink] {
        &self.0.links
    }

    /// The row of a picture on this row, and its columns.
    pub(crate) fn picture_row(&self) -> Option<&(Range<u16>, PictureRow)> {
        self.0.picture.as_ref()
    }

    /// Marks the row as the continuation of the row above; `glue` is the text that wrapping left out between
    /// them.
    pub(crate) fn with_glue(self, glue: Cow<'static, str>) -> Self {
        self.with(|row| row.glue = Some(glue))
    }

    /// The row as a drawn line.
    pub fn into_line(self) -> Line<'static> {
        Arc::unwrap_or_clone(self.0).line
    }

    /// Changes how the row is drawn; its cells keep their contents and positions.
    pub(crate) fn restyle(&mut self, change: impl FnOnce(&mut Line<'static>)) {
        change(&mut Arc::make_mut(&mut self.0).line);
    }

    /// Puts the row to the right of a mark.
    pub(crate) fn behind(self, mark: Span<'static>) -> Self {
        self.with_indent(vec![mark], u16::MAX)
    }

    /// Puts the row to the right of `before`, whose cells from `text_from` on are text of the line that
    /// begins here, such as the number of a list item. If the row continues a line, or begins with a mark,
    /// all of `before` is a mark.
    pub(crate) fn with_indent(self, before: Vec<Span<'static>>, text_from: u16) -> Self {
        let by = u16::try_from(width::spans_cells(&before)).unwrap_or(u16::MAX);
        let shift = |at: u16| if at == u16::MAX { at } else { at.saturating_add(by) };
        self.with(|row| {
            match &mut row.text {
                TextCells::None => {}
                TextCells::Run(run) => {
                    let own = run.start == 0 && row.glue.is_none();
                    run.start = if own { text_from.min(by) } else { shift(run.start) };
                    run.end = shift(run.end);
                }
                TextCells::Table(cells) => {
                    cells.iter_mut().for_each(|cell| *cell = shift(cell.start)..shift(cell.end));
                }
            }
            for link in &mut row.links {
                link.columns = shift(link.columns.start)..shift(link.columns.end);
            }
            row.line.spans.splice(0..0, before);
        })
    }

    /// Ends the text of the row at this column: cells from there on are a mark.
    pub(crate) fn text_until(self, column: u16) -> Self {
        self.with(|row| {
            if let TextCells::Run(run) = &mut row.text {
                run.end = run.end.min(column);
            }
        })
    }

    /// Ends the text of the row at its current end: later additions are marks.
    pub(crate) fn end_text(self) -> Self {
        let end = u16::try_from(width::spans_cells(&self.0.line.spans)).unwrap_or(u16::MAX);
        self.text_until(end)
    }

    /// True if the row has no text at all, not even an empty line.
    pub(crate) fn is_mark(&self) -> bool {
        self.0.text == TextCells::None
    }

    /// The text that wrapping left out between the row above and this one; `None` on the first row of a
    /// line.
    pub(crate) fn glue(&self) -> Option<&str> {
        self.0.glue.as_deref()
    }

    /// The columns that are text; several for a row of a table.
    pub(crate) fn text_columns(&self) -> &[Range<u16>] {
        match &self.0.text {
            TextCells::None => &[],
            TextCells::Run(run) => std::slice::from_ref(run),
            TextCells::Table(cells) => cells,
        }
    }

    /// The text between two columns. Tabs separate the cells of a table.
    pub(crate) fn text(&self, columns: Range<u16>) -> String {
        let mut text = String::new();
        for (index, run) in self.text_columns().iter().enumerate() {
            let (start, end) = (run.start.max(columns.start), run.end.min(columns.end));
            if start < end && index > 0 && !text.is_empty() {
                text.push('\t');
            }
            let before = text.len();
            let drawn = self.clusters().filter(|cell| (start..end).contains(&cell.column));
            text.extend(drawn.map(|cell| cell.text));
            if matches!(self.0.text, TextCells::Table(_)) {
                let kept = before + text.get(before..).unwrap_or_default().trim_end().len();
                text.truncate(kept);
            }
        }
        text
    }

    /// True if both are copies of one row.
    #[cfg(test)]
    pub(crate) fn is_shared_with(&self, other: &Row) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The drawn clusters, with the column of each.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = DrawnCluster<'_>> {
        let mut next = 0_u16;
        self.0.line.spans.iter().flat_map(|span| span.content.graphemes(true)).map(move |text| {
            let column = next;
            next = next.saturating_add(u16::try_from(width::cells(text)).unwrap_or(0));
            DrawnCluster { column, text }
        })
    }
}

/// A cluster drawn in one or two cells, and the column of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnCluster<'a> {
    pub column: u16,
    pub text: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_marks() {
        let row = Row::from(Line::raw("let x = 1;  ")).end_text();
        let mut row = row.behind(Span::raw("12 │ ")).behind(Span::raw("  "));
        row.restyle(|line| line.spans.push(Span::raw("     ")));
        assert_eq!(row.text(0..u16::MAX), "let x = 1;  ");
        assert_eq!(row.text(0..10), "let");
        assert_eq!(row.text(9..12), "t x");
        assert_eq!(Row::mark(Line::raw("╭─ rust")).text(0..80), "");
    }

    #[test]
    fn the_number_of_an_item_is_text_where_the_item_begins() {
        let first = Row::from(Line::raw("one two")).with_indent(vec![Span::raw("▎ "), Span::raw("1. ")], 2);
        assert_eq!(first.text(0..80), "1. one two");
        let rest = Row::from(Line::raw("three")).with_glue(Cow::Borrowed(" "));
        let rest = rest.with_indent(vec![Span::raw("▎ "), Span::raw("   ")], 2);
        assert_eq!(rest.text(0..80), "three");
    }

    #[test]
    fn cells_of_a_table_are_set_apart_by_tabs() {
        let row = Row::table(Line::raw("漢字 │ b   │ c"), vec![0..4, 7..10, 13..14]).behind(Span::raw("  "));
        assert_eq!(row.text(0..80), "漢字\tb\tc");
        assert_eq!(row.text(8..14), "b");
    }
}
