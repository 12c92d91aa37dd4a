//! The screen as a function of the model.

pub mod color;
pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod terminal_text;
pub mod theme;
pub mod wrap;
