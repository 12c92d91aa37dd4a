//! The output of a command, line by line, as a terminal would show it.
//!
//! Pure. Carriage returns, backspaces and sequences that move or erase within a line are carried out; colours
//! (SGR) are kept or dropped; all other escape sequences and control characters are dropped, except NUL,
//! which becomes visible. Folds the tokens of `vt/sequence.rs`.

use super::vt::sequence::{self, Parser, Token};

/// How colour sequences are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Kept, for users.
    Keep,
    /// Dropped, for the model.
    Drop,
}

/// The rightmost column that sequences can reach, so that a short sequence cannot cost much memory.
const MAX_COLUMN: usize = 2_000;
/// A longer pen consists of sequences that never reset, so it is replaced by the newest of them.
const MAX_PEN: usize = 128;

/// The text for the model: lines folded, without escape sequences.
pub fn plain(raw: &str) -> String {
    render(raw, Colours::Drop)
}

/// The text with its lines folded, with or without colours.
pub fn render(raw: &str, colours: Colours) -> String {
    let mut lines = FoldedLines::new(raw.len(), colours);
    Parser::default().feed(raw.as_bytes(), &mut |token| lines.take(token));
    lines.finish()
}

struct FoldedLines {
    out: String,
    /// The line so far: characters, each with the index of its pen.
    line: Vec<(char, u32)>,
    column: usize,
    colours: Colours,
    /// Pens by index. The first is the terminal's default.
    pens: Vec<String>,
    pen: u32,
    /// The pen that is active at the end of `out`.
    active: u32,
}

