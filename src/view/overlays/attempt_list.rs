//! The list of attempts at a task: a row for each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::attempt_changes;
use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, ListBox, figures_beside, lines_below};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::attempt_list::AttemptsView;
use tau_app::printable::printable_line;
use tau_protocol::attempt::AttemptRow;

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw(view: &AttemptsView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    if let Some(changes) = &view.changes {
        return attempt_changes::draw(changes, theme, area, buffer);
    }
    let width = inner_width(area);
    let rows = view.list.visible_rows();
    let nothing = match view.is_running {
        true => "the directory is being copied…",
        false => "no attempts here; /attempts 3 --until COMMAND TASK begins some",
    };
    let list = ListBox {
        title: "Attempts",
        hint: match view.list.row() {
            None if !view.is_running => "esc closes",
            None => "s stops them · esc closes, they continue",
            Some(_) if view.is_running && view.is_own => {
                "enter shows changes · s stops all · esc closes, they continue"
            }
            Some(_) if view.is_running => "enter shows changes · esc closes",
            Some(_) if view.drops => "x again removes all copies and takes none · esc keeps them",
            Some(_) => "enter shows changes · a all · t takes it · x drops all · esc closes",
        },
        below: Below::exactly(below(view, theme, width)),
        ..ListBox::of(&view.list, rows.len(), nothing)
    };
    let mut row = |index: usize| rows.get(index).map(|row| line(row, width, theme)).unwrap_or_default();
    list.draw(theme, area, buffer, &mut row).0
}

fn line(row: &AttemptRow, width: u16, theme: &Theme) -> Line<'static> {
    let (token, outcome) = outcome(row);
    let figures = figures_beside(&figures(row), wrap::cells(&outcome), 0, width);
    let room = usize::from(width).saturating_sub(wrap::cells(&outcome) + wrap::cells(&figures) + 4);
    let model = printable_line(&row.model);
    let model = wrap::truncate(&model, u16::try_from(room).unwrap_or(u16::MAX)).into_owned();
    let left = vec![Span::styled(outcome, theme.style(token)), Span::raw(format!("  {model}"))];
    both_ends(left, vec![Span::styled(figures, theme.style(ThemeToken::Muted))], width)
}

/// The number of an attempt, and how it ended.
fn outcome(row: &AttemptRow) -> (ThemeToken, String) {
    let (token, mark) = match row {
        AttemptRow { is_running: true, .. } => (ThemeToken::Accent, "●"),
        AttemptRow { reached: true, .. } => (ThemeToken::Success, "✓"),
        AttemptRow { .. } => (ThemeToken::Muted, "×"),
    };
    (token, format!("{} {mark} {}", row.number, printable_line(&row.outcome)))
}

fn figures(row: &AttemptRow) -> String {
    let parts = [&row.changed, &row.time, &row.cost].map(String::as_str);
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// The task, the selected attempt's session, with the figures that its row has no room for, and what an action led to.
fn below(view: &AttemptsView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let task = wrap::truncate(view.task.as_str(), width.saturating_mul(2));
    let session = view.list.row().map(|row| {
        let session = format!("session {} · {}", row.session, row.place);
        let all = figures(row);
        match figures_beside(&all, wrap::cells(&outcome(row).1), 0, width) == all {
            true => session,
            false => format!("{all} · {session}"),
        }
    });
    let about = session.as_ref().map(|session| {
        [("", ThemeToken::Muted), (task.as_ref(), ThemeToken::Text), (session, ThemeToken::Muted)]
    });
    lines_below(about.as_ref().map_or(&[], |about| about), view.list.said.as_ref(), theme, width)
}
