//! The task that runs the agent: commands in, events out, and the loop between them.
//!
//! Everything here works on one `Agent` struct. The files are layered: each uses only files
//! below it (see ARCHITECTURE.md).

pub mod behavior;
mod branch;
mod call_titles;
mod commands;
pub mod compact;
mod history_paging;
pub mod limits;
mod loop_guard;
mod open_session;
mod outbox;
mod queries;
mod questions;
mod queue;
mod retry;
mod run;
mod session_commands;
mod shell;
pub mod task;
mod tool_calls;
mod turn;
