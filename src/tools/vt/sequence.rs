//! The tokenizer for terminal streams: text, control characters, sequences and strings.
//!
//! Sources: ECMA-48 (5th edition) for the form of sequences, and the state machine of the VT500 parser by
//! Paul Williams (<https://vt100.net/emu/dec_ansi_parser>) for malformed ones. It decides where a sequence
//! begins and ends, never what it means: that is up to the folds over its tokens ([`super::TerminalScreen`],
//! `tools/line_output`, `app/ansi`, `cli/tui/decode`).
//!
//! Departures from the state machine, all because a stream here may be cut, broken or hostile, and none of
//! its text may be lost:
//!
//! - A control character within a sequence ends the sequence (CAN and SUB silently), instead of being
//!   executed while the sequence continues. A non-ASCII character does the same.
//! - A line feed ends a control string, so that an unclosed one cannot swallow the rest of the output. BEL
//!   ends any control string, as programs expect of xterm for OSC.
//! - The data of device control strings is not parsed, but passed on like that of any string.
//! - C1 controls count only in UTF-8 (`C2 80` to `C2 9F`), and only ST (`C2 9C`) has a meaning: the others
//!   are separate tokens and introduce nothing. A raw byte from `80` to `9F` is part of some character, or
//!   invalid text.

mod scan;
#[cfg(test)]
mod tests;

use scan::{data_length, plain_length, whole_csi};

/// The maximum length of one sequence's parameters and intermediates, in bytes. A longer sequence is ignored
/// up to its final byte.
pub const MAX_SEQUENCE: usize = 1024;
/// The maximum number of bytes kept of one control string's data.
pub const MAX_STRING: usize = 4096;

/// A piece of a terminal stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Text without control characters. Never empty. Text that was fed as `&str` is cut only between
    /// characters; see [`text`].
    Text(&'a [u8]),
    /// A C0 control character other than ESC, DEL, or a C1 control character.
    Control(char),
    /// An escape sequence: intermediates (`0x20` to `0x2F`) and the final character.
    Escape { intermediates: &'a str, last: char },
    /// A control sequence.
    Csi(Csi<'a>),
    /// A control string that was properly terminated.
    String { kind: StringKind, data: &'a [u8], truncated: bool },
}

/// A control sequence, `ESC [ parameters intermediates last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Csi<'a> {
    /// Bytes from `0x30` to `0x3F`: numbers, `;` and `:`, after one of `<=>?` if it is private.
    pub parameters: &'a str,
    /// Bytes from `0x20` to `0x2F`.
    pub intermediates: &'a str,
    /// The final byte, `0x40` to `0x7E`.
    pub last: char,
}

/// The kinds of control strings, by their introducer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StringKind {
    /// Device control string, `ESC P`.
    Dcs,
    /// Start of string, `ESC X`.
    Sos,
    /// Operating system command, `ESC ]`.
    Osc,
    /// Privacy message, `ESC ^`.
    Pm,
    /// Application program command, `ESC _`.
    Apc,
}

/// The text of [`Token::Text`]; empty if it is not UTF-8, which it always is if the stream was fed as
/// `&str`.
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// The state of the parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// After the byte C2 in the ground state: a C1 control or a character.
    Lead,
    Escape,
    EscapeIntermediate,
    /// Directly after `ESC [`.
    CsiEntry,
    CsiParameter,
    CsiIntermediate,
    /// In a malformed control sequence.
    CsiIgnore,
    String(StringKind),
    /// After the byte C2 in a control string.
    StringLead(StringKind),
    /// After an ESC in a control string: ST or a new sequence.
    StringEscape(StringKind),
}

/// The effect of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Only changes the state.
    Next(State),
    /// Belongs to the body of a sequence or string.
    Collect(State),
    /// Ends an escape sequence.
    Escape,
    /// Ends a control sequence.
    Csi,
    /// Ends a control string.
    String(StringKind),
    /// Ends something without meaning.
    Drop,
    /// Drops the input so far and reads this byte again in another state.
    Again(State),
    /// A control character.
    Control,
    /// Text, or the start of text.
    Text,
}

