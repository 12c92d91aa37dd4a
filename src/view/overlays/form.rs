//! An MCP server's form: its message, its fields, and the buttons.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_lines, frame, heading, inner_width, leaving_key};
use super::list::choice_mark;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::overlays::form::{FieldEntry, FieldView, FormView};
use tau_app::printable::{Printable, printable_line};
use tau_protocol::form::FieldKind;

pub(crate) fn draw(
    model: &Model,
    view: &FormView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let mut rows: Vec<Line<'static>> = Vec::new();
    for line in Printable::new(&view.message).trim_end().lines() {
        rows.extend(wrap::wrap(&Line::raw(line.to_owned()), width, 0));
    }
    rows.push(Line::raw(""));
    let (mut focus, mut cursor) = (rows.len(), None);
    for (index, field) in view.fields.iter().enumerate() {
        let is_selected = index == view.selected;
        let (line, column) = field_row(field, is_selected, theme, width);
        if is_selected {
            focus = rows.len();
            cursor = column.map(|column| (rows.len(), column));
        }
        rows.push(line);
        let description = printable_line(&field.field.description);
        if is_selected && !description.is_empty() {
            let line = Line::styled(format!("    {description}"), theme.style(ThemeToken::Muted));
            rows.extend(wrap::wrap(&line, width, 4));
        }
    }
    if let Some(wrong) = &view.wrong {
        rows.extend(wrap::wrap(
            &Line::styled(format!("  {wrong}"), theme.style(ThemeToken::Error)),
            width,
            2,
        ));
    }
    for (label, is_selected) in [("Send", view.is_at_send()), ("Decline", view.is_at_decline())] {
        if is_selected {
            focus = rows.len();
        }
        let (mark, token) = choice_mark(is_selected);
        rows.push(Line::styled(format!("{mark}{label}"), theme.style(token)));
    }
    let title = heading(model, &format!("{} asks", printable_line(&view.server)));
    let leave = leaving_key(model);
    let hint = format!("enter continues · ↑↓ moves · ←→ space choose · {leave}");
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let inner = frame(&title, &hint, height, theme, area, buffer);
    let shown = usize::from(inner.height);
    // The selected row stays in sight, with the notes below it if there is room.
    let skip = (focus + 3).saturating_sub(shown).min(rows.len().saturating_sub(shown)).min(focus);
    draw_lines(rows.get(skip..).unwrap_or_default(), inner, buffer);
    let place = cursor.and_then(|(row, column)| {
        let y = u16::try_from(row.checked_sub(skip)?).ok().filter(|y| *y < inner.height)?;
        Some((inner.x + column.min(inner.width.saturating_sub(1)), inner.y + y))
    });
    (place, 0)
}

/// The row of a field, and the column of the cursor if it is being edited.
fn field_row(view: &FieldView, is_selected: bool, theme: &Theme, width: u16) -> (Line<'static>, Option<u16>) {
    let (mark, token) = choice_mark(is_selected);
    let star = if view.field.required { "*" } else { "" };
    let label = format!("{mark}{}{star}: ", printable_line(&view.field.title));
    let label = wrap::truncate(&label, width / 2);
    let start = wrap::cells(&label) as u16;
    let room = width.saturating_sub(start + 1);
    let (value, column) = match (&view.entry, &view.field.kind) {
        (FieldEntry::Line(line), _) => {
            let (before, after) = line.at_cursor();
            let (before, after) = (printable_line(before), printable_line(after));
            // Typing happens at the end of a long text.
            let before = wrap::tail(&before, room);
            let column = start + wrap::cells(before) as u16;
            (format!("{before}{after}"), is_selected.then_some(column))
        }
        (FieldEntry::Switch(on), _) => {
            let text = match on {
                Some(true) => "yes",
                Some(false) => "no",
                None => "(not chosen)",
            };
            (text.to_owned(), None)
        }
        (FieldEntry::Choice(at), FieldKind::Choice { options }) => {
            let title = at.and_then(|at| options.get(at)).map(|option| printable_line(&option.title));
            (title.map_or_else(|| "(not chosen)".to_owned(), |title| title.to_string()), None)
        }
        (FieldEntry::Choices { chosen, at }, FieldKind::Choices { options, .. }) => {
            let option = |index: usize| {
                let mark = if chosen.get(index) == Some(&true) { "[x] " } else { "[ ] " };
                let title = options.get(index).map(|option| printable_line(&option.title).to_string());
                let text = format!("{mark}{}", title.unwrap_or_default());
                if is_selected && index == *at { format!("›{text}") } else { text }
            };
            // The option selected by keys stays in sight.
            let first = if is_selected { at.saturating_sub(1) } else { 0 };
            ((first..options.len()).map(option).collect::<Vec<_>>().join("  "), None)
        }
        (FieldEntry::Choice(_) | FieldEntry::Choices { .. }, _) => (String::new(), None),
    };
    let value = wrap::truncate(&value, room).to_string();
    let value = Span::styled(value, theme.style(ThemeToken::Text));
    (Line::from(vec![Span::styled(label.to_string(), theme.style(token)), value]), column)
}