impl FoldedLines {
    fn new(size: usize, colours: Colours) -> Self {
        FoldedLines {
            out: String::with_capacity(size),
            line: Vec::new(),
            column: 0,
            colours,
            pens: vec![String::new()],
            pen: 0,
            active: 0,
        }
    }

    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => self.print(text),
            Token::Control(character) => self.control(character),
            Token::Csi(csi) if csi.intermediates.is_empty() => self.sequence(csi.parameters, csi.last),
            Token::Csi(_) | Token::Escape { .. } | Token::String { .. } => {}
        }
    }

    fn print(&mut self, text: &[u8]) {
        let pen = self.pen;
        match self.column == self.line.len() {
            true if text.is_ascii() => {
                self.line.extend(text.iter().map(|byte| (char::from(*byte), pen)));
                self.column += text.len();
            }
            _ => sequence::text(text).chars().for_each(|character| self.put(character)),
        }
    }

    fn put(&mut self, character: char) {
        while self.line.len() < self.column {
            self.line.push((' ', 0));
        }
        match self.line.get_mut(self.column) {
            Some(cell) => *cell = (character, self.pen),
            None => self.line.push((character, self.pen)),
        }
        self.column += 1;
    }

    fn control(&mut self, character: char) {
        match character {
            '\n' => {
                self.flush();
                self.out.push('\n');
            }
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\t' => self.put('\t'),
            '\0' => self.put('\u{2400}'),
            _ => {}
        }
    }

    fn sequence(&mut self, parameters: &str, last: char) {
        let number = parameters.split(';').next().and_then(|number| number.parse::<usize>().ok());
        let steps = number.unwrap_or(1).max(1);
        match last {
            'm' if self.colours == Colours::Keep => self.colour(parameters),
            'K' => self.erase(number.unwrap_or(0)),
            'C' => self.column = (self.column + steps).min(MAX_COLUMN.max(self.column)),
            'D' => self.column = self.column.saturating_sub(steps),
            'G' => self.column = (steps - 1).min(MAX_COLUMN.max(self.line.len())),
            _ => {}
        }
    }

    fn erase(&mut self, which: usize) {
        match which {
            0 => self.line.truncate(self.column),
            1 => self.line.iter_mut().take(self.column + 1).for_each(|cell| *cell = (' ', 0)),
            2 => self.line.clear(),
            _ => {}
        }
    }

    fn colour(&mut self, parameters: &str) {
        let allowed = |character: char| character.is_ascii_digit() || matches!(character, ';' | ':');
        if !parameters.chars().all(allowed) {
            return;
        }
        if parameters.is_empty() || parameters == "0" {
            self.pen = 0;
            return;
        }
        let before = self.pens.get(self.pen as usize).map(String::as_str).unwrap_or_default();
        let restart = parameters.starts_with("0;") || before.len() > MAX_PEN;
        let pen = format!("{}\x1b[{parameters}m", if restart { "" } else { before });
        // Programs switch between few pens; a short look back keeps the table small.
        let known = self.pens.iter().rposition(|known| *known == pen);
        let index = known.unwrap_or_else(|| {
            self.pens.push(pen);
            self.pens.len() - 1
        });
        self.pen = u32::try_from(index).unwrap_or(0);
    }

    fn flush(&mut self) {
        let end = self.line.len();
        for (character, pen) in self.line.drain(..end) {
            if pen != self.active {
                if self.active != 0 {
                    self.out.push_str("\x1b[0m");
                }
                self.out.push_str(self.pens.get(pen as usize).map(String::as_str).unwrap_or_default());
                self.active = pen;
            }
            self.out.push(character);
        }
        // Every line is self-contained, so that it can be shown without the lines before it.
        if self.active != 0 {
            self.out.push_str("\x1b[0m");
            self.active = 0;
        }
        self.column = 0;
    }

    fn finish(mut self) -> String {
        self.flush();
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_folded_as_a_terminal_does() {
        let cases = [
            ("plain\ntext", "plain\ntext"),
            ("10%\r50%\r100%\ndone", "100%\ndone"),
            ("abcdef\rXY\n", "XYcdef\n"),
            ("abcdef\r\x1b[KXY\n", "XY\n"),
            ("crlf\r\nnext\r\n", "crlf\nnext\n"),
            ("abc\x08\x08X", "aXc"),
            ("a\x1b[3Cb", "a   b"),
            ("abc\x1b[2Dx\x1b[1Gy", "yxc"),
            ("a\x1b[2Kb", " b"),
            ("tab\tkept", "tab\tkept"),
            ("n\0l", "n\u{2400}l"),
            ("bell\x07 del\x7f c1\u{85}", "bell del c1"),
            ("\x1b[31mred\x1b[0m", "red"),
            ("\x1b]0;title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("\x1b(Btext\x1b=", "text"),
            ("\x1bPq...\x1b\\after", "after"),
            ("cut \x1b]0;title\x1b[31moff", "cut off"),
            ("two\x1b[3\nlines", "two\nlines"),
            ("open \x1b]never ended\nnext", "open \nnext"),
            ("\x1b[", ""),
            ("\x1b", ""),
            ("a\x1b[99999999Cb", &format!("a{}b", " ".repeat(MAX_COLUMN - 1))),
        ];
        for (raw, expected) in cases {
            assert_eq!(plain(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn colours_survive_folding() {
        let cases = [
            ("\x1b[31mred\x1b[0m plain", "\x1b[31mred\x1b[0m plain"),
            ("\x1b[1m\x1b[32mok\x1b[m", "\x1b[1m\x1b[32mok\x1b[0m"),
            ("\x1b[31mlong line\r\x1b[32mok\x1b[K\x1b[0m\nx", "\x1b[31m\x1b[32mok\x1b[0m\nx"),
            ("\x1b[31mabc\r\x1b[0mX", "X\x1b[31mbc\x1b[0m"),
            ("\x1b[31ma\nb", "\x1b[31ma\x1b[0m\n\x1b[31mb\x1b[0m"),
            ("\x1b[31mopen", "\x1b[31mopen\x1b[0m"),
            ("\x1b[?25l\x1b[2J\x1b[Hx", "x"),
            ("\x1b[>4;1mx", "x"),
        ];
        for (raw, expected) in cases {
            assert_eq!(render(raw, Colours::Keep), expected, "{raw:?}");
        }
    }
}
