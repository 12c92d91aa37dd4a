//! The pure half: model, message, action, effect, update.

pub mod ansi;
pub mod blocks;
pub mod printable;
