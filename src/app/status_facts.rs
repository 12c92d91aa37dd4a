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
    /// The facts under the names that Claude Code has for them, so that commands for it work here.
    #[serde(flatten)]
    pub(crate) claude: ClaudeFacts,
}

/// The facts as Claude Code names them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ClaudeFacts {
    pub(crate) session_id: String,
    pub(crate) transcript_path: Option<String>,
    pub(crate) version: &'static str,
    /// The directory.
    pub(crate) workspace: WorkspaceFacts,
    pub(crate) context_window: WindowFacts,
    pub(crate) rate_limits: RateLimits,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkspaceFacts {
    pub(crate) current_dir: String,
    pub(crate) project_dir: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WindowFacts {
    pub(crate) context_window_size: Option<u64>,
    pub(crate) used_percentage: Option<u64>,
    pub(crate) remaining_percentage: Option<u64>,
    pub(crate) total_input_tokens: u64,
    pub(crate) total_output_tokens: u64,
}

/// Absent where the provider reports none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct RateLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) five_hour: Option<RateLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seven_day: Option<RateLimit>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RateLimit {
    pub(crate) used_percentage: u64,
    pub(crate) resets_at: Option<i64>,
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
    /// The name again, as Claude Code calls it.
    pub(crate) display_name: String,
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
    /// The amount again, under the name that Claude Code has for it.
    pub(crate) total_cost_usd: f64,
    /// False when some of it was used with a model whose price is unknown.
    pub(crate) complete: bool,
    /// Whether the provider has not reported all of what was used.
    pub(crate) estimated: bool,
}
