//! The list of settings on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame_within};
use super::list;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::settings_list::SettingsView;
use tau_app::printable::printable_line;
use tau_app::request::SettingShown;

/// Cells for the names.
const NAMES: usize = 23;
/// Rows below the list: the purpose of the setting, and the result of a change.
const BELOW: u16 = 3;

/// Draws the list; returns the cursor while a value is typed, and how many rows fit.
pub(crate) fn draw(view: &SettingsView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let hint = match view.editing {
        Some(_) => "enter saves · esc back",
        None => "type to filter · enter changes · del resets · esc closes",
    };
    let shown: Vec<&SettingShown> = view.shown().collect();
    let height_for = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX).max(1).saturating_add(1 + BELOW);
    let heights = (height_for(shown.len()), height_for(view.rows.len()));
    let inner = frame_within("Settings", hint, heights, theme, area, buffer);
    let count = format!("{}/{}", shown.len(), view.rows.len());
    let filter = list::draw_filter(view.query(), count, theme, inner, buffer);
    let below = BELOW.min(inner.height.saturating_sub(1) / 2);
    let height = usize::from(inner.height.saturating_sub(1 + below));
    let muted = theme.style(ThemeToken::Muted);
    if shown.is_empty() && height > 0 {
        let text = if view.rows.is_empty() { "loading…" } else { "no matches" };
        buffer.set_line(inner.x, inner.y + 1, &Line::styled(text, muted), inner.width);
        return (Some(filter), 0);
    }
    let first = list::first_shown(view.selected, height, shown.len());
    for (y, (index, row)) in (inner.y + 1..).zip(shown.iter().enumerate().skip(first).take(height)) {
        if index == view.selected {
            list::mark_selected(y, inner, theme, buffer);
        }
        let value = printable_line(&row.value);
        let origin = printable_line(&row.origin);
        let all_fits = NAMES + wrap::cells(&value) + 1 + wrap::cells(&origin) <= usize::from(inner.width);
        let value = match row.origin.as_str() {
            "default" => Span::styled(value.into_owned(), muted),
            _ => Span::raw(value.into_owned()),
        };
        let name = Span::styled(format!("{:<NAMES$}", row.key), theme.style(ThemeToken::Accent));
        let (left, right) = (vec![name, value], vec![Span::styled(origin.into_owned(), muted)]);
        let right = if all_fits { right } else { Vec::new() };
        buffer.set_line(inner.x, y, &both_ends(left, right, inner.width), inner.width);
    }
    let (rows, cursor) = footer(view, theme, inner.width);
    let top = inner.bottom().saturating_sub(below);
    for (y, row) in (top..inner.bottom()).zip(rows) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    let cursor = cursor.map(|column| (inner.x + column.min(inner.width.saturating_sub(1)), top));
    (cursor.or(Some(filter)), u16::try_from(height).unwrap_or(u16::MAX))
}

/// The rows below the list, and the column of the cursor in the first one.
fn footer(view: &SettingsView, theme: &Theme, width: u16) -> (Vec<Line<'static>>, Option<u16>) {
    let Some(row) = view.row() else { return (Vec::new(), None) };
    let mut rows = Vec::new();
    let mut cursor = None;
    if let Some(line) = &view.editing {
        let typed = match row.secret {
            true => "•".repeat(line.text().chars().count()),
            false => printable_line(line.text()).into_owned(),
        };
        cursor = Some(2 + wrap::cells(&typed) as u16);
        rows.push(Line::from(vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(typed)]));
    }
    let said = match (&view.said, &row.fixed_by) {
        (Some(Ok(text)), _) => Some((text.as_str().to_owned(), ThemeToken::Accent)),
        (Some(Err(text)), _) => Some((text.as_str().to_owned(), ThemeToken::Error)),
        (None, Some(place)) => {
            let text =
                format!("{} sets it; a change here is saved but has no effect now", printable_line(place));
            Some((text, ThemeToken::Warning))
        }
        (None, None) => None,
    };
    let help = Line::styled(row.help.clone(), theme.style(ThemeToken::Muted));
    let said = said.map(|(text, token)| Line::styled(text, theme.style(token)));
    for line in said.into_iter().chain([help]) {
        rows.extend(wrap::wrap(&line, width, 0));
    }
    (rows, cursor)
}
