//! The lines that a terminal's screen has shown, as plain text.
//!
//! Lines are added once they have left the screen, so anything a program overwrote (a progress bar, a
//! full-screen display) is missing.

use super::pty::WindowSize;
use super::report::whole_characters;
use crate::vt::{ScreenLine, TerminalScreen, ToCursor};

/// The screen of a command, read in pieces.
#[derive(Debug)]
pub(crate) struct ScreenLines {
    screen: TerminalScreen,
    /// The start of an incomplete character.
    begun: Vec<u8>,
}

impl ScreenLines {
    /// A blank screen.
    pub fn new(window: WindowSize) -> Self {
        ScreenLines { screen: TerminalScreen::new(window.columns, window.rows), begun: Vec::new() }
    }

    /// Resizes the screen.
    pub fn resize(&mut self, window: WindowSize) {
        self.screen.resize(window.columns, window.rows);
    }

    /// Adds the next piece and returns the lines that left the screen.
    pub fn take(&mut self, piece: &[u8]) -> Vec<u8> {
        self.begun.extend_from_slice(piece);
        let whole = whole_characters(&self.begun);
        self.screen.write(&String::from_utf8_lossy(self.begun.get(..whole).unwrap_or_default()));
        self.begun.drain(..whole);
        let mut text = Vec::new();
        for line in self.screen.take_scrolled_off() {
            add(&mut text, &line);
        }
        text
    }

    /// The lines that are still on the screen.
    pub fn rest(&self) -> Vec<u8> {
        let lines = self.screen.lines(ToCursor::Yes);
        let mut text = Vec::new();
        lines.iter().for_each(|line| add(&mut text, line));
        // The last line is the cursor's; nothing has ended it.
        text.pop();
        text
    }
}

fn add(text: &mut Vec<u8>, line: &ScreenLine) {
    text.extend_from_slice(line.text.as_bytes());
    if !line.continues {
        text.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_as_the_screen_showed_them_wherever_the_bytes_are_split() {
        let cases = [
            ("plain\r\n", "plain\n"),
            ("no end", "no end"),
            ("a\r\n\r\n", "a\n\n"),
            ("10%\r20%\r\n", "20%\n"),
            ("a line of 20 columns!more\r\n", "a line of 20 columns!more\n"),
            ("tab\tand \u{e9}\u{1f600}\r\n", "tab\tand \u{e9}\u{1f600}\n"),
            ("one\r\ntwo\r\n\x1b[2A\x1b[Jtrois\r\n", "trois\n"),
            ("a\x1b[?1049hdrawn\x1b[31m\x1b[2J\x1b[?1049lb", "ab"),
            ("\x1b[?1049hkilled in the middle", ""),
            ("1\r\n2\r\n3\r\n4\r\n5\r\n", "1\n2\n3\n4\n5\n"),
            (
                "a line that is longer than the window is wide\r\nx",
                "a line that is longer than the window is wide\nx",
            ),
        ];
        for (text, expected) in cases {
            for size in 1..=text.len() {
                let mut shown = ScreenLines::new(WindowSize { columns: 20, rows: 4 });
                let mut kept = Vec::new();
                for piece in text.as_bytes().chunks(size) {
                    shown.resize(WindowSize { columns: 20, rows: 4 });
                    kept.extend(shown.take(piece));
                }
                kept.extend(shown.rest());
                assert_eq!(String::from_utf8(kept).unwrap(), expected, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn a_line_without_end_is_given_in_parts() {
        let mut shown = ScreenLines::new(WindowSize { columns: 80, rows: 24 });
        let mut kept = Vec::new();
        for _ in 0..100 {
            kept.extend(shown.take(&[b'x'; 10_000]));
        }
        assert!(kept.len() > 900_000, "{}", kept.len());
        kept.extend(shown.rest());
        assert!(kept == vec![b'x'; 1_000_000]);
    }
}
