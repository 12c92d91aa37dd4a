//! Child processes: their group, their environment, their output, their end.
//!
//! A command runs in its own session without a terminal, stdin null, both streams in one pipe,
//! so that the order of what it wrote is kept. The call ends when the shell exits plus a short
//! grace for the pipe. Parts: `process/environment.rs` (what children know), `capture.rs`
//! (output in bounded memory), `spill.rs` (the whole in a file), `family.rs` (all processes of
//! a command, and their end). What the model reads of it is made in `bash.rs`.

pub mod capture;
pub mod environment;
pub mod family;
pub mod spill;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::TerminalOutput;
use super::scratch::Scratch;
use capture::Capture;
pub use environment::ChildEnv;
use family::{Family, Member};
use spill::{Spill, Spilled};

/// How long the pipe is read after the shell has exited.
const GRACE: Duration = Duration::from_millis(200);
/// Shortest time between two reports of output.
const REPORT_EVERY: Duration = Duration::from_millis(50);
/// Output shown while it runs, in bytes from the end.
const SHOWN_RUNNING: usize = 20 * 1024;
/// Output shown when it has ended, in bytes from the end.
const SHOWN_ENDED: usize = 64 * 1024;
/// One read. Also the size asked for the pipe, so that a fast writer is not woken too often.
const PIECE: usize = 128 * 1024;
const PIPE_SIZE: usize = 512 * 1024;

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
    /// Head and tail of the raw output.
    pub capture: Capture,
    /// Where the whole output is when it was too large for memory.
    pub spilled: Spilled,
    /// Background processes that go on and hold the output open. What they write from now on
    /// goes to the end of the spilled file.
    pub holders: Vec<Member>,
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

/// Told of output: what came since the last time, and all of it so far.
pub type OnOutput<'a> = dyn FnMut(&str, &TerminalOutput) + Send + 'a;

/// Runs a command in its own session and process group, stdin null. `on_output` is told of new
/// output at most every 50 ms: its text (UTF-8 made whole, raw otherwise; of a flood only the
/// end) and the state so far. `cancel`, the timeout or dropping the future end all processes
/// of the command: TERM, then KILL (a drop kills at once).
///
/// # Errors
/// When the shell cannot be started.
pub async fn run(
    command: ShellCommand<'_>,
    env: &ChildEnv,
    scratch: &Scratch,
    cancel: CancellationToken,
    on_output: &mut OnOutput<'_>,
) -> io::Result<Finished> {
    let started = Instant::now();
    let (child, pipe, family) = spawn(&command, env)?;
    let run = Run {
        child,
        pipe: Some(pipe),
        family: Armed(Some(family)),
        capture: Capture::default(),
        spill: Spill::default(),
        report: Report { due: started, pending: Vec::new(), fresh: false, tell: on_output },
        status: None,
        ending: None,
        why: Why::Itself,
    };
    let deadline = command.timeout.and_then(|seconds| started.checked_add(Duration::from_secs(seconds)));
    run.until_its_end(started, deadline, scratch, cancel).await
}

/// Starts the shell. Its end of the pipe is closed here when this returns.
fn spawn(command: &ShellCommand<'_>, env: &ChildEnv) -> io::Result<(Child, pipe::Receiver, Family)> {
    let (reader, writer) = io::pipe()?;
    // Larger is only faster; a limit on pipes of one user is no reason to fail.
    rustix::pipe::fcntl_setpipe_size(&reader, PIPE_SIZE).ok();
    let id = run_id();
    let mut shell = Command::new(command.shell);
    shell
        .arg("-c")
        .arg(command.command)
        .current_dir(command.cwd)
        .env_clear()
        .envs(env.variables().iter().map(|(name, value)| (name, value)))
        .env(family::MARK, &id)
        .stdin(Stdio::null())
        .stdout(Stdio::from(writer.try_clone()?))
        .stderr(Stdio::from(writer));
    own_session(&mut shell);
    let child = shell.spawn()?;
    let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let leader = leader.ok_or_else(|| io::Error::other("the shell ended before it began"))?;
    let pipe = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    Ok((child, pipe, Family::new(leader, &id)))
}

