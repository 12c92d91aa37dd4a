//! The plain data that front ends, recordings and tests exchange with the agent.
//!
//! Commands, events, queries, messages and models. Nothing here reads a clock, a file or a
//! channel, and nothing here imports another part of the agent.

pub mod approval;
pub mod attachment;
pub mod attempt;
pub mod call_ending;
pub mod chosen;
pub mod command;
pub mod event;
pub mod extension;
pub mod form;
pub mod goal;
pub mod live_session;
pub mod message;
pub mod mirror;
pub mod model;
pub mod needle;
pub mod outline;
pub mod placeholder;
pub mod plan_limits;
pub mod query;
pub mod rules;
pub mod run;
pub mod screen_settings;
pub mod session_meter;
pub mod session_row;
pub mod status_template;
mod subject;
pub mod title;
pub mod trust;
pub mod undo;
pub mod usage;
pub mod worktree;
