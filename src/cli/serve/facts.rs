//! The facts about a live session: a fold over its events, for clients that join later.

use std::collections::BTreeMap;

use serde_json::Value;

use super::event_log::Position;
use crate::headless::answer::AnswerText;
use crate::process::exit::Exit;
use crate::process::plain;
use crate::protocol;
use tau_agent::engine::config::AgentConfig;
use tau_agent::session::CANNOT_SAVE;
use tau_protocol::approval::PermissionMode;
use tau_protocol::event::{
    AgentEvent, NoticeLevel, QueueEvent, RunEvent, SessionInfo, ShellEvent, TaskEvent, TurnEvent,
};
use tau_protocol::live_session::LiveState;
use tau_protocol::message::{AssistantMessage, Message, StopReason, Usage};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::model::ThinkingLevel;
use tau_protocol::run::RunEnd;
use tau_protocol::session_meter::SessionMeter;
use tau_tools::budget;

/// Maximum number of characters of a session's last line.
const MAX_LINE: usize = 200;

/// The shortest wait for a provider that is worth reporting, in milliseconds.
pub(crate) const LONG_RETRY: u64 = 30_000;

/// The state of a session whose provider accepts no requests for this reason.
pub(crate) fn waiting(why: &str) -> String {
    format!("waiting for the provider: {why}")
}

/// The facts about a session.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub mirror: SessionMirror,
    /// The usage of the session and its helpers.
    pub meter: SessionMeter,
    /// Tool calls that have ended since the session was opened.
    pub tool_calls: u64,
    pub run: RunFacts,
    /// The number of commands of the user that run.
    commands: usize,
    /// The text of the first message of the user since the session was opened.
    pub first_prompt: Option<String>,
    /// The reason for which it could not be saved the last time.
    pub unsaved: Option<String>,
    /// Whether its process waits until it can be saved.
    pub is_saving: bool,
    /// Why other processes cannot find it.
    pub unreachable: Option<String>,
    /// The sentence about the interruption of its last run, until there is another.
    pub interruption: Option<&'static str>,
    /// The events from which a client that has read the messages must start, to get incomplete ones, too: an
    /// open message, running calls.
    open: BTreeMap<String, Position>,
}

/// The facts about the current or last run.
#[derive(Debug, Default)]
pub(crate) struct RunFacts {
    pub answer: AnswerText,
    /// The end of the last answer.
    pub stop_reason: Option<StopReason>,
    /// The last error.
    pub error: Option<String>,
    pub aborted: bool,
    /// The time of the next request, in milliseconds since 1970, while the provider accepts none, and why.
    pub retry: Option<(i64, String)>,
    /// The limit that ended it.
    pub end: Option<RunEnd>,
    /// Whether a run has ended, and none has started since.
    is_over: bool,
    pub usage: Usage,
}

impl RunFacts {
    /// Whether a run has ended, and none has started since.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The program's end for this run, as print mode has it.
    pub fn exit(&self) -> Exit {
        if let Some(end) = self.end {
            return end.into();
        }
        match self.stop_reason.map_or(Exit::Model, Exit::from) {
            _ if self.aborted => Exit::Aborted,
            Exit::Ok if self.answer.text().unwrap_or_default().trim().is_empty() => Exit::Model,
            exit => exit,
        }
    }
}

/// The name of an open message in [`Facts::open`]; calls are named by id.
const MESSAGE: &str = "";

impl Facts {
    /// The initial facts of a session.
    pub fn new(
        session: SessionInfo,
        thinking: ThinkingLevel,
        mode: PermissionMode,
        mode_ceiling: PermissionMode,
    ) -> Self {
        let mirror = SessionMirror { session, thinking, mode, mode_ceiling, ..SessionMirror::default() };
        Facts { mirror, ..Facts::default() }
    }

    /// The initial facts of the session of an agent that is about to start.
    pub fn of(config: &AgentConfig) -> Self {
        let AgentConfig { session, thinking, behavior, .. } = config;
        Self::new(session.info().clone(), *thinking, behavior.permission_mode, behavior.mode_ceiling)
    }

    /// The facts of a session that the same agent opens next.
    pub fn succeeding(earlier: &Facts, session: SessionInfo) -> Self {
        let mirror = SessionMirror { session, ..earlier.mirror.clone() };
        Facts { mirror, ..Facts::default() }
    }

