//! The tools against a hostile machine, through an agent whose model is a script.
//!
//! Small by default; with `TAU_TORTURE` set, at full size (10 GB of output, 200 aborts): `TAU_TORTURE=1
//! cargo test --release --test all torture -- --nocapture`.

mod aborts;
mod files;
mod output;
mod slips;

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tau::agent::AgentEvent;
use tau::agent::api::AgentConfig;
use tau::agent::protocol::command::RunCommand;
use tau::agent::protocol::event::{RunEvent, TurnEvent};
use tau::agent::protocol::message::{Message, StopReason};
use tau::agent::session::Session;
use tau::tools::{Content, Toolbox};

use crate::fake::{Bench, Player, Step};
use crate::time_limit::{EndInTime, SOON};

/// Set for a process that runs only one test.
const ALONE: &str = "TAU_TORTURE_ALONE";

/// The longest wait, even at full size.
const TIMEOUT: Duration = Duration::from_secs(600);

/// True if everything should run at full size.
fn full() -> bool {
    std::env::var_os("TAU_TORTURE").is_some()
}

/// An agent with all tools but `jobs`, whose model makes the calls of the test: without it a time limit ends
/// the command.
pub struct Rack {
    pub bench: Bench,
    player: Arc<Player>,
}

/// The result of a call.
#[derive(Debug)]
pub struct Answer {
    pub failed: bool,
    pub text: String,
    pub took: Duration,
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "failed: {}, {:?}: {:.500}", self.failed, self.took, self.text)
    }
}

/// The limits of these tests are for a release build on an idle machine. Otherwise they only show that
/// nothing hangs.
fn lenient(most: Duration) -> Duration {
    if cfg!(debug_assertions) { most.max(SOON) } else { most }
}

impl Rack {
    pub fn new() -> Self {
        Rack::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut AgentConfig)) -> Self {
        let player = Player::new(Vec::new());
        let bench = Bench::with(player.clone(), |config| {
            let tools: Vec<String> = Toolbox::all().specs().into_iter().map(|spec| spec.name).collect();
            config.tools =
                Toolbox::all().only(&tools.into_iter().filter(|tool| tool != "jobs").collect::<Vec<_>>());
            let cwd = config.place.cwd.join("work");
            std::fs::create_dir(&cwd).unwrap();
            config.session = Session::begin(config.place.dir.as_deref(), &cwd, None);
            config.place.cwd = cwd;
            change(config);
        });
        Rack { bench, player }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.bench.dir.path().join("work").join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Starts a run in which the model makes these calls in one answer.
    pub async fn begin(&self, calls: &[(&'static str, Value)]) {
        const IDS: [&str; 4] = ["a", "b", "c", "d"];
        let calls = IDS.iter().zip(calls).map(|(id, (tool, args))| Step::Call(id, tool, args.clone()));
        self.player.add(calls.chain([Step::Stop(StopReason::ToolUse)]).collect());
        self.bench.prompt("go").await;
    }

    /// Starts a run and aborts it after this time; returns the results of the calls that were made. The
    /// abort comes after the run has begun, but perhaps before the model was asked.
    pub async fn aborted(&mut self, calls: &[(&'static str, Value)], after: Duration) -> Vec<Answer> {
        self.begin(calls).await;
        self.bench.until(|event| matches!(event, AgentEvent::Run(RunEvent::AgentStart))).await;
        tokio::time::sleep(after).await;
        self.abort().await;
        let answers = self.end().await;
        self.player.clear();
        answers
    }

    /// The results of the current run, and how long it took.
    pub async fn end(&mut self) -> Vec<Answer> {
        let begun = Instant::now();
        let mut answers = Vec::new();
        loop {
            let event = tokio::time::timeout(TIMEOUT, self.bench.agent.events.recv()).await;
            match event.expect("no event came").expect("the agent has ended") {
                AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                    if let Message::ToolResult(result) = message.as_ref() {
                        let text = result.content.iter().filter_map(|content| match content {
                            Content::Text { text } => Some(text.as_str()),
                            Content::Image { .. } => None,
                        });
                        let (failed, text) = (result.is_error, text.collect());
                        answers.push(Answer { failed, text, took: begun.elapsed() });
                    }
                }
                AgentEvent::Run(RunEvent::AgentSettled { .. }) => return answers,
                _ => {}
            }
        }
    }

    /// One call in a separate run.
    pub async fn call(&mut self, tool: &'static str, args: Value) -> Answer {
        self.begin(&[(tool, args)]).await;
        let mut answers = self.end().await;
        assert_eq!(answers.len(), 1, "every call has exactly one result: {answers:?}");
        answers.remove(0)
    }

    /// One call that must succeed, in time.
    pub async fn fine(&mut self, tool: &'static str, args: Value, most: Duration) -> String {
        let answer = self.call(tool, args.clone()).await;
        assert!(!answer.failed && answer.took < lenient(most), "{tool} {args}: {answer}");
        answer.text
    }

    /// One call that must be refused within a second, with these words.
    pub async fn refused(&mut self, tool: &'static str, args: Value, words: &str) {
        let answer = self.call(tool, args.clone()).await;
        let args = args.to_string();
        assert!(
            answer.failed && answer.took < lenient(Duration::from_secs(1)),
            "{tool} {args:.300}: {answer}"
        );
        assert!(answer.text.contains(words), "{tool} {args:.300}: {answer}");
    }

    pub async fn abort(&self) {
        self.bench.send(RunCommand::Abort).await;
    }

    /// Waits until a call is running.
    pub async fn running(&mut self) {
        self.bench
            .until(|event| matches!(event, AgentEvent::Turn(TurnEvent::ToolExecutionStart { .. })))
            .await;
    }
}

/// Runs the test again in a separate process, possibly through `wrapper`. True in that process: then the
/// caller continues with the test itself. `None` if the wrapper is of no use here.
fn alone(name: &str, wrapper: &[&str]) -> Option<bool> {
    if std::env::var_os(ALONE).is_some() {
        return Some(true);
    }
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let args = [name, "--exact", "--nocapture", "--test-threads=1"];
    let line: Vec<&str> = wrapper.iter().copied().chain([own]).chain(args).collect();
    let mut command = std::process::Command::new(line[0]);
    command
        .args(&line[1..])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // It has limits of its own, which add up to more than the usual one.
    let output = command.spawn().ok()?.output_within(TIMEOUT, "the test in a process of its own");
    let told = String::from_utf8_lossy(&output.stdout);
    if !told.contains("running 1 test") {
        return None;
    }
    // The first of them follows the name of the test.
    let of_interest = |line: &'static str| {
        told.lines().filter_map(move |text| text.find(line).map(|at| text.split_at(at).1))
    };
    for line in of_interest("figure: ").chain(of_interest("notice: ")) {
        println!("{line}");
    }
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(false)
}

/// The peak memory of this process, in kB, without mapped pages of the program's own file: their amount
/// depends on the kernel and on how the tests were built.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    field("VmHWM:") - field("RssFile:")
}

/// Runs a test body in a separate process, whose memory must stay below `most` kB.
fn bounded(name: &str, most: u64, body: impl Future<Output = ()>) {
    if alone(name, &[]) != Some(true) {
        return;
    }
    tokio::runtime::Runtime::new().unwrap().block_on(body);
    println!("figure: {name}: at most {} kB of memory", peak());
    assert!(peak() < most, "{} kB", peak());
}
