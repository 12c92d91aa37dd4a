//! Common parts of lists: the filter row, the visible rows, and the selected one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::printable::printable_line;

/// Draws the filter of a list in the first row of `inner`, with `note` at its right end, and returns the
/// cursor's position.
pub(crate) fn draw_filter(
    query: &str,
    note: String,
    theme: &Theme,
    inner: Rect,
    buffer: &mut Buffer,
) -> (u16, u16) {
    let query = printable_line(query).into_owned();
    let column = u16::try_from(2 + wrap::cells(&query)).unwrap_or(u16::MAX);
    let left = vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(query)];
    let right = vec![Span::styled(note, theme.style(ThemeToken::Muted))];
    buffer.set_line(inner.x, inner.y, &both_ends(left, right, inner.width), inner.width);
    (inner.x + column.min(inner.width.saturating_sub(1)), inner.y)
}

/// Draws the filter of a list that shows it only while it is typed; where the cursor is, and the rows that are left.
pub(crate) fn draw_optional_filter(
    query: Option<&str>,
    theme: &Theme,
    inner: Rect,
    buffer: &mut Buffer,
) -> (Option<(u16, u16)>, Rect) {
    let Some(query) = query.filter(|_| inner.height > 1) else { return (None, inner) };
    let cursor = draw_filter(query, String::new(), theme, inner, buffer);
    (Some(cursor), Rect { y: inner.y + 1, height: inner.height - 1, ..inner })
}

/// The first row to show of `count`, where `fit` have room, so that the selected one is in the middle.
pub(crate) fn first_shown(selected: usize, fit: usize, count: usize) -> usize {
    selected.saturating_sub(fit / 2).min(count.saturating_sub(fit))
}

/// Marks the row at `y` as the selected one.
pub(crate) fn mark_selected(y: u16, inner: Rect, theme: &Theme, buffer: &mut Buffer) {
    buffer.set_style(Rect { y, height: 1, ..inner }, theme.style(ThemeToken::OverlaySelected));
}
