//! Runs a fuzz target: known failures, seeds, then mutations of inputs with new behaviour.
//!
//! A plain `cargo test` runs a fixed number of cases from a fixed seed, so every run is the same. See
//! `docs/fuzzing.md` for the variables that make it run for hours, replay an input or start from another
//! seed. A failing input is minimized, saved, and named in the failure.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::mutate::mutate;
use crate::support::dice::Dice;

/// The maximum time for one input. Generous, because other programs may need the processor.
const CASE_LIMIT: Duration = Duration::from_secs(60);
/// The maximum length of an input, in bytes; in a long run up to [`LONG_INPUT`].
const SHORT_INPUT: usize = 8 * 1024;
const LONG_INPUT: usize = 32 * 1024;
/// The maximum number of inputs with new behaviour that are kept.
const POOL: usize = 4_000;
/// The maximum number of attempts to minimize a failing input.
const SHRINKS: usize = 3_000;

/// A function that accepts any bytes.
pub struct Target {
    /// Its name: the test, the folder of known failures, and the folder of new ones.
    pub name: &'static str,
    /// Panics if a property does not hold. The number describes the behaviour of the input: an input with a
    /// new number is kept and mutated further.
    pub check: fn(&[u8]) -> u64,
    /// The starting points of mutations.
    pub seeds: Vec<Vec<u8>>,
    /// Text inserted into inputs.
    pub words: &'static [&'static str],
    /// The number of cases in a plain `cargo test`: about a second.
    pub cases: u64,
}

/// How long to run and from which seed.
struct Plan {
    seed: u64,
    until: Option<Instant>,
    longest: usize,
}

impl Plan {
    fn of_environment() -> Self {
        let number = |name: &str| {
            let text = std::env::var(name).ok()?;
            Some(
                text.parse::<u64>().unwrap_or_else(|_| panic!("{name} must be a whole number, not {text:?}")),
            )
        };
        let seconds = number("TAU_FUZZ_SECONDS");
        let by_chance =
            || std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64);
        Plan {
            // A long run that starts like the previous one would repeat its findings.
            seed: number("TAU_FUZZ_SEED").unwrap_or_else(|| if seconds.is_some() { by_chance() } else { 1 }),
            until: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
            longest: if seconds.is_some() { LONG_INPUT } else { SHORT_INPUT },
        }
    }
}

/// Runs a target. Fails with the smallest input found that breaks a property.
pub fn run(target: Target) {
    let name = target.name;
    let current = Arc::new(Mutex::new(Vec::new()));
    let (beat, beats) = channel();
    let shown = Arc::clone(&current);
    // A separate thread, so that an endless loop fails the test instead of hanging it.
    let worker = std::thread::spawn(move || work(&target, &shown, &beat));
    loop {
        match beats.recv_timeout(CASE_LIMIT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let input = current.lock().unwrap().clone();
                let path = save(name, &input);
                panic!("{name}: one input took longer than {CASE_LIMIT:?}; it is in {}", path.display());
            }
        }
    }
    if let Err(panic) = worker.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs the cases; panics at the first failure.
fn work(target: &Target, current: &Mutex<Vec<u8>>, beat: &Sender<()>) {
    let run = |input: &[u8]| {
        let mut shown = current.lock().unwrap();
        shown.clear();
        shown.extend_from_slice(input);
        drop(shown);
        let _ = beat.send(());
        attempt(target.check, input)
    };
    if let Some(path) = std::env::var_os("TAU_FUZZ_INPUT") {
        // Panics are not caught here: they show their place.
        let behavior = (target.check)(&std::fs::read(path).unwrap());
        return println!("{}: passes; it behaves as {behavior:016x}", target.name);
    }
    let begun = Instant::now();
    let plan = Plan::of_environment();
    let mut dice = Dice::new(plan.seed);
    let (mut pool, mut seen) = (Vec::new(), HashSet::new());
    for input in known(target.name).into_iter().chain(target.seeds.iter().cloned()) {
        match run(&input) {
            Ok(behavior) => _ = seen.insert(behavior),
            Err(message) => fail(target, &input, &message, plan.seed, beat),
        }
        pool.push(input);
    }
    assert!(!pool.is_empty(), "{}: no seeds", target.name);
    let seeds = pool.len();
    let mut cases = 0;
    while plan.until.map_or(cases < target.cases, |end| Instant::now() < end) {
        // Half of the time from a seed: later inputs are longer and stranger.
        let bound = if dice.below(2) == 0 { seeds } else { pool.len() };
        let mut input = pool[dice.below(bound)].clone();
        let other = &pool[dice.below(pool.len())];
        mutate(&mut dice, &mut input, other, target.words);
        input.truncate(plan.longest);
        match run(&input) {
            Ok(behavior) if seen.insert(behavior) => {
                if pool.len() < POOL {
                    pool.push(input);
                } else {
                    let at = seeds + dice.below(pool.len() - seeds);
                    pool[at] = input;
                }
            }
            Ok(_) => {}
            Err(message) => fail(target, &input, &message, plan.seed, beat),
        }
        cases += 1;
    }
    let (seconds, ways) = (begun.elapsed().as_secs_f32(), seen.len());
    println!(
        "{}: {cases} cases in {seconds:.1} s from seed {}, {ways} ways to behave",
        target.name, plan.seed
    );
}

