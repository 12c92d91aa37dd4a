//! How an agent behaves where there is a choice: steering, queues, budgets, repetition, hooks.
//!
//! The defaults suit a program that embeds the agent and has no user to ask.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::hooks::Hooks;
use super::tool_registry::ToolRegistry;
use crate::context::instruction_files::InstructionPlaces;
use crate::extensions::Extensions;
use crate::extensions::mcp::oauth::LoginStore;
use crate::extensions::mcp::{ReadServers, names};
use crate::extensions::used_files::UsedFiles;
use crate::permissions::{Permissions, Rule, RuleInForce, Verdict};
use crate::provider::http::Network;
use crate::secrets::masking::Masking;
use crate::undo::UndoOptions;
use tau_protocol::approval::{PermissionMode, RuleScope};
use tau_protocol::model::{Model, ThinkingBudgets};
use tau_protocol::run::{OnRepeat, QueueMode, SteerMode};
use tau_tools::editor::Editor;
use tau_tools::sandbox::SandboxPolicy;

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
    /// The name of the conversation for provider caches; the id of the session without it.
    pub conversation_id: Option<String>,
    /// The sampling temperature of answers, from 0 to 2; the provider's own without it. Models that take none
    /// are sent none.
    pub temperature: Option<f64>,
    pub hooks: Hooks,
    /// The next session that is opened does not bring its model: the user named one for it.
    pub keep_model: bool,
    /// The next session that is opened does not bring its thinking level.
    pub keep_thinking: bool,
    /// What of a session may be in the part of its file that is not read when it is opened, and is used
    /// when it is.
    pub restore_later: Restore,
    /// What calls may do.
    pub permissions: Permissions,
    /// What is asked before a call is run.
    pub permission_mode: PermissionMode,
    /// The mode above which none can be chosen while the agent runs: the one that the user started it in, where
    /// clients choose.
    pub mode_ceiling: PermissionMode,
    /// Where clients change rules: the rules that they have added.
    pub rules_of_clients: Option<Vec<(Verdict, String)>>,
    /// Why settings that guard the user cannot be relied on. Meanwhile every call is asked.
    pub settings_fault: Option<SettingsFault>,
    pub on_ask: OnAsk,
    /// Whether the front end shows the model's questions to a user (`QuestionEvent::Asked`). If not, the tool answers
    /// that nobody is there.
    pub asks_user: bool,
    /// Reads the rules of all files again; without it they stay as they are.
    pub read_rules: Option<ReadRules>,
    /// Changes rules in their files; without it new rules hold for the session only.
    pub save_rule: Option<SaveRule>,
    /// Where what tools change is kept; without it nothing can be undone.
    pub undo: Option<UndoOptions>,
    /// The secrets in what tools and commands write, and whether they are masked.
    pub masking: Masking,
    /// Whether tools that search are offered in the modes that ask about commands: the user has chosen no tools.
    pub search_tools_by_mode: bool,
    /// The tools that `SettingsCommand::SetTools` can name, besides those the agent starts with.
    pub tools: ToolRegistry,
    /// Where to look for instruction files of the folders that the work reaches; `None` sends none.
    pub instructions: Option<InstructionPlaces>,
    /// What commands may do.
    pub sandbox: Sandboxing,
    /// The editor whose unsaved text tools see, and which writes files.
    pub editor: Option<Arc<dyn Editor>>,
    /// Finds the model that a prompt template names; without it the present one answers.
    pub named_model: Option<NamedModel>,
    /// Which skills and prompt templates were used; without it those that change keep what they allow.
    pub used_files: Option<Arc<UsedFiles>>,
    /// Skills and what else is loaded from files.
    pub extensions: Arc<Extensions>,
    /// The MCP servers that are started.
    pub mcp: McpBehavior,
}

/// Which MCP servers there are, and how they are used.
#[derive(Clone, Debug, Default)]
pub struct McpBehavior {
    /// Finds the servers; without it there are none.
    pub read: Option<ReadServers>,
    /// Longest wait of the first prompt for servers that are starting.
    pub wait: Duration,
    /// The names of the tools besides built-in ones that are offered, with `*` for any part; all without it.
    pub only: Option<Vec<String>>,
    /// How servers at an address are reached.
    pub network: Network,
    /// The logins at such servers; without it there are none.
    pub logins: Option<LoginStore>,
    /// Percent of the context window that the schemas of their tools may take.
    pub schema_share: u64,
}

impl Behavior {
    /// Whether a custom tool or one of an MCP server is offered to the model.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.mcp.only.as_ref().is_none_or(|only| only.iter().any(|name| names::matches(name, tool)))
    }
}

/// What commands may do.
#[derive(Clone, Debug, Default)]
pub struct Sandboxing {
    /// The policy for the model's commands and the writes of its file tools, in whichever directory a
    /// session works.
    pub policy: Arc<SandboxPolicy>,
    /// Whether it holds for the user's own commands, too.
    pub user_commands: bool,
    /// Paths that the user has added to the policy since the start.
    pub granted: Vec<PathBuf>,
    /// Whether it holds for all hooks; those that commands can change are always confined.
    pub hooks: bool,
    /// Adds a path to the user's setting `sandbox.writable`; `None` where nothing is saved.
    pub save_writable: Option<SaveWritable>,
}

impl Sandboxing {
    /// The policy for a session that works in `cwd`.
    pub(crate) fn in_directory(&self, cwd: &Path) -> Arc<SandboxPolicy> {
        if self.policy.workspace == cwd { self.policy.clone() } else { self.policy.in_workspace(cwd).into() }
    }

