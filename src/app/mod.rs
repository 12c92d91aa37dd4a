//! The pure half: model, message, action, effect, update.
