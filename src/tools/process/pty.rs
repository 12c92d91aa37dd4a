//! A pseudo-terminal for a user's command: colours, progress bars, questions.
//!
//! Owns our end of a pseudo-terminal, the command's end while the shell runs, and typed input. Does not
//! interpret escape sequences. It is the command's controlling terminal, so the foreground job is hung up
//! when the shell ends, as when a window is closed.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};
use tokio::sync::mpsc;

/// The maximum number of typed bytes that wait for a program that does not read.
const TYPED: usize = 64 * 1024;

/// The size of a terminal, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    pub columns: u16,
    pub rows: u16,
}

impl From<WindowSize> for Winsize {
    fn from(window: WindowSize) -> Self {
        Winsize { ws_row: window.rows, ws_col: window.columns, ws_xpixel: 0, ws_ypixel: 0 }
    }
}

/// An action of the user on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PtyInput {
    /// Bytes that a terminal sends for keys.
    Typed(Vec<u8>),
    Resized(WindowSize),
}

/// Our end of a terminal.
#[derive(Debug)]
pub struct Pty {
    ours: AsyncFd<OwnedFd>,
    /// The command's end. It is kept open here too while the shell runs; otherwise, a command that closes
    /// its own end would seem to have ended and be hung up.
    theirs: Option<OwnedFd>,
    name: String,
    window: WindowSize,
    input: Option<mpsc::Receiver<PtyInput>>,
    waiting: VecDeque<u8>,
}

impl Pty {
    /// Opens a terminal of this size; `input` comes from the user. Needs a tokio runtime. Fails if the system
    /// has no terminal left.
    pub fn open(window: WindowSize, input: mpsc::Receiver<PtyInput>) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        #[cfg(target_os = "linux")]
        let flags = flags | OpenptFlags::CLOEXEC;
        let ours = rustix::pty::openpt(flags)?;
        rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&ours)?;
        rustix::pty::unlockpt(&ours)?;
        let name = rustix::pty::ptsname(&ours, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?;
        rustix::termios::tcsetwinsize(&theirs, window.into())?;
        let status = rustix::fs::fcntl_getfl(&ours)?;
        rustix::fs::fcntl_setfl(&ours, status | OFlags::NONBLOCK)?;
        let (theirs, name) = (Some(theirs), name.to_string_lossy().into_owned());
        Ok(Pty {
            ours: watch_descriptor(ours, Interest::READABLE | Interest::WRITABLE)?,
            theirs,
            name,
            window,
            input: Some(input),
            waiting: VecDeque::new(),
        })
    }

    /// Standard input, output and error for the command.
    pub(super) fn ends(&self) -> io::Result<[Stdio; 3]> {
        let theirs = self.theirs.as_ref().ok_or_else(|| io::Error::other("the terminal is in use"))?;
        let end = || theirs.try_clone().map(Stdio::from);
        Ok([end()?, end()?, end()?])
    }

    /// Its current size.
    pub(super) fn window(&self) -> WindowSize {
        self.window
    }

    /// The path of the command's end.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes reads fail once no process holds the terminal any more.
    pub(super) fn let_go(&mut self) {
        self.theirs = None;
    }

    /// Reads the command's output while passing typed input to it. Fails at the end, see [`Pty::let_go`].
    /// Cancel safe.
    pub(super) async fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        loop {
            let typed = !self.waiting.is_empty();
            let interest = if typed { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            let hears = self.waiting.len() < TYPED;
            tokio::select! {
                input = hear(&mut self.input), if hears => self.take(input),
                ready = self.ours.ready(interest) => {
                    let mut ready = ready?;
                    if typed && ready.ready().is_writable() {
                        let (front, _) = self.waiting.as_slices();
                        match rustix::io::write(self.ours.get_ref(), front) {
                            Ok(written) => drop(self.waiting.drain(..written)),
                            Err(Errno::AGAIN) => ready.clear_ready_matching(Ready::WRITABLE),
                            // A program that has ended reads nothing; the read reports its end.
                            Err(_) => self.waiting.clear(),
                        }
                    }
                    if ready.ready().is_readable() {
                        match rustix::io::read(self.ours.get_ref(), &mut *piece) {
                            Err(Errno::AGAIN) => ready.clear_ready_matching(Ready::READABLE),
                            Err(Errno::INTR) => {}
                            read => return Ok(read?),
                        }
                    }
                }
            }
        }
    }

    fn take(&mut self, input: Option<PtyInput>) {
        match input {
            Some(PtyInput::Typed(bytes)) => self.waiting.extend(bytes),
            Some(PtyInput::Resized(window)) => {
                self.window = window;
                // The kernel signals the command. If the size cannot be set, nothing changes.
                rustix::termios::tcsetwinsize(self.ours.get_ref(), window.into()).ok();
            }
            None => self.input = None,
        }
    }
}

/// A descriptor whose readiness can be awaited, in the current runtime.
#[allow(unsafe_code, reason = "the only way left to await a descriptor that tokio has no type for")]
pub fn watch_descriptor(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor names the same open file until it is dropped, and it is dropped by the
    // value made here, which deregisters it first.
    unsafe { Ok(AsyncFd::register_with_interest(descriptor, interest)?) }
}

async fn hear(input: &mut Option<mpsc::Receiver<PtyInput>>) -> Option<PtyInput> {
    match input {
        Some(input) => input.recv().await,
        None => std::future::pending().await,
    }
}
