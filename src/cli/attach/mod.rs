//! `tau attach`: the whole screen on a session that `tau serve` has open.
//!
//! [`link`] is the agent as the screen knows it, with its other end at the server; [`requests`] answers what
//! the screen asks besides, there or here; [`wire`] is what both sides say to each other.

pub(crate) mod link;
pub(crate) mod requests;
pub(crate) mod running;
pub(crate) mod server;
pub(crate) mod start;
pub(crate) mod wire;
