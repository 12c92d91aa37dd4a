//! The names of things on the screen ([`ThemeToken`]) and their styles ([`Theme`]).
//!
//! Everything drawn names a token; only this file and `themes/*.toml` know colours. A theme has a set of
//! styles for each number of colours of a terminal ([`Theme::at_depth`]); `source` reads them from a file,
//! and [`super::contrast`] checks that they are readable.

mod source;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ratatui::style::{Color, Style};

use self::source::Looks;
use super::color;
pub use super::color::ColorDepth;
use tau_protocol::model::ThinkingLevel;

macro_rules! tokens {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A thing on the screen, named by its meaning.
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
    /// Less important text.
    Muted = "muted",
    /// Text in the background.
    Faint = "faint",
    Accent = "accent",
    Error = "error",
    Warning = "warning",
    Success = "success",
    /// The bar beside a user message.
    UserBar = "user_bar",
    UserText = "user_text",
    /// The model's thinking.
    Thinking = "thinking",
    Heading = "heading",
    Strong = "strong",
    Emphasis = "emphasis",
    Link = "link",
    CodeInline = "code_inline",
    CodeBorder = "code_border",
    /// The bar beside a quotation.
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
    /// Code of no other kind.
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

    fn from_name(name: &str) -> Option<ThemeToken> {
        ThemeToken::ALL.iter().copied().find(|token| token.name() == name)
    }

    /// True if only the background carries the meaning, so that a terminal without it must swap the colours
    /// instead.
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

/// The built-in themes: name and source.
const BUILTIN: [(&str, &str); 7] = [
    ("dark", include_str!("../../themes/dark.toml")),
    ("light", include_str!("../../themes/light.toml")),
    ("high-contrast", include_str!("../../themes/high-contrast.toml")),
    ("high-contrast-light", include_str!("../../themes/high-contrast-light.toml")),
    ("color-blind", include_str!("../../themes/color-blind.toml")),
    ("color-blind-light", include_str!("../../themes/color-blind-light.toml")),
    ("system", include_str!("../../themes/system.toml")),
];

/// A fault in a theme file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeError {
    /// The number of the line, from 1.
    pub line: usize,
    pub text: String,
}

impl std::fmt::Display for ThemeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

/// A style for each token.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    styles: Vec<Style>,
    depth: ColorDepth,
    looks: Arc<Looks>,
    id: u64,
}

impl Default for Theme {
    /// The dark theme, in true colour.
    fn default() -> Self {
        Theme::builtin("dark").unwrap_or_else(Theme::plain)
    }
}

impl Theme {
    /// A theme without any style.
    pub(crate) fn plain() -> Theme {
        Theme::from_looks(Arc::new(Looks::default()), ColorDepth::True)
    }

    /// The built-in theme with this name.
    pub fn builtin(name: &str) -> Option<Theme> {
        let (_, source) = BUILTIN.iter().find(|(known, _)| *known == name)?;
        Theme::parse(source).ok()
    }

    /// The names of the built-in themes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// Reads a theme file.
    pub fn parse(source: &str) -> Result<Theme, ThemeError> {
        source::read(source).map(|file| file.theme).map_err(|faults| {
            faults.into_iter().next().unwrap_or(ThemeError { line: 1, text: String::new() })
        })
    }

    /// All faults of a theme file, by line: parse errors or, if there are none, text that would be hard to
    /// read.
    pub fn faults(source: &str) -> Vec<ThemeError> {
        let mut faults = match source::read(source) {
            Ok(file) => file.hard_to_read(),
            Err(faults) => faults,
        };
        faults.sort_by_key(|fault| fault.line);
        faults
    }

    /// The theme for a terminal with this colour depth.
    pub fn at_depth(&self, depth: ColorDepth) -> Theme {
        Theme::from_looks(Arc::clone(&self.looks), depth)
    }

    /// The style of a token.
    pub fn style(&self, token: ThemeToken) -> Style {
        self.styles.get(token as usize).copied().unwrap_or_default()
    }

    /// The style of a token inside text of another style: its own colour if that is readable on the
    /// background there, otherwise the colour of the surrounding text.
    pub fn style_within(&self, around: Style, token: ThemeToken) -> Style {
        let own = around.patch(self.style(token));
        let ratio = own.fg.zip(own.bg).and_then(|(fg, bg)| color::contrast(fg, bg));
        if ratio.is_some_and(|ratio| ratio < self.contrast()) { Style { fg: around.fg, ..own } } else { own }
    }

    /// A colour from a command's output, reduced to the terminal's colours.
    pub fn nearest_color(&self, foreign: Color) -> Option<Color> {
        color::nearest_color(foreign, self.depth)
    }

    /// The terminal background that the theme is made for; if there are several, the one that is hardest to
    /// read on.
    pub fn background(&self) -> Option<Color> {
        self.looks.background
    }

    /// The contrast ratio (WCAG 2, from 1 to 21) that the theme guarantees for all text.
    pub fn contrast(&self) -> f64 {
        self.looks.contrast.unwrap_or(color::READABLE)
    }

    /// A cache key for rows drawn with this theme: equal themes have equal keys, in every run.
    pub fn id(&self) -> u64 {
        self.id
    }

    fn from_looks(looks: Arc<Looks>, depth: ColorDepth) -> Theme {
        let styles = looks.at(depth);
        let mut hasher = DefaultHasher::new();
        styles.hash(&mut hasher);
        Theme { id: hasher.finish(), styles, depth, looks }
    }
}
