//! The full-screen front end: its loop folds facts, carries out effects, and draws.
//!
//! A single task does all of it; slow work runs in separate tasks and reports by message. A key is drawn at
//! once; the agent's events are drawn at most once per frame. When nothing happens, nothing runs and nothing
//! is written.

mod alarm;
mod announce;
pub(crate) mod clipboard;
pub(crate) mod color_support;
pub mod decode;
mod early;
pub mod editor;
pub mod event;
pub(crate) mod extension_watch;
mod first_start;
mod frame_encoder;
pub mod input;
pub(crate) mod live_screen;
pub(crate) mod measuring;
pub mod modes;
pub mod output;
mod pacing;
mod pictures;
pub(crate) mod questions;
pub mod recording;
pub mod requests;
pub mod shell;
pub mod start;
pub mod terminal;
pub(crate) mod theme_files;
pub(crate) mod widths;
