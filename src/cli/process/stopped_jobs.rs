//! The background jobs and other processes that the end of a session stopped or left, for the report at the
//! program's end.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::exit::warn;
use super::plain;
use crate::compose::environment::paths;
use crate::live::record;
use tau_agent::AgentEvent;
use tau_protocol::event::{RunEvent, SessionEvent, ShellEvent, TurnEvent};
use tau_protocol::session_meter::SessionMeter;
use tau_protocol::usage::Usage;
use tau_tools::details::Details;
use tau_tools::jobs::{JobRow, JobState};
use tau_tools::process::left::{self, LeftProcess};

/// The background jobs of an agent, and which of them its end stopped.
#[derive(Debug, Default)]
pub(crate) struct StoppedJobs {
    /// The ids of jobs that had ended before.
    before: Vec<u32>,
    /// Whether the agent is ending.
    is_ending: bool,
    /// Whether a run has not ended.
    is_at_work: bool,
    stopped: Vec<JobRow>,
    /// The processes that ran when the end began, of this whole process.
    processes: Vec<LeftProcess>,
    /// The number of processes that had been stopped when the current turn began, and when the end began.
    at_turn: usize,
    at_end: Option<usize>,
    /// The sessions whose processes are meant; `None` for all that this process has started.
    sessions: Option<Vec<String>>,
    meter: SessionMeter,
    /// The open session, and the usage of each in this process before the open one was opened last.
    session: String,
    used: BTreeMap<String, Usage>,
}

impl StoppedJobs {
    /// Of one of several agents in this process.
    pub fn of_one() -> Self {
        StoppedJobs { sessions: Some(Vec::new()), ..StoppedJobs::default() }
    }

    /// The agent begins to end.
    pub fn ending(&mut self) {
        self.is_ending = true;
        self.look();
    }

    /// Notes the processes that run: something begins to stop them. Those that are stopped from now on are noted
    /// before they are, so none is missed that starts or ends meanwhile.
    ///
    /// Whose they are is decided at the end: the report on a helper may come after its first command.
    pub fn look(&mut self) {
        // What the turn has stopped until now may be why this happens.
        let now = if self.is_at_work { self.at_turn } else { left::stop_count() };
        self.at_end.get_or_insert(now);
        self.add(left::own());
    }

    fn add(&mut self, processes: Vec<LeftProcess>) {
        for process in processes {
            if !self.processes.iter().any(|known| known.is_same(&process)) {
                self.processes.push(process);
            }
        }
    }

    /// Stops what still runs although the agent, which is no more, had its time.
    pub async fn stop_rest(&mut self, grace: Duration) {
        self.look();
        let sessions = self.sessions.clone();
        let stop = move || left::stop_bound(|process| is_meant(&sessions, process), grace);
        self.add(spawn_blocking(stop).await.unwrap_or_default());
    }

