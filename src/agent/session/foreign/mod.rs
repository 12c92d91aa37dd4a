//! Sessions of other agents: listed beside tau's own, read, and continued in a copy.
//!
//! Nothing here writes to another agent's file, locks one, or creates one beside it. [`places`] locates the
//! files, and lists them from the beginning and the end of each; `claude`, `codex` and `opencode` convert one
//! format each to tau's entries, with `draft` and `content`; pi's format is tau's own. `calls` converts calls
//! of tools that tau also has to tau's names and arguments; `outputs` reads results from files beside a session.

mod calls;
mod claude;
pub(in crate::session) mod claude_folder;
mod codex;
pub(in crate::session) mod codex_names;
mod content;
mod draft;
pub(super) mod load;
mod opencode;
mod outputs;
pub mod places;
mod scan;
pub mod sniff;
