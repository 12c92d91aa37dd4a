//! The completion list above the composer.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use tau_app::Model;
use tau_app::completion::CompletionRow;
use tau_app::printable::printable_line;

/// The rows around the selected one.
pub(crate) fn lines(model: &Model, theme: &Theme, area: Rect) -> Vec<Line<'static>> {
    let Some(list) = model.completion.as_ref().filter(|_| area.height > 0) else { return Vec::new() };
    let height = usize::from(area.height);
    let first = list.selected.saturating_sub(height - 1);
    if list.rows.is_empty() {
        let none = format!("  nothing matches {}", printable_line(&list.word));
        let none = Line::styled(none, theme.style(ThemeToken::Muted));
        return vec![wrap::truncate_line(none, area.width)];
    }
    let line = |(offset, row): (usize, &CompletionRow)| {
        let selected = first + offset == list.selected;
        let style = theme.style(if selected { ThemeToken::OverlaySelected } else { ThemeToken::Text });
        let mut spans = vec![Span::styled(format!("  {:<22}", row.title.as_str()), style)];
        if !row.help.is_empty() {
            spans.push(Span::styled(format!("  {}", row.help.as_str()), theme.style(ThemeToken::Muted)));
        }
        // Hidden rows are counted.
        let count = Some(format!("{} of {}", first + offset + 1, list.count));
        let count = count.filter(|_| selected && list.count > height).unwrap_or_default();
        let count = vec![Span::styled(count, theme.style(ThemeToken::Muted))];
        both_ends(spans, count, area.width)
    };
    list.rows.iter().skip(first).take(height).enumerate().map(line).collect()
}
