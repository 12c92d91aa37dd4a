//! Reads colours from theme files and reduces them to the colours of a terminal.

use std::collections::BTreeMap;

use ratatui::style::{Color, Modifier, Style};
use tau_tools::user_error::UserError;

/// The number of colours that a terminal shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// 24-bit colour.
    #[default]
    True,
    /// The 256-colour palette of xterm.
    Ansi256,
    /// The 16 colours of the terminal's own theme.
    Ansi16,
    /// No colours, or `NO_COLOR` is set: only bold and underline.
    None,
}

/// The 16 colours by name, in the order of their numbers.
const NAMES: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("white", Color::White),
];

/// The values of the 16 colours on most terminals (xterm's defaults), for finding the nearest.
const SHADES: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (60, 90, 238),
    (205, 0, 205),
    (0, 205, 205),
    (190, 190, 190),
    (110, 110, 110),
    (255, 80, 80),
    (80, 255, 80),
    (255, 255, 80),
    (110, 150, 255),
    (255, 110, 255),
    (80, 255, 255),
    (255, 255, 255),
];

/// The steps of the 6x6x6 cube within the palette of 256.
const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// One of the 16 colours, by number (0-7 normal, 8-15 bright).
pub fn ansi_color(index: u8) -> Color {
    NAMES.get(usize::from(index)).map_or(Color::Reset, |(_, color)| *color)
}

/// Colours named in a theme file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Palette {
    names: BTreeMap<String, Color>,
}

impl Palette {
    /// Names a colour.
    pub fn name(&mut self, name: &str, color: Color) {
        self.names.insert(name.to_owned(), color);
    }

    /// Reads `#rrggbb`, a number 0-255, `default`, or a name of the palette or of the 16. The error names the
    /// accepted forms of a colour, for the user.
    pub fn color(&self, word: &str) -> Result<Color, UserError> {
        if let Some(color) = self.names.get(word) {
            return Ok(*color);
        }
        if let Some(index) = NAMES.iter().position(|(name, _)| *name == word) {
            return Ok(ansi_color(index as u8));
        }
        if word == "default" {
            return Ok(Color::Reset);
        }
        let hex = word.strip_prefix('#').filter(|hex| hex.len() == 6);
        if let Some(rgb) = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
            return Ok(Color::Rgb((rgb >> 16) as u8, (rgb >> 8) as u8, rgb as u8));
        }
        word.parse::<u8>().map(Color::Indexed).map_err(|_| {
            UserError::new(format!(
                "`{word}` is not a color: use #rrggbb, 0-255, default or a name such as red"
            ))
        })
    }

    /// Reads a style: modifiers, a colour, `on` and a background colour, each optional.
    pub fn style(&self, words: &str) -> Result<Style, UserError> {
        let mut style = Style::new();
        let mut words = words.split_whitespace();
        while let Some(word) = words.next() {
            style = match word {
                "bold" => style.add_modifier(Modifier::BOLD),
                "dim" => style.add_modifier(Modifier::DIM),
                "italic" => style.add_modifier(Modifier::ITALIC),
                "underline" => style.add_modifier(Modifier::UNDERLINED),
                "reverse" => style.add_modifier(Modifier::REVERSED),
                "strike" => style.add_modifier(Modifier::CROSSED_OUT),
                "on" => style.bg(self.color(words.next().unwrap_or_default())?),
                color => style.fg(self.color(color)?),
            };
        }
        Ok(style)
    }
}

/// The nearest colour of a terminal with this depth; `None` if it has no colours.
#[allow(clippy::wildcard_enum_match_arm, reason = "named colours exist at every depth")]
pub fn nearest_color(color: Color, depth: ColorDepth) -> Option<Color> {
    match depth {
        ColorDepth::True => Some(color),
        ColorDepth::None => None,
        ColorDepth::Ansi256 => Some(match color {
            Color::Rgb(r, g, b) => Color::Indexed(nearest_256((r, g, b))),
            other => other,
        }),
        ColorDepth::Ansi16 => Some(match color {
            Color::Rgb(r, g, b) => nearest_16((r, g, b)),
            Color::Indexed(index @ 0..=15) => ansi_color(index),
            Color::Indexed(index) => nearest_16(shade(index)),
            other => other,
        }),
    }
}

/// Like [`nearest_color`], for a background. None of the 16 colours is quiet enough behind text, so a terminal
/// with only those gets no background unless the theme names one of the 16.
pub(crate) fn nearest_background(color: Color, depth: ColorDepth) -> Option<Color> {
    match (depth, color) {
        (ColorDepth::Ansi16, Color::Rgb(..) | Color::Indexed(16..)) => None,
        (ColorDepth::Ansi256, Color::Rgb(r, g, b)) => Some(Color::Indexed(nearest_tint((r, g, b)))),
        _ => nearest_color(color, depth),
    }
}

