//! An hour of random commands on each protocol, as fast as they are answered: every request is answered, and
//! resource use does not grow.
//!
//! Commands come in rounds. After each round everything is brought to rest (nothing runs, nothing waits, no
//! unnecessary session is open), and the process's resources are read. The first half of the rounds sets the
//! usual level; the last one must not exceed it. `cargo test` runs a few hundred commands of it.

mod acp;
mod held;
mod http;
mod json_lines;
mod mcp;
mod pipes;
mod proxy;
mod rpc;
mod serve;
mod upstream;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use held::Held;

/// The commands of a busy client per minute: about seven per second.
const PER_MINUTE: usize = 400;
/// The time after which idle threads for blocking work end (tokio's default), and a little. Until then there
/// are as many as were once needed at the same time.
pub const IDLE_THREADS: Duration = Duration::from_secs(11);
/// The time limit for an answer. Usual ones take milliseconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How tau is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// `tau --mode rpc`.
    Rpc,
    /// `tau --json`, with prompts on standard input.
    Json,
    /// `tau acp`.
    Acp,
    /// `tau serve`.
    Serve,
    /// `tau mcp-serve`, on the standard streams.
    Mcp,
    /// `tau proxy`.
    Proxy,
}

/// One protocol, with a process that speaks it.
trait Talk {
    /// Does something at random.
    fn act(&mut self, dice: &mut Dice) -> Result<(), String>;
    /// Brings everything to rest.
    fn rest(&mut self) -> Result<(), String>;
    /// The process.
    fn pid(&self) -> u32;
    /// The number of requests answered so far.
    fn answered(&self) -> usize;
    /// The memory it is meant to hold, in kilobytes: the entries of a session that never ends.
    fn kept(&self) -> u64 {
        0
    }
    /// The number of session files that it may hold open, depending on chance.
    fn session_files(&self) -> u64 {
        0
    }
}

/// A deterministic random number generator.
pub struct Dice(u64);

impl Dice {
    /// A number below `most`.
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most.max(1) as u64).unwrap()
    }

    /// One of these.
    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Bytes that are not a command of any protocol, on one line.
    fn nonsense(&mut self, whole: &[u8]) -> Vec<u8> {
        match self.below(3) {
            0 => whole.get(..self.below(whole.len())).unwrap_or_default().to_vec(),
            1 => (0..self.below(80)).map(|_| u8::try_from(self.below(245) + 11).unwrap()).collect(),
            _ => "[".repeat(self.below(600)).into_bytes(),
        }
    }
}

/// The folders of a process: a home, a working directory, and one for temporary files.
pub struct Place {
    dir: tempfile::TempDir,
    upstream: std::net::SocketAddr,
}

impl Place {
    fn new(seed: u64) -> Self {
        let place = Place { dir: tempfile::tempdir().unwrap(), upstream: upstream::start(seed) };
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(place.path(name)).unwrap();
        }
        let model = |id| {
            format!("[[vendors.own.models]]\nid = \"{id}\"\ncontext_window = 60000\nmax_tokens = 4000\n")
        };
        let text = format!(
            "[vendors.own]\nbase_url = \"http://{}\"\napi = \"openai-completions\"\napi_key = \"x\"\n{}{}",
            place.upstream,
            model("m"),
            model("n")
        );
        std::fs::write(place.path("home").join("models.toml"), text).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The program, with its errors in a file.
    fn tau(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("TAU_HOME", self.path("home"));
        command.env("TMPDIR", self.path("tmp")).current_dir(self.path("work")).args(arguments);
        let errors = std::fs::File::create(self.path("errors")).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        command
    }
}

/// The number of commands, and how resource use is judged.
pub struct Extent {
    pub commands: usize,
    /// The number of commands after which resource use is read.
    pub rounds: usize,
    /// The time that ended parts may take to disappear.
    pub settling: Duration,
    /// The maximum additional time after the last round.
    pub patience: Duration,
    /// True if memory counts, too. It says little before a process has done much.
    pub with_memory: bool,
}

/// Runs `minutes` worth of commands on each protocol; true if all of them passed.
pub fn run(tau: &Path, protocols: &[Protocol], minutes: usize, seed: u64) -> bool {
    let all = Protocol::value_variants();
    let extent = Extent {
        commands: minutes * PER_MINUTE,
        rounds: 10,
        settling: Duration::from_millis(700),
        patience: IDLE_THREADS,
        with_memory: true,
    };
    let mut held = true;
    for protocol in if protocols.is_empty() { all } else { protocols } {
        if let Err(why) = soak(tau, *protocol, &extent, seed) {
            held = false;
            println!("{why}");
        }
    }
    held
}

/// Sends random commands on one protocol.
///
/// # Errors
/// If something is not answered, or resource use grows.
pub fn soak(tau: &Path, protocol: Protocol, extent: &Extent, seed: u64) -> Result<(), String> {
    let place = Place::new(seed);
    let started = match protocol {
        Protocol::Rpc => rpc::start(&place, tau),
        Protocol::Json => json_lines::start(&place, tau),
        Protocol::Acp => acp::start(&place, tau),
        Protocol::Serve => serve::start(&place, tau),
        Protocol::Mcp => mcp::start(&place, tau),
        Protocol::Proxy => proxy::start(&place, tau),
    };
    started.and_then(|mut talk| in_rounds(talk.as_mut(), &place, extent, seed)).map_err(|why| {
        let name = format!("{protocol:?}").to_lowercase();
        let errors = std::fs::read_to_string(place.path("errors")).unwrap_or_default();
        let last: Vec<&str> = errors.lines().rev().take(5).collect();
        format!("{name}: FAILED: {why}\n  its last errors: {last:?}")
    })
}

fn in_rounds(talk: &mut dyn Talk, place: &Place, extent: &Extent, seed: u64) -> Result<(), String> {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut rounds, start) = (Vec::new(), Instant::now());
    println!(
        "{:>9} {:>9} {:>9} {:>8} {:>8} {:>9} {:>6} {:>7}",
        "commands", "answered", "resident", "threads", "files", "processes", "temp", "seconds"
    );
    for round in 1..=extent.rounds {
        for _ in 0..extent.commands / extent.rounds {
            talk.act(&mut dice)?;
        }
        talk.rest()?;
        std::thread::sleep(extent.settling);
        let held = held(talk, place)?;
        println!(
            "{:>9} {:>9} {:>6.1} MB {:>8} {:>8} {:>9} {:>6} {:>7}",
            round * (extent.commands / extent.rounds),
            talk.answered(),
            held.resident as f64 / 1024.0,
            held.threads,
            held.descriptors,
            held.processes,
            held.temporary,
            start.elapsed().as_secs()
        );
        rounds.push(held);
    }
    let rested = Instant::now();
    loop {
        let checked = held::check(&rounds, extent.with_memory, talk.session_files());
        if checked.is_ok() || rested.elapsed() >= extent.patience {
            return checked;
        }
        std::thread::sleep(extent.settling);
        rounds.pop();
        rounds.push(held(talk, place)?);
    }
}

/// The resources currently held, without those it is meant to hold.
fn held(talk: &dyn Talk, place: &Place) -> Result<Held, String> {
    let held = Held::of(talk.pid(), place.dir.path(), &place.path("tmp"))?;
    Ok(Held { resident: held.resident.saturating_sub(talk.kept()), ..held })
}
