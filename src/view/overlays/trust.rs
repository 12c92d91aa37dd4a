//! The question whether to use a folder's project settings: its files, and the answers below.
//!
//! The question and the answers are always visible; the files scroll between them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::dialog::{OverlayLayout, TextQuestion, inner_width};
use super::list::choice_mark;
use crate::theme::{Theme, ThemeToken};
use crate::wrap::{self, Break};
use tau_app::overlays::trust::{ANSWERS, TrustLine, TrustView};
use tau_app::printable::Printable;

/// Draws the question and returns how far the files can be scrolled down at once.
pub fn draw(view: &TrustView, theme: &Theme, area: Rect, buffer: &mut Buffer) -> OverlayLayout {
    let width = inner_width(area);
    let answer = |(index, (_, text)): (usize, &(_, &'static str))| {
        let (mark, token) = choice_mark(index == view.selected);
        Line::styled(format!("{mark}{text}"), theme.style(token))
    };
    let question = TextQuestion {
        title: "Trust",
        keys: "↑↓ enter chooses · esc: not now",
        again: "not all was shown; enter again uses them",
        question: wrap::wrap(&Line::raw(view.title().to_string()), width, 0),
        text: wrap_lines(view, theme, width),
        answers: ANSWERS.iter().enumerate().map(answer).collect(),
    };
    question.draw(&view.reading, theme, area, buffer)
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
