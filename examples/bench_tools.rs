//! Figures of the tools, each beside its baseline.
//!
//! `cargo run --release --example bench_tools -- PART…`; `rg` in the path, or at `RG`, is measured too. The
//! parts are `output`, `judge`, `sandbox`, `files`, `search` and `undo`; without one, all. Every figure is
//! the best of several runs. Creates about 1.5 GB of files in the temporary folder and removes them.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that measures and prints")]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tau::agent::permissions::{CallFacts, Options, Permissions, RuleInForce, RuleSource, Verdict};
use tau::agent::protocol::approval::PermissionMode;
use tau::agent::undo::scan::Scanner;
use tau::tools::access::Access;
use tau::tools::process::ChildEnv;
use tau::tools::sandbox::support::Support;
use tau::tools::sandbox::{SandboxLevel, SandboxPolicy};
use tau::tools::scratch::Scratch;
use tau::tools::{ToolContext, Toolbox};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The number of folders in the tree, and of files in each.
const TREE: (usize, usize) = (1_000, 100);
const RUNS: usize = 7;
const SCANS: u32 = 20;
/// The number of commands run with and without the sandbox.
const COMMANDS: usize = 300;

/// How often a call is judged.
const JUDGEMENTS: usize = 2_000;
/// Typical calls of models: most read, some write.
const JUDGED: [&str; 10] = [
    "ls -la",
    "cat src/main.rs | head -50",
    "git status --short && git diff",
    "git log --oneline -5 -- src",
    "rg -n 'fn main' src",
    "cat src/*.rs",
    "sed -n '1,80p' src/main.rs",
    "cargo test --all 2>&1 | tail -30",
    "cp src/main.rs plain/b",
    "cd src && for f in *.rs; do wc -l \"$f\"; done",
];
const RULES: [(Verdict, &str); 6] = [
    (Verdict::Deny, "read(**/.env)"),
    (Verdict::Deny, "edit(migrations/**)"),
    (Verdict::Deny, "bash(git push *)"),
    (Verdict::Ask, "bash(rm *)"),
    (Verdict::Allow, "bash(cargo test *)"),
    (Verdict::Allow, "edit(src/**)"),
];

struct Bench {
    context: ToolContext,
    tools: Toolbox,
}

impl Bench {
    fn new(folder: &Path) -> Outcome<Self> {
        let env = Arc::new(ChildEnv::new(&[], &[], "bench"));
        let context = ToolContext { env, ..ToolContext::new(folder, Arc::new(Scratch::new(folder)?)) };
        Ok(Bench { context, tools: Toolbox::all() })
    }

    /// The time that a call takes.
    async fn call(&self, tool: &str, args: Value) -> Outcome<Duration> {
        let tool = self.tools.get(tool).ok_or("no such tool")?;
        let started = Instant::now();
        tool.run(args, self.context.clone()).await?;
        Ok(started.elapsed())
    }

    async fn best(&self, tool: &str, args: &Value) -> Outcome<Duration> {
        let mut best = Duration::MAX;
        for _ in 0..RUNS {
            best = best.min(self.call(tool, args.clone()).await?);
        }
        Ok(best)
    }
}

/// The best time of another program; `None` if it is missing.
fn other(program: &str, args: &[&str], folder: &Path, runs: usize) -> Option<Duration> {
    let run = |_| {
        let started = Instant::now();
        let mut command = Command::new(program);
        let status =
            command.args(args).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).status();
        status.ok().map(|_| started.elapsed())
    };
    (0..runs).map(run).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// The peak memory of this process, in MB; 0 if unknown.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0) / 1024.0
}

fn tell(what: &str, ours: Duration, beside: Option<(&str, Duration)>, promised: &str) {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    let beside = match beside {
        Some((name, theirs)) => {
            format!("{name} {}, {:.2} times", ms(theirs), ours.as_secs_f64() / theirs.as_secs_f64())
        }
        None => "nothing beside it".into(),
    };
    println!("{what:<44} {:>11}   {beside} (promised: {promised})", ms(ours));
}

/// The CPU time of this process so far, in steps of 10 ms; zero if unknown.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(") ").next().unwrap_or_default();
    // proc_pid_stat(5): utime and stime, in ticks.
    let ticks: u64 = after.split(' ').skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn make_tree(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder.join(".git"))?;
    fs::write(folder.join(".gitignore"), "*.log\nbuild/\n")?;
    for outer in 0..TREE.0 {
        let inner = folder.join(format!("module{:02}/part{:02}", outer / 32, outer % 32));
        fs::create_dir_all(&inner)?;
        for file in 0..TREE.1 {
            let end = ["rs", "ts", "md", "log"][file % 4];
            let rare = if (outer * TREE.1 + file).is_multiple_of(997) { "a rare_needle here\n" } else { "" };
            let text = format!("// file {file} of {outer}\nfn common_word() {{}}\n{rare}")
                + &"some text that is in no way special\n".repeat(file % 40);
            fs::write(inner.join(format!("file{file:03}.{end}")), text)?;
        }
    }
    Ok(())
}

