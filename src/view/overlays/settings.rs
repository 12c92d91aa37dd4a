//! The list of settings on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, FilterRow, ListBox, report};
use crate::approval::typed;
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::line_edit::LineEdit;
use tau_app::overlays::settings_list::SettingsView;
use tau_app::printable::printable_line;
use tau_app::request::{SettingOrigin, SettingShown};

/// Cells for the names.
const NAMES: usize = 23;
/// Rows below the list: the purpose of the setting, and the result of a change.
const BELOW: usize = 3;

/// Draws the list; returns the cursor while a value is typed, and how many rows fit.
pub(crate) fn draw(view: &SettingsView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let hint = match view.editing {
        Some(_) => "enter saves · esc back",
        None => "type to filter · enter changes · del resets · esc closes",
    };
    let (shown, width) = (view.list.visible_rows(), inner_width(area));
    let most = view.list.rows().map_or(0, <[_]>::len);
    let (lines, typing) = footer(view, theme, width);
    let list = ListBox {
        title: "Settings",
        hint,
        filter: FilterRow::Always(view.list.query(), format!("{}/{most}", shown.len())),
        count: shown.len(),
        most,
        selected: Some(view.list.selected),
        empty: view.list.nothing("loading…"),
        below: Below {
            room: if typing.is_some() { lines.len().max(BELOW) } else { BELOW },
            lines,
            fills: false,
        },
        ..ListBox::default()
    };
    let mut row = |index: usize| shown.get(index).map(|row| line(row, theme, width)).unwrap_or_default();
    let ((filter, page), below) = list.draw(theme, area, buffer, &mut row);
    let cursor = typing.map(|(row, column)| {
        let y = below.y + u16::try_from(row).unwrap_or_default().min(below.height.saturating_sub(1));
        (below.x + column.min(below.width.saturating_sub(1)), y)
    });
    (cursor.or(filter), page)
}

fn line(row: &SettingShown, theme: &Theme, width: u16) -> Line<'static> {
    let muted = theme.style(ThemeToken::Muted);
    let value = printable_line(&row.value);
    let origin = printable_line(row.origin.as_str());
    let all_fits = NAMES + wrap::cells(&value) + 1 + wrap::cells(&origin) <= usize::from(width);
    let value = match row.origin {
        SettingOrigin::Default => Span::styled(value.into_owned(), muted),
        SettingOrigin::Set(_) => Span::raw(value.into_owned()),
    };
    let name = Span::styled(format!("{:<NAMES$}", row.key), theme.style(ThemeToken::Accent));
    let (left, right) = (vec![name, value], vec![Span::styled(origin.into_owned(), muted)]);
    both_ends(left, if all_fits { right } else { Vec::new() }, width)
}

/// The rows below the list, and the row and column of the cursor in them.
fn footer(view: &SettingsView, theme: &Theme, width: u16) -> (Vec<Line<'static>>, Option<(usize, u16)>) {
    let Some(row) = view.list.row() else { return (Vec::new(), None) };
    let (mut rows, cursor) = match &view.editing {
        Some(line) if row.secret => {
            let hidden = LineEdit::new("•".repeat(line.text().chars().count()));
            typed::lines("> ", &hidden, theme, width)
        }
        Some(line) => typed::lines("> ", line, theme, width),
        None => (Vec::new(), None),
    };
    let said = match (&view.list.said, &row.fixed_by) {
        (Some(said), _) => Some(report(said)),
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
