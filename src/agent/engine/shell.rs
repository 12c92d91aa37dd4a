//! Commands that the user runs: `!` and `!!`.
//!
//! They start immediately, several at a time, also during a run, each in a terminal if the front end can show
//! one. The agent task polls them itself, and only while events fit in the channel, so a flood of output
//! waits in its pipe instead of in memory. Their events are returned by [`Shells::next`] and reported by
//! `commands`.
//!
//! The front end has three parts in this: it gets the raw output of the command, so that it can give it the
//! full screen when it switches to the alternate screen; it sends typed keys as [`PtyInput`]; and it sends
//! the size of the window.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::config::AgentConfig;
use crate::engine::base::clock::now;
use crate::engine::base::panics::catch_panic;
use tau_protocol::message::BashExecution;
use tau_tools::command_result::last_lines;
use tau_tools::paths;
use tau_tools::process::capture::Capture;
use tau_tools::process::pty::{Pty, PtyInput, WindowSize};
use tau_tools::process::{self, ChildEnv, CommandIo, CommandLine, FinishedCommand, Flow};
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::scratch::Scratch;
use tau_tools::secret_cuts::SecretFinder;

/// The maximum output of a usual command in its message.
pub(crate) const USUAL_OUTPUT: OutputBound = OutputBound { lines: 2_000, weight: 50 * 1024 };
/// The maximum size of joined output, in bytes. A screen handles it without keeping a key waiting.
const MAX_DELTA: usize = 16 * 1024;
/// The maximum number of inputs that may wait for a command. If there are more, it has not read for long;
/// they are dropped, as a terminal does when its program does not read.
const INPUTS: usize = 256;

/// The maximum output of a command in its message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputBound {
    pub(crate) lines: usize,
    /// See [`tau_tools::budget`].
    pub(crate) weight: usize,
}

/// A command as the user entered it.
#[derive(Clone, Debug)]
pub(crate) struct UserCommand {
    pub(crate) id: Option<String>,
    pub(crate) command: String,
    /// Whether it is hidden from the model.
    pub(crate) hidden: bool,
    /// The size of its terminal; `None` for a pipe.
    pub(crate) window: Option<WindowSize>,
    /// Whether it is not confined, regardless of the settings.
    pub(crate) without_sandbox: bool,
    pub(crate) output: OutputBound,
}

#[derive(Debug)]
pub(crate) enum UserCommandEvent {
    /// It has no terminal, although one was requested.
    NoTerminal { reason: String },
    /// It wrote output.
    Output { id: Option<String>, delta: String },
    /// It has ended.
    Ended { id: Option<String>, message: BashExecution },
}

type Running = Pin<Box<dyn Future<Output = UserCommandEvent> + Send>>;

/// The running commands.
pub(crate) struct Shells {
    running: FuturesUnordered<Running>,
    events: VecDeque<UserCommandEvent>,
    sender: mpsc::UnboundedSender<UserCommandEvent>,
    /// Output of the commands in the current poll; emptied after each one, hence bounded by what one poll can
    /// read.
    written: mpsc::UnboundedReceiver<UserCommandEvent>,
    /// The input of each command that may still run.
    inputs: Vec<(Option<String>, mpsc::Sender<PtyInput>)>,
    cancel: CancellationToken,
    ending: bool,
}

impl Default for Shells {
    fn default() -> Self {
        let (sender, written) = mpsc::unbounded_channel();
        Shells {
            running: FuturesUnordered::new(),
            events: VecDeque::new(),
            sender,
            written,
            inputs: Vec::new(),
            cancel: CancellationToken::new(),
            ending: false,
        }
    }
}

impl Shells {
    /// Starts a command in `cwd`, or in the nearest directory above it if that is gone. Returns what ends it.
    pub(crate) fn start(
        &mut self,
        config: &AgentConfig,
        cwd: PathBuf,
        order: UserCommand,
    ) -> CancellationToken {
        let (sender, input) = mpsc::channel(INPUTS);
        self.inputs.retain(|(_, sender)| !sender.is_closed());
        self.inputs.push((order.id.clone(), sender));
        let (env, scratch) = (config.env.clone(), config.scratch.clone());
        let sandbox = match order.without_sandbox {
            true => Arc::default(),
            false => config.behavior.sandbox.of_user(&cwd),
        };
        let cwd = paths::nearest_folder(&cwd).to_owned();
        let secrets = config.behavior.masking.finder();
        let job = Job { order, shell: config.shell.clone(), cwd, env, scratch, sandbox, secrets };
        let cancel = self.cancel.child_token();
        self.running.push(Box::pin(job.run(input, cancel.clone(), self.sender.clone())));
        cancel
    }

    /// The id for a new command: this one, or one made of it if a running command has it, as several screens may
    /// number their commands alike.
    pub(crate) fn unused_id(&self, id: Option<String>) -> Option<String> {
        let id = id?;
        let is_used = |id: &str| {
            self.inputs.iter().any(|(known, sender)| known.as_deref() == Some(id) && !sender.is_closed())
        };
        let others = (2..).map(|number| format!("{id}-{number}"));
        std::iter::once(id.clone()).chain(others).find(|id: &String| !is_used(id))
    }

    /// Passes input to the running command with that id.
    pub(crate) fn input(&mut self, id: Option<&str>, input: PtyInput) {
        self.inputs.retain(|(_, sender)| !sender.is_closed());
        if let Some((_, sender)) = self.inputs.iter().rfind(|(known, _)| known.as_deref() == id) {
            sender.try_send(input).ok();
        }
    }

