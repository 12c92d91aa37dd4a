//! The types of requests about branches of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::types::SessionDetail;
use tau_protocol::undo::{ConflictChoice, RestoreReport, UndoScope};

/// Where a fork ends.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// The entry of a message of the user, before which it ends; without one it has everything.
    pub entry_id: Option<String>,
}

/// A session that was made from another one.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forked {
    pub session: SessionDetail,
    /// The text of the message before which it ends.
    pub text: Option<String>,
}

/// What goes back, and how far.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UndoSession {
    /// The entry of the prompt; `GET …/tree` has them.
    pub entry_id: String,
    pub scope: Option<UndoScopeName>,
    /// What is done with each path that somebody else changed as well.
    #[serde(default)]
    pub choices: BTreeMap<String, ChoiceName>,
    /// What is done with the other such paths.
    pub otherwise: Option<ChoiceName>,
}

/// What goes back.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UndoScopeName {
    Files,
    Conversation,
    #[default]
    Both,
}

impl From<UndoScopeName> for UndoScope {
    fn from(name: UndoScopeName) -> Self {
        match name {
            UndoScopeName::Files => UndoScope::Files,
            UndoScopeName::Conversation => UndoScope::Conversation,
            UndoScopeName::Both => UndoScope::Both,
        }
    }
}

/// What is done with a path that somebody else changed as well.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChoiceName {
    /// It is left as it is.
    #[default]
    Keep,
    /// What it was before the agent is put in its place.
    Old,
    /// What the agent changed is taken out of it.
    Merge,
}

impl From<ChoiceName> for ConflictChoice {
    fn from(name: ChoiceName) -> Self {
        match name {
            ChoiceName::Keep => ConflictChoice::Keep,
            ChoiceName::Old => ConflictChoice::Old,
            ChoiceName::Merge => ConflictChoice::Merge,
        }
    }
}

/// What was restored: paths.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Restored {
    pub restored: Vec<String>,
    /// Without what the agent changed, with what somebody else changed.
    pub merged: Vec<String>,
    /// Left as they are.
    pub kept: Vec<String>,
    pub failed: Vec<NotRestored>,
}

/// A path that could not be restored.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotRestored {
    pub path: String,
    /// Why, in words.
    pub reason: String,
}

impl From<RestoreReport> for Restored {
    fn from(report: RestoreReport) -> Self {
        let RestoreReport { restored, merged, kept, failed } = report;
        let failed =
            failed.into_iter().map(|path| NotRestored { path: path.path, reason: path.reason }).collect();
        Restored { restored, merged, kept, failed }
    }
}

/// How to summarize.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Compact {
    /// What the summary should focus on.
    pub instructions: Option<String>,
}
