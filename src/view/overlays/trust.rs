//! The question whether to use a folder's project settings: its files, and the answers below.
//!
//! The question and the answers are always visible; the files scroll between them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, draw_question, inner_width, out_of_sight};
use super::list::choice_mark;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_app::overlays::trust::{ANSWERS, TrustLine, TrustView};
use tau_app::printable::Printable;

/// Shown when Enter would use files that were not seen as a whole.
const AGAIN: &str = "not all was shown; enter again uses them";

/// Draws the question and returns how far the files can be scrolled down at once.
pub fn draw(view: &TrustView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let title = wrap::wrap(&Line::raw(view.title().to_string()), width, 0);
    let lines = wrap_lines(view, theme, width);
    let answers: Vec<Line<'static>> = ANSWERS
        .iter()
        .enumerate()
        .map(|(index, (_, text))| {
            let (mark, token) = choice_mark(index == view.selected);
            Line::styled(format!("{mark}{text}"), theme.style(token))
        })
        .collect();
    // The border of the box takes two rows, and two rows of the window stay free.
    let title_rows = title.len();
    let around = title_rows.saturating_add(answers.len()).saturating_add(4);
    let room = usize::from(area.height).saturating_sub(around).max(1);
    let first = view.scroll.min(lines.len().saturating_sub(room));
    let below = lines.len().saturating_sub(first.saturating_add(room));
    let keys = if view.insists { AGAIN } else { "↑↓ enter chooses · esc: not now" };
    let hint = match out_of_sight(first, below) {
        Some(rows) if view.insists => format!("{keys} · {rows}"),
        Some(rows) => format!("{rows} · {keys}"),
        None => keys.to_owned(),
    };
    let shown = lines.into_iter().skip(first).take(room);
    let rows: Vec<Line<'static>> = title.into_iter().chain(shown).chain(answers).collect();
    draw_question("Trust", &hint, &rows, theme, area, buffer);
    // A window that is too small for the answers shows nothing of the files.
    let below = if usize::from(area.height) < around - title_rows + 1 { below.max(1) } else { below };
    (None, u16::try_from(below.min(room)).unwrap_or(u16::MAX))
}

/// The lines of the files as rows: no part of a line may hide behind the border.
fn wrap_lines(view: &TrustView, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    let rows = |(part, text): &(TrustLine, Printable)| {
        let token = match part {
            TrustLine::File => ThemeToken::OverlayTitle,
            TrustLine::Same => ThemeToken::Muted,
            TrustLine::Added => ThemeToken::DiffAdded,
            TrustLine::Removed => ThemeToken::DiffRemoved,
        };
        wrap::wrap_at(&[Span::styled(text.as_str(), theme.style(token))], width, 2, Break::Verbatim)
    };
    view.lines.iter().flat_map(rows).collect()
}
