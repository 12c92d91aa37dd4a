//! The handling of panics: a message, a report and an orderly end.
//!
//! On any panic, the terminal is restored first, then the message is written where it is visible, and a
//! report is saved that only its owner can read. The program then ends with code 101: in order if its loop
//! listens to [`wait_for_crash`], and after [`GRACE`] in any case.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::exit::Exit;
use super::stopped_jobs;
use crate::tui::{modes, terminal};

/// No panic so far.
const FINE: u8 = 0;
/// A panic is being reported.
const REPORTING: u8 = 1;
/// The message has been written.
const REPORTED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(FINE);
static NOTICE: Notify = Notify::const_new();

/// Time for the loop to end the program in order: to end the children, to close the session.
const GRACE: Duration = Duration::from_secs(2);

/// Installs a panic hook for a program with many agents: a panic is reported and ends only its own task. The
/// others continue, so [`wait_for_crash`] does not complete. Reports go to `state`.
pub fn install_for_server(state: PathBuf) {
    std::panic::set_hook(Box::new(move |panic| {
        let (what, place) = describe_panic(panic);
        let saved = match write_report(&state, &report(&what, &place)) {
            Ok(path) => format!("the crash report is in {}", terminal::plain(&path.display().to_string())),
            Err(error) => format!("no crash report could be written: {error}"),
        };
        super::exit::warn(&format!("a session crashed: {} ({place}); {saved}", terminal::plain(&what)));
    }));
}

/// Installs the panic hook. Reports go to `state`, which is created when it is needed.
pub fn install(state: PathBuf) {
    let watchdog = watchdog();
    std::panic::set_hook(Box::new(move |panic| {
        let first = STATE.compare_exchange(FINE, REPORTING, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        modes::restore();
        if !first {
            return;
        }
        // Before the report, so that the loop draws nothing over it, and so that a hanging disk does not keep
        // the program alive.
        NOTICE.notify_one();
        let watched = watchdog.as_ref().is_some_and(|watchdog| watchdog.send(()).is_ok());
        write_message(panic, &state);
        STATE.store(REPORTED, Ordering::SeqCst);
        if !watched {
            end_now();
        }
    }));
}

/// A thread that ends the program [`GRACE`] after a signal from the panic hook. It is started beforehand,
/// because the cause of the panic may be that no thread can be created. `None` where this one cannot be
/// created either: then the hook itself ends the program.
fn watchdog() -> Option<Sender<()>> {
    let (sender, receiver) = channel();
    let watch = move || {
        if receiver.recv().is_ok() {
            std::thread::sleep(GRACE);
            end_now();
        }
    };
    let thread = std::thread::Builder::new().name("crash watchdog".to_owned()).stack_size(64 * 1024);
    thread.spawn(watch).ok().map(|_| sender)
}

fn end_now() -> ! {
    stopped_jobs::stop_rest();
    std::process::exit(Exit::Crash.code().into());
}

/// Completes when a thread or task has panicked. The terminal is restored by then; the caller should end with
/// [`Exit::Crash`].
pub async fn wait_for_crash() {
    if STATE.load(Ordering::SeqCst) == FINE {
        NOTICE.notified().await;
    }
}

/// `exit`, or [`Exit::Crash`] after a panic. Waits until the panic is reported.
pub fn or_crash(exit: Exit) -> Exit {
    if STATE.load(Ordering::SeqCst) == FINE {
        return exit;
    }
    let deadline = Instant::now() + GRACE;
    while STATE.load(Ordering::SeqCst) != REPORTED && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
    Exit::Crash
}

fn write_message(panic: &PanicHookInfo<'_>, state: &Path) {
    let (what, place) = describe_panic(panic);
    let mut text = format!("tau crashed: {} ({place})\r\n", terminal::plain(&what));
    match write_report(state, &report(&what, &place)) {
        Ok(path) => text.push_str(&format!(
            "the session is saved; continue it with: tau --continue\r\nthe crash report is in {}\r\n",
            terminal::plain(&path.display().to_string())
        )),
        Err(error) => text.push_str(&format!("no crash report could be written: {error}\r\n")),
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The message of a panic, and its location.
fn describe_panic(panic: &PanicHookInfo<'_>) -> (String, String) {
    let what = panic.payload_as_str().unwrap_or("(no message)").to_owned();
    (what, panic.location().map(ToString::to_string).unwrap_or_default())
}

fn report(what: &str, place: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
    let trace = Backtrace::force_capture();
    format!("tau {version}\npanic: {what}\nat: {place}\nthread: {thread}\n\n{trace}\n")
}

/// Writes a report under a new name that only the owner can read.
fn write_report(state: &Path, report: &str) -> std::io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(state)?;
    let path = state.join(format!("crash-{}.txt", tau_tools::ids::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(report.as_bytes())?;
    Ok(path)
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
