//! Reads theme files.
//!
//! A theme is a TOML file: `[colors]` gives each token a style such as `"bold #7aa2f7 on 236"`, `[palette]`
//! names colours for use in `[colors]`, and `inherits` names the built-in theme whose styles fill the rest.
//! For terminals with 256 or 16 colours, `[palette-256]` and `[palette-16]` redefine the names, and
//! `[colors-256]` and `[colors-16]` the styles of tokens; every other colour is replaced by the nearest one
//! (see [`color`]).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use toml::Spanned;

use super::{ColorDepth, Theme, ThemeError, ThemeToken};
use crate::color::{self, Palette};
use crate::contrast;
use tau_tools::compare::close_matches;

/// A table of a theme file.
type Table = BTreeMap<Spanned<String>, toml::Value>;

/// The contents of a theme file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ThemeFile {
    inherits: Option<Spanned<toml::Value>>,
    background: Option<Spanned<toml::Value>>,
    contrast: Option<Spanned<toml::Value>>,
    palette: Table,
    colors: Table,
    #[serde(rename = "palette-256")]
    palette_256: Table,
    #[serde(rename = "colors-256")]
    colors_256: Table,
    #[serde(rename = "palette-16")]
    palette_16: Table,
    #[serde(rename = "colors-16")]
    colors_16: Table,
}

/// A theme's styles for each number of colours, in the order of [`ThemeToken::ALL`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Looks {
    full: Vec<Style>,
    ansi_256: Vec<Style>,
    ansi_16: Vec<Style>,
    pub background: Option<Color>,
    pub contrast: Option<f64>,
}

impl Looks {
    /// The styles for a terminal with this colour depth.
    pub fn at(&self, depth: ColorDepth) -> Vec<Style> {
        match depth {
            ColorDepth::True => self.full.clone(),
            ColorDepth::Ansi256 => self.ansi_256.clone(),
            ColorDepth::Ansi16 => self.ansi_16.clone(),
            ColorDepth::None => {
                let tokens = ThemeToken::ALL.iter().zip(&self.full);
                tokens.map(|(token, style)| reduce_style(*token, *style, depth)).collect()
            }
        }
    }

    fn at_mut(&mut self, depth: ColorDepth) -> &mut Vec<Style> {
        match depth {
            ColorDepth::Ansi256 => &mut self.ansi_256,
            ColorDepth::Ansi16 => &mut self.ansi_16,
            ColorDepth::True | ColorDepth::None => &mut self.full,
        }
    }
}

/// A theme file that was read.
pub(super) struct ReadTheme<'a> {
    pub theme: Theme,
    source: &'a str,
    /// The places in the source where tokens get their styles.
    places: BTreeMap<usize, usize>,
}

impl ReadTheme<'_> {
    /// Text that would be hard to read because of this file, not one that it inherits from.
    pub(crate) fn hard_to_read(&self) -> Vec<ThemeError> {
        let mut faults = Vec::new();
        for depth in [ColorDepth::True, ColorDepth::Ansi256] {
            let theme = self.theme.at_depth(depth);
            for pair in contrast::pairs(&theme).into_iter().filter(|pair| pair.ratio < theme.contrast()) {
                let place = |token: ThemeToken| self.places.get(&(token as usize));
                let line = |token: ThemeToken| place(token).map(|place| line_of(self.source, *place));
                let line = line(pair.token).or(pair.on.and_then(line)).unwrap_or(1);
                let fault = format!("{pair}; it needs {}:1", theme.contrast());
                let text = match depth {
                    ColorDepth::Ansi256 => format!("{fault} (in 256 colors)"),
                    ColorDepth::True | ColorDepth::Ansi16 | ColorDepth::None => fault,
                };
                faults.push(ThemeError { line, text });
            }
        }
        faults
    }
}

/// Parses a theme file, or returns all its faults.
pub(super) fn read(source: &str) -> Result<ReadTheme<'_>, Vec<ThemeError>> {
    let mut reading = Reading { source, faults: Vec::new(), places: BTreeMap::new() };
    let file: ThemeFile = toml::from_str(source).map_err(|error| {
        let text = match error.message().strip_prefix("unknown field ") {
            Some(rest) => {
                let key = rest.split(", expected").next().unwrap_or_default();
                format!("unknown key {key}: a theme has `inherits`, `background`, [palette] and [colors]")
            }
            None => {
                let why = error.message().lines().next().unwrap_or_default();
                match toml::from_str::<Table>(source) {
                    Ok(_) => why.to_owned(),
                    Err(_) => format!("is not valid TOML ({why}); fix the line"),
                }
            }
        };
        vec![reading.at(error.span().unwrap_or_default(), text)]
    })?;
    let looks = reading.looks(&file);
    if reading.faults.is_empty() {
        let theme = Theme::from_looks(Arc::new(looks), ColorDepth::True);
        Ok(ReadTheme { theme, source, places: reading.places })
    } else {
        reading.faults.sort_by_key(|fault| fault.line);
        Err(reading.faults)
    }
}

/// A theme file that is being read.
struct Reading<'a> {
    source: &'a str,
    faults: Vec<ThemeError>,
    places: BTreeMap<usize, usize>,
}

