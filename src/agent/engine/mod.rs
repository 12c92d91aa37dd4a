//! The task that runs the agent: commands in, events out, and the loop between them.
//!
//! Everything works on one `Engine` struct. `base`, `gate`, `calls`, `queries` and `sessions` are folders for
//! one subject each. The files are layered, each uses only files in lower layers (`tests/tidy.rs` keeps them
//! free of cycles); from the top down:
//!
//! - `task`: the main loop
//! - `run`: the loop of a run
//! - `turn`, `compact`, `session_commands`, `branch`
//! - `tool_calls`, `open_session`, `retry_wait`, `exchange`: awaiting tools, files, the model
//! - `event_hooks`: the user's hooks at prompts and other moments
//! - `goal_check`: the goal's command, when the model would stop
//! - `attend`: serving commands during a wait
//! - `commands`: commands with immediate effect
//! - `gate`: whether a call may run, and the questions before
//! - `call_task`, `sandbox_gate`: a call being prepared and applied, also a second time
//! - `ask_user`: questions of tools to the user
//! - `call_plan`: the tool of each call, or the reason it cannot run
//! - `call_hooks`: the user's hooks around a call
//! - `delegation`: helpers, their questions and their results; `live_helper`: a helper for other front ends
//! - `side_question`: requests beside the run
//! - `announce`, `history_paging`, `session_usage`, `queries`, `context_usage`: reports
//! - `goal`, `kept_queue`, `open_jobs`: the goal, the queued messages and the background jobs in the session
//! - `state`: the struct
//! - `config`, `behavior`, `helper_role`, `helper_place`, `shell`, and the pure parts: `helper_part`, queues, retries, limits, loop guard

mod accepted_plan;
pub mod agent_handle;
mod announce;
mod ask_user;
mod attend;
mod background_jobs;
pub mod base;
pub mod behavior;
pub mod calls;
mod commands;
mod compact;
pub mod config;
mod delegation;
pub mod event_hooks;
mod exchange;
mod expand;
mod folder_instructions;
mod gate;
mod goal;
mod goal_check;
mod grants;
mod helper_part;
mod helper_place;
pub mod helper_role;
pub mod hooks;
pub mod host;
mod kept_queue;
pub mod live_helper;
mod mode_note;
mod open_jobs;
mod queries;
mod refused_parts;
mod retry_wait;
mod run;
pub(crate) mod sessions;
mod shell;
mod side_question;
mod state;
pub mod task;
pub mod tool_registry;
mod turn;
mod unknown_commands;
mod work_mode;
