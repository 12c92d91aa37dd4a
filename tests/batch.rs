//! `tau batch`: many tasks, each with one result, whatever ends in between.

mod collecting;
mod kubernetes;
mod money;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::answering;
use crate::live::{command, texts};
use crate::screen::TIMEOUT;
use crate::support::processes;
use crate::time_limit::{EndInTime, RunInTime, until};

/// A user's home, with a file of tasks in the folder that tau runs in.
struct Home {
    dir: TempDir,
    url: String,
}

impl Home {
    fn new(url: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("work/bin")).unwrap();
        Home { dir, url: url.to_owned() }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join("work").join(path)
    }

    fn tasks(&self, tasks: &[Value]) {
        let lines: String = tasks.iter().map(|task| format!("{task}\n")).collect();
        fs::write(self.at("tasks.jsonl"), lines).unwrap();
    }

    fn batch(&self, args: &[&str]) -> Command {
        let mut command = command(self.dir.path(), &["batch", "tasks.jsonl"]);
        let path = format!("{}:{}", self.at("bin").display(), std::env::var("PATH").unwrap());
        command.args(args).env("TAU_BASE_URL", &self.url).env("TAU_MODEL", "m").env("PATH", path);
        command.env("TAU_DEMO_SPEED", "max").env("GIT_CONFIG_GLOBAL", "/dev/null");
        command
    }

    fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        texts(&self.batch(args).output_in_time())
    }

    fn result(&self, id: &str) -> Option<Value> {
        let text = fs::read(self.at(&format!("tasks.results/results/{id}.json"))).ok()?;
        Some(serde_json::from_slice(&text).unwrap())
    }

    fn results(&self) -> usize {
        // One that is being written has a name with a dot.
        let is_whole = |name: std::ffi::OsString| !name.to_string_lossy().starts_with('.');
        let files = fs::read_dir(self.at("tasks.results/results")).into_iter().flatten().flatten();
        files.filter(|file| is_whole(file.file_name())).count()
    }

    fn place(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.at("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn task(id: &str, check: &str) -> Value {
    json!({ "id": id, "prompt": format!("do {id}"), "directory": ".", "check": check })
}

#[test]
fn each_task_gets_one_result_and_a_command_decides() {
    let home = Home::new(&answering(Duration::ZERO, "the answer"));
    home.tasks(&[task("good", "true"), task("bad", "echo it is bad; exit 7")]);
    let (code, out, err) = home.run(&[]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("2 tasks: 1 passed, 1 failed, 0 without a result\npass rate 50.0 %\n"), "{out}");
    assert!(out.contains("bad  the check exited with 7 (run: done)"), "{out}");
    assert!(err.contains("passed  good") && err.contains("failed  bad"), "{err}");
    let bad = home.result("bad").unwrap();
    assert_eq!(
        (&bad["passed"], &bad["exitCode"], &bad["text"]),
        (&json!(false), &json!(0), &json!("the answer"))
    );
    assert_eq!(bad["check"]["exitCode"], 7);
    assert_eq!(bad["check"]["output"], "it is bad\n");
    // The session of the run can be opened.
    let session = bad["session"].as_str().unwrap();
    let (code, out, _) = texts(&command(home.dir.path(), &["logs", session]).output_in_time());
    assert_eq!((code, out.as_str()), (Some(0), "the answer\n"));
    // Again: nothing is left to do. Only what has failed, if that is wanted.
    let ended = |id: &str| home.result(id).unwrap()["ended"].clone();
    let before = (ended("good"), ended("bad"));
    assert_eq!(home.run(&[]).0, Some(1));
    assert_eq!((ended("good"), ended("bad")), before);
    let (code, out, _) = home.run(&["--report", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(1));
    let (code, out, _) = home.run(&["--report", "--only", "good"]);
    assert!(code == Some(0) && out.starts_with("1 task: 1 passed"), "{out}");
    assert_eq!((&report["tasks"], &report["passRate"]), (&json!(2), &json!(0.5)));
    // Where the price of no task is known, there is no sum.
    for id in ["good", "bad"] {
        let mut result = home.result(id).unwrap();
        result["cost"] = Value::Null;
        fs::write(home.at(&format!("tasks.results/results/{id}.json")), result.to_string()).unwrap();
    }
    let (_, out, _) = home.run(&["--report"]);
    assert!(out.contains("\ncost not known, "), "{out}");
    home.run(&["--again"]);
    assert!(ended("good") == before.0 && ended("bad") != before.1);
    // An id with another task is no reason to trust the result.
    home.tasks(&[task("good", "false")]);
    let (code, _, err) = home.run(&[]);
    assert_eq!(code, Some(3));
    assert!(err.contains("is of another task called good"), "{err}");
}

#[test]
fn a_check_is_a_command_like_others() {
    let home = Home::new(&answering(Duration::ZERO, "done"));
    let left = format!("exec sleep {}", 4_000 + std::process::id() % 1_000);
    home.tasks(&[
        task("killed", "kill -9 $$"),
        task("long", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo the end"),
        task("secret", "test -z \"$SERVICE_TOKEN\" && test -z \"$GIT_DIR\""),
        task("left", &format!("({left}) >/dev/null 2>&1 & true")),
    ]);
    let mut batch = home.batch(&[]);
    batch.env("SERVICE_TOKEN", "sk-0123456789abcdefghij").env("GIT_DIR", "/nowhere");
    let (_, out, err) = texts(&batch.output_in_time());
    assert!(out.contains("killed  the check was ended by signal 9 (run: done)"), "{out}{err}");
    assert_eq!(home.result("killed").unwrap()["check"]["signal"], 9);
    let long = home.result("long").unwrap();
    assert_eq!(long["passed"], true, "{long}");
    let output = long["check"]["output"].as_str().unwrap();
    assert!(output.ends_with("x\nthe end\n") && output.len() <= 4_096, "{} bytes", output.len());
    assert_eq!(home.result("secret").unwrap()["passed"], true, "{out}{err}");
    // What it has left is known, with the session of the task.
    let (_, listed, _) = texts(&command(home.dir.path(), &["jobs", "--json"]).output_in_time());
    let jobs: Value = serde_json::from_str(&listed).unwrap();
    let session = home.result("left").unwrap()["session"].clone();
    let job = jobs.as_array().unwrap().iter().find(|job| job["session"] == session);
    let pid = job.unwrap_or_else(|| panic!("{listed}"))["pid"].to_string();
    let (code, _, err) = texts(&command(home.dir.path(), &["jobs", "--stop", &pid]).output_in_time());
    assert_eq!(code, Some(0), "{err}");
}

#[test]
fn a_failure_of_the_provider_leaves_no_result() {
    let home = Home::new("http://127.0.0.1:9/v1");
    fs::create_dir(home.at("other")).unwrap();
    home.tasks(&[task("one", "true"), json!({ "id": "two", "prompt": "x", "directory": "other" })]);
    let (code, out, err) = home.run(&["--json"]);
    assert_eq!(code, Some(1), "{out}{err}");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let missing = lines.iter().filter(|line| line["type"] == "missing").count();
    assert_eq!((missing, home.results()), (2, 0), "{out}");
    let report = lines.last().unwrap();
    assert_eq!(report["missing"].as_array().unwrap().len(), 2);
    assert!(!out.contains("-0.0"), "{out}");
    // Once the provider is there, running again does them.
    let home = Home { url: answering(Duration::ZERO, "now"), ..home };
    let (code, out, err) = home.run(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(home.results(), 2);
}

#[test]
fn running_again_after_a_kill_does_only_what_is_missing() {
    let home = Home::new(&answering(Duration::from_millis(300), "an answer"));
    let count = home.at("count");
    let tasks: Vec<Value> = (0..12)
        .map(|number| {
            let id = format!("t{number}");
            fs::create_dir(home.at(&id)).unwrap();
            json!({ "id": id, "prompt": "go", "directory": id, "check": format!("echo {id} >>{}", count.display()) })
        })
        .collect();
    home.tasks(&tasks);
    let mut first = home.batch(&["-n", "3"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + TIMEOUT;
    while home.results() < 4 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().unwrap();
    first.wait_in_time("the killed batch");
    let done: Vec<(usize, Value)> =
        (0..12).filter_map(|number| Some((number, home.result(&format!("t{number}"))?))).collect();
    assert!((4..12).contains(&done.len()), "{}", done.len());
    let (code, out, err) = home.run(&["-n", "3"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(home.results(), 12);
    for (number, result) in done {
        assert_eq!(home.result(&format!("t{number}")).unwrap(), result);
    }
    // What had a result was not checked again; the kill itself may have cost three checks.
    let checked = fs::read_to_string(count).unwrap().lines().count();
    assert!((12..=15).contains(&checked), "{checked}");
}

#[test]
fn half_written_results_of_a_killed_batch_are_removed() {
    let home = Home::new(&answering(Duration::from_millis(5), "an answer"));
    home.tasks(&[task("a", "true")]);
    let results = home.at("tasks.results/results");
    fs::create_dir_all(&results).unwrap();
    let [left, writing] = ['1', '2'].map(|digit| format!(".tau-{}.tmp", digit.to_string().repeat(32)));
    fs::write(results.join(left), "{").unwrap();
    fs::write(results.join(&writing), "{").unwrap();
    // As the process that is writing it does.
    let written = fs::File::open(results.join(&writing)).unwrap();
    written.try_lock().unwrap();
    let (code, out, err) = home.run(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    let names = || {
        let files = fs::read_dir(&results).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), [writing.as_str(), "a.json"]);
    drop(written);
    assert_eq!(home.run(&[]).0, Some(0));
    assert_eq!(names(), ["a.json"]);
}

#[test]
fn tasks_of_one_folder_do_not_meet_and_two_batches_share_the_work() {
    let home = Home::new(&answering(Duration::from_millis(50), "an answer"));
    let alone = "mkdir alone && sleep 0.2 && rmdir alone";
    let tasks: Vec<Value> = (0..6).map(|number| task(&format!("t{number}"), alone)).collect();
    home.tasks(&tasks);
    let (code, out, err) = home.run(&["-n", "6"]);
    assert_eq!(code, Some(0), "{out}{err}");
    // Two at once on one folder of results: each task is done by one of them.
    let count = home.at("count");
    let tasks: Vec<Value> = (0..6)
        .map(|number| {
            fs::create_dir(home.at(&format!("u{number}"))).unwrap();
            let check = format!("sleep 0.2; echo >>{}", count.display());
            json!({ "prompt": "go", "directory": format!("u{number}"), "check": check })
        })
        .collect();
    home.tasks(&tasks);
    let start = || home.batch(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (one, other) = (start(), start());
    let (one, other) = (one.output_in_time("one"), other.output_in_time("the other"));
    assert!(one.status.success() || other.status.success() || home.run(&[]).0 == Some(0));
    assert_eq!(fs::read_to_string(count).unwrap().lines().count(), 6);
}

#[test]
fn a_repository_is_cloned_and_its_change_is_a_patch() {
    let home = Home::new("http://127.0.0.1:9/v1");
    let repository = home.at("repository");
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&repository).args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args);
        assert!(command.env("GIT_CONFIG_GLOBAL", "/dev/null").output_in_time().status.success(), "{args:?}");
    };
    fs::create_dir(&repository).unwrap();
    git(&["init", "-q"]);
    fs::write(repository.join("first"), "1\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    git(&["tag", "v1"]);
    fs::write(repository.join("second"), "2\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "two"]);
    git(&["branch", "old-branch", "v1"]);
    git(&["init", "-q", "--bare", "../empty"]);
    let change = |id: &str, more: Value| {
        let mut task = json!({ "id": id, "prompt": "write", "git": "./repository", "model": "demo" });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    home.tasks(&[
        change("tip", json!({ "check": "test -e second && test -e tau-demo.md" })),
        change("old", json!({ "ref": "v1", "check": "test ! -e second && echo >of-the-check" })),
        change("branch", json!({ "ref": "refs/heads/old-branch", "check": "test ! -e second" })),
        change("none", json!({ "ref": "v9" })),
        change("void", json!({ "git": "./empty" })),
    ]);
    // As from a hook of this repository, and with a setting that leaves the prefixes out of patches.
    let index = fs::read(repository.join(".git/index")).unwrap();
    fs::write(home.at("settings"), "[diff]\n\tnoprefix = true\n").unwrap();
    let mut batch = home.batch(&[]);
    batch.env("GIT_DIR", repository.join(".git")).env("GIT_INDEX_FILE", repository.join(".git/index"));
    let (code, out, err) = texts(&batch.env("GIT_CONFIG_GLOBAL", home.at("settings")).output_in_time());
    assert_eq!(fs::read(repository.join(".git/index")).unwrap(), index);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("5 tasks: 3 passed, 0 failed, 2 without a result"), "{out}{err}");
    assert!(out.contains("void  the repository has no commit"), "{out}{err}");
    assert!(out.contains("none  the repository has no branch, tag or commit v9"), "{out}{err}");
    let patch = home.result("old").unwrap()["patch"].as_str().unwrap().to_owned();
    let patch = fs::read_to_string(home.at("tasks.results").join(patch)).unwrap();
    assert!(patch.contains("+++ b/tau-demo.md") && !patch.contains("of-the-check"), "{patch}");
    // The repository itself is as it was.
    assert!(!repository.join("tau-demo.md").exists());
}

#[test]
fn a_signal_ends_the_runs_and_leaves_the_rest() {
    let home = Home::new(&answering(Duration::from_secs(60), "never"));
    home.tasks(&[task("one", "true"), task("two", "true")]);
    let child = home.batch(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + TIMEOUT;
    while fs::metadata(home.at("tasks.results/runs/one.jsonl")).map_or(0, |found| found.len()) == 0 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (code, out, err) = texts(&child.output_in_time("the stopped batch"));
    assert_eq!(code, Some(143), "{out}{err}");
    assert!(out.contains("2 tasks: 0 passed, 0 failed, 2 without a result"), "{out}");
    assert_eq!(home.results(), 0);
    // How a run has ended says more than what it said last.
    let said = fs::read_dir(home.at("tasks.results/runs")).unwrap().flatten().map(|entry| entry.path());
    for file in said.filter(|path| path.extension().is_none_or(|end| end != "jsonl")) {
        fs::write(file, "tau: stopped process 6754: sleep 1\n").unwrap();
    }
    let (_, report, _) = home.run(&["--report"]);
    assert!(report.contains("without a result:\n") && !report.contains("stopped process"), "{report}");
}

#[test]
fn a_signal_ends_a_clone_that_waits_for_a_server() {
    let home = Home::new("http://127.0.0.1:9/v1");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("git://{}/x", silent.local_addr().unwrap());
    home.tasks(&[json!({ "id": "one", "prompt": "write", "git": address })]);
    let child = home.batch(&[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    silent.set_nonblocking(true).unwrap();
    let end = Instant::now() + TIMEOUT;
    let _connected = loop {
        if let Ok(connected) = silent.accept() {
            break connected;
        }
        assert!(Instant::now() < end, "nobody connects");
        std::thread::sleep(Duration::from_millis(10));
    };
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let (code, out, err) = texts(&child.output_in_time("the stopped batch"));
    assert_eq!(code, Some(143), "{out}{err}");
    assert!(out.contains("1 task: 0 passed, 0 failed, 1 without a result"), "{out}");
}

#[test]
fn what_an_engine_does_not_take_is_refused_before_anything_is_written() {
    let home = Home::new("http://127.0.0.1:9/v1");
    home.tasks(&[task("a", "true")]);
    let cases: [(&[&str], &str); 4] = [
        (&["--on", "slurm", "--results", "with blank"], "sbatch takes no blanks in paths"),
        (&["--results", "with-blank", "--", "-pcpu"], "add --on slurm"),
        (&["--results", "with-blank", "--image", "x"], "are for --on kubernetes"),
        (&["--on", "slurm", "--results", "with-blank", "--secret", "x"], "are for --on kubernetes"),
    ];
    for (args, why) in cases {
        let (code, _, err) = home.run(args);
        assert_eq!(code, Some(2), "{args:?}: {err}");
        assert!(err.contains(why), "{args:?}: {err}");
        assert!(!home.at("with blank").exists() && !home.at("with-blank").exists(), "{args:?}");
    }
}

#[test]
fn all_lines_are_checked_before_any_runs() {
    let home = Home::new("http://127.0.0.1:9/v1");
    let unknown = json!({ "id": "c", "prompt": "x", "directory": ".", "model": "anthropic/zzz" });
    for (wrong, why) in [
        (json!({ "id": "c", "prompt": "x", "directory": "gone" }), "/gone is not a folder"),
        (unknown, "anthropic/zzz"),
    ] {
        home.tasks(&[task("a", "true"), task("b", "true"), wrong]);
        // A server of one's own may have any model.
        let (code, out, err) = texts(&home.batch(&[]).env_remove("TAU_BASE_URL").output_in_time());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains("tasks.jsonl:3: ") && err.contains(why), "{err}");
        assert!(!home.at("tasks.results").exists(), "{why}");
    }
}

#[test]
fn any_text_is_a_prompt_and_a_task_that_could_not_begin_says_why() {
    let home = Home::new(&answering(Duration::ZERO, "the answer"));
    let command = "{\"type\":\"interrupt\"}\nwhat does this line do?".to_owned();
    let prompts = ["x".repeat(300_000), "@gone".to_owned(), "- a list".to_owned(), command];
    let mut tasks: Vec<Value> = (0..)
        .zip(&prompts)
        .map(|(number, prompt)| json!({ "id": format!("t{number}"), "prompt": prompt, "directory": "." }))
        .collect();
    tasks.push(json!({ "id": "none", "prompt": "x", "git": "./no-repository" }));
    home.tasks(&tasks);
    let (code, out, err) = home.run(&[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("5 tasks: 4 passed, 0 failed, 1 without a result"), "{out}{err}");
    for (number, prompt) in (0..).zip(&prompts) {
        let events = fs::read_to_string(home.at(&format!("tasks.results/runs/t{number}.jsonl"))).unwrap();
        assert!(events.contains(&json!(prompt).to_string()), "{number}");
    }
    let (_, report, _) = home.run(&["--report"]);
    assert!(report.contains("none  ") && report.contains("no-repository"), "{report}");
}

#[test]
fn an_array_of_slurm_does_each_task_although_a_node_dies() {
    let home = Home::new(&answering(Duration::ZERO, "from a node"));
    let tasks: Vec<Value> = (0..5)
        .map(|number| {
            // The first attempt at one of them dies with its node, that at another is killed.
            let check = format!(
                "[ {number} != 2 ] || [ -e ../died ] || {{ touch ../died; kill -9 $NODE $PPID; sleep 9; }}; \
                 [ {number} != 3 ] || [ -e ../killed ] || {{ touch ../killed; kill -9 $PPID; sleep 9; }}"
            );
            fs::create_dir(home.at(&format!("t{number}"))).unwrap();
            json!({ "id": format!("t{number}"), "prompt": "go", "directory": format!("t{number}"), "check": check })
        })
        .collect();
    home.tasks(&tasks);
    // A run is killed, but not the process that waits for it.
    let hook = "[ \"${PWD##*/}\" != t4 ] || [ -e ../run-killed ] || { touch ../run-killed; kill -9 $PPID; sleep 9; }";
    fs::create_dir(home.dir.path().join("tau")).unwrap();
    fs::write(
        home.dir.path().join("tau/config.toml"),
        format!("[[hooks.SessionStart]]\ncommand = '''{hook}'''\n"),
    )
    .unwrap();
    // Like sbatch: elements that die with their node, or ask for it, are queued again.
    home.place("scontrol", "#!/bin/sh\necho \"$*\" >>requeued\nexit 0\n");
    home.place("sbatch", concat!(
        "#!/bin/sh\necho \"$1\" >>array\nfrom=1; to=${1#--array=1-}; to=${to%\\%*}; script=$2; shift 2\n",
        "grep -q '^#SBATCH --requeue$' \"$script\" && grep -q '^#SBATCH --mem=1G$' \"$script\" || exit 1\n",
        "for at in $(seq $from $to); do\n  while :; do\n",
        "    export SLURM_ARRAY_TASK_ID=$at SLURM_JOB_ID=job-$at\n",
        "    sh -c 'NODE=$$; export NODE; exec sh \"$0\" \"$@\"' \"$script\" \"$@\" 2>>elements\n",
        "    code=$?; [ $code = 137 ] || break\n  done\n  echo \"$at $code\" >>codes\ndone\necho Submitted\n",
    ));
    let (code, out, err) = home.run(&["--on", "slurm", "-n", "2", "--", "--mem=1G"]);
    assert_eq!((code, home.results()), (Some(0), 0), "{err}");
    assert!(out.starts_with("sbatch --array=1-5%2 ") && out.ends_with(" tasks.jsonl --report\n"), "{out}");
    let (code, out, err) = home.run(&["--on", "slurm", "-n", "2", "--apply", "--", "--mem=1G"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert_eq!(fs::read_to_string(home.at("codes")).unwrap(), "1 0\n2 0\n3 0\n4 0\n5 0\n");
    assert_eq!(fs::read_to_string(home.at("array")).unwrap(), "--array=1-5%2\n");
    assert!(["died", "killed", "run-killed"].iter().all(|name| home.at(name).exists()));
    assert_eq!(fs::read_to_string(home.at("requeued")).unwrap(), "requeue job-4\nrequeue job-5\n");
    let (code, out, _) = home.run(&["--report"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("5 tasks: 5 passed"), "{out}");
    let (_, out, _) = home.run(&["--on", "slurm"]);
    assert_eq!(out, "every task has a result\n");
}

#[test]
fn options_of_sbatch_are_written_as_it_reads_them() {
    let home = Home::new("http://127.0.0.1:9/v1");
    home.tasks(&[task("a", "true")]);
    let cases: [(&[&str], &str); 4] = [
        (&["-p", "cpu", "--time", "10:00"], "#SBATCH -p cpu\n#SBATCH --time 10:00\n"),
        (&["-pcpu", "--comment=a b"], "#SBATCH -pcpu\n#SBATCH \"--comment=a b\"\n"),
        (&["--comment", "say \"a\\b\" # c"], "#SBATCH --comment \"say \\\"a\\\\b\\\" # c\"\n"),
        (&["--exclusive", "--mem=1G"], "#SBATCH --exclusive\n#SBATCH --mem=1G\n"),
    ];
    for (number, (options, lines)) in (0..).zip(cases) {
        let folder = format!("results-{number}");
        let given = ["--on", "slurm", "--results", &folder, "--"];
        let (code, out, err) = home.run(&[&given[..], options].concat());
        assert_eq!(code, Some(0), "{err}");
        // It reports on the folder that was written to.
        assert!(out.ends_with(&format!("tasks.jsonl --results {folder} --report\n")), "{out}");
        let script = fs::read_dir(home.at(&folder)).unwrap().flatten().map(|entry| entry.path());
        let script = script.into_iter().find(|path| path.extension().is_some_and(|end| end == "sh")).unwrap();
        let script = fs::read_to_string(script).unwrap();
        assert!(script.contains(&format!("-%a.log\n{lines}id=$(")), "{script}");
    }
    // What is no option of sbatch does not get into its script.
    for options in [&["touch x"][..], &["-pcpu", "x"], &["--mem=1G", "x"], &["-p", "a", "b"], &["-p", "a\nb"]]
    {
        let (code, _, err) = home.run(&[&["--on", "slurm", "--"], options].concat());
        assert!(code == Some(2) && err.contains("is not an option of sbatch: write options as "), "{err}");
    }
}

#[test]
fn the_part_of_an_engine_waits_for_what_still_runs_of_an_earlier_one() {
    let home = Home::new(&answering(Duration::ZERO, "an answer"));
    let nap = format!("sleep {}", processes::rare_sleep());
    home.tasks(&[task("one", &format!("test -e begun || {{ touch begun; exec {nap}; }}"))]);
    let mut first = home.batch(&["--part", "--only", "one"]);
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(TIMEOUT, || home.at("begun").exists(), || "the check did not begin".to_owned());
    // It is killed, its check is not: nobody else may work in the folder yet.
    first.kill().unwrap();
    first.wait_in_time("the first part");
    let left = processes::alive(&nap);
    assert_eq!(left.len(), 1, "{left:?}");
    let (_, out, _) = home.run(&["--report"]);
    assert!(out.contains("1 without a result") && out.contains("one  it is at work"), "{out}");
    let (code, out, err) = home.run(&[]);
    assert_eq!((code, home.results()), (Some(1), 0), "{out}{err}");
    assert!(out.contains("one  another tau batch works on it"), "{out}");
    let mut second = home.batch(&["--part", "--only", "one", "--json"]);
    let mut second = second.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut started = String::new();
    let mut lines = BufReader::new(second.stdout.take().unwrap());
    lines.read_line(&mut started).unwrap();
    assert!(started.contains("started"), "{started}");
    assert!(second.try_wait().unwrap().is_none() && home.results() == 0);
    let pid = rustix::process::Pid::from_raw(left[0].0).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let (code, _, err) = texts(&second.output_in_time("the second part"));
    assert_eq!((code, home.results()), (Some(0), 1), "{err}");
    assert_eq!(home.result("one").unwrap()["text"], "an answer");
}

#[test]
fn nobody_works_beside_the_check_of_a_killed_batch() {
    let home = Home::new(&answering(Duration::ZERO, "the answer"));
    home.tasks(&[task("one", "echo >>count; until test -e go; do sleep 0.05; done")]);
    let mut killed = home.batch(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(TIMEOUT, || home.at("count").exists(), || "no check begins".to_owned());
    killed.kill().unwrap();
    killed.wait_in_time("the killed batch");
    let (code, out, err) = home.run(&[]);
    assert!(out.contains("one  another tau batch works on it"), "{out}{err}");
    assert_eq!((code, fs::read(home.at("count")).unwrap().len()), (Some(1), 1));
    fs::write(home.at("go"), "").unwrap();
    assert_eq!(home.run(&[]).0, Some(0));
}
