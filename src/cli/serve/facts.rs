//! What is known of a live session: a fold over its events, for whoever asks or joins later.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event_log::Position;
use crate::agent::AgentEvent;
use crate::agent::protocol::approval::{ApprovalRequest, PermissionMode};
use crate::agent::protocol::event::{
    NoticeLevel, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SessionInfo, SettingsEvent, TaskEvent,
    TurnEvent,
};
use crate::agent::protocol::message::{AssistantMessage, Message, StopReason, Usage};
use crate::agent::protocol::model::ThinkingLevel;
use crate::cli::answer::AnswerText;
use crate::cli::protocol;

/// What is known of a session.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub session: SessionInfo,
    /// True from the start of a run until it is over and saved.
    pub running: bool,
    /// Provider and id of the model.
    pub model: Option<String>,
    pub thinking: ThinkingLevel,
    pub mode: PermissionMode,
    /// The mode above which clients cannot choose one.
    pub mode_ceiling: PermissionMode,
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// Calls that wait for a decision, in the order in which they were asked.
    pub approvals: Vec<ApprovalRequest>,
    /// Questions that wait for an answer, as they were written, by id.
    pub questions: BTreeMap<String, Value>,
    /// What all answers since the session was opened have used.
    pub usage: Usage,
    /// Tool calls that have ended since the session was opened.
    pub tool_calls: u64,
    pub run: RunFacts,
    /// The events from which on a client that has read the messages has to start, so that it also gets
    /// what is not complete yet: an open message, calls that run.
    open: BTreeMap<String, Position>,
}

/// What is known of the present run, or of the last one.
#[derive(Debug, Default)]
pub(crate) struct RunFacts {
    pub answer: AnswerText,
    /// How the last answer ended.
    pub stop_reason: Option<StopReason>,
    /// What went wrong last.
    pub error: Option<String>,
    pub aborted: bool,
    pub usage: Usage,
}

/// The name of an open message in [`Facts::open`]; calls have their ids.
const MESSAGE: &str = "";

impl Facts {
    /// What a session begins with.
    pub fn new(
        session: SessionInfo,
        thinking: ThinkingLevel,
        mode: PermissionMode,
        mode_ceiling: PermissionMode,
    ) -> Self {
        Facts { session, thinking, mode, mode_ceiling, ..Facts::default() }
    }

    /// Takes the event that has this number.
    pub fn take(&mut self, event: &AgentEvent, position: Position) {
        match event {
            AgentEvent::Run(RunEvent::AgentStart) => {
                self.running = true;
                self.run = RunFacts::default();
            }
            AgentEvent::Run(RunEvent::AgentSettled { aborted }) => {
                self.running = false;
                self.run.aborted = *aborted;
                self.open.clear();
            }
            AgentEvent::Turn(TurnEvent::MessageStart { .. }) => {
                self.open.insert(MESSAGE.to_owned(), position);
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                self.open.remove(MESSAGE);
                self.run.answer.add(message);
                if let Message::Assistant(answer) = message.as_ref() {
                    self.answered(answer);
                }
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, .. }) => {
                self.open.insert(tool_call_id.clone(), position);
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => {
                self.open.remove(tool_call_id);
                self.tool_calls = self.tool_calls.saturating_add(1);
            }
            AgentEvent::Queue(QueueEvent::QueueUpdate { steering, follow_up }) => {
                self.steering.clone_from(steering);
                self.follow_up.clone_from(follow_up);
            }
            AgentEvent::Settings(SettingsEvent::ThinkingLevelChanged { level }) => self.thinking = *level,
            AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
                self.model = Some(model.reference());
            }
            AgentEvent::Settings(SettingsEvent::PermissionModeChanged { mode }) => self.mode = *mode,
            AgentEvent::Session(SessionEvent::SessionInfoChanged { name }) => {
                self.session.name.clone_from(name);
            }
            AgentEvent::Session(SessionEvent::SessionOpened { session, .. }) => {
                self.session = session.clone();
            }
            AgentEvent::Questions(QuestionEvent::Asked { id, .. }) => {
                let record = protocol::event(event).unwrap_or_default();
                self.questions.insert(id.clone(), record);
            }
            AgentEvent::Questions(QuestionEvent::AskWithdrawn { id }) => drop(self.questions.remove(id)),
            AgentEvent::Questions(QuestionEvent::ApprovalRequested { request }) => {
                self.approvals.push(request.as_ref().clone());
            }
            AgentEvent::Questions(QuestionEvent::ApprovalEnded { id, .. }) => {
                self.approvals.retain(|request| request.id != *id);
            }
            AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) => {
                self.run.error = Some(text.clone());
            }
            AgentEvent::Task(TaskEvent::Stopped) => {
                self.running = false;
                self.approvals.clear();
                self.questions.clear();
            }
            AgentEvent::Run(_)
            | AgentEvent::Turn(_)
            | AgentEvent::Queue(_)
            | AgentEvent::Session(_)
            | AgentEvent::Settings(_)
            | AgentEvent::Shell(_)
            | AgentEvent::Task(_) => {}
        }
    }

    fn answered(&mut self, answer: &AssistantMessage) {
        self.run.stop_reason = Some(answer.stop_reason);
        self.run.error.clone_from(&answer.error_message);
        add(&mut self.run.usage, &answer.usage);
        add(&mut self.usage, &answer.usage);
    }

    /// A question was answered here.
    pub fn question_answered(&mut self, id: &str) {
        self.questions.remove(id);
    }

    /// The position before everything that is not complete; `last` when all is.
    pub fn replay_from(&self, last: Position) -> Position {
        self.open.values().min().map_or(last, |first| first.saturating_sub(1))
    }
}

fn add(sum: &mut Usage, usage: &Usage) {
    sum.input = sum.input.saturating_add(usage.input);
    sum.output = sum.output.saturating_add(usage.output);
    sum.cache_read = sum.cache_read.saturating_add(usage.cache_read);
    sum.cache_write = sum.cache_write.saturating_add(usage.cache_write);
    sum.total_tokens = sum.total_tokens.saturating_add(usage.total_tokens);
    sum.cost.input += usage.cost.input;
    sum.cost.output += usage.cost.output;
    sum.cost.cache_read += usage.cost.cache_read;
    sum.cost.cache_write += usage.cost.cache_write;
    sum.cost.total += usage.cost.total;
}
