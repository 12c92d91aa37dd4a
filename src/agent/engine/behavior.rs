//! How an agent behaves where there is a choice: steering, queues, budgets, repetition, hooks.
//!
//! The defaults suit a program that embeds the agent and has no user to ask.

use super::hooks::Hooks;
use super::tool_registry::ToolRegistry;
use crate::agent::protocol::model::ThinkingBudgets;
use crate::agent::protocol::run::{OnRepeat, QueueMode, SteerMode};

/// How an agent behaves where there is a choice.
#[derive(Clone, Debug, Default)]
pub struct Behavior {
    pub steer: SteerMode,
    /// How many messages leave the steering queue at once.
    pub steering: QueueMode,
    /// How many messages leave the queue of follow-ups at once.
    pub follow_up: QueueMode,
    pub on_repeat: OnRepeat,
    pub budgets: ThinkingBudgets,
    pub hooks: Hooks,
    /// The next session that is opened does not bring its model: the user named one for it.
    pub keep_model: bool,
    /// The next session that is opened does not bring its thinking level.
    pub keep_thinking: bool,
    /// What of a session may be in the part of its file that is not read when it is opened, and is used
    /// when it is.
    pub(crate) restore_later: Restore,
    /// The tools that `AgentCommand::SetTools` can name, besides those the agent starts with.
    pub tools: ToolRegistry,
}

/// Settings of a session that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Restore {
    pub(crate) model: bool,
    pub(crate) thinking: bool,
}
