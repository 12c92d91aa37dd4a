//! The list of actions with their keys on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, FilterRow, ListBox, report};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::action::{ActionRow, TABLE};
use tau_app::overlays::key_list::{KeyStep, KeysView};

/// Cells for the names.
const NAMES: usize = 20;
/// Rows below the list: the description of the action, and a question.
const BELOW: usize = 2;

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
    let (rows, width) = (view.rows(&model.keymap), inner_width(area));
    let (text, token) = question(model, view);
    let lines = wrap::wrap(&Line::styled(text, theme.style(token)), width, 0);
    let list = ListBox {
        title: "Keys",
        hint,
        filter: FilterRow::Always(view.query(), String::new()),
        count: rows.len(),
        most: TABLE.len(),
        selected: Some(view.selected),
        empty: "no matches",
        below: Below { lines, room: BELOW, fills: false },
        ..ListBox::default()
    };
    let mut row =
        |index: usize| rows.get(index).map(|row| line(model, row, theme, width)).unwrap_or_default();
    let ((cursor, page), _) = list.draw(theme, area, buffer, &mut row);
    (cursor.filter(|_| view.step == KeyStep::Choosing), page)
}

fn line(model: &Model, row: &ActionRow, theme: &Theme, width: u16) -> Line<'static> {
    let keys = model.keymap.keys_of(row.action);
    let token = if keys == row.keys { ThemeToken::Muted } else { ThemeToken::Text };
    let keys = if keys.is_empty() { "no key".to_owned() } else { keys.join(", ") };
    let name = Span::styled(format!("{:<NAMES$}", row.name), theme.style(ThemeToken::Accent));
    both_ends(vec![name, Span::raw(row.help)], vec![Span::styled(keys, theme.style(token))], width)
}

/// The question about the pressed key, or the result of the last change.
fn question(model: &Model, view: &KeysView) -> (String, ThemeToken) {
    let name = view.row(&model.keymap).map_or("", |row| row.name);
    match (&view.said, view.step) {
        (Some(said), _) => report(said),
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
