//! The state of an agent as its events describe it.
//!
//! Nothing here asks the agent: the state is exact as of the last folded event, and every method of the
//! handle that changes something returns only when the state shows the change.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::provider::StreamEvent;
use crate::provider::assemble::Assembler;
use tau_protocol::event::{
    AgentEvent, NoticeLevel, RunEvent, SessionEvent, SessionInfo, ShellEvent, TaskEvent, TurnEvent,
};
use tau_protocol::message::{AssistantMessage, Message, StopReason, Usage};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::model::{Model, ThinkingLevel};

/// The state of an agent at one moment.
#[derive(Clone, Debug, Default)]
pub struct AgentState {
    /// The system prompt of the next request.
    pub system: Arc<str>,
    pub model: Option<Arc<Model>>,
    pub thinking: ThinkingLevel,
    /// Names of the enabled tools.
    pub tools: Vec<String>,
    /// The complete messages of the conversation, in order. Messages that a compaction summarizes stay here.
    /// For a session opened from a large file, or compacted before it was opened, only the end is here until
    /// [`Agent::load_history`](super::Agent::load_history) loads the rest.
    pub messages: Vec<Arc<Message>>,
    /// Whether a run has started and not yet settled.
    pub is_streaming: bool,
    /// The answer that is being streamed, as far as it has arrived.
    pub partial: Option<AssistantMessage>,
    /// Ids of the tool calls that are running.
    pub pending_calls: BTreeSet<String>,
    /// The last error; cleared at the start of the next run.
    pub error: Option<String>,
    /// Texts of the queued messages.
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
    /// The open session.
    pub session: SessionInfo,
}

impl AgentState {
    /// The model's last answer, if there is one.
    pub fn last_answer(&self) -> Option<&AssistantMessage> {
        self.messages.iter().rev().find_map(|message| match message.as_ref() {
            Message::Assistant(answer) => Some(answer),
            _ => None,
        })
    }
}

/// The state, with the data needed to fold events into it.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// The facts that the mirror does not hold.
    pub(super) state: AgentState,
    pub(super) mirror: SessionMirror,
    partial: Option<(Assembler, Usage)>,
}

impl Fold {
    /// A copy of the state, including the partial message.
    pub(super) fn snapshot(&self) -> AgentState {
        let partial = self.partial.as_ref().map(|(assembler, usage)| {
            let message = assembler.snapshot();
            AssistantMessage { usage: *usage, stop_reason: StopReason::Stop, error_message: None, ..message }
        });
        let known = self.mirror.clone();
        AgentState {
            model: known.model,
            thinking: known.thinking,
            is_streaming: known.running,
            partial,
            steering: known.steering,
            follow_up: known.follow_up,
            session: known.session,
            ..self.state.clone()
        }
    }

    /// Folds the next event.
    pub(super) fn take(&mut self, event: &AgentEvent) {
        self.mirror.apply(event);
        let state = &mut self.state;
        match event {
            AgentEvent::Run(RunEvent::AgentStart) => state.error = None,
            AgentEvent::Run(RunEvent::AgentSettled { .. }) | AgentEvent::Task(TaskEvent::Stopped) => {
                state.pending_calls.clear();
                self.partial = None;
            }
            AgentEvent::Turn(TurnEvent::MessageStart { message }) => self.begin(message),
            AgentEvent::Turn(TurnEvent::MessageUpdate { usage, assistant_message_event }) => {
                if let Some((assembler, known)) = &mut self.partial {
                    assembler.feed(&StreamEvent::Delta(assistant_message_event.clone()));
                    *known = *usage;
                }
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => self.end(message),
            AgentEvent::Turn(TurnEvent::ToolExecutionStart { tool_call_id, .. }) => {
                state.pending_calls.insert(tool_call_id.clone());
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionEnd { tool_call_id, .. }) => {
                state.pending_calls.remove(tool_call_id);
            }
            AgentEvent::Shell(ShellEvent::BashEnd { message, .. }) => {
                state.messages.push(Arc::new(Message::BashExecution(message.clone())));
            }
            AgentEvent::Session(SessionEvent::SessionOpened { messages, .. }) => {
                state.messages.clone_from(messages);
            }
            AgentEvent::Task(TaskEvent::Notice { level: NoticeLevel::Error, text, .. }) => {
                state.error = Some(text.clone());
            }
            _ => {}
        }
    }

    fn begin(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            let (api, provider, id) = (answer.api, answer.provider.clone(), answer.model.clone());
            let model = Model { api, provider, id, ..Model::default() };
            self.partial = Some((Assembler::new(&model, answer.timestamp), Usage::default()));
        }
    }

    fn end(&mut self, message: &Arc<Message>) {
        if let Message::Assistant(answer) = message.as_ref() {
            self.partial = None;
            if answer.stop_reason == StopReason::Error {
                self.state.error.clone_from(&answer.error_message);
            }
        }
        self.state.messages.push(Arc::clone(message));
    }
}
