//! The state of an agent's session, derived from its events.
//!
//! Front ends keep one beside their own state. It is exact as of the last applied event. A new event that
//! changes what is known of a session is one arm here.

use std::sync::Arc;

use super::approval::{ApprovalRequest, PermissionMode};
use super::command::{AgentCommand, QuestionCommand};
use super::event::{
    AgentEvent, Question, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SessionInfo, SettingsEvent,
    ShellEvent, TaskEvent, TurnEvent,
};
use super::extension::{McpResource, PromptCommand};
use super::goal::Goal;
use super::message::Message;
use super::model::{Model, ThinkingLevel};
use super::plan_limits::{PlanLimits, PlanWindow};
use tau_tools::jobs::JobRow;
use tau_tools::plan::WorkPlan;

/// The state of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMirror {
    /// The open session.
    pub session: SessionInfo,
    /// True from the start of a run until it is over and saved.
    pub running: bool,
    /// True while the conversation is being compacted.
    pub compacting: bool,
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub mode: PermissionMode,
    /// The most permissive mode that can be chosen.
    pub mode_ceiling: PermissionMode,
    /// The texts of the queued messages.
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// Calls waiting for a decision, in the order in which they were asked.
    pub approvals: Vec<ApprovalRequest>,
    /// Questions waiting for an answer, with their ids, in the order in which they were asked.
    pub questions: Vec<(String, Question)>,
    /// The plan that the user has accepted.
    pub plan: Option<WorkPlan>,
    /// The goal of the session.
    pub goal: Option<Goal>,
    /// How much of the plan's limits is used, as last reported.
    pub limits: Option<PlanLimits>,
    /// The approximate number of messages before those that the session was opened with; `None` if it was
    /// opened with all.
    pub history_left: Option<u64>,
    /// The size of the context in tokens, as the last answer or the agent has told it.
    pub context: u64,
    /// Whether that size is an estimate: no answer has told it.
    pub context_is_estimate: bool,
    /// The commands, once they have changed.
    pub commands: Option<Vec<PromptCommand>>,
    /// The resources of MCP servers.
    pub resources: Vec<McpResource>,
    /// The background jobs, oldest first.
    pub jobs: Vec<JobRow>,
}

impl SessionMirror {
    /// The windows of the plan that the current model is paid by; empty if none were reported.
    pub fn plan_windows(&self) -> &[PlanWindow] {
        let provider = self.model.as_ref().map(|model| model.provider.as_str());
        let limits = self.limits.as_ref().filter(|limits| Some(limits.provider.as_str()) == provider);
        limits.map_or(&[], |limits| &limits.windows)
    }

