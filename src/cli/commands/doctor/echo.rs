//! The delay until a key becomes visible, as far as the terminal and the connection determine it. A query to
//! the terminal and its answer take the same path.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};

use super::report::{Advice, Fact, Section};
use crate::process::secret_prompt::Quiet;

/// Every terminal answers it (DA1): `ESC [ ? … c`.
const QUESTION: &[u8] = b"\x1b[c";
/// Number of answers, of which the median counts.
const ROUNDS: usize = 5;
/// Time limit for all of them.
const TIMEOUT: Duration = Duration::from_secs(2);
/// A longer delay is noticeable while typing.
const SLOW: Duration = Duration::from_millis(100);

/// Adds the time, if there is a terminal to query.
pub(super) fn add_to(section: &mut Section) {
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return;
    }
    let Some(took) = median_round_trip() else {
        section.add(Fact::value("key echo", "the terminal did not answer", ()));
        return;
    };
    let milliseconds = (took.as_secs_f64() * 10_000.0).round() / 10.0;
    section.add(Fact::value("key echo", format!("{milliseconds} ms to the terminal and back"), milliseconds));
    if took > SLOW {
        let text = "keys are seen late because the connection to this terminal is slow; run tau where you type, or \
                    connect with mosh";
        section.advise(Advice::Hint(text.to_owned()));
    }
}

fn median_round_trip() -> Option<Duration> {
    let quiet = Quiet::begin().ok()?;
    let end = Instant::now() + TIMEOUT;
    let mut times: Vec<Duration> = (0..ROUNDS).map_while(|_| round_trip(end)).collect();
    // Late answers are not for the shell.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    drop(quiet);
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Time from a query to the end of its answer; `None` if it does not arrive before `end`.
fn round_trip(end: Instant) -> Option<Duration> {
    let asked = Instant::now();
    rustix::io::write(io::stdout(), QUESTION).ok()?;
    let mut byte = [0];
    while byte != *b"c" {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let left = Timespec::try_from(end.saturating_duration_since(Instant::now())).ok()?;
        if poll(&mut polled, Some(&left)).ok()? == 0 || rustix::io::read(&stdin, &mut byte).ok()? == 0 {
            return None;
        }
    }
    Some(asked.elapsed())
}
