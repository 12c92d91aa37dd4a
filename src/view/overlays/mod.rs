//! Drawing of lists, dialogs and questions.

mod attempt_changes;
mod attempt_list;
pub(crate) mod board;
pub(crate) mod changes;
pub(crate) mod dialog;
pub(crate) mod extensions;
pub(crate) mod form;
pub mod help;
pub(crate) mod job_list;
mod key_list;
pub(crate) mod list;
pub(crate) mod mode_question;
pub(crate) mod offer;
pub(crate) mod overlay;
pub mod picker;
pub(crate) mod plan;
pub(crate) mod rule_list;
pub(crate) mod settings;
mod side_question;
mod sign_in;
pub mod tree;
pub mod trust;
pub(crate) mod user_questions;
mod worktree_list;