    /// Takes an event of the agent.
    pub fn take(&mut self, event: &AgentEvent) {
        if let AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) = event {
            let left = std::mem::replace(&mut self.session, session.id.clone());
            self.used.entry(left).or_default().add(&self.meter.since_opening());
        }
        self.meter.take(event);
        match event {
            AgentEvent::Turn(TurnEvent::TurnStart) if !self.is_ending => {
                (self.at_turn, self.at_end) = (left::stop_count(), None);
            }
            // The agent has stopped what this turn has started.
            AgentEvent::Run(RunEvent::RunStopped { .. } | RunEvent::AgentSettled { aborted: true })
                if !self.is_ending =>
            {
                self.at_end.get_or_insert(self.at_turn);
                self.is_at_work = false;
            }
            AgentEvent::Run(RunEvent::AgentStart) if !self.is_ending => {
                (self.is_at_work, self.at_turn) = (true, left::stop_count());
                self.processes.clear();
            }
            AgentEvent::Run(RunEvent::AgentSettled { aborted: false }) => self.is_at_work = false,
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { result, .. }) => self.take_helper(&result.details),
            _ => {}
        }
        if let Some(sessions) = &mut self.sessions {
            let new: Vec<&String> =
                sessions_in(event).filter(|session| !sessions.contains(session)).collect();
            sessions.extend(new.into_iter().cloned());
        }
        let AgentEvent::Shell(ShellEvent::JobsChanged { jobs }) = event else { return };
        if !self.is_ending {
            self.before = ended_ids(jobs);
            return;
        }
        let is_stopped = |job: &&JobRow| job.state == JobState::Stopped && !self.before.contains(&job.id);
        self.stopped = jobs.iter().filter(is_stopped).cloned().collect();
    }

    /// Notes what a helper has stopped, which ends with all that it has started.
    fn take_helper(&mut self, details: &Details) {
        let Details::Helper(report) = details else { return };
        let sessions = Some(report.sessions().cloned().collect());
        let stopped = left::stopped_since(self.at_turn).into_iter();
        self.add(stopped.filter(|process| is_meant(&sessions, process)).collect());
    }

    /// A line for each process that was stopped or continues.
    pub fn lines(&mut self) -> Vec<String> {
        let stopped = self.at_end.map(left::stopped_since).unwrap_or_default();
        for process in &mut self.processes {
            if let Some(stopped) = stopped.iter().find(|stopped| stopped.is_same(process)) {
                process.name.clone_from(&stopped.name);
            }
        }
        self.add(stopped);
        self.stopped.iter().flat_map(job_lines).chain(self.others()).collect()
    }

    /// The line about the money that the session has cost; `None` when it is nothing.
    pub fn cost_line(&self) -> Option<String> {
        let usage = self.meter.total();
        let about = if usage.estimated { "about " } else { "" };
        (usage.cost.total > 0.0).then(|| format!("this session has cost {about}${:.4}", usage.cost.total))
    }

    /// The line about the money that this process has cost in all sessions; `None` when it is that of the open one.
    pub fn whole_cost_line(&self) -> Option<String> {
        let mut others = Usage::default();
        self.used.iter().filter(|(id, _)| **id != self.session).for_each(|(_, used)| others.add(used));
        let has_others = others.cost.total > 0.0;
        others.add(&self.meter.since_opening());
        self.used.get(&self.session).iter().for_each(|used| others.add(used));
        let about = if others.estimated { "about " } else { "" };
        has_others.then(|| {
            format!(
                "tau has cost {about}${:.4} in all sessions since it started; `tau sessions` lists them",
                others.cost.total
            )
        })
    }

    /// The lines about processes that are of no job.
    fn others(&self) -> impl Iterator<Item = String> {
        let has_any = !self.processes.is_empty();
        // Sessions that a command has begun are in `tau sessions`.
        let hosts = paths().ok().filter(|_| has_any).map(|paths| record::hosts(&paths)).unwrap_or_default();
        let now = if has_any { left::all() } else { Vec::new() };
        let is_of_job = |process: &LeftProcess| {
            self.stopped.iter().flat_map(|job| &job.processes).any(|other| other.pid == process.pid)
        };
        let is_other = move |process: &&LeftProcess| {
            is_meant(&self.sessions, process) && !is_of_job(process) && !hosts.contains(&process.pid)
        };
        let others = self.processes.iter().filter(is_other);
        others.map(move |process| line(process, &now))
    }
}

/// Stops what this process, which ends, has left running after all, and names it.
pub(crate) fn stop_rest() {
    let stopped = left::stop_rest();
    let now = if stopped.is_empty() { Vec::new() } else { left::all() };
    stopped.iter().for_each(|process| warn(&line(process, &now)));
}

/// The line about a process, which is stopped unless it is one of those that run now.
fn line(process: &LeftProcess, now: &[LeftProcess]) -> String {
    let (pid, name) = (process.pid, plain::line(&process.name));
    match now.iter().any(|other| other.is_same(process)) {
        true => format!("process {pid} continues: {name}; `tau jobs --stop {pid}` ends it"),
        false => format!("stopped process {pid}: {name}"),
    }
}

/// Whether a process is of one of these sessions; without any, whether this process has started it.
fn is_meant(sessions: &Option<Vec<String>>, process: &LeftProcess) -> bool {
    sessions.as_ref().is_none_or(|sessions| sessions.iter().any(|session| process.is_of(session)))
}

/// A line for each process of a job that is stopped.
pub(crate) fn job_lines(job: &JobRow) -> Vec<String> {
    let line =
        |pid: i32, name: &str| format!("stopped process {pid} of job {}: {}", job.id, plain::line(name));
    match job.processes.as_slice() {
        [] => vec![format!("stopped job {}: {}", job.id, plain::line(&job.command))],
        processes => processes.iter().map(|process| line(process.pid, &process.name)).collect(),
    }
}

/// The sessions that an agent, or its helpers and theirs, work in, as far as the event tells them.
fn sessions_in(event: &AgentEvent) -> impl Iterator<Item = &String> {
    let (own, helper) = match event {
        AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => (Some(&session.id), None),
        AgentEvent::Turn(
            TurnEvent::ToolExecutionUpdate { partial_result: output, .. }
            | TurnEvent::ToolExecutionEnd { result: output, .. },
        ) => match &output.details {
            Details::Helper(report) => (None, Some(report)),
            _ => (None, None),
        },
        _ => (None, None),
    };
    own.into_iter().chain(helper.into_iter().flat_map(|report| report.sessions()))
}

/// The ids of the jobs that have ended.
fn ended_ids(jobs: &[JobRow]) -> Vec<u32> {
    jobs.iter().filter(|job| !job.is_running()).map(|job| job.id).collect()
}
