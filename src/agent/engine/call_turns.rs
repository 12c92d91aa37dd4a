//! Calls that the user is asked about together, and that run one after another.
//!
//! They are prepared and judged at once, so that their prompts can be answered as a list. A decision is
//! held back until the calls before have ended.

use std::collections::{HashMap, VecDeque};
use std::future::pending;

use tokio::sync::oneshot;

use super::approvals::Decision;
use crate::tools::ToolError;

/// The calls of a batch that take turns, by their index in the answer.
#[derive(Debug, Default)]
pub(crate) struct CallTurns {
    /// Those that have not ended, in order.
    order: VecDeque<usize>,
    held: HashMap<usize, HeldDecision>,
    /// The one that has its turn.
    running: Option<usize>,
}

/// A decision on its way to the task of a call.
#[derive(Debug)]
struct HeldDecision {
    made: oneshot::Receiver<Decision>,
    task: oneshot::Sender<Decision>,
}

impl CallTurns {
    /// These calls take turns.
    pub(crate) fn of(order: impl IntoIterator<Item = usize>) -> Self {
        CallTurns { order: order.into_iter().collect(), ..CallTurns::default() }
    }

    /// Whether this call takes turns, and has not ended.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.order.contains(&index)
    }

    /// Where the decision on this call is to be sent, instead of to its task.
    pub(crate) fn hold(
        &mut self,
        index: usize,
        task: oneshot::Sender<Decision>,
    ) -> oneshot::Sender<Decision> {
        if !self.has(index) {
            return task;
        }
        let (decide, made) = oneshot::channel();
        self.held.insert(index, HeldDecision { made, task });
        decide
    }

    /// The call whose turn it is, once it is decided; it runs when [`CallTurns::run`] is called. Never
    /// returns while none is waiting for its turn. Cancel safe.
    pub(crate) async fn next(&mut self) -> (usize, Decision) {
        let Some(index) = self.order.front().copied() else { return pending().await };
        let Some(held) = self.held.get_mut(&index) else { return pending().await };
        match (&mut held.made).await {
            Ok(decision) => (index, decision),
            // Withdrawn: its task ends by itself.
            Err(_) => {
                self.held.remove(&index);
                pending().await
            }
        }
    }

    /// Gives the task of a call its decision.
    pub(crate) fn run(&mut self, index: usize, decision: Decision) {
        self.running = Some(index);
        if let Some(held) = self.held.remove(&index) {
            // The task of a call that was stopped meanwhile is gone.
            let _ = held.task.send(decision);
        }
    }

    /// A call has ended. True if it takes turns and never had its turn.
    pub(crate) fn ended(&mut self, index: usize) -> bool {
        let never_ran = self.has(index) && self.running != Some(index);
        self.order.retain(|other| *other != index);
        self.held.remove(&index);
        never_ran
    }

    /// Ends the calls that are still waiting for their turn, with this as the reason. Their indexes.
    pub(crate) fn skip_rest(&mut self, reason: &str) -> Vec<usize> {
        let waiting: Vec<usize> =
            self.order.iter().copied().filter(|index| self.held.contains_key(index)).collect();
        for index in &waiting {
            self.run(*index, Err(ToolError::refused(reason)));
        }
        self.order.retain(|index| !waiting.contains(index));
        waiting
    }
}
