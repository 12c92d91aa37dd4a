//! Leaves out what a full-screen program draws on the alternate screen.
//!
//! Pure, over bytes in any pieces. A terminal gives the old screen back when such a program ends,
//! so none of what was drawn belongs to the output that is kept. The sequences are xterm's
//! private modes 47, 1047 and 1049 (`ESC [ ? 1049 h` and `l`).

use std::borrow::Cow;

/// No sequence that switches screens is longer; what is, is passed on.
const LONGEST: usize = 24;

/// Which screen is shown, and the beginning of a sequence that is not complete yet.
#[derive(Debug, Default)]
pub struct Alternate {
    shown: bool,
    held: Vec<u8>,
}

/// What begins at an ESC.
enum Found {
    /// A switch of so many bytes.
    Switch {
        on: bool,
        length: usize,
    },
    /// Perhaps a switch; the rest of it has not come.
    Unfinished,
    Other,
}

impl Alternate {
    /// The part of the next piece that is on the ordinary screen.
    pub fn outside<'a>(&mut self, piece: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.shown && self.held.is_empty() && memchr::memchr(0x1b, piece).is_none() {
            return Cow::Borrowed(piece);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(piece);
        let mut out = Vec::with_capacity(all.len());
        let mut rest = all.as_slice();
        while let Some(at) = memchr::memchr(0x1b, rest) {
            let (before, from) = rest.split_at(at);
            self.keep(&mut out, before);
            let step = match look(from) {
                Found::Switch { on, length } => {
                    self.shown = on;
                    length
                }
                Found::Unfinished => {
                    self.held = from.to_vec();
                    return Cow::Owned(out);
                }
                Found::Other => {
                    self.keep(&mut out, from.get(..1).unwrap_or_default());
                    1
                }
            };
            rest = from.get(step..).unwrap_or_default();
        }
        self.keep(&mut out, rest);
        Cow::Owned(out)
    }

    fn keep(&self, out: &mut Vec<u8>, bytes: &[u8]) {
        if !self.shown {
            out.extend_from_slice(bytes);
        }
    }
}

fn look(from: &[u8]) -> Found {
    let opening = b"\x1b[?";
    let Some(modes) = from.strip_prefix(opening) else {
        return if opening.starts_with(from) { Found::Unfinished } else { Found::Other };
    };
    let length = modes.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
    let on = match modes.get(length) {
        Some(b'h') => true,
        Some(b'l') => false,
        None if from.len() < LONGEST => return Found::Unfinished,
        _ => return Found::Other,
    };
    let modes = modes.get(..length).unwrap_or_default();
    match modes.split(|byte| *byte == b';').any(|mode| matches!(mode, b"47" | b"1047" | b"1049")) {
        true => Found::Switch { on, length: opening.len() + length + 1 },
        false => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_screen_program_draws_is_left_out_wherever_the_bytes_are_split() {
        let cases = [
            ("plain\n", "plain\n"),
            ("a\x1b[?1049hdrawn\x1b[31m\x1b[?1049lb", "ab"),
            ("\x1b[?25;1049hx\x1b[2J\x1b[?47ly", "y"),
            ("\x1b[31mred\x1b[?25lx", "\x1b[31mred\x1b[?25lx"),
            ("\x1b[?1049hkilled in the middle", ""),
            ("\x1b[?11111111111111111111111111111h", "\x1b[?11111111111111111111111111111h"),
            ("\x1b\x1b[?1049hx\x1b[?1049l!", "\x1b!"),
        ];
        for (text, expected) in cases {
            for size in 1..=text.len() {
                let mut alternate = Alternate::default();
                let kept: Vec<u8> = text
                    .as_bytes()
                    .chunks(size)
                    .flat_map(|piece| alternate.outside(piece).into_owned())
                    .collect();
                assert_eq!(String::from_utf8(kept).unwrap(), expected, "{text:?} by {size}");
            }
        }
    }
}
