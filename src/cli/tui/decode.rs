//! Decodes the bytes that a terminal sends into keys, mouse events, pastes and answers. Pure; the bytes may
//! be split anywhere.
//!
//! Sources: xterm's control sequences (ctlseqs) and the kitty keyboard protocol. Where a sequence ends is
//! decided by `tools/vt/sequence`; this module decides whether an ESC begins one or was typed. Unknown
//! sequences are skipped as a whole, so that they never become text. The meaning of numbers in sequences is
//! in [`csi`], [`answers`] and [`clipboard`]; reading the bytes is [`super::input`].

mod answers;
mod clipboard;
mod csi;
#[cfg(test)]
mod tests;

use std::time::Duration;

use super::event::TerminalEvent;
use tau_app::key::{Key, KeyCode, Mods};
use tau_tools::vt::sequence::{self, Csi, Leading, Token};

/// A longer paste is delivered in several parts; in bytes.
const PASTE_PART: usize = 8 << 20;
/// Maximum length of an incomplete sequence, in bytes.
const MAX_LEN: usize = 4096;
const PASTE_END: &[u8] = b"\x1b[201~";
/// Time for which an Esc may be the start of a sequence.
const ESC_PAUSE: Duration = Duration::from_millis(20);
/// Time without input in a paste after which its end may have been lost, with the line or a part of it.
const STALL: Duration = Duration::from_secs(1);
/// The part of an overlong answer that is kept, in bytes: enough to identify it.
const CLIPBOARD_REST: usize = 64;

/// Bytes read but not yet decoded.
#[derive(Debug, Default)]
pub struct InputDecoder {
    pending: Vec<u8>,
    collecting: Collecting,
    /// No input came for a while although a sequence is being collected.
    stalled: bool,
}

/// A sequence that is collected until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Collecting {
    #[default]
    Nothing,
    Paste,
    /// The terminal's clipboard.
    Clipboard,
}

/// The meaning of the first bytes.
enum Step {
    /// An incomplete prefix.
    More,
    /// This many bytes, with this meaning or none.
    Took(usize, Option<TerminalEvent>),
    /// This many bytes, after which a sequence is collected.
    Collect(usize, Collecting),
}

impl InputDecoder {
    /// Decodes bytes and reports their meaning.
    pub fn feed(&mut self, bytes: &[u8], tell: &mut dyn FnMut(TerminalEvent)) {
        if std::mem::take(&mut self.stalled) && is_key(bytes) {
            self.collecting = Collecting::Nothing;
            self.pending.clear();
        }
        let seen = self.pending.len();
        self.pending.extend_from_slice(bytes);
        let mut done = 0;
        loop {
            let rest = self.pending.get(done..).unwrap_or_default();
            // An end can only be in new bytes, or across their start.
            let from = seen.saturating_sub(done + PASTE_END.len());
            let step = match self.collecting {
                Collecting::Nothing => step(rest),
                Collecting::Paste => paste(rest, from),
                Collecting::Clipboard => clipboard_answer(rest, from),
            };
            match step {
                Step::More => break,
                Step::Took(length, said) => {
                    done += length;
                    said.into_iter().for_each(&mut *tell);
                    self.collecting = Collecting::Nothing;
                }
                Step::Collect(length, what) => {
                    done += length;
                    self.collecting = what;
                }
            }
        }
        self.pending.drain(..done.min(self.pending.len()));
        self.limit_pending(tell);
    }

    /// The length of a pause that means something: an Esc may begin a sequence, and the end of a paste may be lost.
    pub fn awaited_pause(&self) -> Option<Duration> {
        match self.collecting {
            Collecting::Nothing => {
                let is_open = matches!(self.pending.as_slice(), [0x1b] | [0x1b, _] | [0x1b, 0x1b, _]);
                is_open.then_some(ESC_PAUSE)
            }
            Collecting::Paste | Collecting::Clipboard => (!self.stalled).then_some(STALL),
        }
    }

    /// Handles such a pause. Bytes that may begin a sequence were typed. Of a paste the part so far is reported; the
    /// rest may still come, but a key that no paste begins with ends it.
    pub fn pause(&mut self, tell: &mut dyn FnMut(TerminalEvent)) {
        if self.collecting != Collecting::Nothing {
            self.stalled = true;
            let is_whole = |keep: &usize| self.pending.ends_with(PASTE_END.get(..*keep).unwrap_or_default());
            let keep = (0..PASTE_END.len()).rev().find(is_whole).unwrap_or_default();
            let cut = self.pending.len() - keep;
            if self.collecting == Collecting::Paste && cut > 0 {
                let part: Vec<u8> = self.pending.drain(..cut).collect();
                tell(TerminalEvent::Paste(unify_line_ends(&part)));
            }
            return;
        }
        if self.awaited_pause().is_none() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        match pending.as_slice() {
            [0x1b, 0x1b, ..] | [0x1b] => {
                tell(TerminalEvent::Key(Key::plain(KeyCode::Esc)));
                self.pending.extend_from_slice(pending.get(1..).unwrap_or_default());
                self.pause(tell);
            }
            [0x1b, typed] => tell(TerminalEvent::Key(Key::new(KeyCode::Char(char::from(*typed)), Mods::ALT))),
            _ => {}
        }
    }