/// The lowest contrast at which text is readable: level AA of WCAG 2.
pub(crate) const READABLE: f64 = 4.5;

/// The contrast ratio of two colours (WCAG 2, from 1 to 21). `None` if one of them depends on the
/// terminal.
pub fn contrast(one: Color, other: Color) -> Option<f64> {
    let (one, other) = (luminance(to_rgb(one)?), luminance(to_rgb(other)?));
    Some((one.max(other) + 0.05) / (one.min(other) + 0.05))
}

/// Black or white, whichever is more readable on a background.
pub(crate) fn readable_on(background: Color, depth: ColorDepth) -> Color {
    let (black, white) = match depth {
        ColorDepth::Ansi16 => (Color::Black, Color::White),
        ColorDepth::True | ColorDepth::Ansi256 | ColorDepth::None => {
            (Color::Indexed(16), Color::Indexed(231))
        }
    };
    let dark = to_rgb(background).is_none_or(|background| luminance(background) < 0.18);
    if dark { white } else { black }
}

/// A colour as written in a theme file.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others have names")]
pub(crate) fn name(color: Color) -> String {
    match color {
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
        Color::Indexed(index) => index.to_string(),
        other => {
            NAMES.iter().find(|(_, named)| *named == other).map_or("default", |(name, _)| *name).to_owned()
        }
    }
}

/// The red, green and blue of a colour; `None` if it depends on the terminal.
#[allow(clippy::wildcard_enum_match_arm, reason = "all others are the terminal's")]
fn to_rgb(color: Color) -> Option<Rgb> {
    match color {
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(index @ 16..) => Some(shade(index)),
        _ => None,
    }
}

/// Relative luminance as in WCAG 2, from 0 to 1.
fn luminance((r, g, b): Rgb) -> f64 {
    let linear = |channel: u8| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

type Rgb = (u8, u8, u8);

/// The distance, weighted by the eye's sensitivity to each component.
fn distance(a: Rgb, b: Rgb) -> u32 {
    let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
    3 * square(a.0, b.0) + 6 * square(a.1, b.1) + 2 * square(a.2, b.2)
}

fn nearest_256(rgb: Rgb) -> u8 {
    let candidates = (16..=255u8).map(|index| (distance(shade(index), rgb), index));
    candidates.min().map_or(16, |(_, index)| index)
}

/// The nearest of the 256 colours for a background: a dark green stays green, although a grey is nearer.
fn nearest_tint(rgb: Rgb) -> u8 {
    let strongest = |(r, g, b): Rgb| [r > g && r > b, g > r && g > b, b > r && b > g];
    let (low, high) = (rgb.0.min(rgb.1).min(rgb.2), rgb.0.max(rgb.1).max(rgb.2));
    let wanted = strongest(rgb);
    if u32::from(high - low) * 4 < u32::from(high) || !wanted.contains(&true) {
        return nearest_256(rgb);
    }
    let tints = (16..=231u8).filter(|index| strongest(shade(*index)) == wanted);
    tints.map(|index| (distance(shade(index), rgb), index)).min().map_or(16, |(_, index)| index)
}

/// The nearest of the 16 colours in hue: pale colours of a theme are meant as colours, so their grey part is
/// removed before the comparison.
fn nearest_16(rgb: Rgb) -> Color {
    let (low, high) = (rgb.0.min(rgb.1).min(rgb.2), rgb.0.max(rgb.1).max(rgb.2));
    let spread = high - low;
    if spread < 40 {
        return ansi_color(match high {
            0..=50 => 0,
            51..=150 => 8,
            151..=215 => 7,
            _ => 15,
        });
    }
    let stretch = |c: u8| (u32::from(c - low) * u32::from(high) / u32::from(spread)) as u8;
    let pure = (stretch(rgb.0), stretch(rgb.1), stretch(rgb.2));
    let coloured = [1u8, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14];
    let near = |index: u8| SHADES.get(usize::from(index)).map_or(u32::MAX, |shade| distance(*shade, pure));
    ansi_color(coloured.into_iter().min_by_key(|index| near(*index)).unwrap_or(7))
}

/// The red, green and blue of a colour of the 256-colour palette.
fn shade(index: u8) -> Rgb {
    match index {
        0..=15 => SHADES.get(usize::from(index)).copied().unwrap_or_default(),
        16..=231 => {
            let cube = usize::from(index - 16);
            let step = |at: usize| STEPS.get(at % 6).copied().unwrap_or_default();
            (step(cube / 36), step(cube / 6), step(cube))
        }
        232..=255 => {
            let level = 8 + 10 * (index - 232);
            (level, level, level)
        }
    }
}
