//! No test waits forever: one that hangs fails, and says what it waited for and where.

use std::io::Read;
use std::panic::Location;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest wait for anything without a limit of its own. Far beyond the needs of a loaded machine.
pub const LIMIT: Duration = Duration::from_secs(120);
/// Prompt operations end before this, even on a busy machine. A wrong wait caused by a test takes at least
/// twice as long.
pub const SOON: Duration = Duration::from_secs(20);
/// The pause between two checks of a condition that cannot be awaited.
const PAUSE: Duration = Duration::from_millis(2);

/// Futures that are awaited.
pub trait InTime: Future + Sized {
    /// The output of the future; fails the test if there is none in time.
    #[track_caller]
    fn in_time(self, what: &str) -> impl Future<Output = Self::Output> {
        let place = Location::caller();
        async move {
            let awaited = tokio::time::timeout(LIMIT, self).await;
            awaited.unwrap_or_else(|_| panic!("{place}: waited {LIMIT:?} for {what}"))
        }
    }
}

impl<F: Future> InTime for F {}

/// Does blocking work on a separate thread; fails the test if it is not done in time.
#[track_caller]
pub fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    std::thread::spawn(move || sender.send(work()));
    done.recv_timeout(LIMIT).unwrap_or_else(|error| panic!("waited {LIMIT:?} for {what}: {error}"))
}

/// Checks repeatedly until there is a value, or the time is over.
fn poll<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= end {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until something is so; fails the test with this text if it is not in time.
#[track_caller]
pub fn until(limit: Duration, mut is_so: impl FnMut() -> bool, what: impl FnOnce() -> String) {
    let end = Instant::now() + limit;
    while !is_so() {
        assert!(Instant::now() < end, "{}", what());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Programs that are run to their end.
pub trait RunInTime {
    /// Runs it without an input; returns its exit and its output.
    #[track_caller]
    fn output_in_time(&mut self) -> Output;
    /// Runs it without an input; its output goes where this test's goes.
    #[track_caller]
    fn status_in_time(&mut self) -> ExitStatus;
}

impl RunInTime for Command {
    fn output_in_time(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        child.output_in_time(&format!("the end of {self:?}"))
    }

    fn status_in_time(&mut self) -> ExitStatus {
        let mut child = self.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        child.wait_in_time(&format!("the end of {self:?}"))
    }
}

/// Programs that have been started.
pub trait EndInTime {
    /// Waits for its exit; kills it if that takes too long.
    #[track_caller]
    fn wait_in_time(&mut self, what: &str) -> ExitStatus;
    /// Waits for its exit and returns its output to pipes not taken by others. Its input is closed.
    #[track_caller]
    fn output_in_time(self, what: &str) -> Output
    where
        Self: Sized,
    {
        self.output_within(LIMIT, what)
    }
    /// Like [`Self::output_in_time`], with another limit.
    #[track_caller]
    fn output_within(self, limit: Duration, what: &str) -> Output;
}

impl EndInTime for Child {
    fn wait_in_time(&mut self, what: &str) -> ExitStatus {
        wait(self, LIMIT, what)
    }

    fn output_within(mut self, limit: Duration, what: &str) -> Output {
        drop(self.stdin.take());
        let (stdout, stderr) = (reading(self.stdout.take()), reading(self.stderr.take()));
        let status = wait(&mut self, limit, what);
        // Its own children may still hold the pipes.
        let join = |thread: JoinHandle<Vec<u8>>| thread.join_in_time(&format!("{what}: its output"));
        Output { status, stdout: join(stdout), stderr: join(stderr) }
    }
}

#[track_caller]
fn wait(child: &mut Child, limit: Duration, what: &str) -> ExitStatus {
    let status = poll(limit, || child.try_wait().unwrap());
    if status.is_none() {
        // Nothing is left running, and its children get no pipe to wait for.
        let _ = child.kill();
    }
    status.unwrap_or_else(|| panic!("waited {limit:?} for {what}"))
}

/// Reads to the end on a separate thread.
fn reading(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}

/// Threads that should end.
pub trait JoinInTime<T> {
    /// The thread's result; a panic of the thread is passed on.
    #[track_caller]
    fn join_in_time(self, what: &str) -> T;
}

impl<T> JoinInTime<T> for JoinHandle<T> {
    fn join_in_time(self, what: &str) -> T {
        let ended = poll(LIMIT, || self.is_finished().then_some(()));
        assert!(ended.is_some(), "waited {LIMIT:?} for {what}");
        self.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[test]
fn a_wait_that_ends_gives_what_was_waited_for() {
    assert_eq!(in_time("a number", || 7), 7);
    assert_eq!(std::thread::spawn(|| 8).join_in_time("a thread"), 8);
    let output = Command::new("sh").args(["-c", "echo out; echo err >&2; exit 3"]).output_in_time();
    assert_eq!(
        (output.status.code(), &output.stdout[..], &output.stderr[..]),
        (Some(3), &b"out\n"[..], &b"err\n"[..])
    );
    assert!(Command::new("true").status_in_time().success());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(async { std::future::ready(9).in_time("a future").await }), 9);
}

/// Common forms of waits without a limit.
const UNLIMITED: &[&str] = tau::tools::words!(
    ".output().unwrap() .status().unwrap() .wait().unwrap() .wait().await .wait_with_output().await \
     .wait_with_output().unwrap() .join().unwrap() .recv().unwrap() .recv().await"
);

#[test]
fn no_test_waits_without_a_limit() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")];
    let mut faults = Vec::new();
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("time_limit.rs") {
                count += 1;
                // An expression may be split over lines.
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text.lines().map(str::trim_start).collect::<String>();
                let found = UNLIMITED.iter().filter(|wait| text.contains(*wait));
                faults.extend(found.map(|wait| format!("{}: {wait}", path.display())));
            }
        }
    }
    assert!(count > 90, "only {count} files were seen");
    // The front end under test waits for signals; the tests of the tools have limits of their own.
    let exceptions = [
        "tests/rpc.rs: .recv().await",
        "tests/tools_shell.rs: .join().unwrap()",
        "tests/tools_figures.rs: .status().unwrap()",
    ];
    faults.retain(|fault| !exceptions.iter().any(|known| fault.ends_with(known)));
    assert!(faults.is_empty(), "waits without a limit:\n{}", faults.join("\n"));
}
