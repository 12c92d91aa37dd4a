//! Optional behavior of an agent: steering, queues, budgets, repetition, hooks.
//!
//! The defaults suit a program that embeds the agent and has no user to ask.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::hooks::Hooks;
use super::host::{Host, NoHost};
use super::live_helper::HelperWatch;
use super::tool_registry::ToolRegistry;
use crate::context::instruction_files::InstructionPlaces;
use crate::extensions::Extensions;
use crate::extensions::mcp::oauth::LoginStore;
use crate::extensions::mcp::{ReadServers, patterns};
use crate::extensions::used_files::UsedFiles;
use crate::permissions::{Permissions, Verdict};
use crate::provider::http::Network;
use crate::secrets::masking::Masking;
use crate::settings::spending::SpendingLimits;
use crate::undo::UndoOptions;
use tau_protocol::approval::PermissionMode;
use tau_protocol::goal::GoalLimits;
use tau_protocol::model::ThinkingBudgets;
use tau_protocol::run::{OnRepeat, QueueMode, SteerMode};
use tau_tools::editor::Editor;
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::user_error::UserError;

/// Optional behavior of an agent.
#[derive(Clone, Debug, Default)]
pub struct Behavior {
    pub steer: SteerMode,
    /// The number of messages that leave the steering queue at once.
    pub steering: QueueMode,
    /// The number of messages that leave the follow-up queue at once.
    pub follow_up: QueueMode,
    pub on_repeat: OnRepeat,
    /// The limits of goals that are set without any.
    pub goal_limits: GoalLimits,
    /// The limits of cost beyond a run.
    pub spending: SpendingLimits,
    pub budgets: ThinkingBudgets,
    /// The name of the conversation for provider caches; by default the id of the session.
    pub conversation_id: Option<String>,
    /// The sampling temperature of answers, from 0 to 2; by default the provider's own. Not sent to models
    /// that do not support it.
    pub temperature: Option<f64>,
    pub hooks: Hooks,
    /// Whether the next opened session keeps the current model, because the user chose one for it.
    pub keep_model: bool,
    /// Whether the next opened session keeps the current thinking level.
    pub keep_thinking: bool,
    /// Session settings that may be in the part of the file that is not read on opening; applied once it is
    /// read.
    pub restore_later: Restore,
    /// The permission rules for calls.
    pub permissions: Permissions,
    /// Determines which calls need approval.
    pub permission_mode: PermissionMode,
    /// The most permissive mode that can be chosen while the agent runs: the one that the user started it in,
    /// if clients can choose.
    pub mode_ceiling: PermissionMode,
    /// The rules that clients have added, where clients may change rules.
    pub rules_of_clients: Option<Vec<(Verdict, String)>>,
    /// The fault in settings that guard the user, if any. While it is set, every call needs approval.
    pub settings_fault: Option<SettingsFault>,
    pub on_ask: OnAsk,
    /// Whether the front end shows the model's questions to a user (`QuestionEvent::Asked`). If not, the tool
    /// answers that no user is there.
    pub asks_user: bool,
    /// The program around the agent, if it has settings files.
    pub host: Option<Arc<dyn Host>>,
    /// The record of changes by tools; without it nothing can be undone.
    pub undo: Option<UndoOptions>,
    /// The secrets to mask in the output of tools and commands, and whether they are masked.
    pub masking: Masking,
    /// Whether search tools are offered in the modes that ask about commands; set if the user has chosen no
    /// tools.
    pub search_tools_by_mode: bool,
    /// The tools that `SettingsCommand::SetTools` can name, besides the initial ones.
    pub tools: ToolRegistry,
    /// The places of instruction files for folders that the work reaches; `None` sends none.
    pub instructions: Option<InstructionPlaces>,
    /// The sandbox of commands.
    pub sandbox: Sandboxing,
    /// The editor that provides unsaved text to tools, and that writes files.
    pub editor: Option<Arc<dyn Editor>>,
    /// A record of used skills and prompt templates; without it changed ones keep their grants.
    pub used_files: Option<Arc<UsedFiles>>,
    /// Skills and other extensions loaded from files.
    pub extensions: Arc<Extensions>,
    /// The MCP servers and their use.
    pub mcp: McpBehavior,
    pub helpers: HelperLimits,
    /// Whether the front end gets the events of helpers (`TurnEvent::HelperEvent`).
    pub helper_events: bool,
    /// Whether pieces of an answer that arrive together become one event.
    pub join_deltas: bool,
    /// Receives helpers when they begin, so that others can see and steer them.
    pub helper_watch: Option<HelperWatch>,
}

/// The limits of the helpers of an agent, and their models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HelperLimits {
    /// The maximum number of helpers of one agent at work; others wait.
    pub at_once: usize,
    /// The maximum number of helpers of a run, with their own.
    pub total: u32,
    /// The model of `explore`, by any name; `None` for a cheap one of the same provider.
    pub explore_model: Option<String>,
}

