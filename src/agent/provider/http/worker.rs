//! The runtime of connections: [`Worker`], and its optional thread.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;

/// A thread that runs async tasks, until this is dropped.
#[derive(Debug)]
pub struct RuntimeThread {
    handle: Handle,
    /// The thread ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

impl RuntimeThread {
    /// Starts a thread with this name. Fails when the system has no more threads or descriptors.
    pub fn start(name: &str) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let _ = runtime.block_on(stopped);
            // Blocking work whose result is not needed must not delay the end.
            runtime.shutdown_background();
        })?;
        Ok(RuntimeThread { handle, _stop: stop })
    }

    /// The handle that spawns tasks there.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

/// The runtime of connections.
#[derive(Debug, Default)]
pub(super) enum Worker {
    /// In the caller's runtime.
    #[default]
    Caller,
    /// On a separate thread, started at the first request. If it cannot be started, in the caller's runtime.
    OwnThread(OnceLock<Option<RuntimeThread>>),
}

impl Worker {
    /// A thread only for connections.
    pub(super) fn own_thread() -> Self {
        Worker::OwnThread(OnceLock::new())
    }

    fn thread(&self) -> Option<&RuntimeThread> {
        let Worker::OwnThread(thread) = self else { return None };
        let start = || {
            let started = RuntimeThread::start("network");
            started.inspect_err(|error| tracing::warn!(%error, "no thread for the network")).ok()
        };
        thread.get_or_init(start).as_ref()
    }

    /// Runs a task there; dropping the handle stops it.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> AbortOnDropHandle<T> {
        AbortOnDropHandle::new(match self.thread() {
            Some(thread) => thread.handle().spawn(task),
            None => tokio::spawn(task),
        })
    }

    /// How a task there waits between two reads.
    pub(super) fn pause(&self) -> Pause {
        if self.thread().is_some() { Pause::Thread } else { Pause::Task }
    }
}

/// The waiting party of a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    Task,
    /// The whole thread, which is not woken in the meantime.
    Thread,
}

impl Pause {
    pub(super) async fn wait(self, time: Duration) {
        match self {
            Pause::Task => tokio::time::sleep(time).await,
            Pause::Thread => std::thread::sleep(time),
        }
    }
}
