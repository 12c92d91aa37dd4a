//! The processes that commands of any session have left running, whichever tau started them.
//!
//! Every command's processes carry its mark (`mark.rs`), so they are found even after a crash of tau. Only where
//! /proc exists.

use std::collections::{HashMap, HashSet};
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
    /// The tau whose command it belongs to, while that lives; `None` for one that is left over.
    pub tau: Option<i32>,
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

/// The marks of the commands that this process has started, and whether they still run.
static STARTED: Mutex<Vec<(u64, bool)>> = Mutex::new(Vec::new());

/// A command that this process runs, until this is dropped.
pub(super) struct RunningMark(u64);

/// Notes a command that this process starts.
pub(super) fn note(mark: u64) -> RunningMark {
    STARTED.lock().push((mark, true));
    RunningMark(mark)
}

impl Drop for RunningMark {
    fn drop(&mut self) {
        let mut started = STARTED.lock();
        started.iter_mut().filter(|(mark, _)| *mark == self.0).for_each(|(_, runs)| *runs = false);
    }
}

/// Those of the commands that this process has started, oldest first.
pub fn own() -> Vec<LeftProcess> {
    of_commands(|_, _| true)
}

/// Those of the chosen ones among the commands that this process has started: by mark, and whether it runs.
fn of_commands(is_chosen: impl Fn(u64, bool) -> bool) -> Vec<LeftProcess> {
    let mut started = STARTED.lock().clone();
    started.retain(|(mark, runs)| is_chosen(*mark, *runs));
    // Looking at all processes takes a while.
    let all = if started.is_empty() { Vec::new() } else { all() };
    all.into_iter().filter(|process| started.iter().any(|(mark, _)| *mark == process.mark)).collect()
}

/// All of them, oldest first, except this process and those that it runs in.
pub fn all() -> Vec<LeftProcess> {
    let entries = processes();
    let parents: HashMap<i32, i32> = entries.iter().map(|entry| (entry.pid, entry.parent)).collect();
    let line =
        |pid: i32| std::iter::successors(Some(pid), |pid| parents.get(pid).copied().filter(|pid| *pid > 0));
    let above: Vec<i32> = i32::try_from(std::process::id()).into_iter().flat_map(line).collect();
    let ticks = clock_ticks_per_second().max(1);
    let span = |count: u64| Duration::from_millis(count.saturating_mul(1_000) / ticks);
    let running = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let running = running.split('.').next().and_then(|seconds| seconds.parse().ok()).unwrap_or_default();
    let running = Duration::from_secs(running);
    let found =
        entries.iter().filter(|entry| entry.alive && entry.has_memory() && !above.contains(&entry.pid));
    let marked: Vec<(&Process, FoundMark)> =
        found.filter_map(|entry| Some((entry, FoundMark::of(entry.pid)?))).collect();
    let starters: HashMap<i32, i32> =
        marked.iter().filter_map(|(entry, mark)| Some((entry.pid, mark.starter?))).collect();
    // A process is below the tau that runs its command until one of both has ended. It may have dropped its environment.
    let tau = |pid: i32| {
        let starter = line(pid).find_map(|above| starters.get(&above).copied())?;
        line(pid).find(|above| *above == starter)
    };
    let left = marked.iter().map(|(entry, mark)| LeftProcess {
        pid: entry.pid,
        mark: mark.number,
        session: mark.session.clone(),
        tau: tau(entry.pid),
        name: name(entry.pid),
        start: entry.start,
        age: running.saturating_sub(span(entry.start)),
        cpu: span(entry.ticks),
        memory: entry.pages.saturating_mul(page_size() as u64),
    });
    let mut left: Vec<LeftProcess> = left.collect();
    left.sort_by_key(|process| (process.start, process.pid));
    left
}

/// Ends processes and all that they have started: TERM, then KILL after a second. Blocks meanwhile; returns
/// whether all have ended.
pub fn stop(stopped: &[LeftProcess]) -> bool {
    stop_within(stopped, TERM_GRACE)
}

fn stop_within(stopped: &[LeftProcess], grace: Duration) -> bool {
    end(stopped.iter().map(|process| (process.pid, process.start)).collect(), grace)
}

/// Ends what commands of a session of this process have left: TERM, then KILL after `grace`. Those that still run
/// are ended by whoever runs them. Blocks meanwhile.
pub fn stop_left_by(session: &str, grace: Duration) {
    stop_within(&of_commands(|mark, runs| !runs && mark::is_of_session(mark, session)), grace);
}

/// Like [`stop`], for one process.
pub fn stop_tree(pid: i32) -> bool {
    let found = processes();
    let found = found.iter().filter(|process| process.pid == pid);
    end(found.map(|process| (pid, process.start)).collect(), TERM_GRACE)
}

/// Ends processes, by id and start time; those that still live after `grace` are killed.
fn end(mut known: HashSet<(i32, u64)>, grace: Duration) -> bool {
    let begun = Instant::now();
    let mut told = HashSet::new();
    while !known.is_empty() {
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
        let kills = begun.elapsed() >= grace;
        if living.is_empty() || begun.elapsed() >= grace + TERM_GRACE {
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
    true
}
