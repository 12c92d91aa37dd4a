//! The upkeep of an installation: new versions, the files that tau has written, and how long they are kept.

pub(crate) mod daily;
pub(crate) mod origin;
pub(crate) mod own_folder;
pub(crate) mod release;
pub(crate) mod retention;
pub(crate) mod written;

use std::time::Duration;

use tau_tools::scratch::Scratch;

/// The pause after the start: nothing of the upkeep competes with it, and a process that ends before does none.
const PAUSE: Duration = Duration::from_secs(3);

/// Removes the scratch folders of processes that ended long ago, after a pause. Must be called in a runtime.
pub(crate) fn sweep_scratch_later() {
    do_later(|| {
        Scratch::default().sweep();
    });
}

/// Does upkeep in a thread of its own, after a pause. Must be called in a runtime, whose end ends the pause.
pub(crate) fn do_later(work: impl FnOnce() + Send + 'static) {
    tokio::spawn(async {
        tokio::time::sleep(PAUSE).await;
        // It reports nothing, and a panic has been reported.
        let _ = tokio::task::spawn_blocking(work).await;
    });
}
