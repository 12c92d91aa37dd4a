//! Queues of messages that were sent during a run.
//!
//! Pure. Steering messages are delivered after the tool calls of a turn, follow-ups when the agent
//! would stop, each queue one message at a time or all at once. Aborting leaves both as they are;
//! only [`Queues::clear`] empties them, and [`Queues::take`] of all that need not stay.
//!
//! What was delivered counts as waiting until the session has it: [`Queues::mark_kept`].

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use tau_protocol::command::{Queue, QueueChange, QueuedMessage};
use tau_protocol::event::{AgentEvent, QueueEvent};
use tau_protocol::message::{Block, UserContent, UserMessage};
use tau_protocol::run::QueueMode;

/// The two queues.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Queues {
    steering: VecDeque<UserMessage>,
    follow_up: VecDeque<UserMessage>,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
    /// Delivered, but not yet in the session.
    delivered: Vec<UserMessage>,
    /// Whether the session keeps any.
    is_kept: bool,
    /// Whether some were delivered without having been queued, and are not kept yet.
    has_new: bool,
}

/// The queued messages as the session keeps them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct KeptQueues {
    pub(crate) steering: Vec<UserMessage>,
    pub(crate) follow_up: Vec<UserMessage>,
}

/// The outcome of a change of a queued message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueChangeOutcome {
    /// The change was made.
    Changed,
    /// The message was removed from its queue and must be sent.
    Send(UserMessage),
    /// The message is no longer queued.
    Gone,
}

impl Queues {
    /// Empty queues with these modes.
    pub(crate) fn with_modes(steering_mode: QueueMode, follow_up_mode: QueueMode) -> Self {
        Queues { steering_mode, follow_up_mode, ..Queues::default() }
    }

    /// Sets the number of messages that leave the queue at once.
    pub(crate) fn set_mode(&mut self, queue: Queue, mode: QueueMode) {
        match queue {
            Queue::Steer => self.steering_mode = mode,
            Queue::FollowUp => self.follow_up_mode = mode,
        }
    }

    /// Appends a message to a queue.
    pub(crate) fn push(&mut self, queue: Queue, message: UserMessage) {
        self.of(queue).push_back(message);
    }

    fn of(&mut self, queue: Queue) -> &mut VecDeque<UserMessage> {
        match queue {
            Queue::Steer => &mut self.steering,
            Queue::FollowUp => &mut self.follow_up,
        }
    }

    /// Changes a message that is still in its queue.
    pub(crate) fn change(&mut self, message: &QueuedMessage, change: &QueueChange) -> QueueChangeOutcome {
        let queue = self.of(message.queue);
        let same = queue.iter().enumerate().filter(|(_, queued)| queued.content.text() == message.text);
        let Some((index, _)) = same.min_by_key(|(index, _)| index.abs_diff(message.index)) else {
            return QueueChangeOutcome::Gone;
        };
        if let QueueChange::Replace { text, images } = change {
            if let Some(queued) = queue.get_mut(index) {
                replace(&mut queued.content, text, images);
            }
            return QueueChangeOutcome::Changed;
        }
        let Some(queued) = queue.remove(index) else { return QueueChangeOutcome::Gone };
        match change {
            QueueChange::Replace { .. } | QueueChange::Remove => {}
            QueueChange::Move { by } => {
                queue.insert(index.saturating_add_signed(*by).min(queue.len()), queued);
            }
            QueueChange::Requeue { queue } => self.push(*queue, queued),
            QueueChange::SendNow => {
                self.delivered.push(queued.clone());
                return QueueChangeOutcome::Send(queued);
            }
        }
        QueueChangeOutcome::Changed
    }

    /// Takes the next message from a queue, or all of them, depending on its mode.
    pub(crate) fn next(&mut self, queue: Queue) -> Vec<UserMessage> {
        let (waiting, mode) = match queue {
            Queue::Steer => (&mut self.steering, self.steering_mode),
            Queue::FollowUp => (&mut self.follow_up, self.follow_up_mode),
        };
        let next: Vec<UserMessage> = match mode {
            QueueMode::OneAtATime => waiting.pop_front().into_iter().collect(),
            QueueMode::All => waiting.drain(..).collect(),
        };
        self.delivered.extend(next.iter().cloned());
        next
    }

