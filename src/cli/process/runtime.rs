//! Runtimes of one thread, for commands that wait for something.

use tokio::runtime::{Builder, Runtime};

use super::exit::{Exit, Refusal};
use super::signals::Signals;

/// A runtime on this thread. Fails when the system does not allow it.
pub(crate) fn on_this_thread() -> Result<Runtime, Refusal> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Refusal::config(format!("cannot start: {error}")))
}

/// Does work that may fail, unless a signal stops it. The outer error says that the machine does not allow it.
pub(crate) fn run_until_stopped<T>(
    work: impl Future<Output = Result<T, (Exit, String)>>,
) -> Result<Result<T, (Exit, String)>, Refusal> {
    let runtime = on_this_thread()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::for_batch().map_err(Refusal::config)?;
        tokio::select! {
            done = work => Ok(done),
            caught = signals.next() => Ok(Err((caught.exit().unwrap_or(Exit::Aborted), "stopped".to_owned()))),
        }
    });
    // A thread that still reads the keyboard is not awaited.
    runtime.shutdown_background();
    done
}
