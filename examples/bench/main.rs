//! Measures user-visible waits: start, echo of a key, a long answer, memory, idling, sessions; and waits of
//! scripts.
//!
//! ```text
//! cargo build --release && cargo run --release --example bench
//! cargo run --release --example bench -- start echo --runs 40
//! cargo run --release --example bench -- soak --protocol rpc,acp --minutes 60
//! ```
//!
//! Programs run in a terminal of their own (120x40) that answers the usual queries. Other agents are
//! measured beside tau if they are on the path; without a model of theirs only start, echo, memory and
//! idling can be. The baseline is a program that does nothing, or only echoes.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a measuring program: it runs programs, reads clocks and /proc, and prints"
)]

mod attached;
mod burst;
mod extensions;
mod long;
mod many;
mod many_peer;
mod pipes;
mod pressure;
mod process;
mod sessions;
mod soak;
mod stream;
mod terminal;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use process::Usage;
use terminal::Terminal;

/// The rows at the bottom of the screen in which a key may be echoed.
const COMPOSER: usize = 12;
/// The time limit for operations that are immediate on a real processor.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// From exec to the first painted frame.
    Start,
    /// From a key to its echo; of tau also attached to a session of `tau serve`.
    Echo,
    /// A 20,000-token answer of the demo model: time, CPU, memory, echo below it, scrolling in it; and a
    /// run with tools.
    Reply,
    /// An answer at 200 tokens a second: CPU, bytes written, echo meanwhile.
    Stream,
    /// An answer of 20,000 tokens at full speed in small chunks: time and CPU, also in print mode.
    Burst,
    /// Keys while a command writes 10 MB a second; memory over many rounds of use.
    Pressure,
    /// CPU, wake-ups and bytes while nothing happens.
    Idle,
    /// Lists of 10,000 sessions, a search of 1 GB of them, the opening of one of 100 MB, appending.
    Sessions,
    /// Sessions of 10 to 100,000 entries: opening, going to the start, finding, memory.
    Long,
    /// Many extensions: the first frame, calls of an MCP tool, the list of them, servers that wait.
    Extensions,
    /// Many sessions: `tau -b`, 20 that wait in the background, the start of a helper, the board of 200.
    Many,
    /// Help, the version, and a turn of print mode, from exec to the end.
    Pipes,
    /// Random commands on each protocol: every one is answered, and nothing grows. Only when it is named.
    Soak,
}

/// Measures start, echo, a long answer, memory and idling.
#[derive(Parser)]
struct Options {
    /// What to measure; everything when nothing is named
    parts: Vec<Part>,
    /// Starts that are measured; the median counts
    #[arg(long, default_value_t = 20)]
    runs: usize,
    /// Keys that are measured
    #[arg(long, default_value_t = 200)]
    keys: usize,
    /// Seconds of idling
    #[arg(long, default_value_t = 20)]
    idle: u64,
    /// The tau to measure [default: the one beside this program]
    #[arg(long)]
    tau: Option<PathBuf>,
    /// Only write a session of that many entries, to the file of `--into`
    #[arg(long, hide = true, requires = "into")]
    write: Option<usize>,
    /// Where `--write` writes
    #[arg(long, hide = true)]
    into: Option<PathBuf>,
    /// Be the floor of a turn of print mode: one request to this address
    #[arg(long, hide = true)]
    ask: Option<String>,
    /// Rounds of use over which memory is measured; a round is what a person does in a few minutes
    #[arg(long, default_value_t = 200)]
    rounds: usize,
    /// Be the floor of an echo: what is typed is written
    #[arg(long, hide = true)]
    echo: bool,
    /// Be the command that floods the screen
    #[arg(long, hide = true)]
    flood: bool,
    /// Be the MCP server that is called
    #[arg(long, hide = true)]
    mcp_server: bool,
    /// What `soak` speaks; everything when nothing is named
    #[arg(long, value_enum, value_delimiter = ',')]
    protocol: Vec<soak::Protocol>,
    /// Minutes of a busy client that `soak` compresses
    #[arg(long, default_value_t = 60)]
    minutes: usize,
    /// With which random commands `soak` begins
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave other agents out
    #[arg(long)]
    alone: bool,
}

/// A program under measurement.
struct Subject {
    name: String,
    path: PathBuf,
    args: Vec<&'static str>,
}

