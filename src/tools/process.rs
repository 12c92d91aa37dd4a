//! Runs commands: their session, environment and output, and the termination of their processes.
//!
//! A command runs in its own session: without a terminal, with stdin from /dev/null and both output streams
//! in one pipe, so that their order is kept, or with streams of the caller; or, for a user, in a terminal of
//! its own. The call ends when the command exits, plus a short grace period for the pipe. Parts:
//! `process/spawn.rs` (start), `signals.rs` (signals it must not inherit), `environment.rs` (its variables),
//! `git.rs` (variables for git), `pty.rs` (the terminal), `screen_lines.rs` (lines kept of a terminal's
//! screen), `capture.rs` (output in bounded memory), `report.rs` (progress), `spill.rs` (the full output in
//! a file), `watched.rs` (a running command as others see it), `mark.rs` (the mark of a command's processes),
//! `process_tree.rs` (all of them, and their end), `left.rs` (those that sessions have left), `server.rs`
//! (programs that run as long as tau needs them). The result for the model is written in `bash.rs`.

pub mod capture;
pub mod environment;
pub mod git;
pub mod left;
mod mark;
mod no_editor;
pub(crate) mod process_tree;
pub mod pty;
pub mod report;
pub(crate) mod screen_lines;
pub mod secret_variables;
pub mod server;
mod signals;
mod spawn;
pub(crate) mod spill;
pub mod watched;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::TerminalOutput;
use super::access::{DeniedFile, DeniedFiles, FileFilter};
use super::sandbox::SandboxPolicy;
use super::sandbox::confinement::{Confinement, covers_files};
use super::sandbox::denial::{self, FailedCommand};
use super::sandbox::support::Support;
use super::scratch::Scratch;
use crate::deadline;
use capture::Capture;
pub use environment::ChildEnv;
pub use mark::MARK;
use process_tree::{ProcessTree, STOP_GRACE, TERM_GRACE, TreeMember};
pub use process_tree::{has_ended, is_suspended};
use pty::Pty;
pub use report::{Flow, OnOutput};
use report::{Report, snapshot};
use screen_lines::ScreenLines;
use spawn::{Output, PIPE_SIZE, SpawnedCommand, spawn};
use spill::{Spill, SpillLocation};
use watched::WatchedCommand;

/// How long to wait for more output after the shell has exited. Output already in the pipe is read in any
/// case.
const GRACE: Duration = Duration::from_millis(200);
/// After this long without output, a command may be waiting for input.
const QUIET: Duration = Duration::from_secs(1);
/// The number of bytes shown from the end of the output, once the command has ended.
const SHOWN_ENDED: usize = 64 * 1024;
/// The size of one read.
const PIECE: usize = 128 * 1024;

/// The end of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedCommand {
    /// Its output and exit code or signal.
    pub output: TerminalOutput,
    /// True if it was cancelled.
    pub cancelled: bool,
    /// True if it timed out.
    pub timed_out: bool,
    /// The run time in milliseconds.
    pub duration_ms: u64,
    /// The head and tail of the raw output.
    pub capture: Capture,
    /// The file with the full output, if it was too large for memory.
    pub spilled: SpillLocation,
    /// A line for each file that a rule denied to it, and one if there are more than were kept from it.
    pub denials: Vec<String>,
    /// Background processes that keep running and hold the output open. Their later output is appended to
    /// the spilled file.
    pub survivors: Vec<TreeMember>,
}

impl FinishedCommand {
    /// A command that was run to its end by something else.
    pub(crate) fn elsewhere(text: &str, exit_code: Option<i32>, duration: Duration) -> Self {
        let mut capture = Capture::default();
        capture.push(text.as_bytes());
        let mut output = snapshot(&capture, SHOWN_ENDED);
        output.exit_code = exit_code;
        FinishedCommand {
            output,
            cancelled: false,
            timed_out: false,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            capture,
            spilled: SpillLocation::default(),
            denials: Vec::new(),
            survivors: Vec::new(),
        }
    }
}

/// The command to run.
#[derive(Clone, Debug)]
pub struct CommandLine<'a> {
    /// A name to look up in `PATH`, or a path.
    pub program: &'a OsStr,
    pub arguments: &'a [&'a str],
    /// Variables besides those of the [`ChildEnv`].
    pub variables: &'a [(String, String)],
    /// The directory it runs in. Absolute.
    pub cwd: &'a Path,
    /// The time limit in seconds.
    pub timeout: Option<u64>,
    /// The restrictions on the command and everything it starts.
    pub sandbox: &'a SandboxPolicy,
    /// The rules on files for a command of the model: what they deny is kept from it.
    pub files: Option<&'a Arc<dyn FileFilter>>,
}

