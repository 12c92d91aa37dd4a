//! What the terminal says about itself when it is asked.

use serde::{Deserialize, Serialize};

use super::background::Background;

/// An answer of the terminal to a question about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalAnswer {
    /// Its background (OSC 11).
    Background(Background),
    /// What it can do (DA1). It ends a round of questions, as every terminal gives it.
    Attributes { sixel: bool },
    /// Whether it shows pictures of the kitty graphics protocol.
    KittyGraphics(bool),
    /// How large a cell is, in pixels (XTWINOPS 16).
    CellPixels { width: u16, height: u16 },
    /// Its name and version (XTVERSION).
    Version(String),
    /// Where the cursor is, from 0 (CPR).
    CursorAt { column: u16, row: u16 },
}

/// What is known of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalFacts {
    /// The background, which the theme `auto` follows.
    pub background: Background,
    /// It shows sixel pictures.
    pub sixel: bool,
    /// It shows pictures of the kitty graphics protocol.
    pub kitty_graphics: bool,
    /// Width and height of a cell in pixels; `None` where it does not say.
    pub cell_pixels: Option<(u16, u16)>,
}

impl TerminalFacts {
    /// What is known with this answer.
    #[must_use]
    pub fn with(self, answer: &TerminalAnswer) -> Self {
        match *answer {
            TerminalAnswer::Background(background) => TerminalFacts { background, ..self },
            TerminalAnswer::Attributes { sixel } => TerminalFacts { sixel, ..self },
            TerminalAnswer::KittyGraphics(kitty_graphics) => TerminalFacts { kitty_graphics, ..self },
            TerminalAnswer::CellPixels { width, height } => {
                TerminalFacts { cell_pixels: Some((width, height)), ..self }
            }
            TerminalAnswer::Version(_) | TerminalAnswer::CursorAt { .. } => self,
        }
    }
}
