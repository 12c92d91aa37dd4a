//! Bodies about attempts and worktrees.

use serde::{Deserialize, Serialize};

use super::types::SessionDetail;
use crate::attempts::host::FarAttempts;
use tau_protocol::attempt::{AttemptFile, AttemptList, AttemptRow};

/// The attempts at a task.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttemptsFound {
    /// Absent if there are none, or their copies are still being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub task: String,
    /// The command that decides.
    pub until: String,
    /// Whether any of them is at work.
    pub running: bool,
    /// Whether this session can stop them.
    pub own: bool,
    /// `number`, `outcome`, `reached`, `is_running`, `time`, `cost`, `changed`, `model`, `session`, `place`.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub attempts: Vec<AttemptRow>,
    /// How the attempts have ended that were last begun in this session, unless the server has been started since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Why these could not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl AttemptsFound {
    /// The attempts in the directory of a session, and what became of those that were begun in it.
    pub fn new(list: AttemptList, begun: &FarAttempts) -> Self {
        let AttemptList { id, task, check, rows, is_running, is_own } = list;
        let (ended, failed) = match begun {
            FarAttempts::Unknown | FarAttempts::AtWork => (None, None),
            FarAttempts::Ended(Ok(news)) => (Some(news.said.clone()), None),
            FarAttempts::Ended(Err(why)) => (None, Some(why.to_string())),
        };
        // Their process may only be starting.
        let is_begun = matches!(begun, FarAttempts::AtWork);
        AttemptsFound {
            id: Some(id).filter(|id| !id.is_empty()),
            task,
            until: check,
            running: is_running || is_begun,
            own: is_own || is_begun,
            attempts: rows,
            ended,
            failed,
        }
    }
}

/// An order to begin attempts.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BeginAttempts {
    /// From 1 to 16.
    pub count: u32,
    /// The command that decides which of them succeed.
    pub until: String,
    pub task: String,
    /// The models that take turns; without any that of the session.
    #[serde(default)]
    pub models: Vec<String>,
}

/// The changes of the attempts.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AttemptChangesFound {
    /// `path` and `patches`: of each attempt its `hunks`.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub files: Vec<AttemptFile>,
}

/// The attempt to take, or the parts of several.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TakeAttempt {
    /// Its number.
    #[serde(default)]
    pub attempt: Option<u32>,
    #[serde(default)]
    pub parts: Vec<TakePart>,
}

/// A file of an attempt, or a hunk of one.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TakePart {
    pub attempt: u32,
    pub path: String,
    /// Its number; without one the whole file.
    #[serde(default)]
    pub hunk: Option<usize>,
}

/// The outcome in words.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Said {
    pub text: String,
}

/// The worktree to work in.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EnterWorktree {
    pub name: String,
}

/// The copy of a session in a worktree.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Moved {
    pub session: SessionDetail,
    pub text: String,
}
