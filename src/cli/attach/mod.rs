//! `tau attach`: the whole screen on a session that another process has open, here, on a server or behind ssh.
//!
//! [`link`] is the screen's agent, with its other end at the server; [`requests`] answers the screen's other
//! requests, there or here; [`own_session`] is the process of a session of this machine; [`wire`] defines the
//! messages between both sides. [`ssh`] leads to other machines.

pub(crate) mod link;
mod own_session;
pub(crate) mod reach;
pub(crate) mod requests;
pub(crate) mod running;
pub(crate) mod server;
pub(crate) mod ssh;
pub(crate) mod start;
pub(crate) mod wire;
