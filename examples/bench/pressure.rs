//! The screen under pressure: keys during a flood of output, and memory over a long day.

use std::io::Write;
use std::time::{Duration, Instant};

use super::process::Usage;
use super::{Subject, echo_of, ready, row};

/// The number of bytes that the flood writes per second.
const FLOOD: usize = 10_000_000;
/// The keys of one round of work: a prompt, a command, looking back, a list, a new session.
const ROUND: [&str; 12] = [
    "show me\r", "\x1b[5~\x1b[5~", "\x1b[6~\x1b[6~", "!seq 2000\r", "\x0f", "\x0f", "/resume\r", "\x1b",
    "\x06row", "\x1b\x1b", "\x1bOP", "\x1b",
];

/// Writes lines at a steady rate until there is no reader.
pub fn flood() {
    let line = format!("{}\n", "x".repeat(79));
    let block = line.repeat(FLOOD / 100 / line.len());
    let mut due = Instant::now();
    while std::io::stdout().write_all(block.as_bytes()).is_ok() {
        due += Duration::from_millis(10);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Keys while a user command writes ten megabytes per second.
pub fn measure_flood(subject: &Subject, keys: usize) {
    let mut terminal = ready(subject);
    let program = std::env::current_exe().unwrap();
    terminal.type_keys(&format!("!{} --flood\r", program.display()));
    terminal.wait_until(Duration::from_secs(2), |_| false);
    echo_of(&mut terminal, subject, keys.min(200), "10 MB/s of output");
    let (before, start) = (Usage::of(terminal.pid()), Instant::now());
    terminal.wait_until(Duration::from_secs(5), |_| false);
    let after = Usage::of(terminal.pid());
    let busy = after.running.saturating_sub(before.running).as_secs_f64() / start.elapsed().as_secs_f64();
    row(&subject.name, "10 MB/s of output, cpu of one core", format!("{:.1} %", 100.0 * busy));
    row(&subject.name, "resident, 10 MB/s of output", after.resident());
}

/// Memory over many rounds of use, each in a separate session.
pub fn measure_day(subject: &Subject, rounds: usize) {
    let mut terminal = ready(subject);
    for round in 1..=rounds {
        for keys in ROUND {
            terminal.type_keys(keys);
            terminal.wait_quiet(Duration::from_millis(30), Duration::from_secs(5));
        }
        terminal.type_keys("/new\r");
        terminal.wait_quiet(Duration::from_millis(30), Duration::from_secs(5));
        if [rounds / 10, rounds / 2, rounds].contains(&round) {
            let used = Usage::of(terminal.pid()).resident();
            row(&subject.name, &format!("resident after {round} rounds of use"), used);
        }
    }
}