    /// Applies the next event.
    pub fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Task(TaskEvent::Earlier { event, .. }) => self.apply(event),
            AgentEvent::Run(event) => self.run(event),
            AgentEvent::Queue(QueueEvent::QueueUpdate { steering, follow_up }) => {
                self.steering.clone_from(steering);
                self.follow_up.clone_from(follow_up);
            }
            AgentEvent::Session(event) => self.session(event),
            AgentEvent::Settings(event) => self.settings(event),
            AgentEvent::Shell(ShellEvent::JobsChanged { jobs }) => self.jobs.clone_from(jobs),
            AgentEvent::Questions(event) => self.questions(event),
            AgentEvent::Task(TaskEvent::Stopped) => {
                self.running = false;
                self.compacting = false;
                self.approvals.clear();
                self.questions.clear();
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.count(message),
            // These are transient, or are the messages themselves.
            AgentEvent::Turn(_)
            | AgentEvent::Queue(
                QueueEvent::QueueReturned { .. }
                | QueueEvent::PromptRefused { .. }
                | QueueEvent::QueueChangeFailed { .. },
            )
            | AgentEvent::Shell(
                ShellEvent::BashStart { .. }
                | ShellEvent::BashExecutionUpdate { .. }
                | ShellEvent::BashEnd { .. },
            )
            | AgentEvent::Task(
                TaskEvent::Answered { .. }
                | TaskEvent::Notice { .. }
                | TaskEvent::SideAnswer { .. }
                | TaskEvent::SideAnswerEnded { .. }
                | TaskEvent::OtherWaits { .. },
            ) => {}
        }
    }

    fn run(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AgentStart => {
                self.running = true;
                self.session.stopped = None;
            }
            RunEvent::RunStopped { reason } => self.session.stopped = Some(*reason),
            RunEvent::AgentSettled { .. } => self.running = false,
            RunEvent::CompactionStart { .. } => self.compacting = true,
            RunEvent::CompactionEnd { .. } => self.compacting = false,
            RunEvent::PlanLimits { limits } => self.limits = Some(limits.clone()),
            RunEvent::AgentEnd { .. }
            | RunEvent::AutoRetryStart { .. }
            | RunEvent::AutoRetryEnd { .. }
            | RunEvent::Stalled { .. }
            | RunEvent::BranchSummary { .. } => {}
        }
    }

    fn session(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::SessionOpened { session, messages, .. } => {
                self.session.clone_from(session);
                self.context = 0;
                self.context_is_estimate = false;
                messages.iter().for_each(|message| self.count(message));
                self.plan = None;
                self.goal = None;
                self.history_left = None;
            }
            SessionEvent::SessionInfoChanged { name } => self.session.name.clone_from(name),
            SessionEvent::PlanChanged { plan } => self.plan.clone_from(plan),
            SessionEvent::GoalChanged { goal } => self.goal.clone_from(goal),
            SessionEvent::HistoryAvailable { left } => self.history_left = Some(*left),
            SessionEvent::ContextSize { tokens } => {
                self.context_is_estimate |= *tokens != self.context;
                self.context = *tokens;
            }
            SessionEvent::SessionRefused { .. }
            | SessionEvent::SessionUsage { .. }
            | SessionEvent::UsageAdded { .. }
            | SessionEvent::FilesRestored { .. } => {}
        }
    }

    fn count(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message
            && let Some(tokens) = answer.context()
        {
            self.context = tokens;
            self.context_is_estimate = false;
        }
    }

    fn settings(&mut self, event: &SettingsEvent) {
        match event {
            SettingsEvent::ModelChanged { model } => self.model = Some(Arc::clone(model)),
            SettingsEvent::ThinkingLevelChanged { level } => self.thinking = *level,
            SettingsEvent::PermissionModeChanged { mode, ceiling } => {
                (self.mode, self.mode_ceiling) = (*mode, *ceiling);
            }
            SettingsEvent::CommandsChanged { commands } => self.commands = Some(commands.clone()),
            SettingsEvent::ResourcesChanged { resources } => self.resources.clone_from(resources),
            SettingsEvent::RulesChanged | SettingsEvent::ExtensionsChanged => {}
        }
    }

    fn questions(&mut self, event: &QuestionEvent) {
        match event {
            QuestionEvent::Asked { id, question } => self.questions.push((id.clone(), question.clone())),
            QuestionEvent::AskWithdrawn { id } => self.remove_question(id),
            QuestionEvent::ApprovalRequested { request } => self.approvals.push(request.as_ref().clone()),
            QuestionEvent::ApprovalEnded { id, .. } => self.approvals.retain(|request| request.id != *id),
        }
    }

    /// Applies a command that the front end has sent: no event reports that a question was answered.
    pub fn apply_command(&mut self, command: &AgentCommand) {
        if let AgentCommand::Questions(QuestionCommand::Answer { id, .. }) = command {
            self.remove_question(id);
        }
    }

    /// Removes a question that was answered.
    pub fn remove_question(&mut self, id: &str) {
        self.questions.retain(|(own, _)| own != id);
    }

    /// The number of background jobs that run.
    pub fn running_jobs(&self) -> usize {
        self.jobs.iter().filter(|job| job.is_running()).count()
    }

    /// True if a question with this id is waiting.
    pub fn asks(&self, id: &str) -> bool {
        self.questions.iter().any(|(own, _)| own == id)
    }
}
