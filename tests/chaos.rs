//! Trees of helpers and background jobs are ended at random moments, in every way there is: nothing is left behind
//! unnamed, and nothing that was reported is lost.
//!
//! 10 rounds in a plain run; `TAU_ROUNDS=1000 cargo test --test all chaos -- --nocapture` for the full number, and
//! `TAU_SEED` for other ones.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::screen::{Screen, composer};
use crate::support::dice::Dice;
use crate::support::program::{calls_all, says_using, stalls};
use crate::support::server::{Act, Server, answer};
use crate::time_limit::{EndInTime, JoinInTime, RunInTime, SOON};

/// How a round ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    /// The program is killed.
    Killed,
    /// It is asked to end, as by a system that shuts down.
    Terminated,
    /// Its terminal is closed.
    HungUp,
    /// Esc, and it is ended when it is idle.
    Stopped,
    /// The program that drives it goes away.
    Abandoned,
    /// The provider has no quota left; then it is asked to end.
    NoQuota,
    /// Files cannot grow any more, as on a full disk.
    FullDisk,
    /// The process of a session in the background is killed, and a screen is attached.
    OwnerKilled,
    /// An attached screen is killed; then the session's process is asked to end.
    ScreenKilled,
}

const BLOWS: [Blow; 9] = [
    Blow::Killed,
    Blow::Terminated,
    Blow::HungUp,
    Blow::Stopped,
    Blow::Abandoned,
    Blow::NoQuota,
    Blow::FullDisk,
    Blow::OwnerKilled,
    Blow::ScreenKilled,
];

/// The number in a variable of the environment.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A user's home, with a provider that never runs out of ideas.
struct Stage {
    home: TempDir,
    /// The provider has no quota left.
    is_out: Arc<AtomicBool>,
    /// The provider ends what it is asked.
    is_calm: Arc<AtomicBool>,
}

impl Stage {
    async fn new(seed: u64) -> Self {
        let (is_out, is_calm) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (out, calm) = (Arc::clone(&is_out), Arc::clone(&is_calm));
        let dice = Mutex::new(Dice::new(seed));
        let server = Server::choosing(move |_, request| {
            let is_helper = request.contains("You are a helper");
            match () {
                () if out.load(Ordering::SeqCst) => {
                    Act::Send(answer("429 Too Many Requests", "retry-after: 3600\r\n", b"{}"))
                }
                () if calm.load(Ordering::SeqCst) => says_using("calm", 1),
                () => idea(&mut dice.lock().unwrap(), is_helper),
            }
        })
        .await;
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join("work")).unwrap();
        std::fs::create_dir_all(home.path().join("tau")).unwrap();
        std::fs::write(home.path().join("tau/config.toml"), "[helpers]\nenabled = true\n").unwrap();
        let url = server.url();
        let models = format!(
            "[vendors.own]\nbase_url = \"{url}\"\napi = \"openai-completions\"\napi_key = \"x\"\n\
             [[vendors.own.models]]\nid = \"m\"\ncontext_window = 1000000\ncost = {{ input = 1000.0, output = 0.0 }}\n"
        );
        std::fs::write(home.path().join("tau/models.toml"), models).unwrap();
        Stage { home, is_out, is_calm }
    }

    fn environment(&self) -> String {
        let home = self.home.path().display();
        format!(
            "export HOME={home} TAU_HOME={home}/tau TAU_PERMISSION_MODE=auto TAU_LOCAL_SERVERS=false; cd {home}/work"
        )
    }

    fn command(&self, args: &[&str]) -> Command {
        crate::live::command(self.home.path(), args)
    }

    fn json(&self, args: &[&str]) -> Value {
        let (code, out, err) = crate::live::texts(&self.command(args).output_in_time());
        assert_eq!(code, Some(0), "{args:?}: {err}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// Living processes of this home: their ids and command lines.
    fn processes(&self) -> Vec<(i32, String)> {
        let home = format!("HOME={}", self.home.path().display());
        let of_home = |(pid, _): &(i32, String)| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
                // One that has dropped its environment.
                || std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(self.home.path()))
        };
        let started = Instant::now();
        loop {
            let alive = crate::support::processes::alive("");
            // A process in the middle of exec has neither arguments nor an environment yet; a kernel thread has no program.
            let is_starting = |(pid, line): &(i32, String)| {
                line.is_empty() && std::fs::read_link(format!("/proc/{pid}/exe")).is_ok()
            };
            if !alive.iter().any(is_starting) || started.elapsed() >= SOON {
                return alive.into_iter().filter(of_home).collect();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn wait_for_no_process(&self, round: &str) {
        crate::time_limit::until(
            SOON,
            || self.processes().is_empty(),
            || format!("{round}: left: {:?}", self.processes()),
        );
    }

    /// Session files: their paths, headers and entries.
    fn sessions(&self) -> Vec<(PathBuf, Value, Vec<Value>)> {
        let mut found = Vec::new();
        files(&self.home.path().join("tau"), "jsonl", &mut found);
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let header = lines.next().filter(|header| header["type"] == "session")?;
            Some((path, header, lines.collect()))
        };
        found.into_iter().filter_map(read).collect()
    }
}

/// The files with an extension below a folder.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
}

