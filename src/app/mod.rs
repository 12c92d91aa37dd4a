//! The pure half of tau: model, message, action, effect, update.
//!
//! ```text
//! (Model, Vec<Effect>) = update(Model, Stamped { at, msg })
//! ```
//!
//! Nothing here reads a clock, a file, the environment or a channel: facts come in as [`Msg`],
//! requests go out as [`Effect`], and both are plain data. Time comes in with the message, so a
//! run is a file of stamped messages and a bug report is a replay. The one exception is the
//! composer's editing state, which is a widget of the text area crate and reads a clock for
//! nothing that is visible (see [`composer`]).

pub mod action;
pub mod ansi;
pub mod approval;
pub mod background;
pub mod blocks;
pub mod boot;
pub mod completion;
pub mod composer;
pub mod connection;
pub mod effect;
pub mod focus;
pub mod fuzzy;
pub mod geometry;
pub mod jobs;
pub mod key;
pub mod keymap;
pub mod line_edit;
pub(crate) mod misdirected;
pub mod model;
pub(crate) mod model_order;
pub mod msg;
pub mod outcome;
pub mod overlays;
pub mod picture;
pub mod printable;
pub(crate) mod pty_input;
pub mod request;
pub mod screen_place;
pub mod screen_settings;
pub mod slash;
pub mod status;
pub mod status_facts;
pub mod status_line;
pub mod terminal_facts;
pub mod time_format;
pub mod token_count;
pub mod transcript;
pub mod undo;
pub mod unfinished;
pub mod update;

pub use effect::Effect;
pub use model::Model;
pub use msg::{Msg, StampedMsg};
pub use update::{boot, screen_place, update};
