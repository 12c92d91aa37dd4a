//! The composition root: arguments and front ends.
//!
//! [`main`] reads the arguments and passes control to [`compose`], which builds an agent and gives it to one
//! front end: the screen in [`tui`], or one started by [`headless`]. Each is a thin fold over the same
//! commands and events. Only this module may know all others.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the composition root performs effects"
)]

pub(crate) mod acp;
pub mod args;
pub(crate) mod attach;
pub(crate) mod attempts;
pub(crate) mod batch;
pub mod commands;
pub mod compose;
pub mod headless;
mod import;
pub(crate) mod live;
mod packages;
pub mod process;
pub mod protocol;
pub mod proxy;
pub mod rpc;
pub mod serve;
pub(crate) mod services;
pub mod tui;
pub(crate) mod upkeep;
pub(crate) mod worktrees;

use args::CliArgs;
use args::acp::AcpArgs;
use args::attach::AttachArgs;
use args::front_end::{FrontEnd, StandardStreams};
use args::subcommand::Subcommand;
use commands::{
    auth, completion_scripts, doctor, export, extensions, jobs, login, man_pages, mcp, models,
    name_completion, packages as package_commands, permissions, sandbox, theme, tools, undo, uninstall,
    update, worktree,
};
use compose::{Setup, sessions};
use process::exit::{Exit, fail, say};
use process::{crash, hardening, log, signals, stderr, waiter};
use tau_agent::settings::Paths;
use tau_tools::user_error::UserError;

/// Runs the program; returns its exit code.
pub fn main() -> std::process::ExitCode {
    let exit = run();
    stderr::finish();
    exit.into()
}

fn run() -> Exit {
    hardening::close_process();
    signals::survive_file_size_limit();
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(exit) = internal(&arguments) {
        return exit;
    }
    let arguments = args::command_words::as_flags(arguments);
    let subcommand = Subcommand::read(&arguments);
    if !matches!(subcommand, Ok(Some(Subcommand::Sandbox(_)))) {
        hardening::keep_descriptors();
    }
    match subcommand {
        Ok(None) => {}
        Ok(Some(Subcommand::Models(args))) => return crash::or_crash(models::run(&args)),
        Ok(Some(Subcommand::Acp(args))) => return acp(*args),
        Ok(Some(Subcommand::Batch(args))) => return crash::or_crash(batch::run(&args)),
        Ok(Some(Subcommand::Sessions(args))) => return crash::or_crash(sessions::run(&args)),
        Ok(Some(Subcommand::Export(args))) => return crash::or_crash(export::run(&args)),
        Ok(Some(Subcommand::Diff(args))) => return crash::or_crash(undo::diff(&args)),
        Ok(Some(Subcommand::Undo(args))) => return crash::or_crash(undo::undo(&args)),
        Ok(Some(Subcommand::Update(args))) => return crash::or_crash(update::run(&args)),
        Ok(Some(Subcommand::Uninstall(args))) => return crash::or_crash(uninstall::run(&args)),
        Ok(Some(Subcommand::Doctor(args))) => return crash::or_crash(doctor::run(&args)),
        Ok(Some(Subcommand::Add(args))) => return crash::or_crash(package_commands::add(&args)),
        Ok(Some(Subcommand::Remove(args))) => return crash::or_crash(package_commands::remove(&args)),
        Ok(Some(Subcommand::Import(args))) => return crash::or_crash(import::run(&args)),
        Ok(Some(Subcommand::Extensions(args))) => return crash::or_crash(extensions::run(&args)),
        Ok(Some(Subcommand::Permissions(args))) => return crash::or_crash(permissions::run(&args)),
        Ok(Some(Subcommand::Mcp(args))) => return crash::or_crash(mcp::run(&args)),
        Ok(Some(Subcommand::Tools(args))) => return crash::or_crash(tools::run(&args)),
        Ok(Some(Subcommand::Theme(args))) => return crash::or_crash(theme::run(&args)),
        Ok(Some(Subcommand::Sandbox(args))) => return crash::or_crash(sandbox::run(&args)),
        Ok(Some(Subcommand::McpServe(args))) => return crash::or_crash(serve::mcp::run(*args)),
        Ok(Some(Subcommand::Proxy(args))) => return crash::or_crash(proxy::run(&args)),
        Ok(Some(Subcommand::Attach(args))) => return attach(args),
        Ok(Some(Subcommand::Serve(args))) => return crash::or_crash(serve::run(*args)),
        Ok(Some(Subcommand::Auth(args))) => return crash::or_crash(auth::run(args)),
        Ok(Some(Subcommand::Login(args))) => return crash::or_crash(login::run(&args)),
        Ok(Some(Subcommand::Completions(args))) => return say(&completion_scripts::completions(args.shell)),
        Ok(Some(Subcommand::Board(_))) => return board(),
        Ok(Some(Subcommand::Jobs(args))) => return crash::or_crash(jobs::run(&args)),
        Ok(Some(Subcommand::Logs(args))) => return crash::or_crash(live::commands::logs(&args)),
        Ok(Some(Subcommand::Wait(args))) => return crash::or_crash(live::commands::wait(&args)),
        Ok(Some(Subcommand::Stop(args))) => return crash::or_crash(live::commands::stop(&args)),
        Ok(Some(Subcommand::Send(args))) => return crash::or_crash(live::commands::send(&args)),
        Ok(Some(Subcommand::Attempts(args))) => {
            return crash::or_crash(commands::attempts::run(&args));
        }
        Ok(Some(Subcommand::Worktree(args))) => return crash::or_crash(worktree::run(&args)),
        Ok(Some(Subcommand::Man(_))) => return say(&man_pages::man()),
        Err(error) => return args::print_clap_error(&error),
    }
    let args = match CliArgs::read(arguments.clone()) {
        Ok(args) => args,
        Err(error) => return args::print_clap_error(&error),
    };
    if let Err(text) = args::command_words::check(&arguments, &args) {
        return fail(Exit::Usage, &text);
    }
    converse(args, arguments.get(1..).unwrap_or_default())
}

