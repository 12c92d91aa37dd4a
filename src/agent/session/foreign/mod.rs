//! Sessions of other agents: listed beside tau's own, read, and continued in a copy.
//!
//! Nothing here writes to a file of theirs, locks one, or makes one beside it. [`places`] knows where
//! they are, and lists them from the beginning and the end of each file; `claude`, `codex` and `opencode` read
//! one format each into tau's entries, with `draft` and `content`; pi's format is tau's own. `calls` gives
//! the calls of tools that tau has too the names and arguments that they have here.

mod calls;
mod claude;
mod codex;
mod content;
mod draft;
pub(super) mod load;
mod opencode;
pub mod places;
mod scan;
pub mod sniff;
