//! One run: from a message until the agent will do nothing more by itself.
//!
//! Owns the order of events of a run (the project's RPC page, section 3). A turn's answer is
//! `turn`'s, its tool calls are `calls`'. Nothing here awaits but those two, so a message enters
//! the session, the history of the run and the outbox in one step.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::command::Queue;
use super::event::{AgentEvent, NoticeLevel};
use super::guard::Guard;
use super::message::{AssistantMessage, Message, StopReason, UserMessage};
use super::task::{Agent, Phase};
use super::{calls, compact, turn};

/// A run in progress.
pub(super) struct Run<'a> {
    pub(super) agent: &'a mut Agent,
    pub(super) guard: Guard,
    messages: Vec<Arc<Message>>,
    answers: u32,
    in_turn: bool,
    /// True once making room has failed: it is not tried again at every turn.
    cramped: bool,
}

/// Runs from `first`, or from the history as it stands. Steering that waited since an aborted
/// run goes before it: it was said before it.
pub(super) async fn run(agent: &mut Agent, first: Option<UserMessage>) {
    agent.phase = Phase::Running;
    agent.stop = CancellationToken::new();
    note_settings(agent);
    let mut said = Vec::new();
    loop {
        let steering = deliver(agent, Queue::Steer);
        if steering.is_empty() {
            break;
        }
        said.extend(steering);
    }
    said.extend(first);
    let mut run = Run {
        agent,
        guard: Guard::default(),
        messages: Vec::new(),
        answers: 0,
        in_turn: false,
        cramped: false,
    };
    run.go(said).await;
    run.settle().await;
}

/// Writes down what the run uses, where the session does not say so yet.
fn note_settings(agent: &mut Agent) {
    if let Some(model) = agent.config.model.clone() {
        let noted = agent.config.session.set_model(&model.provider, &model.id);
        agent.written(noted);
    }
    let level = agent.thinking();
    let noted = agent.config.session.set_thinking(level);
    agent.written(noted);
}

/// Takes what is to be delivered from a queue, and tells of it.
fn deliver(agent: &mut Agent, queue: Queue) -> Vec<UserMessage> {
    let messages = agent.queues.next(queue);
    if !messages.is_empty() {
        let update = agent.queues.update();
        agent.emit(update);
    }
    messages
}

impl Run<'_> {
    /// Turns, until none is left to take.
    async fn go(&mut self, mut said: Vec<UserMessage>) {
        self.agent.emit(AgentEvent::AgentStart);
        // A session that was taken up with a smaller model may be too large from the start.
        self.cramped = compact::when_full(self.agent).await;
        loop {
            self.open_turn();
            for message in said.drain(..) {
                self.commit(Message::User(message));
            }
            let message = turn::answer(self).await;
            self.answers = self.answers.saturating_add(1);
            let Message::Assistant(answer) = message.as_ref() else {
                return;
            };
            let results = calls::carry_out(self, answer).await;
            let called = !results.is_empty();
            self.close_turn(message.clone(), results);
            if called && !self.agent.stop.is_cancelled() && !self.cramped {
                self.cramped = compact::when_full(self.agent).await;
            }
            match self.next(answer, called) {
                Some(more) => said = more,
                None => return,
            }
        }
    }

    /// What the next turn begins with; none when there is to be no further turn.
    fn next(&mut self, answer: &AssistantMessage, called: bool) -> Option<Vec<UserMessage>> {
        let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        if failed || self.agent.stop.is_cancelled() {
            return None;
        }
        if let Some(tool) = self.guard.stuck() {
            let text = format!("stopped: the model repeats the same call of {tool} with the same result");
            self.agent.notice(NoticeLevel::Warning, text, Some("tell it what to do differently"));
            return None;
        }
        if !called && self.agent.queues.is_empty() {
            return None;
        }
        if self.agent.config.max_turns.is_some_and(|max| self.answers >= max) {
            let text = format!("stopped after {} answers, the limit of a run", self.answers);
            self.agent.notice(NoticeLevel::Warning, text, Some("send a message to go on"));
            return None;
        }
        let steering = deliver(self.agent, Queue::Steer);
        if called || !steering.is_empty() {
            return Some(steering);
        }
        Some(deliver(self.agent, Queue::FollowUp)).filter(|said| !said.is_empty())
    }

    /// The end: what waited for it is added, room is made, everything is on disk, then it is told.
    async fn settle(&mut self) {
        let messages = std::mem::take(&mut self.messages);
        let agent = &mut *self.agent;
        agent.phase = Phase::Settling;
        agent.emit(AgentEvent::AgentEnd { messages, will_retry: false });
        let aborted = agent.stop.is_cancelled();
        agent.record_waiting();
        // What was changed during the run, or its last answer would be what a resume goes by.
        note_settings(agent);
        if !aborted && !self.cramped {
            compact::when_full(agent).await;
            agent.record_waiting();
        }
        agent.flush();
        agent.phase = Phase::Idle;
        agent.emit(AgentEvent::AgentSettled { aborted });
    }

    /// Begins a turn, unless one is open.
    pub(super) fn open_turn(&mut self) {
        if !self.in_turn {
            self.in_turn = true;
            self.agent.emit(AgentEvent::TurnStart);
        }
    }

    /// Ends the turn.
    pub(super) fn close_turn(&mut self, message: Arc<Message>, tool_results: Vec<Arc<Message>>) {
        self.in_turn = false;
        self.agent.emit(AgentEvent::TurnEnd { message, tool_results });
    }

    /// A message that comes whole: kept, begun and ended.
    pub(super) fn commit(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        self.agent.record(message.clone());
        self.agent.emit(AgentEvent::MessageStart { message: message.clone() });
        self.finish(message)
    }

    /// An answer that was begun before: kept and ended.
    pub(super) fn commit_answer(&mut self, answer: AssistantMessage) -> Arc<Message> {
        let message = Arc::new(Message::Assistant(answer));
        self.agent.record(message.clone());
        self.finish(message)
    }

    fn finish(&mut self, message: Arc<Message>) -> Arc<Message> {
        self.messages.push(message.clone());
        self.agent.emit(AgentEvent::MessageEnd { message: message.clone() });
        message
    }
}
