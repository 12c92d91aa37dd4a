//! What comes from the terminal, in the terms of `app::key`.

use crate::app::key::{Key, Mouse};

/// Something that came from the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalEvent {
    Key(Key),
    Mouse(Mouse),
    /// Pasted text, with `\n` for every kind of line end. Control characters are still in it.
    Paste(String),
    /// The window was entered.
    FocusGained,
    /// The window was left.
    FocusLost,
    /// An answer of the terminal to a question (OSC, DCS), without its frame: `11;rgb:…`.
    Report(String),
    /// The terminal is closed; nothing follows.
    Ended,
}
