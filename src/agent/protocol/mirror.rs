//! The state of an agent's session, derived from its events.
//!
//! Front ends keep one beside their own state. It is exact as of the last applied event.

use std::sync::Arc;

use super::approval::{ApprovalRequest, PermissionMode};
use super::event::{
    AgentEvent, Question, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SessionInfo, SettingsEvent,
    TaskEvent,
};
use super::model::{Model, ThinkingLevel};

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
    /// The texts of the queued messages.
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// Calls waiting for a decision, in the order in which they were asked.
    pub approvals: Vec<ApprovalRequest>,
    /// Questions waiting for an answer, with their ids, in the order in which they were asked.
    pub questions: Vec<(String, Question)>,
}

impl SessionMirror {
    /// Applies the next event.
    pub fn apply(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Run(event) => self.run(event),
            AgentEvent::Queue(QueueEvent::QueueUpdate { steering, follow_up }) => {
                self.steering.clone_from(steering);
                self.follow_up.clone_from(follow_up);
            }
            AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => {
                self.session.clone_from(session);
            }
            AgentEvent::Session(SessionEvent::SessionInfoChanged { name }) => {
                self.session.name.clone_from(name);
            }
            AgentEvent::Settings(event) => self.settings(event),
            AgentEvent::Questions(event) => self.questions(event),
            AgentEvent::Task(TaskEvent::Stopped) => {
                self.running = false;
                self.compacting = false;
                self.approvals.clear();
                self.questions.clear();
            }
            // These are transient, or are the messages themselves.
            AgentEvent::Turn(_)
            | AgentEvent::Queue(QueueEvent::QueueReturned { .. } | QueueEvent::QueueChangeFailed { .. })
            | AgentEvent::Session(
                SessionEvent::SessionRefused { .. }
                | SessionEvent::HistoryAvailable { .. }
                | SessionEvent::SessionUsage { .. }
                | SessionEvent::PlanChanged { .. }
                | SessionEvent::FilesRestored { .. },
            )
            | AgentEvent::Shell(_)
            | AgentEvent::Task(TaskEvent::Answered { .. } | TaskEvent::Notice { .. }) => {}
        }
    }

    fn run(&mut self, event: &RunEvent) {
        match event {
            RunEvent::AgentStart => self.running = true,
            RunEvent::AgentSettled { .. } => self.running = false,
            RunEvent::CompactionStart { .. } => self.compacting = true,
            RunEvent::CompactionEnd { .. } => self.compacting = false,
            RunEvent::AgentEnd { .. }
            | RunEvent::AutoRetryStart { .. }
            | RunEvent::AutoRetryEnd { .. }
            | RunEvent::Stalled { .. }
            | RunEvent::BranchSummary { .. }
            | RunEvent::RunStopped { .. } => {}
        }
    }

    fn settings(&mut self, event: &SettingsEvent) {
        match event {
            SettingsEvent::ModelChanged { model } => self.model = Some(Arc::clone(model)),
            SettingsEvent::ThinkingLevelChanged { level } => self.thinking = *level,
            SettingsEvent::PermissionModeChanged { mode } => self.mode = *mode,
            SettingsEvent::RulesChanged
            | SettingsEvent::CommandsChanged { .. }
            | SettingsEvent::ResourcesChanged { .. }
            | SettingsEvent::ExtensionsChanged => {}
        }
    }

    fn questions(&mut self, event: &QuestionEvent) {
        match event {
            QuestionEvent::Asked { id, question } => self.questions.push((id.clone(), question.clone())),
            QuestionEvent::AskWithdrawn { id } => self.answered(id),
            QuestionEvent::ApprovalRequested { request } => self.approvals.push(request.as_ref().clone()),
            QuestionEvent::ApprovalEnded { id, .. } => self.approvals.retain(|request| request.id != *id),
        }
    }

    /// Records that a question was answered, which no event reports.
    pub fn answered(&mut self, id: &str) {
        self.questions.retain(|(own, _)| own != id);
    }

    /// True if a question with this id is waiting.
    pub fn asks(&self, id: &str) -> bool {
        self.questions.iter().any(|(own, _)| own == id)
    }
}
