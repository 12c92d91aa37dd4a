//! What a session changed in files, so that it can be taken back: without git, and without copying
//! the workspace for each command.
//!
//! [`SessionUndo`] is told before and after each call that changes something. The files that a call
//! names are kept exactly; what a command changed is found by comparing the workspace before and
//! after it. All of it is written to a journal beside the session files, from which changes are
//! listed and restored, also when the session has ended.
//!
//! - `state`, `content`, `journal`: what is stored, and how
//! - `entry`, `snapshot`, `scan`, `names`, `scan_order`, `ignore_rules`, `cover`, `git_index`, `git_objects`,
//!   `baseline`: what the workspace holds
//! - `recorder`: before and after a call
//! - `net`, `merge`: what changed in all, and taking a part of it out
//! - `review`, `going_back`, `restore`: listing, deciding, restoring
//! - `quota`: how much is kept
//! - `session`, `prompts`: what belongs to a session
//!
//! Everything here blocks. The engine calls it on a thread of its own.

mod baseline;
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

pub(crate) use prompts::last_prompt;
pub use prompts::{Prompt, prompts};
pub use quota::UndoOptions;
pub use recorder::CallStart;
pub use session::SessionUndo;
