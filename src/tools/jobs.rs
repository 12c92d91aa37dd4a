//! Background jobs: commands of a session that outlive the call that started them.
//!
//! A command becomes a job because its call asks for it (`background`), because its time limit has come, or
//! because the user moves it. The agent owns the [`Jobs`] of its session: it lists, stops and reports them.
//! `jobs/command.rs` runs a command that can become a job, `jobs/row.rs` is what front ends list, `jobs/tool.rs` is the tool with which models look
//! at them.

pub(crate) mod command;
mod new_output;
pub mod row;
pub mod tool;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::start_within_characters;
use super::process::FinishedCommand;
use super::process::watched::{TreeUsage, WatchedCommand};
use super::{OutputLimits, TerminalOutput, command_result, line_output};
use crate::secret_cuts::SecretFinder;
use crate::times::millis;
use crate::user_error::UserError;
use command::{MovedCommand, Running};
use new_output::SeenPosition;
pub use row::{JobProcess, JobRow, JobState};

/// The maximum number of running jobs.
pub const MAX_RUNNING: usize = 32;
/// The maximum number of ended jobs that are remembered after the model knows of their end.
const MAX_ENDED: usize = 16;
/// The number of bytes of output in which the last line is looked for, and the maximum length of that line.
const LAST: usize = 4 * 1024;
const MAX_LINE: usize = 200;
/// How long the file of a job's output is waited for.
const PLACED: Duration = Duration::from_secs(1);
/// The number of bytes of output that the user sees in the result of the call.
const SHOWN: usize = 64 * 1024;
/// The limits of the output in a report of a job's end.
const REPORTED_BYTES: usize = 2_000;
const REPORTED_LINES: usize = 20;

/// Why a running command becomes a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MoveReason {
    /// The user pressed a key.
    #[default]
    User,
    /// The user sent a message that the model gets at once.
    Message,
    /// The user sent a message that the model gets after its calls. It ends waits for jobs, and moves nothing.
    Steering,
}

#[derive(Clone, Debug)]
pub(crate) struct JobEnd {
    at: SystemTime,
    state: JobState,
    outcome: String,
    exit_code: Option<i32>,
    /// Remarks on what the sandbox refused, and on processes that continue.
    remarks: Vec<String>,
}

/// A command that runs in the background, or did.
#[derive(Debug)]
pub struct Job {
    pub id: u32,
    /// The session in which it was started.
    session: String,
    command: String,
    started: SystemTime,
    since: Instant,
    watched: Arc<WatchedCommand>,
    cancel: CancellationToken,
    end: watch::Sender<Option<JobEnd>>,
    /// The processes that a stop ended.
    stopped: Mutex<Vec<JobProcess>>,
    /// How much of the output the model has seen.
    seen: Mutex<SeenPosition>,
    /// Whether the model knows of its end.
    told: AtomicBool,
    kept: AtomicBool,
}

/// The jobs of an agent. Clones share them.
#[derive(Clone, Debug)]
pub struct Jobs(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    list: Mutex<JobList>,
    /// Counts the requests to move all commands that calls wait for.
    moves: watch::Sender<(u64, MoveReason)>,
    /// The number of calls that a move would end.
    movable: AtomicUsize,
    /// The number of commands that are about to be jobs.
    places: AtomicUsize,
    changes: mpsc::UnboundedSender<JobChange>,
}

#[derive(Debug, Default)]
struct JobList {
    all: VecDeque<Arc<Job>>,
    last: u32,
}

/// A change for the agent to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobChange {
    Started,
    Ended,
}

/// The jobs of a call's session.
#[derive(Clone, Debug)]
pub struct JobLink {
    pub jobs: Jobs,
    /// The session's id.
    pub session: String,
    /// Whether the model has a tool to look at jobs.
    pub is_offered: bool,
}

