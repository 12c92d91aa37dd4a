//! The person's own commands: `!` and `!!`.
//!
//! They run at once, several together, also beside a run, in a terminal each when the front end
//! has one to show. They are polled by the agent task itself and only while events have room, so
//! a flood of output waits in its pipe instead of in memory. What they did comes out of
//! [`Shells::next`]; telling of it is `act`'s.
//!
//! The front end takes part in three ways: output comes as the command wrote it, so whoever sees
//! the switch to the alternate screen in it can give the command the whole screen; what is typed
//! for it comes as [`PtyInput`]; and so does the size of its window.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, Stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::task::{AgentConfig, now, panic_text};
use crate::agent::protocol::message::BashExecution;
use crate::tools::bash::last_lines;
use crate::tools::paths;
use crate::tools::process::capture::Capture;
use crate::tools::process::pty::{Pty, PtyInput, WindowSize};
use crate::tools::process::{self, ChildEnv, CommandIo, FinishedCommand, Flow, ShellCommand};
use crate::tools::scratch::Scratch;

/// Most lines of output that a message keeps.
const MAX_LINES: usize = 2_000;
/// The most that the output in a message weighs, see [`crate::tools::budget`].
const MAX_WEIGHT: usize = 50 * 1024;
/// Largest delta, in bytes, that pieces are joined to.
const MAX_DELTA: usize = 64 * 1024;
/// Inputs that may wait for a command. When more come, it has not read for long, and they are
/// dropped as by a terminal whose program does not read.
const INPUTS: usize = 256;

/// A command as the person gave it.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) id: Option<String>,
    pub(crate) command: String,
    /// True when the model never learns of it.
    pub(crate) hidden: bool,
    /// The size of its terminal; none for a pipe.
    pub(crate) window: Option<WindowSize>,
}

/// What one of the commands did.
#[derive(Debug)]
pub(crate) enum Happening {
    /// It has no terminal although one was asked for.
    NoTerminal { reason: String },
    /// It wrote something.
    Output { id: Option<String>, delta: String },
    /// It has ended.
    Ended { id: Option<String>, message: BashExecution },
}

type Running = Pin<Box<dyn Future<Output = Happening> + Send>>;

/// The commands that run.
pub(crate) struct Shells {
    running: FuturesUnordered<Running>,
    happened: VecDeque<Happening>,
    sender: mpsc::UnboundedSender<Happening>,
    /// What the commands wrote in the present poll; emptied after each, hence bounded by what
    /// one poll can read.
    written: mpsc::UnboundedReceiver<Happening>,
    /// Of each that may still run: where its input goes.
    inputs: Vec<(Option<String>, mpsc::Sender<PtyInput>)>,
    cancel: CancellationToken,
    ending: bool,
}

impl Default for Shells {
    fn default() -> Self {
        let (sender, written) = mpsc::unbounded_channel();
        Shells {
            running: FuturesUnordered::new(),
            happened: VecDeque::new(),
            sender,
            written,
            inputs: Vec::new(),
            cancel: CancellationToken::new(),
            ending: false,
        }
    }
}

impl Shells {
    /// Starts a command in `cwd`.
    pub(crate) fn start(&mut self, config: &AgentConfig, cwd: PathBuf, order: Order) {
        let (sender, input) = mpsc::channel(INPUTS);
        self.inputs.retain(|(_, sender)| !sender.is_closed());
        self.inputs.push((order.id.clone(), sender));
        let (env, scratch) = (config.env.clone(), config.scratch.clone());
        let job = Job { order, shell: config.shell.clone(), cwd, env, scratch };
        self.running.push(Box::pin(job.run(input, self.cancel.child_token(), self.sender.clone())));
    }

    /// Passes input to the newest running command of that id.
    pub(crate) fn input(&mut self, id: Option<&str>, input: PtyInput) {
        self.inputs.retain(|(_, sender)| !sender.is_closed());
        if let Some((_, sender)) = self.inputs.iter().rfind(|(known, _)| known.as_deref() == id) {
            sender.try_send(input).ok();
        }
    }

    /// Ends all commands; their ends are reported as usual.
    pub(crate) fn cancel(&mut self) {
        self.ending = !self.running.is_empty();
        std::mem::take(&mut self.cancel).cancel();
    }

    /// True while commands that were told to end have not ended.
    pub(crate) fn ending(&self) -> bool {
        self.ending
    }

