//! The list of worktrees: a row for each, and more about the selected one below.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, inner_width};
use super::list::{Below, ListBox, lines_below};
use crate::panel::both_ends;
use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::overlays::worktree_list::WorktreesView;
use tau_app::printable::printable_line;
use tau_protocol::worktree::WorktreeRow;

/// Draws the list and returns how many of its rows fit.
pub(crate) fn draw(view: &WorktreesView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let rows = view.list.visible_rows();
    let list = ListBox {
        title: "Worktrees",
        hint: hint(view),
        below: Below::exactly(below(view, theme, width)),
        ..ListBox::of(
            &view.list,
            rows.len(),
            "no worktrees; /worktree NAME makes one and moves this session there",
        )
    };
    let mut row = |index: usize| rows.get(index).map(|row| line(row, width, theme)).unwrap_or_default();
    list.draw(theme, area, buffer, &mut row).0
}

fn hint(view: &WorktreesView) -> &'static str {
    match view.list.row() {
        None => "esc closes",
        Some(row) if row.is_removed => "enter restores it · / filters · esc closes",
        Some(_) => "enter works there · m merges · x removes · / filters · esc closes",
    }
}

fn line(row: &WorktreeRow, width: u16, theme: &Theme) -> Line<'static> {
    let right = wrap::truncate(&printable_line(&row.has), width / 2).into_owned();
    let here = if row.is_here { " · here" } else { "" };
    let left = format!("{}{here}", printable_line(&row.name));
    let token = if row.is_removed { ThemeToken::Muted } else { ThemeToken::Text };
    let room = width.saturating_sub(u16::try_from(wrap::cells(&right)).unwrap_or(u16::MAX)).saturating_sub(2);
    let left = Span::styled(wrap::truncate(&left, room).into_owned(), theme.style(token));
    both_ends(vec![left], vec![Span::styled(right, theme.style(ThemeToken::Muted))], width)
}

/// The place of the selected worktree, and what an action led to.
fn below(view: &WorktreesView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let about = view.list.row().map(|row| [("", ThemeToken::Muted), (row.place.as_str(), ThemeToken::Muted)]);
    lines_below(about.as_ref().map_or(&[], |about| about), view.list.said.as_ref(), theme, width)
}
