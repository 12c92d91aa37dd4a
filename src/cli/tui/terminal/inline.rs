//! The shell's screen: finished rows are printed, and a region below them is kept up to date.
//!
//! The region is found by the cursor, which is always in it; its position on the screen does not matter. It
//! grows by line feeds, so the rows above move into the terminal's scrollback like any output. Finished rows
//! at the top of a frame stay where they were written and leave the region.
//!
//! A transient list would push rows into the scrollback and leave blank ones when it closes. Therefore it
//! covers rows above the region instead, as far as their content is known; closing it restores them. Rows
//! finished in the meantime are held below it, too, and printed then. It can also use rows below the region:
//! former rows of the region, and rows that the terminal reports when asked for the cursor's position. The
//! number of rows for a list is [`InlineScreen::room`].

use std::borrow::Cow;
use std::io;

use crossterm::cursor::{Hide, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::Rect;

use super::super::{frame_encoder, modes};
use super::FrameProperties;
use tau_view::frame::Frame;

/// The region.
#[derive(Debug, Default)]
pub(super) struct InlineScreen {
    /// The content of its rows; without rows nothing is known.
    shown: Frame,
    /// The cursor's position in it.
    cursor: Cursor,
    /// The finished rows above it that are certainly on the screen.
    above: Frame,
    /// Finished rows covered by a list, in order: they follow the ones above, and are not on the screen.
    covered: Frame,
    /// The number of rows below it that are certainly blank.
    free: u16,
    /// Whether the terminal is queried about those.
    asks: bool,
    place: Place,
    /// The terminal may have moved or cut the rows.
    stale: bool,
    /// Whether the terminal wraps rows that have become too long.
    reflows: bool,
}

/// The terminal's cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    row: u16,
    /// Its column when visible.
    shown_at: Option<u16>,
}

/// The terminal's report on the region's position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Unknown,
    /// The query is pending: rows between the cursor and the end of the region then, and the movement of the
    /// end since.
    Asked {
        below: u16,
        moved: i32,
    },
    Told,
}

/// The output of a frame.
struct Laying<'a> {
    /// The content of the rows to overwrite: rows of the region, and rows above that it takes.
    shown: Cow<'a, Frame>,
    /// The number of rows that it takes.
    taken: u16,
    /// The new content.
    rows: Cow<'a, Frame>,
    /// Finished rows covered by it.
    covered: Frame,
    /// The number of finished rows at its top.
    visible: u16,
}

impl InlineScreen {
    /// A region without rows; `reflows` tells whether the terminal wraps rows that have become too long.
    pub(super) fn new(reflows: bool) -> Self {
        InlineScreen { reflows, ..InlineScreen::default() }
    }

    /// Makes the region query the terminal for its position.
    pub(super) fn asking(self) -> Self {
        InlineScreen { asks: true, ..self }
    }

    /// Marks the rows to be written again, because the terminal was resized.
    pub(super) fn redraw(&mut self) {
        self.stale = true;
    }

    /// The rows available for the region without moving any off the screen or leaving blank ones afterwards.
    pub(super) fn room(&self) -> u16 {
        self.above.area().height.saturating_add(self.shown.area().height).saturating_add(self.free)
    }

    /// Whether to query the terminal for the cursor's position. Not in the first row, whose number is a key.
    pub(super) fn begins_to_ask(&mut self) -> bool {
        let begins = self.asks && self.place == Place::Unknown && self.above.area().height > 0;
        if begins {
            let below = self.shown.area().height.saturating_sub(self.cursor.row.saturating_add(1));
            self.place = Place::Asked { below, moved: 0 };
        }
        begins
    }

    /// Handles the terminal's report of the cursor's row at the time of the query, on a screen of `screen`
    /// rows.
    pub(super) fn on_cursor_row(&mut self, row: u16, screen: u16) {
        let Place::Asked { below, moved } = self.place else { return };
        self.place = Place::Told;
        // If rows have left the screen since, there are more.
        let end = i32::from(row) + i32::from(below) + moved + 1;
        let free = u16::try_from(i32::from(screen) - end).unwrap_or(0);
        self.free = self.free.max(free);
    }

