//! The composition root: arguments and front ends.
//!
//! [`main`] reads the arguments and hands over to [`compose`], which builds an agent and gives
//! it to one front end: the screen in [`tui`], or one of those that [`headless`] starts. Each is a
//! thin fold over the same commands and events. This module is the only one that may know all others.

pub mod args;
pub mod auth;
pub mod compose;
pub mod crash;
pub mod environment;
pub mod exit;
pub mod export;
pub mod headless;
pub mod json;
pub mod keycheck;
pub mod local_servers;
pub mod log;
pub mod man_pages;
pub mod models;
pub mod print;
pub mod progress;
pub mod prompts;
pub mod protocol;
pub mod reload;
pub mod rpc;
pub mod secret_prompt;
mod sessions;
pub mod signals;
pub mod tui;

use crate::agent::settings::Paths;
use args::{Args, Command, Front, Terminals};
use compose::{BadFile, Setup};
use exit::Exit;

/// Runs the program; its exit code.
pub fn main() -> std::process::ExitCode {
    run().into()
}

fn run() -> Exit {
    signals::survive_file_size_limit();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    match Command::read(&arguments) {
        Ok(None) => {}
        Ok(Some(Command::Models(args))) => return crash::or_crash(models::run(&args)),
        Ok(Some(Command::Export(args))) => return crash::or_crash(export::run(&args)),
        Ok(Some(Command::Auth(args))) => return crash::or_crash(auth::run(args)),
        Ok(Some(Command::Completions(args))) => return say(&man_pages::completions(args.shell)),
        Ok(Some(Command::Man(_))) => return say(&man_pages::man()),
        Err(error) => return args::refuse(&error),
    }
    let args = match Args::read(arguments) {
        Ok(args) => args,
        Err(error) => return args::refuse(&error),
    };
    if let Err(error) = start_log(&args) {
        return fail(Exit::Config, &error);
    }
    crash::or_crash(match args.front(Terminals::here()) {
        _ if args.replay.is_some() => replay(args),
        Front::Screen => screen(args),
        Front::Print => headless::print(args),
        Front::Json => headless::json(args),
        Front::Rpc => headless::rpc(args),
    })
}

/// Starts the log when it is asked for.
fn start_log(args: &Args) -> Result<(), String> {
    let Some(filter) = log::wanted(std::env::var("TAU_LOG").ok().as_deref(), args.verbose) else {
        return Ok(());
    };
    let home = std::env::var_os("TAU_HOME");
    let paths = Paths::discover(home.as_deref().map(std::path::Path::new))?;
    log::start(&paths.state, &filter).map(drop)
}

fn screen(args: Args) -> Exit {
    match Setup::read(args, BadFile::Tell) {
        Ok(setup) => tui::start::run(setup.or_demo()),
        Err(refusal) => fail(refusal.exit, &refusal.text),
    }
}

/// Folds a recording and prints its last frame.
fn replay(args: Args) -> Exit {
    let Some(path) = args.replay else { return Exit::Usage };
    match tui::recording::replay(&path) {
        Ok(model) => say(&tui::recording::frame(&model)),
        Err(error) => fail(Exit::Usage, &error),
    }
}

/// Writes text to standard output; a reader that has gone is no failure.
fn say(text: &str) -> Exit {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    Exit::Ok
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
