//! The screen in this process that owns a session's agent: it passes on the agent's events, and learns what
//! other screens did.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::{mpsc, watch};

use super::{FIRST_TICKET, Facts, LiveSession};
use crate::serve::sender::Sender;
use crate::services::Services;
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::command::QuestionCommand;
use tau_protocol::event::{QuestionEvent, SessionInfo, TaskEvent};

impl LiveSession {
    /// The session of a screen in this process, which passes every event to [`Self::observe`]; and the events
    /// that other screens cause without the agent.
    pub fn of_screen(
        facts: Facts,
        commands: mpsc::Sender<AgentCommand>,
        services: Arc<Services>,
        changes: watch::Sender<u64>,
    ) -> (Self, mpsc::UnboundedReceiver<AgentEvent>) {
        let (local, others) = mpsc::unbounded_channel();
        let mut live = Self::new(facts, commands, services, changes);
        live.local = Some(local);
        live.is_logged.store(false, Ordering::Relaxed);
        (live, others)
    }

    /// The session that the same agent has opened instead of this one, which ends for its clients.
    pub fn hand_over(&self, session: &SessionInfo) -> Self {
        let mut state = self.state.lock();
        let facts = Facts::succeeding(&state.facts, session.clone());
        let opening = std::mem::take(&mut state.opening);
        drop(state);
        let (commands, services) = (self.commands.clone(), Arc::clone(&self.services));
        let mut live = Self::with_opening(facts, opening, commands, services, self.changes.clone());
        live.local.clone_from(&self.local);
        live.is_logged.store(false, Ordering::Relaxed);
        self.close();
        live
    }

    /// Folds an event of the agent; returns whether the screen folds it, too.
    pub fn observe(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Task(TaskEvent::Answered { ticket, .. }) => {
                let is_for_client = *ticket >= FIRST_TICKET;
                if is_for_client {
                    self.take(event.clone());
                }
                !is_for_client
            }
            event => self.fold(event),
        }
    }

    /// Records a command that the screen in this process gives the agent.
    pub fn note_command(&self, command: &AgentCommand) {
        self.note_sender(Sender::Here, command);
        if let AgentCommand::Questions(QuestionCommand::Answer { id, .. }) = command {
            self.withdraw(id);
        }
    }

    /// Ends the session for its clients.
    pub fn close(&self) {
        // First, so that no query is added that nothing answers.
        self.ended.send_replace(true);
        let mut state = self.state.lock();
        state.queries.clear();
        state.awaited.clear();
        drop(state);
        self.count_change();
    }

    /// Tells all screens, but no other client.
    pub fn tell_screens(&self, event: &AgentEvent) {
        let mut state = self.state.lock();
        let last = state.log.last();
        state.screens.tell_all(last, event);
        drop(state);
        if let Some(local) = &self.local {
            // The screen may be gone.
            let _ = local.send(event.clone());
        }
    }

    /// Tells the screen in this process that a question was answered elsewhere.
    pub(super) fn tell_local(&self, id: &str) {
        if let Some(local) = &self.local {
            // The screen may be gone.
            let _ = local.send(AgentEvent::Questions(QuestionEvent::AskWithdrawn { id: id.to_owned() }));
        }
    }
}
