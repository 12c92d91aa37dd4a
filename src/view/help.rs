//! The help overlay: made from the action table and the command table. Unfiltered it has the first
//! key of each action, two short actions to a row; filtered, everything there is to say on a row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::panel::both_ends;
use super::theme::{Theme, ThemeToken};
use super::wrap;
use crate::app::Model;
use crate::app::action::{self, ActionGroup, ActionRow};
use crate::app::help::HelpView;
use crate::app::printable::printable_line;

/// Least width in which two actions are side by side.
const TWO_COLUMNS: u16 = 70;
/// Cells for names while filtered.
const NAMES: usize = 24;

/// Draws the overlay; where the cursor is, and how many rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &HelpView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let rows = rows(model, view, theme, inner_width(area));
    let wanted = u16::try_from(rows.len() + 1).unwrap_or(u16::MAX);
    let inner =
        frame("Keys and commands", "type to filter · ↑↓ scroll · esc closes", wanted, theme, area, buffer);
    let query = printable_line(view.query()).into_owned();
    let column = 2 + wrap::cells(&query) as u16;
    let fit = usize::from(inner.height.saturating_sub(1));
    let first = view.first(rows.len(), fit);
    let left = vec![Span::styled("> ", theme.style(ThemeToken::Accent)), Span::raw(query)];
    let place = if rows.len() > fit {
        format!("{}–{} of {}", first + 1, first + fit, rows.len())
    } else {
        String::new()
    };
    let right = vec![Span::styled(place, theme.style(ThemeToken::Muted))];
    buffer.set_line(inner.x, inner.y, &both_ends(left, right, inner.width), inner.width);
    for (y, row) in (inner.y + 1..inner.bottom()).zip(rows.iter().skip(first)) {
        buffer.set_line(inner.x, y, row, inner.width);
    }
    (Some((inner.x + column.min(inner.width.saturating_sub(1)), inner.y)), fit as u16)
}

/// All rows, at this width.
fn rows(model: &Model, view: &HelpView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let rows = if view.query().trim().is_empty() {
        overview(model, theme, width)
    } else {
        filtered(model, view, theme, width)
    };
    if rows.is_empty() { vec![Line::styled("no matches", theme.style(ThemeToken::Muted))] } else { rows }
}

fn overview(model: &Model, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    let first_key = |row: &ActionRow| model.keymap.hint(row.action).unwrap_or_else(|| "(no key)".to_owned());
    let keys = action::TABLE.iter().map(|row| wrap::cells(&first_key(row))).max().unwrap_or(0) + 2;
    for group in ActionGroup::ALL {
        rows.push(Line::styled(group.title(), theme.style(ThemeToken::Heading)));
        let of_group = action::TABLE.iter().filter(|row| row.action.group() == *group);
        let entries = of_group.map(|row| (first_key(row), row.help.to_owned())).collect::<Vec<_>>();
        in_columns(&entries, keys, theme, width, &mut rows);
    }
    rows.push(Line::styled("In the composer", theme.style(ThemeToken::Heading)));
    let notes: Vec<_> = NOTES.iter().map(|(what, help)| ((*what).to_owned(), (*help).to_owned())).collect();
    in_columns(
        &notes,
        NOTES.iter().map(|(what, _)| wrap::cells(what)).max().unwrap_or(0) + 2,
        theme,
        width,
        &mut rows,
    );
    rows.push(Line::styled("Commands", theme.style(ThemeToken::Heading)));
    let names: Vec<String> = model.commands.rows().iter().map(|row| format!("/{}", row.name)).collect();
    let names = Line::styled(format!("  {}", names.join("  ")), theme.style(ThemeToken::Accent));
    rows.extend(wrap::wrap(&names, width, 2));
    rows
}

/// What can be typed besides text.
const NOTES: [(&str, &str); 5] = [
    ("!command", "run it; the model gets the output with your next message"),
    ("!!command", "run it; the model never sees it"),
    ("!vim, !sudo x", "runs in a terminal; give it the keyboard with the key above"),
    ("@file", "name a file of the project"),
    ("a long paste", "becomes a chip; tab after it expands it"),
];

/// Entries in two columns where both fit.
fn in_columns(
    entries: &[(String, String)],
    keys: usize,
    theme: &Theme,
    width: u16,
    rows: &mut Vec<Line<'static>>,
) {
    let half = usize::from(width / 2);
    let fits = |help: &str| width >= TWO_COLUMNS && 2 + keys + wrap::cells(help) < half;
    let mut waiting: Option<Vec<Span<'static>>> = None;
    for (key, help) in entries {
        let spans = vec![
            Span::styled(format!("  {key:<keys$}"), theme.style(ThemeToken::Accent)),
            Span::styled(help.clone(), theme.style(ThemeToken::Text)),
        ];
        match (waiting.take(), fits(help)) {
            (None, true) => waiting = Some(spans),
            (Some(mut first), true) => {
                let used = wrap::spans_cells(&first);
                first.push(Span::raw(" ".repeat(half.saturating_sub(used))));
                first.extend(spans);
                rows.push(Line::from(first));
            }
            (first, false) => {
                rows.extend(first.map(Line::from));
                rows.extend(wrap::wrap(&Line::from(spans), width, ((keys + 2) as u16).min(width / 2)));
            }
        }
    }
    rows.extend(waiting.map(Line::from));
}

fn filtered(model: &Model, view: &HelpView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for row in action::TABLE {
        let keys = model.keymap.keys_of(row.action).join(", ");
        if view.matches(&[&keys, row.help, row.name, row.action.group().title()]) {
            let keys = if keys.is_empty() { "(no key)" } else { &keys };
            rows.extend(entry(keys, &format!("{} ({})", row.help, row.name), theme, width));
        }
    }
    for row in model.commands.rows() {
        let name = format!("/{} {}", row.name, row.arguments);
        if view.matches(&[&name, &row.help, "Commands"]) {
            rows.extend(entry(&name, &row.help, theme, width));
        }
    }
    for (what, help) in NOTES {
        if view.matches(&[what, help]) {
            rows.extend(entry(what, help, theme, width));
        }
    }
    rows
}

fn entry(name: &str, help: &str, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let names = NAMES.min(usize::from(width / 2));
    let name_style = theme.style(ThemeToken::Accent);
    let help = Span::styled(help.to_owned(), theme.style(ThemeToken::Text));
    let mut rows = Vec::new();
    // Names that are longer than their column have a row to themselves, so that helps are aligned.
    let name = if wrap::cells(name) + 4 > names {
        rows.extend(wrap::wrap(&Line::styled(format!("  {name}"), name_style), width, 4));
        String::new()
    } else {
        name.to_owned()
    };
    let name = Span::styled(format!("  {name:<rest$}", rest = names.saturating_sub(2)), name_style);
    rows.extend(wrap::wrap(&Line::from(vec![name, help]), width, names as u16));
    rows
}
