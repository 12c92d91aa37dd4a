//! Frames: writes the difference between the displayed one and the next.
//!
//! A frame is compared with the previous one; if nothing differs, nothing is written, and otherwise it is one
//! write inside a synchronised update.

use std::io;
use std::time::Duration;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::layout::Rect;

use super::super::output::WriteOutcome;
use super::super::questions::{Questions, WHERE_IS_THE_CURSOR};
use super::super::widths::{KINDS, Widths};
use super::super::{frame_encoder, modes};
use super::kept_pictures::KeptPictures;
use super::{Surface, TIMEOUT, Tty, size};
use tau_view::frame::Frame;

/// The result of drawing a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOutcome {
    /// It was sent, in this many bytes.
    Frame(usize),
    /// It looks like the previous one. Nothing was written.
    Unchanged,
    /// The terminal has not yet accepted an earlier frame, or is given back. Nothing was drawn; try again
    /// later.
    Busy,
}

/// The properties of a frame besides its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameProperties {
    /// The cursor's position; `None` hides it.
    pub cursor: Option<(u16, u16)>,
    /// The number of finished rows at the top, on the shell's screen.
    pub finished: u16,
    /// The rows below them are transient there, and may cover finished rows.
    pub floats: bool,
}

impl Tty {
    /// Draws one frame. `fill` fills it; it has the terminal's current size, and is blank or as it was filled
    /// before. On the shell's screen its height may change. Fails when the terminal is gone.
    pub fn draw(&mut self, fill: impl FnOnce(&mut Frame) -> FrameProperties) -> io::Result<DrawOutcome> {
        if self.away || !modes::is_set(self.surface.mode()) {
            // Another program has it, or a panic in another task has already restored it.
            return Ok(DrawOutcome::Busy);
        }
        if self.output.is_stuck() && self.output.send(b"", Duration::ZERO)? == WriteOutcome::Part {
            return Ok(DrawOutcome::Busy);
        }
        self.scratch.clear();
        match &mut self.surface {
            Surface::Full(screen) => {
                screen.fit(size());
                let painted = fill(&mut screen.next);
                self.widths.fit(&mut screen.next);
                screen.compose(painted.cursor, &mut self.scratch)?;
            }
            Surface::Inline(region) => {
                let size = size();
                let mut next = Frame::blank(size);
                let painted = fill(&mut next);
                self.widths.fit(&mut next);
                region.compose(&next, painted, size.height, &mut self.scratch)?;
                if region.begins_to_ask() && Questions::can_ask() {
                    self.scratch.extend_from_slice(WHERE_IS_THE_CURSOR.as_bytes());
                    self.scratch.extend_from_slice(self.questions.end_round().as_bytes());
                }
            }
        }
        if self.scratch.is_empty() {
            return Ok(DrawOutcome::Unchanged);
        }
        self.output.send(&self.scratch, TIMEOUT)?;
        Ok(DrawOutcome::Frame(self.scratch.len()))
    }

    /// Whether the terminal has not yet accepted all that was written; the next frame sends the rest.
    pub(crate) fn is_stuck(&self) -> bool {
        self.output.is_stuck() && modes::is_set(self.surface.mode())
    }

    /// Uses the terminal's widths from now on.
    pub(crate) fn set_widths(&mut self, widths: Widths) {
        if self.widths != widths {
            self.widths = widths;
            self.redraw();
        }
    }

    /// Prints the samples of [`KINDS`] invisibly, and queries the cursor's position behind each. Does nothing
    /// on the shell's screen, where it would overwrite a row of others. Fails when the terminal is gone.
    pub(crate) fn measure(&mut self) -> io::Result<()> {
        let Surface::Full(screen) = &self.surface else { return Ok(()) };
        let Some(mut bytes) = screen.samples()? else { return Ok(()) };
        bytes.extend_from_slice(self.questions.end_round().as_bytes());
        self.send(&bytes)
    }

    /// On the shell's screen, the rows available for transient content.
    pub(crate) fn room(&self) -> Option<u16> {
        match &self.surface {
            Surface::Full(_) => None,
            Surface::Inline(region) => Some(region.room()),
        }
    }

    /// Handles the cursor's row as reported by the terminal; returns whether that was requested.
    pub(crate) fn on_cursor_row(&mut self, row: u16) -> bool {
        match &mut self.surface {
            Surface::Full(_) => false,
            Surface::Inline(region) => {
                region.on_cursor_row(row, size().height);
                true
            }
        }
    }

