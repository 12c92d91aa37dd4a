//! The terminal's input: keys, mouse, pastes and focus, in terms of `app::key`.
//!
//! The screen's loop reads it directly, as a thread in between would have to be woken for each key. It reads
//! only available bytes, so that the terminal never blocks the program, and only when the loop asks for the
//! next event: while an editor has the terminal, its keys are not taken. The bytes are decoded by
//! [`super::decode`]; the meaning of keys is not known here.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::decode::InputDecoder;
use super::event::TerminalEvent;
use super::output;
use tau_tools::process::pty::watch_descriptor;

/// Size of a read in bytes; a terminal rarely has more than 4 KB.
const READ: usize = 16 * 1024;

/// The reading end of the terminal.
#[derive(Debug)]
pub struct TerminalInput {
    terminal: AsyncFd<OwnedFd>,
    decoder: InputDecoder,
    buffer: Vec<u8>,
    /// Decoded events that were not requested yet.
    decoded: VecDeque<TerminalEvent>,
    /// The time at which a pause has been long enough to mean something: an Esc counts as typed then.
    decide_at: Option<Instant>,
}

impl TerminalInput {
    /// Reads standard input, which must be a terminal. Must be called in the runtime that waits for it. Fails
    /// when the system cannot wait for the terminal.
    pub fn new() -> io::Result<Self> {
        let mut input = TerminalInput {
            terminal: watch_descriptor(rustix::stdio::stdin().try_clone_to_owned()?, Interest::READABLE)?,
            decoder: InputDecoder::default(),
            buffer: vec![0; READ],
            decoded: VecDeque::new(),
            decide_at: None,
        };
        input.take_early();
        Ok(input)
    }

    /// Takes what was typed before the terminal was raw: until then it turns Enter into the end of a line. Of several
    /// lines, which may be a paste, none is sent.
    fn take_early(&mut self) {
        let Ok(count) = read_ready(self.terminal.get_ref().as_fd(), &mut self.buffer) else { return };
        let typed = self.buffer.get_mut(..count).unwrap_or_default();
        if let Some((end @ b'\n', line)) = typed.split_last_mut()
            && !line.contains(&b'\n')
        {
            *end = b'\r';
        }
        self.decode(count);
    }

    /// The next event of the terminal. Safe to drop before it completes.
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
            match read {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return TerminalEvent::Taken,
                Err(_) => return TerminalEvent::Ended,
            }
        }
    }

    /// An available event, if any; never waits, and leaves it to [`Self::next`] to detect a closed terminal.
    pub fn try_next(&mut self) -> Option<TerminalEvent> {
        if self.decoded.is_empty()
            && let Ok(count) = read_ready(self.terminal.get_ref().as_fd(), &mut self.buffer)
        {
            self.decode(count);
        }
        self.decoded.pop_front()
    }

    /// An event that arrived together with the last one; never waits.
    pub fn waiting(&mut self) -> Option<TerminalEvent> {
        self.decoded.pop_front()
    }

    /// Waits for bytes and decodes them. Safe to drop before it completes.
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
        self.decide_at = self.decoder.awaited_pause().map(|pause| Instant::now() + pause);
    }
}

/// Reads available bytes; "would block" if there are none, even from a terminal that would block the reader.
/// Zero bytes are a Ctrl+D that was typed before the terminal was raw. Fails with `ResourceBusy` while another program of
/// the shell has the terminal: a read would stop this process.
fn read_ready(terminal: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    if output::is_of_others() {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
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
