//! The common imports of a small program with an agent: `use tau_agent::prelude::*;`.

pub use crate::api::{Agent, AgentBuilder, AgentError, AgentState, CodingAgent, Events};
pub use tau_protocol::approval::{ApprovalAnswer, PermissionMode};
pub use tau_protocol::command::AgentCommand;
pub use tau_protocol::event::{
    AgentEvent, Delta, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent, ShellEvent,
    TaskEvent, TurnEvent,
};
pub use tau_protocol::message::Message;
pub use tau_protocol::model::{Model, ThinkingLevel};
pub use tau_protocol::query::ask;
pub use tau_tools::function::function;
pub use tau_tools::{Tool, ToolContext, ToolError, ToolOutput, Toolbox};
