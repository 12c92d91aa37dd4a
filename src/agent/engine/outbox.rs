//! The way out for events: bounded, in order, never blocking the one who speaks.
//!
//! Pushing is synchronous, so a message reaches the history and the channel in one step that
//! nothing can cut in two. What the channel has no room for waits here; while anything waits,
//! the agent takes nothing more from the model or from tools (see `task::Agent::attend`).

use std::collections::VecDeque;

use tokio::sync::mpsc;

use crate::agent::protocol::event::AgentEvent;

/// Events on their way to the front end.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<AgentEvent>,
    waiting: VecDeque<AgentEvent>,
    deaf: bool,
}

impl Outbox {
    /// An outbox that fills `sender`.
    pub(crate) fn new(sender: mpsc::Sender<AgentEvent>) -> Self {
        Outbox { sender, waiting: VecDeque::new(), deaf: false }
    }

    /// Sends `event`, or keeps it until there is room.
    pub(crate) fn push(&mut self, event: AgentEvent) {
        if self.deaf {
            return;
        }
        if !self.waiting.is_empty() {
            self.waiting.push_back(event);
            return;
        }
        match self.sender.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(event)) => self.waiting.push_back(event),
            Err(mpsc::error::TrySendError::Closed(_)) => {}
        }
    }

    /// Events that wait for room.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True when nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True once it is known that nobody listens; events are then dropped.
    pub(crate) fn deaf(&self) -> bool {
        self.deaf
    }

    /// Sends the next waiting event, or learns that nobody listens any more. Without anything
    /// waiting it stays pending for as long as somebody listens. Cancel safe.
    pub(crate) async fn tend(&mut self) {
        if self.waiting.is_empty() {
            self.sender.closed().await;
            self.deaf = true;
            return;
        }
        match self.sender.reserve().await {
            Ok(room) => {
                if let Some(event) = self.waiting.pop_front() {
                    room.send(event);
                }
            }
            Err(_) => {
                self.waiting.clear();
                self.deaf = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn keeps_order_when_the_channel_is_full() {
        let (sender, mut receiver) = mpsc::channel(2);
        let mut outbox = Outbox::new(sender);
        let notice = |attempt| AgentEvent::AutoRetryEnd { success: true, attempt, final_error: None };
        (0..5).for_each(|n| outbox.push(notice(n)));
        assert_eq!(outbox.len(), 3);
        for n in 0..5 {
            assert_eq!(receiver.recv().await, Some(notice(n)));
            if !outbox.is_empty() {
                outbox.tend().await;
            }
        }
        drop(receiver);
        outbox.tend().await;
        assert!(outbox.deaf());
    }
}
