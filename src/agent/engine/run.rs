//! One run: from a message until the agent will do nothing more by itself.
//!
//! Owns the order of events of a run (the project's RPC page, section 3). A turn's answer is
//! `turn`'s, its tool calls are `calls`'. Nothing here awaits but those two, so a message enters
//! the session, the history of the run and the outbox in one step.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::behavior::OnRepeat;
use super::limits::{Meter, RunEnd};
use super::loop_guard::Guard;
use super::task::{Agent, Phase};
use super::{commands, compact, questions, session_commands, tool_calls, turn};
use crate::agent::context::request;
use crate::agent::protocol::command::{Answer, Queue};
use crate::agent::protocol::event::{AgentEvent, NoticeLevel, Question};
use crate::agent::protocol::message::{AssistantMessage, Message, StopReason, UserMessage};
use crate::agent::protocol::model::Api;

/// A run in progress.
pub(crate) struct Run<'a> {
    pub(crate) agent: &'a mut Agent,
    pub(crate) guard: Guard,
    messages: Vec<Arc<Message>>,
    in_turn: bool,
    /// True once making room has failed: it is not tried again at every turn.
    cramped: bool,
}

/// Runs from `first`, or from the history as it stands. All steering that waited since an aborted
/// run goes before it, as it was said before it; by itself it begins a run as its queue's mode says.
pub(crate) async fn run(agent: &mut Agent, first: Option<UserMessage>) {
    prepare(agent);
    let mut said = Vec::new();
    while agent.queues.steers() && (said.is_empty() || first.is_some()) {
        said.extend(deliver(agent, Queue::Steer));
    }
    said.extend(first);
    // Follow-ups alone begin a run too, when it is asked for without a message.
    if said.is_empty() && !request::can_go_on(&agent.config.session.context().messages) {
        said = deliver(agent, Queue::FollowUp);
    }
    take(agent, said).await;
}

/// Runs from what waits in the queues, if anything does: steering first, else a follow-up.
pub(crate) async fn run_queued(agent: &mut Agent) {
    if agent.queues.is_empty() {
        return;
    }
    prepare(agent);
    let mut said = deliver(agent, Queue::Steer);
    if said.is_empty() {
        said = deliver(agent, Queue::FollowUp);
    }
    take(agent, said).await;
}

/// What a run finds set anew.
fn prepare(agent: &mut Agent) {
    agent.phase = Phase::Running;
    agent.stop = CancellationToken::new();
    agent.ended_by = None;
    agent.deadline = agent.config.limits.time.map(|time| Instant::now() + time);
    session_commands::mend(agent);
    note_settings(agent);
    agent.meter = Meter::default();
}

