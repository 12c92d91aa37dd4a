//! The processes that commands of any session have left running, whichever tau started them.
//!
//! Every command's processes carry its mark (`mark.rs`), so they are found even after a crash of tau. Only where
//! /proc exists.

use std::collections::HashSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::Signal;

use super::mark::{self, FoundMark};
use super::process_tree::{PAUSE, Process, TERM_GRACE, name, processes, signal};

/// A process that a command of a session started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    pub pid: i32,
    /// The command line, shortened.
    pub name: String,
    /// The mark of the command.
    mark: u64,
    /// The session's id; empty if it has dropped its environment.
    pub session: String,
    /// The start time in clock ticks since the machine was started; with the id it identifies a process.
    pub start: u64,
    /// The time since its start.
    pub age: Duration,
    /// The processor time that it has used.
    pub cpu: Duration,
    /// Its memory, in bytes.
    pub memory: u64,
}

impl LeftProcess {
    /// Whether a command of this session started it.
    pub fn is_of(&self, session: &str) -> bool {
        match self.session.as_str() {
            "" => !session.is_empty() && mark::is_of_session(self.mark, session),
            known => known == session,
        }
    }
}

/// The marks of the commands that this process has started.
static STARTED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Notes a command that this process starts.
pub(super) fn note(mark: u64) {
    STARTED.lock().push(mark);
}

/// Those of the commands that this process has started, oldest first.
pub fn own() -> Vec<LeftProcess> {
    let started = STARTED.lock().clone();
    // Looking at all processes takes a while.
    let all = if started.is_empty() { Vec::new() } else { all() };
    all.into_iter().filter(|process| started.contains(&process.mark)).collect()
}

/// All of them, oldest first, except this process and those that it runs in.
pub fn all() -> Vec<LeftProcess> {
    let entries = processes();
    let parent = |pid: i32| entries.iter().find(|entry| entry.pid == pid).map(|entry| entry.parent);
    let own = i32::try_from(std::process::id()).ok();
    let above: Vec<i32> = std::iter::successors(own, |pid| parent(*pid).filter(|pid| *pid > 0)).collect();
    let ticks = clock_ticks_per_second().max(1);
    let span = |count: u64| Duration::from_millis(count.saturating_mul(1_000) / ticks);
    let running = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let running = running.split('.').next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
    let running = Duration::from_secs(running);
    let found =
        entries.iter().filter(|entry| entry.alive && entry.has_memory() && !above.contains(&entry.pid));
    let mut left: Vec<LeftProcess> = found
        .filter_map(|&Process { pid, start, ticks, pages, .. }| {
            let FoundMark { number, session } = FoundMark::of(pid)?;
            Some(LeftProcess {
                pid,
                mark: number,
                session,
                name: name(pid),
                start,
                age: running.saturating_sub(span(start)),
                cpu: span(ticks),
                memory: pages.saturating_mul(page_size() as u64),
            })
        })
        .collect();
    left.sort_by_key(|process| (process.start, process.pid));
    left
}

/// Ends processes and all that they have started: TERM, then KILL after a second. Blocks meanwhile; returns
/// whether all have ended.
pub fn stop(stopped: &[LeftProcess]) -> bool {
    end(stopped.iter().map(|process| (process.pid, process.start)).collect())
}

/// Like [`stop`], for one process.
pub fn stop_tree(pid: i32) -> bool {
    end(processes().iter().filter(|process| process.pid == pid).map(|found| (pid, found.start)).collect())
}

/// Ends processes, by id and start time.
fn end(mut known: HashSet<(i32, u64)>) -> bool {
    let begun = Instant::now();
    let mut told = HashSet::new();
    loop {
        let entries = processes();
        loop {
            let pids: HashSet<i32> = known.iter().map(|(pid, _)| *pid).collect();
            let born = entries.iter().filter(|entry| pids.contains(&entry.parent));
            let before = known.len();
            known.extend(born.map(|entry| (entry.pid, entry.start)).collect::<Vec<_>>());
            if known.len() == before {
                break;
            }
        }
        let living: Vec<&Process> =
            entries.iter().filter(|entry| entry.alive && known.contains(&(entry.pid, entry.start))).collect();
        let kills = begun.elapsed() >= TERM_GRACE;
        if living.is_empty() || begun.elapsed() >= 2 * TERM_GRACE {
            return living.is_empty();
        }
        for process in living {
            if kills {
                signal(process.pid, Signal::KILL);
            } else if told.insert((process.pid, process.start)) {
                signal(process.pid, Signal::TERM);
                // A stopped process gets TERM only once it continues.
                signal(process.pid, Signal::CONT);
            }
        }
        sleep(PAUSE);
    }
}
