//! Signals from outside, as values.
//!
//! While [`Signals`] lives, none of its watched signals ends the program by itself; its owner decides. The
//! consequences of a signal (taking the terminal back, aborting a run) are not handled here.
//!
//! A handler that is installed here does not reach child processes: `exec` resets it to the default.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::Interest;
use tokio::net::unix::pipe::Sender;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::Exit;
use tau_tools::user_error::UserError;

/// A received signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaughtSignal {
    /// SIGINT. On the screen, Ctrl+C does not send it: there it is a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
    /// Another signal that ends a program by default, such as SIGQUIT or SIGUSR1; its number.
    Fatal(u8),
    /// SIGTSTP: the program should stop for a while.
    Suspend,
    /// SIGCONT: the program continues after a stop.
    Continue,
    /// SIGWINCH: the terminal was resized.
    Resize,
    /// Nobody reads standard output any more: what SIGPIPE says at the next write, said at once.
    Pipe,
}

impl CaughtSignal {
    /// The number of SIGQUIT, which Ctrl+\ sends.
    pub(crate) const QUIT: u8 = 3;

    /// The program's end for this signal; `None` if it continues.
    pub fn exit(self) -> Option<Exit> {
        match self {
            CaughtSignal::Interrupt => Some(Exit::Aborted),
            CaughtSignal::Terminate => Some(Exit::Terminated),
            CaughtSignal::HangUp => Some(Exit::HungUp),
            CaughtSignal::Fatal(number) => Some(Exit::Signal(number)),
            // A reader who has seen enough is no failure.
            CaughtSignal::Pipe => Some(Exit::Ok),
            CaughtSignal::Suspend | CaughtSignal::Continue | CaughtSignal::Resize => None,
        }
    }
}

/// The signals beside SIGINT, SIGTERM and SIGHUP that end a program by default and can be caught. Signals
/// that a program causes itself (SIGABRT, SIGSEGV, SIGSYS, …) are not among them.
const FATAL: [rustix::process::Signal; 7] = {
    use rustix::process::Signal as S;
    [S::QUIT, S::USR1, S::USR2, S::ALARM, S::XCPU, S::VTALARM, S::PROF]
};

/// Lets a write beyond the file size limit fail with EFBIG, which is reported like any other
/// failed write; by default SIGXFSZ would end the program. For children the default remains.
pub(crate) fn survive_file_size_limit() {
    let number = rustix::process::Signal::XFSZ.as_raw();
    // Where the system refuses, the default applies, as it would without this call.
    let _ = signal_hook::flag::register(number, Arc::new(AtomicBool::new(false)));
}

/// Minimum number of open files for answering, running commands and saving a session.
const MIN_OPEN_FILES: u64 = 64;

/// Raises the limit of open files, if possible. The error is the remedy if it is not.
pub(crate) fn allow_open_files() -> Result<(), UserError> {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    let few = |limit: Option<u64>| limit.is_some_and(|files| files < MIN_OPEN_FILES);
    if few(limit.current) {
        limit.current = if few(limit.maximum) { limit.maximum } else { Some(MIN_OPEN_FILES) };
        // If the system refuses, the limit stays.
        let _ = setrlimit(Resource::Nofile, limit);
    }
    match getrlimit(Resource::Nofile).current {
        Some(files) if files < MIN_OPEN_FILES => Err(format!(
            "at most {files} files can be open at once, too few to run and to save a session; raise the limit \
             (ulimit -n 256) and start again"
        ).into()),
        _ => Ok(()),
    }
}

/// The wait for one signal, which gives back its watch if the signal can come again.
type Wait = Pin<Box<dyn Future<Output = (CaughtSignal, Option<Signal>)> + Send>>;

/// A watch over signals.
#[derive(Debug)]
pub struct Signals {
    /// There are dozens, and a front end waits for them beside each event: only those that came are looked at.
    waits: FuturesUnordered<Wait>,
    /// Whether SIGTSTP has come since the last stop.
    is_stop_due: Arc<AtomicBool>,
}

impl Signals {
    /// Watches the signals that concern a program with a screen. Needs a tokio runtime. Fails when the system
    /// refuses.
    pub(crate) fn for_screen() -> io::Result<Self> {
        let mut kinds = vec![
            (CaughtSignal::Terminate, SignalKind::terminate()),
            (CaughtSignal::HangUp, SignalKind::hangup()),
            (CaughtSignal::Interrupt, SignalKind::interrupt()),
            (CaughtSignal::Suspend, SignalKind::from_raw(Self::SIGTSTP)),
            (CaughtSignal::Continue, SignalKind::from_raw(Self::SIGCONT)),
            (CaughtSignal::Resize, SignalKind::window_change()),
        ];
        kinds.extend(fatal());
        // Before the watch, which wakes those who then look.
        let is_stop_due = Arc::<AtomicBool>::default();
        signal_hook::flag::register(Self::SIGTSTP, Arc::clone(&is_stop_due))?;
        Ok(Signals { is_stop_due, ..Self::watch(&kinds)? })
    }