impl State {
    fn step(self, byte: u8) -> Action {
        match self {
            State::Ground => match byte {
                0x1b => Action::Next(State::Escape),
                0xc2 => Action::Next(State::Lead),
                0x00..=0x1f | 0x7f => Action::Control,
                _ => Action::Text,
            },
            State::Lead => match byte {
                0x80..=0x9f => Action::Control,
                _ => Action::Text,
            },
            State::Escape | State::EscapeIntermediate => self.escape(byte),
            State::CsiEntry | State::CsiParameter | State::CsiIntermediate | State::CsiIgnore => {
                self.csi(byte)
            }
            State::String(kind) => match byte {
                0x07 => Action::String(kind),
                0x18 | 0x1a => Action::Drop,
                b'\n' => Action::Again(State::Ground),
                0x1b => Action::Next(State::StringEscape(kind)),
                0xc2 => Action::Next(State::StringLead(kind)),
                _ => Action::Collect(self),
            },
            State::StringLead(kind) => match byte {
                0x9c => Action::String(kind),
                _ => Action::Collect(State::String(kind)),
            },
            State::StringEscape(kind) => match byte {
                b'\\' => Action::String(kind),
                _ => Action::Again(State::Escape),
            },
        }
    }

    fn escape(self, byte: u8) -> Action {
        match byte {
            0x20..=0x2f => Action::Collect(State::EscapeIntermediate),
            b'[' if self == State::Escape => Action::Next(State::CsiEntry),
            b'P' if self == State::Escape => Action::Next(State::String(StringKind::Dcs)),
            b'X' if self == State::Escape => Action::Next(State::String(StringKind::Sos)),
            b']' if self == State::Escape => Action::Next(State::String(StringKind::Osc)),
            b'^' if self == State::Escape => Action::Next(State::String(StringKind::Pm)),
            b'_' if self == State::Escape => Action::Next(State::String(StringKind::Apc)),
            0x30..=0x7e => Action::Escape,
            _ => Action::Again(State::Ground),
        }
    }

    fn csi(self, byte: u8) -> Action {
        match (self, byte) {
            (State::CsiIgnore, 0x20..=0x3f) => Action::Next(State::CsiIgnore),
            (State::CsiIgnore, 0x40..=0x7e) => Action::Drop,
            (_, 0x40..=0x7e) => Action::Csi,
            (_, 0x20..=0x2f) => Action::Collect(State::CsiIntermediate),
            // Private marks come before all parameters, and parameters before intermediates.
            (State::CsiEntry, 0x30..=0x3f) | (State::CsiParameter, 0x30..=0x3b) => {
                Action::Collect(State::CsiParameter)
            }
            (_, 0x30..=0x3f) => Action::Next(State::CsiIgnore),
            _ => Action::Again(State::Ground),
        }
    }

    /// The maximum length of a sequence's body, in bytes.
    fn most(self) -> usize {
        match self {
            State::String(_) | State::StringLead(_) | State::StringEscape(_) => MAX_STRING,
            _ => MAX_SEQUENCE,
        }
    }
}

/// The token that `last` completes. `body` is the input between the introducer and the final byte.
fn token(action: Action, body: &[u8], last: u8, truncated: bool) -> Option<Token<'_>> {
    let (body_text, last) = (text(body), char::from(last));
    match action {
        Action::Escape | Action::Csi if truncated => None,
        Action::Escape => Some(Token::Escape { intermediates: body_text, last }),
        Action::Csi => {
            let at = body_text.find(|c| c < '0').unwrap_or(body_text.len());
            let (parameters, intermediates) = body_text.split_at_checked(at)?;
            Some(Token::Csi(Csi { parameters, intermediates, last }))
        }
        Action::String(kind) => Some(Token::String { kind, data: body, truncated }),
        _ => None,
    }
}

/// A tokenizer that is fed the stream piece by piece. Pieces may be cut anywhere, but text cut within a
/// character arrives in two tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parser {
    state: State,
    /// The body of an incomplete sequence or string.
    body: Vec<u8>,
    truncated: bool,
}

