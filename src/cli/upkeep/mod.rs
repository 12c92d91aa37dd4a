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
/// Says when the last sweep was.
const SWEEP: Due = Due { file: "sweep.json", interval: Duration::from_mins(10) };

/// Removes what processes that were killed have left behind: scratch folders, and what `rest` removes. Begins after a
/// pause, in a thread of its own, and only if no other process has done it in the last ten minutes, as each does it for
/// all. Must be called in a runtime, whose end ends the pause.
pub(crate) fn sweep_later(paths: &Paths, rest: impl FnOnce() + Send + 'static) {
    let paths = paths.clone();
    tokio::spawn(async move {
        tokio::time::sleep(PAUSE).await;
        if SWEEP.was_recently(&paths) {
            return;
        }
        let sweep = move || {
            if SWEEP.begin(&paths) {
                Scratch::default().sweep();
                rest();
            }
        };
        // It reports nothing, and a panic has been reported.
        let _ = tokio::task::spawn_blocking(sweep).await;
    });
}
