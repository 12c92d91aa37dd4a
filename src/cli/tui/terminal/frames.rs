//! Frames: what leads from the one that is shown to the next.
//!
//! A frame is compared with the one before; when nothing differs nothing is written, and otherwise it
//! is one write inside a synchronised update.

use std::io;
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};

use ratatui::layout::Rect;

use super::super::frame_encoder;
use super::super::modes::{self, TerminalMode};
use super::super::output::WriteOutcome;
use super::{PATIENCE, Tty, size};
use crate::view::frame::Frame;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// It was sent; so many bytes.
    Frame(usize),
    /// It looks like the one before. Nothing was written.
    Unchanged,
    /// The terminal has not yet taken an earlier frame, or is given back. Nothing was drawn;
    /// try again later.
    Busy,
}

impl Tty {
    /// Draws one frame. `fill` fills it, which is blank and of the terminal's present size, and returns
    /// where the cursor is (`None` hides it).
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, fill: impl FnOnce(&mut Frame) -> Option<(u16, u16)>) -> io::Result<Drawn> {
        if !modes::is_set(TerminalMode::Screen) {
            // A panic in another task has already given the terminal back.
            return Ok(Drawn::Busy);
        }
        if self.output.is_stuck() && self.output.send(b"", Duration::ZERO)? == WriteOutcome::Part {
            return Ok(Drawn::Busy);
        }
        self.fit(size());
        self.next.reset();
        let area = self.next.cells.area;
        let cursor = fill(&mut self.next).filter(|(x, y)| *x < area.width && *y < area.height);
        self.compose(cursor)?;
        std::mem::swap(&mut self.shown, &mut self.next);
        self.cursor = cursor;
        self.stale = false;
        if self.scratch.is_empty() {
            return Ok(Drawn::Unchanged);
        }
        self.output.send(&self.scratch, PATIENCE)?;
        Ok(Drawn::Frame(self.scratch.len()))
    }

    /// Makes the buffers as large as the terminal; a change makes what is shown worthless.
    pub(super) fn fit(&mut self, area: Rect) {
        if self.next.cells.area != area {
            self.next.resize(area);
            self.shown.resize(area);
            self.stale = true;
        }
        if self.stale {
            self.shown.reset();
        }
    }

    /// Writes what leads from the shown frame to the next one into `scratch`; nothing when they
    /// are the same.
    pub(super) fn compose(&mut self, cursor: Option<(u16, u16)>) -> io::Result<()> {
        self.scratch.clear();
        self.cells.clear();
        frame_encoder::encode(&mut self.shown, &self.next, &mut self.cells);
        let changed = self.stale || !self.cells.is_empty();
        if !changed && cursor == self.cursor {
            return Ok(());
        }
        queue!(self.scratch, BeginSynchronizedUpdate)?;
        let hidden = self.cursor.is_none();
        if changed && !hidden {
            // Where updates are not synchronised the cursor would be seen running about.
            queue!(self.scratch, Hide)?;
        }
        if self.stale {
            queue!(self.scratch, Clear(ClearType::All))?;
        }
        self.scratch.append(&mut self.cells);
        match cursor {
            Some((x, y)) => queue!(self.scratch, MoveTo(x, y))?,
            None if !changed && !hidden => queue!(self.scratch, Hide)?,
            None => {}
        }
        if cursor.is_some() && (changed || hidden) {
            queue!(self.scratch, Show)?;
        }
        queue!(self.scratch, EndSynchronizedUpdate)
    }

    /// Makes the next frame a complete one, whatever is on the screen. To be called whenever the
    /// terminal was resized: it may have been small for a moment and have lost what it showed,
    /// although the size is again the one before.
    pub(crate) fn redraw(&mut self) {
        self.stale = true;
    }
}
