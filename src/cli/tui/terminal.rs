//! The terminal as an object: the only writer of its output.
//!
//! Frames ([`frames`], [`inline`]), the title, the clipboard and the bell ([`side_channels`]) and questions
//! ([`super::questions`]) go through typed methods here and nowhere else, so no text reaches the
//! terminal as a control sequence. It never reads: that is [`super::input`].

mod frames;
mod inline;
mod kept_pictures;
mod side_channels;
#[cfg(test)]
mod tests;

use std::io;
use std::time::{Duration, Instant};

use ratatui::layout::Rect;
use rustix::process::Signal;
use rustix::termios::{QueueSelector, tcflush};

use super::announce::Announcer;
use super::modes::{self, TerminalMode};
use super::output::{TerminalWriter, is_of_others};
use super::questions::{ClipboardAsk, Questions, TerminalQuestion};
use super::widths::Widths;
pub use crate::process::plain::line as plain;
use tau_app::geometry::{ScreenKind, TerminalUse};

use frames::FullScreen;
pub use frames::{DrawOutcome, FrameProperties};
use inline::InlineScreen;
pub use side_channels::CopyOutcome;

/// A terminal that takes longer than this for a frame skips the next ones.
const TIMEOUT: Duration = Duration::from_millis(40);

/// Whether mouse events go to tau or to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseCapture {
    On,
    Off,
}

impl MouseCapture {
    pub(crate) fn from_setting(wanted: bool) -> Self {
        if wanted { MouseCapture::On } else { MouseCapture::Off }
    }
}

/// The surface of frames.
#[derive(Debug)]
enum Surface {
    Full(Box<FullScreen>),
    Inline(Box<InlineScreen>),
}

impl Surface {
    fn new(kind: ScreenKind) -> Self {
        match kind {
            ScreenKind::Full => Surface::Full(Box::default()),
            ScreenKind::Inline | ScreenKind::Reader => {
                let reflows = inline::reflows(|name| std::env::var(name).ok());
                let region = InlineScreen::new(reflows);
                // For screen readers there are no lists that cover other rows.
                Surface::Inline(Box::new(if kind == ScreenKind::Inline { region.asking() } else { region }))
            }
        }
    }

    /// The modes that are set while it is in use.
    fn mode(&self) -> TerminalMode {
        match self {
            Surface::Full(_) => TerminalMode::Screen,
            Surface::Inline(_) => TerminalMode::Inline,
        }
    }
}

/// The terminal, from [`Tty::enter`] to [`Tty::leave`].
#[derive(Debug)]
pub struct Tty {
    output: TerminalWriter,
    surface: Surface,
    mouse: MouseCapture,
    /// The last title.
    title: String,
    /// Notifications and progress.
    pub announcer: Announcer,
    /// Time of the last progress report; `None` when it is hidden.
    progress: Option<Instant>,
    /// [`Tty::suspend`] returned; the signal that continued the program must still be reported.
    continued: bool,
    /// Another program of the shell has the terminal, which is not written to meanwhile.
    away: bool,
    /// Its width of characters.
    widths: Widths,
    /// The queries sent to the terminal.
    pub(super) questions: Questions,
    /// Bytes of one frame; kept for its capacity.
    scratch: Vec<u8>,
}

impl Tty {
    /// Takes the terminal: raw mode, a screen of that kind, bracketed paste, kitty keyboard flags, focus
    /// reports, the mouse if wanted. It sends no queries, so nothing is awaited. Fails when standard input
    /// or output is not a terminal.
    pub fn enter(kind: ScreenKind, mouse: MouseCapture) -> io::Result<Self> {
        let mut tty = Tty {
            output: TerminalWriter::default(),
            surface: Surface::new(kind),
            mouse,
            title: String::new(),
            announcer: Announcer::default(),
            progress: None,
            continued: false,
            away: false,
            widths: Widths::default(),
            questions: Questions::default(),
            scratch: Vec::with_capacity(16 * 1024),
        };
        if kind != ScreenKind::Full {
            // If the shell's last line is unterminated, this wraps, so that the first row is a new one.
            let line = " ".repeat(usize::from(size().width.saturating_sub(1)));
            tty.send(format!("{line}\r").as_bytes())?;
        }
        tty.set_modes()?;
        Ok(tty)
    }

    fn set_modes(&mut self) -> io::Result<()> {
        modes::enter_raw()?;
        let mut bytes = modes::set(self.surface.mode()).unwrap_or_default().to_owned();
        bytes.push_str(self.mouse_modes());
        self.send(bytes.as_bytes())
    }

