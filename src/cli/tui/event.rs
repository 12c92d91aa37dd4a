//! Events of the terminal, in terms of `app::key`.

use tau_app::key::{Key, Mouse};
use tau_app::terminal_facts::TerminalAnswer;

/// An event of the terminal.
#[derive(Clone, Debug, PartialEq)]
pub enum TerminalEvent {
    Key(Key),
    Mouse(Mouse),
    /// Pasted text, with `\n` for every kind of line end. Control characters are not removed yet.
    Paste(String),
    /// The window was entered.
    FocusGained,
    /// The window was left.
    FocusLost,
    /// The terminal answered a query about itself.
    Answer(TerminalAnswer),
    /// The terminal answered a query about its clipboard.
    Clipboard(ClipboardAnswer),
    /// Another program of the shell has the terminal; what is typed is for that.
    Taken,
    /// The terminal is closed; no events follow.
    Ended,
}

impl TerminalEvent {
    /// Whether it is a key that types a character.
    pub(super) fn is_letter(&self) -> bool {
        matches!(self, TerminalEvent::Key(key) if key.typed_char().is_some())
    }
}

/// The terminal's answer about its clipboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClipboardAnswer {
    /// Whether it supports content by type (OSC 5522).
    KnowsTypes(bool),
    /// Its text (OSC 52).
    Text(Vec<u8>),
    /// A part of the content of a type (OSC 5522).
    Part { mime_type: String, bytes: Vec<u8> },
    /// All parts have arrived (OSC 5522).
    Done,
    /// It refuses the content, with a word such as `EPERM` (OSC 5522).
    Refused(String),
    /// An answer that is not base64, or too large.
    Unreadable,
    /// It has answered the query after the clipboard's.
    NothingMore,
}
