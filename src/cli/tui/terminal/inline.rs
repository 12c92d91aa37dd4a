//! The shell's screen: finished rows are printed, and below them a region is kept up to date.
//!
//! The region is found by the cursor, which is always in it; nothing depends on where on the screen it
//! is. It grows by line feeds, so what is above moves into the terminal's scrollback as any output
//! does. The rows at the top of a frame that are finished stay where they were written and are no part
//! of the region any more.

use std::io;

use crossterm::cursor::{Hide, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::Rect;

use super::super::{frame_encoder, modes};
use super::Painted;
use crate::view::frame::Frame;

/// The region.
#[derive(Debug, Default)]
pub(super) struct InlineScreen {
    /// What is on its rows; without rows nothing is known to be there.
    shown: Frame,
    /// Where the cursor is in it.
    cursor: Cursor,
    /// The terminal may have moved or cut the rows.
    stale: bool,
    /// Whether the terminal wraps rows that have become too long for it.
    reflows: bool,
}

/// The terminal's cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cursor {
    row: u16,
    /// Its column where it is shown.
    shown_at: Option<u16>,
}

impl InlineScreen {
    /// A region without rows, in a terminal that wraps rows that have become too long, or does not.
    pub(super) fn new(reflows: bool) -> Self {
        InlineScreen { reflows, ..InlineScreen::default() }
    }

    /// The rows are to be written again: the terminal was resized.
    pub(super) fn redraw(&mut self) {
        self.stale = true;
    }

    /// Forgets what is shown: the terminal was another program's, and the cursor is below its output.
    pub(super) fn forget(&mut self) {
        *self = InlineScreen::new(self.reflows);
    }

    /// Takes the region from the screen; the cursor is where it began.
    pub(super) fn erase(&mut self) -> String {
        let Cursor { row, .. } = self.cursor;
        let rows = self.shown.area().height;
        self.forget();
        modes::set_region(None);
        let up = if row > 0 { format!("\x1b[{row}A") } else { String::new() };
        match rows {
            0 => String::new(),
            1 => format!("{up}\r\x1b[0m\x1b[K"),
            // Not erased from the first row on: where that is the first one of the screen, tmux takes it
            // for a screen to be kept in the scrollback.
            _ => format!("{up}\r\x1b[0m\x1b[K\x1b[B\x1b[J\x1b[A"),
        }
    }

    /// Writes what leads from what is shown to the next frame; nothing when that looks the same.
    pub(super) fn compose(&mut self, next: Frame, painted: Painted, out: &mut Vec<u8>) -> io::Result<()> {
        let mut next = next;
        let area = next.area();
        if area.height == 0 || area.width == 0 {
            return Ok(());
        }
        let wanted = painted.cursor.filter(|(x, y)| *x < area.width && *y < area.height);
        let mut cells = Vec::new();
        let stale = self.stale || self.shown.area().height == 0 || self.shown.area().width != area.width;
        if stale {
            self.go_back(area.width, &mut cells);
        }
        let mut row = frame_encoder::encode_region(&self.shown, &next, self.cursor.row, wanted, &mut cells);
        // The cursor stays in the region, which begins below what is finished.
        let first = painted.finished.min(area.height - 1);
        if row < first {
            cells.extend_from_slice(format!("\x1b[{}B", first - row).as_bytes());
            row = first;
        }
        let is_same = !stale && next == self.shown && painted.finished == 0;
        let now = Cursor { row: row - painted.finished.min(row), shown_at: wanted.map(|(x, _)| x) };
        if is_same && now == self.cursor {
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
        next.drop_rows(painted.finished);
        modes::set_region(Some(next.area().height.saturating_sub(now.row + 1)));
        (self.shown, self.cursor, self.stale) = (next, now, false);
        Ok(())
    }

    /// Goes to where the region begins, in a terminal of a new width: what is there is written again.
    fn go_back(&mut self, width: u16, out: &mut Vec<u8>) {
        let above = self.rows_above(width);
        if above > 0 {
            out.extend_from_slice(format!("\x1b[{above}A").as_bytes());
        }
        out.extend_from_slice(b"\r\x1b[K");
        self.cursor.row = 0;
        self.shown = Frame::blank(Rect { width, height: 1, ..Rect::default() });
    }

    /// Rows between the beginning of the region and the cursor, in a terminal of a new width.
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