/// The next answer of the model.
fn idea(dice: &mut Dice, is_helper: bool) -> Act {
    let job = ("bash", json!({ "command": "sleep 1000 & sleep 1001", "background": true }));
    let command = ("bash", json!({ "command": "echo one; sleep 0.05; echo two" }));
    let slow = ("bash", json!({ "command": "env -i setsid sleep 1002 & sleep 1003" }));
    let change = ("write", json!({ "path": "note.txt", "content": format!("{}\n", dice.below(1000)) }));
    let task = |kind: &str| ("delegate", json!({ "task": "look around", "kind": kind }));
    match (is_helper, dice.below(10)) {
        (_, 0) => stalls("thinking"),
        (_, 1) => calls_all(&[job, command], 10),
        (_, 2) => calls_all(&[change, command], 10),
        (true, 3) => calls_all(&[slow], 10),
        (true, 4..=7) => says_using("looked", 10),
        (true, _) => calls_all(&[command], 10),
        (false, 3..=6) => calls_all(&[task("work"), task("explore"), task("work"), command], 10),
        (false, _) => calls_all(&[task("work"), slow], 10),
    }
}

/// A running program that is driven by commands.
struct Driven {
    child: Child,
    reader: JoinHandle<Vec<Value>>,
    warnings: JoinHandle<String>,
}

/// What a program has reported.
#[derive(Default)]
struct Reported {
    events: Vec<Value>,
    /// Whether it said that the session cannot be saved.
    cannot_save: bool,
}

impl Driven {
    /// Starts it with a prompt. `files` is the largest size of a file, in kB.
    fn start(stage: &Stage, files: Option<u32>) -> Self {
        let limit = files.map_or(String::new(), |files| format!("ulimit -f {files};"));
        let script = format!("{limit} exec {} --mode rpc --model own/m", env!("CARGO_BIN_EXE_tau"));
        let plain = stage.command(&[]);
        let mut bash = Command::new("bash");
        bash.args(["-c", &script]).current_dir(stage.home.path().join("work")).env_clear();
        bash.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let mut driven = Driven::new(bash);
        driven.send(&json!({ "id": 1, "type": "prompt", "message": "work" }));
        driven
    }

    fn new(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let errors = child.stderr.take().unwrap();
        let warnings = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let record = |line: String| serde_json::from_str::<Value>(&line).ok();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).filter_map(record).collect());
        Driven { child, reader, warnings }
    }

    fn send(&mut self, command: &Value) {
        // A program that has ended reads nothing.
        let _ = writeln!(self.child.stdin.as_mut().unwrap(), "{command}");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; returns everything it has reported.
    fn end(mut self) -> Reported {
        drop(self.child.stdin.take());
        self.child.wait_in_time("the end of the program");
        let warnings = self.warnings.join_in_time("the end of its warnings");
        let cannot_save = warnings.contains("cannot save the session");
        Reported { events: self.reader.join_in_time("the end of its output"), cannot_save }
    }
}

