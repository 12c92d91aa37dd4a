//! `tau sandbox`: runs the user's command, confined like commands of the model.
//!
//! It gets this terminal, these standard streams and this environment without its secrets. Its exit code is
//! passed on.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::Signal;

use crate::args::CliArgs;
use crate::args::sandbox::SandboxArgs;
use crate::compose::agent::program_env;
use crate::compose::environment::{Environment, OnBadConfig};
use crate::compose::{sandbox, working_directory};
use crate::process::exit::{Exit, Refusal, warn};
use tau_agent::settings::{Settings, table};
use tau_tools::sandbox::confinement::{Confinement, Surroundings};
use tau_tools::sandbox::support::Support;
use tau_tools::sandbox::{SandboxLevel, SandboxPolicy};
use tau_tools::user_error::UserError;

/// Signals of the terminal: the command decides on their effect, and tau waits for it.
const LEFT_TO_THE_COMMAND: [Signal; 2] = [Signal::INT, Signal::QUIT];

/// Runs the command; returns the program's end.
pub(crate) fn run(args: &SandboxArgs) -> Exit {
    match run_confined(args) {
        Ok(status) => end_of(status),
        Err(refusal) => refusal.fail(),
    }
}

fn run_confined(args: &SandboxArgs) -> Result<ExitStatus, Refusal> {
    let cwd = working_directory(args.cwd.as_deref())?;
    let environment = Environment::read(&CliArgs::without_arguments(), OnBadConfig::Refuse)?;
    let settings = with_flags(environment.settings, args).map_err(Refusal::usage)?;
    let policy = sandbox::policy(&settings, &environment.paths, &cwd);
    if let Some(text) = Support::here().shortfall(&policy) {
        if Support::here().is_missing(&policy) {
            return Err(Refusal::config(format!(
                "the command was not run: {text}. Run it without tau, or with what this machine has: \
                 `--sandbox off`, `--network on`"
            )));
        }
        warn(&format!("sandbox: {text}"));
    }
    sandbox::readonly_workspace_reason(&policy).iter().for_each(|text| warn(&format!("sandbox: {text}")));
    let (program, arguments) = args.command.split_first().ok_or_else(|| Refusal::usage("no command"))?;
    let mut command = Command::new(program);
    program_env(&environment.keys, &settings).apply(&mut command);
    command.args(arguments).current_dir(&cwd);
    let confinement = confine(&mut command, &policy)?;
    for signal in LEFT_TO_THE_COMMAND {
        // A handler that does nothing, which the command does not inherit.
        signal_hook::flag::register(signal.as_raw(), Arc::new(AtomicBool::new(false))).ok();
    }
    let failed = |error| Refusal::config(format!("cannot start {}: {error}", program.display()));
    let mut child = command.spawn().map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    if let Some(denial) = confinement.and_then(|confinement| confinement.clear_away()) {
        warn(&format!("the sandbox blocked {denial}"));
    }
    Ok(status)
}

fn confine(command: &mut Command, policy: &SandboxPolicy) -> Result<Option<Confinement>, Refusal> {
    if policy.is_off() {
        return Ok(None);
    }
    let name = rustix::termios::ttyname(rustix::stdio::stdin(), Vec::new()).ok();
    let terminal = name.as_ref().and_then(|name| name.to_str().ok()).map(std::path::Path::new);
    let around = Surroundings { cwd: &policy.workspace, terminal, scratch: None, private: None, denied: &[] };
    let failed = |error| Refusal::config(format!("the sandbox cannot be set up: {error}"));
    let mut confinement = Confinement::prepare(policy, around).map_err(failed)?;
    confinement.apply(command);
    Ok(Some(confinement))
}

/// The settings, overridden by the flags.
fn with_flags(mut settings: Settings, args: &SandboxArgs) -> Result<Settings, UserError> {
    if settings.sandbox.level() == SandboxLevel::Off {
        settings.sandbox.level = Some(SandboxLevel::WorkspaceWrite);
    }
    for (key, value) in [("sandbox.level", &args.sandbox), ("sandbox.network", &args.network)] {
        if let (Some(row), Some(value)) = (table::row(key), value) {
            row.set(&mut settings, OsStr::new(value))?;
        }
    }
    settings.sandbox.writable.get_or_insert_default().extend(args.writable.iter().cloned());
    Ok(settings)
}

/// The program's end for the end of its command.
fn end_of(status: ExitStatus) -> Exit {
    let signal = |number: i32| Exit::Signal(u8::try_from(number).unwrap_or(0));
    let code = |code: i32| Exit::Command(u8::try_from(code).unwrap_or(1));
    status.code().map(code).or(status.signal().map(signal)).unwrap_or(Exit::Model)
}