/// The check with its panic caught.
fn attempt(check: fn(&[u8]) -> u64, input: &[u8]) -> Result<u64, String> {
    catch_unwind(AssertUnwindSafe(|| check(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// Minimizes the input, saves it and fails.
fn fail(target: &Target, input: &[u8], message: &str, seed: u64, beat: &Sender<()>) -> ! {
    save(target.name, input);
    // Thousands of useless panics follow.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let small = shrink(target.check, input, beat);
    std::panic::set_hook(hook);
    let path = save(target.name, &small);
    let shown = String::from_utf8_lossy(small.get(..small.len().min(2_000)).unwrap_or_default());
    panic!(
        "fuzz target {name}, seed {seed}: {message}\ninput of {length} bytes: {shown:?}\n\
         saved; to replay: TAU_FUZZ_INPUT={path} cargo test --test all fuzz::{name}",
        name = target.name,
        length = small.len(),
        path = path.display(),
    );
}

/// A smaller input that also fails: pieces are left out as long as possible.
fn shrink(check: fn(&[u8]) -> u64, input: &[u8], beat: &Sender<()>) -> Vec<u8> {
    let mut small = input.to_vec();
    let mut piece = small.len() / 2;
    let mut attempts = 0;
    while piece > 0 {
        let (before, mut at) = (small.len(), 0);
        while at < small.len() && attempts < SHRINKS {
            attempts += 1;
            let _ = beat.send(());
            let mut smaller = small.clone();
            smaller.drain(at..(at + piece).min(small.len()));
            match attempt(check, &smaller) {
                Err(_) => small = smaller,
                Ok(_) => at += piece,
            }
        }
        if small.len() == before || piece > 1 {
            piece /= 2;
        }
        if attempts >= SHRINKS {
            break;
        }
    }
    small
}

/// Saves a failing input in cargo's folder for test files.
fn save(name: &str, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(format!("{:016x}", hasher.finish()));
    std::fs::write(&path, input).unwrap();
    path
}

/// Inputs that once failed: `tests/fuzz/inputs/NAME/`.
fn known(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/inputs").join(name);
    files(&folder)
}

/// The contents of the files of a folder, by name; empty if there is no such folder.
pub fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect()
}

/// A number that identifies a behaviour.
pub fn behavior(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// The order of magnitude of a count, so that not every length is a new behaviour.
pub fn magnitude(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

/// Cuts for an input: the same input is always cut the same way.
pub fn cuts(input: &[u8]) -> Dice {
    Dice::new(behavior(input))
}

#[test]
fn a_failing_input_is_found_made_small_and_saved() {
    let check = |input: &[u8]| {
        assert!(!input.windows(2).any(|pair| pair == b"\"z"), "there it is");
        behavior(magnitude(input.len()))
    };
    let target =
        Target { name: "driver", check, seeds: vec![b"{\"a\": 1}".to_vec()], words: &["z"], cases: 100_000 };
    let (beat, _beats) = channel();
    let current = Mutex::default();
    if std::env::var_os("TAU_FUZZ_INPUT").is_some() || std::env::var_os("TAU_FUZZ_SECONDS").is_some() {
        return;
    }
    let panic = catch_unwind(AssertUnwindSafe(|| work(&target, &current, &beat))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("there it is") && message.contains("input of 2 bytes: \"\\\"z\""), "{message}");
    let path = message.split("TAU_FUZZ_INPUT=").nth(1).unwrap().split(' ').next().unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"\"z");
}
