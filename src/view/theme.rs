//! What things are called ([`ThemeToken`]) and how they look ([`Theme`]).
//!
//! Everything drawn names a token; only this file and `themes/*.toml` know colours. A theme is a
//! TOML file: `[colors]` gives each token a style such as `"bold #7aa2f7 on 236"`, `[palette]` names
//! colours for use in `[colors]`, and `inherits` names the built-in theme whose styles fill the rest.
//! Colours the terminal cannot show are replaced when the theme is made ([`Theme::at_depth`]; see
//! [`super::color`]).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use ratatui::style::{Color, Modifier, Style};
use serde::Deserialize;
use toml::Spanned;

use super::color;
pub use super::color::ColorDepth;
use crate::agent::protocol::model::ThinkingLevel;

macro_rules! tokens {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A thing that is drawn, by what it means.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ThemeToken {
            $($(#[$doc])* $variant,)*
        }

        impl ThemeToken {
            /// Every token, in order.
            pub const ALL: &'static [ThemeToken] = &[$(ThemeToken::$variant,)*];

            /// Its name in a theme file.
            pub fn name(self) -> &'static str {
                match self {
                    $(ThemeToken::$variant => $name,)*
                }
            }
        }
    };
}

tokens! {
    Text = "text",
    /// Text of less weight.
    Muted = "muted",
    /// Text that is there when looked for.
    Faint = "faint",
    Accent = "accent",
    Error = "error",
    Warning = "warning",
    Success = "success",
    /// The bar left of what the user said.
    UserBar = "user_bar",
    UserText = "user_text",
    /// What the model thinks before it answers.
    Thinking = "thinking",
    Heading = "heading",
    Strong = "strong",
    Emphasis = "emphasis",
    Link = "link",
    CodeInline = "code_inline",
    CodeBorder = "code_border",
    /// The bar left of a quotation.
    Quote = "quote",
    QuoteText = "quote_text",
    Rule = "rule",
    ListMarker = "list_marker",
    TableBorder = "table_border",
    TableHead = "table_head",
    ToolRunning = "tool_running",
    ToolOk = "tool_ok",
    ToolError = "tool_error",
    ToolTitle = "tool_title",
    ToolBorder = "tool_border",
    DiffAdded = "diff_added",
    DiffRemoved = "diff_removed",
    /// Words that differ within a changed line.
    DiffAddedWord = "diff_added_word",
    DiffRemovedWord = "diff_removed_word",
    DiffLineNumber = "diff_line_number",
    DiffContext = "diff_context",
    ComposerOff = "composer_off",
    ComposerMinimal = "composer_minimal",
    ComposerLow = "composer_low",
    ComposerMedium = "composer_medium",
    ComposerHigh = "composer_high",
    ComposerXhigh = "composer_xhigh",
    ComposerMax = "composer_max",
    /// The composer's border when its text is a shell command.
    ComposerShell = "composer_shell",
    Footer = "footer",
    Selection = "selection",
    MatchMark = "match_mark",
    OverlayBorder = "overlay_border",
    OverlayTitle = "overlay_title",
    OverlaySelected = "overlay_selected",
    Status = "status",
    /// Code that is nothing of what follows.
    Code = "code",
    Comment = "comment",
    Keyword = "keyword",
    String = "string",
    Number = "number",
    Type = "type",
    Function = "function",
    Constant = "constant",
    Operator = "operator",
    Variable = "variable",
    Punctuation = "punctuation",
    Attribute = "attribute",
}

impl ThemeToken {
    /// The composer's border at a thinking level.
    pub fn composer(level: ThinkingLevel) -> ThemeToken {
        match level {
            ThinkingLevel::Off => ThemeToken::ComposerOff,
            ThinkingLevel::Minimal => ThemeToken::ComposerMinimal,
            ThinkingLevel::Low => ThemeToken::ComposerLow,
            ThinkingLevel::Medium => ThemeToken::ComposerMedium,
            ThinkingLevel::High => ThemeToken::ComposerHigh,
            ThinkingLevel::Xhigh => ThemeToken::ComposerXhigh,
            ThinkingLevel::Max => ThemeToken::ComposerMax,
        }
    }

    fn named(name: &str) -> Option<ThemeToken> {
        ThemeToken::ALL.iter().copied().find(|token| token.name() == name)
    }

    /// Whether the background alone carries the meaning, so that a terminal without it has to swap
    /// the colours instead.
    fn marks_by_background(self) -> bool {
        matches!(
            self,
            ThemeToken::Selection
                | ThemeToken::MatchMark
                | ThemeToken::OverlaySelected
                | ThemeToken::DiffAddedWord
                | ThemeToken::DiffRemovedWord
        )
    }
}