/// The input and output of a command.
#[derive(Debug)]
pub enum CommandIo {
    /// No input, and one pipe for both output streams.
    Pipe(Flow),
    /// Input from a stream, and one pipe for both output streams; with `stdout`, the pipe is for errors
    /// only.
    Streams { flow: Flow, stdin: OwnedFd, stdout: Option<OwnedFd> },
    /// A terminal of its own.
    Terminal(Box<Pty>),
}

/// Runs a command in its own session and process group. `on_output` gets new output about every 50 ms: its
/// text (cut between characters, otherwise raw; in a flood, as much as `io` allows) and the state so far.
/// `cancel`, the timeout or dropping the future end all processes of the command: TERM, then KILL (after a tenth of a
/// second when it is cancelled; a drop kills at once). `watched`: what others see of it meanwhile.
pub async fn run(
    io: CommandIo,
    command: CommandLine<'_>,
    env: &ChildEnv,
    scratch: &Scratch,
    cancel: CancellationToken,
    on_output: &mut OnOutput<'_>,
    watched: Arc<WatchedCommand>,
) -> io::Result<FinishedCommand> {
    let started = Instant::now();
    let flow = match &io {
        CommandIo::Pipe(flow) | CommandIo::Streams { flow, .. } => *flow,
        // A screen needs all output, so a flood must wait.
        CommandIo::Terminal(_) => Flow::All,
    };
    let screen = match &io {
        CommandIo::Pipe(_) | CommandIo::Streams { .. } => None,
        CommandIo::Terminal(pty) => Some(ScreenLines::new(pty.window())),
    };
    let denied = denied_files(&command).await;
    let SpawnedCommand { child, output, tree, confinement, private, running } =
        spawn(io, &command, &denied.files, env, scratch)?;
    watched.tree.get_or_init(|| tree.clone());
    let run = Run {
        child,
        output: Some(output),
        screen,
        tree: KillOnDrop(Some(tree)),
        watched,
        spill: Spill::default(),
        report: Report::new(flow, on_output),
        quiet: started.checked_add(QUIET),
        status: None,
        ending: None,
        why: EndReason::Itself,
    };
    let deadline = command.timeout.and_then(|seconds| started.checked_add(Duration::from_secs(seconds)));
    let mut finished = run.until_its_end(started, deadline, scratch, cancel).await?;
    if let Some(confinement) = confinement {
        record_denial(&mut finished, &command, &denied.files, &confinement);
    }
    finished.denials.extend(denied.shortfall);
    drop(private);
    if !finished.cancelled && !finished.timed_out {
        running.end();
    }
    Ok(finished)
}

/// The files that rules keep from the command, where the kernel can. Without such rules nothing is looked for.
async fn denied_files(command: &CommandLine<'_>) -> DeniedFiles {
    let Some(files) = command.files.filter(|files| files.has_denials()) else {
        return DeniedFiles::default();
    };
    let (files, can_cover) = (Arc::clone(files), command.sandbox.namespaces);
    let found = move || {
        if can_cover && covers_files() { files.denied_files() } else { DeniedFiles::default() }
    };
    tokio::task::spawn_blocking(found).await.unwrap_or_default()
}

/// Records in `finished` what rules on files denied to the command, and what the sandbox did, if it failed.
fn record_denial(
    finished: &mut FinishedCommand,
    command: &CommandLine<'_>,
    denied: &[DeniedFile],
    confinement: &Confinement,
) {
    let removed = confinement.clear_away();
    let failed = finished.output.exit_code != Some(0) && !finished.cancelled && !finished.timed_out;
    let (head, tail) = finished.capture.plain();
    let output = if tail.is_empty() { &head } else { &tail };
    finished.denials = denial::denials_by_rules(denied, command.cwd, output);
    let probably = || {
        let ended = FailedCommand {
            cwd: command.cwd,
            output,
            signal: finished.output.signal,
            guard: confinement.guard,
        };
        denial::recognise(command.sandbox, Support::here().enforcement(command.sandbox), ended)
    };
    finished.output.blocked =
        removed.or_else(|| if failed && finished.denials.is_empty() { probably() } else { None });
}

