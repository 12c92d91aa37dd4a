//! All processes that came from one command, and their termination.
//!
//! A command's processes are found by four marks: their session, their process group, descent (the shell is
//! made the reaper of its orphans, so descent stays intact while it lives), and a mark that survives a change
//! of parent (`mark.rs`). Without /proc only the group is known. Processes of other users cannot be ended;
//! nothing here waits for them longer than the limits below.

use std::collections::HashSet;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use super::mark;
use crate::budget;

/// The time that processes have after TERM.
pub(super) const TERM_GRACE: Duration = Duration::from_millis(1_000);
/// The time that they have when the user stops the work: all is over within 200 ms.
pub(super) const STOP_GRACE: Duration = Duration::from_millis(100);
/// How long KILL is repeated, for processes that start while others die.
const KILL_LIMIT: Duration = Duration::from_millis(800);
/// The pause between two checks.
pub(super) const PAUSE: Duration = Duration::from_millis(15);

/// The maximum length of a command line that is shown, in characters.
const MAX_NAME: usize = 60;

/// All processes of one command. Dropping it while armed kills them at once.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    leader: Pid,
    /// The number of their mark.
    mark: u64,
}

/// One process of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeMember {
    /// The process id.
    pub pid: i32,
    /// The command line, shortened.
    pub name: String,
}

/// A process of the machine.
pub(super) struct Process {
    pub pid: i32,
    pub parent: i32,
    group: i32,
    session: i32,
    pub alive: bool,
    is_suspended: bool,
    /// The start time in clock ticks; together with the id it identifies a process forever.
    pub start: u64,
    /// Its processor time, in clock ticks.
    pub ticks: u64,
    /// The processor time of its children that have ended, in clock ticks.
    pub reaped: u64,
    /// Its memory, in pages.
    pub pages: u64,
}

type KnownProcesses = HashSet<(i32, u64)>;

/// A process that was ended, as it was just before.
#[derive(Clone, Debug)]
pub(super) struct EndedProcess {
    pub pid: i32,
    pub start: u64,
    pub mark: u64,
    pub name: String,
}

/// The processes that this process has ended, oldest first.
static ENDED: Mutex<Vec<EndedProcess>> = Mutex::new(Vec::new());

/// The processes that this process has ended since there were `count` of them.
pub(super) fn ended_since(count: usize) -> Vec<EndedProcess> {
    ENDED.lock().iter().skip(count).cloned().collect()
}

/// The number of processes that this process has ended.
pub(super) fn ended_count() -> usize {
    ENDED.lock().len()
}

/// Notes processes that are about to be ended: afterwards nobody can name them.
pub(super) fn note_end(processes: impl IntoIterator<Item = EndedProcess>) {
    ENDED.lock().extend(processes);
}

impl ProcessTree {
    /// The tree of the session leader `leader`, which has this mark.
    pub fn new(leader: Pid, mark: u64) -> Self {
        ProcessTree { leader, mark }
    }

    /// The number of their mark.
    pub(super) fn mark(&self) -> u64 {
        self.mark
    }

    /// Ends all processes: TERM, then KILL after at most `grace`. Blocks until all have ended, for at most a second
    /// more.
    ///
    /// No process gets a signal before its name is known: not even the group, which another may just have joined.
    pub fn end(&self, grace: Duration) {
        let started = Instant::now();
        let mut known = KnownProcesses::new();
        let mut signalled = KnownProcesses::new();
        while started.elapsed() < grace {
            let members = self.members(&mut known);
            if members.is_empty() {
                return;
            }
            let new: Vec<&Process> =
                members.iter().filter(|member| signalled.insert((member.pid, member.start))).collect();
            self.note_ends(&new);
            for member in new {
                signal(member.pid, Signal::TERM);
                // A stopped process gets TERM only once it continues.
                signal(member.pid, Signal::CONT);
            }
            sleep(PAUSE);
        }
        self.kill(&mut known, &mut signalled, KILL_LIMIT);
    }

    /// Kills all processes at once, for a call that was dropped.
    pub(crate) fn kill_now(&self) {
        self.kill(&mut KnownProcesses::new(), &mut KnownProcesses::new(), PAUSE * 3);
    }

    fn note_ends(&self, members: &[&Process]) {
        let noted = |member: &&Process| EndedProcess {
            pid: member.pid,
            start: member.start,
            mark: self.mark,
            name: name(member.pid),
        };
        // One that has no name any more has ended by itself meanwhile.
        note_end(members.iter().map(noted).filter(|ended| !ended.name.is_empty()).collect::<Vec<_>>());
    }

    fn kill(&self, known: &mut KnownProcesses, noted: &mut KnownProcesses, limit: Duration) {
        let started = Instant::now();
        loop {
            let members = self.members(known);
            let is_new = |member: &&Process| noted.insert((member.pid, member.start));
            self.note_ends(&members.iter().filter(is_new).collect::<Vec<_>>());
            kill_process_group(self.leader, Signal::KILL).ok();
            members.iter().for_each(|member| signal(member.pid, Signal::KILL));
            if members.is_empty() || started.elapsed() >= limit {
                return;
            }
            sleep(PAUSE / 3);
        }
    }

