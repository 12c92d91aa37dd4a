//! The subcommands, one file each.

pub(crate) mod attempts;
pub mod auth;
pub(crate) mod completion_scripts;
pub(crate) mod doctor;
pub mod export;
pub(crate) mod extensions;
pub(crate) mod jobs;
pub(crate) mod login;
pub(crate) mod man_pages;
pub(crate) mod mcp;
pub(crate) mod mcp_login;
pub(crate) mod models;
pub(crate) mod name_completion;
pub(crate) mod packages;
pub(crate) mod permissions;
pub(crate) mod sandbox;
pub(crate) mod session_search;
pub mod table;
pub(crate) mod theme;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod uninstall;
pub(crate) mod update;
pub(crate) mod worktree;