/// Scanning the tree, as undo does before and after each command.
fn scanning(folder: &Path) -> Outcome<()> {
    let scanner = Scanner::new(folder, None);
    let mut best = Duration::MAX;
    let mut files = 0;
    let before = cpu();
    for _ in 0..SCANS {
        let started = Instant::now();
        let snapshot = scanner.scan(None)?;
        best = best.min(started.elapsed());
        files = snapshot.entries.len() + snapshot.ignored.len();
    }
    let each = (cpu() - before) / SCANS;
    tell(&format!("undo: look at {files} paths"), best, None, "150 ms");
    println!("    CPU time of each, of all threads: {:.0} ms", each.as_secs_f64() * 1000.0);
    Ok(())
}

async fn searching(bench: &Bench, folder: &Path) -> Outcome<()> {
    let rg = std::env::var("RG").unwrap_or_else(|_| "rg".into());
    let path = folder.display().to_string();
    let cases = [
        ("find *.rs", "find", json!({"pattern": "*.rs", "path": path}), vec!["--files", "-g", "*.rs"]),
        (
            "find, nothing found",
            "find",
            json!({"pattern": "*.nothing", "path": path}),
            vec!["--files", "-g", "*.nothing"],
        ),
        (
            "grep, 100 matches",
            "grep",
            json!({"pattern": "rare_needle", "path": path}),
            vec!["-n", "rare_needle"],
        ),
        (
            "grep, no match",
            "grep",
            json!({"pattern": "no_such_text", "path": path}),
            vec!["-n", "no_such_text"],
        ),
        (
            "grep -i regex",
            "grep",
            json!({"pattern": "RARE_\\w+ here", "ignore_case": true, "path": path}),
            vec!["-n", "-i", "RARE_\\w+ here"],
        ),
        (
            "grep, a match in every file",
            "grep",
            json!({"pattern": "common_word", "path": path}),
            vec!["-n", "common_word"],
        ),
    ];
    for (what, tool, args, theirs) in cases {
        let ours = bench.best(tool, &args).await?;
        tell(what, ours, other(&rg, &theirs, folder, RUNS).map(|time| ("rg", time)), "1.3 times");
    }
    Ok(())
}

async fn files(bench: &Bench, folder: &Path) -> Outcome<()> {
    let large = folder.join("large");
    let block = "this is one line of a large file, of usual length for a line\n".repeat(17_000);
    let mut file = File::create(&large)?;
    for _ in 0..1_000 {
        file.write_all(block.as_bytes())?;
    }
    drop(file);
    let before = peak();
    let ours = bench.best("read", &json!({"path": "large", "limit": 100})).await?;
    tell("read, 100 lines of 1 GB", ours, None, "100 ms");
    println!("    memory {:.1} MB, before it {before:.1} MB", peak());
    fs::remove_file(large)?;
    let ten: String =
        (0..240_000).map(|n| format!("this is line {n} of a file of ten megabytes\n")).collect();
    let edits = [
        ("edit of 10 MB, one place", "line 150000 of", "line x of", false),
        ("edit of 10 MB, inexact", "this is line 1000 of a file of ten megabytes  ", "z", false),
        ("edit of 10 MB, 1100 places", "line 77", "line qq", true),
    ];
    for (what, old, new, all) in edits {
        let mut best = Duration::MAX;
        for _ in 0..3 {
            fs::write(folder.join("ten"), &ten)?;
            bench.call("read", json!({"path": "ten", "limit": 1})).await?;
            let args = json!({"path": "ten", "old_string": old, "new_string": new, "replace_all": all});
            best = best.min(bench.call("edit", args).await?);
        }
        tell(what, best, None, "100 ms");
    }
    Ok(())
}

async fn output(bench: &Bench, folder: &Path) -> Outcome<()> {
    for command in ["head -c 1G /dev/zero", "yes 'a line of text' | head -c 1G"] {
        let mut best = Duration::MAX;
        for _ in 0..3 {
            best = best.min(bench.call("bash", json!({"command": command})).await?);
        }
        let piped = format!("{{ {command}; }} | cat");
        tell(
            &format!("bash: {command}"),
            best,
            other("bash", &["-c", &piped], folder, 3).map(|t| ("cat", t)),
            "3 times",
        );
        println!("    memory {:.1} MB (promised: 40 MB)", peak());
    }
    let started = Instant::now();
    for _ in 0..100 {
        bench.call("bash", json!({"command": "true"})).await?;
    }
    tell("bash: 100 times true", started.elapsed(), None, "1 s");
    Ok(())
}

