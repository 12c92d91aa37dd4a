//! `tau batch`: many tasks, each in a tau of its own, a few at a time, here or on the machines of an engine.
//!
//! [`tasks`] are read from a file, [`results`] are written to a folder that may be shared, once for each task, so
//! that running again does only what is missing. [`runner`] runs one; [`slurm`] and [`kubernetes`] write what
//! their engines run, which is this program for one task. [`report`] and [`progress`] say how it goes.

mod kubernetes;
mod progress;
mod report;
mod results;
mod runner;
mod slurm;
mod spent;
mod tasks;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::args::batch::{BatchArgs, Engine};
use crate::headless;
use crate::process::exit::{Exit, Refusal, say, warn};
use crate::process::signals::Signals;
use progress::Progress;
use report::Report;
use results::{BatchFolder, TaskResult};
use runner::{Outcome, Stopping};
use spent::BatchCost;
use tasks::{BatchTask, TaskList};
use tau_agent::settings::private_files::LockFile;
use tau_tools::deadline;

/// The interval at which the progress is drawn again, and a task that another process works on is looked at.
const BEAT: Duration = Duration::from_millis(500);

/// Runs the batch, or hands it to an engine; returns the program's end.
pub fn run(args: &BatchArgs) -> Result<Exit, Refusal> {
    let tasks = tasks::read(&args.tasks)?;
    let path = args.results.clone().unwrap_or_else(|| beside(&tasks.file));
    let chosen = select_tasks(&tasks, &args.only)?;
    if args.report {
        let folder = BatchFolder::at(&path)?;
        let results = folder.results(&chosen)?;
        let reasons = reasons_by_task(&folder, &chosen, &results);
        let spent = costs_by_task(&folder, &chosen, &results);
        return Ok(print_report(&Report::new(&chosen, results, reasons, &spent), args.json));
    }
    check_engine(args, &path)?;
    let mut results = BatchFolder::at(&path)?.results(&chosen)?;
    let is_again = |result: &&TaskResult| args.again && !result.passed;
    let again: Vec<String> = results.values().filter(is_again).map(|result| result.id.clone()).collect();
    results.retain(|id, _| !again.contains(id));
    let missing: Vec<&BatchTask> = chosen.iter().filter(|task| !results.contains_key(&task.id)).collect();
    // An engine's machines have other folders and keys.
    if args.on.is_none() && !args.part {
        tasks.check_here(&missing)?;
    }
    let folder = BatchFolder::make(&path)?;
    folder.forget(&again)?;
    if args.on.is_some() && missing.is_empty() {
        return Ok(say("every task has a result\n"));
    }
    match args.on {
        Some(Engine::Slurm) => slurm::hand_over(args, &tasks, &missing, &folder),
        Some(Engine::Kubernetes) => kubernetes::hand_over(args, &tasks, &missing, &folder),
        None => {
            let missing = missing.into_iter().cloned().collect();
            here(args, &tasks, chosen, missing, folder, results)
        }
    }
}

/// Refuses what the engine does not take, before anything is written.
fn check_engine(args: &BatchArgs, results: &Path) -> Result<(), Refusal> {
    if args.on == Some(Engine::Slurm) {
        slurm::check(&args.options, results)?;
    } else if !args.options.is_empty() {
        return Err(Refusal::usage("options after -- are for sbatch: add --on slurm"));
    }
    let is_default = args.secret.is_none() && args.image == "tau" && args.volume == "tau-batch";
    if args.on != Some(Engine::Kubernetes) && !is_default {
        return Err(Refusal::usage("--image, --volume and --secret are for --on kubernetes"));
    }
    if args.on == Some(Engine::Kubernetes) {
        kubernetes::check(args)?;
    }
    Ok(())
}

/// The results folder that is usual: `TASKS.results`.
fn beside(file: &Path) -> PathBuf {
    file.with_extension("results")
}

/// The tasks to run. Fails when one is not in the file.
fn select_tasks(tasks: &TaskList, only: &[String]) -> Result<Vec<BatchTask>, Refusal> {
    match only.iter().find(|id| tasks.find(id).is_none()) {
        Some(id) => Err(Refusal::usage(format!("{} has no task {id:?}", tasks.file.display()))),
        None => {
            let is_chosen = |task: &&BatchTask| only.is_empty() || only.contains(&task.id);
            Ok(tasks.list.iter().filter(is_chosen).cloned().collect())
        }
    }
}

/// The cost of each task so far.
fn costs_by_task(
    folder: &BatchFolder,
    tasks: &[BatchTask],
    results: &HashMap<String, TaskResult>,
) -> HashMap<String, BatchCost> {
    tasks.iter().map(|task| (task.id.clone(), folder.task_cost(&task.id, results.get(&task.id)))).collect()
}

/// Why each task without a result has none, as far as an attempt was made.
fn reasons_by_task(
    folder: &BatchFolder,
    tasks: &[BatchTask],
    results: &HashMap<String, TaskResult>,
) -> HashMap<String, String> {
    let missing = tasks.iter().filter(|task| !results.contains_key(&task.id));
    missing.filter_map(|task| Some((task.id.clone(), folder.why_missing(&task.id)?))).collect()
}

