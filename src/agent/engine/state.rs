//! The state of the agent task, and its basic operations.
//!
//! No feature lives here and nothing awaits: emitting an event, recording a message, saving the
//! session and reading the settings in force.

mod offers;

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::agent_handle::StartAgent;
use super::config::AgentConfig;
use super::helper_place::HelperPlace;
use super::shell::Shells;
use super::work_mode::WorkMode;
use crate::engine::base::approvals::Approvals;
use crate::engine::base::conversation::Conversation;
use crate::engine::base::fitted_pictures::FittedPictures;
use crate::engine::base::goal_place::GoalPlace;
use crate::engine::base::history_cursor::HistoryCursor;
use crate::engine::base::job_place::JobPlace;
use crate::engine::base::meter::{Meter, TimeLimit, TimeLimitOwner};
use crate::engine::base::outbox::Outbox;
use crate::engine::base::questions::Questions;
use crate::engine::base::queue::Queues;
use crate::engine::base::reached_paths::ReachedPaths;
use crate::engine::base::side_place::SidePlace;
use crate::engine::base::undo_place::{Undo, UndoPlace};
use crate::engine::base::user_requests::UserRequests;
use crate::extensions::mcp::Mcp;
use crate::permissions::Rule;
use crate::provider::ModelRequest;
use crate::session::usage::UsageSum;
use crate::session::{CANNOT_SAVE, SessionError};
use tau_protocol::command::{AgentCommand, RunCommand, SessionChange, SessionCommand};
use tau_protocol::event::{AgentEvent, NoticeLevel, TaskEvent};
use tau_protocol::extension::{McpResource, PromptCommand};
use tau_protocol::message::{Message, Usage};
use tau_protocol::model::{Model, ThinkingLevel};
use tau_protocol::run::RunEnd;
use tau_tools::access::Access;
use tau_tools::plan::WorkPlan;
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::user_error::UserError;
use tau_tools::{Toolbox, paths};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Idle,
    /// From the start of a run to its end.
    Running,
    /// From the end of a run until it is saved.
    Settling,
    /// The user asked for a compaction.
    Compacting,
    /// Another session is being opened.
    SwitchingSession,
}

/// The agent's current phase, and the ways to stop it.
#[derive(Default)]
pub(crate) struct Current {
    pub(crate) phase: Phase,
    /// Cancelled to stop the run.
    pub(crate) stop: CancellationToken,
    /// Cancelled to end a wait before a retry.
    pub(crate) retry_wait: CancellationToken,
    /// The model and level from before a prompt template changed them for its run.
    pub(crate) restore: Option<ModelRestore>,
    /// Grants of new or changed skills and prompt templates.
    pub(crate) held_grants: Vec<HeldGrant>,
    /// Whether the task is to end.
    pub(crate) shutting_down: bool,
}

/// A grant of a skill or prompt template that is withheld because the user does not know its current text.
#[derive(Debug)]
pub(crate) struct HeldGrant {
    pub(crate) rules: Vec<Rule>,
    /// The skill or template.
    pub(crate) of: String,
    pub(crate) path: PathBuf,
    /// Its digest now, if it could be read.
    pub(crate) digest: Option<String>,
    /// The reason it is withheld, to follow its name.
    pub(crate) why: &'static str,
}

/// A model and a level, and the ones that a prompt template uses instead.
pub(crate) struct ModelRestore {
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) thinking: ThinkingLevel,
    pub(crate) used: (Option<Arc<Model>>, ThinkingLevel),
}

/// Work that waits until the run has ended.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) commands: VecDeque<AgentCommand>,
    /// Messages that arrived during a run and are not part of it.
    pub(crate) messages: Vec<Arc<Message>>,
    /// Text of hooks at the start of the session, for its first prompt.
    pub(crate) hook_context: Vec<String>,
    /// Tickets of `Query::Idle`.
    pub(crate) idle_queries: Vec<u64>,
}

/// The usage of the run, and its limits.
#[derive(Default)]
pub(crate) struct RunMeters {
    /// Includes the usage of compactions.
    pub(crate) used: Meter,
    /// The time at which the run must end.
    pub(crate) deadline: Option<TimeLimit>,
    /// The limit or the loop guard that ended the run.
    pub(crate) ended_by: Option<RunEnd>,
    /// Whose time was over, if that ended it.
    pub(crate) time_of: Option<TimeLimitOwner>,
}

