//! The pure half: model, message, action, effect, update.

pub mod key;