    /// Stops all commands; each end is reported as usual.
    pub(crate) fn cancel(&mut self) {
        self.ending = !self.running.is_empty();
        std::mem::take(&mut self.cancel).cancel();
    }

    /// Whether cancelled commands are still running.
    pub(crate) fn ending(&self) -> bool {
        self.ending
    }

    /// The number of commands whose end was not reported.
    pub(crate) fn unreported_count(&self) -> usize {
        let ended = |event: &&UserCommandEvent| matches!(event, UserCommandEvent::Ended { .. });
        self.running.len() + self.events.iter().filter(ended).count()
    }

    /// Whether no command is running and every event was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.events.is_empty()
    }

    /// The next event; pending while no command is running. Cancel safe.
    pub(crate) async fn next(&mut self) -> UserCommandEvent {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<UserCommandEvent> {
        if self.events.is_empty() {
            let ended = Pin::new(&mut self.running).poll_next(context);
            while let Ok(output) = self.written.try_recv() {
                join(&mut self.events, output);
            }
            if let Poll::Ready(Some(ended)) = ended {
                self.events.push_back(ended);
            }
            self.ending &= !self.running.is_empty();
        }
        match self.events.pop_front() {
            Some(event) => Poll::Ready(event),
            None => Poll::Pending,
        }
    }
}

/// Appends output to the last event if that is output of the same command and stays small enough.
fn join(events: &mut VecDeque<UserCommandEvent>, next: UserCommandEvent) {
    if let UserCommandEvent::Output { id, delta } = &next
        && let Some(UserCommandEvent::Output { id: last_id, delta: last }) = events.back_mut()
        && id == last_id
        && last.len() + delta.len() <= MAX_DELTA
    {
        last.push_str(delta);
    } else {
        events.push_back(next);
    }
}

/// One command and everything it needs.
struct Job {
    order: UserCommand,
    shell: PathBuf,
    cwd: PathBuf,
    env: Arc<ChildEnv>,
    scratch: Arc<Scratch>,
    sandbox: Arc<SandboxPolicy>,
    secrets: SecretFinder,
}

impl Job {
    async fn run(
        self,
        input: mpsc::Receiver<PtyInput>,
        cancel: CancellationToken,
        output: mpsc::UnboundedSender<UserCommandEvent>,
    ) -> UserCommandEvent {
        let Job { order, shell, cwd, env, scratch, sandbox, secrets } = self;
        let UserCommand { id, command, hidden, window, output: bound, .. } = order;
        let mut line_end = "\n";
        let place = match window.map(|window| Pty::open(window, input)) {
            None => CommandIo::Pipe(Flow::All),
            Some(Ok(pty)) => CommandIo::Terminal(Box::new(pty)),
            Some(Err(error)) => {
                output.send(UserCommandEvent::NoTerminal { reason: paths::reason(&error) }).ok();
                // A front end that requested a terminal gets a terminal's line ends.
                line_end = "\r\n";
                CommandIo::Pipe(Flow::All)
            }
        };
        // The receiver lives as long as this future does, so nothing is lost.
        let mut report = |delta: &str, _: &tau_tools::TerminalOutput| {
            if !delta.is_empty() {
                let delta = if line_end == "\n" { delta.to_owned() } else { delta.replace('\n', line_end) };
                output.send(UserCommandEvent::Output { id: id.clone(), delta }).ok();
            }
        };
        let line = CommandLine {
            program: shell.as_os_str(),
            arguments: &["-c", &command],
            variables: &[],
            cwd: &cwd,
            timeout: None,
            sandbox: &sandbox,
            files: None,
        };
        let running = process::run(place, line, &env, &scratch, cancel, &mut report, Arc::default());
        let mut message = match catch_panic(running).await {
            Ok(Ok(finished)) => message(finished, bound, &scratch, &secrets),
            Ok(Err(error)) => failed_execution(format!("cannot start {}: {error}", shell.display())),
            Err(panic) => failed_execution(format!("tau crashed while running this command: {panic}")),
        };
        message.command = command;
        message.exclude_from_context = hidden;
        UserCommandEvent::Ended { id, message }
    }
}

fn message(
    finished: FinishedCommand,
    bound: OutputBound,
    scratch: &Scratch,
    secrets: &SecretFinder,
) -> BashExecution {
    let (start, end) = finished.capture.plain();
    let (text, all) = if end.is_empty() { (start, true) } else { (end, false) };
    let kept = last_lines(&text, bound.weight, bound.lines, secrets);
    let truncated = !all || kept.len() < text.len();
    let written = finished.output.full_output_path;
    BashExecution {
        full_output_path: written.or_else(|| truncated.then(|| keep(&finished.capture, scratch)).flatten()),
        truncated,
        output: kept.to_owned(),
        exit_code: finished.output.exit_code.filter(|_| !finished.cancelled),
        cancelled: finished.cancelled,
        blocked: finished.output.blocked,
        ..failed_execution(String::new())
    }
}

/// Writes output that is complete in memory to a file; `None` if that fails.
fn keep(capture: &Capture, scratch: &Scratch) -> Option<String> {
    let whole = capture.whole()?;
    let mut file = scratch.create("bash").ok()?;
    for part in whole {
        file.append(part).ok()?;
    }
    Some(file.path().display().to_string())
}

/// The message of a command that could not run, with the exit code that shells use for this.
fn failed_execution(output: String) -> BashExecution {
    BashExecution { output, exit_code: Some(127), timestamp: now(), ..BashExecution::default() }
}
