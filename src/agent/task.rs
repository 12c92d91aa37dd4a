//! The agent task: commands in, events out, one owner of the conversation.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::command::AgentCommand;
use super::event::AgentEvent;
use super::model::{Model, ThinkingLevel};
use super::provider::Transport;
use super::session::Session;
use super::settings::auth::KeySource;
use crate::tools::Toolbox;
use crate::tools::process::ChildEnv;
use crate::tools::scratch::Scratch;

/// How new sessions are begun, and where.
#[derive(Clone, Debug)]
pub struct SessionPlace {
    /// Folder for new session files; none keeps them in memory.
    pub dir: Option<PathBuf>,
    /// The directory sessions run in.
    pub cwd: PathBuf,
}

/// Everything an agent starts with.
pub struct AgentConfig {
    pub transport: Arc<dyn Transport>,
    pub keys: Arc<dyn KeySource>,
    pub tools: Toolbox,
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub session: Session,
    pub place: SessionPlace,
    /// The system prompt: byte-identical from turn to turn.
    pub system: Arc<str>,
    pub scratch: Arc<Scratch>,
    pub env: Arc<ChildEnv>,
    /// Timeout of shell calls that name none, in seconds.
    pub bash_timeout: Option<u64>,
    /// Finds the model a resumed session names.
    pub find_model: Arc<dyn Fn(&str, &str) -> Option<Arc<Model>> + Send + Sync>,
    /// Retries of one request, at most.
    pub max_retries: u32,
    /// Answers of the model in one run, at most.
    pub max_turns: Option<u32>,
}

/// The near end of a running agent.
pub struct AgentHandle {
    /// Bounded; `send` waits when the agent is behind.
    pub commands: mpsc::Sender<AgentCommand>,
    /// Bounded; the agent waits when nobody reads. Ends after `AgentEvent::Stopped`.
    pub events: mpsc::Receiver<AgentEvent>,
    pub task: JoinHandle<()>,
}

/// Starts the task on the current runtime. Its first event is `SessionOpened`.
pub fn spawn(_config: AgentConfig) -> AgentHandle {
    todo!()
}
