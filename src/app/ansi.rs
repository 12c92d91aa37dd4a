//! Coloured terminal text as plain data: lines of runs of one style.
//!
//! Of all that a terminal understands only the colour and weight sequences (SGR, `ESC [ … m`,
//! ECMA-48 §8.3.117) are kept, as data. Every other sequence is taken out, and the text between
//! is made safe by [`super::printable`]. Concealed text is shown.

use super::printable::Printable;

/// A colour as terminals name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SgrColor {
    /// The terminal's own.
    #[default]
    Default,
    /// One of the 16 that the terminal's own theme defines: 0-7 normal, 8-15 bright.
    Named(u8),
    /// One of the 256; 16 and above here.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// How a run of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SgrStyle {
    pub foreground: SgrColor,
    pub background: SgrColor,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
    pub strike: bool,
}

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
            Piece::Sgr(parameters) => apply(style, parameters),
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

fn apply(style: &mut SgrStyle, parameters: &str) {
    let known = |byte: u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
    if !parameters.bytes().all(known) {
        return;
    }
    let number = |code: &str| code.parse::<u16>().unwrap_or(0);
    let mut codes = parameters.split(';');
    while let Some(code) = codes.next() {
        // Parts of one parameter are parted by colons: `4:3`, `38:2::1:2:3` (ITU T.416).
        match code.split_once(':') {
            Some(("38", colour)) => parted_colour(colour, &mut style.foreground),
            Some(("48", colour)) => parted_colour(colour, &mut style.background),
            Some(("4", shape)) => style.underline = shape != "0",
            Some(_) => {}
            None => match number(code) {
                38 => set(&mut style.foreground, extended(&mut codes.by_ref().map(number))),
                48 => set(&mut style.background, extended(&mut codes.by_ref().map(number))),
                code => switch(style, code),
            },
        }
    }
}

fn switch(style: &mut SgrStyle, code: u16) {
    match code {
        0 => *style = SgrStyle::default(),
        1 => style.bold = true,
        2 => style.dim = true,
        3 => style.italic = true,
        4 => style.underline = true,
        7 => style.reverse = true,
        9 => style.strike = true,
        21 | 22 => (style.bold, style.dim) = (false, false),
        23 => style.italic = false,
        24 => style.underline = false,
        27 => style.reverse = false,
        29 => style.strike = false,
        30..=37 | 90..=97 => style.foreground = named(code, 30),
        40..=47 | 100..=107 => style.background = named(code, 40),
        39 => style.foreground = SgrColor::Default,
        49 => style.background = SgrColor::Default,
        _ => {}
    }
}

fn set(colour: &mut SgrColor, value: Option<SgrColor>) {
    if let Some(value) = value {
        *colour = value;
    }
}

/// The colour in `5:n`, `2:r:g:b` or `2:space:r:g:b`.
fn parted_colour(parts: &str, colour: &mut SgrColor) {
    let mut codes: Vec<u16> = parts.split(':').map(|code| code.parse().unwrap_or(0)).collect();
    if codes.first() == Some(&2) && codes.len() > 4 {
        codes.remove(1);
    }
    set(colour, extended(&mut codes.into_iter()));
}

fn named(code: u16, base: u16) -> SgrColor {
    let index = if code >= base + 60 { code - base - 60 + 8 } else { code - base };
    SgrColor::Named(index as u8 & 15)
}

/// The rest of `38;5;n` or `38;2;r;g;b`.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<SgrColor> {
    let byte = |code: Option<u16>| code.and_then(|code| u8::try_from(code).ok());
    match codes.next()? {
        5 => match byte(codes.next())? {
            index @ 0..=15 => Some(SgrColor::Named(index)),
            index => Some(SgrColor::Indexed(index)),
        },
        2 => Some(SgrColor::Rgb(byte(codes.next())?, byte(codes.next())?, byte(codes.next())?)),
        _ => None,
    }
}