/// The place of a command that is about to be a job; counted during its lifetime.
#[derive(Debug)]
pub(crate) struct Place(Arc<Inner>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.places.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A call that a move would end; counted during its lifetime.
pub(crate) struct Movable {
    moves: watch::Receiver<(u64, MoveReason)>,
    inner: Arc<Inner>,
}

impl Drop for Movable {
    fn drop(&mut self) {
        self.inner.movable.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Movable {
    /// Waits for the next move of commands. Cancel safe.
    pub async fn wait_for_move(&mut self) -> MoveReason {
        loop {
            let reason = self.wait_for_interrupt().await;
            if reason != MoveReason::Steering {
                return reason;
            }
        }
    }

    /// Waits for whatever ends a wait for a job. Cancel safe.
    pub async fn wait_for_interrupt(&mut self) -> MoveReason {
        match self.moves.changed().await {
            Ok(()) => self.moves.borrow_and_update().1,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Jobs {
    /// No jobs yet, and the receiver of changes.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<JobChange>) {
        let (changes, receiver) = mpsc::unbounded_channel();
        let inner = Inner {
            list: Mutex::default(),
            moves: watch::Sender::new((0, MoveReason::User)),
            movable: AtomicUsize::new(0),
            places: AtomicUsize::new(0),
            changes,
        };
        (Jobs(Arc::new(inner)), receiver)
    }

    /// Counts a call that a move would end.
    pub(crate) fn movable(&self) -> Movable {
        self.0.movable.fetch_add(1, Ordering::Relaxed);
        Movable { moves: self.0.moves.subscribe(), inner: Arc::clone(&self.0) }
    }

    /// Moves the commands that calls wait for to the background, and ends calls that wait for jobs. Returns
    /// the number of these calls.
    pub fn move_all(&self, reason: MoveReason) -> usize {
        let count = self.0.movable.load(Ordering::Relaxed);
        if count > 0 {
            self.0.moves.send_modify(|(count, why)| (*count, *why) = (count.wrapping_add(1), reason));
        }
        count
    }

    /// A place for another job; `None` if as many run or are about to as may.
    pub(crate) fn place(&self) -> Option<Place> {
        let list = self.0.list.lock();
        let running = list.all.iter().filter(|job| !job.has_ended()).count();
        // Under the lock, as calls of one answer ask at the same time.
        (running + self.0.places.load(Ordering::Relaxed) < MAX_RUNNING).then(|| {
            self.0.places.fetch_add(1, Ordering::Relaxed);
            Place(Arc::clone(&self.0))
        })
    }

    /// Makes a running command a job.
    pub(crate) fn adopt(&self, running: Running, session: &str) -> Arc<Job> {
        let Running { command, started, since, watched, cancel, task, place } = running;
        watched.keep_output();
        let mut list = self.0.list.lock();
        drop(place);
        list.last += 1;
        let job = Arc::new(Job {
            id: list.last,
            session: session.to_owned(),
            command,
            started,
            since,
            watched,
            cancel,
            end: watch::Sender::new(None),
            stopped: Mutex::default(),
            seen: Mutex::default(),
            told: AtomicBool::new(false),
            kept: AtomicBool::new(false),
        });
        list.all.push_back(Arc::clone(&job));
        // The others stay until the model has heard of them, in their session's next request.
        let is_done = |job: &Arc<Job>| job.has_ended() && job.told.load(Ordering::Relaxed);
        let done = list.all.iter().filter(|job| is_done(job)).count();
        for _ in MAX_ENDED..done {
            let oldest = list.all.iter().position(is_done);
            oldest.and_then(|oldest| list.all.remove(oldest));
        }
        drop(list);
        let _ = self.0.changes.send(JobChange::Started);
        let (ending, changes) = (Arc::clone(&job), self.0.changes.clone());
        tokio::spawn(async move {
            let finished = task.wait_for_end().await;
            ending.end.send_replace(Some(JobEnd::of(finished)));
            let _ = changes.send(JobChange::Ended);
        });
        job
    }

    /// All jobs that are remembered, oldest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        self.0.list.lock().all.iter().cloned().collect()
    }

    /// The jobs of a session that are remembered, oldest first.
    pub fn of_session(&self, session: &str) -> Vec<Arc<Job>> {
        self.all().into_iter().filter(|job| job.session == session).collect()
    }

    /// Numbers further jobs from beyond this id.
    pub fn number_beyond(&self, id: u32) {
        let mut list = self.0.list.lock();
        list.last = list.last.max(id);
    }

    /// The running jobs.
    pub fn running(&self) -> Vec<Arc<Job>> {
        self.0.list.lock().all.iter().filter(|job| !job.has_ended()).cloned().collect()
    }

    /// The job with this id.
    pub fn get(&self, id: u32) -> Option<Arc<Job>> {
        self.0.list.lock().all.iter().find(|job| job.id == id).cloned()
    }

    /// Those of a session that have ended without the model's knowledge. They count as known from now on.
    pub fn take_untold(&self, session: &str) -> Vec<Arc<Job>> {
        let is_news = |job: &Arc<Job>| job.session == session && job.has_ended();
        self.all().into_iter().filter(|job| is_news(job) && !job.told.swap(true, Ordering::Relaxed)).collect()
    }

    /// The sessions of the jobs that have ended without the model's knowledge.
    pub fn untold_sessions(&self) -> Vec<String> {
        let is_news = |job: &&Arc<Job>| job.has_ended() && !job.told.load(Ordering::Relaxed);
        self.all().iter().filter(is_news).map(|job| job.session.clone()).collect()
    }

    /// Marks running jobs as kept or not: the one with this id, or all.
    pub fn keep(&self, id: Option<u32>, kept: bool) {
        for job in self.running().iter().filter(|job| id.is_none_or(|id| job.id == id)) {
            job.kept.store(kept, Ordering::Relaxed);
        }
    }

    /// The rows of all jobs, without what their processes use.
    pub fn rows(&self, secrets: &SecretFinder) -> Vec<JobRow> {
        self.all().iter().map(|job| job.row(TreeUsage::default(), secrets)).collect()
    }

    /// The rows of all jobs. Looks at all processes of the machine, hence on another thread.
    pub async fn rows_with_usage(&self, secrets: SecretFinder) -> Vec<JobRow> {
        let jobs = self.all();
        let rows = spawn_blocking(move || {
            let row = |job: &Arc<Job>| {
                let usage = if job.has_ended() { TreeUsage::default() } else { job.watched.usage() };
                job.row(usage, &secrets)
            };
            jobs.iter().map(row).collect()
        });
        rows.await.unwrap_or_default()
    }

    /// Stops all jobs: TERM, and KILL after `grace`.
    pub async fn end(&self, grace: Duration) {
        let running = self.running();
        let deadline = Instant::now() + grace;
        let stops = running.iter().map(|job| job.begin_stop());
        futures_join(stops.collect()).await;
        for job in &running {
            if tokio::time::timeout_at(deadline, job.wait_for_end()).await.is_err() {
                let watched = Arc::clone(&job.watched);
                let _ = spawn_blocking(move || watched.kill()).await;
                job.end.send_if_modified(|end| {
                    let is_open = end.is_none();
                    if is_open {
                        *end = Some(JobEnd::killed());
                    }
                    is_open
                });
            }
        }
    }
}

/// Waits for all of these at the same time.
async fn futures_join(work: Vec<impl Future<Output = ()>>) {
    let mut work: Vec<_> = work.into_iter().map(Box::pin).collect();
    std::future::poll_fn(|context| {
        work.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if work.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

impl Job {
    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Whether the model may have to be told how it ends, or has ended.
    pub fn is_open(&self) -> bool {
        !self.told.load(Ordering::Relaxed)
    }

    /// Waits for its end.
    pub async fn wait_for_end(&self) {
        // The sender is alive.
        let _ = self.end.subscribe().wait_for(Option::is_some).await;
    }

    /// Notes its processes, and begins to stop them.
    async fn begin_stop(&self) {
        let watched = Arc::clone(&self.watched);
        let usage = spawn_blocking(move || watched.usage()).await.unwrap_or_default();
        if !self.has_ended() {
            *self.stopped.lock() = as_processes(&usage);
        }
        self.watched.give_time();
        self.cancel.cancel();
    }

    /// Stops it and waits for its end, for a few seconds at most. Returns whether it has ended.
    pub async fn stop(&self) -> bool {
        self.begin_stop().await;
        tokio::time::timeout(command::STOP_LIMIT, self.wait_for_end()).await.is_ok()
    }

    fn row(&self, usage: TreeUsage, secrets: &SecretFinder) -> JobRow {
        let end = self.end.borrow().clone();
        let tail = self.watched.tail(LAST);
        let plain = line_output::plain(&tail.text);
        let stopped = self.stopped.lock().clone();
        JobRow {
            id: self.id,
            command: self.command.clone(),
            state: end.as_ref().map_or(JobState::Running, |end| end.state),
            outcome: end.as_ref().map(|end| end.outcome.clone()).unwrap_or_default(),
            exit_code: end.as_ref().and_then(|end| end.exit_code),
            started: millis(self.started),
            ended: end.as_ref().map(|end| millis(end.at)),
            kept: end.is_none() && self.kept.load(Ordering::Relaxed),
            of_other_session: false,
            processes: if end.is_some() { stopped } else { as_processes(&usage) },
            cpu_ms: u64::try_from(usage.cpu.as_millis()).unwrap_or(u64::MAX),
            memory: usage.memory,
            lines: tail.total_lines,
            last_line: last_line(&plain, secrets),
            file: self.watched.file(),
        }
    }

    /// The end of its output, for people.
    pub fn tail(&self, most: usize) -> String {
        line_output::plain(&self.watched.tail(most).text)
    }

    /// The output so far for the model, which has seen it then, and for the user.
    pub(crate) fn first_look(&self, limits: &OutputLimits) -> (String, TerminalOutput) {
        let new = self.take_new(&limits.secrets);
        let place = self.place();
        let omitted = match new.omitted {
            0 => String::new(),
            bytes => format!("[… {bytes} bytes omitted here; {place} …]\n"),
        };
        let mut shown = self.watched.tail(SHOWN);
        shown.full_output_path = self.watched.file().map(|path| path.display().to_string());
        (omitted + &command_result::cut(&new.text, limits, &place), shown)
    }

    /// The model knows of its end, if it has ended.
    fn mark_end_reported(&self) {
        if self.has_ended() {
            self.told.store(true, Ordering::Relaxed);
        }
    }

    /// The position in the output up to which the model has seen it.
    fn seen_position(&self) -> u64 {
        self.seen.lock().end
    }

    /// Remarks on its end.
    fn remarks(&self) -> Vec<String> {
        self.end.borrow().as_ref().map(|end| end.remarks.clone()).unwrap_or_default()
    }

    /// Its state, in words.
    fn status(&self) -> String {
        match self.end.borrow().as_ref() {
            None => format!("running for {:.1} s", self.since.elapsed().as_secs_f64()),
            Some(end) => end.outcome.clone(),
        }
    }

    /// Waits until it is known where the whole output is, for a moment at most.
    pub(crate) async fn wait_for_place(&self) {
        let known = async {
            tokio::select! {
                () = self.watched.wait_for_file() => {}
                () = self.wait_for_end() => {}
            }
        };
        let _ = tokio::time::timeout(PLACED, known).await;
    }

    /// Where the whole output is.
    fn place(&self) -> String {
        match (self.watched.file(), self.watched.file_trouble()) {
            (Some(path), _) => format!("its output goes to {}", path.display()),
            (None, Some(why)) => format!("its output could not be saved: {why}"),
            (None, None) => "its output is in memory".to_owned(),
        }
    }

    /// The mark of its processes, by which they are found after the end of this process.
    pub fn mark(&self) -> Option<u64> {
        self.watched.mark()
    }

    /// How it ended, in words; empty while it runs.
    pub fn outcome(&self) -> String {
        self.end.borrow().as_ref().map(|end| end.outcome.clone()).unwrap_or_default()
    }

    /// The first line of its command, marked if there are more.
    pub fn first_line(&self, secrets: &SecretFinder) -> String {
        let command = self.command.trim();
        let first = beginning(command.lines().next().unwrap_or_default(), secrets);
        if first.len() < command.len() { format!("{first} …") } else { first.to_owned() }
    }

    /// The report of its end to the model, with the end of the output that it has not seen.
    pub fn report(&self, secrets: &SecretFinder) -> String {
        let mut text =
            format!("job {} has ended: {}\ncommand: {}", self.id, self.status(), self.first_line(secrets));
        for remark in self.remarks() {
            text.push_str(&format!("\n{remark}"));
        }
        let new = self.take_new(secrets);
        let plain = new.text.trim_end();
        let shown = command_result::last_lines(plain, REPORTED_BYTES, REPORTED_LINES, secrets);
        if shown.trim().is_empty() {
            return text;
        }
        let is_cut = new.omitted > 0 || shown.len() < plain.len();
        let what = if is_cut { "the end of its new output" } else { "its new output" };
        let place = self.watched.file().filter(|_| is_cut);
        let place = place.map(|path| format!(" (all of it: {})", path.display())).unwrap_or_default();
        format!("{text}\n{what}{place}:\n{shown}")
    }
}

impl JobEnd {
    fn of(finished: Result<FinishedCommand, UserError>) -> Self {
        let at = SystemTime::now();
        match finished {
            Ok(finished) => {
                let state = match (finished.cancelled, finished.output.exit_code) {
                    (true, _) => JobState::Stopped,
                    (false, Some(0)) => JobState::Done,
                    (false, _) => JobState::Failed,
                };
                JobEnd {
                    at,
                    state,
                    outcome: command_result::job_outcome(&finished),
                    exit_code: finished.output.exit_code.filter(|_| !finished.cancelled),
                    remarks: command_result::remarks(&finished),
                }
            }
            Err(why) => JobEnd {
                at,
                state: JobState::Failed,
                outcome: why.into(),
                exit_code: None,
                remarks: Vec::new(),
            },
        }
    }

    /// The end of a job that had to be killed.
    fn killed() -> Self {
        JobEnd {
            at: SystemTime::now(),
            state: JobState::Stopped,
            outcome: "killed".to_owned(),
            exit_code: None,
            remarks: Vec::new(),
        }
    }
}

fn as_processes(usage: &TreeUsage) -> Vec<JobProcess> {
    let process = |member: &crate::process::process_tree::TreeMember| JobProcess {
        pid: member.pid,
        name: member.name.clone(),
    };
    usage.processes.iter().map(process).collect()
}

/// The beginning of a line, which ends beside a secret and not within it.
fn beginning<'a>(line: &'a str, secrets: &SecretFinder) -> &'a str {
    let end = start_within_characters(line, MAX_LINE).len();
    line.get(..secrets.end(line, end)).unwrap_or_default()
}

/// The last line of the end of an output. Of a line that is longer than this, the first half is left out: a secret
/// may have lost its beginning there.
fn last_line(output: &str, secrets: &SecretFinder) -> String {
    let start = output.len().saturating_sub(LAST / 2);
    let last = output.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let shown = match output.get(secrets.start(output, output.ceil_char_boundary(start))..) {
        Some(rest) if last.len() > LAST / 2 => rest.trim(),
        _ => last,
    };
    beginning(shown, secrets).to_owned()
}

/// The note in the result of a call whose command has become a job.
pub(crate) fn background_note(job: &Job, why: &MovedCommand) -> String {
    let id = job.id;
    let place = job.place();
    match why {
        MovedCommand::Asked => format!("running in the background as job {id}; {place}"),
        MovedCommand::TimedOut { seconds } => {
            format!("still running after {seconds} s, so it continues in the background as job {id}; {place}")
        }
        MovedCommand::User(MoveReason::User) => {
            format!("the user moved it to the background, where it continues as job {id}; {place}")
        }
        MovedCommand::User(MoveReason::Message | MoveReason::Steering) => {
            format!("the user sent a message, so it continues in the background as job {id}; {place}")
        }
    }
}
