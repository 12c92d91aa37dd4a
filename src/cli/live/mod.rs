//! Live sessions: each can be listed, watched, steered and answered from other processes of the user.
//!
//! The process that has a session open serves it on a private [`socket`] with the routes of `tau serve`, and
//! describes it in a [`record`] that [`registry`] keeps up to date; [`hosting`] is both. A screen does so by
//! [`published`], a process without one by [`off_screen`]. [`host`] is such a process without a terminal, begun by [`start`]; [`commands`] are the
//! clients `tau logs`, `wait`, `stop` and `send`. [`others`] are the sessions of other processes, on which [`own_flags`]
//! have no effect, [`listed`] the
//! rows of the board, [`board_servers`] those of other machines. [`rights`] are kept for whoever opens a session again.
//! [`relay`] is the way from another machine to the sessions here, [`relayed_board`] the board of one.

pub(crate) mod board_servers;
pub(crate) mod commands;
pub(crate) mod host;
pub(crate) mod hosting;
pub(crate) mod kept_screen;
pub(crate) mod listed;
pub(crate) mod off_screen;
pub(crate) mod others;
pub(crate) mod own_flags;
pub(crate) mod published;
pub(crate) mod record;
pub(crate) mod registry;
pub(crate) mod relay;
mod relayed_board;
pub(crate) mod rights;
pub(crate) mod socket;
pub(crate) mod start;
