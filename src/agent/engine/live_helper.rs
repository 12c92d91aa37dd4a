//! A helper at work, for front ends other than its parent's.

use tokio::sync::mpsc;

use tau_protocol::approval::PermissionMode;
use tau_protocol::command::AgentCommand;
use tau_protocol::event::{AgentEvent, SessionInfo};
use tau_protocol::model::ThinkingLevel;

/// A helper at work.
#[derive(Debug)]
pub struct LiveHelper {
    pub session: SessionInfo,
    /// The id of its parent's session.
    pub parent: String,
    /// Its name, such as `explore 2`, and its task.
    pub title: String,
    pub thinking: ThinkingLevel,
    pub mode: PermissionMode,
    pub commands: mpsc::Sender<AgentCommand>,
    /// Ends with the helper. The helper waits while they are not read.
    pub events: mpsc::Receiver<AgentEvent>,
}

/// Receives the helpers of an agent when they begin.
pub type HelperWatch = mpsc::UnboundedSender<LiveHelper>;