fn main() {
    let options = Options::parse();
    if let Some(address) = &options.ask {
        return pipes::ask(address);
    }
    if options.echo {
        return write_typed();
    }
    if options.flood {
        return pressure::flood();
    }
    if options.mcp_server {
        return extensions::mcp_server();
    }
    if let (Some(count), Some(path)) = (options.write, &options.into) {
        return long::write(path, count);
    }
    let Some(tau) = options.tau.clone().or_else(beside).and_then(|path| path.canonicalize().ok()) else {
        eprintln!("there is no tau to measure: run `cargo build --release` first, or name one with --tau");
        std::process::exit(2);
    };
    if options.parts.contains(&Part::Soak) {
        let held = soak::run(&tau, &options.protocol, options.minutes, options.seed);
        std::process::exit(i32::from(!held));
    }
    let mut subjects = vec![Subject { name: "tau".to_owned(), path: tau, args: vec!["--model", "demo"] }];
    if !options.alone {
        subjects.extend(["codex", "opencode", "pi", "claude", "zerostack"].into_iter().filter_map(peer));
    }
    let wanted = |part| options.parts.is_empty() || options.parts.contains(&part);
    println!("{:<10} {:<34} {:>12}", "program", "figure", "value");
    if wanted(Part::Start) {
        measure_floor(options.runs);
    }
    if wanted(Part::Echo) {
        let program = std::env::current_exe().unwrap();
        measure_echo(
            &Subject { name: "floor".to_owned(), path: program, args: vec!["--echo"] },
            options.keys,
        );
    }
    if let Some(tau) = subjects.first().filter(|_| wanted(Part::Sessions)) {
        sessions::measure(tau);
    }
    if let Some(tau) = subjects.first().filter(|_| wanted(Part::Long)) {
        long::measure(tau);
    }
    if let Some(tau) = subjects.first().filter(|_| wanted(Part::Extensions)) {
        extensions::measure(tau, options.runs, Duration::from_secs(options.idle));
    }
    if let Some(tau) = subjects.first().filter(|_| wanted(Part::Many)) {
        many::measure(tau, &options);
    }
    if let Some(claude) = subjects.iter().find(|one| one.name == "claude").filter(|_| wanted(Part::Many)) {
        many_peer::measure(claude, &options);
    }
    if wanted(Part::Pipes)
        && let Some(tau) = subjects.first()
    {
        pipes::measure(&tau.path, options.runs);
    }
    for subject in &subjects {
        measure_screen(subject, &options, wanted);
    }
}

/// Measures the cost of a program's screen.
fn measure_screen(subject: &Subject, options: &Options, wanted: impl Fn(Part) -> bool) {
    if wanted(Part::Start) {
        measure_start(subject, options.runs);
    }
    if wanted(Part::Echo) {
        measure_echo(subject, options.keys);
    }
    if wanted(Part::Echo) && subject.name == "tau" {
        attached::measure(subject, options.keys);
    }
    if wanted(Part::Reply) && subject.name == "tau" {
        measure_reply(subject, options.keys);
        measure_tour(subject);
    }
    if wanted(Part::Stream) && stream::can_stream(&subject.name) {
        stream::measure(subject, options.keys);
    }
    if wanted(Part::Burst) && stream::can_stream(&subject.name) {
        burst::measure(subject, options.runs);
    }
    if wanted(Part::Pressure) && subject.name == "tau" {
        pressure::measure_flood(subject, options.keys);
        pressure::measure_day(subject, options.rounds);
    }
    if wanted(Part::Idle) {
        measure_idle(subject, Duration::from_secs(options.idle));
    }
}

/// The tau that was built with this program.
fn beside() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.parent()?.join("tau"))
}

fn peer(name: &'static str) -> Option<Subject> {
    let folders = std::env::var_os("PATH")?;
    let path = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())?;
    Some(Subject { name: name.to_owned(), path, args: Vec::new() })
}

