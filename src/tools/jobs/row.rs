//! A job as front ends list it: plain data.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A job, as front ends list it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRow {
    pub id: u32,
    /// The command line.
    pub command: String,
    pub state: JobState,
    /// How it ended, in words; empty while it runs.
    pub outcome: String,
    /// The exit code, if it ended by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Milliseconds since 1970.
    pub started: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<i64>,
    /// True if the user wants it to continue when the screen is left.
    pub kept: bool,
    /// True if it belongs to a session that was left since it began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub of_other_session: bool,
    /// Its living processes; of a stopped job those that were stopped.
    pub processes: Vec<JobProcess>,
    /// The processor time of its processes, in milliseconds.
    pub cpu_ms: u64,
    /// The memory of its processes, in bytes.
    pub memory: u64,
    /// The number of lines of its output.
    pub lines: u64,
    pub last_line: String,
    /// The file with its whole output.
    #[serde(with = "crate::path_text", skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

/// The state of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    #[default]
    Running,
    /// It ended with exit code 0.
    Done,
    Failed,
    /// It was stopped by the user, the model or the end of the session.
    Stopped,
}

impl JobState {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Failed => "failed",
            JobState::Stopped => "stopped",
        }
    }
}

impl JobRow {
    /// True while it runs.
    pub fn is_running(&self) -> bool {
        self.state == JobState::Running
    }

    /// The texts that may contain anything.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let names = self.processes.iter_mut().map(|process| &mut process.name);
        [&mut self.command, &mut self.last_line].into_iter().chain(names)
    }
}

/// A process of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobProcess {
    pub pid: i32,
    /// The command line, shortened.
    pub name: String,
}
