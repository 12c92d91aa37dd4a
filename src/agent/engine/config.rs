//! The configuration that an agent starts with.

use std::path::PathBuf;
use std::sync::Arc;

use super::behavior::Behavior;
use super::helper_role::HelperRole;
use crate::catalogue::keys::KeySource;
use crate::provider::Transport;
use crate::session::Session;
use tau_protocol::model::{Model, ThinkingLevel};
use tau_protocol::run::{CompactionSettings, RetryMode, RunLimits};
use tau_tools::Toolbox;
use tau_tools::process::ChildEnv;
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;

/// The folder and the working directory of new sessions.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    /// The folder for new session files; `None` keeps them in memory.
    pub dir: Option<PathBuf>,
    /// The directory new sessions run in.
    pub cwd: PathBuf,
}

/// Finds a model by provider and id. An error says why it cannot be used, and what to do.
pub type FindModel = dyn Fn(&str, &str) -> Result<Arc<Model>, UserError> + Send + Sync;

/// Everything an agent starts with.
pub struct AgentConfig {
    pub transport: Arc<dyn Transport>,
    pub keys: Arc<dyn KeySource>,
    pub tools: Toolbox,
    /// The model; without one, the model of a resumed session is looked up.
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub session: Session,
    pub place: SessionPlace,
    /// The system prompt: byte-identical from turn to turn.
    pub system: Arc<str>,
    pub scratch: Arc<Scratch>,
    pub env: Arc<ChildEnv>,
    /// The shell that runs the user's own commands.
    pub shell: PathBuf,
    /// Timeout of shell calls without one of their own, in seconds.
    pub bash_timeout: Option<u64>,
    /// Finds the model that a resumed session names.
    pub find_model: Arc<FindModel>,
    /// The maximum number of retries of a request.
    pub max_retries: u32,
    /// Whether someone is there to end a long wait before a retry.
    pub retry_mode: RetryMode,
    pub limits: RunLimits,
    /// Optional behavior.
    pub behavior: Behavior,
    /// When and how the conversation is compacted.
    pub compaction: CompactionSettings,
    /// Its place in a tree of agents; `None` for one that works for the user.
    pub helper: Option<HelperRole>,
}
