//! Pure parts of the engine, and its interfaces to the machine: panics, clock, undo threads.

pub(crate) mod approvals;
pub(crate) mod call_order;
pub mod call_titles;
pub(crate) mod clock;
pub(crate) mod conversation;
pub(crate) mod fitted_pictures;
pub(crate) mod goal_place;
pub(crate) mod history_cursor;
pub(crate) mod job_place;
pub(crate) mod loop_guard;
pub(crate) mod meter;
pub(crate) mod outbox;
pub(crate) mod panics;
pub(crate) mod questions;
pub(crate) mod queue;
pub(crate) mod reached_paths;
pub mod retry;
pub(crate) mod side_place;
pub(crate) mod spending;
pub(crate) mod undo_place;
pub(crate) mod user_requests;