    /// The sequence that captures the mouse, or leaves it to the terminal. The shell's screen is scrolled by
    /// the terminal.
    fn mouse_modes(&self) -> &'static str {
        let bytes = match (&self.surface, self.mouse) {
            (Surface::Full(_), MouseCapture::On) => modes::set(TerminalMode::Mouse),
            _ => modes::unset(TerminalMode::Mouse),
        };
        bytes.unwrap_or_default()
    }

    /// Applies the settings of the mouse and of notifications from now on. Fails when the terminal is gone.
    pub(crate) fn use_for(&mut self, terminal_use: TerminalUse) -> io::Result<()> {
        // In the former way; it is shown again if wanted.
        self.show_progress(false)?;
        self.announcer = Announcer::of_terminal(terminal_use);
        self.mouse = MouseCapture::from_setting(terminal_use.mouse);
        self.send(self.mouse_modes().as_bytes())
    }

    /// Gives the terminal back in its former state. Idempotent; dropping does the same.
    pub fn leave(&mut self) {
        if self.output.is_stuck() {
            // A sequence may be incomplete: send the rest if that is quick.
            let _ = self.output.send(b"", TIMEOUT);
            self.output.give_up();
        }
        if let Surface::Inline(region) = &mut self.surface
            && modes::is_set(TerminalMode::Inline)
        {
            let bytes = region.erase();
            let _ = self.send(bytes.as_bytes());
        }
        if self.questions.close() {
            // The shell would treat the answers as typed.
            let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        if let Surface::Full(screen) = &mut self.surface
            && modes::is_set(TerminalMode::Screen)
        {
            let deletions = screen.delete_pictures();
            let _ = self.send(deletions.as_bytes());
        }
        modes::restore();
        self.forget();
    }

    /// Forgets the screen's content, which is unknown now.
    fn forget(&mut self) {
        match &mut self.surface {
            Surface::Full(screen) => screen.forget(),
            Surface::Inline(region) => region.forget(),
        }
    }

    /// Sends the queries that were not sent yet, in one write; the answers come as input. Fails when the
    /// terminal is gone.
    pub(crate) fn ask(&mut self, wants: impl Fn(TerminalQuestion) -> bool) -> io::Result<()> {
        let bytes = self.questions.ask(wants);
        self.send(bytes.as_bytes())
    }

    /// Asks for the terminal's clipboard; the answers come as input. Fails when the terminal is gone.
    pub(crate) fn ask_for_clipboard(&mut self, ask: ClipboardAsk) -> io::Result<()> {
        let bytes = self.questions.ask_for_clipboard(ask);
        self.send(bytes.as_bytes())
    }

    /// Leaves, and prints lines below the prompt. Fails when the terminal is gone.
    pub(crate) fn farewell(mut self, lines: &[String]) -> io::Result<()> {
        self.leave();
        self.away = false;
        let text: String = lines.iter().map(|line| format!("{}\r\n", plain(line))).collect();
        self.send(text.as_bytes())
    }

    /// Gives the terminal back, and stops this program's process group until somebody continues it: takes the terminal
    /// again if the shell does so in the foreground. Fails when the terminal is gone.
    pub fn suspend(&mut self) -> io::Result<SuspendOutcome> {
        if !has_shell() {
            return Ok(SuspendOutcome::NoShell);
        }
        self.leave();
        rustix::process::kill_current_process_group(Signal::STOP)?;
        self.continued = true;
        self.away = is_of_others();
        if self.away {
            return Ok(SuspendOutcome::Away);
        }
        self.take_back()?;
        Ok(SuspendOutcome::Back)
    }

    /// Takes the terminal again after it was given back, or after the program was stopped by a signal that
    /// cannot be caught; in the background, leaves it to the shell. The next frame is a complete one. Returns whether the
    /// terminal is tau's. Fails when the terminal is gone.
    pub fn resume(&mut self) -> io::Result<bool> {
        if std::mem::take(&mut self.continued) {
            return Ok(!self.away);
        }
        self.away = is_of_others();
        if !self.away {
            self.take_back()?;
        }
        Ok(!self.away)
    }

    /// Whether the shell has the terminal, also since just now. What it has written there stays.
    pub(super) fn is_away(&mut self) -> bool {
        self.away |= is_of_others();
        self.away
    }

    /// Takes the terminal again if the shell has given it back without a signal, as to a job that runs; returns whether it
    /// has. Fails when the terminal is gone.
    pub(super) fn come_back(&mut self) -> io::Result<bool> {
        if !self.away || is_of_others() {
            return Ok(false);
        }
        self.continued = false;
        self.resume()
    }

    /// Sets every mode again. Raw mode is not left in between: keys typed just then would be read as lines.
    fn take_back(&mut self) -> io::Result<()> {
        let undo = modes::undo();
        self.send(undo.as_bytes())?;
        self.set_modes()?;
        self.forget();
        // It was reset with the other modes; it is shown again if wanted.
        self.progress = None;
        let title = std::mem::take(&mut self.title);
        if !title.is_empty() {
            self.set_title(&title)?;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() || self.away {
            return Ok(());
        }
        self.output.send(bytes, TIMEOUT).map(|_| ())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The result of a request to suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspendOutcome {
    /// The program was suspended, and is back.
    Back,
    /// The program was suspended, and continues in the background.
    Away,
    /// There is no shell that could continue it; nothing was done.
    NoShell,
}

/// The terminal's size; 80x24 if unknown.
pub fn size() -> Rect {
    let known = rustix::termios::tcgetwinsize(super::output::terminal()).ok();
    let (columns, rows) = known.map_or((0, 0), |size| (size.ws_col, size.ws_row));
    if columns == 0 || rows == 0 { Rect::new(0, 0, 80, 24) } else { Rect::new(0, 0, columns, rows) }
}

/// Stops all programs that share the terminal with tau, until the shell continues them. Without a shell, which
/// nobody could continue them from, it continues those that have stopped.
pub(super) fn stop_group() -> io::Result<()> {
    let signal = if has_shell() { Signal::STOP } else { Signal::CONT };
    Ok(rustix::process::kill_current_process_group(signal)?)
}

/// Whether a shell could continue the program. A session leader has none: once stopped it would stay so.
fn has_shell() -> bool {
    let group = rustix::process::getpgrp();
    rustix::process::getsid(None).is_ok_and(|session| session != group)
}
