//! What comes from the terminal, in the terms of `app::key`.

use tau_app::key::{Key, Mouse};
use tau_app::terminal_facts::TerminalAnswer;

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
    /// The terminal answered a question about its clipboard.
    Clipboard(ClipboardAnswer),
    /// The terminal is closed; nothing follows.
    Ended,
}

/// What the terminal says about its clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipboardAnswer {
    /// Whether it hands out content by type (OSC 5522).
    KnowsTypes(bool),
    /// Its text (OSC 52).
    Text(Vec<u8>),
    /// A part of the content of a type (OSC 5522).
    Part { mime_type: String, bytes: Vec<u8> },
    /// All parts have come (OSC 5522).
    Done,
    /// It does not hand out the content, with a word such as `EPERM` (OSC 5522).
    Refused(String),
    /// An answer that is no base64, or too large.
    Unreadable,
    /// It has answered what was asked after the clipboard.
    NothingMore,
}