/// Kills the tree when dropped, unless it was taken out.
struct KillOnDrop(Option<ProcessTree>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(tree) = &self.0 {
            tree.kill_now();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EndReason {
    Itself,
    Cancelled,
    TimedOut,
}

struct Run<'a> {
    child: Child,
    /// `None` once every writer has closed it.
    output: Option<Output>,
    /// The screen of the terminal, if there is one.
    screen: Option<ScreenLines>,
    tree: KillOnDrop,
    /// Has the output so far.
    watched: Arc<WatchedCommand>,
    spill: Spill,
    report: Report<'a>,
    /// When to check whether it waits for input: once after each output.
    quiet: Option<Instant>,
    status: Option<ExitStatus>,
    /// The thread that ends all processes, once started.
    ending: Option<JoinHandle<()>>,
    why: EndReason,
}

impl Run<'_> {
    async fn until_its_end(
        mut self,
        started: Instant,
        deadline: Option<Instant>,
        scratch: &Scratch,
        cancel: CancellationToken,
    ) -> io::Result<FinishedCommand> {
        let mut piece = vec![0; PIECE];
        let mut grace = started;
        // A process left in the background may write forever; the pipe holds no more than this.
        let mut late = PIPE_SIZE;
        let watched = Arc::clone(&self.watched);
        let mut wants_file = pin!(watched.wants_file());
        while !self.is_over() {
            let waiting = self.status.is_none();
            tokio::select! {
                biased;
                () = cancel.cancelled(), if self.why == EndReason::Itself => self.end(EndReason::Cancelled),
                () = deadline::until(deadline), if waiting && self.why == EndReason::Itself => self.end(EndReason::TimedOut),
                status = self.child.wait(), if waiting => {
                    self.on_exit(status?);
                    grace = Instant::now() + GRACE;
                }
                () = wait_for_thread(&mut self.ending), if self.ending.is_some() => {
                    self.ending = None;
                    grace = grace.max(Instant::now() + GRACE);
                    if waiting {
                        // It may have ended unnoticed. A process that cannot be killed is not waited for.
                        let Some(status) = self.child.try_wait()? else { break };
                        self.on_exit(status);
                    }
                }
                () = &mut wants_file, if !self.spill.is_begun() => self.begin_file(scratch).await,
                () = sleep_until(self.report.due()), if self.report.fresh => self.report_now(),
                () = deadline::until(self.quiet), if waiting && self.quiet.is_some() => self.end_editors(scratch).await,
                read = read(&mut self.output, &mut piece), if self.output.is_some() && late > 0 => match read {
                    // Reading from a terminal that was hung up is an error.
                    Ok(0) | Err(_) => self.output = None,
                    Ok(length) => {
                        self.take(piece.get(..length).unwrap_or_default(), scratch).await;
                        if !waiting && grace <= Instant::now() {
                            late = late.saturating_sub(length);
                        }
                    }
                },
                // After the output, so that none is left in the pipe because this took long.
                () = sleep_until(grace), if !waiting && self.ending.is_none() => break,
            }
        }
        let duration = started.elapsed();
        self.finish(duration, scratch).await
    }

    fn on_exit(&mut self, status: ExitStatus) {
        self.status = Some(status);
        if let Some(Output::Terminal(pty)) = &mut self.output {
            pty.let_go();
        }
    }

    fn is_over(&self) -> bool {
        self.status.is_some() && self.output.is_none() && self.ending.is_none()
    }

    /// Ends all processes on a thread while output is still being read.
    fn end(&mut self, why: EndReason) {
        self.why = why;
        if let Some(tree) = self.tree.0.clone() {
            let has_time = why == EndReason::TimedOut || self.watched.has_time.load(Ordering::Relaxed);
            let grace = if has_time { TERM_GRACE } else { STOP_GRACE };
            self.ending = Some(tokio::task::spawn_blocking(move || tree.end(grace)));
        }
    }

    /// Ends an editor that nobody can type into.
    async fn end_editors(&mut self, scratch: &Scratch) {
        self.quiet = None;
        let (Some(Output::Pipe(_)), Some(tree)) = (&self.output, self.tree.0.clone()) else { return };
        let link = self.output.as_ref().map(Output::link).unwrap_or_default();
        let look = tokio::task::spawn_blocking(move || tree.end_waiting_for_keys(&link));
        if look.await.unwrap_or_default() {
            self.take(format!("\n{}\n", no_editor::MESSAGE).as_bytes(), scratch).await;
        }
    }

    async fn take(&mut self, piece: &[u8], scratch: &Scratch) {
        self.quiet = Instant::now().checked_add(QUIET);
        let kept = lines(&mut self.screen, &self.output, piece);
        self.keep(&kept, scratch).await;
        self.report.take(piece);
        if self.report.is_due() {
            let full = self.report.is_full();
            self.report_now();
            if full {
                tokio::task::yield_now().await;
            }
        }
    }

    async fn keep(&mut self, kept: &[u8], scratch: &Scratch) {
        if !self.watched.capture.lock().has_room(kept.len()) {
            self.begin_file(scratch).await;
        }
        self.spill.write(kept).await;
        let size = {
            let mut capture = self.watched.capture.lock();
            capture.push(kept);
            capture.total_bytes()
        };
        self.watched.size.send_replace(size);
    }

    fn report_now(&mut self) {
        self.report.now(&self.watched.capture.lock());
    }

    /// Begins the file with the whole output.
    async fn begin_file(&mut self, scratch: &Scratch) {
        if self.spill.is_begun() {
            return;
        }
        let [first, rest] = self.watched.capture.lock().whole().unwrap_or_default().map(<[u8]>::to_vec);
        self.spill.begin(scratch, &[&first, &rest]).await;
        let file = match (self.spill.path(), self.spill.trouble()) {
            (Some(path), _) => Ok(path.clone()),
            (None, trouble) => Err(trouble.unwrap_or_default().into()),
        };
        self.watched.file.send_replace(Some(file));
    }

    async fn finish(mut self, duration: Duration, scratch: &Scratch) -> io::Result<FinishedCommand> {
        // A command that was ended takes all its processes with it; one that exited by itself may leave some
        // running on purpose.
        let tree = self.tree.0.take();
        if let Some(screen) = self.screen.take() {
            self.keep(&screen.rest(), scratch).await;
        }
        let mut survivors = Vec::new();
        let mut spilled = None;
        if let (Some(output), Some(tree)) = (self.output.take(), tree) {
            let link = output.link();
            survivors = tokio::task::spawn_blocking(move || tree.survivors(&link)).await.unwrap_or_default();
            if !survivors.is_empty() {
                self.begin_file(scratch).await;
                spilled = Some(SpillLocation { path: self.spill.path().cloned(), trouble: None });
                read_on(output, std::mem::take(&mut self.spill));
            }
        }
        let spilled = match spilled {
            Some(spilled) => spilled,
            None => std::mem::take(&mut self.spill).finish().await,
        };
        if self.report.fresh {
            self.report_now();
        }
        let capture = match self.watched.is_kept() {
            true => self.watched.capture.lock().clone(),
            false => std::mem::take(&mut *self.watched.capture.lock()),
        };
        let mut output = snapshot(&capture, SHOWN_ENDED);
        output.exit_code = self.status.and_then(|status| status.code());
        output.signal = self.status.and_then(|status| status.signal());
        output.full_output_path = spilled.path.as_ref().map(|path| path.display().to_string());
        Ok(FinishedCommand {
            output,
            cancelled: self.why == EndReason::Cancelled,
            timed_out: self.why == EndReason::TimedOut,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            capture,
            spilled,
            denials: Vec::new(),
            survivors,
        })
    }
}

