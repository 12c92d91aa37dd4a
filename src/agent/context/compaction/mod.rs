//! The pure half of compaction: cut point, plan, size, transcript, file operations.
//!
//! `engine::compact` decides when to compact, and sends the request for the summary.

pub(crate) mod cut_point;
pub(crate) mod file_ops;
pub mod plan;
pub mod size;
pub mod transcript;
pub(crate) mod truncate_results;

/// The system prompt of requests for a summary.
pub const SUMMARY_SYSTEM_PROMPT: &str = include_str!("system.md");
