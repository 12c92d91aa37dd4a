//! Messages sent while a run goes on, waiting for their moment.
//!
//! Pure. Steering is delivered after the tool calls of a turn, follow-ups when the agent would
//! stop, each one at a time. Aborting leaves both as they are; only [`Queues::take`] empties them.

use std::collections::VecDeque;

use super::command::Queue;
use super::event::AgentEvent;
use super::message::UserMessage;

/// The two queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queues {
    steering: VecDeque<UserMessage>,
    follow_up: VecDeque<UserMessage>,
}

impl Queues {
    /// Puts a message at the end of a queue.
    pub(super) fn push(&mut self, queue: Queue, message: UserMessage) {
        match queue {
            Queue::Steer => self.steering.push_back(message),
            Queue::FollowUp => self.follow_up.push_back(message),
        }
    }

    /// The next message of a queue.
    pub(super) fn next(&mut self, queue: Queue) -> Option<UserMessage> {
        match queue {
            Queue::Steer => self.steering.pop_front(),
            Queue::FollowUp => self.follow_up.pop_front(),
        }
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
        assert_eq!(queues.next(Queue::Steer), Some(said("a")));
        assert_eq!(queues.take(), ["b", "x"]);
        assert!(queues.is_empty());
        assert_eq!(queues.next(Queue::FollowUp), None);
    }
}
