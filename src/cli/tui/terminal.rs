//! The terminal as an object: the one owner of everything that is written to it.
//!
//! Frames, the title, the clipboard and the bell go through typed methods here and nowhere
//! else, so no text reaches the terminal as a control sequence. A frame is compared with the one
//! before; when nothing differs nothing is written, and otherwise it is one write inside a
//! synchronised update. It never reads: that is [`super::input`].

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use rustix::process::Signal;
use rustix::termios::{QueueSelector, tcflush};

use super::announce::Announcer;
use super::color_support::{detected_colors, tells_background};
use super::frame_encoder;
use super::modes::{self, TerminalMode};
use super::output::{TerminalWriter, WriteOutcome};
use crate::app::effect::TERMINAL_COPY;
pub use crate::cli::plain::line as plain;
use crate::view::color::ColorDepth;

/// A terminal that takes longer than this for a frame misses the next ones.
const PATIENCE: Duration = Duration::from_millis(40);
/// Some terminals take progress away that is not reported again for a while.
const PROGRESS_AGAIN: Duration = Duration::from_secs(5);
/// Titles are cut here; no terminal shows more.
const TITLE_CHARS: usize = 120;

/// How long after the question the terminal is not given to another program, which would get the
/// answer. Answers take a few milliseconds, from far away some hundred.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// Whether the terminal was asked for its background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Not,
    /// It was, and the answer is waited for until then.
    Until(Instant),
    Answered,
}

impl Asked {
    /// Whether an answer may still come.
    fn is_open(self) -> bool {
        matches!(self, Asked::Until(_))
    }
}

/// Whether mouse events are ours or the terminal's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseCapture {
    On,
    Off,
}

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

/// What became of a text for the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// Sent. Whether the terminal allows it is not known.
    Sent,
    /// Longer than a terminal takes; nothing was sent.
    TooLong,
}

/// The terminal, from [`Tty::enter`] to [`Tty::leave`].
#[derive(Debug)]
pub struct Tty {
    output: TerminalWriter,
    shown: Buffer,
    next: Buffer,
    /// Where the cursor is shown; `None` when it is hidden.
    cursor: Option<(u16, u16)>,
    /// The screen holds something that `shown` does not know of.
    stale: bool,
    mouse: MouseCapture,
    /// The title that was last set.
    title: String,
    /// How the user is told who looks elsewhere.
    pub announcer: Announcer,
    /// When progress was last shown; `None` when it is not.
    progress: Option<Instant>,
    /// [`Tty::suspend`] came back; the signal that brought it back is still to be reported.
    continued: bool,
    asked: Asked,
    /// Bytes of one frame, and of its cells; kept for their capacity.
    scratch: Vec<u8>,
    cells: Vec<u8>,
}

impl Tty {
    /// Takes the terminal: raw mode, alternate screen, bracketed paste, kitty keyboard flags,
    /// focus reports, the mouse if wanted. Nothing is asked, so nothing is waited for.
    ///
    /// # Errors
    /// Standard input or output is no terminal.
    pub fn enter(mouse: MouseCapture) -> io::Result<Self> {
        let mut tty = Tty {
            output: TerminalWriter::default(),
            shown: Buffer::empty(size()),
            next: Buffer::empty(size()),
            cursor: None,
            stale: false,
            mouse,
            title: String::new(),
            announcer: Announcer::default(),
            progress: None,
            continued: false,
            asked: Asked::default(),
            scratch: Vec::with_capacity(16 * 1024),
            cells: Vec::with_capacity(16 * 1024),
        };
        tty.set_modes()?;
        Ok(tty)
    }

    fn set_modes(&mut self) -> io::Result<()> {
        modes::enter_raw()?;
        let mut bytes = modes::set(TerminalMode::Screen).unwrap_or_default().to_owned();
        if self.mouse == MouseCapture::On {
            bytes.push_str(modes::set(TerminalMode::Mouse).unwrap_or_default());
        }
        self.send(bytes.as_bytes())
    }

    /// Gives the terminal back as it was. Idempotent; dropping does the same.
    pub fn leave(&mut self) {
        if self.output.is_stuck() {
            // A sequence may be half out: let the rest follow if it goes quickly.
            let _ = self.output.send(b"", PATIENCE);
            self.output.give_up();
        }
        if self.asked.is_open() {
            // The shell would take the answer for what its user typed.
            let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        modes::restore();
        self.cursor = None;
    }

    /// Asks what the background is (OSC 11), once; the answer comes as input. Not where the terminal
    /// shows no colours or does not know the question.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn ask_for_background(&mut self) -> io::Result<()> {
        let term = std::env::var("TERM").unwrap_or_default();
        let tmux = std::env::var_os("TMUX").is_some_and(|value| !value.is_empty());
        let sensible = || detected_colors().0 != ColorDepth::None && tells_background(&term, tmux);
        if self.asked != Asked::Not || !sensible() {
            return Ok(());
        }
        self.asked = Asked::Until(Instant::now() + ANSWER_PATIENCE);
        self.send(b"\x1b]11;?\x1b\\")
    }

    /// The answer to [`Tty::ask_for_background`] has come.
    pub(crate) fn background_came(&mut self) {
        self.asked = Asked::Answered;
    }

    /// Until when an answer is waited for before the terminal is given to another program.
    pub(crate) fn answer_due(&self) -> Option<Instant> {
        match self.asked {
            Asked::Until(due) => Some(due).filter(|due| *due > Instant::now()),
            Asked::Not | Asked::Answered => None,
        }
    }

