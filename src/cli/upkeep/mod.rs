//! The upkeep of an installation: new versions, the files that tau has written, and how long they are kept.

pub(crate) mod daily;
mod due;
pub(crate) mod origin;
pub(crate) mod own_folder;
pub(crate) mod release;
pub(crate) mod retention;
pub(crate) mod written;

use std::time::Duration;

use self::due::Due;
use tau_agent::settings::Paths;
use tau_tools::scratch::Scratch;

/// The pause after the start: nothing of the upkeep competes with it, and a process that ends before does none.
const PAUSE: Duration = Duration::from_secs(3);
/// Says when scratch folders were swept last.
const SCRATCH: Due = Due { file: "scratch.json", interval: INTERVAL };
/// Says when what sessions leave behind was swept last.
const SESSIONS: Due = Due { file: "sweep.json", interval: INTERVAL };
/// The time from one sweep to the next.
const INTERVAL: Duration = Duration::from_mins(10);

/// Removes later the scratch folders of processes that ended long ago. Must be called in a runtime, whose end ends the
/// pause.
pub(crate) fn sweep_scratch_later(paths: &Paths) {
    sweep_later(paths, SCRATCH, || {
        Scratch::default().sweep();
    });
}

/// Removes later, by `work`, what the processes of sessions that were killed have left. Must be called in a runtime, whose
/// end ends the pause.
pub(crate) fn sweep_sessions_later(paths: &Paths, work: impl FnOnce() + Send + 'static) {
    sweep_later(paths, SESSIONS, work);
}

/// Sweeps after a pause, in a thread of its own, if it is due: each process does it for all.
fn sweep_later(paths: &Paths, due: Due, work: impl FnOnce() + Send + 'static) {
    if due.was_recently(paths) {
        return;
    }
    let paths = paths.clone();
    tokio::spawn(async move {
        tokio::time::sleep(PAUSE).await;
        let sweep = move || {
            if due.begin(&paths) {
                work();
            }
        };
        // It reports nothing, and a panic has been reported.
        let _ = tokio::task::spawn_blocking(sweep).await;
    });
}