fn row(program: &str, figure: &str, value: String) {
    println!("{program:<10} {figure:<34} {value:>12}");
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

/// The smallest value not exceeded by `percent` of the values (nearest rank).
fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort();
    let rank = (values.len() * percent).div_ceil(100);
    values.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// The system's minimum for running a program in a terminal and carrying one byte.
fn measure_floor(runs: usize) {
    let floor = Subject { name: "floor".to_owned(), path: "/usr/bin/printf".into(), args: vec!["x"] };
    measure_start(&floor, runs);
}

/// A letter that no first frame has.
const LETTER: &str = "ß";

fn measure_start(subject: &Subject, runs: usize) {
    let (mut times, mut letters) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let start = Instant::now();
        let mut terminal = Terminal::start(&subject.path, &subject.args);
        if terminal.wait_until(Duration::from_secs(30), |screen| !screen.contents().trim().is_empty()) {
            times.push(start.elapsed());
            if subject.name == "floor" {
                continue;
            }
            terminal.type_keys(LETTER);
            if terminal.wait_until(Duration::from_secs(1), |screen| screen.contents().contains(LETTER)) {
                letters.push(start.elapsed());
            }
        }
    }
    if times.is_empty() {
        return row(&subject.name, "start", "paints nothing".to_owned());
    }
    row(&subject.name, "exec to first frame, p50", milliseconds(percentile(&mut times, 50)));
    row(&subject.name, "exec to first frame, p90", milliseconds(percentile(&mut times, 90)));
    if !letters.is_empty() {
        row(&subject.name, "exec to first typed letter, p50", milliseconds(percentile(&mut letters, 50)));
    }
}

/// The minimum for a key: it is read, and written.
fn write_typed() {
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    let mut modes = rustix::termios::tcgetattr(stdin).unwrap();
    modes.make_raw();
    rustix::termios::tcsetattr(stdin, rustix::termios::OptionalActions::Now, &modes).unwrap();
    let (mut buffer, mut typed) = ([0; 64], &b"> "[..]);
    while rustix::io::write(stdout, typed).is_ok() {
        let count = rustix::io::read(stdin, &mut buffer).unwrap_or(0);
        typed = buffer.get(..count).unwrap_or_default();
        if typed.is_empty() {
            return;
        }
    }
}

/// A program that has started and is quiet.
fn ready(subject: &Subject) -> Terminal {
    let mut terminal = Terminal::start(&subject.path, &subject.args);
    wait_ready(&mut terminal);
    terminal
}

/// Types a prompt and, once it is shown, Enter: before a program has the terminal, Enter is another byte.
/// Returns the time of Enter.
fn submit(terminal: &mut Terminal, prompt: &str) -> Instant {
    terminal.type_keys(prompt);
    terminal.wait_until(TIMEOUT, |screen| screen.contents().contains(prompt));
    terminal.wait_quiet(Duration::from_millis(50), Duration::from_secs(1));
    let entered = Instant::now();
    terminal.type_keys("\r");
    entered
}

/// Waits until the program has painted and is quiet.
fn wait_ready(terminal: &mut Terminal) {
    terminal.wait_until(TIMEOUT, |screen| !screen.contents().trim().is_empty());
    terminal.wait_quiet(Duration::from_millis(500), Duration::from_secs(10));
}

fn measure_echo(subject: &Subject, keys: usize) {
    let mut terminal = ready(subject);
    echo(&mut terminal, subject, keys, "idle");
}

fn echo(terminal: &mut Terminal, subject: &Subject, keys: usize, when: &str) {
    let letters: Vec<&str> = ["a", "b", "c", "d", "e", "f", "g"].into_iter().cycle().take(keys).collect();
    changes(terminal, subject, &letters, &format!("key to echo, {when}"));
    terminal.type_keys(&"\x7f".repeat(keys));
    terminal.wait_quiet(Duration::from_millis(300), Duration::from_secs(5));
}

/// The time that each key takes to change the screen.
fn changes(terminal: &mut Terminal, subject: &Subject, keys: &[&str], figure: &str) {
    let mut times = Vec::new();
    for key in keys {
        let before = terminal.contents();
        let start = Instant::now();
        terminal.type_keys(key);
        if terminal.wait_until(Duration::from_secs(2), |screen| screen.contents() != before) {
            times.push(start.elapsed());
        }
        terminal.wait_quiet(Duration::from_millis(4), Duration::from_millis(200));
    }
    times_row(subject, keys.len(), times, figure);
}