    /// The policy for a command in `cwd` that nobody was asked about.
    pub(crate) fn of_unasked(&self, cwd: &Path, permissions: &Permissions) -> Arc<SandboxPolicy> {
        self.policy.in_workspace(cwd).for_unasked(permissions.secret_places()).into()
    }

    /// The policy for the user's own commands in `cwd`.
    pub(crate) fn of_user(&self, cwd: &Path) -> Arc<SandboxPolicy> {
        if self.user_commands { self.in_directory(cwd) } else { Arc::default() }
    }
}

/// Settings that guard the user and cannot be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsFault {
    /// What is wrong, with file and line.
    pub(crate) why: String,
    /// The mode and what happens to questions once they can.
    pub(crate) mode: PermissionMode,
    pub(crate) on_ask: OnAsk,
}

impl Behavior {
    /// Asks about every call, because of this fault; without one, as before.
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

    /// Applies another permission mode.
    ///
    /// # Errors
    /// Why it cannot be chosen.
    pub fn choose_mode(&mut self, mode: PermissionMode) -> Result<(), String> {
        let mode = mode.within(self.mode_ceiling)?;
        if let Some(fault) = &mut self.settings_fault {
            if mode.within(PermissionMode::Ask).is_err() {
                let (name, why) = (mode.name(), &fault.why);
                return Err(format!(
                    "the permission mode cannot be {name} while settings cannot be read: {why}"
                ));
            }
            (fault.mode, fault.on_ask) = (mode, OnAsk::Ask);
        }
        (self.permission_mode, self.on_ask) = (mode, OnAsk::Ask);
        Ok(())
    }
}

/// What happens to a call that the user would have to be asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnAsk {
    /// It runs: nobody asked for permissions. Only what a rule denies does not run.
    #[default]
    Allow,
    /// A front end is asked.
    Ask,
}

type Read = dyn Fn(&Path) -> Result<Permissions, String> + Send + Sync;

/// Reads the rules that hold in a directory.
#[derive(Clone)]
pub struct ReadRules(Arc<Read>);

impl ReadRules {
    /// Calls `read` with the directory of the session. Its error says which file cannot be read: the rules stay
    /// as they are, and every call is asked.
    pub fn new(read: impl Fn(&Path) -> Result<Permissions, String> + Send + Sync + 'static) -> Self {
        ReadRules(Arc::new(read))
    }

    pub(crate) fn of(&self, cwd: &Path) -> Result<Permissions, String> {
        (self.0)(cwd)
    }
}

impl std::fmt::Debug for ReadRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadRules").finish_non_exhaustive()
    }
}

/// A change of the rules in files. What holds for the session only is not among it.
#[derive(Clone, Debug, Default)]
pub struct RuleEdit {
    /// The rule that is removed from its file.
    pub remove: Option<RuleInForce>,
    /// The rule that is added to a list, and where it is to hold. One that takes the place of a project's
    /// rule goes into the file of that.
    pub add: Option<(Verdict, Rule, RuleScope)>,
}

/// What came of a change of the rules in files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedRule {
    /// The file that has the rule now, as the user knows it, if one was added.
    pub file: Option<String>,
    /// What else the user should know.
    pub remark: Option<String>,
}

type Save = dyn Fn(&RuleEdit, &Path) -> Result<SavedRule, String> + Send + Sync;

/// Changes rules in their files; the path is the directory of the session.
#[derive(Clone)]
pub struct SaveRule(Arc<Save>);

impl SaveRule {
    /// Calls `save` for each change. Its error is a sentence for the user.
    pub fn new(save: impl Fn(&RuleEdit, &Path) -> Result<SavedRule, String> + Send + Sync + 'static) -> Self {
        SaveRule(Arc::new(save))
    }

    pub(crate) fn save(&self, edit: &RuleEdit, cwd: &Path) -> Result<SavedRule, String> {
        (self.0)(edit, cwd)
    }
}

impl std::fmt::Debug for SaveRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SaveRule").finish_non_exhaustive()
    }
}

/// Settings of a session that are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restore {
    pub model: bool,
    pub thinking: bool,
}

type FindNamed = dyn Fn(&str) -> Result<Arc<Model>, String> + Send + Sync;

/// Finds a model by whatever name users give it.
#[derive(Clone)]
pub struct NamedModel(Arc<FindNamed>);

impl NamedModel {
    /// Calls `find` with the name. Its error says why there is no such model, or what it needs.
    pub fn new(find: impl Fn(&str) -> Result<Arc<Model>, String> + Send + Sync + 'static) -> Self {
        NamedModel(Arc::new(find))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Model>, String> {
        (self.0)(name)
    }
}

impl std::fmt::Debug for NamedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NamedModel").finish_non_exhaustive()
    }
}

type SavePath = dyn Fn(&Path) -> Result<(), String> + Send + Sync;

/// Adds a path to the user's setting `sandbox.writable`.
#[derive(Clone)]
pub struct SaveWritable(Arc<SavePath>);

impl SaveWritable {
    /// Calls `save` for each new path. Its error is a sentence for the user.
    pub fn new(save: impl Fn(&Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        SaveWritable(Arc::new(save))
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), String> {
        (self.0)(path)
    }
}

impl std::fmt::Debug for SaveWritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SaveWritable").finish_non_exhaustive()
    }
}
