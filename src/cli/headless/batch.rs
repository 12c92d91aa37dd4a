//! The common part of print, json and rpc: an agent, signals, a deadline, and the shutdown.
//!
//! The first signal, or the deadline, aborts in order: the run has a grace period to write its
//! session and to end its child processes. A second signal, or the end of the grace period, ends
//! everything at once.

use std::pin::pin;
use std::time::Duration;

use tokio::time::Instant;

use crate::process::exit::{Exit, warn};
use crate::process::signals::CaughtSignal;
use crate::process::stopped_jobs::StoppedJobs;
use tau_agent::engine::task::AgentHandle;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::{RunCommand, TaskCommand};
use tau_protocol::event::{NoticeLevel, TaskEvent};
use tau_tools::deadline;
use tau_tools::process::left::LAST_GRACE;

/// Time for an aborted run to write its session and to end its child processes.
const GRACE: Duration = Duration::from_millis(900);
/// Time for a last record after the agent has ended, even when the grace period is over.
const LAST_RECORD: Duration = Duration::from_millis(200);
/// Timeouts beyond this (about a century) are no timeouts; clocks overflow on larger ones.
const MAX_WAIT: Duration = Duration::from_secs(u32::MAX as u64);

/// The way in which everything must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// In order, within the grace period.
    Begin,
    /// At once: the grace period is over, or a second signal came.
    Now,
}

/// Signals and the deadline. `S` gives the next signal each time it is called.
pub(crate) struct StopWatch<S> {
    signals: S,
    deadline: Option<Instant>,
    /// The program's end, and the deadline for it.
    stopping: Option<(Exit, Instant)>,
    timed_out: bool,
}

impl<S: AsyncFnMut() -> CaughtSignal> StopWatch<S> {
    /// Watches until the timeout, or until `signals` gives a signal.
    pub(crate) fn new(timeout: Option<Duration>, signals: S) -> Self {
        let deadline = timeout.map(|timeout| Instant::now() + timeout.min(MAX_WAIT));
        StopWatch { signals, deadline, stopping: None, timed_out: false }
    }

    /// The program's end, once it has been stopped.
    pub(crate) fn stopping(&self) -> Option<Exit> {
        self.stopping.map(|(exit, _)| exit)
    }

    /// Whether it was stopped by the deadline.
    pub(crate) fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// The next reason to stop. Cancel safe.
    pub async fn next(&mut self) -> Stop {
        let grace = self.stopping.map(|(_, until)| until);
        let deadline = self.deadline.filter(|_| grace.is_none());
        let exit = tokio::select! {
            biased;
            exit = self.signal() => exit,
            () = deadline::until(grace) => return Stop::Now,
            () = deadline::until(deadline) => {
                self.timed_out = true;
                Exit::Limit
            }
        };
        let until = grace.unwrap_or_else(|| Instant::now() + GRACE);
        self.stopping = Some((exit, until));
        if grace.is_some() { Stop::Now } else { Stop::Begin }
    }

    /// The next signal that ends the program. Cancel safe.
    async fn signal(&mut self) -> Exit {
        loop {
            if let Some(exit) = (self.signals)().await.exit() {
                return exit;
            }
        }
    }
}

/// A cause of waking a front end.
#[allow(clippy::large_enum_variant, reason = "one value lives at a time, and events are the common case")]
pub(crate) enum BatchEvent {
    /// An event of the agent; `None` once it has ended.
    Agent(Option<AgentEvent>),
    /// Everything must end.
    Stop(Stop),
}

/// An agent with its sources of stopping.
pub(crate) struct BatchDriver<S> {
    pub agent: AgentHandle,
    pub stops: StopWatch<S>,
    /// Background jobs, for the report of those that the end stops.
    pub jobs: StoppedJobs,
    /// Whether the end has stopped processes, or left some.
    pub has_named: bool,
}

impl<S: AsyncFnMut() -> CaughtSignal> BatchDriver<S> {
    /// Drives `agent` until the timeout, or until `signals` gives a signal.
    pub fn new(agent: AgentHandle, timeout: Option<Duration>, signals: S) -> Self {
        let stops = StopWatch::new(timeout, signals);
        BatchDriver { agent, stops, jobs: StoppedJobs::default(), has_named: false }
    }

    /// The next event. Cancel safe.
    pub async fn next(&mut self) -> BatchEvent {
        tokio::select! {
            biased;
            stop = self.stops.next() => {
                self.jobs.look();
                BatchEvent::Stop(stop)
            }
            event = self.agent.events.recv() => {
                event.iter().for_each(|event| self.jobs.take(event));
                BatchEvent::Agent(event)
            }
        }
    }

    /// Aborts the run that is in progress.
    pub fn abort(&self) {
        self.send_soon(RunCommand::Abort);
    }

    /// Sends a command without a wait. An agent that accepts no more commands neither asks nor runs anything.
    pub fn send_soon(&self, command: impl Into<AgentCommand>) {
        let _ = self.agent.commands.try_send(command.into());
    }

    /// Does work that may block, for example a write without a reader; `None` if the program must end before
    /// it is done.
    pub async fn within<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                stop = self.stops.next() => match stop {
                    Stop::Begin => {
                        self.jobs.look();
                        self.abort();
                    }
                    Stop::Now => return None,
                },
            }
        }
    }

    /// Ends the agent: its session is written and its child processes are gone, or the grace
    /// period is over, or a signal came. `exit`, or [`Exit::Crash`] when the agent panicked.
    pub(crate) async fn shut_down(&mut self, exit: Exit) -> Exit {
        let AgentHandle { commands, events, task } = &mut self.agent;
        let jobs = &mut self.jobs;
        jobs.ending();
        // Like in `abort`.
        let _ = commands.try_send(AgentCommand::Task(TaskCommand::Shutdown));
        let patience = if exit == Exit::Ok { 5 * GRACE } else { GRACE };
        let mut errors = Vec::new();
        let ended = async {
            while let Some(event) = events.recv().await {
                jobs.take(&event);
                // The front end has ended, and this process tries nothing again.
                if let AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) = event {
                    errors.push(text);
                }
            }
            (&mut *task).await
        };
        let (panicked, grace) = tokio::select! {
            _ = self.stops.signal() => (false, Some(Duration::ZERO)),
            ended = tokio::time::timeout(patience, ended) => match ended {
                Ok(ended) => (ended.is_err_and(|error| error.is_panic()), None),
                Err(_) => (false, Some(LAST_GRACE)),
            },
        };
        task.abort();
        if let Some(grace) = grace {
            jobs.stop_rest(grace).await;
        }
        errors.iter().for_each(|text| warn(text));
        let lines = jobs.lines();
        self.has_named = !lines.is_empty();
        lines.iter().for_each(|line| warn(line));
        if let Some((_, until)) = &mut self.stops.stopping {
            *until = (*until).max(Instant::now() + LAST_RECORD);
        }
        if panicked { Exit::Crash } else { exit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_second_signal_waits_for_nothing() {
        let mut stops = StopWatch::new(None, async || CaughtSignal::Interrupt);
        assert_eq!((stops.next().await, stops.next().await), (Stop::Begin, Stop::Now));
        assert_eq!(stops.stopping(), Some(Exit::Aborted));
    }
}
