//! Changes of the session: opening, branches, going back.

pub(crate) mod branch;
pub(crate) mod open_session;
pub(crate) mod session_commands;
pub(crate) mod undo_commands;
