//! The processes that commands of any session have left running, whichever tau started them.
//!
//! Every command's processes carry its mark (`mark.rs`), so they are found even after a crash of tau. Only where
//! /proc exists.

use std::collections::{HashMap, HashSet};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Pid, Signal, test_kill_process};

use super::mark::{self, FoundMark};
use super::process_tree::{
    EndedProcess, PAUSE, Process, TERM_GRACE, ended_count, ended_since, name, note_end, processes, signal,
};

/// The time that processes have after TERM when this process ends.
pub const LAST_GRACE: Duration = Duration::from_millis(300);

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
    /// Whether both are the same process.
    pub fn is_same(&self, other: &LeftProcess) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }

    /// Whether it is of the command with this mark.
    pub fn has_mark(&self, mark: u64) -> bool {
        self.mark == mark
    }

    /// Whether a command of this session started it.
    pub fn is_of(&self, session: &str) -> bool {
        match self.session.as_str() {
            "" => !session.is_empty() && mark::is_of_session(self.mark, session),
            known => known == session,
        }
    }
}

/// The commands and programs that this process has started.
static STARTED: Mutex<OwnCommands> = Mutex::new(OwnCommands { all: Vec::new(), is_over: false });

struct OwnCommands {
    all: Vec<(u64, CommandState)>,
    /// Whether this process ends: it starts no more.
    is_over: bool,
}

/// The state of a command, which says what becomes of its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandState {
    /// Its first process may not carry the mark yet.
    Starting,
    Running,
    /// It ended by itself, and may have left processes on purpose.
    Ended,
    /// It was ended or dropped: all its processes are to end.
    Cut,
    /// A program that only tau uses.
    Program,
}

/// A command that this process runs. What it leaves when this is dropped is not left on purpose.
pub(super) struct RunningMark(u64);

/// Notes a command that this process is about to start. Fails once the process ends.
pub(super) fn note(mark: u64) -> io::Result<RunningMark> {
    add(mark, CommandState::Starting).map(|()| RunningMark(mark))
}

/// Notes a program that only this process uses. Fails once the process ends.
pub(super) fn note_program(mark: u64) -> io::Result<()> {
    add(mark, CommandState::Program)
}

fn add(mark: u64, state: CommandState) -> io::Result<()> {
    let mut started = STARTED.lock();
    if started.is_over {
        return Err(io::Error::other("tau is ending"));
    }
    started.all.push((mark, state));
    Ok(())
}

impl RunningMark {
    /// It has started.
    pub fn begin(&self) {
        self.set(CommandState::Running);
    }

    /// It has ended by itself.
    pub fn end(self) {
        self.set(CommandState::Ended);
    }

    fn set(&self, state: CommandState) {
        let mut started = STARTED.lock();
        started.all.iter_mut().filter(|(mark, _)| *mark == self.0).for_each(|(_, now)| *now = state);
    }
}

impl Drop for RunningMark {
    fn drop(&mut self) {
        let mut started = STARTED.lock();
        let own =
            started.all.iter_mut().filter(|(mark, state)| *mark == self.0 && *state != CommandState::Ended);
        own.for_each(|(_, state)| *state = CommandState::Cut);
    }
}

/// Those of the commands that this process has started, oldest first.
pub fn own() -> Vec<LeftProcess> {
    of_commands(|_, state| state != CommandState::Program)
}

/// The processes of commands that this process has ended so far; see [`stopped_since`].
pub fn stop_count() -> usize {
    ended_count()
}

/// The processes of commands that this process has ended since [`stop_count`] was `count`, oldest first, as they were
/// just before.
pub fn stopped_since(count: usize) -> Vec<LeftProcess> {
    let started = STARTED.lock().all.clone();
    let is_of_program = |ended: &EndedProcess| started.contains(&(ended.mark, CommandState::Program));
    let ended = ended_since(count).into_iter().filter(|ended| !is_of_program(ended));
    ended
        .map(|EndedProcess { pid, start, mark, name }| LeftProcess {
            pid,
            name,
            mark,
            session: String::new(),
            tau: None,
            start,
            age: Duration::ZERO,
            cpu: Duration::ZERO,
            memory: 0,
        })
        .collect()
}

