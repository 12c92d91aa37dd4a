//! Undo of a session's file changes, without git and without copying the workspace.
//!
//! [`SessionUndo`] is called before and after each call that changes something. Files named by a call are
//! recorded exactly; changes of a command are found by comparing the workspace before and after it. All of it
//! is written to a journal beside the session files, from which changes are listed and restored, even after
//! the session has ended.
//!
//! - `state`, `content`, `journal`: the stored data and its formats
//! - `entry`, `snapshot`, `scan`, `names`, `scan_order`, `ignore_rules`, `cover`, `git_index`, `git_objects`,
//!   `baseline`: the state of the workspace
//! - `recorder`, `call_start`: before and after a call
//! - `net`, `merge`: the total change, and the removal of a part of it
//! - `review`, `going_back`, `restore`: listing, deciding, restoring
//! - `quota`: the limit of stored data
//! - `session`, `prompts`: data of a session
//!
//! Everything here blocks. The engine calls it on a thread of its own. In a program without the feature `undo`,
//! `absent` takes the place of this module.

mod baseline;
mod call_start;
mod content;
mod cover;
pub mod entry;
pub mod git_index;
mod git_objects;
mod going_back;
mod ignore_rules;
mod journal;
mod merge;
mod names;
mod net;
mod prompts;
mod quota;
mod recorder;
mod restore;
mod review;
pub mod scan;
mod scan_order;
mod session;
pub mod snapshot;
mod state;

pub use call_start::CallStart;
pub(crate) use prompts::last_prompt;
pub use prompts::{Prompt, prompts};
pub use quota::UndoOptions;
pub use session::SessionUndo;

/// The answer to commands in a session whose changes are not being recorded.
pub(crate) const NOT_RECORDED: &str = "this session's changes are not being recorded";
