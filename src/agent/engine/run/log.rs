//! A run in progress: its messages, and the bounds of its turns.
//!
//! A message enters the session, the run and the outbox in one step, without an await.

use std::sync::Arc;

use crate::engine::announce;
use crate::engine::base::loop_guard::LoopGuard;
use crate::engine::queries::session_usage;
use crate::engine::state::Engine;
use tau_protocol::event::TurnEvent;
use tau_protocol::message::{AssistantMessage, Message, StopReason};
use tau_protocol::run::RunEnd;

/// A run in progress.
pub(crate) struct Run<'a> {
    pub(crate) engine: &'a mut Engine,
    pub(crate) loop_guard: LoopGuard,
    messages: Vec<Arc<Message>>,
    in_turn: bool,
}

impl<'a> Run<'a> {
    pub(crate) fn new(engine: &'a mut Engine) -> Self {
        Run { engine, loop_guard: LoopGuard::default(), messages: Vec::new(), in_turn: false }
    }

    /// Starts a turn, unless one is open.
    pub(crate) fn open_turn(&mut self) {
        if !self.in_turn {
            self.in_turn = true;
            self.engine.emit(TurnEvent::TurnStart);
        }
    }

    /// Ends the turn.
    pub(crate) fn close_turn(&mut self, message: Arc<Message>, tool_results: Vec<Arc<Message>>) {
        self.in_turn = false;
        self.engine.flush();
        self.engine.emit(TurnEvent::TurnEnd { message, tool_results });
    }

    /// Records a complete message and reports its start and end.
    pub(crate) fn commit(&mut self, message: Message) -> Arc<Message> {
        let message = Arc::new(message);
        self.engine.record(message.clone());
        self.engine.emit(TurnEvent::MessageStart { message: message.clone() });
        self.finish(message)
    }

    /// Records an answer whose start was already reported, and reports its end.
    pub(crate) fn commit_answer(&mut self, answer: AssistantMessage) -> Arc<Message> {
        session_usage::meter_usage(self.engine, &answer.usage);
        let is_counted = answer.context().is_some() || answer.stop_reason == StopReason::Error;
        let message = Arc::new(Message::Assistant(answer));
        self.engine.record(message.clone());
        let message = self.finish(message);
        if !is_counted {
            announce::context_size(self.engine);
        }
        message
    }

    fn finish(&mut self, message: Arc<Message>) -> Arc<Message> {
        self.messages.push(message.clone());
        self.engine.emit(TurnEvent::MessageEnd { message: message.clone() });
        message
    }

    /// Takes the messages of the run at its end.
    pub(crate) fn take_messages(&mut self) -> Vec<Arc<Message>> {
        std::mem::take(&mut self.messages)
    }

    /// The limit that the run has reached, if any.
    pub(crate) fn reached_limit(&self) -> Option<RunEnd> {
        self.engine.meters.used.reached_limit()
    }
}
