//! What the terminal says: keys, mouse, pastes and focus, in the words of `app::key`.
//!
//! A thread of its own reads, so that nothing the terminal does stops the program: it hands the
//! bytes to [`super::decode`] and the results to a bounded queue. It waits for nothing but
//! bytes, orders and, after a lone Esc, a moment. While an editor has the terminal,
//! [`TerminalInput::pause`] keeps the thread from taking the editor's keys. What a key means is not
//! known here.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use tokio::sync::mpsc;

use super::decode::InputDecoder;
use super::event::TerminalEvent;

/// Events that wait for the program. A full queue makes the thread wait, so nothing is lost.
const QUEUE: usize = 256;
/// How long [`TerminalInput::pause`] waits for the thread to let go.
const PAUSE_PATIENCE: Duration = Duration::from_millis(200);

/// The reading end of the terminal.
#[derive(Debug)]
pub struct TerminalInput {
    events: mpsc::Receiver<TerminalEvent>,
    gate: Arc<Gate>,
    /// Writing to it wakes the thread out of its wait for the terminal.
    wake: io::PipeWriter,
}

/// What the thread is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Read,
    Pause,
    Stop,
}

/// The order to the thread, and whether it keeps its hands off the terminal.
#[derive(Debug)]
struct Gate {
    state: Mutex<(Order, bool)>,
    changed: Condvar,
}

impl TerminalInput {
    /// Starts to read standard input, which must be a terminal. Needs a tokio runtime.
    ///
    /// # Errors
    /// The system gives no pipe or no thread.
    pub fn start() -> io::Result<Self> {
        let (sender, events) = mpsc::channel(QUEUE);
        let (woken, wake) = io::pipe()?;
        let gate = Arc::new(Gate { state: Mutex::new((Order::Read, false)), changed: Condvar::new() });
        let thread = Reader { sender, woken, gate: Arc::clone(&gate), decoder: InputDecoder::default() };
        let reader = std::thread::Builder::new().name("terminal input".to_owned()).stack_size(256 * 1024);
        reader.spawn(move || thread.run())?;
        Ok(TerminalInput { events, gate, wake })
    }

    /// The next thing the terminal says. Safe to drop before it answers.
    pub async fn next(&mut self) -> TerminalEvent {
        self.events.recv().await.unwrap_or(TerminalEvent::Ended)
    }

    /// What has come and was not yet asked for; never waits.
    pub fn waiting(&mut self) -> Option<TerminalEvent> {
        self.events.try_recv().ok()
    }

    /// Leaves the terminal's keys to another program until [`TerminalInput::resume`].
    pub fn pause(&self) {
        self.order(Order::Pause);
        let state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.gate.changed.wait_timeout_while(state, PAUSE_PATIENCE, |(_, idle)| !*idle);
    }

    /// Reads again.
    pub fn resume(&self) {
        self.order(Order::Read);
    }

    fn order(&self, order: Order) {
        self.gate.state.lock().unwrap_or_else(PoisonError::into_inner).0 = order;
        self.gate.changed.notify_all();
        let _ = io::Write::write(&mut &self.wake, b"!");
    }
}

impl Drop for TerminalInput {
    fn drop(&mut self) {
        self.order(Order::Stop);
    }
}

/// The thread that reads.
struct Reader {
    sender: mpsc::Sender<TerminalEvent>,
    woken: io::PipeReader,
    gate: Arc<Gate>,
    decoder: InputDecoder,
}

impl Reader {
    fn run(mut self) {
        let mut buffer = vec![0; 16 * 1024];
        while self.allowed() {
            let going_on = match self.wait() {
                Ok(Awake::Terminal) => self.take(&mut buffer),
                Ok(Awake::Order) => io::Read::read(&mut self.woken, &mut buffer).map(|_| ()),
                Ok(Awake::Quiet) => self.tell(|decoder, tell| decoder.pause(tell)),
                Err(error) => Err(error),
            };
            if going_on.is_err() {
                break;
            }
        }
    }

    /// Waits while paused; false when it is over.
    fn allowed(&self) -> bool {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.0 == Order::Pause {
            state.1 = true;
            self.gate.changed.notify_all();
            state = self.gate.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.1 = false;
        state.0 == Order::Read
    }

    /// Waits for the terminal, an order or, where an Esc is undecided, a moment.
    fn wait(&self) -> io::Result<Awake> {
        let stdin = rustix::stdio::stdin();
        let woken = self.woken.as_fd();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&woken, PollFlags::IN)];
        let timeout = self.decoder.is_undecided().then_some(ESC_PAUSE);
        let ready = loop {
            match rustix::event::poll(&mut polled, timeout.as_ref()) {
                Ok(ready) => break ready,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let [terminal, order] = polled.map(|fd| fd.revents());
        if ready == 0 {
            return Ok(Awake::Quiet);
        }
        if order.contains(PollFlags::IN) {
            return Ok(Awake::Order);
        }
        if terminal.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Awake::Terminal)
    }

    /// Hands on what is there.
    fn take(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let count = match rustix::io::read(rustix::stdio::stdin(), &mut *buffer) {
            // Ctrl+D typed while the terminal was not raw; a closed terminal is seen by `wait`.
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        self.tell(|decoder, tell| decoder.feed(bytes, tell))
    }

    fn tell(&mut self, ask: impl FnOnce(&mut InputDecoder, &mut dyn FnMut(TerminalEvent))) -> io::Result<()> {
        let mut sent = Ok(());
        ask(&mut self.decoder, &mut |said| sent = self.sender.blocking_send(said));
        sent.map_err(io::Error::other)
    }
}

/// How long an Esc may be the beginning of a sequence.
const ESC_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

enum Awake {
    Terminal,
    Order,
    /// Nothing came for a moment.
    Quiet,
}
