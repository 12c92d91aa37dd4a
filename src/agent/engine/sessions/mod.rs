//! Changes of the session: opening, branching, undo.

pub(crate) mod branch;
pub(crate) mod open_session;
pub(crate) mod refusals;
pub(crate) mod session_commands;
pub(crate) mod undo_commands;
