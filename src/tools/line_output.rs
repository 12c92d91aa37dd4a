//! Output of a command as a terminal would leave it on one line after the other.
//!
//! Pure. Carriage returns, backspaces and the sequences that move or erase within a line are
//! carried out; colours (SGR) are kept or dropped; every other escape sequence and control
//! character is dropped, NUL becomes visible. Sequences: ECMA-48, and xterm's OSC strings.

/// What happens to colour sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// For people.
    Keep,
    /// For the model.
    Drop,
}

/// No column beyond this is reached by moving, so that a short sequence cannot cost memory.
const MAX_COLUMN: usize = 2_000;
/// A pen longer than this is made of sequences that never reset; only the newest counts then.
const MAX_PEN: usize = 128;

/// Text without escapes for the model, lines folded.
pub fn plain(raw: &str) -> String {
    render(raw, Colours::Drop)
}

/// The text, lines folded, with or without its colours.
pub fn render(raw: &str, colours: Colours) -> String {
    let mut screen = LineEditor::new(raw.len(), colours);
    let mut rest = raw;
    while let Some(at) = rest.find(|character: char| character.is_control()) {
        let (text, control) = rest.split_at_checked(at).unwrap_or((rest, ""));
        screen.print(text);
        rest = screen.control(control);
    }
    screen.print(rest);
    screen.finish()
}

struct LineEditor {
    out: String,
    /// The line so far: characters and the index of the pen each was written with.
    line: Vec<(char, u32)>,
    column: usize,
    colours: Colours,
    /// Pens by index. The first is the terminal's default.
    pens: Vec<String>,
    pen: u32,
    /// The pen that is in force at the end of `out`.
    shown: u32,
}

impl LineEditor {
    fn new(size: usize, colours: Colours) -> Self {
        LineEditor {
            out: String::with_capacity(size),
            line: Vec::new(),
            column: 0,
            colours,
            pens: vec![String::new()],
            pen: 0,
            shown: 0,
        }
    }

    fn print(&mut self, text: &str) {
        for character in text.chars() {
            self.put(character);
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

    /// Carries out the control character at the start of `text`; gives what follows it.
    fn control<'a>(&mut self, text: &'a str) -> &'a str {
        let mut characters = text.chars();
        match characters.next() {
            Some('\n') => {
                self.flush();
                self.out.push('\n');
            }
            Some('\r') => self.column = 0,
            Some('\u{8}') => self.column = self.column.saturating_sub(1),
            Some('\t') => self.put('\t'),
            Some('\0') => self.put('\u{2400}'),
            Some('\u{1b}') => return self.escape(characters.as_str()),
            _ => {}
        }
        characters.as_str()
    }

    /// Carries out the sequence behind an ESC; gives what follows it.
    fn escape<'a>(&mut self, text: &'a str) -> &'a str {
        let mut characters = text.chars();
        match characters.next() {
            Some('[') => {
                let (sequence, rest) = control_sequence(characters.as_str());
                self.sequence(sequence);
                rest
            }
            Some(']' | 'P' | 'X' | '^' | '_') => after_string(characters.as_str()),
            Some(' '..='/') => {
                let rest =
                    characters.as_str().trim_start_matches(|character| (' '..='/').contains(&character));
                let mut rest = rest.chars();
                rest.next();
                rest.as_str()
            }
            Some('0'..='~') => characters.as_str(),
            // Not a sequence: the control character or letter behind stands for itself.
            _ => text,
        }
    }

    fn sequence(&mut self, sequence: &str) {
        let mut characters = sequence.chars();
        let last = characters.next_back();
        let parameters = characters.as_str();
        let number = parameters.split(';').next().and_then(|number| number.parse::<usize>().ok());
        let steps = number.unwrap_or(1).max(1);
        match last {
            Some('m') if self.colours == Colours::Keep => self.colour(parameters),
            Some('K') => self.erase(number.unwrap_or(0)),
            Some('C') => self.column = (self.column + steps).min(MAX_COLUMN.max(self.column)),
            Some('D') => self.column = self.column.saturating_sub(steps),
            Some('G') => self.column = (steps - 1).min(MAX_COLUMN.max(self.line.len())),
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
        let afresh = parameters.starts_with("0;") || before.len() > MAX_PEN;
        let pen = format!("{}\x1b[{parameters}m", if afresh { "" } else { before });
        // Programs switch between few pens; looking a little back keeps the table small.
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
            if pen != self.shown {
                if self.shown != 0 {
                    self.out.push_str("\x1b[0m");
                }
                self.out.push_str(self.pens.get(pen as usize).map(String::as_str).unwrap_or_default());
                self.shown = pen;
            }
            self.out.push(character);
        }
        // Every line stands for itself, so that lines may be shown without those before.
        if self.shown != 0 {
            self.out.push_str("\x1b[0m");
            self.shown = 0;
        }
        self.column = 0;
    }

    fn finish(mut self) -> String {
        self.flush();
        self.out
    }
}

/// Parameters and last letter of a control sequence, and what follows it. A sequence that is
/// broken by another control character ends before it.
fn control_sequence(text: &str) -> (&str, &str) {
    let end = text.char_indices().find(|(_, character)| !(' '..='?').contains(character));
    match end {
        Some((at, last @ '@'..='~')) => text.split_at_checked(at + last.len_utf8()).unwrap_or((text, "")),
        Some((at, _)) => ("", text.split_at_checked(at).map_or("", |(_, rest)| rest)),
        None => ("", ""),
    }
}

/// What follows a string that ends with BEL or ESC backslash.
fn after_string(text: &str) -> &str {
    let Some(at) = text.find(['\u{7}', '\u{1b}', '\u{9c}', '\n']) else { return "" };
    let (_, rest) = text.split_at_checked(at).unwrap_or((text, ""));
    // A string that is still open at the line's end was none; the line end is real.
    if rest.starts_with('\n') {
        return rest;
    }
    rest.strip_prefix("\u{1b}\\").unwrap_or_else(|| {
        let mut characters = rest.chars();
        characters.next();
        characters.as_str()
    })
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
    fn colours_survive_folding_for_people() {
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
