//! The board: a row for each session, and more about the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, FilterRow, ListBox};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::Model;
use tau_app::overlays::board::BoardView;
use tau_app::printable::printable_line;
use tau_app::time_format;
use tau_protocol::live_session::{LiveRow, LiveState};

/// Cells for the state.
const STATES: usize = 10;

/// Draws the board and returns how many of its rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &BoardView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let rows = view.list.shown();
    let nothing = view.list.nothing("no session is open; tau -b PROMPT starts one in the background");
    let list = ListBox {
        title: &title(view),
        hint: "enter opens · x stops · / filters · esc closes",
        filter: view.list.typed().map_or(FilterRow::None, FilterRow::Typed),
        count: rows.len(),
        selected: Some(view.list.selected),
        empty: &wrap::truncate(nothing, width),
        below: Below::exactly(below(view, theme, width)),
        ..ListBox::default()
    };
    let mut row = |index: usize| {
        let row = rows.get(index).copied();
        let is_here = |row: &LiveRow| row.id == model.status.mirror.session.id;
        row.map(|row| line(row, is_here(row), model.now, width, theme)).unwrap_or_default()
    };
    list.draw(theme, area, buffer, &mut row).0
}

fn title(view: &BoardView) -> String {
    let count =
        |state: LiveState| view.list.rows().into_iter().flatten().filter(|row| row.state == state).count();
    let parts = [(count(LiveState::Waiting), "waiting for you"), (count(LiveState::Running), "running")];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, state)| format!("{count} {state}"));
    let parts: Vec<String> = std::iter::once("Sessions".to_owned()).chain(parts).collect();
    parts.join(" · ")
}

fn line(row: &LiveRow, is_here: bool, now: i64, width: u16, theme: &Theme) -> Line<'static> {
    let muted = theme.style(ThemeToken::Muted);
    let (mark, token) = match row.state {
        LiveState::Waiting => ("? ", ThemeToken::Warning),
        LiveState::Running => ("● ", ThemeToken::Accent),
        LiveState::Failed => ("× ", ThemeToken::Error),
        LiveState::Done => ("✓ ", ThemeToken::Success),
        LiveState::Idle => ("○ ", ThemeToken::Muted),
    };
    let state = format!("{mark}{}", row.state.name());
    let pad = " ".repeat(STATES.saturating_sub(wrap::cells(&state)) + 1);
    let title = match row.title.is_empty() {
        true => "(no messages yet)".to_owned(),
        false => printable_line(&row.title).into_owned(),
    };
    let folder = row.directory.file_name().unwrap_or_default().to_string_lossy();
    let here = if is_here { " · here" } else { "" };
    let age = time_format::age(now.saturating_sub(row.changed));
    let right = format!("{}{here} · {age}", printable_line(&folder));
    let used = wrap::cells(&state) + pad.len() + wrap::cells(&right) + 2;
    let room = usize::from(width).saturating_sub(used);
    let title = wrap::truncate(&title, u16::try_from(room).unwrap_or(u16::MAX)).into_owned();
    let left = vec![Span::styled(format!("{state}{pad}"), theme.style(token)), Span::raw(title)];
    both_ends(left, vec![Span::styled(right, muted)], width)
}

/// The details of the selected session.
fn below(view: &BoardView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let Some(row) = view.list.row() else { return Vec::new() };
    let mut lines = vec![Line::raw("")];
    let mut say = |text: &str, token: ThemeToken| {
        let text = printable_line(text);
        lines.push(Line::styled(wrap::truncate(&text, width).into_owned(), theme.style(token)));
    };
    if !row.last_line.is_empty() {
        say(&row.last_line, ThemeToken::Text);
    }
    let cost = (row.cost > 0.0).then(|| format!("${:.2}", row.cost));
    let parts = [Some(row.directory.display().to_string()), row.model.clone(), cost, Some(row.id.clone())];
    say(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "), ThemeToken::Muted);
    match &view.list.said {
        Some(Ok(text)) => say(text.as_str(), ThemeToken::Success),
        Some(Err(text)) => say(text.as_str(), ThemeToken::Error),
        None => {}
    }
    lines
}
