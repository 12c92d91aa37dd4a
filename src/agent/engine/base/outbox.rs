//! Outgoing events, kept in order without ever blocking the sender.
//!
//! Pushing is synchronous, so a message reaches the history and the channel in one uninterruptible step.
//! Events that do not fit in the channel wait here; meanwhile the agent takes nothing more from the model or
//! from tools (see `attend`).

use std::collections::VecDeque;

use tokio::sync::mpsc;

use tau_protocol::event::AgentEvent;

/// Events on their way to the front end.
#[derive(Debug)]
pub(crate) struct Outbox {
    sender: mpsc::Sender<AgentEvent>,
    waiting: VecDeque<AgentEvent>,
    closed: bool,
}

impl Outbox {
    /// An outbox that fills `sender`.
    pub(crate) fn new(sender: mpsc::Sender<AgentEvent>) -> Self {
        Outbox { sender, waiting: VecDeque::new(), closed: false }
    }

    /// Sends `event`, or keeps it until it fits in the channel.
    pub(crate) fn push(&mut self, event: AgentEvent) {
        if self.closed {
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

    /// The number of waiting events.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no event is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the receiver is known to be gone; events are then dropped.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Sends the next waiting event, or notices that the receiver is gone. Pending while there is
    /// a receiver and nothing to send. Cancel safe.
    pub(crate) async fn send_next(&mut self) {
        if self.waiting.is_empty() {
            self.sender.closed().await;
            self.closed = true;
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
                self.closed = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::event::RunEvent;

    #[tokio::test]
    async fn keeps_order_when_the_channel_is_full() {
        let (sender, mut receiver) = mpsc::channel(2);
        let mut outbox = Outbox::new(sender);
        let notice =
            |attempt| AgentEvent::Run(RunEvent::AutoRetryEnd { success: true, attempt, final_error: None });
        (0..5).for_each(|n| outbox.push(notice(n)));
        assert_eq!(outbox.len(), 3);
        for n in 0..5 {
            assert_eq!(receiver.recv().await, Some(notice(n)));
            if !outbox.is_empty() {
                outbox.send_next().await;
            }
        }
        drop(receiver);
        outbox.send_next().await;
        assert!(outbox.is_closed());
    }
}
