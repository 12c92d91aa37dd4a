//! Lists, dialogs and questions above the transcript, and their keys.

pub mod attempt_changes;
pub mod attempt_list;
pub mod board;
pub mod changes;
pub mod extension_list;
pub mod form;
pub mod help;
pub mod job_list;
pub mod key_list;
pub mod leave;
pub mod list;
pub(crate) mod list_keys;
pub mod mode_question;
pub mod offer;
pub mod overlay;
pub mod picker;
pub mod plan;
pub mod queue_list;
pub mod quiet;
pub mod rule_list;
pub mod settings_list;
pub mod side_question;
pub mod tree;
pub mod trust;
pub mod user_questions;
pub mod worktree_list;