/// Takes turns until there is nothing left to do.
async fn take(agent: &mut Agent, said: Vec<UserMessage>) {
    let mut run =
        Run { agent, guard: Guard::default(), messages: Vec::new(), in_turn: false, cramped: false };
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

/// Takes what leaves a queue now, and tells of it.
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
        commands::tell_passed_marks(self.agent);
        self.warn_of_price();
        // A session that was taken up with a smaller model may be too large from the start.
        self.cramped = compact::when_full(self.agent).await;
        loop {
            self.open_turn();
            for message in said.drain(..) {
                self.commit(Message::User(message));
            }
            let message = turn::answer(self).await;
            self.agent.meter.answered();
            let Message::Assistant(answer) = message.as_ref() else {
                return;
            };
            let results = tool_calls::carry_out(self, answer).await;
            let called = !results.is_empty();
            self.close_turn(message.clone(), results);
            if called && !self.agent.stop.is_cancelled() && !self.cramped && self.over().is_none() {
                self.cramped = compact::when_full(self.agent).await;
            }
            match self.next(answer, called).await {
                Some(more) => said = more,
                None => return,
            }
        }
    }

    /// What the next turn begins with; none when there is to be no further turn.
    async fn next(&mut self, answer: &AssistantMessage, called: bool) -> Option<Vec<UserMessage>> {
        let failed = matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted);
        if failed || self.agent.stop.is_cancelled() {
            return None;
        }
        if !self.past_the_guard().await {
            return None;
        }
        if !called && self.agent.queues.is_empty() {
            return None;
        }
        if let Some(end) = self.over() {
            self.agent.ended_by = Some(end);
            return None;
        }
        let steering = deliver(self.agent, Queue::Steer);
        if called || !steering.is_empty() {
            return Some(steering);
        }
        Some(deliver(self.agent, Queue::FollowUp)).filter(|messages| !messages.is_empty())
    }

    /// The limit of the run that is reached, if one is.
    pub(crate) fn over(&self) -> Option<RunEnd> {
        self.agent.meter.over(&self.agent.config.limits)
    }

    /// Whether the run may go on in spite of what the guard has seen. The person is asked where
    /// there is one.
    async fn past_the_guard(&mut self) -> bool {
        let Some(tool) = self.guard.stuck().map(str::to_owned) else {
            return true;
        };
        if self.agent.config.conduct.on_repeat == OnRepeat::Ask {
            let question = Question::Confirm {
                title: format!("the model repeats the same call of {tool}: let it go on?"),
                message: "it got the same result each time, and was told so".to_owned(),
            };
            if questions::ask(self.agent, question).await == Answer::Confirmed(true) {
                self.guard.forgive();
                return true;
            }
            if self.agent.stop.is_cancelled() {
                return false;
            }
        }
        self.agent.ended_by = Some(RunEnd::Repeats);
        false
    }

    /// Says when a limit of money cannot hold.
    fn warn_of_price(&mut self) {
        let Some(model) = self.agent.config.model.clone() else { return };
        let limited = self.agent.config.limits.dollars.is_some();
        if limited && model.cost.is_none() && model.api != Api::Scripted {
            let text = format!("the price of {} is not known, so the limit of money does not hold", model.id);
            self.agent.notice(NoticeLevel::Warning, text, Some("set its price in models.toml"));
        }
    }

    /// Says why the run was ended, if it was.
    fn tell_end(&mut self) {
        let Some(reason) = self.agent.ended_by.take() else { return };
        let hint = match reason {
            RunEnd::Repeats => "tell it what to do differently",
            _ => "send a message to go on",
        };
        let words = match (reason, self.guard.stuck()) {
            (RunEnd::Repeats, Some(tool)) => {
                format!("stopped: the model repeats the same call of {tool} with the same result")
            }
            _ => self.agent.meter.words(reason),
        };
        self.agent.emit(AgentEvent::RunStopped { reason });
        self.agent.notice(NoticeLevel::Warning, words, Some(hint));
    }

    /// The end: what waited for it is added, room is made, everything is on disk, then it is told.
    async fn settle(&mut self) {
        let ended = self.agent.ended_by.is_some();
        self.tell_end();
        let messages = std::mem::take(&mut self.messages);
        let agent = &mut *self.agent;
        agent.phase = Phase::Settling;
        agent.emit(AgentEvent::AgentEnd { messages, will_retry: false });
        let aborted = agent.stop.is_cancelled();
        agent.record_waiting();
        // What was changed during the run, or its last answer would be what a resume goes by.
        note_settings(agent);
        if !aborted && !ended && !self.cramped {
            compact::when_full(agent).await;
            agent.record_waiting();
        }
        agent.deadline = None;
        agent.flush();
        agent.phase = Phase::Idle;
        agent.emit(AgentEvent::AgentSettled { aborted });
    }

    /// Begins a turn, unless one is open.
    pub(crate) fn open_turn(&mut self) {
        if !self.in_turn {
            self.in_turn = true;
            self.agent.emit(AgentEvent::TurnStart);
        }
    }

    /// Ends the turn.
    pub(crate) fn close_turn(&mut self, message: Arc<Message>, tool_results: Vec<Arc<Message>>) {
        self.in_turn = false;
        self.agent.flush();
        self.agent.emit(AgentEvent::TurnEnd { message, tool_results });
    }

    /// A message that comes whole: kept, begun and ended.
    pub(crate) fn commit(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        self.agent.record(message.clone());
        self.agent.emit(AgentEvent::MessageStart { message: message.clone() });
        self.finish(message)
    }

    /// An answer that was begun before: kept and ended.
    pub(crate) fn commit_answer(&mut self, answer: AssistantMessage) -> Arc<Message> {
        self.agent.meter.spend(&answer.usage);
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
