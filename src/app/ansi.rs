//! Coloured terminal text as plain data: lines of runs of one style.
//!
//! Of all that a terminal understands only the colour and weight sequences (SGR, `ESC [ … m`,
//! ECMA-48 §8.3.117) are kept, as data. Every other sequence is taken out, and the text between
//! is made safe by [`super::printable`]. Concealed text is shown.

use super::printable::Printable;
use crate::tools::vt::ScreenLine;
pub use crate::tools::vt::sgr::{SgrColor, SgrStyle};

/// Text of one style within a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub text: Printable,
    pub style: SgrStyle,
}

/// A line of terminal text: its runs from left to right, none of them empty.
pub type AnsiLine = Vec<Run>;

/// The lines of `text`. A last line end does not start another line; the style goes on over line
/// ends, as on a terminal. After a lone `\r` the line starts anew.
pub fn lines(text: &str) -> Vec<AnsiLine> {
    let mut style = SgrStyle::default();
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').map(|line| self::line(line, &mut style)).collect()
}

/// A line of a terminal's screen.
pub fn of_screen(line: &ScreenLine) -> AnsiLine {
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

fn line(source: &str, style: &mut SgrStyle) -> AnsiLine {
    let mut pieces: Vec<(String, SgrStyle)> = Vec::new();
    let mut returned = false;
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let (piece, after) = match c {
            '\u{1B}' => sequence(rest),
            '\r' => (Piece::Return, rest.get(1..).unwrap_or_default()),
            _ => {
                let end = rest.find(['\u{1B}', '\r']).unwrap_or(rest.len());
                let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                (Piece::Text(text), after)
            }
        };
        rest = after;
        match piece {
            Piece::Return => returned = true,
            Piece::Sgr(parameters) => style.apply(parameters),
            Piece::Nothing => {}
            Piece::Text(text) => {
                if std::mem::take(&mut returned) {
                    pieces.clear();
                }
                match pieces.last_mut() {
                    Some((last, same)) if same == style => last.push_str(text),
                    _ => pieces.push((text.to_owned(), *style)),
                }
            }
        }
    }
    runs(&pieces)
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
            runs.push(Run { text, style: *style });
        }
    }
    runs
}

enum Piece<'a> {
    Text(&'a str),
    Return,
    Sgr(&'a str),
    Nothing,
}

/// Reads the escape sequence that `text` starts with; gives it and what follows. An unfinished one
/// ends with the line, so that it cannot swallow more.
fn sequence(text: &str) -> (Piece<'_>, &str) {
    let body = text.get(1..).unwrap_or_default();
    match body.chars().next() {
        Some('[') => control(body.get(1..).unwrap_or_default()),
        Some(']' | 'P' | '_' | '^' | 'X') => (Piece::Nothing, after_string(body)),
        // Intermediates (0x20-0x2F), then one final character.
        Some(_) => {
            let end = body.find(|c| !matches!(c, ' '..='/')).unwrap_or(body.len());
            let after = body.get(end..).unwrap_or_default();
            let skipped = after.chars().next().filter(|c| matches!(c, '0'..='~')).map_or(0, char::len_utf8);
            (Piece::Nothing, after.get(skipped..).unwrap_or_default())
        }
        None => (Piece::Nothing, ""),
    }
}

/// A control sequence behind its `ESC [`: parameters 0x30-0x3F, intermediates, a final 0x40-0x7E.
fn control(body: &str) -> (Piece<'_>, &str) {
    let end = body.find(|c| !matches!(c, ' '..='?')).unwrap_or(body.len());
    let (parameters, after) = body.split_at_checked(end).unwrap_or((body, ""));
    match after.chars().next() {
        Some('m') => (Piece::Sgr(parameters), after.get(1..).unwrap_or_default()),
        Some('@'..='~') => (Piece::Nothing, after.get(1..).unwrap_or_default()),
        _ => (Piece::Nothing, after),
    }
}

/// What follows an operating system command, device control or application string: behind BEL or
/// `ESC \`.
fn after_string(body: &str) -> &str {
    match body.find(['\u{7}', '\u{1B}']) {
        Some(at) => {
            let end = body.get(at..).unwrap_or_default();
            end.strip_prefix("\u{1B}\\").or(end.strip_prefix('\u{7}')).unwrap_or(end)
        }
        None => "",
    }
}
