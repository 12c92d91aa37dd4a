//! Signals from outside, as values.
//!
//! While [`Signals`] lives none of them ends the program by itself; whoever holds it decides.
//! What follows from a signal (taking the terminal back, aborting a run) is not done here.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::Exit;

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caught {
    /// SIGINT. Not what Ctrl+C sends on the screen: there it is a key.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP: the terminal was closed.
    HangUp,
    /// SIGTSTP: the program should stop for a while.
    Suspend,
    /// SIGCONT: it goes on after a stop.
    Continue,
    /// SIGWINCH: the terminal has another size.
    Resize,
}

impl Caught {
    /// How the program ends by this signal; none when it goes on.
    pub fn exit(self) -> Option<Exit> {
        match self {
            Caught::Interrupt => Some(Exit::Aborted),
            Caught::Terminate => Some(Exit::Terminated),
            Caught::HangUp => Some(Exit::HungUp),
            Caught::Suspend | Caught::Continue | Caught::Resize => None,
        }
    }
}

/// A watch over signals.
#[derive(Debug)]
pub struct Signals {
    watched: Vec<(Caught, Signal)>,
}

impl Signals {
    /// Watches for what concerns a program with a screen. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system refuses.
    pub fn for_screen() -> io::Result<Self> {
        Self::watch(&[
            (Caught::Terminate, SignalKind::terminate()),
            (Caught::HangUp, SignalKind::hangup()),
            (Caught::Interrupt, SignalKind::interrupt()),
            (Caught::Suspend, SignalKind::from_raw(Self::SIGTSTP)),
            (Caught::Continue, SignalKind::from_raw(Self::SIGCONT)),
            (Caught::Resize, SignalKind::window_change()),
        ])
    }

    /// Watches for what ends a program without a screen. A hangup that `nohup` told the program
    /// to ignore stays ignored.
    ///
    /// # Errors
    /// The system refuses.
    pub fn for_batch() -> io::Result<Self> {
        let mut kinds =
            vec![(Caught::Interrupt, SignalKind::interrupt()), (Caught::Terminate, SignalKind::terminate())];
        if !ignores_hang_up() {
            kinds.push((Caught::HangUp, SignalKind::hangup()));
        }
        Self::watch(&kinds)
    }

    const SIGTSTP: i32 = rustix::process::Signal::TSTP.as_raw();
    const SIGCONT: i32 = rustix::process::Signal::CONT.as_raw();

    fn watch(kinds: &[(Caught, SignalKind)]) -> io::Result<Self> {
        let watched =
            kinds.iter().map(|(caught, kind)| Ok((*caught, signal(*kind)?))).collect::<io::Result<_>>()?;
        Ok(Signals { watched })
    }

    /// The next signal. Safe to drop before it answers. Several of one kind may come as one.
    pub async fn next(&mut self) -> Caught {
        std::future::poll_fn(|context| {
            for (caught, signal) in &mut self.watched {
                if signal.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*caught);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// Whether SIGHUP is ignored, which a program inherits. Known on Linux only.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    let bit = rustix::process::Signal::HUP.as_raw() - 1;
    mask.is_some_and(|mask| mask >> bit & 1 == 1)
}