/// Lets a tree work for a while, and strikes; returns what was reported.
fn strike(stage: &Stage, blow: Blow, after: Duration) -> Reported {
    if blow == Blow::HungUp {
        let script = format!("{}; exec \"$TAU_BIN\" --model own/m", stage.environment());
        let mut screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 100, 30);
        screen.wait_until("the composer", |cells| composer(cells).is_some());
        screen.type_keys("work\r");
        std::thread::sleep(after);
        screen.close();
        screen.wait_exit();
        return Reported::default();
    }
    if matches!(blow, Blow::OwnerKilled | Blow::ScreenKilled) {
        strike_attached(stage, blow, after);
        return Reported::default();
    }
    let mut driven = Driven::start(stage, (blow == Blow::FullDisk).then_some(12));
    std::thread::sleep(after);
    match blow {
        Blow::Killed => driven.signal(Signal::KILL),
        Blow::Terminated | Blow::FullDisk => driven.signal(Signal::TERM),
        Blow::Stopped => {
            driven.send(&json!({ "id": 2, "type": "abort" }));
        }
        Blow::NoQuota => {
            stage.is_out.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(300));
            driven.signal(Signal::TERM);
        }
        Blow::Abandoned | Blow::HungUp | Blow::OwnerKilled | Blow::ScreenKilled => {}
    }
    let reported = driven.end();
    stage.is_out.store(false, Ordering::SeqCst);
    reported
}

/// Strikes a session in the background that a screen is attached to, from which a message has just been sent.
fn strike_attached(stage: &Stage, blow: Blow, after: Duration) {
    let begun = stage.command(&["-b", "--model", "own/m", "work"]).output_in_time();
    let (code, out, err) = crate::live::texts(&begun);
    assert_eq!(code, Some(0), "{err}");
    let id = out.trim();
    let script = format!("{}; exec \"$TAU_BIN\" attach {id}", stage.environment());
    let mut screen = Screen::program(Path::new("/bin/bash"), &["-c", &script], 100, 30);
    // It is attached once it shows the session: one that is killed before is opened again by the screen.
    screen.wait_for("▌ work");
    screen.type_keys("and more\r");
    std::thread::sleep(after);
    let owner = crate::live_ends::process_of(stage.home.path(), id);
    if blow == Blow::OwnerKilled {
        kill_process(owner, Signal::KILL).unwrap();
        screen.wait_for("not connected");
        // What was not sent is in the composer again.
        screen.type_keys("\x15\x04");
        screen.wait_exit();
    } else {
        kill_process(screen.pid(), Signal::KILL).unwrap();
        screen.wait_exit();
        kill_process(owner, Signal::TERM).unwrap();
    }
}

/// What is left of a process that was killed is named by `tau jobs`, which ends it.
fn check_processes(stage: &Stage, blow: Blow, round: &str) {
    let mut stopped = String::new();
    if matches!(blow, Blow::Killed | Blow::OwnerKilled) {
        // What its own guards end is ended by now; the rest must be named.
        let started = Instant::now();
        loop {
            let left = stage.processes();
            let jobs = stage.json(&["jobs", "--json"]);
            let named = |pid: i32| jobs.as_array().unwrap().iter().any(|job| job["pid"] == pid);
            let unnamed: Vec<_> = left.iter().filter(|(pid, _)| !named(*pid)).collect();
            if unnamed.is_empty() {
                let mine = left.iter().map(|(pid, _)| pid.to_string()).collect::<Vec<_>>();
                if !mine.is_empty() {
                    let mut args = vec!["jobs", "--stop"];
                    args.extend(mine.iter().map(String::as_str));
                    stopped =
                        format!("{args:?}: {:?}", crate::live::texts(&stage.command(&args).output_in_time()));
                }
                break;
            }
            assert!(started.elapsed() < SOON, "{round}: not named: {unnamed:?} in {jobs}");
        }
    }
    stage.wait_for_no_process(&format!("{round} {stopped}"));
}

/// What a session costs, by its own file and by those of its helpers.
fn cost(stage: &Stage, id: &str) -> f64 {
    let sessions = stage.sessions();
    let is_below = |header: &Value| header["parentSession"].as_str().is_some_and(|path| path.contains(id));
    sessions
        .iter()
        .filter(|(_, header, _)| header["id"] == id || header["helper"].is_string() && is_below(header))
        .flat_map(|(_, _, entries)| entries)
        .filter_map(|entry| entry["message"]["usage"]["cost"]["total"].as_f64())
        .sum()
}

