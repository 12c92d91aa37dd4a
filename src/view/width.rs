//! The number of cells that text takes on a row.

use ratatui::buffer::CellWidth;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;

/// The number of cells that `text` takes on a row: those of each grapheme cluster (Unicode UAX #29).
pub fn cells(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(|cluster| usize::from(cluster.cell_width())).sum()
}

/// The number of cells that the spans take together.
pub fn spans_cells<'a>(spans: impl IntoIterator<Item = &'a Span<'a>>) -> usize {
    spans.into_iter().map(|span| cells(&span.content)).sum()
}
