//! The question whether a folder's project settings are used: the files, and the answers below.
//!
//! The question and the answers are always on the screen; the files scroll between them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, frame, inner_width};
use super::theme::{Theme, ThemeToken};
use super::wrap::{self, Break};
use crate::app::printable::Printable;
use crate::app::trust::{ANSWERS, TrustLine, TrustView};

/// Draws it; how many lines of the files are shown.
pub fn draw(view: &TrustView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let title = wrap::wrap(&Line::raw(view.title().to_string()), width, 0);
    let lines = wrapped(view, theme, width);
    let answers: Vec<Line<'static>> = ANSWERS
        .iter()
        .enumerate()
        .map(|(index, (_, text))| {
            let marked = index == view.selected;
            let (mark, token) =
                if marked { ("› ", ThemeToken::OverlaySelected) } else { ("  ", ThemeToken::Text) };
            Line::styled(format!("{mark}{text}"), theme.style(token))
        })
        .collect();
    // Two rows are the border of the box, two rows of the window stay free.
    let around = title.len().saturating_add(answers.len()).saturating_add(4);
    let room = usize::from(area.height).saturating_sub(around);
    let (shown, whole) = shown(view, room, &lines);
    let hint = match whole < lines.len() {
        true => "↑↓ enter chooses · pgup pgdn scroll · esc: not now",
        false => "↑↓ enter chooses · esc: not now",
    };
    let rows: Vec<Line<'static>> = title.into_iter().chain(shown).chain(answers).collect();
    let inner = frame("Trust", hint, rows.len() as u16, theme, area, buffer);
    // In a window that is too small even for these, the answers matter most.
    let skip = rows.len().saturating_sub(usize::from(inner.height));
    for (y, row) in (inner.top()..inner.bottom()).zip(rows.into_iter().skip(skip)) {
        buffer.set_line(inner.x, y, &row, inner.width);
    }
    (None, whole as u16)
}

/// The lines of the files, each with its rows: no part of a line may hide behind the border.
fn wrapped(view: &TrustView, theme: &Theme, width: u16) -> Vec<Vec<Line<'static>>> {
    let rows = |(part, text): &(TrustLine, Printable)| {
        let token = match part {
            TrustLine::File => ThemeToken::OverlayTitle,
            TrustLine::Same => ThemeToken::Muted,
            TrustLine::Added => ThemeToken::DiffAdded,
            TrustLine::Removed => ThemeToken::DiffRemoved,
        };
        wrap::wrap_at(&[Span::styled(text.as_str(), theme.style(token))], width, 2, Break::Verbatim)
    };
    view.lines().iter().map(rows).collect()
}

/// The rows that fit, and how many lines are complete among them.
fn shown(view: &TrustView, room: usize, lines: &[Vec<Line<'static>>]) -> (Vec<Line<'static>>, usize) {
    let last = lines.len().saturating_sub(fitting(lines.iter().rev(), room).max(1));
    let rest = lines.get(view.scroll.min(last)..).unwrap_or_default();
    (rest.iter().flatten().take(room).cloned().collect(), fitting(rest.iter(), room).max(1))
}

/// How many lines fit, starting with the first.
fn fitting<'a>(lines: impl Iterator<Item = &'a Vec<Line<'static>>>, room: usize) -> usize {
    let mut rows = 0;
    let fits = |line: &&Vec<Line<'static>>| {
        rows += line.len();
        rows <= room
    };
    lines.take_while(fits).count()
}
