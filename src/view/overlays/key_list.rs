//! The list of actions with their keys on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame_within};
use super::list;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::action::TABLE;
use tau_app::overlays::key_list::{KeyStep, KeysView};

/// Cells for the names.
const NAMES: usize = 20;
/// Rows below the list: the description of the action, and a question.
const BELOW: u16 = 2;

/// Draws the list; returns the cursor's position and how many rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &KeysView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let hint = match view.step {
        KeyStep::Choosing => "type to filter · enter changes · del resets · esc closes",
        KeyStep::Pressing => "press the new key · esc back",
        KeyStep::Deciding(..) => "enter replaces · a adds · esc back",
    };
    let rows = view.rows(&model.keymap);
    let height_for = |rows: usize| u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(1 + BELOW);
    let heights = (height_for(rows.len().max(1)), height_for(TABLE.len()));
    let inner = frame_within("Keys", hint, heights, theme, area, buffer);
    let muted = theme.style(ThemeToken::Muted);
    let cursor = list::draw_filter(view.query(), String::new(), theme, inner, buffer);
    let below = BELOW.min(inner.height.saturating_sub(1) / 2);
    let fit = usize::from(inner.height.saturating_sub(1 + below));
    let first = list::first_shown(view.selected, fit, rows.len());
    for (y, (index, row)) in (inner.y + 1..).zip(rows.iter().enumerate().skip(first).take(fit)) {
        if index == view.selected {
            list::mark_selected(y, inner, theme, buffer);
        }
        let keys = model.keymap.keys_of(row.action);
        let is_default = keys == row.keys;
        let keys = if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") };
        let left = vec![
            Span::styled(format!("{:<NAMES$}", row.name), theme.style(ThemeToken::Accent)),
            Span::raw(row.help),
        ];
        let right = Span::styled(keys, if is_default { muted } else { theme.style(ThemeToken::Text) });
        buffer.set_line(inner.x, y, &both_ends(left, vec![right], inner.width), inner.width);
    }
    if rows.is_empty() {
        buffer.set_line(inner.x, inner.y + 1, &Line::styled("no matches", muted), inner.width);
    }
    let (text, token) = question(model, view);
    let below_rows = wrap::wrap(&Line::styled(text, theme.style(token)), inner.width, 0);
    for (y, row) in (inner.bottom().saturating_sub(below)..inner.bottom()).zip(below_rows) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    (Some(cursor).filter(|_| view.step == KeyStep::Choosing), fit as u16)
}

/// The question about the pressed key, or the result of the last change.
fn question(model: &Model, view: &KeysView) -> (String, ThemeToken) {
    let name = view.row(&model.keymap).map_or("", |row| row.name);
    match (&view.said, view.step) {
        (Some(Ok(text)), _) => (text.as_str().to_owned(), ThemeToken::Accent),
        (Some(Err(text)), _) => (text.as_str().to_owned(), ThemeToken::Error),
        (None, KeyStep::Choosing) => (String::new(), ThemeToken::Muted),
        (None, KeyStep::Pressing) => (format!("press the new key for \"{name}\""), ThemeToken::Accent),
        (None, KeyStep::Deciding(key, None)) => {
            (format!("{key} is free: give it to \"{name}\"?"), ThemeToken::Accent)
        }
        (None, KeyStep::Deciding(key, Some(other))) => {
            let only = if model.keymap.keys_of(other).len() > 1 { "a" } else { "the only" };
            let other = other.name();
            (format!("{key} is {only} key of \"{other}\"; take it for \"{name}\"?"), ThemeToken::Warning)
        }
    }
}
