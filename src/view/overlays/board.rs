//! The board: a row for each session, and more about the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::list;
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
    let rows = view.shown();
    let below = below(view, theme, width);
    let filtered = view.query().is_some();
    let count = rows.len().max(1).saturating_add(below.len() + usize::from(filtered));
    let hint = "enter opens · x stops · / filters · esc closes";
    let title = title(view);
    let inner = frame(&title, hint, u16::try_from(count).unwrap_or(u16::MAX), theme, area, buffer);
    let (cursor, inner) = list::draw_optional_filter(view.query(), theme, inner, buffer);
    let muted = theme.style(ThemeToken::Muted);
    if rows.is_empty() {
        let text = match view.rows.as_ref().map(Vec::is_empty) {
            None => "loading…",
            Some(true) => "no session is open; tau -b PROMPT starts one in the background",
            Some(false) => "no matches",
        };
        let text = wrap::truncate(text, inner.width).into_owned();
        buffer.set_line(inner.x, inner.y, &Line::styled(text, muted), inner.width);
        return (cursor, 0);
    }
    let under = below.len().min(usize::from(inner.height) / 2);
    let height = usize::from(inner.height).saturating_sub(under);
    let first = list::first_shown(view.selected, height, rows.len());
    for (y, (index, row)) in (inner.top()..).zip(rows.iter().enumerate().skip(first).take(height)) {
        if index == view.selected {
            list::mark_selected(y, inner, theme, buffer);
        }
        let is_here = row.id == model.status.mirror.session.id;
        buffer.set_line(inner.x, y, &line(row, is_here, model.now, width, theme), inner.width);
    }
    let top = inner.bottom().saturating_sub(u16::try_from(under).unwrap_or(u16::MAX));
    for (y, line) in (top..inner.bottom()).zip(&below) {
        buffer.set_line(inner.x, y, line, inner.width);
    }
    (cursor, u16::try_from(height).unwrap_or(u16::MAX))
}

fn title(view: &BoardView) -> String {
    let count = |state: LiveState| view.rows.iter().flatten().filter(|row| row.state == state).count();
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
    let Some(row) = view.row() else { return Vec::new() };
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
    match &view.said {
        Some(Ok(text)) => say(text.as_str(), ThemeToken::Success),
        Some(Err(text)) => say(text.as_str(), ThemeToken::Error),
        None => {}
    }
    lines
}