/// Everything the agent task owns.
pub(crate) struct Engine {
    pub(crate) config: AgentConfig,
    pub(crate) outbox: Outbox,
    pub(crate) inbox: mpsc::Receiver<AgentCommand>,
    pub(crate) queues: Queues,
    pub(crate) shells: Shells,
    pub(crate) jobs: JobPlace,
    pub(crate) helpers: HelperPlace,
    pub(crate) side: SidePlace,
    pub(crate) conversation: Conversation,
    /// Pictures in the form in which they were sent.
    pub(crate) pictures: Arc<FittedPictures>,
    pub(crate) questions: Questions,
    pub(crate) user: UserRequests,
    /// The accepted plan that is being carried out.
    pub(crate) plan: Option<WorkPlan>,
    pub(crate) work_mode: WorkMode,
    /// The goal of the session.
    pub(crate) goal: GoalPlace,
    pub(crate) approvals: Approvals,
    pub(crate) history: HistoryCursor,
    /// The known usage of the session before it was opened, until the rest is known and it is reported.
    pub(crate) usage: Option<UsageSum>,
    /// The counted usage of helpers of which no entry of the session tells.
    pub(crate) apart: Usage,
    pub(crate) undo: Undo,
    pub(crate) mcp: Mcp,
    /// The tools other than custom and MCP tools.
    pub(crate) own_tools: Toolbox,
    /// MCP tools that the model finds with `tool_search`, because there are many.
    found_tools: Toolbox,
    /// The session whose kinds of helpers are known.
    kinds_of: Option<String>,
    /// The session of a helper whose kind is not known, once the user was told.
    unknown_kind_of: Option<String>,
    /// The MCP prompts in the last report.
    reported_commands: Vec<PromptCommand>,
    /// The MCP resources in the last report.
    reported_resources: Vec<McpResource>,
    pub(crate) current: Current,
    pub(crate) pending: Pending,
    pub(crate) meters: RunMeters,
    /// Whether requests that failed for a transient reason are retried.
    pub(crate) auto_retry: bool,
    /// Whether the session cannot be saved, which is reported once.
    save_failed: bool,
    /// Whether the session's own directory was gone when it was opened.
    is_elsewhere: bool,
    /// Whether the user was told that the directory is gone.
    told_of_directory: bool,
}

/// Whether a command ends the current run or compaction.
pub(crate) fn ends_what_runs(command: &AgentCommand) -> bool {
    match command {
        AgentCommand::Run(command) => matches!(command, RunCommand::Compact { .. }),
        AgentCommand::Session(command) => match command {
            SessionCommand::Change(change) => !matches!(change, SessionChange::Name { .. }),
            SessionCommand::ReplaceMessages { .. }
            | SessionCommand::Undo { .. }
            | SessionCommand::Redo { .. } => true,
            SessionCommand::AppendMessage { .. }
            | SessionCommand::Label { .. }
            | SessionCommand::Revert { .. }
            | SessionCommand::SetGoal { .. }
            | SessionCommand::AddUsage { .. }
            | SessionCommand::DropPlan => false,
        },
        _ => false,
    }
}

impl Engine {
    /// Begins something that can be stopped. Commands take effect in order, whether they come one by one or
    /// all at once: a command that waits behind this and would stop it has already stopped it, and so has the end of
    /// the task.
    pub(crate) fn begin(&mut self) {
        self.current.stop = match &self.config.helper {
            // Whatever stops its run also ends what it has started.
            Some(role) => role.stop.clone(),
            None => CancellationToken::new(),
        };
        if self.current.shutting_down || self.pending.commands.iter().any(ends_what_runs) {
            self.current.stop.cancel();
        }
    }

    pub(crate) fn new(
        config: AgentConfig,
        inbox: mpsc::Receiver<AgentCommand>,
        outbox: Outbox,
        start: StartAgent,
    ) -> Self {
        let queues = Queues::with_modes(config.behavior.steering, config.behavior.follow_up);
        config.behavior.tools.extend(&config.tools);
        let mut undo = Undo::default();
        undo.open(undo_place(&config));
        let is_elsewhere = is_elsewhere(&config);
        let mcp = Mcp::new(
            Arc::clone(&config.env),
            Arc::clone(&config.scratch),
            config.behavior.mcp.network.clone(),
            config.behavior.mcp.logins.clone(),
        );
        if config.behavior.mcp.read.is_some() {
            config.behavior.extensions.add_rows(mcp.rows());
        }
        let own_tools = config.tools.clone();
        let work_mode = WorkMode::new(config.behavior.permission_mode, Instant::now());
        Engine {
            config,
            outbox,
            inbox,
            queues,
            shells: Shells::default(),
            jobs: JobPlace::default(),
            helpers: HelperPlace::new(start),
            side: SidePlace::default(),
            conversation: Conversation::default(),
            pictures: Arc::default(),
            questions: Questions::default(),
            user: UserRequests::default(),
            plan: None,
            work_mode,
            goal: GoalPlace::default(),
            approvals: Approvals::default(),
            history: HistoryCursor::default(),
            usage: None,
            apart: Usage::default(),
            undo,
            mcp,
            own_tools,
            found_tools: Toolbox::empty(),
            kinds_of: None,
            unknown_kind_of: None,
            reported_commands: Vec::new(),
            reported_resources: Vec::new(),
            current: Current::default(),
            pending: Pending::default(),
            meters: RunMeters::default(),
            auto_retry: true,
            save_failed: false,
            is_elsewhere,
            told_of_directory: false,
        }
    }

