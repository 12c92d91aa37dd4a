//! The box of a side question.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::dialog::{OverlayLayout, draw_question, inner_width};
use crate::markdown::Room;
use crate::memo::Memo;
use crate::theme::ThemeToken;
use crate::wrap;
use tau_app::Model;
use tau_app::overlays::side_question::SideQuestionView;
use tau_app::printable::{Printable, printable_line};

/// Draws it; returns how far it can be scrolled down at once.
pub(super) fn draw(
    model: &Model,
    view: &SideQuestionView,
    memo: &mut Memo,
    area: Rect,
    buffer: &mut Buffer,
) -> OverlayLayout {
    let width = inner_width(area);
    let rows = rows(model, view, width, memo);
    // A box of so many rows, whose border takes two, ends above the composer: one may write on below it.
    let room = usize::from(area.height).saturating_sub(10).max(4);
    let first = view.scroll.min(rows.len().saturating_sub(room));
    let below = rows.len().saturating_sub(first.saturating_add(room));
    let keys = match (view.is_open, rows.len() > room) {
        (true, _) => "esc stops and closes it",
        (false, true) => "↑↓ pgup pgdn scroll · esc closes",
        (false, false) => "not part of the conversation · esc closes",
    };
    let shown: Vec<Line<'static>> = rows.into_iter().skip(first).take(room).collect();
    draw_question("Side question", keys, &shown, memo.theme(), area, buffer);
    (None, u16::try_from(below).unwrap_or(u16::MAX))
}

fn rows(model: &Model, view: &SideQuestionView, width: u16, memo: &mut Memo) -> Vec<Line<'static>> {
    let answer = Printable::new(&view.answer);
    let room = Room { margin: 0, width, layout: model.text_layout };
    let answer = memo.dialog_rows(answer.as_str(), room);
    let theme = memo.theme();
    let asked = Line::styled(printable_line(&view.question).into_owned(), theme.style(ThemeToken::Muted));
    let mut rows = wrap::wrap(&asked, width, 0);
    rows.push(Line::default());
    rows.extend(answer.iter().cloned());
    let (text, token) = match (&view.error, view.is_open, view.answer.is_empty()) {
        (Some(error), ..) => (printable_line(error).into_owned(), ThemeToken::Error),
        (None, true, true) => ("waiting for the answer…".to_owned(), ThemeToken::Muted),
        _ => return rows,
    };
    rows.extend(wrap::wrap(&Line::styled(text, theme.style(token)), width, 0));
    rows
}
