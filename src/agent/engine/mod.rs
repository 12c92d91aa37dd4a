//! The task that runs the agent: commands in, events out, and the loop between them.
//!
//! Everything works on one `Engine` struct. The files are layered, each uses only files in lower
//! layers (`tests/tidy.rs` keeps them free of circles); from the top down:
//!
//! - `task`: the main loop
//! - `run`: the loop of a run
//! - `turn`, `compact`, `session_commands`, `branch`
//! - `tool_calls`, `open_session`, `retry_wait`, `exchange`: what awaits a tool, a file, the model
//! - `attend`: serving commands while something is awaited
//! - `commands`: what takes effect immediately
//! - `gate`: whether a call may run, and what is asked before
//! - `announce`, `history_paging`, `session_usage`, `queries`, `context_usage`: what is reported
//! - `state`: the struct
//! - `config`, `behavior`, `shell`, and the pure parts: queues, retries, limits, loop guard

mod announce;
mod approvals;
mod attend;
pub mod behavior;
mod branch;
mod call_titles;
mod call_turns;
mod clock;
mod commands;
mod compact;
pub mod config;
mod context_usage;
mod exchange;
mod gate;
mod history_cursor;
mod history_paging;
pub mod hooks;
mod loop_guard;
mod meter;
mod open_session;
mod outbox;
mod panics;
mod queries;
mod questions;
mod queue;
mod retry;
mod retry_wait;
mod run;
mod sandbox_gate;
mod session_commands;
mod session_usage;
mod shell;
mod state;
pub mod task;
mod tool_calls;
pub(crate) mod tool_registry;
mod turn;
mod undo_commands;
mod undo_place;
mod undo_queries;
