//! The types of requests about branches of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::types::{SessionDetail, same_variants};
use tau_protocol::undo::{ConflictChoice, RestoreReport, UndoScope};

/// The end of a fork.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// The entry of a user message, before which the fork ends; without one it has everything.
    pub entry_id: Option<String>,
}

/// A session forked from another one.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Forked {
    pub session: SessionDetail,
    /// The text of the message before which the fork ends.
    pub text: Option<String>,
}

/// The prompt to undo, and the scope.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct UndoSession {
    /// The entry of the prompt; `GET …/tree` lists them.
    pub entry_id: String,
    pub scope: Option<UndoScopeName>,
    /// The choice for each path that something else changed as well.
    #[serde(default)]
    pub choices: BTreeMap<String, ChoiceName>,
    /// The choice for all other such paths.
    pub otherwise: Option<ChoiceName>,
}

/// The scope of an undo.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum UndoScopeName {
    Files,
    Conversation,
    #[default]
    Both,
}

same_variants!(UndoScopeName => UndoScope: Files, Conversation, Both);

/// The treatment of a path that something else changed as well.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChoiceName {
    /// Leave it unchanged.
    #[default]
    Keep,
    /// Restore the state before the agent's changes.
    Old,
    /// Remove only the agent's changes.
    Merge,
}

same_variants!(ChoiceName => ConflictChoice: Keep, Old, Merge);

/// The restored paths.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Restored {
    pub restored: Vec<String>,
    /// Without the agent's changes, with changes from elsewhere.
    pub merged: Vec<String>,
    /// Left unchanged.
    pub kept: Vec<String>,
    pub failed: Vec<NotRestored>,
}

/// A path that could not be restored.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotRestored {
    pub path: String,
    /// The reason, in words.
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

/// Options of a summary.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Compact {
    /// The focus of the summary.
    pub instructions: Option<String>,
}
