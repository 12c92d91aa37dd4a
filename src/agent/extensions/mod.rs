//! What the user and trusted projects add to the agent, loaded from files: skills, prompt templates,
//! hooks, custom tools and MCP servers.
//!
//! Loading is a function of places (which folders there are is the caller's decision; folders of
//! directories that are not trusted never become places) and blocks. [`Extensions`] keeps what was loaded
//! last. What is over a limit or not understood is a problem in its row, never an error of the whole.

pub(crate) mod allowed_tools;
mod builtin;
mod call_title;
pub mod changes;
pub mod custom_tools;
pub mod front_matter;
pub mod hooks;
mod long_text;
pub mod mcp;
pub mod places;
pub mod prompt;
pub mod registry;
pub mod skills;
pub mod templates;
pub mod used_files;
mod walk;
pub mod watched;

pub use registry::{ExtensionOptions, Extensions};

/// Largest file of an extension that is used, in bytes.
pub const MAX_EXTENSION_FILE: u64 = 256 * 1024;
/// Before the names of skills in commands.
pub const SKILL_PREFIX: &str = "skill:";
/// Most extensions of a kind that are loaded.
pub const MAX_EXTENSIONS: usize = 4096;
/// Most custom tools that are used: providers take no more than 128 in all.
pub const MAX_CUSTOM_TOOLS: usize = 100;