impl Default for HelperLimits {
    fn default() -> Self {
        HelperLimits { at_once: 8, total: 64, explore_model: None }
    }
}

/// The MCP servers and how they are used.
#[derive(Clone, Debug, Default)]
pub struct McpBehavior {
    /// Finds the servers; without it there are none.
    pub read: Option<ReadServers>,
    /// The longest time that the first prompt waits for servers that are starting.
    pub wait: Duration,
    /// The names of the tools to offer besides built-in ones, with `*` for any part; `None` offers all.
    pub only: Option<Vec<String>>,
    /// The network settings for servers with an address.
    pub network: Network,
    /// The logins at such servers; without it there are none.
    pub logins: Option<LoginStore>,
    /// The percentage of the context window that the schemas of their tools may take.
    pub schema_share: u64,
}

impl Behavior {
    /// The program around the agent.
    pub(crate) fn host(&self) -> &dyn Host {
        self.host.as_deref().unwrap_or(&NoHost)
    }

    /// Whether a custom tool or an MCP tool is offered to the model.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.mcp.only.as_ref().is_none_or(|only| only.iter().any(|name| patterns::matches(name, tool)))
    }
}

/// The sandbox of commands, and its settings.
#[derive(Clone, Debug, Default)]
pub struct Sandboxing {
    /// The policy for the model's commands and the writes of its file tools, independent of the session's
    /// directory.
    pub policy: Arc<SandboxPolicy>,
    /// Whether it also applies to the user's own commands.
    pub user_commands: bool,
    /// Paths that the user has added to the policy for the session.
    pub granted: Vec<PathBuf>,
    /// Whether it applies to all hooks; those that commands can change are always confined.
    pub hooks: bool,
}

impl Sandboxing {
    /// The policy for a session that works in `cwd`.
    pub(crate) fn in_directory(&self, cwd: &Path) -> Arc<SandboxPolicy> {
        if self.policy.workspace == cwd { self.policy.clone() } else { self.policy.in_workspace(cwd).into() }
    }

    /// Removes the paths that were added for the session.
    pub(crate) fn end_session(&mut self) -> bool {
        let granted = std::mem::take(&mut self.granted);
        if !granted.is_empty() {
            let policy = granted
                .iter()
                .fold(SandboxPolicy::clone(&self.policy), |policy, path| policy.without_writable(path));
            self.policy = Arc::new(policy);
        }
        !granted.is_empty()
    }

    /// The policy for a command in `cwd` that runs without approval.
    pub(crate) fn unasked_command_policy(&self, cwd: &Path, permissions: &Permissions) -> Arc<SandboxPolicy> {
        self.policy.in_workspace(cwd).for_unasked_command(permissions.secret_places()).into()
    }

    /// The policy for the user's own commands in `cwd`.
    pub(crate) fn of_user(&self, cwd: &Path) -> Arc<SandboxPolicy> {
        if self.user_commands { self.in_directory(cwd) } else { Arc::default() }
    }
}

/// A fault in settings that guard the user, which therefore cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    /// The problem, with file and line.
    pub(crate) why: String,
    /// The mode to restore once the settings can be relied on.
    pub(crate) mode: PermissionMode,
    pub(crate) on_ask: OnAsk,
}

impl Behavior {
    /// Requires approval for every call because of this fault; `None` restores the previous mode.
    pub fn set_settings_fault(&mut self, why: Option<String>) {
        let (mode, on_ask) = match self.settings_fault.take() {
            Some(fault) => (fault.mode, fault.on_ask),
            None => (self.permission_mode, self.on_ask),
        };
        (self.permission_mode, self.on_ask) = match &why {
            Some(_) => (self.permission_mode.min(PermissionMode::Ask), OnAsk::Ask),
            None => (mode, on_ask),
        };
        self.settings_fault = why.map(|why| SettingsFault { why, mode, on_ask });
    }

    /// Switches to another permission mode. The error is the reason it cannot be chosen.
    pub fn choose_mode(&mut self, mode: PermissionMode) -> Result<(), UserError> {
        let mode = mode.within(self.mode_ceiling)?;
        if let Some(fault) = &mut self.settings_fault {
            if mode.within(PermissionMode::Ask).is_err() {
                let (name, why) = (mode.name(), &fault.why);
                return Err(format!(
                    "the permission mode cannot be {name} while settings cannot be read: {why}"
                )
                .into());
            }
            (fault.mode, fault.on_ask) = (mode, OnAsk::Ask);
        }
        (self.permission_mode, self.on_ask) = (mode, OnAsk::Ask);
        Ok(())
    }
}

/// How a call is handled that needs the user's approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAsk {
    /// It runs, because permissions were not requested. Only denied calls do not run.
    #[default]
    Allow,
    /// A front end is asked.
    Ask,
}

/// Session settings to be applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    pub model: bool,
    pub thinking: bool,
}