/// Everything that must hold after a round.
fn check(stage: &Stage, blow: Blow, reported: &Reported, round: &str) {
    check_processes(stage, blow, round);
    let rows = stage.json(&["sessions", "--json"]);
    let busy =
        rows.as_array().unwrap().iter().find(|row| row["state"] == "running" || row["state"] == "waiting");
    assert_eq!(busy, None, "{round}: it is still shown as at work");
    let mut sockets = Vec::new();
    files(stage.home.path(), "sock", &mut sockets);
    assert_eq!(sockets, Vec::<PathBuf>::new(), "{round}: sockets are left");
    let mut locks = Vec::new();
    files(&stage.home.path().join("tau/logs/live"), "lock", &mut locks);
    locks.retain(|lock| !lock.with_extension("json").exists());
    assert_eq!(locks, Vec::<PathBuf>::new(), "{round}: locks are left");
    let sessions = stage.sessions();
    let own = sessions.iter().filter(|(_, header, _)| !header["helper"].is_string());
    let Some((_, header, entries)) =
        own.max_by_key(|(_, header, _)| header["timestamp"].as_str().unwrap().to_owned())
    else {
        let is_lost = reported.events.iter().any(|event| event["type"] == "message_end");
        assert!(!is_lost || reported.cannot_save, "{round}: the session is lost");
        return;
    };
    let id = header["id"].as_str().unwrap();
    let stored: Vec<&Value> = entries.iter().map(|entry| &entry["message"]).collect();
    let ends = reported.events.iter().filter(|event| event["type"] == "message_end");
    let is_lost = |told: &&Value| {
        let same = ["role", "content", "timestamp"];
        let is_it = |stored: &&&Value| same.iter().all(|field| stored[field] == told[field]);
        !stored.iter().any(|stored| is_it(&stored))
    };
    // From the first that cannot be saved on, of which the user is told, all wait in memory.
    let mut told = ends.map(|event| &event["message"]).skip_while(|told| !is_lost(told));
    if let Some(lost) = told.next() {
        assert!(reported.cannot_save, "{round}: lost without a word: {lost}");
        assert!(told.all(|later| is_lost(&later)), "{round}: lost in the middle: {lost}");
    }
    // It continues where it was, and knows what everything has cost.
    stage.is_calm.store(true, Ordering::SeqCst);
    let (code, out, err) = crate::live::texts(
        &stage.command(&["-p", "--model", "own/m", "--session", id, "and now?"]).output_in_time(),
    );
    stage.is_calm.store(false, Ordering::SeqCst);
    assert_eq!((code, out.as_str()), (Some(0), "calm\n"), "{round}: {err}");
    let mut rpc = Driven::new(stage.command(&["--mode", "rpc", "--model", "own/m", "--session", id]));
    rpc.send(&json!({ "id": 7, "type": "get_session_stats" }));
    let stats = rpc.end().events.into_iter().find(|line| line["id"] == 7).unwrap();
    let (known, all) = (stats["data"]["cost"].as_f64().unwrap(), cost(stage, id));
    assert!((known - all).abs() < 1e-9, "{round}: {known} dollars are known of {all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_and_nothing_is_lost_whatever_ends_a_tree() {
    let (rounds, seed) = (number("TAU_ROUNDS", 10), number("TAU_SEED", 1) as u64);
    let mut trees = 0;
    for round in 0..rounds {
        let stage = Stage::new(seed * 1_000_000 + round as u64).await;
        let mut dice = Dice::new(seed * 7_000_000 + round as u64);
        let blow = BLOWS[round % BLOWS.len()];
        let after = Duration::from_millis(dice.below(1_200) as u64);
        let name = format!("round {round} (TAU_SEED={seed}), {blow:?} after {after:?}");
        if rounds > 10 {
            eprintln!("{name}");
        }
        let is_tree = tokio::task::spawn_blocking(move || {
            let reported = strike(&stage, blow, after);
            check(&stage, blow, &reported, &name);
            stage.sessions().iter().any(|(_, header, _)| header["helper"].is_string())
        });
        trees += usize::from(is_tree.await.unwrap());
    }
    assert!(trees * 4 > rounds, "only {trees} of {rounds} rounds had helpers");
}
