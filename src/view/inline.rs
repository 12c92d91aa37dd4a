//! The frame on the shell's screen: finished rows, and the live region below them.
//!
//! Finished rows are drawn once and then belong to the terminal. The region has the rows in use: at most the
//! whole screen.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::frame::Frame;
use super::layout::{self, Regions};
use super::memo::Memo;
use super::theme::ThemeToken;
use super::transcript::UnprintedRows;
use super::wrap::cells;
use super::{Drawing, console, draw_below, footer, is_too_small, too_small, visible_overlay};
use crate::overlays::overlay;
use tau_app::Model;
use tau_app::geometry::FrameLayout;

/// The minimum number of rows of a list, if the window has that many. If there is less room for it, some
/// stay blank afterwards.
const MIN_LIST: u16 = 8;

/// Draws into a frame of the screen's size and shrinks it to the rows in use.
pub(super) fn draw(model: &Model, memo: &mut Memo, frame: &mut Frame) -> Drawing {
    let screen = frame.area();
    memo.begin(model.effective_theme(), &model.keymap);
    if is_too_small(screen) {
        fit(frame, memo, screen.height.min(1));
        let laid = too_small(model, memo, frame.area(), frame.buffer());
        return Drawing {
            laid: FrameLayout { printed: model.transcript.printed, ..laid },
            ..Drawing::default()
        };
    }
    let room = model.laid.room.unwrap_or(screen.height);
    let (has_list, floats) =
        visible_overlay(model).map_or((false, false), |overlay| (overlay.is_list(), overlay.floats()));
    // Questions need the whole window.
    let has_list = has_list && model.answering.is_none();
    let mut within = None;
    let boxed = visible_overlay(model).map(|overlay| {
        // Two rows of the window stay free.
        let rows = if has_list { room.max(MIN_LIST) + 2 } else { screen.height };
        let area = Rect { height: rows.min(screen.height), ..screen };
        let mut canvas = Buffer::empty(area);
        let (cursor, page) = overlay::draw(model, overlay, memo, area, &mut canvas);
        within = overlay::within(model, memo, area);
        BoxRows::cut(canvas, cursor, page)
    });
    let is_full = console::is_full(model);
    let regions = match &boxed {
        Some(boxed) => {
            let rows = if has_list { room.max(boxed.rows.height) } else { screen.height };
            let area = Rect { height: rows.min(screen.height), ..screen };
            layout::regions(model, area).with_box(boxed.rows.height)
        }
        None if is_full => Regions { transcript: Rect { height: 0, ..screen }, ..Regions::default() },
        None => layout::regions(model, screen),
    };
    let unprinted = UnprintedRows::find(model, memo, screen.width, regions.live_rows_in(room));
    let (finished, live) = (unprinted.finished_rows(), unprinted.live_rows());
    let regions = regions.with_completion_in(room.saturating_sub(live)).below(finished, live);
    let below = if is_full { screen.height } else { regions.height() };
    fit(frame, memo, finished + below);
    let drawn = unprinted.draw(model, memo, frame);
    let mut laid = FrameLayout {
        page: live,
        top: finished,
        printed: unprinted.printed,
        composer_width: layout::composer_width(screen),
        asked: drawn.asked,
        asked_row: drawn.asked_row,
        asked_end: drawn.asked_end,
        asked_beside: drawn.asked_beside,
        cursor: drawn.cursor,
        within,
        ..FrameLayout::default()
    };
    let more = unprinted.more;
    let floats = is_full || floats || (boxed.is_none() && regions.completion.height > 0);
    if is_full {
        let area = Rect { y: finished, ..screen };
        laid.cursor = console::draw_full(model, memo.theme(), area, frame.buffer());
    } else if let Some(boxed) = boxed {
        frame.put_lines(regions.activity, footer::activity_line(model, memo.theme(), regions.activity));
        laid.cursor = boxed.draw(regions.composer, frame.buffer());
        laid.list_page = boxed.page;
        laid.has_overlay = true;
    } else {
        let below = draw_below(model, memo.theme(), &regions, frame);
        laid.cursor = laid.cursor.or(below);
    }
    Drawing { laid, finished, more, floats }
}