    /// Limits the size of pending bytes.
    fn limit_pending(&mut self, tell: &mut dyn FnMut(TerminalEvent)) {
        let most = match self.collecting {
            Collecting::Nothing => MAX_LEN,
            Collecting::Paste => PASTE_PART,
            Collecting::Clipboard => clipboard::MAX_LEN,
        };
        if self.pending.len() <= most {
            return;
        }
        match self.collecting {
            Collecting::Nothing => self.pending.clear(),
            // The rest is unreadable, and is reported at its end.
            Collecting::Clipboard => {
                self.pending.truncate(CLIPBOARD_REST);
                self.pending.push(b'?');
            }
            Collecting::Paste => self.tell_part(tell),
        }
    }

    /// Reports the received part of a paste, except a possible start of its end marker.
    fn tell_part(&mut self, tell: &mut dyn FnMut(TerminalEvent)) {
        let keep = self.pending.len() - PASTE_END.len();
        let keep = (keep.saturating_sub(3)..=keep).find(|at| is_boundary(&self.pending, *at)).unwrap_or(keep);
        let rest = self.pending.split_off(keep);
        let part = std::mem::replace(&mut self.pending, rest);
        tell(TerminalEvent::Paste(unify_line_ends(&part)));
    }
}

/// Whether bytes that were read at once are Ctrl+C, Ctrl+D or the sequence of a key, and no part of the end of a paste.
fn is_key(bytes: &[u8]) -> bool {
    let is_end = bytes.starts_with(PASTE_END) || PASTE_END.starts_with(bytes);
    matches!(bytes, [0x03 | 0x04]) || bytes.starts_with(b"\x1b[") && !is_end
}

/// Whether a cut before `at` splits neither a character nor a CRLF.
fn is_boundary(bytes: &[u8], at: usize) -> bool {
    let continues = bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    !continues && at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\r')
}

/// The paste at the start of `rest`, if complete.
fn paste(rest: &[u8], from: usize) -> Step {
    let from = from.min(rest.len());
    let end = memchr::memmem::find(rest.get(from..).unwrap_or_default(), PASTE_END);
    let Some(end) = end.map(|end| from + end) else { return Step::More };
    let text = unify_line_ends(rest.get(..end).unwrap_or_default());
    Step::Took(end + PASTE_END.len(), Some(TerminalEvent::Paste(text)))
}

/// The answer about the clipboard at the start of `rest`, if complete.
fn clipboard_answer(rest: &[u8], from: usize) -> Step {
    match clipboard::end(rest, from.min(rest.len())) {
        clipboard::End::More => Step::More,
        clipboard::End::Broken(length) => Step::Took(length, None),
        clipboard::End::At { data, length } => {
            let answer = clipboard::meaning(rest.get(..data).unwrap_or_default());
            Step::Took(length, answer.map(TerminalEvent::Clipboard))
        }
    }
}

/// Unifies the line ends of pastes: terminals send CR, some CRLF.
pub fn unify_line_ends(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n")
}

fn step(bytes: &[u8]) -> Step {
    match bytes {
        [] => Step::More,
        [0x1b, rest @ ..] => escape_sequence(rest),
        [0x00..=0x1f | 0x7f, ..] => key(1, control(bytes.first().copied().unwrap_or_default())),
        _ => character(bytes),
    }
}

fn key(length: usize, key: Key) -> Step {
    Step::Took(length, Some(TerminalEvent::Key(key)))
}

/// A C0 character as the key that sends it.
fn control(byte: u8) -> Key {
    let ctrl = |character: u8| Key::new(KeyCode::Char(char::from(character)), Mods::CTRL);
    match byte {
        0x00 => ctrl(b' '),
        0x09 => Key::plain(KeyCode::Tab),
        0x0d => Key::plain(KeyCode::Enter),
        0x1b => Key::plain(KeyCode::Esc),
        0x7f => Key::plain(KeyCode::Backspace),
        0x01..=0x1a => ctrl(byte - 1 + b'a'),
        // 0x1c to 0x1f are Ctrl with one of `\ ] ^ _`.
        _ => ctrl(byte + 0x40),
    }
}

