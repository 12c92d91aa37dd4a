//! Programs that run without approval change nothing: generated, judged, and run by bash beside a canary.
//!
//! `TAU_PROGRAMS=1000000` sets their number; `TAU_PROGRAMS_FROM` is the first of them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tau::agent::permissions::{CallFacts, Permissions, Verdict};
use tau::agent::protocol::approval::PermissionMode;
use tau::tools::access::Access;

use super::grammar;
use crate::support::dice::Dice;
use crate::tidy::report;

/// The number of programs that run one after another between checks.
const BATCH: usize = 100;
/// The time limit for them.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A folder in which nothing may change, and a port to which nothing may connect.
struct Stage {
    folder: tempfile::TempDir,
    listener: TcpListener,
    datagrams: UdpSocket,
    port: u16,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let datagrams = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let stage = Stage { folder, listener, datagrams, port };
        for name in ["bin", "notes", "home", "outside", "tmp", "work/sub/deep", "work/evil/deep"] {
            std::fs::create_dir_all(stage.at(name)).unwrap();
        }
        let files = [
            ("work/file", "one\ntwo aa\n[x] 1\n"),
            ("work/other", "3\n"),
            ("work/list", "file\nother\n"),
            ("work/sub/file", "aa x\n"),
            ("home/.bashrc", "aa bashrc\n"),
            ("home/.profile", "aa profile\n"),
            ("home/.inputrc", "\n"),
            ("outside/file", "x\n"),
        ];
        for (name, text) in files {
            std::fs::write(stage.at(name), text).unwrap();
        }
        symlink("..", stage.at("work/link")).unwrap();
        for git in ["work/evil/.git", "work/bare"] {
            for name in ["objects", "refs"] {
                std::fs::create_dir_all(stage.at(git).join(name)).unwrap();
            }
            std::fs::write(stage.at(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
            std::fs::write(stage.at(git).join("config"), "[core]\n\tfsmonitor = aa x\n").unwrap();
        }
        let canary = stage.at("bin/aa");
        std::fs::write(&canary, format!("#!/bin/sh\n: > '{}'/$$\n", stage.at("notes").display())).unwrap();
        std::fs::set_permissions(&canary, std::fs::Permissions::from_mode(0o755)).unwrap();
        stage
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn is_free(&self, program: &str) -> bool {
        let (access, cwd, home) = (Access::command(program), self.at("work"), self.at("home"));
        let (mode, tool) = (PermissionMode::Ask, "bash");
        let call = CallFacts { mode, tool, access: &access, read_only: false, cwd: &cwd, home: Some(&home) };
        Permissions::default().judge(&call).verdict == Verdict::Allow
    }

    /// Every file with all its changeable properties.
    fn state(&self) -> BTreeMap<PathBuf, (u32, u64, i64, i64, Vec<u8>)> {
        let (mut found, mut open) = (BTreeMap::new(), vec![self.folder.path().to_owned()]);
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let facts = path.symlink_metadata().unwrap();
                let content = if facts.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
                let state = (facts.mode(), facts.len(), facts.mtime(), facts.mtime_nsec(), content);
                // Temporary files come and go there.
                let is_temporary = path.ends_with("tmp");
                if facts.is_dir() && !is_temporary {
                    open.push(path.clone());
                }
                if !is_temporary {
                    found.insert(path, state);
                }
            }
        }
        found
    }

    /// Runs programs one after another, each in a separate bash; returns what they changed.
    fn run(&self, programs: &[String]) -> Result<(), String> {
        let before = self.state();
        let list = self.at("tmp/programs");
        std::fs::write(&list, programs.join("\0") + "\0").unwrap();
        // A program that never ends has a second of processor time; one that waits for itself has a few
        // seconds.
        let each = "while IFS= read -r -d '' p; do \
            (ulimit -t 1; exec timeout 5 bash --norc --noprofile -c \"$p\" </dev/null >/dev/null 2>&1); done < \"$0\"";
        let mut bash = Command::new("bash")
            .args(["--norc", "--noprofile", "-c", each])
            .arg(&list)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()))
            .env("HOME", self.at("home"))
            .env("TMPDIR", self.at("tmp"))
            .current_dir(self.at("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let start = Instant::now();
        let mut ended = false;
        while !ended && start.elapsed() < TIMEOUT {
            std::thread::sleep(Duration::from_millis(2));
            ended = bash.try_wait().unwrap().is_some();
        }
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&bash),
            rustix::process::Signal::KILL,
        );
        let _ = bash.wait();
        if !ended {
            return Err("did not end".to_owned());
        }
        let connected = !self.listener.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if connected || self.datagrams.recv(&mut [0; 8]).is_ok() {
            return Err("connected".to_owned());
        }
        let after = self.state();
        let changed: Vec<_> =
            before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
        if changed.is_empty() { Ok(()) } else { Err(format!("changed {changed:?}")) }
    }
}

/// The change made by one of the programs, which is found by bisection, each half in a separate folder.
fn blame(programs: &[String]) -> String {
    let stage = Stage::new();
    let Err(what) = stage.run(programs) else {
        return format!("not again: one of\n{}", programs.join("\n---\n"));
    };
    if let [program] = programs {
        return format!("{what}:\n{program}\n");
    }
    let (one, other) = programs.split_at(programs.len() / 2);
    let is_one = Stage::new().run(one).is_err();
    blame(if is_one { one } else { other })
}

#[test]
fn what_runs_unasked_changes_nothing() {
    let number = |name: &str, default: usize| {
        std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(default)
    };
    let (programs, from) = (number("TAU_PROGRAMS", 2_000), number("TAU_PROGRAMS_FROM", 0));
    let (next, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let stage = Stage::new();
                let mut batch = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let is_last = index >= programs;
                    if !is_last {
                        let program = grammar::program(&mut Dice::new((from + index) as u64 + 1), stage.port);
                        if stage.is_free(&program) {
                            batch.push(program);
                        }
                    }
                    if batch.len() >= BATCH || is_last {
                        ran.fetch_add(batch.len(), Ordering::Relaxed);
                        if let Err(what) = stage.run(&batch) {
                            let fault = format!("{what}\n{}", blame(&batch));
                            eprintln!("{fault}");
                            faults.lock().unwrap().push(fault);
                        }
                        batch.clear();
                    }
                    if is_last {
                        break;
                    }
                }
            });
        }
    });
    report(&faults.into_inner().unwrap());
    let ran = ran.into_inner();
    assert!(ran * 12 > programs, "only {ran} of {programs} programs were allowed");
    eprintln!("{ran} of {programs} programs ran, and nothing was changed");
}
