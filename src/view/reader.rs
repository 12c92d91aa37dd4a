//! The frame for a screen reader: lines spoken once, in order, above the prompt with the cursor.
//!
//! It is a frame on the shell's screen without anything useless to a listener: no frames, bars and spinners,
//! no footer, and nothing that changes in place except the line being typed.

mod attention;
mod speech;

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::frame::Frame;
use super::inline::fit;
use super::memo::Memo;
use super::{Drawing, composer, console, is_too_small, layout, too_small, visible_overlay, wrap};
use attention::{Attention, Prompt};
use speech::UnspokenLines;
use tau_app::Model;
use tau_app::geometry::FrameLayout;

/// Draws into a frame of the screen's size and shrinks it to the rows in use.
pub(super) fn draw(model: &Model, memo: &mut Memo, frame: &mut Frame) -> Drawing {
    let screen = frame.area();
    memo.begin(model.effective_theme(), &model.keymap);
    let known = FrameLayout {
        printed: model.transcript.printed,
        said: model.laid.said.clone(),
        composer_width: layout::composer_width(screen),
        ..FrameLayout::default()
    };
    if is_too_small(screen) {
        fit(frame, memo, screen.height.min(1));
        let laid = too_small(model, memo, frame.area(), frame.buffer());
        return Drawing { laid: FrameLayout { cursor: laid.cursor, ..known }, ..Drawing::default() };
    }
    let UnspokenLines { lines, printed, more } = UnspokenLines::find(model, memo, screen.width);
    let Attention { said, prompt, page } = Attention::of(model, memo, screen);
    let news = said.iter().filter(|line| !model.laid.said.contains(line)).flat_map(|lines| lines.lines());
    let said_now = lines.iter().map(String::as_str).chain(news);
    let rows: Vec<Line<'static>> =
        said_now.flat_map(|text| wrap::wrap(&Line::raw(text), screen.width, 0)).collect();
    let finished = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let below = match &prompt {
        Prompt::Composer => composer::rows(model, screen),
        Prompt::Console if console::is_full(model) => screen.height,
        Prompt::Console => CONSOLE.min(screen.height),
        Prompt::Line(_) => 1,
    };
    fit(frame, memo, finished.saturating_add(below));
    let buffer = frame.buffer();
    for (y, row) in (0..).zip(&rows) {
        buffer.set_line(0, y, row, screen.width);
    }
    let area = Rect { y: finished, height: below, ..screen };
    let cursor = match prompt {
        Prompt::Composer => composer::draw_text(model, memo.theme(), area, buffer),
        Prompt::Console if console::is_full(model) => console::draw_full(model, memo.theme(), area, buffer),
        Prompt::Console => console::draw(model, memo.theme(), area, buffer),
        Prompt::Line(text) => {
            let text = wrap::truncate(&text, screen.width.saturating_sub(1)).into_owned();
            buffer.set_string(0, finished, &text, ratatui::style::Style::new());
            Some((u16::try_from(wrap::cells(&text)).unwrap_or(0), finished))
        }
    };
    // Lines are spoken as soon as they exist.
    let open = model.approvals.open().filter(|_| model.shows_prompt());
    let asked = open.map(|open| open.request.id.clone());
    let laid = FrameLayout {
        asked,
        asked_end: open.is_some(),
        cursor,
        printed,
        said,
        top: finished,
        list_page: page,
        has_overlay: visible_overlay(model).is_some(),
        within: within(model, page),
        ..known
    };
    Drawing { laid, finished, more, floats: false }
}

/// The layout of the questions of another session: all their lines are spoken as soon as they exist.
fn within(model: &Model, list_page: u16) -> Option<Box<FrameLayout>> {
    let inner = &model.answering.as_ref()?.model;
    let asked = inner.approvals.open().map(|open| open.request.id.clone());
    let (asked_end, has_overlay) = (asked.is_some(), !inner.overlays.is_empty());
    Some(Box::new(FrameLayout { asked_end, asked, has_overlay, list_page, ..FrameLayout::default() }))
}

/// The number of rows of the terminal of a command that has the keyboard.
const CONSOLE: u16 = 2;
