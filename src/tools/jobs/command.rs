//! Runs a command that can become a job: its task is not that of the call.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{JobLink, Movable, MoveReason, Place};
use crate::access::FileFilter;
use crate::details::fact;
use crate::process::watched::WatchedCommand;
use crate::process::{self, ChildEnv, CommandIo, CommandLine, FinishedCommand, Flow};
use crate::sandbox::SandboxPolicy;
use crate::scratch::Scratch;
use crate::user_error::UserError;
use crate::{Details, TerminalOutput, ToolContext, ToolOutput, ToolProgress, deadline, line_output, paths};

/// The time for which a call with `background` waits for the first output.
const FIRST_OUTPUT: Duration = Duration::from_millis(300);
/// The time for which a stopped command is waited for: longer than ending its processes takes.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(4);

/// A command that was started.
#[derive(Debug)]
pub(crate) struct Running {
    pub command: String,
    pub started: SystemTime,
    pub since: Instant,
    pub watched: Arc<WatchedCommand>,
    /// Ends all its processes.
    pub cancel: CancellationToken,
    pub task: CommandTask,
    /// Its place among the jobs, if it is about to be one.
    pub place: Option<Place>,
}

/// The task that runs it. All processes of the command are killed when this is dropped.
#[derive(Debug)]
pub(crate) struct CommandTask(JoinHandle<Result<FinishedCommand, UserError>>);

impl Drop for CommandTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl CommandTask {
    /// Waits for the end; an error is the reason why there is no result. Cancel safe.
    pub async fn wait_for_end(mut self) -> Result<FinishedCommand, UserError> {
        self.result().await
    }

    async fn result(&mut self) -> Result<FinishedCommand, UserError> {
        match (&mut self.0).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => Err("tau crashed while it ran; please report it".into()),
            Err(_) => Err("it was ended".into()),
        }
    }
}

/// The end of a call with a command.
#[allow(
    clippy::large_enum_variant,
    reason = "one value lives at a time, and finished commands are the common case"
)]
pub(crate) enum CallEnd {
    Finished(FinishedCommand),
    /// The command continues.
    Moved(Running, MovedCommand),
}

/// Why a command continues after its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MovedCommand {
    /// The call asked for it.
    Asked,
    TimedOut {
        seconds: u64,
    },
    User(MoveReason),
}

/// How a call waits for its command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'a> {
    /// The time limit in seconds.
    pub timeout: Option<u64>,
    pub background: bool,
    /// The jobs that it may become one of.
    pub link: Option<&'a JobLink>,
}

pub(crate) fn start(shell: &Path, command: &str, timeout: Option<u64>, context: &ToolContext) -> Running {
    let watched = Arc::<WatchedCommand>::default();
    let cancel = CancellationToken::new();
    let order = Order {
        shell: shell.to_owned(),
        command: command.to_owned(),
        cwd: Arc::clone(&context.cwd),
        env: Arc::clone(&context.env),
        scratch: Arc::clone(&context.scratch),
        sandbox: Arc::clone(&context.sandbox),
        files: Arc::clone(&context.files),
        progress: context.progress.clone(),
        timeout,
    };
    let task = tokio::spawn(order.run(cancel.clone(), Arc::clone(&watched)));
    Running {
        command: command.to_owned(),
        started: SystemTime::now(),
        since: Instant::now(),
        watched,
        cancel,
        task: CommandTask(task),
        place: None,
    }
}

/// Waits until the command has ended or continues without the call. `stop` ends it. The error is the reason
/// why it could not be started.
pub(crate) async fn wait(
    mut running: Running,
    waiting: Waiting<'_>,
    stop: &CancellationToken,
) -> Result<CallEnd, UserError> {
    let Waiting { timeout, background, link } = waiting;
    let mut movable = link.map(|link| link.jobs.movable());
    let first = background.then(|| Instant::now() + FIRST_OUTPUT);
    let limit = timeout.filter(|_| link.is_some_and(|link| link.is_offered));
    let deadline = limit.and_then(|seconds| running.since.checked_add(Duration::from_secs(seconds)));
    let moved = tokio::select! {
        biased;
        reason = wait_for_move(&mut movable) => MovedCommand::User(reason),
        finished = running.task.result() => return finished.map(CallEnd::Finished),
        () = stop.cancelled() => {
            running.cancel.cancel();
            return running.task.result().await.map(CallEnd::Finished);
        }
        () = deadline::until(first) => MovedCommand::Asked,
        () = deadline::until(deadline) => {
            running.place = link.and_then(|link| link.jobs.place());
            if running.place.is_none() {
                running.watched.give_time();
                running.cancel.cancel();
                let finished = running.task.result().await?;
                return Ok(CallEnd::Finished(FinishedCommand { cancelled: false, timed_out: true, ..finished }));
            }
            MovedCommand::TimedOut { seconds: timeout.unwrap_or_default() }
        }
    };
    Ok(CallEnd::Moved(running, moved))
}

async fn wait_for_move(movable: &mut Option<Movable>) -> MoveReason {
    match movable {
        Some(movable) => movable.wait_for_move().await,
        None => std::future::pending().await,
    }
}

/// Everything that a command needs.
struct Order {
    shell: PathBuf,
    command: String,
    cwd: Arc<Path>,
    env: Arc<ChildEnv>,
    scratch: Arc<Scratch>,
    sandbox: Arc<SandboxPolicy>,
    files: Arc<dyn FileFilter>,
    progress: ToolProgress,
    /// The time limit after which it is killed, in seconds.
    timeout: Option<u64>,
}

impl Order {
    async fn run(
        self,
        cancel: CancellationToken,
        watched: Arc<WatchedCommand>,
    ) -> Result<FinishedCommand, UserError> {
        let line = CommandLine {
            program: self.shell.as_os_str(),
            arguments: &["-c", &self.command],
            variables: &[],
            cwd: &self.cwd,
            timeout: self.timeout,
            sandbox: &self.sandbox,
            files: Some(&self.files),
        };
        let mut show = |_: &str, so_far: &TerminalOutput| {
            let text = line_output::plain(&so_far.text);
            let command = Some(fact(&self.command));
            let so_far = TerminalOutput { command, ..so_far.clone() };
            self.progress.show(ToolOutput::new(text, Details::Terminal(so_far)));
        };
        let place = CommandIo::Pipe(Flow::LITTLE);
        process::run(place, line, &self.env, &self.scratch, cancel, &mut show, watched).await.map_err(
            |error| format!("cannot start {}: {}", self.shell.display(), paths::reason(&error)).into(),
        )
    }
}
