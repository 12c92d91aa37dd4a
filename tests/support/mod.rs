//! What tests of several subjects share.

pub mod dice;
pub mod fake;
pub mod harness;
pub mod login;
pub mod processes;
pub mod program;
pub mod screen;
pub mod server;
pub mod session_files;
pub mod time_limit;
pub mod tool_bench;
