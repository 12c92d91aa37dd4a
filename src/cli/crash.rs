//! What happens when tau itself is at fault.
//!
//! Wherever a panic occurs, the terminal is given back first, then the message is said where it
//! can be read, and a report is kept for its owner's eyes only. The program then ends with code
//! 101: in order when the loop listens to [`crashed`], by force a little later when it does not.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::exit::Exit;
use super::tui::{modes, terminal};

static CRASHED: AtomicBool = AtomicBool::new(false);
static NOTICE: Notify = Notify::const_new();

/// How long the loop has to end the program in order: to end the children, to close the session.
const GRACE: Duration = Duration::from_secs(2);

/// Installs the hook. Reports go to `state`, which is made when it is needed.
pub fn install(state: PathBuf) {
    std::panic::set_hook(Box::new(move |panic| {
        let first = !CRASHED.swap(true, Ordering::SeqCst);
        modes::restore();
        if first {
            tell(panic, &state);
            end_by_force();
        }
        NOTICE.notify_one();
    }));
}

/// Comes when a task has panicked. The terminal is given back by then: what is left is to end
/// with [`Exit::Crash`].
pub async fn crashed() {
    if !CRASHED.load(Ordering::SeqCst) {
        NOTICE.notified().await;
    }
}

/// `exit`, or [`Exit::Crash`] when something panicked on the way.
pub fn or_crash(exit: Exit) -> Exit {
    if CRASHED.load(Ordering::SeqCst) { Exit::Crash } else { exit }
}

fn tell(panic: &PanicHookInfo<'_>, state: &Path) {
    let what = panic.payload_as_str().unwrap_or("(no message)");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("tau crashed: {} ({place})\r\n", terminal::plain(what));
    match write_report(state, &report(what, &place)) {
        Ok(path) => text.push_str(&format!(
            "the session is kept: tau --continue\r\nthe report is in {}\r\n",
            terminal::plain(&path.display().to_string())
        )),
        Err(error) => text.push_str(&format!("no report could be written: {error}\r\n")),
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn report(what: &str, place: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let trace = Backtrace::force_capture();
    format!("tau {version}\npanic: {what}\nat: {place}\nthread: {thread}\n\n{trace}\n")
}

/// Writes a report of its own name that only the owner may read.
fn write_report(state: &Path, report: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let path = state.join(format!("crash-{}.txt", crate::tools::ids::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(report.as_bytes())?;
    Ok(path)
}

fn end_by_force() {
    let watch = || {
        std::thread::sleep(GRACE);
        std::process::exit(Exit::Crash.code().into());
    };
    // Without a thread the loop is the only hope, and it has been told.
    let _ = std::thread::Builder::new().name("crash".to_owned()).spawn(watch);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_report_is_for_its_owner_only_and_never_overwrites() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("deep/state");
        let first = write_report(&state, "one").unwrap();
        let second = write_report(&state, "two").unwrap();
        assert_ne!(first, second);
        assert_eq!(std::fs::read_to_string(&first).unwrap(), "one");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&first), mode(&state)), (0o600, 0o700));
        assert!(report("boom", "src/x.rs:1").contains("panic: boom\nat: src/x.rs:1"));
    }
}