/// The same command with and without the sandbox, alternately, in a repository; then as one without
/// approval.
async fn sandboxed(folder: &Path) -> Outcome<()> {
    let work = folder.join("repository");
    for part in ["hooks", "objects"] {
        fs::create_dir_all(work.join(".git").join(part))?;
    }
    for file in ["HEAD", "config"] {
        fs::write(work.join(".git").join(file), "")?;
    }
    let bench = Bench::new(&work)?;
    let policy = SandboxPolicy {
        level: SandboxLevel::WorkspaceWrite,
        network: false,
        workspace: work.clone(),
        temporary: vec!["/tmp".into()],
        ..SandboxPolicy::off()
    };
    let in_force = Support::here().enforcement(&policy);
    // A home directory with keys. It is not in the folder of temporary files, which changes all the time.
    let home = tempfile::tempdir_in("/var/tmp")?;
    for other in 0..40 {
        fs::write(home.path().join(format!("file{other}")), "")?;
    }
    let hidden = [".ssh", ".aws", ".config/tau", ".local/share/tau"].map(|place| home.path().join(place));
    hidden.iter().try_for_each(fs::create_dir_all)?;
    let unasked = policy.for_unasked_command(hidden.to_vec());
    let cases =
        [(format!("sandbox ({in_force})"), policy, "1 ms more"), ("unasked".into(), unasked, "2 ms more")];
    for (name, policy, goal) in cases {
        let confined = Bench {
            context: ToolContext { sandbox: Arc::new(policy), ..bench.context.clone() },
            tools: Toolbox::all(),
        };
        let (mut free, mut bound) = (Vec::new(), Vec::new());
        for _ in 0..COMMANDS {
            free.push(bench.call("bash", json!({"command": "true"})).await?);
            bound.push(confined.call("bash", json!({"command": "true"})).await?);
        }
        for times in [&mut free, &mut bound] {
            times.sort();
        }
        for (part, at) in [("the best", 0), ("half of them within", COMMANDS / 2)] {
            let more = bound[at].saturating_sub(free[at]);
            tell(&format!("{name}: {part}"), bound[at], Some(("without it", free[at])), goal);
            println!("    more: {:.2} ms", more.as_secs_f64() * 1000.0);
        }
    }
    Ok(())
}

/// The cost of judging a call, from its text to the verdict.
fn judging(folder: &Path) -> Outcome<()> {
    let (work, home) = (folder.join("judged"), folder.join("home"));
    for part in ["src", "plain", "migrations", ".git"] {
        fs::create_dir_all(work.join(part))?;
    }
    fs::create_dir_all(home.join(".ssh"))?;
    for file in ["src/main.rs", "src/lib.rs", ".env", ".git/HEAD", ".git/config"] {
        fs::write(work.join(file), "")?;
    }
    let in_force = |(list, rule): (Verdict, &str)| -> Outcome<RuleInForce> {
        Ok(RuleInForce { rule: rule.parse()?, list, source: RuleSource::Session })
    };
    let rules = RULES.into_iter().map(in_force).collect::<Outcome<Vec<_>>>()?;
    let permissions = Permissions::new(rules, Options::default());
    let mut all = Vec::new();
    for text in JUDGED {
        let mut times = Vec::new();
        for _ in 0..JUDGEMENTS {
            let started = Instant::now();
            let access = Access::command(text);
            let (mode, tool) = (PermissionMode::Ask, "bash");
            let facts =
                CallFacts { mode, tool, access: &access, read_only: false, cwd: &work, home: Some(&home) };
            let verdict = permissions.judge(&facts).verdict;
            times.push(started.elapsed());
            std::hint::black_box(verdict);
        }
        times.sort();
        println!("judge: {text:<50} {:>7.1} µs", times[JUDGEMENTS / 2].as_secs_f64() * 1e6);
        all.extend(times);
    }
    all.sort();
    for (part, at) in
        [("half of the calls within", all.len() / 2), ("99 of 100 within", all.len() * 99 / 100)]
    {
        println!("judge: {part:<50} {:>7.1} µs (promised: 100 µs)", all[at].as_secs_f64() * 1e6);
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |part: &str| wanted.is_empty() || wanted.iter().any(|name| name == part);
    let folder = tempfile::tempdir()?;
    let bench = Bench::new(folder.path())?;
    let tree = folder.path().join("tree");
    // Memory measurements come first: the rest creates large texts of its own.
    if is_wanted("output") {
        output(&bench, folder.path()).await?;
    }
    if is_wanted("judge") {
        judging(folder.path())?;
    }
    if is_wanted("sandbox") {
        sandboxed(folder.path()).await?;
    }
    if is_wanted("files") {
        files(&bench, folder.path()).await?;
    }
    if is_wanted("search") || is_wanted("undo") {
        make_tree(&tree)?;
    }
    if is_wanted("search") {
        searching(&bench, &tree).await?;
    }
    if is_wanted("undo") {
        scanning(&tree)?;
    }
    Ok(())
}