/// Gives the frame this many blank rows.
pub(super) fn fit(frame: &mut Frame, memo: &Memo, rows: u16) {
    let area = Rect { height: rows, ..frame.area() };
    frame.resize(area);
    frame.begin(memo.theme().style(ThemeToken::Text), 0..0);
}

/// The rows of an overlay drawn on a blank screen.
pub(super) struct BoxRows {
    canvas: Buffer,
    /// The rows of the canvas that are not blank.
    rows: Rect,
    cursor: Option<(u16, u16)>,
    page: u16,
}

impl BoxRows {
    /// Cuts them out of the canvas; the cursor is a position on it.
    pub fn cut(canvas: Buffer, cursor: Option<(u16, u16)>, page: u16) -> Self {
        let area = canvas.area;
        let is_blank = |y: u16| (area.left()..area.right()).all(|x| canvas[(x, y)].symbol() == " ");
        let mut used = (area.top()..area.bottom()).filter(|y| !is_blank(*y));
        let first = used.next().unwrap_or(area.top());
        let last = used.next_back().unwrap_or(first);
        let rows = Rect { y: first, height: last + 1 - first, ..area };
        BoxRows { canvas, rows, cursor, page }
    }

    /// The texts of the rows.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        (self.rows.top()..self.rows.bottom()).map(|y| self.text(y, self.rows.right()))
    }

    /// The row drawn in this style.
    pub fn selected_row(&self, style: Style) -> Option<String> {
        let is_in_style = |cell: &Cell| {
            let inverse = !style.add_modifier.is_empty() && cell.modifier.contains(style.add_modifier);
            inverse || style.bg.is_some_and(|bg| bg != Color::Reset && cell.bg == bg)
        };
        let mut columns = self.rows.left()..self.rows.right();
        let is_selected = |y: &u16| {
            columns.clone().any(|x| {
                self.canvas.cell((x, *y)).is_some_and(|cell| cell.symbol() != " " && is_in_style(cell))
            })
        };
        let found = (self.rows.top()..self.rows.bottom()).find(is_selected);
        found.map(|y| self.text(y, columns.next_back().map_or(0, |last| last + 1)))
    }

    /// The text before the cursor in its row.
    pub fn before_cursor(&self) -> Option<String> {
        let (x, y) = self.cursor?;
        let text = self.text(y, x);
        Some(text.trim_start_matches([' ', '│']).to_owned())
    }

    /// The text of a row up to this column, without the cells behind wide characters.
    fn text(&self, y: u16, end: u16) -> String {
        let (mut text, mut x) = (String::new(), self.rows.left());
        while let Some(cell) = self.canvas.cell((x, y)).filter(|_| x < end) {
            text.push_str(cell.symbol());
            x += cells(cell.symbol()).max(1) as u16;
        }
        text
    }

    /// Draws as many rows as fit and returns the cursor's position.
    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
        for (from, to) in (self.rows.top()..self.rows.bottom()).zip(area.top()..area.bottom()) {
            for x in area.left()..area.right() {
                if let (Some(cell), Some(drawn)) = (buffer.cell_mut((x, to)), self.canvas.cell((x, from))) {
                    cell.clone_from(drawn);
                }
            }
        }
        self.cursor.map(|(x, y)| (x, area.y + y.saturating_sub(self.rows.y)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_are_read_without_blanks() {
        let rows = BoxRows::cut(Buffer::with_lines(["データ: 한국 ok"]), Some((12, 0)), 0);
        assert_eq!(rows.texts().collect::<Vec<_>>(), ["データ: 한국 ok"]);
        assert_eq!(rows.before_cursor().as_deref(), Some("データ: 한국"));
    }
}