/// Prints the report; returns the program's end.
fn print_report(report: &Report, as_json: bool) -> Exit {
    let text = if as_json { format!("{}\n", report.json()) } else { report.text() };
    match say(&text) {
        Exit::Ok if report.is_perfect() => Exit::Ok,
        Exit::Ok => Exit::Model,
        failed => failed,
    }
}

/// Runs the tasks without a result on this machine.
fn here(
    args: &BatchArgs,
    tasks: &TaskList,
    chosen: Vec<BatchTask>,
    missing: Vec<BatchTask>,
    folder: BatchFolder,
    results: HashMap<String, TaskResult>,
) -> Result<Exit, Refusal> {
    let passed = results.values().filter(|result| result.passed).count();
    let spent = costs_by_task(&folder, &tasks.list, &results);
    let counts = (passed, results.len() - passed);
    let progress = Progress::new(args.json, missing.len() + results.len(), counts);
    let with_place = |task: BatchTask| {
        let place = tasks.directory(&task).map(|path| path.canonicalize().unwrap_or(path));
        (task, place)
    };
    let batch = Batch {
        tasks: Arc::new(tasks.clone()),
        folder,
        at_once: args.at_once,
        is_part: args.part,
        most: args.max_cost,
        is_day_spent: false,
        spent,
        at_work: VecDeque::new(),
        waiting: missing.into_iter().map(with_place).collect(),
        busy: HashSet::new(),
        running: JoinSet::new(),
        stop: watch::Sender::default(),
        progress,
        results,
        reasons: HashMap::new(),
        killed_by: None,
    };
    let (as_json, is_part) = (args.json, args.part);
    Ok(headless::with_signals(async move |signals| {
        let (batch, ended) = batch.run(signals).await;
        let killed_by = batch.killed_by;
        // Those that this process did not begin may have been tried before.
        let mut reasons = reasons_by_task(&batch.folder, &chosen, &batch.results);
        reasons.extend(batch.reasons);
        let report = Report::new(&chosen, batch.results, reasons, &batch.spent);
        let exit = match is_part {
            true if report.missing.is_empty() => Exit::Ok,
            // Exit as if this process had been killed too, so that the engine can requeue the task.
            true => killed_by.map_or(Exit::Model, Exit::Signal),
            false => print_report(&report, as_json),
        };
        ended.unwrap_or(exit)
    }))
}

/// The tasks of this machine.
struct Batch {
    tasks: Arc<TaskList>,
    folder: BatchFolder,
    at_once: usize,
    /// Whether an engine has started it for its task, which may still run where the engine lost sight of it.
    is_part: bool,
    /// Dollars after which no more tasks begin.
    most: Option<f64>,
    /// Whether the limit of 24 hours has ended a task.
    is_day_spent: bool,
    /// The cost of each task; of those that run, as last counted.
    spent: HashMap<String, BatchCost>,
    /// The tasks that run, the one that was counted last at the end.
    at_work: VecDeque<String>,
    /// The tasks that have not begun, each with its folder, links followed.
    waiting: VecDeque<(BatchTask, Option<PathBuf>)>,
    /// Folders in which a task runs: two would disturb each other.
    busy: HashSet<PathBuf>,
    running: JoinSet<(BatchTask, Option<PathBuf>, Outcome)>,
    stop: watch::Sender<Stopping>,
    progress: Progress,
    results: HashMap<String, TaskResult>,
    reasons: HashMap<String, String>,
    /// The signal that ended the last task without a result.
    killed_by: Option<u8>,
}

impl Batch {
    /// Runs all; returns itself, with what is known of each, and the program's end if a signal came.
    async fn run(mut self, mut signals: Signals) -> (Self, Option<Exit>) {
        let mut ended = None;
        let mut beat = Instant::now() + BEAT;
        loop {
            self.start();
            if self.running.is_empty() {
                break;
            }
            tokio::select! {
                Some(done) = self.running.join_next() => {
                    if let Ok((task, place, outcome)) = done {
                        place.map(|place| self.busy.remove(&place));
                        if !self.note_end(&task, outcome) {
                            self.stop.send_replace(Stopping::Orderly);
                        }
                    }
                }
                signal = signals.next() => {
                    if let Some(exit) = signal.exit() {
                        let how = if ended.is_some() { Stopping::Now } else { Stopping::Orderly };
                        self.stop.send_replace(how);
                        ended = Some(exit);
                    }
                }
                () = sleep_until(beat), if self.progress.moves() => {
                    // One at a time, as a long session takes a while to read.
                    self.count_running(1);
                    self.progress.draw(sum(&self.spent));
                    beat = Instant::now() + BEAT;
                }
            }
        }
        self.progress.wipe();
        if let Some(limit) = self.reached_limit().filter(|_| !self.waiting.is_empty()) {
            let (tasks, were) = match self.waiting.len() {
                1 => ("1 task".to_owned(), "was"),
                count => (format!("{count} tasks"), "were"),
            };
            warn(&format!("{tasks} {were} not begun: {limit}"));
        }
        (self, ended)
    }