    /// Makes the next frame a complete one, regardless of the screen's content. Must be called whenever the
    /// terminal was resized: it may have been small for a moment and have lost its content, although the size
    /// is the same again.
    pub(crate) fn redraw(&mut self) {
        match &mut self.surface {
            Surface::Full(screen) => screen.stale = true,
            Surface::Inline(region) => region.redraw(),
        }
    }
}

/// A screen of tau's own.
#[derive(Debug, Default)]
pub(super) struct FullScreen {
    shown: Frame,
    pub(super) next: Frame,
    /// The position of the visible cursor; `None` when it is hidden.
    cursor: Option<(u16, u16)>,
    /// The screen may have content unknown to `shown`.
    stale: bool,
    /// The pictures uploaded to the terminal.
    pictures: KeptPictures,
    /// Bytes of the cells of a frame; kept for its capacity.
    cells: Vec<u8>,
}

impl FullScreen {
    /// Resizes the buffers to the terminal; a change invalidates the displayed content.
    pub(super) fn fit(&mut self, area: Rect) {
        if self.next.area() != area {
            self.next.resize(area);
            self.shown.resize(area);
            self.stale = true;
        }
        if self.stale {
            self.shown.reset();
            self.next.reset();
        }
    }

    /// The samples: concealed, within an update, and in a blank row, which is blank again afterwards. `None`
    /// without such a row.
    fn samples(&self) -> io::Result<Option<Vec<u8>>> {
        let shown = &self.shown;
        let blank =
            |y: &u16| shown.row(*y).iter().all(frame_encoder::is_blank) && shown.pictures.row(*y).is_empty();
        // In the first row the answer would be a key.
        let Some(y) = (1..shown.area().height).find(blank) else { return Ok(None) };
        let mut bytes = Vec::new();
        queue!(bytes, BeginSynchronizedUpdate, SetAttribute(Attribute::Hidden))?;
        for (_, _, sample) in KINDS {
            queue!(bytes, MoveTo(0, y), Print(sample), Print(WHERE_IS_THE_CURSOR))?;
        }
        queue!(bytes, SetAttribute(Attribute::Reset), MoveTo(0, y), Clear(ClearType::CurrentLine))?;
        if let Some((x, y)) = self.cursor {
            queue!(bytes, MoveTo(x, y))?;
        }
        queue!(bytes, EndSynchronizedUpdate)?;
        Ok(Some(bytes))
    }

    /// Forgets the displayed content: the terminal was used by another program.
    pub(super) fn forget(&mut self) {
        self.pictures.forget();
        self.stale = true;
        self.cursor = None;
    }

    /// The sequences that delete the pictures from the terminal's memory.
    pub(super) fn delete_pictures(&mut self) -> String {
        self.pictures.forget()
    }

    /// Writes the difference between the displayed frame and the next one; nothing when they are equal.
    pub(super) fn compose(&mut self, cursor: Option<(u16, u16)>, out: &mut Vec<u8>) -> io::Result<()> {
        let area = self.next.area();
        let cursor = cursor.filter(|(x, y)| *x < area.width && *y < area.height);
        self.cells.clear();
        frame_encoder::encode(&self.shown, &self.next, &mut self.cells);
        let changed = self.stale || !self.cells.is_empty();
        if changed || cursor != self.cursor {
            self.pictures.upload(&self.next, out);
            self.write(cursor, changed, out)?;
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        self.cursor = cursor;
        self.stale = false;
        Ok(())
    }

    fn write(&mut self, cursor: Option<(u16, u16)>, changed: bool, out: &mut Vec<u8>) -> io::Result<()> {
        queue!(out, BeginSynchronizedUpdate)?;
        let hidden = self.cursor.is_none();
        if changed && !hidden {
            // Without synchronised updates the cursor would visibly jump about.
            queue!(out, Hide)?;
        }
        if self.stale {
            queue!(out, Clear(ClearType::All))?;
        }
        out.append(&mut self.cells);
        match cursor {
            Some((x, y)) => queue!(out, MoveTo(x, y))?,
            None if !changed && !hidden => queue!(out, Hide)?,
            None => {}
        }
        if cursor.is_some() && (changed || hidden) {
            queue!(out, Show)?;
        }
        queue!(out, EndSynchronizedUpdate)
    }
}