/// The time that each key takes to be echoed at the bottom of a screen on which everything moves: an echo is
/// the text typed so far.
fn echo_of(terminal: &mut Terminal, subject: &Subject, keys: usize, when: &str) {
    let mut typed = String::new();
    let mut times = Vec::new();
    for index in 0..keys {
        // It stays on one row.
        if typed.len() == 80 {
            terminal.type_keys(&"\x7f".repeat(typed.len()));
            typed.clear();
            terminal.wait_until(Duration::from_millis(200), |_| false);
        }
        let key = ["z", "q", "w", "j"][index % 4];
        typed.push_str(key);
        let start = Instant::now();
        terminal.type_keys(key);
        let shown = |screen: &vt100::Screen| {
            let (rows, columns) = (screen.size().0.get(), screen.size().1.get());
            screen.rows(0, columns).skip(usize::from(rows) - COMPOSER).any(|row| row.contains(&typed))
        };
        if terminal.wait_until(Duration::from_secs(2), shown) {
            times.push(start.elapsed());
        }
        // At varying distances from other output.
        terminal.wait_until(Duration::from_millis(20 + (index as u64 * 7) % 13), |_| false);
    }
    times_row(subject, keys, times, &format!("key to echo, {when}"));
}

/// The median and the slowest of the times; more than half of the keys must have had an effect.
fn times_row(subject: &Subject, keys: usize, mut times: Vec<Duration>, figure: &str) {
    if times.len() < keys.div_ceil(2) {
        return row(&subject.name, figure, "no effect".to_owned());
    }
    for percent in [50, 99] {
        let time = milliseconds(percentile(&mut times, percent));
        row(&subject.name, &format!("{figure}, p{percent}"), time);
    }
}

/// A long answer of the demo model at full speed.
fn measure_reply(subject: &Subject, keys: usize) {
    let mut terminal = ready(subject);
    let before = Usage::of(terminal.pid());
    row(&subject.name, "resident after start", before.resident());
    let bytes = terminal.received();
    let start = submit(&mut terminal, "long");
    // The answer is over when nothing has been drawn for a second.
    let quiet = Duration::from_secs(1);
    terminal.wait_quiet(quiet, Duration::from_secs(120));
    let took = start.elapsed().saturating_sub(quiet);
    let after = Usage::of(terminal.pid());
    row(&subject.name, "long answer, time", milliseconds(took));
    row(&subject.name, "long answer, cpu", milliseconds(after.cpu.saturating_sub(before.cpu)));
    row(&subject.name, "long answer, bytes drawn", format!("{} kB", (terminal.received() - bytes) / 1000));
    row(&subject.name, "resident after long answer", after.resident());
    echo(&mut terminal, subject, keys, "long answer above");
    let pages: Vec<&str> = [vec!["\x1b[5~"; 20], vec!["\x1b[6~"; 19]].concat();
    let pages: Vec<&str> = pages.into_iter().cycle().take(keys).collect();
    changes(&mut terminal, subject, &pages, "page up or down");
}

/// A run of the demo model that reads, edits and runs, at full speed.
fn measure_tour(subject: &Subject) {
    let mut terminal = ready(subject);
    let before = Usage::of(terminal.pid());
    let start = submit(&mut terminal, "tour");
    if !terminal.wait_until(TIMEOUT, |screen| screen.contents().contains("All of it was scripted")) {
        return row(&subject.name, "run with tools", "does not end".to_owned());
    }
    let took = start.elapsed();
    terminal.wait_quiet(Duration::from_millis(500), Duration::from_secs(5));
    let after = Usage::of(terminal.pid());
    row(&subject.name, "run with tools, time", milliseconds(took));
    row(&subject.name, "run with tools, cpu", milliseconds(after.cpu.saturating_sub(before.cpu)));
    row(&subject.name, "resident after run with tools", after.resident());
}

fn measure_idle(subject: &Subject, time: Duration) {
    let mut terminal = ready(subject);
    terminal.wait_quiet(Duration::from_secs(2), Duration::from_secs(10));
    let (before, bytes) = (Usage::of(terminal.pid()), terminal.received());
    terminal.wait_until(time, |_| false);
    let after = Usage::of(terminal.pid());
    let busy = after.running.saturating_sub(before.running);
    let share = 100.0 * busy.as_secs_f64() / time.as_secs_f64();
    row(&subject.name, "resident, idle", after.resident());
    row(&subject.name, "idle cpu of one core", format!("{share:.3} %"));
    row(
        &subject.name,
        "idle wake-ups a second",
        format!("{:.2}", after.wakes_since(&before) / time.as_secs_f64()),
    );
    row(&subject.name, "idle bytes written", (terminal.received() - bytes).to_string());
}