/// A character in UTF-8. A byte that cannot start a character is skipped.
fn character(bytes: &[u8]) -> Step {
    let length = match bytes.first() {
        Some(0x00..=0x7f) => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        _ => return Step::Took(1, None),
    };
    let whole = bytes.get(..length.min(bytes.len())).unwrap_or_default();
    match std::str::from_utf8(whole) {
        Ok(text) => {
            Step::Took(length, text.chars().next().map(|c| TerminalEvent::Key(Key::plain(KeyCode::Char(c)))))
        }
        Err(error) if error.error_len().is_none() => Step::More,
        Err(_) => Step::Took(1, None),
    }
}

/// Decodes the bytes after an Esc.
fn escape_sequence(rest: &[u8]) -> Step {
    let length = |step: Step| match step {
        Step::Took(length, said) => Step::Took(length + 1, said),
        Step::Collect(length, what) => Step::Collect(length + 1, what),
        Step::More => Step::More,
    };
    match rest {
        [] => Step::More,
        [b'[', ..] => length(control_sequence(rest)),
        [b'O', key @ ..] => length(single_shift(key)),
        // Old terminals send a second Esc before the sequence of a key with Alt.
        [0x1b] | [0x1b, b'[' | b'O'] => Step::More,
        [0x1b, b'[' | b'O', ..] => length(with_alt(escape_sequence(rest.get(1..).unwrap_or_default()))),
        [0x1b, ..] => key(1, Key::plain(KeyCode::Esc)),
        [b']' | b'P' | b'_'] => Step::More,
        [b']', b'0'..=b'9', ..] | [b'P', b'0'..=b'9' | b'>' | b'!', ..] | [b'_', b'G', ..] => {
            length(string(rest))
        }
        _ => length(with_alt(step(rest))),
    }
}

fn with_alt(step: Step) -> Step {
    match step {
        Step::Took(length, Some(TerminalEvent::Key(key))) => {
            Step::Took(length, Some(TerminalEvent::Key(Key::new(key.code, key.mods.with(Mods::ALT)))))
        }
        other => other,
    }
}

/// SS3: one byte, a key of the application keypad. Lengths count from the `O`.
fn single_shift(rest: &[u8]) -> Step {
    let code = match rest.first() {
        None => return Step::More,
        Some(b'M') => Some(KeyCode::Enter),
        Some(0x20..=0x7e) => rest.first().and_then(|byte| csi::letter(*byte)),
        Some(_) => return Step::Took(1, None),
    };
    Step::Took(2, code.map(|code| TerminalEvent::Key(Key::plain(code))))
}

/// CSI. Lengths count from the `[`.
fn control_sequence(rest: &[u8]) -> Step {
    match rest {
        // The old form of the mouse: three bytes after the final one.
        [b'[', b'M', mouse @ ..] => {
            let Some(mouse) = mouse.first_chunk::<3>() else { return Step::More };
            return Step::Took(5, csi::old_mouse(*mouse).map(TerminalEvent::Mouse));
        }
        // The Linux console's F1 to F5.
        [b'[', b'[', key @ ..] => {
            let Some(byte) = key.first() else { return Step::More };
            let code = matches!(byte, b'A'..=b'E').then(|| KeyCode::F(byte - b'A' + 1));
            return Step::Took(3, code.map(|code| TerminalEvent::Key(Key::plain(code))));
        }
        _ => {}
    }
    match sequence::after_escape(rest) {
        Leading::Incomplete => Step::More,
        Leading::Complete(Token::Csi(Csi { parameters: "200", intermediates: "", last: '~' }), length) => {
            Step::Collect(length, Collecting::Paste)
        }
        Leading::Complete(Token::Csi(csi), length) => {
            let answer = answers::from_csi(&csi).map(TerminalEvent::Answer);
            let answer = answer.or_else(|| clipboard::from_csi(&csi).map(TerminalEvent::Clipboard));
            Step::Took(length, answer.or_else(|| csi::meaning(&csi)))
        }
        Leading::Complete(_, length) | Leading::Malformed(length) => Step::Took(length, None),
    }
}

/// OSC, DCS or APC: an answer of the terminal. Lengths count from the letter.
fn string(rest: &[u8]) -> Step {
    if clipboard::begins(rest) {
        return Step::Collect(1, Collecting::Clipboard);
    }
    // No answer contains a key's sequence: otherwise its end was lost, and the key is one.
    let key =
        rest.iter().position(|byte| matches!(byte, 0x00..=0x06 | 0x08 | 0x09 | 0x0b..=0x17 | 0x19 | 0x7f));
    match (sequence::after_escape(rest), key) {
        (Leading::Incomplete, Some(key)) => Step::Took(key, None),
        (Leading::Complete(_, length) | Leading::Malformed(length), Some(key)) if key < length => {
            Step::Took(key, None)
        }
        (Leading::Incomplete, None) => Step::More,
        (Leading::Complete(Token::String { kind, data, .. }, length), _) => {
            Step::Took(length, answers::from_string(kind, data).map(TerminalEvent::Answer))
        }
        (Leading::Complete(_, length) | Leading::Malformed(length), _) => Step::Took(length, None),
    }
}