    /// True when none runs and all that happened was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.happened.is_empty()
    }

    /// What happens next; pending while no command runs. Cancel safe.
    pub(crate) async fn next(&mut self) -> Happening {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        if self.happened.is_empty() {
            let ended = Pin::new(&mut self.running).poll_next(context);
            while let Ok(output) = self.written.try_recv() {
                join(&mut self.happened, output);
            }
            if let Poll::Ready(Some(ended)) = ended {
                self.happened.push_back(ended);
            }
            self.ending &= !self.running.is_empty();
        }
        match self.happened.pop_front() {
            Some(happening) => Poll::Ready(happening),
            None => Poll::Pending,
        }
    }
}

/// Adds output to what happened last when that is of the same command and stays small enough.
fn join(happened: &mut VecDeque<Happening>, next: Happening) {
    if let Happening::Output { id, delta } = &next
        && let Some(Happening::Output { id: last_id, delta: last }) = happened.back_mut()
        && id == last_id
        && last.len() + delta.len() <= MAX_DELTA
    {
        last.push_str(delta);
    } else {
        happened.push_back(next);
    }
}

/// One command and all it needs.
struct Job {
    order: Order,
    shell: PathBuf,
    cwd: PathBuf,
    env: Arc<ChildEnv>,
    scratch: Arc<Scratch>,
}

impl Job {
    async fn run(
        self,
        input: mpsc::Receiver<PtyInput>,
        cancel: CancellationToken,
        output: mpsc::UnboundedSender<Happening>,
    ) -> Happening {
        let Job { order, shell, cwd, env, scratch } = self;
        let Order { id, command, hidden, window } = order;
        let mut line_end = "\n";
        let place = match window.map(|window| Pty::open(window, input)) {
            None => CommandIo::Pipe(Flow::All),
            Some(Ok(pty)) => CommandIo::Terminal(Box::new(pty)),
            Some(Err(error)) => {
                output.send(Happening::NoTerminal { reason: paths::reason(&error) }).ok();
                // Whoever asked for a terminal gets lines as one gives them.
                line_end = "\r\n";
                CommandIo::Pipe(Flow::All)
            }
        };
        // The receiver lives as long as this future does, so nothing is lost by sending.
        let mut tell = |delta: &str, _: &crate::tools::TerminalOutput| {
            if !delta.is_empty() {
                let delta = if line_end == "\n" { delta.to_owned() } else { delta.replace('\n', line_end) };
                output.send(Happening::Output { id: id.clone(), delta }).ok();
            }
        };
        let shell_command = ShellCommand { shell: &shell, command: &command, cwd: &cwd, timeout: None };
        let running = process::run(place, shell_command, &env, &scratch, cancel, &mut tell);
        let outcome = AssertUnwindSafe(running).catch_unwind().await;
        let mut message = match outcome {
            Ok(Ok(finished)) => message(finished, &scratch),
            Ok(Err(error)) => failed(format!("{} cannot be started: {error}", shell.display())),
            Err(panic) => failed(format!("tau failed to run this: {}", panic_text(&*panic))),
        };
        message.command = command;
        message.exclude_from_context = hidden;
        Happening::Ended { id, message }
    }
}

/// The message of a command that ran.
fn message(finished: FinishedCommand, scratch: &Scratch) -> BashExecution {
    let (start, end) = finished.capture.plain();
    let (text, all) = if end.is_empty() { (start, true) } else { (end, false) };
    let kept = last_lines(&text, MAX_WEIGHT, MAX_LINES);
    let truncated = !all || kept.len() < text.len();
    let written = finished.output.full_output_path;
    BashExecution {
        full_output_path: written.or_else(|| truncated.then(|| keep(&finished.capture, scratch)).flatten()),
        truncated,
        output: kept.to_owned(),
        exit_code: finished.output.exit_code.filter(|_| !finished.cancelled),
        cancelled: finished.cancelled,
        ..failed(String::new())
    }
}

/// Writes output that is whole in memory to a file; none where that cannot be done.
fn keep(capture: &Capture, scratch: &Scratch) -> Option<String> {
    let whole = capture.whole()?;
    let mut file = scratch.create("bash").ok()?;
    for part in whole {
        file.append(part).ok()?;
    }
    Some(file.path().display().to_string())
}

/// The message of a command that could not run; the code is a shell's for that.
fn failed(output: String) -> BashExecution {
    BashExecution {
        command: String::new(),
        output,
        exit_code: Some(127),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        exclude_from_context: false,
        timestamp: now(),
    }
}