    /// The reason why no more tasks may cost anything, if there is one.
    fn reached_limit(&self) -> Option<&'static str> {
        let is_too_expensive = self.most.is_some_and(|most| sum(&self.spent).cost >= most);
        match is_too_expensive {
            true => Some("--max-cost is reached"),
            false => self.is_day_spent.then_some("day_cost allows no more; run the batch again to do them"),
        }
    }

    /// Counts what the next `count` of the tasks that run have cost so far.
    fn count_running(&mut self, count: usize) {
        for _ in 0..count.min(self.at_work.len()) {
            let Some(id) = self.at_work.pop_front() else { return };
            if let Some(cost) = self.folder.cost_at_work(&id) {
                self.spent.insert(id.clone(), cost);
            }
            self.at_work.push_back(id);
        }
    }

    /// Begins as many tasks as can run now.
    fn start(&mut self) {
        let stops = *self.stop.borrow() != Stopping::No;
        if self.most.is_some() && !self.waiting.is_empty() {
            self.count_running(self.at_work.len());
        }
        while !stops && self.reached_limit().is_none() && self.running.len() < self.at_once {
            let is_free = |(_, place): &(BatchTask, Option<PathBuf>)| {
                place.as_ref().is_none_or(|place| !self.busy.contains(place))
            };
            let Some(at) = self.waiting.iter().position(is_free) else { return };
            let Some((task, place)) = self.waiting.remove(at) else { return };
            let claim = match self.folder.claim(&task.id) {
                Ok(claim) => claim,
                Err(error) => {
                    self.note_end(&task, cannot_claim(&error));
                    continue;
                }
            };
            self.busy.extend(place.clone());
            self.at_work.push_back(task.id.clone());
            self.progress.report_start(&task, sum(&self.spent));
            let (tasks, folder) = (Arc::clone(&self.tasks), self.folder.clone());
            let mut stopping = self.stop.subscribe();
            let patience = (!self.is_part).then_some(runner::GRACE);
            self.running.spawn(async move {
                let claim = match claim {
                    Some(claim) => Ok(claim),
                    None => wait_for_claim(&task, &folder, patience, &mut stopping).await,
                };
                let outcome = match claim {
                    // Another process may have finished it since the list was read.
                    Ok(claim) => match folder.result(&task) {
                        Ok(Some(result)) => Outcome::Result(Box::new(result)),
                        Ok(None) => runner::run(&tasks, &task, &folder, &claim, stopping).await,
                        Err(refusal) => Outcome::Missing(refusal.text),
                    },
                    Err(missing) => missing,
                };
                (task, place, outcome)
            });
        }
    }

    /// Notes the end of a task; returns whether somebody still reads the progress.
    fn note_end(&mut self, task: &BatchTask, outcome: Outcome) -> bool {
        let result = match &outcome {
            Outcome::Result(result) => Some(result.as_ref()),
            Outcome::Missing(_) | Outcome::DaySpent(_) | Outcome::Killed(..) => None,
        };
        self.at_work.retain(|id| *id != task.id);
        self.spent.insert(task.id.clone(), self.folder.task_cost(&task.id, result));
        let told = self.progress.report_end(&task.id, &outcome, sum(&self.spent));
        match outcome {
            Outcome::Result(result) => {
                self.results.insert(task.id.clone(), *result);
            }
            Outcome::Missing(why) => drop(self.reasons.insert(task.id.clone(), why)),
            Outcome::DaySpent(why) => {
                self.is_day_spent = true;
                self.reasons.insert(task.id.clone(), why);
            }
            Outcome::Killed(signal, why) => {
                self.killed_by = Some(signal);
                self.reasons.insert(task.id.clone(), why);
            }
        }
        told
    }
}

/// The cost of all tasks.
fn sum(spent: &HashMap<String, BatchCost>) -> BatchCost {
    let mut sum = BatchCost::default();
    spent.values().for_each(|spent| sum.add(*spent));
    sum
}

fn is_taken() -> Outcome {
    Outcome::Missing("another tau batch works on it".to_owned())
}

fn cannot_claim(error: &std::io::Error) -> Outcome {
    Outcome::Missing(format!("it cannot be claimed: {error}"))
}

/// Waits until the process that works on the task has ended, at most as long as `patience`. The run of a batch that
/// was killed ends soon. An engine that cannot reach a machine starts its task on another one, and may later end
/// what still runs on the first, so its part waits as long as it takes. The error is the outcome when the
/// wait or the batch ends before, or the task cannot be claimed.
async fn wait_for_claim(
    task: &BatchTask,
    folder: &BatchFolder,
    patience: Option<Duration>,
    stopping: &mut watch::Receiver<Stopping>,
) -> Result<LockFile, Outcome> {
    let until = patience.map(|patience| Instant::now() + patience);
    loop {
        tokio::select! {
            biased;
            _ = stopping.wait_for(|how| *how != Stopping::No) => return Err(is_taken()),
            () = deadline::until(until) => return Err(is_taken()),
            () = sleep(BEAT) => {}
        }
        if let Some(claim) = folder.claim(&task.id).map_err(|error| cannot_claim(&error))? {
            return Ok(claim);
        }
    }
}