/// Does what tau and its completion scripts start tau for, by a first word that no help names.
fn internal(arguments: &[std::ffi::OsString]) -> Option<Exit> {
    let [_, word, rest @ ..] = arguments else { return None };
    if word == name_completion::WORD {
        return Some(crash::or_crash(name_completion::run(rest)));
    }
    let words = [live::start::WORD, live::start::OPEN, attach::wire::relay::WORD, attempts::host::WORD];
    if words.iter().any(|known| word == known) {
        hardening::keep_descriptors();
    }
    match word.to_str()? {
        live::start::WORD => Some(crash::or_crash(live::host::run(rest))),
        attempts::host::WORD => Some(crash::or_crash(attempts::host::run(rest))),
        live::start::OPEN => Some(crash::or_crash(live::host::open(rest))),
        attach::wire::relay::WORD => Some(crash::or_crash(live::relay::run(rest))),
        _ => None,
    }
}

/// Passes control to the front end of a conversation; `arguments` are those of the program.
fn converse(args: CliArgs, arguments: &[std::ffi::OsString]) -> Exit {
    let has_screen = args.front_end(StandardStreams::here()) == FrontEnd::Screen;
    if has_screen && !args.background && args.replay.is_none() {
        waiter::divide();
    }
    if let Err(error) = signals::allow_open_files().and_then(|()| start_log(&args)) {
        return fail(Exit::Config, &error);
    }
    let has_worktree = has_screen && args.worktree.is_some() && !args.background && args.replay.is_none();
    let end = crash::or_crash(match args.front_end(StandardStreams::here()) {
        _ if args.background => live::start::run(arguments),
        _ if args.replay.is_some() => replay(args),
        FrontEnd::Screen | FrontEnd::Rpc if args.output_schema.is_some() => fail(
            Exit::Usage,
            "--output-schema is for prompts whose answers are printed: use it with --print or --json",
        ),
        FrontEnd::Rpc if args.attempts.is_some() => {
            fail(Exit::Usage, "-n is for prompts of the command line; use it with --print or --json")
        }
        FrontEnd::Print | FrontEnd::Json if args.attempts.is_some() => attempts::run::run(args),
        FrontEnd::Screen => screen(args),
        FrontEnd::Print => headless::print(args),
        FrontEnd::Json => headless::json(args),
        FrontEnd::Rpc => headless::rpc(args),
    });
    if has_worktree {
        worktree::say_kept();
    }
    end
}

/// Serves an editor, or lets its user log in.
fn acp(args: AcpArgs) -> Exit {
    let login = args.login;
    let args = args.for_tau();
    if let Err(error) = signals::allow_open_files().and_then(|()| start_log(&args)) {
        return fail(Exit::Config, &error);
    }
    crash::or_crash(if login { screen(args) } else { headless::acp(args) })
}

/// Shows all live sessions.
fn board() -> Exit {
    waiter::divide();
    crash::or_crash(screen(CliArgs { board: true, ..CliArgs::without_arguments() }))
}

/// Shows a session that another process has open.
fn attach(args: AttachArgs) -> Exit {
    waiter::divide();
    crash::or_crash(attach::start::run(args))
}

/// Starts the log if requested.
fn start_log(args: &CliArgs) -> Result<(), UserError> {
    let Some(filter) = log::wanted(std::env::var("TAU_LOG").ok().as_deref(), args.verbose) else {
        return Ok(());
    };
    let home = std::env::var_os("TAU_HOME");
    let paths = Paths::discover(home.as_deref().map(std::path::Path::new))?;
    log::start(&paths.state, &filter).map(drop)
}

fn screen(args: CliArgs) -> Exit {
    let setup = tui::start::check_terminal().and_then(|()| Setup::read(args, tui::start::PROFILE));
    match setup {
        Ok(setup) => tui::start::run(setup.or_demo()),
        Err(refusal) => refusal.fail(),
    }
}

/// Folds a recording and prints its last frame.
fn replay(args: CliArgs) -> Exit {
    let Some(path) = args.replay else { return Exit::Usage };
    match tui::recording::replay(&path) {
        Ok(model) => say(&tui::recording::frame(&model)),
        Err(error) => fail(Exit::Usage, &format!("--replay: {error}")),
    }
}
