//! The terminal's answers to queries about itself.

use serde::{Deserialize, Serialize};

use super::background::Background;

/// A terminal's answer to a query about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalAnswer {
    /// Its background (OSC 11).
    Background(Background),
    /// Its capabilities (DA1). It ends a round of queries, as every terminal answers it.
    Attributes { sixel: bool },
    /// Whether it shows pictures of the kitty graphics protocol.
    KittyGraphics(bool),
    /// The size of a cell, in pixels (XTWINOPS 16).
    CellPixels { width: u16, height: u16 },
    /// Its name and version (XTVERSION).
    Version(String),
    /// The position of the cursor, from 0 (CPR).
    CursorAt { column: u16, row: u16 },
}

/// Known facts about the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalFacts {
    /// The background, which the theme `auto` follows.
    pub background: Background,
    /// Support for sixel pictures.
    pub sixel: bool,
    /// Support for pictures of the kitty graphics protocol.
    pub kitty_graphics: bool,
    /// Width and height of a cell in pixels; `None` where unreported.
    pub cell_pixels: Option<(u16, u16)>,
}

impl TerminalFacts {
    /// The facts updated with this answer.
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