    /// Forgets the displayed content: the terminal was used by another program, and the cursor is below its
    /// output.
    pub(super) fn forget(&mut self) {
        let covered = std::mem::take(&mut self.covered);
        *self = InlineScreen { covered, asks: self.asks, ..InlineScreen::new(self.reflows) };
    }

    /// Removes the region from the screen; the cursor is at its start. Covered rows are restored.
    pub(super) fn erase(&mut self) -> String {
        let mut bytes = Vec::new();
        if self.covered.area().height > 0 {
            let width = self.covered.area().width;
            let blank = Frame::blank(Rect { width, height: 1, ..Rect::default() });
            // Memory accepts any number of bytes.
            let _ = self.compose(&blank, FrameProperties::default(), u16::MAX, &mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned() + &self.erase_region()
    }

    fn erase_region(&mut self) -> String {
        let Cursor { row, .. } = self.cursor;
        let rows = self.shown.area().height;
        self.forget();
        modes::set_region(None);
        let up = if row > 0 { format!("\x1b[{row}A") } else { String::new() };
        match rows {
            0 => String::new(),
            1 => format!("{up}\r\x1b[0m\x1b[K"),
            // Not erased from the first row: if that is the first one of the screen, tmux would store the
            // screen in the scrollback.
            _ => format!("{up}\r\x1b[0m\x1b[K\x1b[B\x1b[J\x1b[A"),
        }
    }

    /// Writes the difference between the displayed content and the next frame, on a screen of that many rows;
    /// nothing when they look the same.
    pub(super) fn compose(
        &mut self,
        next: &Frame,
        painted: FrameProperties,
        screen: u16,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let area = next.area();
        if area.height == 0 || area.width == 0 {
            return Ok(());
        }
        let mut cells = Vec::new();
        let stale = self.stale || self.shown.area().height == 0 || self.shown.area().width != area.width;
        if stale {
            self.go_back(area.width, &mut cells);
        }
        // The cursor stays in the region, which begins below the finished rows.
        let finished = painted.finished.min(area.height - 1);
        let Laying { shown, taken, rows, covered, visible } =
            self.lay(next, finished, painted.floats, screen);
        let wanted = painted.cursor.filter(|(x, y)| *x < area.width && (finished..area.height).contains(y));
        let wanted = wanted.map(|(x, y)| (x, y - finished + visible));
        let from = self.cursor.row + taken;
        let mut row = frame_encoder::encode_region(&shown, &rows, from, wanted, &mut cells);
        if row < visible {
            cells.extend_from_slice(format!("\x1b[{}B", visible - row).as_bytes());
            row = visible;
        }
        let is_same = !stale && visible == 0 && rows == shown;
        let now = Cursor { row: row - visible, shown_at: wanted.map(|(x, _)| x) };
        if is_same && now == self.cursor {
            self.covered = covered;
            return Ok(());
        }
        queue!(out, BeginSynchronizedUpdate)?;
        if self.cursor.shown_at.is_some() {
            queue!(out, Hide)?;
        }
        out.append(&mut cells);
        if wanted.is_some() {
            queue!(out, Show)?;
        }
        queue!(out, EndSynchronizedUpdate)?;
        let before = shown.area().height;
        let mut region = rows.into_owned();
        self.ends_elsewhere(before, region.area().height);
        let height = region.area().height - visible;
        if taken > 0 || self.above.area().width != area.width {
            let kept = self.above.area().height.saturating_sub(taken);
            let above = std::mem::replace(&mut self.above, Frame::blank(Rect { height: 0, ..area }));
            self.above.push_rows(&above, 0..kept);
        }
        self.above.push_rows(&region, 0..visible);
        self.above.drop_rows(self.above.area().height.saturating_sub(screen.saturating_sub(height)));
        region.drop_rows(visible);
        modes::set_region(Some(height.saturating_sub(now.row + 1)));
        (self.shown, self.cursor, self.covered, self.stale) = (region, now, covered, false);
        Ok(())
    }

    /// Records that the region's end moved: `after` rows were written in place of `before`.
    fn ends_elsewhere(&mut self, before: u16, after: u16) {
        self.free = self.free.saturating_add(before).saturating_sub(after);
        if let Place::Asked { moved, .. } = &mut self.place {
            *moved += i32::from(after) - i32::from(before);
        }
    }

    /// Divides the finished rows into visible ones and ones covered by a list. The region's end does not
    /// move, as long as there are rows for it.
    fn lay<'a>(&'a self, next: &'a Frame, finished: u16, floats: bool, screen: u16) -> Laying<'a> {
        let Rect { width, height, .. } = next.area();
        let none = Frame::blank(Rect { width, height: 0, ..Rect::default() });
        let (known, region) = (self.shown.area().height, height - finished);
        let above = self.above.area().height;
        let taken = if floats { above.min(region.saturating_sub(known)) } else { 0 };
        let is_plain = taken == 0 && self.covered.area().height == 0 && (finished == 0 || !floats);
        if is_plain {
            let (shown, rows) = (Cow::Borrowed(&self.shown), Cow::Borrowed(next));
            return Laying { shown, taken, rows, covered: none, visible: finished };
        }
        let mut pool = none.clone();
        pool.push_rows(&self.above, above - taken..above);
        pool.push_rows(&self.covered, 0..self.covered.area().height);
        pool.push_rows(next, 0..finished);
        let all = pool.area().height;
        let visible = match floats {
            // At most a screen's worth is held back.
            true => (known + taken).saturating_sub(region).max(all.saturating_sub(screen)).min(all),
            false => all,
        };
        let (mut shown, mut rows, mut covered) = (none.clone(), none.clone(), none);
        shown.push_rows(&self.above, above - taken..above);
        shown.push_rows(&self.shown, 0..known);
        rows.push_rows(&pool, 0..visible);
        rows.push_rows(next, finished..height);
        covered.push_rows(&pool, visible..all);
        Laying { shown: Cow::Owned(shown), taken, rows: Cow::Owned(rows), covered, visible }
    }

    /// Moves to the start of the region, in a terminal of a new width: its content is written again.
    fn go_back(&mut self, width: u16, out: &mut Vec<u8>) {
        let above = self.rows_above(width);
        if above > 0 {
            out.extend_from_slice(format!("\x1b[{above}A").as_bytes());
        }
        out.extend_from_slice(b"\r\x1b[K");
        self.cursor.row = 0;
        self.shown = Frame::blank(Rect { width, height: 1, ..Rect::default() });
        // The terminal's placement of the rows above and below is unknown.
        self.above = Frame::default();
        (self.free, self.place) = (0, Place::Unknown);
        self.covered = self.covered.wrap_to(width);
    }

    /// The number of rows between the start of the region and the cursor, in a terminal of a new width.
    fn rows_above(&self, width: u16) -> u16 {
        let rows = (0..self.shown.area().height).map(|y| self.shown.row(y));
        let used = |row: &[ratatui::buffer::Cell]| {
            let last = row.iter().rposition(|cell| cell.symbol() != " ").map_or(0, |last| last + 1);
            u16::try_from(last).unwrap_or(u16::MAX).div_ceil(width.max(1)).max(1)
        };
        let before = usize::from(self.cursor.row);
        match self.reflows {
            true => {
                rows.take(before).map(used).sum::<u16>() + self.cursor.shown_at.unwrap_or(0) / width.max(1)
            }
            false => self.cursor.row,
        }
    }
}

/// Whether a terminal wraps rows that have become too long when its window gets narrower: most do; xterm,
/// the console and GNU screen cut them.
pub(super) fn reflows(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let term = variable("TERM").unwrap_or_default();
    let kind = term.split(['-', '.']).next().unwrap_or_default();
    is_set("TMUX")
        || !(is_set("XTERM_VERSION") || ["linux", "screen", "st", "vt100", "vt220"].contains(&kind))
}

#[cfg(test)]
mod tests;