/// Those of the chosen ones among what this process has started: by mark and state.
fn of_commands(is_chosen: impl Fn(u64, CommandState) -> bool) -> Vec<LeftProcess> {
    let mut started = STARTED.lock().all.clone();
    started.retain(|(mark, state)| is_chosen(*mark, *state));
    // Looking at all processes takes a while.
    let all = if started.is_empty() { Vec::new() } else { all() };
    all.into_iter().filter(|process| started.iter().any(|(mark, _)| *mark == process.mark)).collect()
}

/// Ends the chosen ones of what may not outlive this process: TERM, then KILL after `grace`. Returns them. Blocks
/// meanwhile.
pub fn stop_bound(is_chosen: impl Fn(&LeftProcess) -> bool, grace: Duration) -> Vec<LeftProcess> {
    // Those of other users cannot be ended.
    let is_ours = |pid: i32| Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::PERM));
    let begun = Instant::now();
    let mut stopped = Vec::<LeftProcess>::new();
    loop {
        let mut bound = of_commands(|_, state| state != CommandState::Ended);
        bound.retain(|process| is_chosen(process) && is_ours(process.pid));
        if bound.is_empty() || begun.elapsed() >= 2 * TERM_GRACE {
            return stopped;
        }
        stop_within(&bound, grace);
        // Others may have been born while these died.
        bound.retain(|process| !stopped.iter().any(|known| known.is_same(process)));
        stopped.append(&mut bound);
    }
}

/// Like [`stop_bound`], at the end of this process, which starts no more.
pub fn stop_rest() -> Vec<LeftProcess> {
    STARTED.lock().is_over = true;
    let begun = Instant::now();
    let is_starting = || STARTED.lock().all.iter().any(|(_, state)| *state == CommandState::Starting);
    while is_starting() && begun.elapsed() < TERM_GRACE {
        sleep(PAUSE);
    }
    stop_bound(|_| true, LAST_GRACE)
}

/// All of them, oldest first, except this process and those that it runs in.
pub fn all() -> Vec<LeftProcess> {
    all_beside(&[])
}

/// Like [`all`], without the processes `hosts`, each of which is a tau with sessions of its own: a command may have
/// started it. Whatever else is below one belongs to it.
pub fn all_beside(hosts: &[i32]) -> Vec<LeftProcess> {
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
    let is_left = |pid: &i32| !above.contains(pid) && !hosts.contains(pid);
    let found = entries.iter().filter(|entry| entry.alive && entry.has_memory() && is_left(&entry.pid));
    let marked: Vec<(&Process, FoundMark)> =
        found.filter_map(|entry| Some((entry, FoundMark::of(entry.pid)?))).collect();
    let starters: HashMap<i32, i32> =
        marked.iter().filter_map(|(entry, mark)| Some((entry.pid, mark.starter?))).collect();
    // A process is below the tau that runs its command until one of both has ended. It may have dropped its environment.
    let tau = |pid: i32| {
        let starter = line(pid).find_map(|above| starters.get(&above).copied());
        line(pid).find(|above| Some(*above) == starter || hosts.contains(above))
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
    // One without a name has ended meanwhile.
    let mut left: Vec<LeftProcess> = left.filter(|process| !process.name.is_empty()).collect();
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
    let is_left = |mark, state| {
        matches!(state, CommandState::Ended | CommandState::Cut) && mark::is_of_session(mark, session)
    };
    let left = of_commands(is_left);
    // Whatever of it survives this ends with the process.
    let mut started = STARTED.lock();
    started
        .all
        .iter_mut()
        .filter(|(mark, state)| is_left(*mark, *state))
        .for_each(|(_, state)| *state = CommandState::Cut);
    drop(started);
    let ended = |process: &LeftProcess| EndedProcess {
        pid: process.pid,
        start: process.start,
        mark: process.mark,
        name: process.name.clone(),
    };
    note_end(left.iter().map(ended).collect::<Vec<_>>());
    stop_within(&left, grace);
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