    /// Notes that a message that was not queued is about to be in the session.
    pub(crate) fn deliver(&mut self, message: &UserMessage) {
        // One that is sent at once was queued until now.
        if !self.delivered.contains(message) {
            self.delivered.push(message.clone());
            self.has_new = true;
        }
    }

    /// Whether messages were delivered that were not queued, and are not kept yet.
    pub(crate) fn has_new(&self) -> bool {
        self.has_new
    }

    /// Notes that the session has what was delivered, or that it is never sent; returns whether there was anything.
    pub(crate) fn finish_delivery(&mut self) -> bool {
        self.has_new = false;
        !std::mem::take(&mut self.delivered).is_empty()
    }

    /// The messages that would be lost with the process; `None` if there are none, and the session keeps none either.
    pub(crate) fn mark_kept(&mut self) -> Option<KeptQueues> {
        let kept = KeptQueues {
            steering: self.delivered.iter().chain(&self.steering).cloned().collect(),
            follow_up: self.follow_up.iter().cloned().collect(),
        };
        self.has_new = false;
        let is_any = kept != KeptQueues::default();
        let was_any = std::mem::replace(&mut self.is_kept, is_any);
        (is_any || was_any).then_some(kept)
    }

    /// Replaces the messages by kept ones.
    pub(crate) fn restore(&mut self, kept: KeptQueues) {
        self.delivered.clear();
        self.is_kept = kept != KeptQueues::default();
        self.steering = kept.steering.into();
        self.follow_up = kept.follow_up.into();
    }

    /// Whether a steering message is waiting.
    pub(crate) fn has_steering(&self) -> bool {
        !self.steering.is_empty()
    }

    /// Discards the messages in one queue, or in both.
    pub(crate) fn clear(&mut self, queue: Option<Queue>) {
        if queue != Some(Queue::FollowUp) {
            self.steering.clear();
        }
        if queue != Some(Queue::Steer) {
            self.follow_up.clear();
        }
    }

    /// How steering messages are delivered.
    pub(crate) fn steering_mode(&self) -> QueueMode {
        self.steering_mode
    }

    /// How follow-ups are delivered.
    pub(crate) fn follow_up_mode(&self) -> QueueMode {
        self.follow_up_mode
    }

    /// The number of waiting messages.
    pub(crate) fn len(&self) -> usize {
        self.steering.len() + self.follow_up.len()
    }

    /// Takes all messages but those that stay, steering first.
    pub(crate) fn take(&mut self) -> Vec<UserMessage> {
        let mut taken = Vec::new();
        for queue in [&mut self.steering, &mut self.follow_up] {
            let (staying, own) = queue.drain(..).partition(|message| message.stays_queued);
            *queue = staying;
            taken.extend::<VecDeque<_>>(own);
        }
        taken
    }

    /// Whether no message is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.steering.is_empty() && self.follow_up.is_empty()
    }

    /// The event that reports both queues.
    pub(crate) fn update(&self) -> AgentEvent {
        let texts = |queue: &VecDeque<UserMessage>| queue.iter().map(|m| m.content.text()).collect();
        AgentEvent::Queue(QueueEvent::QueueUpdate {
            steering: texts(&self.steering),
            follow_up: texts(&self.follow_up),
        })
    }
}

