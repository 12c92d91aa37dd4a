//! The list of attempts at a task: a row for each, and the changes of one in its place.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::list::{Below, FilterRow, ListBox, report, wrapped};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::attempt_list::{AttemptChanges, AttemptsView};
use tau_app::printable::printable_line;
use tau_protocol::attempt::AttemptRow;

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw(view: &AttemptsView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    if let Some(changes) = &view.changes {
        return draw_changes(changes, theme, area, buffer);
    }
    let width = inner_width(area);
    let rows = view.list.shown();
    let nothing = view.list.nothing("no attempts here; tau -n 3 --until COMMAND TASK makes some");
    let list = ListBox {
        title: "Attempts",
        hint: match view.list.row() {
            None => "esc closes",
            Some(_) if view.drops => "x again removes all copies and takes none · esc keeps them",
            Some(_) => "enter shows changes · a all · t takes it · x drops all · esc closes",
        },
        filter: view.list.typed().map_or(FilterRow::None, FilterRow::Typed),
        count: rows.len(),
        selected: Some(view.list.selected),
        empty: &wrap::truncate(nothing, width),
        below: Below::exactly(below(view, theme, width)),
        ..ListBox::default()
    };
    let mut row = |index: usize| rows.get(index).map(|row| line(row, width, theme)).unwrap_or_default();
    list.draw(theme, area, buffer, &mut row).0
}

fn line(row: &AttemptRow, width: u16, theme: &Theme) -> Line<'static> {
    let token = if row.reached { ThemeToken::Success } else { ThemeToken::Muted };
    let mark = if row.reached { "✓" } else { "×" };
    let outcome = format!("{} {mark} {}", row.number, printable_line(&row.outcome));
    let right = format!("{} · {} · {}", row.changed, row.time, row.cost);
    let room = usize::from(width).saturating_sub(wrap::cells(&outcome) + wrap::cells(&right) + 4);
    let model = printable_line(&row.model);
    let model = wrap::truncate(&model, u16::try_from(room).unwrap_or(u16::MAX)).into_owned();
    let left = vec![Span::styled(outcome, theme.style(token)), Span::raw(format!("  {model}"))];
    both_ends(left, vec![Span::styled(right, theme.style(ThemeToken::Muted))], width)
}

/// The task, the selected attempt's session, and what an action led to.
fn below(view: &AttemptsView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut say = |text: &str, token: ThemeToken| lines.extend(wrapped(text, theme.style(token), width));
    if let Some(row) = view.list.row() {
        say("", ThemeToken::Muted);
        say(view.task.as_str(), ThemeToken::Text);
        say(&format!("session {} · {}", row.session, row.place), ThemeToken::Muted);
    }
    if let Some((text, token)) = view.list.said.as_ref().map(report) {
        say(&text, token);
    }
    lines
}

fn draw_changes(changes: &AttemptChanges, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let title = match changes.number {
        Some(number) => format!("Changes of attempt {number}"),
        None => "Changes of all attempts".to_owned(),
    };
    let text = changes.text.as_ref().map_or("loading…", |text| text.as_str());
    let lines: Vec<&str> =
        if text.is_empty() { vec!["(it has changed nothing)"] } else { text.lines().collect() };
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let inner = frame(&title, "↑↓ scrolls · esc goes back", height, theme, area, buffer);
    let shown = lines.iter().skip(changes.top);
    for (y, line) in (inner.top()..inner.bottom()).zip(shown) {
        let token = match line.as_bytes() {
            [b'+', ..] => ThemeToken::Success,
            [b'-', ..] => ThemeToken::Error,
            [b'#' | b'@', ..] => ThemeToken::Accent,
            _ => ThemeToken::Text,
        };
        let line = wrap::truncate(line, inner.width).into_owned();
        buffer.set_line(inner.x, y, &Line::styled(line, theme.style(token)), inner.width);
    }
    (None, inner.height)
}
