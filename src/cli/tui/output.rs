//! The writing end of the terminal: a stuck terminal blocks nothing.
//!
//! The terminal is opened again, so that the non-blocking mode is not shared with the shell. A frame is one
//! `write`; only if the terminal accepts less than all of it is the rest kept, and no further frame begins
//! until it is sent. Frames are dropped, never facts. The meaning of the bytes is the concern of
//! [`super::terminal`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// The terminal, opened once for the program's lifetime so that a panic hook finds it too.
static TERMINAL: OnceLock<OwnedFd> = OnceLock::new();

/// Bytes on their way to the terminal.
#[derive(Debug, Default)]
pub(crate) struct TerminalWriter {
    pending: Vec<u8>,
}

/// Whether everything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    All,
    /// The terminal does not read; the rest is kept.
    Part,
}

impl TerminalWriter {
    /// Whether there are bytes that the terminal has not accepted.
    pub(crate) fn is_stuck(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Discards pending bytes. For the way out of a terminal that does not read.
    pub(crate) fn give_up(&mut self) {
        self.pending.clear();
    }

    /// Sends pending bytes and then `bytes`, waiting at most `patience` for the terminal. Fails when the
    /// terminal is gone.
    pub fn send(&mut self, bytes: &[u8], patience: Duration) -> io::Result<WriteOutcome> {
        if self.pending.is_empty() {
            let sent = write_within(terminal(), bytes, patience)?;
            self.pending.extend_from_slice(bytes.get(sent..).unwrap_or_default());
        } else {
            self.pending.extend_from_slice(bytes);
            let sent = write_within(terminal(), &self.pending, patience)?;
            self.pending.drain(..sent.min(self.pending.len()));
        }
        Ok(if self.pending.is_empty() { WriteOutcome::All } else { WriteOutcome::Part })
    }
}

/// The terminal of standard output. When it cannot be opened again (another user's
/// terminal), standard output itself, which may block.
pub fn terminal() -> BorrowedFd<'static> {
    let fallback = rustix::stdio::stdout();
    if let Some(open) = TERMINAL.get() {
        return open.as_fd();
    }
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::termios::ttyname(fallback, Vec::new())
        .and_then(|name| rustix::fs::open(name, flags, Mode::empty()));
    match opened {
        Ok(open) => TERMINAL.get_or_init(|| open).as_fd(),
        Err(_) => fallback,
    }
}

/// Whether another program of the shell has the terminal, to which input and settings belong then.
pub(crate) fn is_of_others() -> bool {
    let owner = rustix::termios::tcgetpgrp(rustix::stdio::stdin());
    owner.is_ok_and(|owner| owner != rustix::process::getpgrp())
}

/// Writes as much of `bytes` as possible within `patience`; returns the number of bytes. Fails when the
/// terminal is gone.
pub(crate) fn write_within(fd: BorrowedFd<'_>, bytes: &[u8], patience: Duration) -> io::Result<usize> {
    let mut sent = 0;
    let mut deadline = None;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        match rustix::io::write(fd, rest) {
            Ok(count) => sent += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let now = Instant::now();
                let left = deadline.get_or_insert(now + patience).saturating_duration_since(now);
                if left.is_zero() || !writable(fd, left)? {
                    break;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sent)
}

fn writable(fd: BorrowedFd<'_>, within: Duration) -> io::Result<bool> {
    let timeout = Timespec::try_from(within).unwrap_or_default();
    let mut polled = [PollFd::new(&fd, PollFlags::OUT)];
    match rustix::event::poll(&mut polled, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_sleeps_gets_a_part_and_no_one_waits_long() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        let bytes = vec![b'x'; 1 << 20];
        let start = Instant::now();
        let sent = write_within(writer.as_fd(), &bytes, Duration::from_millis(30)).unwrap();
        assert!(sent > 0 && sent < bytes.len(), "{sent}");
        assert!(start.elapsed() < Duration::from_secs(2));
        let drain = std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()).unwrap());
        let rest = write_within(writer.as_fd(), &bytes[sent..], Duration::from_secs(10)).unwrap();
        assert_eq!(sent + rest, bytes.len());
        drop(writer);
        assert_eq!(drain.join().unwrap(), bytes.len() as u64);
    }

    #[test]
    fn a_closed_terminal_is_an_error() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert!(write_within(writer.as_fd(), b"x", Duration::ZERO).is_err());
    }
}
