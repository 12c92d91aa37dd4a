//! What comes from the terminal, in the terms of `app::key`.

use crate::app::key::{Key, Mouse};
use crate::app::terminal_facts::TerminalAnswer;

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
    /// The terminal answered a question about itself.
    Answer(TerminalAnswer),
    /// The terminal is closed; nothing follows.
    Ended,
}
