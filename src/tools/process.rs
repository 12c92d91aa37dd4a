//! Child processes: their group, their environment, their output, their end.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::TerminalOutput;

/// The environment that commands get.
#[derive(Debug, Default)]
pub struct ChildEnv;

impl ChildEnv {
    /// The environment of this process without secrets: variables whose value is one of
    /// `secrets`, and variables with KEY, TOKEN, SECRET, PASSWORD in their name unless
    /// listed in `pass`. `TAU_SESSION_ID` is set, `PAGER` and `GIT_PAGER` are `cat`.
    pub fn new(_secrets: &[String], _pass: &[String], _session_id: &str) -> Self {
        todo!()
    }
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Its output and exit code or signal.
    pub output: TerminalOutput,
    /// True when it was ended because of the token.
    pub cancelled: bool,
    /// True when its time was up.
    pub timed_out: bool,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct ShellCommand<'a> {
    /// The shell; `bash` by default.
    pub shell: &'a Path,
    pub command: &'a str,
    pub cwd: &'a Path,
    /// In seconds.
    pub timeout: Option<u64>,
}

/// Runs a command in its own session and process group, stdin null. `on_output` is given each
/// piece of output as it comes (UTF-8 made whole, raw otherwise); `cancel` or dropping the
/// future ends the whole group: TERM, then KILL.
///
/// # Errors
/// When the shell cannot be started.
pub async fn run(
    _command: ShellCommand<'_>,
    _env: &ChildEnv,
    _scratch: &super::scratch::Scratch,
    _cancel: CancellationToken,
    _on_output: &mut (dyn FnMut(&str, &TerminalOutput) + Send),
) -> std::io::Result<Finished> {
    todo!()
}
