//! Messages sent while a run goes on, waiting for their moment.
//!
//! Pure. Steering is delivered after the tool calls of a turn, follow-ups when the agent would
//! stop, one at a time unless told otherwise. Aborting leaves both as they are; only [`Queues::take`] empties them.

use std::collections::VecDeque;

use super::command::{Delivery, Queue};
use super::event::AgentEvent;
use super::message::UserMessage;

/// The two queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queues {
    steering: VecDeque<UserMessage>,
    follow_up: VecDeque<UserMessage>,
    steering_mode: Delivery,
    follow_up_mode: Delivery,
}

impl Queues {
    /// Puts a message at the end of a queue.
    pub(super) fn push(&mut self, queue: Queue, message: UserMessage) {
        match queue {
            Queue::Steer => self.steering.push_back(message),
            Queue::FollowUp => self.follow_up.push_back(message),
        }
    }

    /// What of a queue is to be delivered now: its next message, or all of them.
    pub(super) fn next(&mut self, queue: Queue) -> Vec<UserMessage> {
        let (messages, mode) = match queue {
            Queue::Steer => (&mut self.steering, self.steering_mode),
            Queue::FollowUp => (&mut self.follow_up, self.follow_up_mode),
        };
        let count = match mode {
            Delivery::All => messages.len(),
            Delivery::OneAtATime => messages.len().min(1),
        };
        messages.drain(..count).collect()
    }

    /// Delivers messages of a queue so from now on.
    pub(super) fn deliver(&mut self, queue: Queue, delivery: Delivery) {
        match queue {
            Queue::Steer => self.steering_mode = delivery,
            Queue::FollowUp => self.follow_up_mode = delivery,
        }
    }

    /// How steering is delivered.
    pub(super) fn steering_mode(&self) -> Delivery {
        self.steering_mode
    }

    /// How follow-ups are delivered.
    pub(super) fn follow_up_mode(&self) -> Delivery {
        self.follow_up_mode
    }

    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    /// Everything that waits, steering first, as texts for editing. Both are empty afterwards.
    pub(super) fn take(&mut self) -> Vec<String> {
        let all = self.steering.drain(..).chain(self.follow_up.drain(..));
        all.map(|message| message.content.text()).collect()
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// Both queues as front ends are told of them.
    pub(super) fn update(&self) -> AgentEvent {
        let texts = |queue: &VecDeque<UserMessage>| queue.iter().map(|m| m.content.text()).collect();
        AgentEvent::QueueUpdate { steering: texts(&self.steering), follow_up: texts(&self.follow_up) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::UserContent;
    use super::*;

    #[test]
    fn each_queue_keeps_its_order() {
        let mut queues = Queues::default();
        let said = |text: &str| UserMessage { content: UserContent::Text(text.into()), timestamp: 0 };
        for (queue, text) in [(Queue::Steer, "a"), (Queue::FollowUp, "x"), (Queue::Steer, "b")] {
            queues.push(queue, said(text));
        }
        let update =
            AgentEvent::QueueUpdate { steering: vec!["a".into(), "b".into()], follow_up: vec!["x".into()] };
        assert_eq!(queues.update(), update);
        assert_eq!(queues.next(Queue::Steer), [said("a")]);
        assert_eq!(queues.take(), ["b", "x"]);
        assert!(queues.is_empty());
        assert_eq!(queues.next(Queue::FollowUp), []);
        queues.deliver(Queue::Steer, Delivery::All);
        ["c", "d"].map(|text| queues.push(Queue::Steer, said(text)));
        assert_eq!(queues.next(Queue::Steer), [said("c"), said("d")]);
    }
}
