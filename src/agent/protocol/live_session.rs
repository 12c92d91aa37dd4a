//! Live sessions as shown in lists.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::approval::ApprovalRequest;
use crate::event::Question;

/// The state of a session.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum LiveState {
    /// A call or a question waits for the user.
    Waiting,
    /// The agent works.
    Running,
    /// The process of a run is suspended, as by Ctrl+Z in its shell.
    Suspended,
    /// The last run failed or was interrupted.
    Failed,
    /// The last run succeeded.
    Done,
    /// Nothing runs, and there is no result: the last run was stopped, or none is known.
    #[default]
    Idle,
}

impl LiveState {
    /// As lists and JSON have it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether a run has not ended.
    pub fn is_at_work(self) -> bool {
        matches!(self, LiveState::Running | LiveState::Waiting | LiveState::Suspended)
    }
}

/// A live session as the board shows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoardList {
    pub sessions: Vec<LiveRow>,
    /// The servers that are not connected.
    pub servers: Vec<MissingServer>,
}

/// A server whose sessions are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingServer {
    /// The machine, as the user knows it.
    pub name: String,
    /// Why there is no connection; absent during the first attempt.
    pub why: Option<String>,
}

/// A session of the board.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveRow {
    /// Its ID; on a server with the address of that before it, as `ssh://HOST#ID`.
    pub id: String,
    pub state: LiveState,
    pub title: String,
    #[serde(with = "tau_tools::path_text")]
    pub directory: PathBuf,
    /// Provider and id of the model.
    pub model: Option<String>,
    /// US dollars.
    pub cost: f64,
    /// Whether any of it is estimated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The last line of the last answer, or the last error.
    pub last_line: String,
    /// The time of the last change, in milliseconds since 1970.
    pub changed: i64,
    /// Whether a process has it open.
    pub is_live: bool,
    /// Whether the user has put it away.
    #[serde(default)]
    pub archived: bool,
    /// The id of the session whose helper it is.
    pub parent: Option<String>,
    /// The machine that it is on, if it is on another one.
    pub server: Option<String>,
}

/// The calls and questions that wait for the user in a session, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingQuestions {
    /// The calls that need a decision.
    pub approvals: Vec<ApprovalRequest>,
    pub questions: Vec<WaitingQuestion>,
}

impl WaitingQuestions {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.approvals.is_empty() && self.questions.is_empty()
    }
}

/// A question that has no answer yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitingQuestion {
    pub id: String,
    pub question: Question,
}
