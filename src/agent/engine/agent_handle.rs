//! The handle of a running agent.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::config::AgentConfig;
use tau_protocol::command::AgentCommand;
use tau_protocol::event::AgentEvent;

/// A running agent. Dropping it ends the agent and everything it started.
pub struct AgentHandle {
    /// Bounded; `send` waits while the agent is busy.
    pub commands: mpsc::Sender<AgentCommand>,
    /// Bounded; the agent waits while they are not read. Ends after `TaskEvent::Stopped`.
    pub events: mpsc::Receiver<AgentEvent>,
    pub task: JoinHandle<()>,
}

/// Starts an agent on the current runtime.
pub(crate) type StartAgent = fn(AgentConfig) -> AgentHandle;
