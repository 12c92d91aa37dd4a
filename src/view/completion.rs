//! The completion list above the composer.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::Model;

/// Draws the rows around the selected one.
pub fn draw(model: &Model, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let Some(list) = model.completion.as_ref().filter(|_| area.height > 0) else { return };
    let height = usize::from(area.height);
    let first = list.selected.saturating_sub(height - 1);
    for (offset, row) in list.rows.iter().skip(first).take(height).enumerate() {
        let selected = first + offset == list.selected;
        let style = theme.style(if selected { ThemeToken::OverlaySelected } else { ThemeToken::Text });
        let mut spans = vec![Span::styled(format!("  {:<22}", row.title.as_str()), style)];
        if !row.help.is_empty() {
            spans.push(Span::styled(format!("  {}", row.help.as_str()), theme.style(ThemeToken::Muted)));
        }
        let line = wrap::truncate_line(Line::from(spans), area.width.saturating_sub(1));
        buffer.set_line(area.x, area.y + offset as u16, &line, area.width);
    }
}
