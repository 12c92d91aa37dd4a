//! Colours and weights of terminal text as plain data: SGR, `ESC [ … m` (ECMA-48 §8.3.117).
//!
//! Pure. Concealed text counts as ordinary text.

/// A colour as terminals specify it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SgrColor {
    /// The terminal's default.
    #[default]
    Default,
    /// One of the 16 colours of the terminal's own theme: 0-7 normal, 8-15 bright.
    Named(u8),
    /// One of the 256 colours; here only 16 and above.
    Indexed(u8),
    /// Red, green, blue.
    Rgb(u8, u8, u8),
}

/// The style of a run of text.
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

impl SgrStyle {
    /// Applies a sequence, given the text between `ESC [` and `m`. One with a private mark is not SGR and
    /// changes nothing.
    pub fn apply(&mut self, parameters: &str) {
        let known = |byte: u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
        if !parameters.bytes().all(known) {
            return;
        }
        let number = |code: &str| code.parse::<u16>().unwrap_or(0);
        let mut codes = parameters.split(';');
        while let Some(code) = codes.next() {
            // Colons separate the parts of one parameter: `4:3`, `38:2::1:2:3` (ITU T.416).
            match code.split_once(':') {
                Some(("38", colour)) => set_colour_from_parts(colour, &mut self.foreground),
                Some(("48", colour)) => set_colour_from_parts(colour, &mut self.background),
                Some(("4", shape)) => self.underline = shape != "0",
                Some(_) => {}
                None => match number(code) {
                    38 => set(&mut self.foreground, extended_colour(&mut codes.by_ref().map(number))),
                    48 => set(&mut self.background, extended_colour(&mut codes.by_ref().map(number))),
                    code => self.switch(code),
                },
            }
        }
    }

    fn switch(&mut self, code: u16) {
        match code {
            0 => *self = SgrStyle::default(),
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            4 => self.underline = true,
            7 => self.reverse = true,
            9 => self.strike = true,
            21 | 22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = false,
            27 => self.reverse = false,
            29 => self.strike = false,
            30..=37 | 90..=97 => self.foreground = named_colour(code, 30),
            40..=47 | 100..=107 => self.background = named_colour(code, 40),
            39 => self.foreground = SgrColor::Default,
            49 => self.background = SgrColor::Default,
            _ => {}
        }
    }
}

fn set(colour: &mut SgrColor, value: Option<SgrColor>) {
    if let Some(value) = value {
        *colour = value;
    }
}

/// The colour in `5:n`, `2:r:g:b` or `2:space:r:g:b`.
fn set_colour_from_parts(parts: &str, colour: &mut SgrColor) {
    let mut codes: Vec<u16> = parts.split(':').map(|code| code.parse().unwrap_or(0)).collect();
    if codes.first() == Some(&2) && codes.len() > 4 {
        codes.remove(1);
    }
    set(colour, extended_colour(&mut codes.into_iter()));
}

fn named_colour(code: u16, base: u16) -> SgrColor {
    let index = if code >= base + 60 { code - base - 60 + 8 } else { code - base };
    SgrColor::Named(index as u8 & 15)
}

/// The rest of `38;5;n` or `38;2;r;g;b`.
fn extended_colour(codes: &mut impl Iterator<Item = u16>) -> Option<SgrColor> {
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
