//! Coloured terminal text as plain data: lines of runs of one style.
//!
//! Only the sequences for colour and weight (SGR, `ESC [ … m`, ECMA-48 §8.3.117) are kept, as data. All other
//! sequences are removed, and the text between them is made safe by [`super::printable`]. Concealed text is
//! shown. A fold over the tokens of `tools/vt/sequence`.

use super::printable::Printable;
use tau_tools::vt::ScreenLine;
use tau_tools::vt::sequence::{self, Csi, Parser, Token};
pub use tau_tools::vt::sgr::{SgrColor, SgrStyle};

/// Text of one style within a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnsiRun {
    pub text: Printable,
    pub style: SgrStyle,
}

/// A line of terminal text: its runs from left to right, none of them empty.
pub type AnsiLine = Vec<AnsiRun>;

/// The lines of `text`. A trailing line end does not start another line. The style continues
/// across line ends, as on a terminal. Text after a lone `\r` replaces the line so far.
pub fn lines(text: &str) -> Vec<AnsiLine> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    let mut lines = StyledLines::default();
    Parser::default().feed(text.as_bytes(), &mut |token| lines.take(token));
    lines.end_line();
    lines.finished
}

/// A line of a terminal's screen.
pub(crate) fn of_screen(line: &ScreenLine) -> AnsiLine {
    let mut rest = line.text.as_str();
    let mut pieces: Vec<(String, SgrStyle)> = Vec::with_capacity(line.runs.len() + 1);
    for (length, style) in &line.runs {
        let (piece, after) = rest.split_at_checked(*length).unwrap_or((rest, ""));
        pieces.push((piece.to_owned(), *style));
        rest = after;
    }
    pieces.push((rest.to_owned(), SgrStyle::default()));
    runs(&pieces)
}

/// The text without any sequence, made safe.
pub fn plain(text: &str) -> Printable {
    let mut all = String::new();
    for (index, line) in lines(text).into_iter().enumerate() {
        if index > 0 {
            all.push('\n');
        }
        line.iter().for_each(|run| all.push_str(&run.text));
    }
    Printable::new(&all)
}

/// Lines on their way from tokens to runs.
#[derive(Default)]
struct StyledLines {
    finished: Vec<AnsiLine>,
    /// The current line.
    pieces: Vec<(String, SgrStyle)>,
    style: SgrStyle,
    returned: bool,
}

impl StyledLines {
    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Text(text) => self.print(sequence::text(text)),
            Token::Control('\n') => self.end_line(),
            Token::Control('\r') => self.returned = true,
            // Other control characters become visible with the text.
            Token::Control(character) => self.print(character.encode_utf8(&mut [0; 4])),
            Token::Csi(Csi { parameters, intermediates: "", last: 'm' }) => self.style.apply(parameters),
            Token::Csi(_) | Token::Escape { .. } | Token::String { .. } => {}
        }
    }

    fn print(&mut self, text: &str) {
        if std::mem::take(&mut self.returned) {
            self.pieces.clear();
        }
        match self.pieces.last_mut() {
            Some((last, style)) if *style == self.style => last.push_str(text),
            _ => self.pieces.push((text.to_owned(), self.style)),
        }
    }

    fn end_line(&mut self) {
        self.finished.push(runs(&self.pieces));
        self.pieces.clear();
        self.returned = false;
    }
}

/// Makes the pieces safe as one text, so that tab stops and clusters that cross them come out right,
/// and cuts the result where the pieces were cut.
fn runs(pieces: &[(String, SgrStyle)]) -> AnsiLine {
    let mut whole = Printable::default();
    let mut runs = Vec::with_capacity(pieces.len());
    for (text, style) in pieces {
        let before = whole.len();
        whole.append(text);
        let text = Printable::new(whole.get(before..).unwrap_or_default());
        if !text.is_empty() {
            runs.push(AnsiRun { text, style: *style });
        }
    }
    runs
}
