//! The background jobs that the end of a session stopped, for the report at the program's end.

use super::plain;
use tau_agent::AgentEvent;
use tau_protocol::event::ShellEvent;
use tau_tools::jobs::{JobRow, JobState};

/// The background jobs of an agent, and which of them its end stopped.
#[derive(Debug, Default)]
pub(crate) struct StoppedJobs {
    /// The ids of jobs that had ended before.
    before: Vec<u32>,
    /// Whether the agent is ending.
    is_ending: bool,
    stopped: Vec<JobRow>,
}

impl StoppedJobs {
    /// From the jobs that are known when the agent begins to end.
    pub fn beside(known: &[JobRow]) -> Self {
        let ended = known.iter().filter(|job| !job.is_running()).map(|job| job.id);
        StoppedJobs { before: ended.collect(), is_ending: true, stopped: Vec::new() }
    }

    /// The agent begins to end.
    pub fn ending(&mut self) {
        self.is_ending = true;
    }

    /// Takes an event of the agent.
    pub fn take(&mut self, event: &AgentEvent) {
        let AgentEvent::Shell(ShellEvent::JobsChanged { jobs }) = event else { return };
        if !self.is_ending {
            self.before = StoppedJobs::beside(jobs).before;
            return;
        }
        let is_stopped = |job: &&JobRow| job.state == JobState::Stopped && !self.before.contains(&job.id);
        self.stopped = jobs.iter().filter(is_stopped).cloned().collect();
    }

    /// A line for each of their processes.
    pub fn lines(&self) -> Vec<String> {
        let line = |job: &JobRow| match job.processes.as_slice() {
            [] => vec![format!("stopped job {}: {}", job.id, plain::line(&job.command))],
            processes => processes
                .iter()
                .map(|process| {
                    format!(
                        "stopped process {} of job {}: {}",
                        process.pid,
                        job.id,
                        plain::line(&process.name)
                    )
                })
                .collect(),
        };
        self.stopped.iter().flat_map(line).collect()
    }
}