    /// Leaves, and prints lines below the prompt.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn farewell(mut self, lines: &[String]) -> io::Result<()> {
        self.leave();
        let text: String = lines.iter().map(|line| format!("{}\r\n", plain(line))).collect();
        self.send(text.as_bytes())
    }

    /// Draws one frame. `frame` fills the buffer, which is blank and of the terminal's present
    /// size, and returns where the cursor is (`None` hides it).
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, frame: impl FnOnce(&mut Buffer, Rect) -> Option<(u16, u16)>) -> io::Result<Drawn> {
        if !modes::is_set(TerminalMode::Screen) {
            // A panic in another task has already given the terminal back.
            return Ok(Drawn::Busy);
        }
        if self.output.is_stuck() && self.output.send(b"", Duration::ZERO)? == WriteOutcome::Part {
            return Ok(Drawn::Busy);
        }
        self.fit(size());
        self.next.reset();
        let area = self.next.area;
        let cursor = frame(&mut self.next, area).filter(|(x, y)| *x < area.width && *y < area.height);
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
    fn fit(&mut self, area: Rect) {
        if self.next.area != area {
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
    fn compose(&mut self, cursor: Option<(u16, u16)>) -> io::Result<()> {
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

    /// Sets the window's title. Control characters are left out; the former title comes back
    /// at the end. Setting the same title again writes nothing.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn set_title(&mut self, title: &str) -> io::Result<()> {
        let title: String = plain(title).chars().take(TITLE_CHARS).collect();
        if title == self.title {
            return Ok(());
        }
        let keep = modes::set(TerminalMode::Title).unwrap_or_default();
        self.send(format!("{keep}\x1b]2;{title}\x07").as_bytes())?;
        self.title = title;
        Ok(())
    }

    /// Hands `text` to the terminal for the clipboard (OSC 52). Inside tmux it is also sent to the
    /// terminal around it: tmux takes the one, the other or neither, as it is configured.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<Copied> {
        if text.len() > TERMINAL_COPY {
            return Ok(Copied::TooLong);
        }
        let coded = base64::engine::general_purpose::STANDARD.encode(text);
        let mut sequence = format!("\x1b]52;c;{coded}\x1b\\");
        if std::env::var_os("TMUX").is_some_and(|value| !value.is_empty()) {
            let _ = write!(sequence, "\x1bPtmux;\x1b\x1b]52;c;{coded}\x07\x1b\\");
        }
        self.send(sequence.as_bytes())?;
        Ok(Copied::Sent)
    }

    /// Tells the user, who looks elsewhere, in the way that is set.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn notify(&mut self, text: &str) -> io::Result<()> {
        let bytes = self.announcer.notification(text);
        self.send(bytes.as_bytes())
    }

    /// Shows that something is under way, or no longer, where that is wanted. Costs nothing while
    /// nothing changes.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn show_progress(&mut self, shows: bool) -> io::Result<()> {
        let Some(mode) = self.announcer.progress() else { return Ok(()) };
        let bytes = match (shows, self.progress) {
            (true, Some(shown)) if shown.elapsed() < PROGRESS_AGAIN => return Ok(()),
            (true, _) => {
                self.progress = Some(Instant::now());
                let _ = modes::unset(mode);
                modes::set(mode)
            }
            (false, None) => return Ok(()),
            (false, Some(_)) => {
                self.progress = None;
                modes::unset(mode)
            }
        };
        self.send(bytes.unwrap_or_default().as_bytes())
    }

    /// Gives the terminal back, stops this program's process group, and takes the terminal again
    /// when the shell lets it continue in the foreground.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn suspend(&mut self) -> io::Result<Suspended> {
        if !has_shell() {
            return Ok(Suspended::NoShell);
        }
        self.leave();
        loop {
            rustix::process::kill_current_process_group(Signal::STOP)?;
            // Continued in the background (`bg`): the terminal is not ours to touch.
            if in_foreground() {
                break;
            }
        }
        self.take_back()?;
        self.continued = true;
        Ok(Suspended::Back)
    }

    /// Takes the terminal again after it was given back, or after the program was stopped by a
    /// signal that cannot be caught. The next frame is a complete one.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.continued) || !in_foreground() {
            return Ok(());
        }
        self.take_back()
    }

    /// Sets every mode again. Raw mode is not left in between: what is typed just then would be
    /// read as lines.
    fn take_back(&mut self) -> io::Result<()> {
        let undo = modes::undo();
        self.send(undo.as_bytes())?;
        self.set_modes()?;
        self.cursor = None;
        // It was taken back with the other modes; whoever wants it shows it again.
        self.progress = None;
        self.redraw();
        let title = std::mem::take(&mut self.title);
        if !title.is_empty() {
            self.set_title(&title)?;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.output.send(bytes, PATIENCE).map(|_| ())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}

/// What became of a wish to be suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspended {
    /// It was, and is back.
    Back,
    /// There is no shell that could bring it back; nothing was done.
    NoShell,
}

/// The terminal's size; 80x24 where it does not know.
pub fn size() -> Rect {
    let known = rustix::termios::tcgetwinsize(super::output::terminal()).ok();
    let (columns, rows) = known.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    if columns == 0 || rows == 0 { Rect::new(0, 0, 80, 24) } else { Rect::new(0, 0, columns, rows) }
}

/// A session leader has no shell above it: once stopped it would stay so.
fn has_shell() -> bool {
    let group = rustix::process::getpgrp();
    rustix::process::getsid(None).is_ok_and(|session| session != group)
}

fn in_foreground() -> bool {
    let owner = rustix::termios::tcgetpgrp(super::output::terminal());
    owner.is_ok_and(|owner| owner == rustix::process::getpgrp())
}

#[cfg(test)]
mod tests;
