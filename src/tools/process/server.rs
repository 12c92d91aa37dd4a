//! A program that serves over its standard streams for as long as tau needs it.
//!
//! It is started without a shell and ended with everything it started. It runs in a session of its own, as
//! commands do, and its processes carry the same marks (`process_tree.rs`). If tau is killed, the kernel
//! kills the program as well.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::process_tree::{ProcessTree, TERM_GRACE};
use super::spawn::{Life, marked_command, own_session, prepare_confinement};
use super::{ChildEnv, left};
use crate::sandbox::SandboxPolicy;
use crate::sandbox::confinement::Surroundings;
use crate::scratch::Scratch;

/// A program to start.
#[derive(Clone, Copy, Debug)]
pub struct ServerCommand<'a> {
    /// A name to look up in `PATH`, or a path.
    pub program: &'a OsStr,
    pub arguments: &'a [String],
    /// The directory it starts in. Absolute.
    pub cwd: &'a Path,
    /// Variables besides those of the [`ChildEnv`].
    pub variables: &'a [(String, OsString)],
    /// The restrictions on the program and everything it starts.
    pub sandbox: &'a SandboxPolicy,
}

/// Its standard streams.
pub struct ServerPipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// A running program. Dropping it kills all of its processes.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    tree: Option<ProcessTree>,
}

impl ServerProcess {
    /// Starts the program. Must be called on a thread that lives as long as tau, such as the runtime's
    /// worker threads: the kernel ends the program when the thread that started it ends.
    pub fn spawn(
        command: ServerCommand<'_>,
        env: &ChildEnv,
        scratch: &Scratch,
    ) -> io::Result<(Self, ServerPipes)> {
        let ServerCommand { program, arguments, variables, cwd, .. } = command;
        let (mut program, mark) = marked_command(program, arguments, variables, cwd, env);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let folder = scratch.folder();
        let around = Surroundings {
            cwd: command.cwd,
            terminal: None,
            scratch: folder.as_deref(),
            private: None,
            denied: &[],
        };
        if let Some(mut confinement) = prepare_confinement(command.sandbox, around)? {
            confinement.apply(program.as_std_mut());
        }
        own_session(&mut program, Life::Program, &mark);
        left::note_program(mark.number)?;
        let mut child = program.spawn()?;
        let ended = || io::Error::other("it ended before it started");
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)).ok_or_else(ended)?;
        let pipes = ServerPipes {
            stdin: child.stdin.take().ok_or_else(ended)?,
            stdout: child.stdout.take().ok_or_else(ended)?,
            stderr: child.stderr.take().ok_or_else(ended)?,
        };
        Ok((ServerProcess { child, tree: Some(ProcessTree::new(leader, mark.number)) }, pipes))
    }

    /// Waits until it ends and returns its exit status. Cancel safe.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the program: its input is already closed, so it has `grace` to end by itself. Then all of its
    /// processes get TERM, and KILL at most a second later. Returns its exit status if it ended by itself.
    pub async fn end(mut self, grace: Duration) -> Option<ExitStatus> {
        let status = timeout(grace, self.child.wait()).await.ok().and_then(Result::ok);
        if let Some(tree) = self.tree.clone() {
            let ended = tokio::task::spawn_blocking(move || tree.end(TERM_GRACE)).await;
            if ended.is_ok() {
                self.tree = None;
            }
        }
        // Reap it, so that no entry stays in the process table.
        self.child.try_wait().ok();
        status
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(tree) = self.tree.take() {
            tree.kill_now();
        }
    }
}