    /// Watches the signals that end a program without a screen. A hangup ignored because of `nohup` stays
    /// ignored. Fails when the system refuses.
    pub(crate) fn for_batch() -> io::Result<Self> {
        let mut kinds = vec![
            (CaughtSignal::Interrupt, SignalKind::interrupt()),
            (CaughtSignal::Terminate, SignalKind::terminate()),
        ];
        if !ignores_hang_up() {
            kinds.push((CaughtSignal::HangUp, SignalKind::hangup()));
        }
        kinds.extend(fatal());
        Self::watch(&kinds)
    }

    const SIGTSTP: i32 = rustix::process::Signal::TSTP.as_raw();
    const SIGCONT: i32 = rustix::process::Signal::CONT.as_raw();

    fn watch(kinds: &[(CaughtSignal, SignalKind)]) -> io::Result<Self> {
        let waits = kinds.iter().map(|(caught, kind)| Ok(wait(*caught, signal(*kind)?)));
        Ok(Signals { waits: waits.collect::<io::Result<_>>()?, is_stop_due: Arc::default() })
    }

    /// Also tells, once, that nobody reads standard output any more. For a front end whose output is the run itself: it
    /// would notice at its next write, which may be after the next request.
    pub(crate) fn watch_reader(&mut self) {
        self.waits.push(Box::pin(async {
            reader_gone().await;
            (CaughtSignal::Pipe, None)
        }));
    }

    /// The next signal. Safe to drop before it completes. Several signals of one kind may be merged.
    pub async fn next(&mut self) -> CaughtSignal {
        loop {
            let Some((caught, watch)) = self.waits.next().await else { return std::future::pending().await };
            self.waits.extend(watch.map(|watch| wait(caught, watch)));
            if caught != CaughtSignal::Suspend || self.is_stop_due.swap(false, Ordering::SeqCst) {
                return caught;
            }
        }
    }

    /// Forgets each SIGTSTP that came before the program was stopped and continued: a request to a process group reaches
    /// the program more than once.
    pub(crate) fn forget_stop(&self) {
        self.is_stop_due.store(false, Ordering::SeqCst);
    }

    /// Waits for a signal that ends the process. Safe to drop before it completes.
    pub(crate) async fn exit(&mut self) -> Exit {
        loop {
            if let Some(exit) = self.next().await.exit() {
                return exit;
            }
        }
    }
}

fn wait(caught: CaughtSignal, mut watch: Signal) -> Wait {
    Box::pin(async move {
        if watch.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        (caught, Some(watch))
    })
}

/// Completes when the reader of standard output has gone; never where it is a file.
async fn reader_gone() {
    let gone = async {
        // Shared with those who write: it stays as they know it.
        let output = Sender::from_owned_fd_unchecked(rustix::stdio::stdout().try_clone_to_owned()?)?;
        output.ready(Interest::ERROR).await
    };
    if gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn fatal() -> impl Iterator<Item = (CaughtSignal, SignalKind)> {
    let kind =
        |number: i32| Some((CaughtSignal::Fatal(u8::try_from(number).ok()?), SignalKind::from_raw(number)));
    let numbers = FATAL.map(rustix::process::Signal::as_raw).into_iter().chain(fatal_on_linux());
    numbers.filter_map(kind)
}

/// The signals that end a program on Linux only: SIGIO, SIGPWR, SIGSTKFLT, and the real-time signals
/// available to programs.
#[cfg(target_os = "linux")]
fn fatal_on_linux() -> impl Iterator<Item = i32> {
    use rustix::process::Signal as S;

    [S::IO, S::POWER, S::STKFLT].map(S::as_raw).into_iter().chain(REAL_TIME)
}

/// Without the signals that C libraries use themselves.
#[cfg(target_os = "linux")]
const REAL_TIME: std::ops::RangeInclusive<i32> = 35..=64;

#[cfg(not(target_os = "linux"))]
fn fatal_on_linux() -> impl Iterator<Item = i32> {
    std::iter::empty()
}

/// Whether SIGHUP is ignored, which a program inherits. Only known on Linux.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = rustix::process::Signal::HUP.as_raw() - 1;
    mask.is_some_and(|mask| mask >> bit & 1 == 1)
}
