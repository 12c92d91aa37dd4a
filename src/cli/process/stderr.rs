//! Standard error that never blocks the program.
//!
//! A parent process may pipe standard error and never read it. Therefore a thread writes, and messages wait
//! in a bounded queue. As long as the reader keeps up, a write is done when it returns, so that messages stay
//! in order with standard output.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::sync::OnceLock;
use std::time::Duration;
use tau_tools::counted::pluralize;

/// Capacity of the queue in bytes; further output is dropped.
const QUEUE: usize = 256 << 10;
/// Time limit of a single write, after which nothing waits for the reader any more.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Time for which the program's end waits for the reader.
const FAREWELL: Duration = Duration::from_millis(500);

/// Output to be written.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// True while the thread writes.
    busy: bool,
    /// True once the reader was too slow, until it has caught up.
    stalled: bool,
    /// Number of messages that did not fit.
    dropped: usize,
}

impl Pending {
    fn is_done(&self) -> bool {
        self.bytes.is_empty() && !self.busy
    }
}

#[derive(Debug, Default)]
struct Writer {
    pending: Mutex<Pending>,
    changed: Condvar,
}

/// The writer, since something was first written; `None` where no thread could be created.
static WRITER: OnceLock<Option<&'static Writer>> = OnceLock::new();

fn writer() -> Option<&'static Writer> {
    *WRITER.get_or_init(|| {
        let writer: &'static Writer = Box::leak(Box::default());
        let thread = std::thread::Builder::new().name("stderr".to_owned());
        thread.spawn(move || writer.run()).ok().map(|_| writer)
    })
}

/// Writes to standard error, or queues it while the reader is slow.
pub fn write(bytes: &[u8]) {
    match writer() {
        Some(writer) => writer.push(bytes),
        None => write_now(bytes),
    }
}

/// Waits, up to a limit, until everything is written. Must be called when the program ends.
pub fn finish() {
    if let Some(Some(writer)) = WRITER.get() {
        writer.wait(&mut writer.pending.lock(), FAREWELL);
    }
}

/// [`write()`] as a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stderr;

impl io::Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    fn push(&self, bytes: &[u8]) {
        let mut pending = self.pending.lock();
        if pending.bytes.len() + bytes.len() > QUEUE {
            pending.dropped += 1;
            return;
        }
        pending.bytes.extend_from_slice(bytes);
        self.changed.notify_all();
        if !pending.stalled {
            self.wait(&mut pending, TIMEOUT);
            pending.stalled = !pending.is_done();
        }
    }

    fn wait(&self, pending: &mut MutexGuard<'_, Pending>, most: Duration) {
        self.changed.wait_while_for(pending, |pending| !pending.is_done(), most);
    }

    /// Writes pending output, forever.
    fn run(&self) {
        let mut pending = self.pending.lock();
        loop {
            self.changed.wait_while(&mut pending, |pending| pending.bytes.is_empty());
            let bytes = std::mem::take(&mut pending.bytes);
            pending.busy = true;
            drop(pending);
            write_now(&bytes);
            pending = self.pending.lock();
            pending.busy = false;
            match std::mem::take(&mut pending.dropped) {
                0 => pending.stalled &= !pending.is_done(),
                count => {
                    let text = format!(
                        "tau: dropped {}: nobody was reading standard error\n",
                        pluralize(count, "message")
                    );
                    pending.bytes.extend_from_slice(text.as_bytes());
                }
            }
            self.changed.notify_all();
        }
    }
}

/// Writes without the lock of the standard library, which a panic may need.
fn write_now(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(rustix::stdio::stderr(), bytes) {
            Ok(count) if count > 0 => bytes = bytes.get(count..).unwrap_or_default(),
            Err(rustix::io::Errno::INTR) => {}
            // Standard error is non-blocking: try again a little later.
            Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(10)),
            // There is no reader left.
            _ => return,
        }
    }
}
