//! The list of background jobs, or the end of the output of one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{OverlayLayout, frame, inner_width};
use super::list::{Below, ListBox, report, state_row};
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::action::Action;
use tau_app::overlays::job_list::{JobTail, JobsView};
use tau_app::printable::printable_line;
use tau_app::{Model, time_format};
use tau_tools::counted::{byte_size, pluralize};
use tau_tools::jobs::{JobRow, JobState};

/// Cells for the state.
const STATES: usize = 9;

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw(
    model: &Model,
    view: &JobsView,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    if let Some(tail) = &view.tail {
        return draw_tail(model, view, tail, theme, area, buffer);
    }
    let width = inner_width(area);
    let rows = view.list.visible_rows();
    let key = model.keymap.hint(Action::MoveToBackground);
    let moves = key.map(|key| format!(", or {key} moves a command here")).unwrap_or_default();
    let none = format!("no background jobs; the model can start one{moves}");
    let list = ListBox {
        title: &title(view),
        hint: "enter shows its output · x stops · s keeps it at quit · / filters · esc closes",
        below: Below { fills: true, ..Below::exactly(below(view, theme, width)) },
        ..ListBox::of(&view.list, rows.len(), &none)
    };
    let mut row =
        |index: usize| rows.get(index).map(|row| line(row, model.now, width, theme)).unwrap_or_default();
    list.draw(theme, area, buffer, &mut row).0
}

fn title(view: &JobsView) -> String {
    match view.list.rows().into_iter().flatten().filter(|row| row.is_running()).count() {
        0 => "Background jobs".to_owned(),
        running => format!("Background jobs · {running} running"),
    }
}

fn mark(state: JobState) -> (&'static str, ThemeToken) {
    match state {
        JobState::Running => ("● ", ThemeToken::Accent),
        JobState::Done => ("✓ ", ThemeToken::Success),
        JobState::Failed => ("× ", ThemeToken::Error),
        JobState::Stopped => ("○ ", ThemeToken::Muted),
    }
}

/// The use of the machine while it runs, or how long it ran.
fn resource_usage(row: &JobRow, now: i64) -> String {
    let ran = time_format::seconds(row.ended.unwrap_or(now).saturating_sub(row.started));
    match row.is_running() {
        true => format!("{ran} · cpu {:.1} s · {}", row.cpu_ms as f64 / 1000.0, byte_size(row.memory)),
        false => ran,
    }
}

fn line(row: &JobRow, now: i64, width: u16, theme: &Theme) -> Line<'static> {
    let (sign, token) = mark(row.state);
    let state = format!("{sign}{}", row.state.name());
    let kept = if row.kept { "kept · " } else { "" };
    let other = if row.of_other_session { "of another session · " } else { "" };
    let right = format!("{other}{kept}{}", resource_usage(row, now));
    let command = format!("{} {}", row.id, printable_line(&row.command));
    state_row(&state, token, STATES, &command, &right, width, theme)
}

/// The details of the selected job.
fn below(view: &JobsView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let said = view.list.said.as_ref().map(report);
    let Some(row) = view.list.row() else {
        return said.map(|(text, token)| Line::styled(text, theme.style(token))).into_iter().collect();
    };
    let mut lines = vec![Line::raw("")];
    let mut say = |text: &str, token: ThemeToken| {
        let text = printable_line(text);
        lines.push(Line::styled(wrap::truncate(&text, width).into_owned(), theme.style(token)));
    };
    if !row.last_line.is_empty() {
        say(&row.last_line, ThemeToken::Text);
    }
    let processes = (row.is_running() && !row.processes.is_empty())
        .then(|| pluralize(row.processes.len() as u64, "process"));
    let parts = [
        Some(row.outcome.clone()).filter(|outcome| !outcome.is_empty()),
        processes,
        Some(pluralize(row.lines, "line")),
        row.file.as_ref().map(|file| file.display().to_string()),
    ];
    say(&parts.into_iter().flatten().collect::<Vec<_>>().join(" · "), ThemeToken::Muted);
    if let Some((text, token)) = said {
        say(&text, token);
    }
    lines
}

fn draw_tail(
    model: &Model,
    view: &JobsView,
    tail: &JobTail,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let row = view.tail_row();
    let title = match row {
        Some(row) => {
            let state = if row.outcome.is_empty() { row.state.name() } else { &row.outcome };
            format!(
                "Job {} · {state} · {} · {}",
                row.id,
                resource_usage(row, model.now),
                printable_line(&row.command)
            )
        }
        None => format!("Job {}", tail.job),
    };
    let hint = "↑↓ scrolls · x stops · esc goes back";
    let text = tail.text.as_ref().map_or("loading…", |text| text.as_str());
    let lines: Vec<&str> = if text.is_empty() { vec!["(no output yet)"] } else { text.lines().collect() };
    let inner = frame(&title, hint, u16::try_from(lines.len()).unwrap_or(u16::MAX), theme, area, buffer);
    let height = usize::from(inner.height);
    let end = lines.len().saturating_sub(tail.above_end).max(height.min(lines.len()));
    let shown = lines.iter().take(end).skip(end.saturating_sub(height));
    for (y, line) in (inner.top()..inner.bottom()).zip(shown) {
        let line = wrap::truncate(line, inner.width).into_owned();
        buffer.set_line(inner.x, y, &Line::raw(line), inner.width);
    }
    (None, inner.height)
}
