//! The question whether a folder's settings are used: what is in them, and the answers below.
//!
//! The question and the answers are always on the screen; what is in the files scrolls between
//! them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::overlay::{Place, frame, inner_width};
use super::theme::{Theme, Token};
use super::wrap;
use crate::app::printable::Printable;
use crate::app::trust::{ANSWERS, Part, TrustView};

/// Draws it; how many lines of the files there is room for.
pub fn draw(view: &TrustView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Place {
    let width = inner_width(area);
    let title = wrap::wrap(&Line::raw(view.title().to_string()), width, 0);
    let lines = view.lines();
    let answers: Vec<Line<'static>> = ANSWERS
        .iter()
        .enumerate()
        .map(|(index, (_, text))| {
            let marked = index == view.selected;
            let (mark, token) = if marked { ("› ", Token::OverlaySelected) } else { ("  ", Token::Text) };
            Line::styled(format!("{mark}{text}"), theme.style(token))
        })
        .collect();
    // Two rows of the box are its border, two of the window stay free.
    let around = title.len().saturating_add(answers.len()).saturating_add(4);
    let room = usize::from(area.height).saturating_sub(around);
    let shown = shown(view, room, theme, &lines, width);
    let hint = match shown.len() < lines.len() {
        true => "↑↓ enter chooses · pgup pgdn scroll · esc: not now",
        false => "↑↓ enter chooses · esc: not now",
    };
    let body = shown.len();
    let rows: Vec<Line<'static>> = title.into_iter().chain(shown).chain(answers).collect();
    let inner = frame("Trust", hint, rows.len() as u16, theme, area, buffer);
    // In a window that is too small even for these, the answers are what counts.
    let skip = rows.len().saturating_sub(usize::from(inner.height));
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.into_iter().skip(skip)) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    (None, body as u16)
}

/// The lines of the files that there is room for; a line that is wider than the box is cut there.
fn shown(
    view: &TrustView,
    room: usize,
    theme: &Theme,
    lines: &[(Part, Printable)],
    width: u16,
) -> Vec<Line<'static>> {
    let first = view.scroll.min(lines.len().saturating_sub(room));
    let row = |(part, text): &(Part, Printable)| {
        let token = match part {
            Part::File => Token::OverlayTitle,
            Part::Same => Token::Muted,
            Part::Added => Token::DiffAdded,
            Part::Removed => Token::DiffRemoved,
        };
        Line::styled(wrap::truncate(text, width).into_owned(), theme.style(token))
    };
    lines.iter().skip(first).take(room).map(row).collect()
}