impl Parser {
    /// Reads the next piece of the stream and emits its tokens.
    pub fn feed(&mut self, bytes: &[u8], emit: &mut impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while let Some((byte, after)) = rest.split_first() {
            match self.state {
                State::Ground => match byte {
                    0x00..=0x1a | 0x1c..=0x1f | 0x7f => {
                        emit(Token::Control(char::from(*byte)));
                        rest = after;
                        continue;
                    }
                    0x1b => {
                        if let Some((csi, others)) = whole_csi(after) {
                            emit(Token::Csi(csi));
                            rest = others;
                            continue;
                        }
                    }
                    _ => {
                        let (plain, others) = rest.split_at(plain_length(rest));
                        if !plain.is_empty() {
                            emit(Token::Text(plain));
                            rest = others;
                            continue;
                        }
                    }
                },
                State::String(_) => {
                    let (data, others) = rest.split_at(data_length(rest));
                    if !data.is_empty() {
                        self.collect(data);
                        rest = others;
                        continue;
                    }
                }
                _ => {}
            }
            if self.step(*byte, emit) {
                rest = after;
            }
        }
    }

    /// Reads one byte; false if it must be read again.
    fn step(&mut self, byte: u8, emit: &mut impl FnMut(Token<'_>)) -> bool {
        let action = self.state.step(byte);
        match action {
            Action::Next(state) => {
                // A string keeps its data until it is clear what its ESC or C2 begins.
                if !matches!(state, State::StringEscape(_) | State::StringLead(_)) {
                    self.body.clear();
                }
                self.state = state;
                return true;
            }
            Action::Collect(state) => {
                if matches!(self.state, State::StringLead(_)) {
                    self.collect(&[0xc2]);
                    // The next byte may itself end the string.
                    self.state = state;
                    return false;
                }
                self.state = state;
                self.collect(&[byte]);
                return true;
            }
            Action::Again(state) => {
                self.rest(state);
                return false;
            }
            Action::Text if self.state == State::Lead => {
                self.rest(State::Ground);
                if byte & 0xc0 == 0x80 {
                    emit(Token::Text(&[0xc2, byte]));
                    return true;
                }
                emit(Token::Text(&[0xc2]));
                return false;
            }
            Action::Text => emit(Token::Text(&[byte])),
            Action::Control => emit(Token::Control(char::from(byte))),
            Action::Escape | Action::Csi | Action::String(_) => {
                token(action, &self.body, byte, self.truncated).into_iter().for_each(emit);
            }
            Action::Drop => {}
        }
        self.rest(State::Ground);
        true
    }

    fn rest(&mut self, state: State) {
        self.state = state;
        self.body.clear();
        self.truncated = false;
    }

    fn collect(&mut self, bytes: &[u8]) {
        let room = self.state.most().saturating_sub(self.body.len());
        self.body.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.truncated |= bytes.len() > room;
    }
}

/// The result of reading after an ESC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leading<'a> {
    /// An incomplete sequence.
    Incomplete,
    /// A sequence, and its length in bytes.
    Complete(Token<'a>, usize),
    /// The number of bytes of a malformed or cancelled sequence.
    Malformed(usize),
}

/// Reads the sequence or control string whose ESC is directly before `bytes`. For readers with a buffer of
/// their own, to which an ESC may mean something else. Lengths exclude the ESC.
pub fn after_escape(bytes: &[u8]) -> Leading<'_> {
    let mut state = State::Escape;
    let (mut start, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let action = state.step(*byte);
        match action {
            Action::Next(next) => {
                let introduces = matches!(next, State::CsiEntry | State::String(_));
                start = if introduces { at + 1 } else { start };
                state = next;
            }
            Action::Collect(next) => {
                // The byte after a C2 in data is read again: it may itself end the string.
                at -= usize::from(matches!(state, State::StringLead(_)));
                state = next;
            }
            Action::Escape | Action::Csi | Action::String(_) => {
                // The terminator of a string has one byte or two.
                let two = matches!(state, State::StringEscape(_) | State::StringLead(_));
                let body = bytes.get(start..at - usize::from(two)).unwrap_or_default();
                let whole = token(action, body, *byte, false).filter(|_| body.len() <= state.most());
                return whole.map_or(Leading::Malformed(at + 1), |token| Leading::Complete(token, at + 1));
            }
            Action::Again(_) => {
                let from = if matches!(state, State::StringEscape(_)) { at - 1 } else { at };
                return Leading::Malformed(from);
            }
            Action::Drop | Action::Control | Action::Text => return Leading::Malformed(at + 1),
        }
        at += 1;
    }
    Leading::Incomplete
}
