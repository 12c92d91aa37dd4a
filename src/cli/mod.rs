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
use compose::environment::paths;
use compose::{Setup, sessions};
use process::exit::{Exit, fail, say};
use process::{crash, hardening, log, signals, stderr, stopped_jobs, waiter};
use tau_tools::user_error::UserError;

/// Runs the program; returns its exit code.
pub fn main() -> std::process::ExitCode {
    let exit = run();
    stopped_jobs::stop_rest();
    compose::agent::clear_scratch();
    login::finish_renewals();
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
        Ok(Some(command)) => return crash::or_crash(carry_out(command)),
        Err(error) => return args::print_clap_error(&error),
    }
    let args = match CliArgs::read(arguments.clone()) {
        Ok(args) => args,
        Err(error) => return args::print_clap_error(&error),
    };
    if let Err(text) = args::command_words::check(&arguments, &args, headless::stdin_prompts::has_text) {
        return fail(Exit::Usage, &text);
    }
    converse(args, arguments.get(1..).unwrap_or_default())
}

fn carry_out(command: Subcommand) -> Exit {
    match command {
        Subcommand::Models(args) => models::run(&args).into(),
        Subcommand::Acp(args) => acp(*args),
        Subcommand::Batch(args) => batch::run(&args).into(),
        Subcommand::Sessions(args) => sessions::run(&args).into(),
        Subcommand::Export(args) => export::run(&args).into(),
        Subcommand::Diff(args) => undo::diff(&args),
        Subcommand::Undo(args) => undo::undo(&args).into(),
        Subcommand::Update(args) => update::run(&args),
        Subcommand::Uninstall(args) => uninstall::run(&args).into(),
        Subcommand::Doctor(args) => doctor::run(&args),
        Subcommand::Add(args) => package_commands::add(&args).into(),
        Subcommand::Remove(args) => package_commands::remove(&args).into(),
        Subcommand::Import(args) => import::run(&args),
        Subcommand::Extensions(args) => extensions::run(&args).into(),
        Subcommand::Permissions(args) => permissions::run(&args).into(),
        Subcommand::Mcp(args) => mcp::run(&args).into(),
        Subcommand::Tools(args) => tools::run(&args).into(),
        Subcommand::Theme(args) => theme::run(&args),
        Subcommand::Sandbox(args) => sandbox::run(&args),
        Subcommand::McpServe(args) => serve::mcp::run(*args),
        Subcommand::Proxy(args) => proxy::run(&args).into(),
        Subcommand::Attach(args) => attach(args),
        Subcommand::Serve(args) => serve::run(*args),
        Subcommand::Auth(args) => auth::run(args),
        Subcommand::Login(args) => login::run(&args),
        Subcommand::Completions(args) => say(&completion_scripts::completions(args.shell)),
        Subcommand::Board(_) => board(),
        Subcommand::Jobs(args) => jobs::run(&args),
        Subcommand::Logs(args) => live::commands::logs(&args),
        Subcommand::Wait(args) => live::commands::wait(&args),
        Subcommand::Stop(args) => live::commands::stop(&args),
        Subcommand::Send(args) => live::commands::send(&args),
        Subcommand::Attempts(args) => commands::attempts::run(&args),
        Subcommand::Worktree(args) => worktree::run(&args),
        Subcommand::Man(_) => say(&man_pages::man()),
    }
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
        attempts::host::WORD => Some(crash::or_crash(attempts::run::run_for_screen(rest))),
        live::start::OPEN => Some(crash::or_crash(live::host::open(rest))),
        attach::wire::relay::WORD => Some(crash::or_crash(live::relay::run(rest))),
        _ => None,
    }
}

/// Passes control to the front end of a conversation; `arguments` are those of the program.
fn converse(args: CliArgs, arguments: &[std::ffi::OsString]) -> Exit {
    if let Err(why) = args.check_list(StandardStreams::here()) {
        return fail(Exit::Usage, why);
    }
    let has_screen = args.front_end(StandardStreams::here()) == FrontEnd::Screen;
    if has_screen && !args.background && args.replay.is_none() {
        waiter::divide();
    }
    if let Err(error) = signals::allow_open_files().and_then(|()| start_log(&args)) {
        return fail(Exit::Config, &error);
    }
    let has_worktree = has_screen && args.worktree.is_some() && !args.background && args.replay.is_none();
    let end = crash::or_crash(match args.front_end(StandardStreams::here()) {
        _ if args.background => live::commands::begin(arguments),
        _ if args.replay.is_some() => replay(args),
        FrontEnd::Screen | FrontEnd::Rpc if args.output_schema.is_some() => fail(
            Exit::Usage,
            "--output-schema is for prompts whose answers are printed: use it with --print or --json",
        ),
        FrontEnd::Rpc if args.output.is_some() => {
            fail(Exit::Usage, "--output is for prompts of the command line; use it with --print or --json")
        }
        FrontEnd::Print | FrontEnd::Json | FrontEnd::Rpc if args.record.is_some() => {
            fail(Exit::Usage, "--record is for the screen; --json writes every event of a run without one")
        }
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
        worktree::report_worktree();
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
    if login { screen(args) } else { headless::acp(args) }
}

/// Shows all live sessions.
fn board() -> Exit {
    compose::leave_removed_directory();
    waiter::divide();
    screen(CliArgs { board: true, ..CliArgs::without_arguments() })
}

/// Shows a session that another process has open.
fn attach(args: AttachArgs) -> Exit {
    compose::leave_removed_directory();
    waiter::divide();
    attach::start::run(args)
}

/// Starts the log if requested.
fn start_log(args: &CliArgs) -> Result<(), UserError> {
    let Some(filter) = log::effective_filter(std::env::var("TAU_LOG").ok().as_deref(), args.verbose) else {
        return Ok(());
    };
    log::start(&paths()?.state, &filter).map(drop)
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
