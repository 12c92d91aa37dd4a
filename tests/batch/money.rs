//! What the runs of tasks cost, and what is said of those without a result.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Home, task};
use crate::screen::TIMEOUT;
use crate::support::processes::{alive, rare_sleep};
use crate::support::program::{calls_all, says, says_using};
use crate::support::server::{Act, Server};
use crate::time_limit::{EndInTime, until};

/// An answer that refuses the request.
fn refuses(why: &str) -> Act {
    let body = json!({"error": {"message": why}}).to_string();
    let head = "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close";
    Act::Send(format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

/// A home with the model of [`server`].
async fn home() -> Home {
    home_of(&server().await)
}

/// A model that costs a dollar for 1,000 tokens. It calls a tool for 600 tokens and is refused then, in the tasks whose
/// prompt has the word `refused`, and takes its time for the tool in those with the word `slow`; else it answers for
/// 600.
async fn server() -> Server {
    Server::choosing(|_, request| {
        let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
        let has_called = body["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        let has = |word: &str| body["messages"].to_string().contains(word);
        match has_called {
            true if has("refused") => refuses("no such thing"),
            false if has("refused") => calls_all(&[("bash", json!({ "command": "true" }))], 600),
            false if has("slow") => calls_all(&[("bash", json!({ "command": "touch begun; sleep 2" }))], 600),
            _ => says_using("done", 600),
        }
    })
    .await
}

fn home_of(server: &Server) -> Home {
    let home = Home::new("");
    fs::create_dir(home.dir.path().join("tau")).unwrap();
    let models = format!(
        "[vendors.own]\nbase_url = \"{}\"\napi = \"openai-completions\"\napi_key = \"x\"\n\
         [[vendors.own.models]]\nid = \"m\"\ncost = {{ input = 1000.0, output = 0.0 }}\n",
        server.url()
    );
    fs::write(home.dir.path().join("tau/models.toml"), models).unwrap();
    home
}

fn run(home: &Home, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = home.batch(args);
    command.env_remove("TAU_BASE_URL").env("TAU_MODEL", "own/m");
    crate::live::texts(&crate::time_limit::RunInTime::output_in_time(&mut command))
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_without_a_result_count_and_say_why_they_have_none() {
    let home = home().await;
    let mut refused = task("one", "true");
    refused["prompt"] = json!("be refused");
    home.tasks(&[refused, task("two", "true"), task("three", "true")]);
    let (code, out, err) = run(&home, &["-n", "1", "--max-cost", "1"]);
    assert_eq!((code, home.results()), (Some(1), 1), "{out}{err}");
    assert!(err.contains("1 task was not begun: --max-cost is reached"), "{err}");
    assert!(out.contains("cost $1.2000, 1200 tokens"), "{out}");
    let (_, out, _) = run(&home, &["--report"]);
    assert!(out.contains("cost $1.2000, 1200 tokens"), "{out}");
    let why = out.lines().find(|line| line.starts_with("one ")).unwrap();
    assert!(why.contains("no such thing") && !why.contains("at work"), "{out}");
    assert!(out.contains("three  not tried yet"), "{out}");
    // Whoever begins none of them says what came of them before.
    let (_, out, err) = run(&home, &["--max-cost", "0.1"]);
    assert!(err.contains("2 tasks were not begun"), "{err}");
    assert!(out.lines().any(|line| line.starts_with("one ") && line.contains("no such thing")), "{out}");
    assert!(out.contains("three  not tried yet"), "{out}");
    // Each run of a task counts, and so does one whose result is forgotten.
    let (_, out, err) = run(&home, &["-n", "1"]);
    assert!(out.contains("cost $2.4000"), "{out}{err}");
    home.tasks(&[task("two", "true"), task("three", "true")]);
    for id in ["two", "three"] {
        fs::remove_file(home.at(&format!("tasks.results/results/{id}.json"))).unwrap();
    }
    let (code, out, err) = run(&home, &[]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("cost $2.4000, 2400 tokens"), "{out}");
}

/// A provider that does not say what an answer has used.
#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_is_estimated_has_its_mark() {
    let server = Server::choosing(|_, _| says("done")).await;
    let home = home_of(&server);
    home.tasks(&[task("one", "true")]);
    let (code, out, err) = run(&home, &[]);
    assert!(code == Some(0) && out.contains("cost ~$"), "{out}{err}");
    assert_eq!(home.result("one").unwrap()["estimated"], true);
    // Also as an earlier run, whose result is forgotten.
    fs::remove_file(home.at("tasks.results/results/one.json")).unwrap();
    let (_, out, err) = run(&home, &["--json"]);
    let report: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!(report["estimated"], true, "{out}{err}");
    let earlier = fs::read(home.at("tasks.results/runs/one.earlier.json")).unwrap();
    let earlier: Value = serde_json::from_slice(&earlier).unwrap();
    assert_eq!(earlier["spent"]["estimated"], true, "{earlier}");
}

/// What runs has cost something, too: it is in the progress, and no task begins above the limit.
#[tokio::test(flavor = "multi_thread")]
async fn runs_that_have_not_ended_count() {
    let home = home().await;
    let in_folder = |id: &str, prompt: &str, check: &str| {
        fs::create_dir_all(home.at(id)).unwrap();
        json!({ "id": id, "prompt": prompt, "directory": id, "check": check })
    };
    let second = in_folder("two", "go", "until [ -e ../one/begun ]; do sleep 0.1; done");
    home.tasks(&[in_folder("one", "be slow", "true"), second, in_folder("three", "go", "true")]);
    let (_, out, err) = run(&home, &["-n", "2", "--max-cost", "1"]);
    assert!(err.contains("1 task was not begun: --max-cost is reached"), "{out}{err}");
    assert_eq!(home.results(), 2, "{out}{err}");
    fs::remove_dir_all(home.at("tasks.results")).unwrap();
    let line = "TAU_MODEL=own/m $TAU_BIN batch tasks.jsonl --only one";
    let screen = crate::live::other_terminal(home.dir.path(), line);
    screen.wait_for("1 running · $0.60");
    screen.wait_for("cost $1.2000");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_check_is_stopped_counts() {
    let home = home().await;
    home.tasks(&[task("one", "touch begun; sleep 60")]);
    let mut command = home.batch(&[]);
    command.env_remove("TAU_BASE_URL").env("TAU_MODEL", "own/m");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + TIMEOUT;
    while !home.at("begun").exists() {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, out, err) = crate::live::texts(&child.output_in_time("the stopped batch"));
    assert_eq!(code, Some(130), "{out}{err}");
    assert!(out.contains("cost $0.6000, 600 tokens"), "{out}");
    let (_, out, _) = run(&home, &["--report"]);
    assert!(out.contains("one  it was stopped before its check had ended"), "{out}");
    assert!(out.contains("cost $0.6000, 600 tokens"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_stopped_twice_leaves_no_process() {
    let nap = rare_sleep();
    let command = format!(
        "trap '' TERM HUP; (setsid sh -c \"trap '' TERM HUP; sleep {nap}; sleep {nap}\" &); \
                           touch begun; sleep {nap}; sleep {nap}"
    );
    let server =
        Server::choosing(move |_, _| calls_all(&[("bash", json!({ "command": command }))], 600)).await;
    let home = home_of(&server);
    home.tasks(&[task("one", "true")]);
    let mut command = home.batch(&[]);
    command.env_remove("TAU_BASE_URL").env("TAU_MODEL", "own/m").env("TAU_PERMISSION_MODE", "auto");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(TIMEOUT, || home.at("begun").exists(), || "the command did not begin".to_owned());
    let pid = rustix::process::Pid::from_child(&child);
    for _ in 0..2 {
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // Two that come at the same moment are one.
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, out, err) = crate::live::texts(&child.output_in_time("the stopped batch"));
    assert_eq!(code, Some(130), "{out}{err}");
    until(TIMEOUT, || alive(&nap).is_empty(), || format!("left: {:?}", alive(&nap)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_batch_asks_for_nothing_more_and_its_answers_count() {
    let server = server().await;
    let home = home_of(&server);
    let mut slow = task("one", "true");
    slow["prompt"] = json!("be slow");
    home.tasks(&[slow]);
    let mut command = home.batch(&[]);
    command.env_remove("TAU_BASE_URL").env("TAU_MODEL", "own/m");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until(TIMEOUT, || home.at("begun").exists(), || "the command did not begin".to_owned());
    child.kill().unwrap();
    child.wait_in_time("the killed batch");
    // What it had told its batch is all that is known, but for its session.
    fs::write(home.at("tasks.results/runs/one.jsonl"), first_line(&home)).unwrap();
    let report = || run(&home, &["--report"]).1;
    until(TIMEOUT, || !report().contains("it is at work"), report);
    let out = report();
    assert!(out.contains("one  it was killed") && out.contains("cost $0.6000, 600 tokens"), "{out}");
    assert_eq!(server.requests().len(), 1, "the tau of a killed batch asked once more");
}

/// The first event of the task's run, which names its session.
fn first_line(home: &Home) -> String {
    let events = fs::read_to_string(home.at("tasks.results/runs/one.jsonl")).unwrap();
    format!("{}\n", events.lines().next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_task_stops_no_other_and_faults_are_in_words() {
    let home = home().await;
    home.tasks(&[task("one", "true"), task("two", "true")]);
    assert_eq!(run(&home, &[]).0, Some(0));
    home.tasks(&[task("one", "test 1"), task("two", "true"), task("three", "true")]);
    let (code, out, err) = run(&home, &["--only", "three"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("1 task: 1 passed, 0 failed, 0 without a result"), "{out}");
    for (line, fault) in [
        ("\u{feff}{\"prompt\": 1}", "tasks.jsonl:1: prompt: this needs a text in quotes, not the number 1"),
        ("[1]", "tasks.jsonl:1: this is not a JSON object"),
        ("{prompt}", "tasks.jsonl:1: this is not JSON, at column 2"),
    ] {
        fs::write(home.at("tasks.jsonl"), line).unwrap();
        let (code, _, err) = run(&home, &[]);
        assert!(code == Some(2) && err.contains(fault), "{line}: {err}");
    }
}

/// It says nothing about the task, and those after it would end in the same way.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_limit_of_24_hours_ends_has_no_result() {
    let home = home().await;
    let config = home.dir.path().join("tau/config.toml");
    fs::write(&config, "day_cost = 0.5\n").unwrap();
    home.tasks(&["one", "two", "three"].map(|id| task(id, "true")));
    let (code, out, err) = run(&home, &["-n", "1"]);
    assert_eq!((code, home.results()), (Some(1), 1), "{out}{err}");
    assert!(err.contains("1 task was not begun: day_cost allows no more"), "{err}");
    let why = out.lines().find(|line| line.starts_with("two ")).unwrap();
    assert!(why.contains("day_cost allows $0.5"), "{out}");
    assert!(out.contains("three  not tried yet"), "{out}");
    let (_, out, _) = run(&home, &["--report"]);
    assert!(out.contains("day_cost allows $0.5"), "{out}");
    fs::write(&config, "").unwrap();
    let (code, out, err) = run(&home, &["-n", "1"]);
    assert_eq!((code, home.results()), (Some(0), 3), "{out}{err}");
}