impl Reading<'_> {
    fn at(&self, span: Range<usize>, text: String) -> ThemeError {
        ThemeError { line: line_of(self.source, span.start), text }
    }

    fn fault(&mut self, span: Range<usize>, text: String) {
        let fault = self.at(span, text);
        self.faults.push(fault);
    }

    fn looks(&mut self, file: &ThemeFile) -> Looks {
        let mut looks = self.base_looks(file.inherits.as_ref());
        let mut palette = Palette::default();
        self.name_colors("palette", &file.palette, &mut palette);
        self.styles("colors", &file.colors, &palette, ColorDepth::True, &mut looks);
        for (depth, palettes, colors, names) in [
            (ColorDepth::Ansi256, &file.palette_256, &file.colors_256, ["palette-256", "colors-256"]),
            (ColorDepth::Ansi16, &file.palette_16, &file.colors_16, ["palette-16", "colors-16"]),
        ] {
            let [palette_name, colors_name] = names;
            let mut palette = palette.clone();
            self.name_colors(palette_name, palettes, &mut palette);
            let known = self.faults.len();
            self.styles("colors", &file.colors, &palette, depth, &mut looks);
            // Faults in [colors] have already been reported.
            self.faults.truncate(known);
            self.styles(colors_name, colors, &palette, depth, &mut looks);
        }
        if let Some(value) = &file.background {
            match palette.color(&word(value.get_ref())) {
                Ok(color) => looks.background = Some(color),
                Err(error) => self.fault(value.span(), format!("background: {error}")),
            }
        }
        if let Some(value) = &file.contrast {
            let number =
                value.get_ref().as_float().or(value.get_ref().as_integer().map(|whole| whole as f64));
            match number.filter(|number| (1.0..=21.0).contains(number)) {
                Some(number) => looks.contrast = Some(number),
                None => self.fault(value.span(), "contrast: this needs a number from 1 to 21".to_owned()),
            }
        }
        looks
    }

    fn base_looks(&mut self, name: Option<&Spanned<toml::Value>>) -> Looks {
        let blank = || vec![Style::new(); ThemeToken::ALL.len()];
        let nothing = || Looks { full: blank(), ansi_256: blank(), ansi_16: blank(), ..Looks::default() };
        let Some(name) = name else { return nothing() };
        if let Some(base) = name.get_ref().as_str().and_then(Theme::builtin) {
            return base.looks.as_ref().clone();
        }
        self.fault(name.span(), format!("inherits: no built-in theme is called {}", name.get_ref()));
        nothing()
    }

    fn name_colors(&mut self, table: &str, entries: &Table, palette: &mut Palette) {
        for (key, value) in entries {
            let name = key.get_ref();
            match palette.color(&word(value)) {
                Ok(color) => palette.name(name, color),
                Err(error) => self.fault(key.span(), format!("{table}.{name}: {error}")),
            }
        }
    }

    fn styles(&mut self, table: &str, entries: &Table, palette: &Palette, depth: ColorDepth, to: &mut Looks) {
        for (key, value) in entries {
            let name = key.get_ref();
            let Some(token) = ThemeToken::from_name(name) else {
                self.fault(key.span(), format!("{table}.{name}: no element of that name; {}", near(name)));
                continue;
            };
            match palette.style(&word(value)) {
                Ok(style) => {
                    self.places.entry(token as usize).or_insert(key.span().start);
                    if let Some(slot) = to.at_mut(depth).get_mut(token as usize) {
                        *slot = reduce_style(token, style, depth);
                    }
                }
                Err(error) => self.fault(key.span(), format!("{table}.{name}: {error}")),
            }
        }
    }
}

/// A style reduced to the colours of a terminal with this depth.
fn reduce_style(token: ThemeToken, style: Style, depth: ColorDepth) -> Style {
    let mut reduced = Style { fg: None, bg: None, underline_color: None, ..style };
    reduced.fg = style.fg.and_then(|fg| color::nearest_color(fg, depth));
    reduced.bg = style.bg.and_then(|bg| color::nearest_background(bg, depth));
    if style.bg.is_some() && reduced.bg.is_none() && token.marks_by_background() {
        return reduced.add_modifier(Modifier::REVERSED);
    }
    let ratio = |style: Style| style.fg.zip(style.bg).and_then(|(fg, bg)| color::contrast(fg, bg));
    let worse = |after: f64| after < color::READABLE && ratio(style).is_none_or(|before| before > after);
    if let (Some(bg), true) = (reduced.bg, ratio(reduced).is_some_and(worse)) {
        reduced.fg = Some(color::readable_on(bg, depth));
    }
    reduced
}

/// The item with a similar name, otherwise the place that lists the names.
fn near(name: &str) -> String {
    let names: Vec<&str> = ThemeToken::ALL.iter().map(|token| token.name()).collect();
    match close_matches(name, &names, 1, 0.7).first() {
        Some(near) => format!("did you mean {near}?"),
        None => "docs/themes.md lists them".to_owned(),
    }
}

/// A value as text; a number is a colour of the 256-colour palette.
fn word(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The number of the line that contains a byte of a text, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte.min(text.len())).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}
