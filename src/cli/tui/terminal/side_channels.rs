//! Output outside frames: the title, the clipboard, notifications and progress.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine;

use super::super::modes::{self, TerminalMode};
use super::{Tty, plain};
use tau_app::effect::TERMINAL_COPY;
use tau_app::geometry::CursorShape;

/// Some terminals hide progress that is not reported again for a while.
const PROGRESS_AGAIN: Duration = Duration::from_secs(5);
/// Titles are cut here; no terminal shows more.
const TITLE_CHARS: usize = 120;

/// The result of a text for the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOutcome {
    /// Sent. Whether the terminal allows it is unknown.
    Sent,
    /// Longer than a terminal accepts; nothing was sent.
    TooLong,
}

impl Tty {
    /// Sets the window's title. Control characters are left out; the former title is restored at the end.
    /// Setting the same title again writes nothing. Fails when the terminal is gone.
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

    /// Passes `text` to the terminal for the clipboard (OSC 52). Inside tmux it is also sent to the terminal
    /// around it: tmux accepts the one, the other or neither, depending on its configuration. Fails when the
    /// terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<CopyOutcome> {
        if text.len() > TERMINAL_COPY {
            return Ok(CopyOutcome::TooLong);
        }
        let coded = base64::engine::general_purpose::STANDARD.encode(text);
        let mut sequence = format!("\x1b]52;c;{coded}\x1b\\");
        if std::env::var_os("TMUX").is_some_and(|value| !value.is_empty()) {
            let _ = write!(sequence, "\x1bPtmux;\x1b\x1b]52;c;{coded}\x07\x1b\\");
        }
        self.send(sequence.as_bytes())?;
        Ok(CopyOutcome::Sent)
    }

    /// Notifies the user, who is looking elsewhere, in the configured way. Fails when the terminal is gone.
    pub(crate) fn notify(&mut self, text: &str) -> io::Result<()> {
        let bytes = self.announcer.notification(text);
        self.send(bytes.as_bytes())
    }

    /// Sets the cursor's shape. Costs nothing if it is unchanged. Fails when the terminal is gone.
    pub(crate) fn shape_cursor(&mut self, shape: CursorShape) -> io::Result<()> {
        let (gone, new) = match shape {
            CursorShape::Terminal => {
                (modes::unset(TerminalMode::BlockCursor), modes::unset(TerminalMode::BarCursor))
            }
            CursorShape::Block => {
                (modes::unset(TerminalMode::BarCursor), modes::set(TerminalMode::BlockCursor))
            }
            CursorShape::Bar => {
                (modes::unset(TerminalMode::BlockCursor), modes::set(TerminalMode::BarCursor))
            }
        };
        self.send(new.or(gone).unwrap_or_default().as_bytes())
    }

    /// Shows or hides progress, if enabled. Costs nothing while nothing changes. Fails when the terminal is
    /// gone.
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
}