    /// The living processes.
    pub(super) fn now(&self) -> Vec<Process> {
        self.members(&mut KnownProcesses::new())
    }

    /// The processes that hold open the pipe or terminal that links in /proc/PID/fd call `link`.
    pub(crate) fn survivors(&self, link: &str) -> Vec<TreeMember> {
        let holds = |entry: &&Process| {
            let Ok(open) = fs::read_dir(format!("/proc/{}/fd", entry.pid)) else { return false };
            open.filter_map(Result::ok)
                .filter_map(|file| fs::read_link(file.path()).ok())
                .any(|target| target.as_os_str() == link)
        };
        let members = self.members(&mut KnownProcesses::new());
        members
            .iter()
            .filter(holds)
            .map(|entry| TreeMember { pid: entry.pid, name: name(entry.pid) })
            .collect()
    }

    /// Ends the processes whose standard input is the pipe that links in /proc/PID/fd call `link`: the output of the
    /// command, where an editor without a terminal waits for keys. Returns whether there were any.
    pub(super) fn end_waiting_for_keys(&self, link: &str) -> bool {
        let input = |pid: i32| fs::read_link(format!("/proc/{pid}/fd/0"));
        let mut waiting = self.now();
        waiting.retain(|entry| input(entry.pid).is_ok_and(|target| target.as_os_str() == link));
        waiting.iter().for_each(|entry| signal(entry.pid, Signal::TERM));
        !waiting.is_empty()
    }

    /// The living members. `known` remembers them, so that children whose parents have since died are
    /// recognised.
    fn members(&self, known: &mut KnownProcesses) -> Vec<Process> {
        let leader = self.leader.as_raw_pid();
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut entries = processes();
        entries.retain(|entry| entry.pid != own);
        let mut tree = HashSet::new();
        let related = |entry: &Process| {
            entry.session == leader || entry.group == leader || known.contains(&(entry.pid, entry.start))
        };
        let is_marked = |entry: &Process| entry.has_memory() && mark::number_of(entry.pid) == Some(self.mark);
        tree.extend(entries.iter().filter(|entry| related(entry) || is_marked(entry)).map(|entry| entry.pid));
        loop {
            let before = tree.len();
            let born = entries.iter().filter(|entry| tree.contains(&entry.parent)).map(|entry| entry.pid);
            tree.extend(born.collect::<Vec<_>>());
            if tree.len() == before {
                break;
            }
        }
        entries.retain(|entry| tree.contains(&entry.pid));
        known.extend(entries.iter().map(|entry| (entry.pid, entry.start)));
        entries.retain(|entry| entry.alive);
        entries
    }
}

impl Process {
    /// Whether it has memory: threads of the kernel and ended processes have none, and no mark.
    pub fn has_memory(&self) -> bool {
        self.pages > 0
    }
}

pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        kill_process(pid, signal).ok();
    }
}

/// Whether a process has ended, even if its parent has not waited for it yet.
pub fn has_ended(pid: Pid) -> bool {
    let is_unreaped = || process(pid.as_raw_nonzero().get()).is_some_and(|process| !process.alive);
    test_kill_process(pid) == Err(Errno::SRCH) || is_unreaped()
}

/// Whether a process is suspended, as by Ctrl+Z in its shell.
pub fn is_suspended(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(process).is_some_and(|process| process.is_suspended)
}

pub(super) fn processes() -> Vec<Process> {
    let Ok(listing) = fs::read_dir("/proc") else { return Vec::new() };
    listing.filter_map(|entry| process(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect()
}

/// Reads /proc/PID/stat, see proc(5). The name in it may contain anything, but ends at the last parenthesis.
fn process(pid: i32) -> Option<Process> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    let count = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Process {
        pid,
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        alive: !matches!(*fields.first()?, "Z" | "X"),
        is_suspended: *fields.first()? == "T",
        start: count(19)?,
        ticks: count(11)?.saturating_add(count(12)?),
        reaped: count(13)?.saturating_add(count(14)?),
        pages: count(21)?,
    })
}

/// Its command line, shortened. One that is just starting or ending another program has none: then that program's name,
/// in brackets. Empty if there is no such process any more.
pub(super) fn name(pid: i32) -> String {
    let printable = |text: &str| {
        let text: String = text.chars().filter(|character| !character.is_control()).collect();
        text.trim().to_owned()
    };
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let line = match printable(&String::from_utf8_lossy(&line).replace('\0', " ")) {
        line if line.is_empty() => match fs::read(format!("/proc/{pid}/comm")) {
            Ok(name) => format!("[{}]", printable(&String::from_utf8_lossy(&name))),
            Err(_) => String::new(),
        },
        line => line,
    };
    match budget::whole_words_within(&line, MAX_NAME) {
        "" => budget::shorten(&line, MAX_NAME),
        words if words.len() < line.len() => format!("{words}…"),
        _ => line,
    }
}
