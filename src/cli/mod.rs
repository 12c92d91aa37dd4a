//! The composition root: arguments and front ends.

pub mod args;
pub mod crash;
pub mod exit;
pub mod log;
pub mod print;
pub mod probe;
pub mod progress;
pub mod prompts;
pub mod signals;
pub mod tui;

/// Runs the program.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
