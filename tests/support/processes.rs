//! Processes that tests leave behind, and their ends.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::time_limit::SOON;

/// Commands whose processes try to survive. `NAP` is a sleep that only this test has.
pub const STUBBORN: &[&str] = &[
    "sleep NAP",
    "sleep NAP & sleep NAP & wait",
    "trap '' TERM; while true; do sleep NAP; done",
    "setsid sleep NAP & sleep NAP",
    "setsid -f sleep NAP; sleep NAP",
    "(setsid sh -c 'trap \"\" TERM HUP; sleep NAP; sleep NAP' >/dev/null 2>&1 &) ; sleep NAP",
    "(env -i setsid sleep NAP >/dev/null 2>&1 &); sleep NAP",
    "sleep NAP & kill -STOP $!; wait",
    "kill -STOP $$; sleep NAP",
    "nohup sleep NAP & disown; sleep NAP",
    "set -m; sleep NAP & sleep NAP",
    "yes | while read x; do :; done; sleep NAP",
];

/// Living processes whose command line contains `needle`: their ids and command lines.
pub fn alive(needle: &str) -> Vec<(i32, String)> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let dead = stat.rsplit_once(')')?.1.trim_start().starts_with('Z');
        (!dead).then(|| (pid, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|(_, line)| line.contains(needle)).collect()
}

/// Ends the processes a test left behind on purpose, and those they start meanwhile.
pub async fn kill(needle: &str) {
    let started = Instant::now();
    loop {
        let left = alive(needle);
        if left.is_empty() {
            return;
        }
        assert!(started.elapsed() < SOON, "left: {left:?}");
        for (pid, _) in left {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A number of seconds for `sleep` that no other process of the machine uses.
pub fn rare_sleep() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(3_000);
    format!("{}.{}", COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

pub async fn gone(needle: &str) {
    let started = Instant::now();
    while !alive(needle).is_empty() {
        assert!(started.elapsed() < SOON, "left: {:?}", alive(needle));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
