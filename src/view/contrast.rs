//! Finds which foregrounds are drawn on which backgrounds, and their contrast.
//!
//! Checks only colours with a known value: `#rrggbb`, and 16 to 255 of the 256-colour palette. The first 16
//! depend on the terminal. Colours in the output of commands do not belong to a theme.

use std::fmt;

use ratatui::style::{Color, Modifier};

use super::color;
use super::theme::{Theme, ThemeToken};

/// A foreground on a background.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The token that sets the foreground.
    pub token: ThemeToken,
    /// The token that sets the background; `None` for the terminal's own.
    pub on: Option<ThemeToken>,
    pub foreground: Color,
    pub background: Color,
    /// The contrast ratio of WCAG 2, from 1 to 21.
    pub ratio: f64,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.token.name())?;
        if let Some(on) = self.on.filter(|on| *on != self.token) {
            write!(f, " within {}", on.name())?;
        }
        // Rounded down: 4.49 is not 4.5.
        let ratio = (self.ratio * 100.0).floor() / 100.0;
        write!(f, ": {} on {} is {ratio:.2}:1", color::name(self.foreground), color::name(self.background))
    }
}

/// The tokens drawn on changed lines.
const CODE: [ThemeToken; 12] = [
    ThemeToken::Code,
    ThemeToken::Comment,
    ThemeToken::Keyword,
    ThemeToken::String,
    ThemeToken::Number,
    ThemeToken::Type,
    ThemeToken::Function,
    ThemeToken::Constant,
    ThemeToken::Operator,
    ThemeToken::Variable,
    ThemeToken::Punctuation,
    ThemeToken::Attribute,
];

/// The tokens drawn on the selected row of a list.
const ROW: [ThemeToken; 8] = [
    ThemeToken::Text,
    ThemeToken::Muted,
    ThemeToken::Faint,
    ThemeToken::Accent,
    ThemeToken::Error,
    ThemeToken::Warning,
    ThemeToken::Success,
    ThemeToken::Strong,
];

/// Every pair of known colours that can meet in a theme, at its depth.
pub fn pairs(theme: &Theme) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut add = |token, on: Option<ThemeToken>, foreground: Option<Color>, background: Option<Color>| {
        let Some((foreground, background)) = foreground.zip(background) else { return };
        if let Some(ratio) = color::contrast(foreground, background) {
            pairs.push(Pair { token, on, foreground, background, ratio });
        }
    };
    for token in ThemeToken::ALL.iter().copied() {
        let style = theme.style(token);
        let background = style.bg.or(theme.background());
        let on = style.bg.map(|_| token);
        match style.add_modifier.contains(Modifier::REVERSED) {
            true => add(token, on, background, style.fg),
            false => add(token, on, style.fg, background),
        }
    }
    for line in [ThemeToken::DiffAdded, ThemeToken::DiffRemoved] {
        let base = theme.style(line);
        for token in CODE {
            add(token, Some(line), theme.style_within(base, token).fg, base.bg);
        }
    }
    let selected = ThemeToken::OverlaySelected;
    for token in ROW {
        let style = theme.style(token);
        if style.bg.is_none() {
            add(token, Some(selected), style.fg, theme.style(selected).bg);
        }
    }
    pairs
}