/// The themes that come with the program: name and source.
const BUILTIN: [(&str, &str); 4] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("high-contrast", include_str!("../../themes/high-contrast.toml")),
    ("system", include_str!("../../themes/system.toml")),
];

/// What is in a theme file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ThemeFile {
    inherits: Option<Spanned<toml::Value>>,
    palette: BTreeMap<Spanned<String>, toml::Value>,
    colors: BTreeMap<Spanned<String>, toml::Value>,
}

/// What is wrong with a theme file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeError {
    /// From 1.
    pub line: usize,
    pub text: String,
}

impl std::fmt::Display for ThemeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// The line that a byte of a text is on, from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = text.as_bytes().get(..byte.min(text.len())).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}

/// A style for each token.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    styles: Vec<Style>,
    depth: ColorDepth,
    id: u64,
}

impl Default for Theme {
    /// The dark theme, in full colour.
    fn default() -> Self {
        Theme::builtin("dark").unwrap_or_else(|| Theme::made(vec![Style::new(); ThemeToken::ALL.len()]))
    }
}

impl Theme {
    /// The built-in theme of that name.
    pub fn builtin(name: &str) -> Option<Theme> {
        let (_, source) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Theme::parse(source).ok()
    }

    /// Names of the built-in themes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Reads a theme file.
    ///
    /// # Errors
    /// What is wrong with it, and on which line.
    pub fn parse(source: &str) -> Result<Theme, ThemeError> {
        let at = |span: Range<usize>, text: String| ThemeError { line: line_of(source, span.start), text };
        let file: ThemeFile = toml::from_str(source).map_err(|error| {
            let text = match error.message().strip_prefix("unknown field ") {
                Some(rest) => {
                    let key = rest.split(", expected").next().unwrap_or_default();
                    format!("unknown key {key}: a theme has `inherits`, [palette] and [colors]")
                }
                None => error.message().lines().next().unwrap_or_default().to_owned(),
            };
            at(error.span().unwrap_or_default(), text)
        })?;
        let mut styles = match &file.inherits {
            None => vec![Style::new(); ThemeToken::ALL.len()],
            Some(name) => {
                let base = name.get_ref().as_str().and_then(Theme::builtin);
                let unknown = || format!("inherits: no built-in theme is called {}", name.get_ref());
                base.ok_or_else(|| at(name.span(), unknown()))?.styles
            }
        };
        let mut palette = color::Palette::default();
        for (key, value) in &file.palette {
            let name = key.get_ref();
            let parsed = palette.color(&word(value));
            palette.name(name, parsed.map_err(|error| at(key.span(), format!("palette.{name}: {error}")))?);
        }
        for (key, value) in &file.colors {
            let name = key.get_ref();
            let fault = |error: String| at(key.span(), format!("colors.{name}: {error}"));
            let token = ThemeToken::named(name).ok_or_else(|| fault("no element of that name".to_owned()))?;
            let style = palette.style(&word(value)).map_err(fault)?;
            if let Some(slot) = styles.get_mut(token as usize) {
                *slot = style;
            }
        }
        Ok(Theme::made(styles))
    }

    /// The same theme for a terminal that shows fewer colours.
    pub fn at_depth(&self, depth: ColorDepth) -> Theme {
        let reduce = |(token, style): (&ThemeToken, &Style)| {
            let mut reduced = Style { fg: None, bg: None, underline_color: None, ..*style };
            reduced.fg = style.fg.and_then(|fg| color::reduced(fg, depth));
            reduced.bg = style.bg.and_then(|bg| color::reduced_background(bg, depth));
            if style.bg.is_some() && reduced.bg.is_none() && token.marks_by_background() {
                reduced = reduced.add_modifier(Modifier::REVERSED);
            }
            reduced
        };
        let styles = ThemeToken::ALL.iter().zip(&self.styles).map(reduce).collect();
        Theme { depth, ..Theme::made(styles) }
    }

    /// How the thing looks.
    pub fn style(&self, token: ThemeToken) -> Style {
        self.styles.get(token as usize).copied().unwrap_or_default()
    }

    /// A colour of foreign text, as this terminal can show it.
    pub fn shown(&self, foreign: Color) -> Option<Color> {
        color::reduced(foreign, self.depth)
    }

    /// A key for what was drawn with this theme: equal themes have equal keys, at every run.
    pub fn id(&self) -> u64 {
        self.id
    }

    fn made(styles: Vec<Style>) -> Theme {
        let mut hasher = DefaultHasher::new();
        styles.hash(&mut hasher);
        Theme { id: hasher.finish(), styles, depth: ColorDepth::True }
    }
}

/// A value as the text it would be: numbers are colours of the palette of 256.
fn word(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
