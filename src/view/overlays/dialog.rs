//! The framed box over the transcript that all dialogs share.

use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};

use crate::theme::{Theme, ThemeToken};
use crate::wrap;
use tau_app::model::Model;
use tau_app::overlays::reading::Reading;
use tau_tools::counted::pluralize;

/// The number of columns beside a box that is too small to be readable: they are cleared.
const LEFTOVER: u16 = 12;
/// The maximum width of a box, in cells.
const MAX_WIDTH: u16 = 110;

/// The cursor's position, and the number of rows of a list that fit.
pub(crate) type OverlayLayout = (Option<(u16, u16)>, u16);

/// The width inside a box.
pub(crate) fn inner_width(area: Rect) -> u16 {
    area.width.saturating_sub(4).clamp(1, MAX_WIDTH - 2)
}

/// Draws a box for `rows` rows; returns the area inside it.
pub fn frame(title: &str, hint: &str, rows: u16, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Rect {
    frame_within(title, hint, rows, rows, theme, area, buffer)
}

/// The number of rows of a scrolled text that are out of sight, and the key that shows them; nothing if there are none.
pub(crate) fn out_of_sight(above: usize, below: usize) -> Option<String> {
    match (above, below) {
        (0, 0) => None,
        (_, 0) => Some(format!("⋯ {} above: pgup", pluralize(above, "row"))),
        _ => Some(format!("⋯ {}: pgdn", pluralize(below, "more row"))),
    }
}

/// Draws lines in the rows of an area.
pub(crate) fn draw_lines(lines: &[Line<'static>], area: Rect, buffer: &mut Buffer) {
    for (y, line) in (area.top()..area.bottom()).zip(lines) {
        buffer.set_line(area.x, y, line, area.width);
    }
}

/// Draws a question and its answers in a box; returns the area inside it.
pub(crate) fn draw_question(
    title: &str,
    hint: &str,
    rows: &[Line<'static>],
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let inner = frame(title, hint, height, theme, area, buffer);
    // In a window too small for all, the answers matter most.
    let skip = rows.len().saturating_sub(usize::from(inner.height));
    draw_lines(rows.get(skip..).unwrap_or_default(), inner, buffer);
    inner
}

/// A question about a text that scrolls between it and the answers, which are always visible.
pub(super) struct TextQuestion<'a> {
    pub title: &'a str,
    /// The keys.
    pub keys: &'a str,
    /// Shown instead when the key must be pressed again, as not all was seen.
    pub again: &'a str,
    pub question: Vec<Line<'static>>,
    pub text: Vec<Line<'static>>,
    pub answers: Vec<Line<'static>>,
}

impl TextQuestion<'_> {
    /// Draws it and returns how far the text can be scrolled down at once.
    pub(super) fn draw(
        self,
        reading: &Reading,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> OverlayLayout {
        // The border of the box takes two rows, and two rows of the window stay free.
        let around = self.question.len().saturating_add(self.answers.len()).saturating_add(4);
        let least = self.answers.len().saturating_add(5);
        let room = usize::from(area.height).saturating_sub(around).max(1);
        let first = reading.scroll.min(self.text.len().saturating_sub(room));
        let below = self.text.len().saturating_sub(first.saturating_add(room));
        let keys = if reading.insists { self.again } else { self.keys };
        let hint = match out_of_sight(first, below) {
            Some(rows) if reading.insists => format!("{keys} · {rows}"),
            Some(rows) => format!("{rows} · {keys}"),
            None => keys.to_owned(),
        };
        // A window that is too small for the answers shows nothing of the text.
        let is_hidden = usize::from(area.height) < least && !self.text.is_empty();
        let shown = self.text.into_iter().skip(first).take(room);
        let rows: Vec<Line<'static>> = self.question.into_iter().chain(shown).chain(self.answers).collect();
        draw_question(self.title, &hint, &rows, theme, area, buffer);
        let below = if is_hidden { below.max(1) } else { below };
        (None, u16::try_from(below.min(room)).unwrap_or(u16::MAX))
    }
}

/// Draws a box for `rows` rows where there may be up to `most`; returns the area inside it. The top of the
/// box is the same for any number of rows, so that typed text does not move.
pub(crate) fn frame_within(
    title: &str,
    hint: &str,
    rows: u16,
    most: u16,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let width = (inner_width(area) + 2).min(area.width);
    frame_of(title, hint, BoxSize { width, rows, most }, theme, area, buffer)
}

/// The width inside a box as wide as the screen.
pub(crate) fn whole_width(area: Rect) -> u16 {
    area.width.saturating_sub(4).max(1)
}

/// Like [`frame`], but as wide as the screen.
pub(crate) fn wide_frame(
    title: &str,
    hint: &str,
    rows: u16,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let width = (whole_width(area) + 2).min(area.width);
    frame_of(title, hint, BoxSize { width, rows, most: rows }, theme, area, buffer)
}

/// The width of a box with its border, its rows now, and the most that it may have.
struct BoxSize {
    width: u16,
    rows: u16,
    most: u16,
}

fn frame_of(
    title: &str,
    hint: &str,
    BoxSize { width, rows, most }: BoxSize,
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) -> Rect {
    let height_of =
        |rows: u16| rows.saturating_add(2).min(area.height.saturating_sub(2)).max(3).min(area.height);
    let height = height_of(rows);
    let x = area.x + (area.width - width) / 2;
    let y = area.y + (area.height - height_of(most.max(rows))) / 3;
    let outer = Rect { x, y, width, height };
    dim(outer, theme, area, buffer);
    Clear.render(outer, buffer);
    buffer.set_style(outer, theme.style(ThemeToken::Text));
    let title = format!(" {} ", wrap::truncate(title, width.saturating_sub(6)));
    let hint = format!(" {} ", fit_keys(hint, width.saturating_sub(6)));
    let block = Block::bordered()
        .border_style(theme.style(ThemeToken::OverlayBorder))
        .title_top(Line::styled(title, theme.style(ThemeToken::OverlayTitle)))
        .title_bottom(Line::styled(hint, theme.style(ThemeToken::Muted)));
    let inner = block.inner(outer);
    block.render(outer, buffer);
    inner
}

/// As many keys as fit, the more important ones first; the key that leaves the box is always there.
fn fit_keys(hint: &str, width: u16) -> String {
    let mut keys: Vec<&str> = hint.split(KEYS).collect();
    let fits = |keys: &[&str]| wrap::cells(&keys.join(KEYS)) <= usize::from(width);
    while keys.len() > 2 && !fits(&keys) {
        let Some(least) = keys.iter().skip(1).rposition(|key| !key.starts_with("esc")) else { break };
        keys.remove(least + 1);
    }
    match keys.as_slice() {
        [first, leaves] if !fits(&keys) && leaves.starts_with("esc") => {
            let taken = u16::try_from(wrap::cells(leaves) + wrap::cells(KEYS)).unwrap_or(width);
            match width.saturating_sub(taken) {
                ..MIN_KEY => wrap::truncate(leaves, width).into_owned(),
                room => format!("{}{KEYS}{leaves}", wrap::truncate(first, room)),
            }
        }
        _ => wrap::truncate(&keys.join(KEYS), width).into_owned(),
    }
}

/// The minimum number of cells for the start of a key's text to be useful.
const MIN_KEY: u16 = 8;

/// The separator of the keys below a box.
const KEYS: &str = " · ";

/// Dims everything outside the box and clears characters that the box cuts in half.
fn dim(outer: Rect, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    for y in outer.top()..outer.bottom() {
        let left = outer.x.checked_sub(1).filter(|x| *x >= area.x).and_then(|x| buffer.cell_mut((x, y)));
        if let Some(cell) = left.filter(|cell| cell.cell_width() > 1) {
            cell.reset();
        }
    }
    let style = Style::reset().patch(theme.style(ThemeToken::Text)).patch(theme.style(ThemeToken::Faint));
    buffer.set_style(area, style);
    if area.width - outer.width <= 2 * LEFTOVER {
        let rows = Rect { x: area.x, width: area.width, ..outer };
        Clear.render(rows, buffer);
        buffer.set_style(rows, theme.style(ThemeToken::Text));
    }
}

/// The title of a dialog, after that of the session whose questions the board shows.
pub(super) fn heading(model: &Model, title: &str) -> String {
    match &model.on_board {
        Some(session) => format!("{} · {title}", session.as_str()),
        None => title.to_owned(),
    }
}

/// The key that leaves a dialog. On the board the question still waits then.
pub(super) fn leaving_key(model: &Model) -> &'static str {
    if model.on_board.is_some() { "esc goes back" } else { "esc cancels" }
}
