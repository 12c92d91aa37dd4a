//! The full screen front end.

pub mod input;
pub mod modes;
pub mod output;
pub mod terminal;