    /// Applies the event with this number.
    pub fn take(&mut self, event: &AgentEvent, position: Position) {
        self.mirror.apply(event);
        self.meter.take(event);
        match event {
            AgentEvent::Run(RunEvent::AgentStart) => {
                (self.run, self.interruption) = (RunFacts::default(), None);
            }
            AgentEvent::Run(RunEvent::AgentSettled { aborted }) => {
                (self.run.aborted, self.run.retry) = (*aborted, None);
                self.run.is_over = true;
                self.open.clear();
            }
            AgentEvent::Run(RunEvent::RunStopped { reason }) => self.run.end = Some(*reason),
            AgentEvent::Run(RunEvent::AutoRetryStart { delay_ms, error_message, .. }) => {
                let is_long = *delay_ms >= LONG_RETRY;
                let at = || jiff::Timestamp::now().as_millisecond().saturating_add_unsigned(*delay_ms);
                self.run.retry = is_long.then(|| (at(), error_message.clone()));
            }
            AgentEvent::Run(RunEvent::AutoRetryEnd { .. }) => self.run.retry = None,
            AgentEvent::Turn(TurnEvent::MessageStart { .. }) => {
                self.open.insert(MESSAGE.to_owned(), position);
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                self.open.remove(MESSAGE);
                self.run.answer.add(message);
                match message.as_ref() {
                    Message::Assistant(answer) => self.on_answer(answer),
                    Message::User(user) if self.first_prompt.is_none() => {
                        self.first_prompt = Some(user.content.text());
                    }
                    _ => {}
                }
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, .. }) => {
                self.open.insert(tool_call_id.clone(), position);
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => {
                self.open.remove(tool_call_id);
                self.tool_calls = self.tool_calls.saturating_add(1);
            }
            AgentEvent::Queue(QueueEvent::PromptRefused { reason, .. }) => {
                self.run.error = Some(reason.clone());
            }
            AgentEvent::Shell(ShellEvent::BashStart { .. }) => self.commands += 1,
            AgentEvent::Shell(ShellEvent::BashEnd { .. }) => self.commands = self.commands.saturating_sub(1),
            AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) => {
                self.run.error = Some(text.clone());
                if text.starts_with(CANNOT_SAVE) {
                    self.unsaved = Some(text.clone());
                }
            }
            _ => {}
        }
    }

    /// Provider and id of the model.
    pub fn model(&self) -> Option<String> {
        self.mirror.model.as_ref().map(|model| model.reference())
    }

    /// Whether anything runs in it: the agent, a compaction, a command of the user, a background job.
    pub fn is_at_work(&self) -> bool {
        self.is_running() || self.mirror.running_jobs() > 0
    }

    /// Whether something runs that ends by itself or is stopped: all but background jobs.
    pub fn is_running(&self) -> bool {
        self.mirror.running || self.mirror.compacting || self.runs_commands() || self.is_saving
    }

    /// Whether a command of the user runs.
    pub fn runs_commands(&self) -> bool {
        self.commands > 0
    }

    /// The state; `ended` is whether a run that is over is a result.
    pub fn state(&self, ended: bool) -> LiveState {
        match self.is_running() {
            _ if self.waiting() > 0 => LiveState::Waiting,
            true => LiveState::Running,
            false if !self.run.is_over() || !ended => LiveState::Idle,
            false => match self.run.exit() {
                Exit::Ok => LiveState::Done,
                // The user stopped it, and knows.
                Exit::Aborted => LiveState::Idle,
                _ => LiveState::Failed,
            },
        }
    }

    /// The number of calls and questions that wait.
    pub fn waiting(&self) -> usize {
        self.mirror.approvals.len().saturating_add(self.mirror.questions.len())
    }

    /// The last line of the last answer, or the error of the run or the limit that ended it, or the reason for which
    /// it waits.
    pub fn last_line(&self) -> String {
        let retry = self.run.retry.as_ref().map(|(_, why)| waiting(why));
        let unsaved = self.unsaved.as_deref().filter(|_| self.is_saving);
        let error =
            unsaved.or(retry.as_deref()).or(self.run.end.map(RunEnd::report)).or(self.run.error.as_deref());
        let text = error.or(self.run.answer.text()).unwrap_or_default();
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        budget::shorten(&plain::line(line), MAX_LINE)
    }

    /// Unanswered questions, as they were written.
    pub fn questions(&self) -> Vec<Value> {
        self.mirror.questions.iter().map(|(id, question)| protocol::question_record(id, question)).collect()
    }

    fn on_answer(&mut self, answer: &AssistantMessage) {
        self.run.stop_reason = Some(answer.stop_reason);
        self.run.error.clone_from(&answer.error_message);
        self.run.usage.add(&answer.usage);
    }

    /// The position before everything incomplete; `last` when all is complete.
    pub fn replay_from(&self, last: Position) -> Position {
        self.open.values().min().map_or(last, |first| first.saturating_sub(1))
    }
}
