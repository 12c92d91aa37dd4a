//! The JSON input of the user's status-line command.

use serde::Serialize;

/// The command's standard input, as one line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusFacts {
    pub session: SessionFacts,
    /// The directory, with the home directory as `~`.
    pub place: String,
    pub(crate) branch: Option<String>,
    pub(crate) model: Option<ModelFacts>,
    pub(crate) thinking: &'static str,
    pub(crate) context: ContextFacts,
    pub(crate) usage: UsageFacts,
    pub(crate) cost: CostFacts,
    /// The limits of the plan, the shortest first.
    pub(crate) limits: Vec<LimitFacts>,
    /// Whether the agent is working.
    pub(crate) running: bool,
    /// Columns of the window.
    pub(crate) columns: u16,
}

/// The session, for the status command.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionFacts {
    pub id: String,
    pub(crate) name: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) cwd: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ModelFacts {
    pub(crate) provider: String,
    pub(crate) id: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ContextFacts {
    pub(crate) tokens: u64,
    /// `None` where unknown.
    pub(crate) window: Option<u64>,
    pub(crate) percent: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LimitFacts {
    pub(crate) name: String,
    pub(crate) used_percent: u64,
    /// In seconds since 1970.
    pub(crate) resets_at: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct UsageFacts {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_write: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CostFacts {
    pub(crate) usd: f64,
    /// False when some of it was used with a model whose price is unknown.
    pub(crate) complete: bool,
}
