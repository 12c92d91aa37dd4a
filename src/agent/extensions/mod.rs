//! Extensions loaded from files of the user and of trusted projects.
//!
//! They are skills, prompt templates, hooks, custom tools, kinds of helpers and MCP servers.
//!
//! Loading is a function of places and blocks. The caller decides on the folders; those of untrusted
//! directories never become places. [`Extensions`] keeps the result of the last load. An extension that
//! exceeds a limit or cannot be parsed has a problem in its row; it never fails the load.

pub(crate) mod allowed_tools;
mod builtin;
pub(crate) mod call_title;
pub mod changes;
pub mod custom_tools;
pub mod front_matter;
pub mod helper_kinds;
pub mod hooks;
mod long_text;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(not(feature = "mcp"))]
#[path = "mcp/absent.rs"]
pub mod mcp;
pub mod packages;
pub mod places;
pub mod prompt;
pub mod registry;
pub mod skills;
pub mod templates;
pub mod used_files;
mod walk;
pub mod watched;

pub use registry::{ExtensionOptions, Extensions};

/// The size limit of an extension's file, in bytes.
pub const MAX_EXTENSION_FILE: u64 = 256 * 1024;
/// The prefix of the names of skills in commands.
pub const SKILL_PREFIX: &str = "skill:";
/// The maximum number of extensions of a kind.
pub const MAX_EXTENSIONS: usize = 4096;
/// The maximum number of kinds of helpers: each has a line in the description of a tool.
pub const MAX_HELPER_KINDS: usize = 32;
/// The maximum number of custom tools: providers accept no more than 128 tools in all.
pub const MAX_CUSTOM_TOOLS: usize = 100;
