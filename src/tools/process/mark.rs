//! Marks the processes of a command, by a variable in their environment and by a resource limit.
//!
//! A program can start others with an empty environment and in a new session. Limits are inherited all the same,
//! even after tau has exited. On Linux the soft limit RLIMIT_RTTIME holds the mark: a number of microseconds so large,
//! more than 100,000 years, that it never takes effect.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use super::environment::SESSION;
use crate::hashes::{FNV_START, fnv1a};

/// The variable that marks the processes of a command.
pub const MARK: &str = "TAU_RUN_ID";

/// The bit that every mark has, below those of the user, the session and the command.
const IS_MARK: u64 = 1 << 62;
const SESSION_BITS: u32 = 24;
const RUN_BITS: u32 = 22;

/// The mark of the processes of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunMark {
    /// The id of the command, unique among the processes of this machine and the commands of this process, and the
    /// number of this process.
    pub id: String,
    pub number: u64,
}

impl RunMark {
    /// The mark of a new command of a session.
    pub fn new(session: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (run, next) = (crate::ids::id().simple(), NEXT.fetch_add(1, Ordering::Relaxed));
        let id = format!("{run}-{next}@{}", std::process::id());
        RunMark { number: number(session, &id), id }
    }
}

/// The marks of a running process.
#[derive(Debug)]
pub(super) struct FoundMark {
    pub number: u64,
    /// The session's id; empty if the environment does not hold it.
    pub session: String,
    /// The process that started the command, if the environment holds it.
    pub starter: Option<i32>,
}

impl FoundMark {
    /// The marks of a process, if it has any.
    pub fn of(pid: i32) -> Option<Self> {
        let marks = in_environment(pid);
        match number_of_limit(pid) {
            Some(number) => {
                let unnamed = FoundMark { number, session: String::new(), starter: None };
                Some(marks.filter(|marks| marks.number == number).unwrap_or(unnamed))
            }
            None => marks,
        }
    }
}

/// The number of the mark of a process, if it has one.
pub(super) fn number_of(pid: i32) -> Option<u64> {
    number_of_limit(pid).or_else(|| in_environment(pid).map(|marks| marks.number))
}

/// Whether a mark is that of a command of this session.
pub(super) fn is_of_session(number: u64, session: &str) -> bool {
    number >> RUN_BITS == self::number(session, "") >> RUN_BITS
}

fn number(session: &str, run: &str) -> u64 {
    let user = u64::from(rustix::process::geteuid().as_raw() & 0xffff);
    let part = |text: &str, bits: u32| hash(text) >> (u64::BITS - bits);
    IS_MARK
        | user << (SESSION_BITS + RUN_BITS)
        | part(session, SESSION_BITS) << RUN_BITS
        | part(run, RUN_BITS)
}

/// A hash that every version of tau computes alike.
fn hash(text: &str) -> u64 {
    let hash = fnv1a(FNV_START, text.as_bytes());
    // Without another round, the last bytes do not reach the high bits.
    (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Marks this process and every process it starts. Makes only system calls. If the hard limit is lower, the mark is
/// in the environment alone.
#[cfg(target_os = "linux")]
pub(super) fn set_limit(number: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { maximum, .. } = getrlimit(Resource::Rttime);
    setrlimit(Resource::Rttime, Rlimit { current: Some(number), maximum }).ok();
}

/// Reads /proc/PID/limits, which every user can read. Marks of other users are ignored.
#[cfg(target_os = "linux")]
fn number_of_limit(pid: i32) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max realtime timeout"))?;
    let found = limit.split_whitespace().next()?.parse::<u64>().ok()?;
    let user = |number: u64| number >> (SESSION_BITS + RUN_BITS);
    (user(found) == user(number("", ""))).then_some(found)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn set_limit(_: u64) {}

#[cfg(not(target_os = "linux"))]
fn number_of_limit(_: i32) -> Option<u64> {
    None
}

fn in_environment(pid: i32) -> Option<FoundMark> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &str| {
        environment.split(|byte| *byte == 0).find_map(|variable| {
            variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(|value| {
                let text = String::from_utf8_lossy(value);
                text.chars().filter(|c| !c.is_control()).take(128).collect::<String>()
            })
        })
    };
    let (run, session) = (value(MARK)?, value(SESSION).unwrap_or_default());
    let starter = run.split_once('@').and_then(|(_, starter)| starter.parse().ok());
    Some(FoundMark { number: number(&session, &run), session, starter })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_its_session_and_is_no_other_one() {
        let (one, other) = (RunMark::new("s1"), RunMark::new("s1"));
        assert_ne!(one.number, other.number);
        assert!(one.number >= IS_MARK && one.number < u64::MAX >> 1);
        assert!(is_of_session(one.number, "s1") && is_of_session(other.number, "s1"));
        assert!(!is_of_session(one.number, "s2"));
        assert!(!is_of_session(number("s2", &one.id), "s1"));
    }
}