async fn wait_for_thread(ending: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = ending {
        thread.await.ok();
    }
}

async fn read(output: &mut Option<Output>, piece: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(piece).await,
        None => std::future::pending().await,
    }
}

/// The part of the output that is kept: everything from a pipe; from a terminal, the lines that left its
/// screen.
fn lines<'a>(screen: &mut Option<ScreenLines>, output: &Option<Output>, piece: &'a [u8]) -> Cow<'a, [u8]> {
    let Some(screen) = screen else { return Cow::Borrowed(piece) };
    if let Some(Output::Terminal(pty)) = output {
        screen.resize(pty.window());
    }
    Cow::Owned(screen.take(piece))
}

/// Keeps reading for background processes: a closed pipe would end a server at its next line of log.
fn read_on(output: Output, spill: Spill) {
    tokio::spawn(async move {
        let mut piece = vec![0; 16 * 1024];
        let mut screen = match &output {
            Output::Pipe(_) => None,
            Output::Terminal(pty) => Some(ScreenLines::new(pty.window())),
        };
        let mut output = Some(output);
        while let Ok(length) = read(&mut output, &mut piece).await {
            if length == 0 {
                break;
            }
            spill.write(&lines(&mut screen, &output, piece.get(..length).unwrap_or_default())).await;
        }
        if let Some(screen) = screen {
            spill.write(&screen.rest()).await;
        }
        spill.finish().await;
    });
}