/// Names a run: unique among the processes of this machine and the runs of this process.
fn run_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", uuid::Uuid::now_v7().simple(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[allow(unsafe_code, reason = "the only way to have a child leave the terminal's session before exec")]
fn own_session(shell: &mut Command) {
    let prepare = || {
        rustix::process::setsid()?;
        // Orphans of the shell stay its children, so that they are found when it must end.
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated and no
    // lock is taken, so the state of other threads at the fork does not matter.
    unsafe {
        shell.pre_exec(prepare);
    }
}

/// Kills the family when dropped, unless it was taken out.
struct Armed(Option<Family>);

impl Drop for Armed {
    fn drop(&mut self) {
        if let Some(family) = &self.0 {
            family.kill_now();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Why {
    Itself,
    Cancelled,
    TimedOut,
}

struct Run<'a> {
    child: Child,
    /// None once every writer has closed it.
    pipe: Option<pipe::Receiver>,
    family: Armed,
    capture: Capture,
    spill: Spill,
    report: Report<'a>,
    status: Option<ExitStatus>,
    /// The thread that ends the family, once that was asked for.
    ending: Option<JoinHandle<()>>,
    why: Why,
}

impl Run<'_> {
    async fn until_its_end(
        mut self,
        started: Instant,
        deadline: Option<Instant>,
        scratch: &Scratch,
        cancel: CancellationToken,
    ) -> io::Result<Finished> {
        let mut piece = vec![0; PIECE];
        let mut grace = started;
        while !self.is_over() {
            let waiting = self.status.is_none();
            tokio::select! {
                biased;
                () = cancel.cancelled(), if self.ending.is_none() => self.end(Why::Cancelled),
                () = at(deadline), if waiting && self.ending.is_none() => self.end(Why::TimedOut),
                status = self.child.wait(), if waiting => {
                    self.status = Some(status?);
                    grace = Instant::now() + GRACE;
                }
                () = ended(&mut self.ending), if self.ending.is_some() => {
                    self.ending = None;
                    // What cannot be killed is not waited for.
                    grace = grace.max(Instant::now() + GRACE);
                    if self.status.is_none() {
                        break;
                    }
                }
                () = sleep_until(grace), if !waiting && self.ending.is_none() => break,
                () = sleep_until(self.report.due), if self.report.fresh => self.report.now(&self.capture),
                read = read(&mut self.pipe, &mut piece), if self.pipe.is_some() => match read {
                    Ok(0) | Err(_) => self.pipe = None,
                    Ok(length) => self.take(piece.get(..length).unwrap_or_default(), scratch).await,
                },
            }
        }
        let duration = started.elapsed();
        self.finish(duration, scratch).await
    }

    fn is_over(&self) -> bool {
        self.status.is_some() && self.pipe.is_none() && self.ending.is_none()
    }

    /// Has the family ended by a thread, while output is still read.
    fn end(&mut self, why: Why) {
        self.why = why;
        if let Some(family) = self.family.0.clone() {
            self.ending = Some(tokio::task::spawn_blocking(move || family.end()));
        }
    }

    async fn take(&mut self, piece: &[u8], scratch: &Scratch) {
        if !self.capture.has_room(piece.len()) {
            self.spill.begin(scratch, &self.capture).await;
        }
        self.spill.write(piece).await;
        self.capture.push(piece);
        self.report.take(piece);
        if self.report.due <= Instant::now() {
            self.report.now(&self.capture);
        }
    }

    async fn finish(mut self, duration: Duration, scratch: &Scratch) -> io::Result<Finished> {
        // A process that was asked to end is not let go; one that ended by itself may leave
        // others behind on purpose.
        let family = self.family.0.take();
        let mut holders = Vec::new();
        let mut spilled = None;
        if let (Some(pipe), Some(family)) = (self.pipe.take(), family) {
            let inode = rustix::fs::fstat(pipe.as_fd()).map(|stat| stat.st_ino).unwrap_or(0);
            holders = tokio::task::spawn_blocking(move || family.holders(inode)).await.unwrap_or_default();
            if !holders.is_empty() {
                self.spill.begin(scratch, &self.capture).await;
                spilled = Some(Spilled { path: self.spill.path().cloned(), trouble: None });
                read_on(pipe, std::mem::take(&mut self.spill));
            }
        }
        let spilled = match spilled {
            Some(spilled) => spilled,
            None => std::mem::take(&mut self.spill).finish().await,
        };
        if self.report.fresh {
            self.report.now(&self.capture);
        }
        let mut output = snapshot(&self.capture, SHOWN_ENDED);
        output.exit_code = self.status.and_then(|status| status.code());
        output.signal = self.status.and_then(|status| status.signal());
        output.full_output_path = spilled.path.as_ref().map(|path| path.display().to_string());
        Ok(Finished {
            output,
            cancelled: self.why == Why::Cancelled,
            timed_out: self.why == Why::TimedOut,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            capture: self.capture,
            spilled,
            holders,
        })
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn ended(ending: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = ending {
        thread.await.ok();
    }
}

async fn read(pipe: &mut Option<pipe::Receiver>, piece: &mut [u8]) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.read(piece).await,
        None => std::future::pending().await,
    }
}

/// Goes on reading for processes left in the background: a closed pipe would end a server at
/// its next line of log.
fn read_on(mut pipe: pipe::Receiver, spill: Spill) {
    tokio::spawn(async move {
        let mut piece = vec![0; 16 * 1024];
        while let Ok(length) = pipe.read(&mut piece).await {
            if length == 0 {
                break;
            }
            spill.write(piece.get(..length).unwrap_or_default()).await;
        }
        spill.finish().await;
    });
}

fn snapshot(capture: &Capture, most: usize) -> TerminalOutput {
    let (text, truncated) = capture.tail_text(most);
    TerminalOutput { text, truncated, total_lines: capture.total_lines(), ..TerminalOutput::default() }
}

/// Reports of output, at most one in [`REPORT_EVERY`].
struct Report<'a> {
    due: Instant,
    /// Output not reported yet; of a flood only its end.
    pending: Vec<u8>,
    fresh: bool,
    tell: &'a mut OnOutput<'a>,
}

impl Report<'_> {
    fn take(&mut self, piece: &[u8]) {
        self.fresh = true;
        let piece = piece.get(piece.len().saturating_sub(SHOWN_RUNNING)..).unwrap_or_default();
        let over = (self.pending.len() + piece.len()).saturating_sub(2 * SHOWN_RUNNING);
        self.pending.drain(..over.min(self.pending.len()));
        self.pending.extend_from_slice(piece);
    }

    fn now(&mut self, capture: &Capture) {
        self.fresh = false;
        self.due = Instant::now() + REPORT_EVERY;
        let whole = whole_characters(&self.pending);
        let delta = String::from_utf8_lossy(self.pending.get(..whole).unwrap_or_default()).into_owned();
        self.pending.drain(..whole);
        (self.tell)(&delta, &snapshot(capture, SHOWN_RUNNING));
    }
}

/// Length without an unfinished character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes.get(bytes.len().saturating_sub(4)..).unwrap_or_default()) {
        Err(error) if error.error_len().is_none() => bytes.len() - (bytes.len().min(4) - error.valid_up_to()),
        // The last four bytes may begin inside a character; look behind its end.
        Err(error) => {
            let tail = bytes.len().min(4) - error.valid_up_to() - error.error_len().unwrap_or(0);
            let start = bytes.len() - tail;
            match std::str::from_utf8(bytes.get(start..).unwrap_or_default()) {
                Err(error) if error.error_len().is_none() => start + error.valid_up_to(),
                _ => bytes.len(),
            }
        }
        Ok(_) => bytes.len(),
    }
}