/// Replaces the text of a message; its images stay.
fn replace(content: &mut UserContent, text: &str, images: &[Block]) {
    let old = match std::mem::replace(content, UserContent::Text(text.to_owned())) {
        UserContent::Text(_) => Vec::new(),
        UserContent::Blocks(blocks) => blocks,
    };
    let kept = old.into_iter().filter(|block| matches!(block, Block::Image { .. }));
    let images: Vec<Block> = kept.chain(images.iter().cloned()).collect();
    if !images.is_empty() {
        let text = (!text.is_empty()).then(|| Block::text(text));
        *content = UserContent::Blocks(text.into_iter().chain(images).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queued_message_is_changed_where_it_is_now() {
        let mut queues = Queues::default();
        for text in ["a", "b", "b", "c"] {
            queues.push(Queue::Steer, UserMessage::new(UserContent::Text(text.into())));
        }
        let at = |index, text: &str| QueuedMessage { queue: Queue::Steer, index, text: text.into() };
        let steering = |queues: &Queues| match queues.update() {
            AgentEvent::Queue(QueueEvent::QueueUpdate { steering, .. }) => steering.concat(),
            other => panic!("{other:?}"),
        };
        queues.next(Queue::Steer);
        let image = Block::Image { data: "AAAA".into(), mime_type: "image/png".into() };
        let change = QueueChange::Replace { text: "B".into(), images: vec![image.clone()] };
        assert_eq!(queues.change(&at(2, "b"), &change), QueueChangeOutcome::Changed);
        assert_eq!(steering(&queues), "bBc", "one has left, so the one at 2 is at 1");
        let change = QueueChange::Replace { text: "D".into(), images: Vec::new() };
        queues.change(&at(1, "B"), &change);
        for (message, change, after) in [
            (at(9, "D"), QueueChange::Move { by: -1 }, "Dbc"),
            (at(0, "D"), QueueChange::Move { by: -1 }, "Dbc"),
            (at(0, "D"), QueueChange::Move { by: 9 }, "bcD"),
            (at(0, "b"), QueueChange::Remove, "cD"),
            (at(0, "c"), QueueChange::Requeue { queue: Queue::FollowUp }, "D"),
        ] {
            assert_eq!(queues.change(&message, &change), QueueChangeOutcome::Changed);
            assert_eq!(steering(&queues), after);
        }
        assert_eq!(queues.change(&at(0, "c"), &QueueChange::Remove), QueueChangeOutcome::Gone);
        let QueueChangeOutcome::Send(sent) = queues.change(&at(0, "D"), &QueueChange::SendNow) else {
            panic!("not there");
        };
        assert_eq!(sent.content, UserContent::Blocks(vec![Block::text("D"), image]), "images stay");
        assert_eq!(steering(&queues), "");
    }

    #[test]
    fn each_queue_keeps_its_order() {
        let mut queues = Queues::default();
        let said = |text: &str| UserMessage::new(UserContent::Text(text.into()));
        for (queue, text) in [(Queue::Steer, "a"), (Queue::FollowUp, "x"), (Queue::Steer, "b")] {
            queues.push(queue, said(text));
        }
        let update = AgentEvent::Queue(QueueEvent::QueueUpdate {
            steering: vec!["a".into(), "b".into()],
            follow_up: vec!["x".into()],
        });
        assert_eq!(queues.update(), update);
        assert_eq!(queues.next(Queue::Steer), [said("a")]);
        let staying = UserMessage { stays_queued: true, ..said("sent") };
        queues.push(Queue::Steer, staying.clone());
        assert_eq!(queues.take(), [said("b"), said("x")]);
        assert_eq!(queues.mark_kept().unwrap().steering, [said("a"), staying.clone()]);
        assert_eq!(queues.next(Queue::Steer), [staying]);
        assert!(queues.is_empty());
        assert_eq!(queues.next(Queue::FollowUp), []);
    }

    #[test]
    fn a_queue_is_emptied_as_its_mode_says() {
        let said = |text: &str| UserMessage::new(UserContent::Text(text.into()));
        for (mode, at_once) in [(QueueMode::OneAtATime, 1), (QueueMode::All, 2)] {
            let mut queues = Queues::default();
            queues.set_mode(Queue::FollowUp, mode);
            for (queue, text) in [(Queue::FollowUp, "a"), (Queue::FollowUp, "b"), (Queue::Steer, "s")] {
                queues.push(queue, said(text));
            }
            assert_eq!(queues.next(Queue::FollowUp).len(), at_once);
            queues.clear(Some(Queue::FollowUp));
            assert!(queues.has_steering());
            queues.clear(None);
            assert!(queues.is_empty());
        }
    }
}
