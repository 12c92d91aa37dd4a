//! The composition root: arguments and front ends.
//!
//! [`main`] reads the arguments and hands over to [`compose`], which builds an agent and gives
//! it to one front end: the screen in [`tui`], or [`print`]. Each is a thin fold over the same
//! commands and events. This module is the only one that may know all others.

pub mod args;
pub mod compose;
pub mod crash;
pub mod exit;
pub mod log;
pub mod print;
pub mod probe;
pub mod progress;
pub mod prompts;
pub mod signals;
pub mod tui;

use args::{Args, Terminals};
use exit::Exit;

/// Runs the program; its exit code.
pub fn main() -> std::process::ExitCode {
    run().into()
}

fn run() -> Exit {
    let args = match Args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => return args::refuse(&error),
    };
    if let Some(directory) = &args.cwd
        && let Err(error) = std::env::set_current_dir(directory)
    {
        return fail(Exit::Usage, &format!("--cwd {}: {error}", directory.display()));
    }
    let front = args.front(Terminals::here());
    crash::or_crash(compose::run(args, front))
}

/// Says on standard error why the program ends, and passes on how.
pub fn fail(exit: Exit, reason: &str) -> Exit {
    use std::io::Write;
    for line in reason.lines() {
        // Nobody is left to be told when standard error is closed.
        let _ = writeln!(std::io::stderr(), "tau: {}", tui::terminal::plain(line));
    }
    exit
}
