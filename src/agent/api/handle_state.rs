//! The state, the subscribers and the open queries of a handle, updated by events.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};

use super::events::Subscribers;
use super::state::Fold;
use tau_protocol::event::{AgentEvent, TaskEvent};
use tau_protocol::query::QueryAnswer;
use tau_tools::user_error::UserError;

/// The state that events are folded into, and the recipients of events and answers.
#[derive(Default)]
pub(super) struct HandleState {
    pub fold: Fold,
    pub subscribers: Subscribers,
    /// Queries that are waiting for an answer, by ticket.
    pub queries: HashMap<u64, PendingQuery>,
}

pub(super) struct PendingQuery {
    pub answer: oneshot::Sender<Result<QueryAnswer, UserError>>,
    /// Whether the answer becomes the messages of the state.
    pub loads_history: bool,
}

impl HandleState {
    /// Handles an event. The answer to a query of the handle goes only to its caller.
    pub fn take(&mut self, event: &AgentEvent) {
        if let AgentEvent::Task(TaskEvent::Answered { ticket, answer }) = event
            && let Some(query) = self.queries.remove(ticket)
        {
            if let (true, Ok(QueryAnswer::Messages(messages))) = (query.loads_history, answer) {
                self.fold.state.messages.clone_from(messages);
            }
            // The caller may have been dropped.
            let _ = query.answer.send(answer.clone());
            return;
        }
        self.fold.take(event);
        self.subscribers.send(event);
    }
}

/// Folds the events until the agent has ended.
pub(super) async fn fold(handle: AgentEnd, state: Arc<Mutex<HandleState>>, ended: watch::Sender<bool>) {
    let AgentEnd { mut events, task } = handle;
    while let Some(event) = events.recv().await {
        state.lock().take(&event);
    }
    // A crash was reported as an event.
    let _ = task.await;
    let mut state = state.lock();
    state.fold.take(&AgentEvent::Task(TaskEvent::Stopped));
    state.queries.clear();
    state.subscribers.end();
    ended.send_replace(true);
}

/// An agent's handle without its commands: the agent lives as long as commands can be sent.
pub(super) struct AgentEnd {
    pub events: mpsc::Receiver<AgentEvent>,
    pub task: tokio::task::JoinHandle<()>,
}