    /// Sends an event to the front end.
    pub(crate) fn emit(&mut self, event: impl Into<AgentEvent>) {
        self.outbox.push(event.into());
    }

    /// Reports something to the user.
    pub(crate) fn notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<&str>) {
        self.emit(TaskEvent::Notice { level, text: text.into(), hint: hint.map(str::to_owned) });
    }

    /// Appends a message to the session.
    pub(crate) fn record(&mut self, message: Arc<Message>) {
        let saved = self.config.session.append(message);
        self.report_save_result(saved);
    }

    /// Saves the session to disk. A failure is reported to the user.
    pub(crate) fn flush(&mut self) {
        let _ = self.store();
    }

    /// Like [`Self::flush`]; fails when something is in memory only.
    pub(crate) fn store(&mut self) -> Result<(), UserError> {
        let flushed = self.config.session.flush();
        let result = flushed.as_ref().map_err(|error| format!("{CANNOT_SAVE}: {error}").into()).copied();
        // Only this proves that nothing is left to save; an append may just have been deferred.
        self.save_failed &= flushed.is_err();
        self.report_save_result(flushed);
        result
    }

    /// Reports a failed save, once until everything could be saved again.
    pub(crate) fn report_save_result(&mut self, result: Result<(), SessionError>) {
        for warning in self.config.session.take_warnings() {
            let hint = "check the disk, and whether another program writes to this file";
            self.notice(NoticeLevel::Warning, warning, Some(hint));
        }
        for (level, text) in self.config.session.take_notes() {
            self.notice(level, text, None);
        }
        if let (Err(error), false) = (result, self.save_failed) {
            self.save_failed = true;
            let text = format!("{CANNOT_SAVE}: {error}");
            let what = match &error {
                SessionError::Io { source, .. } if has_too_many_files(source) => {
                    "raise the limit of open files (ulimit -n 256)"
                }
                SessionError::Io { source, .. } => match source.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "free some disk space",
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "make the file writable",
                    _ => "check the disk, and whether another program writes to this file",
                },
                SessionError::NotASession(_) | SessionError::Locked { .. } => {
                    "check whether another program writes to this file"
                }
            };
            let hint = format!(
                "the conversation continues in memory, and saving is retried with every message: {what}"
            );
            self.notice(NoticeLevel::Error, text, Some(&hint));
        }
    }

    /// Resets the state of the previous session.
    pub(crate) fn forget_session_state(&mut self) {
        self.save_failed = false;
        self.conversation = Conversation::default();
        self.undo.open(undo_place(&self.config));
    }

    /// Reads the rest of a large session of which only the end was read.
    pub(crate) fn load_all(&mut self) {
        let loaded = self.config.session.whole().map(drop);
        self.report_load_result(loaded);
    }

    /// Reads the part of the session that the model's context needs.
    pub(crate) fn load_context(&mut self) {
        let loaded = self.config.session.load_context();
        self.report_load_result(loaded);
    }

    /// Reports if the earlier part of the session could not be read.
    pub(crate) fn report_load_result(&mut self, result: Result<(), SessionError>) {
        if let Err(error) = result {
            let text = format!("cannot read the earlier part of the session: {error}");
            self.notice(NoticeLevel::Error, text, Some("the conversation continues without it"));
        }
    }

    /// The directory that tools and the user's commands run in: the session's directory, which never changes,
    /// or the directory the agent was started in if that was gone when the session was opened. It may be gone
    /// by now.
    pub(crate) fn cwd(&self) -> &Path {
        if self.is_elsewhere { &self.config.place.cwd } else { &self.config.session.info().cwd }
    }

    /// The directory that commands run in: `cwd`, or the nearest directory above it if that is gone.
    pub(crate) fn command_dir(&self) -> &Path {
        paths::nearest_folder(self.cwd())
    }

    /// The directory that the relative paths of a call start from.
    pub(crate) fn base_of(&self, access: &Access) -> &Path {
        if access.commands.is_empty() && !access.program { self.cwd() } else { self.command_dir() }
    }

    /// Tells the user, once, that the directory is gone.
    pub(crate) fn tell_of_directory(&mut self) {
        let is_gone = !self.cwd().is_dir();
        if is_gone && !self.told_of_directory {
            let text = format!("the working directory {} no longer exists", self.cwd().display());
            let hint = format!("commands run in {} until it is back", self.command_dir().display());
            self.notice(NoticeLevel::Warning, text, Some(&hint));
        }
        self.told_of_directory = is_gone;
    }

    /// Switches to the directory of the session, if it exists.
    pub(crate) fn enter_directory(&mut self) {
        self.is_elsewhere = is_elsewhere(&self.config);
        self.told_of_directory = false;
    }

    /// Starts the MCP servers.
    pub(crate) fn start_servers(&mut self) {
        if let Some(read) = self.config.behavior.mcp.read.clone() {
            let (cwd, sandbox) = self.place_of_servers();
            self.mcp.start(read, cwd, sandbox);
        }
    }

    /// Starts the MCP servers that are configured now, and ends those that no longer are.
    pub(crate) fn restart_servers(&mut self) {
        if let Some(read) = self.config.behavior.mcp.read.clone() {
            let (cwd, sandbox) = self.place_of_servers();
            self.mcp.restart(&read, cwd, sandbox);
        }
    }

    fn place_of_servers(&self) -> (PathBuf, Arc<SandboxPolicy>) {
        (self.command_dir().to_owned(), self.config.behavior.sandbox.in_directory(self.cwd()))
    }

    /// Updates the system prompt, if a hook provides it.
    pub(crate) fn refresh_system_prompt(&mut self) {
        self.conversation.reached = ReachedPaths::default();
        if let Some(system) = self.config.behavior.hooks.current_prompt(self.cwd()) {
            self.config.system = system;
        }
    }

    /// The name of the conversation for provider caches.
    pub(crate) fn conversation_id(&self) -> String {
        let named = self.config.behavior.conversation_id.clone();
        named.unwrap_or_else(|| self.config.session.info().id.clone())
    }

    /// A request of the conversation. What precedes `messages` is the same in each, so that the provider's cache
    /// can be used.
    pub(crate) fn request(
        &mut self,
        model: &Arc<Model>,
        messages: Vec<Arc<Message>>,
        thinking: ThinkingLevel,
    ) -> ModelRequest {
        let mut tools = self.config.tools.specs();
        tools.iter_mut().for_each(|tool| self.config.behavior.masking.description(tool));
        let config = &self.config;
        ModelRequest {
            system: self.system(),
            tools: tools.into(),
            thinking,
            temperature: config.behavior.temperature,
            session_id: self.conversation_id(),
            join_deltas: config.behavior.join_deltas,
            ..ModelRequest::new(model.with_thinking_budgets(&config.behavior.budgets), messages)
        }
    }

    /// The thinking level in force: the one requested, or the closest that the model has.
    pub(crate) fn thinking(&self) -> ThinkingLevel {
        let requested = self.config.thinking;
        self.config.model.as_ref().map_or(requested, |model| model.nearest(requested))
    }

    /// The time at which the run ends: by its own limit, or by that of its goal.
    pub(crate) fn deadline(&self) -> Option<TimeLimit> {
        TimeLimit::first([self.meters.deadline, self.goal.deadline()])
    }

    /// Ends the run because its time has run out.
    pub(crate) fn time_up(&mut self) {
        self.meters.time_of = self.deadline().map(|limit| limit.whose);
        self.meters.deadline = None;
        if !self.current.stop.is_cancelled() {
            self.meters.ended_by = Some(RunEnd::Time);
            self.current.stop.cancel();
        }
    }

    /// Begins to end the task.
    pub(crate) fn shut_down(&mut self) {
        self.current.shutting_down = true;
        self.current.stop.cancel();
        self.shells.cancel();
    }
}

/// Whether the error means that no more files can be opened.
fn has_too_many_files(error: &std::io::Error) -> bool {
    use rustix::io::Errno;

    error
        .raw_os_error()
        .is_some_and(|number| [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error).contains(&number))
}

/// Whether the session cannot be used in its own directory.
fn is_elsewhere(config: &AgentConfig) -> bool {
    !config.session.info().cwd.is_dir()
}

/// The undo of the open session, if enabled.
fn undo_place(config: &AgentConfig) -> Option<UndoPlace> {
    let options = config.behavior.undo.as_ref().filter(|options| options.is_on())?;
    let info = config.session.info();
    let cwd = if is_elsewhere(config) { &config.place.cwd } else { &info.cwd };
    Some(UndoPlace::new(options, &info.id, cwd.clone(), info.file.is_none()))
}
