//! What the terminal says: keys, mouse, pastes and focus, in the words of `app::key`.
//!
//! The loop of the screen reads by itself, as a thread in between would be one more to wake up for each
//! key. It reads only what is there, so nothing the terminal does stops the program, and only where
//! it asks for the next event: while an editor has the terminal, nobody takes the editor's keys. The
//! bytes are decoded by [`super::decode`]; what a key means is not known here.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::decode::InputDecoder;
use super::event::TerminalEvent;
use tau_tools::process::pty::watched;

/// How long an Esc may be the beginning of a sequence.
const ESC_PAUSE: Duration = Duration::from_millis(20);
/// Bytes that are read at once; a terminal has rarely more than 4 KB.
const READ: usize = 16 * 1024;

/// The reading end of the terminal.
#[derive(Debug)]
pub struct TerminalInput {
    terminal: AsyncFd<OwnedFd>,
    decoder: InputDecoder,
    buffer: Vec<u8>,
    /// What was decoded and not yet asked for.
    decoded: VecDeque<TerminalEvent>,
    /// When an Esc that may begin a sequence was typed as such.
    decide_at: Option<Instant>,
}

impl TerminalInput {
    /// Reads standard input, which must be a terminal. Called in the runtime that waits for it.
    ///
    /// # Errors
    /// The system cannot wait for the terminal.
    pub fn new() -> io::Result<Self> {
        Ok(TerminalInput {
            terminal: watched(rustix::stdio::stdin().try_clone_to_owned()?, Interest::READABLE)?,
            decoder: InputDecoder::default(),
            buffer: vec![0; READ],
            decoded: VecDeque::new(),
            decide_at: None,
        })
    }

    /// The next thing the terminal says. Safe to drop before it answers.
    pub async fn next(&mut self) -> TerminalEvent {
        loop {
            if let Some(event) = self.decoded.pop_front() {
                return event;
            }
            let read = match self.decide_at {
                None => self.read().await,
                Some(at) => match tokio::time::timeout_at(at.into(), self.read()).await {
                    Ok(read) => read,
                    Err(_) => {
                        self.decoder.pause(&mut |said| self.decoded.push_back(said));
                        self.decide_at = None;
                        Ok(())
                    }
                },
            };
            if read.is_err() {
                return TerminalEvent::Ended;
            }
        }
    }

    /// What has come; never waits, and leaves it to [`Self::next`] to find that the terminal is gone.
    pub fn try_next(&mut self) -> Option<TerminalEvent> {
        if self.decoded.is_empty()
            && let Ok(count) = read_ready(self.terminal.get_ref().as_fd(), &mut self.buffer)
        {
            self.decode(count);
        }
        self.decoded.pop_front()
    }

    /// What came together with the last event; never waits.
    pub fn waiting(&mut self) -> Option<TerminalEvent> {
        self.decoded.pop_front()
    }

    /// Waits for bytes and decodes them. Safe to drop before it is done.
    async fn read(&mut self) -> io::Result<()> {
        let buffer = &mut self.buffer;
        let count = self
            .terminal
            .async_io(Interest::READABLE, |terminal| read_ready(terminal.as_fd(), buffer))
            .await?;
        self.decode(count);
        Ok(())
    }

    fn decode(&mut self, count: usize) {
        let bytes = self.buffer.get(..count).unwrap_or_default();
        self.decoder.feed(bytes, &mut |said| self.decoded.push_back(said));
        self.decide_at = self.decoder.is_undecided().then(|| Instant::now() + ESC_PAUSE);
    }
}

/// Reads what is there; "would block" where nothing is, also from a terminal that would make the reader wait.
/// Zero bytes are a Ctrl+D that was typed before the terminal was raw.
fn read_ready(terminal: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    let mut polled = [PollFd::new(&terminal, PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&Timespec::default())) {
        Ok(0) | Err(Errno::INTR) => return Err(io::ErrorKind::WouldBlock.into()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    let [found] = polled.map(|fd| fd.revents());
    if found.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match rustix::io::read(terminal, buffer) {
        Err(Errno::INTR | Errno::AGAIN) => Err(io::ErrorKind::WouldBlock.into()),
        read => Ok(read?),
    }
}
