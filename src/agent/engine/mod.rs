//! The task that runs the agent: commands in, events out, and the loop between them.
//!
//! Everything works on one `Engine` struct. The files are layered, each uses only files in lower
//! layers (`tests/tidy.rs` keeps them free of circles); from the top down:
//!
//! - `task`: the main loop
//! - `run`: the loop of a run
//! - `turn`, `compact`, `session_commands`, `branch`
//! - `tool_calls`, `open_session`, `retry_wait`, `exchange`: what awaits a tool, a file, the model
//! - `event_hooks`: the user's hooks at prompts and other moments
//! - `attend`: serving commands while something is awaited
//! - `commands`: what takes effect immediately
//! - `gate`: whether a call may run, and what is asked before
//! - `call_task`, `sandbox_gate`: a call being prepared and applied, also a second time
//! - `ask_user`: what tools want of the user
//! - `call_plan`: the tool of each call, or why it cannot run
//! - `call_hooks`: the user's hooks around a call
//! - `announce`, `history_paging`, `session_usage`, `queries`, `context_usage`: what is reported
//! - `state`: the struct
//! - `config`, `behavior`, `shell`, and the pure parts: queues, retries, limits, loop guard

mod accepted_plan;
mod announce;
mod approvals;
mod ask_user;
mod attend;
pub mod behavior;
mod branch;
mod call_hooks;
mod call_order;
mod call_plan;
mod call_task;
mod call_titles;
mod clock;
mod commands;
mod compact;
pub mod config;
mod context_usage;
mod event_hooks;
mod exact_calls;
mod exchange;
mod expand;
mod fitted_pictures;
mod folder_instructions;
mod gate;
mod grants;
mod held_grants;
mod history_cursor;
mod history_paging;
pub mod hooks;
mod loop_guard;
mod meter;
mod mode_note;
mod open_session;
mod outbox;
mod panics;
mod queries;
mod questions;
mod queue;
mod reached_paths;
mod refused_parts;
pub mod retry;
mod retry_wait;
mod rule_list;
mod run;
mod sandbox_gate;
mod session_commands;
mod session_usage;
mod shell;
mod state;
pub mod task;
mod tool_calls;
pub mod tool_registry;
mod turn;
mod undo_commands;
mod undo_place;
mod undo_queries;
mod user_requests;
mod written_calls;
