//! Starts a command: its session, its signals, and its output.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::SigSet;
use rustix::process::Pid;
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::environment::SESSION;
use super::left::{self, RunningMark};
use super::mark::{self, MARK, RunMark};
use super::process_tree::ProcessTree;
use super::pty::Pty;
use super::{ChildEnv, CommandIo, CommandLine, git, signals};
use crate::access::DeniedFile;
use crate::sandbox::SandboxPolicy;
use crate::sandbox::confinement::{Confinement, Surroundings};
use crate::scratch::Scratch;

/// The requested pipe size; large, so that a fast writer is not woken too often.
pub(super) const PIPE_SIZE: usize = 512 * 1024;

/// The end from which output is read.
pub(super) enum Output {
    Pipe(pipe::Receiver),
    Terminal(Box<Pty>),
}

impl Output {
    /// Reads the next piece. Cancel safe.
    pub(super) async fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Output::Pipe(pipe) => pipe.read(piece).await,
            Output::Terminal(pty) => pty.read(piece).await,
        }
    }

    /// The other end's name in the links of /proc/PID/fd.
    pub(super) fn link(&self) -> String {
        match self {
            Output::Pipe(pipe) => {
                format!("pipe:[{}]", rustix::fs::fstat(pipe.as_fd()).map(|stat| stat.st_ino).unwrap_or(0))
            }
            Output::Terminal(pty) => pty.name().to_owned(),
        }
    }
}

/// A running command.
pub(super) struct SpawnedCommand {
    pub(super) child: Child,
    pub(super) output: Output,
    pub(super) tree: ProcessTree,
    pub(super) confinement: Option<Confinement>,
    /// Its own temporary folder, if it has one.
    pub(super) private: Option<TempDir>,
    pub(super) running: RunningMark,
}

/// Starts the program, confined if requested. Its end of the pipe or terminal is closed here before this
/// returns.
pub(super) fn spawn(
    io: CommandIo,
    command: &CommandLine<'_>,
    denied: &[DeniedFile],
    env: &ChildEnv,
    scratch: &Scratch,
) -> io::Result<SpawnedCommand> {
    let CommandLine { program, arguments, variables, cwd, .. } = command;
    let (mut program, mark) = marked_command(program, arguments, variables, cwd, env);
    let private = command.sandbox.unasked.then(|| scratch.private_folder()).transpose()?;
    if let Some(private) = &private {
        program.env("TMPDIR", private.path()).envs(git::hardening_variables(env.variables()));
    }
    let folder = scratch.folder();
    let around = Surroundings {
        cwd,
        terminal: match &io {
            CommandIo::Pipe(_) | CommandIo::Streams { .. } => None,
            CommandIo::Terminal(pty) => Some(Path::new(pty.name())),
        },
        scratch: folder.as_deref(),
        private: private.as_ref().map(TempDir::path),
        denied,
    };
    let mut confinement = prepare_confinement(command.sandbox, around)?;
    if let Some(confinement) = &mut confinement {
        confinement.apply(program.as_std_mut());
    }
    let (output, [stdin, stdout, stderr]) = match io {
        CommandIo::Pipe(_) => {
            let (output, writer) = output_pipe()?;
            (output, [Stdio::null(), Stdio::from(writer.try_clone()?), Stdio::from(writer)])
        }
        CommandIo::Streams { stdin, stdout, .. } => {
            let (output, writer) = output_pipe()?;
            let stdout = stdout.map_or_else(|| writer.try_clone().map(Stdio::from), |own| Ok(own.into()))?;
            (output, [Stdio::from(stdin), stdout, Stdio::from(writer)])
        }
        CommandIo::Terminal(pty) => {
            program.env("TERM", "xterm-256color");
            let ends = pty.ends()?;
            (Output::Terminal(pty), ends)
        }
    };
    program.stdin(stdin).stdout(stdout).stderr(stderr);
    let life = if matches!(output, Output::Terminal(_)) { Life::InTerminal } else { Life::Command };
    own_session(&mut program, life, &mark);
    let running = left::note(mark.number)?;
    let child = program.spawn()?;
    running.begin();
    let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let leader = leader.ok_or_else(|| io::Error::other("it ended before it started"))?;
    let tree = ProcessTree::new(leader, mark.number);
    Ok(SpawnedCommand { child, output, tree, confinement, private, running })
}

/// A pipe for output, and its write end.
fn output_pipe() -> io::Result<(Output, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // A larger pipe is only faster; a limit on the user's pipes is no reason to fail.
    rustix::pipe::fcntl_setpipe_size(&reader, PIPE_SIZE).ok();
    Ok((Output::Pipe(pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?), writer))
}

/// The confinement of a process; `None` if neither the policy nor a rule on files has one.
pub(super) fn prepare_confinement(
    policy: &SandboxPolicy,
    around: Surroundings<'_>,
) -> io::Result<Option<Confinement>> {
    if policy.is_off() && around.denied.is_empty() {
        return Ok(None);
    }
    let failed = |error| io::Error::other(format!("the sandbox cannot be set up: {error}"));
    Confinement::prepare(policy, around).map(Some).map_err(failed)
}

/// A program to start, and the mark of its processes.
pub(super) fn marked_command(
    program: &OsStr,
    arguments: &[impl AsRef<OsStr>],
    variables: &[(String, impl AsRef<OsStr>)],
    cwd: &Path,
    env: &ChildEnv,
) -> (Command, RunMark) {
    signals::stop_ignoring();
    let mark = RunMark::new(&env.get(SESSION).unwrap_or_default().to_string_lossy());
    let mut command = Command::new(program);
    env.apply(command.as_std_mut());
    let variables = variables.iter().map(|(name, value)| (name, value));
    // No variable of the user replaces the mark.
    command.args(arguments).current_dir(cwd).envs(variables).env(MARK, &mark.id);
    (command, mark)
}

/// The purpose of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// A command, which may leave processes running on purpose.
    Command,
    /// A command in the terminal that is its standard input.
    InTerminal,
    /// A program that only tau uses: the kernel kills it when the thread that started it ends.
    Program,
}

#[allow(unsafe_code, reason = "the only way to have a child leave the terminal's session before exec")]
pub(super) fn own_session(child: &mut Command, life: Life, mark: &RunMark) {
    let number = mark.number;
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let prepare = move || {
        // Signals that this process blocks must not stay blocked in the command.
        SigSet::empty().thread_set_mask()?;
        rustix::process::setsid()?;
        mark::set_limit(number);
        if life == Life::InTerminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        #[cfg(target_os = "linux")]
        {
            // Orphans of the child become its children, so that they are found when it must end.
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
            if life == Life::Program {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            }
            if rustix::process::getppid() != Some(parent) {
                // tau ended in the meantime: what nobody has seen begin does not begin.
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no lock is taken,
    // so the state of other threads at the fork does not matter.
    unsafe {
        child.pre_exec(prepare);
    }
}
