//! Subscriptions: each subscriber gets every event, in order.
//!
//! Nothing waits for a subscriber and no event is dropped. Events that a slow subscriber has not read are
//! joined where nothing is lost (pieces of one text become one piece), so its backlog is never much larger
//! than the conversation.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_util::{Stream, StreamExt};
use parking_lot::Mutex;

use tau_protocol::event::{AgentEvent, ShellEvent, TurnEvent};

/// The length of the backlog from which pieces are joined.
const JOINED_FROM: usize = 64;

/// The events of an agent since the subscription. Ends after `TaskEvent::Stopped`; dropping it ends the
/// subscription. Also a [`Stream`].
#[derive(Debug)]
pub struct Events {
    line: Arc<Mutex<Line>>,
}

/// The backlog of a subscriber.
#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<AgentEvent>,
    waker: Option<Waker>,
    ended: bool,
}

impl Events {
    /// The next event; `None` when the agent has ended.
    pub async fn recv(&mut self) -> Option<AgentEvent> {
        self.next().await
    }
}

impl Stream for Events {
    type Item = AgentEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let mut line = self.line.lock();
        match line.waiting.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if line.ended => Poll::Ready(None),
            None => {
                line.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// All subscribers.
#[derive(Debug, Default)]
pub(super) struct Subscribers {
    lines: Vec<Arc<Mutex<Line>>>,
    ended: bool,
}

impl Subscribers {
    /// Adds a subscriber.
    pub(super) fn add(&mut self) -> Events {
        let line = Arc::new(Mutex::new(Line { ended: self.ended, ..Line::default() }));
        if !self.ended {
            self.lines.push(Arc::clone(&line));
        }
        Events { line }
    }

    /// Sends an event to every subscriber that still exists.
    pub(super) fn send(&mut self, event: &AgentEvent) {
        self.lines.retain(|line| Arc::strong_count(line) > 1);
        for line in &self.lines {
            let mut line = line.lock();
            let joined = line.waiting.len() >= JOINED_FROM
                && line.waiting.back_mut().is_some_and(|last| join(last, event, usize::MAX));
            if !joined {
                line.waiting.push_back(event.clone());
            }
            line.waker.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Ends all subscriptions, including future ones.
    pub(super) fn end(&mut self) {
        self.ended = true;
        for line in self.lines.drain(..) {
            let mut line = line.lock();
            line.ended = true;
            line.waker.take().into_iter().for_each(Waker::wake);
        }
    }
}

/// Joins `next` to `last` if both are pieces of the same thing, up to `most` bytes of text. The joined event
/// carries the content of both.
pub fn join(last: &mut AgentEvent, next: &AgentEvent, most: usize) -> bool {
    match (last, next) {
        (
            AgentEvent::Turn(TurnEvent::MessageUpdate { usage, assistant_message_event: last }),
            AgentEvent::Turn(TurnEvent::MessageUpdate { usage: newer, assistant_message_event: next }),
        ) => {
            let joined = last.join(next, most);
            if joined {
                *usage = *newer;
            }
            joined
        }
        (
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id: one, partial_result, .. }),
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate {
                tool_call_id: other,
                partial_result: newer,
                ..
            }),
        ) if one == other => {
            partial_result.clone_from(newer);
            true
        }
        (
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id: one, delta }),
            AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id: other, delta: next }),
        ) if one == other && delta.len() + next.len() <= most => {
            delta.push_str(next);
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::event::{Delta, TaskEvent};
    use tau_protocol::message::Usage;

    fn piece(content_index: usize, delta: &str) -> AgentEvent {
        let assistant_message_event = Delta::TextDelta { content_index, delta: delta.into() };
        AgentEvent::Turn(TurnEvent::MessageUpdate { usage: Usage::default(), assistant_message_event })
    }

    /// Checks the backlog of a subscriber that does not read: its length and its text.
    fn check(pieces: impl Iterator<Item = (usize, &'static str)>, waiting: usize, text: &str) {
        let mut subscribers = Subscribers::default();
        let events = subscribers.add();
        pieces.for_each(|(index, delta)| subscribers.send(&piece(index, delta)));
        let line = events.line.lock();
        assert_eq!(line.waiting.len(), waiting);
        let texts = line.waiting.iter().map(|event| match event {
            AgentEvent::Turn(TurnEvent::MessageUpdate {
                assistant_message_event: Delta::TextDelta { delta, .. },
                ..
            }) => delta.as_str(),
            _ => "",
        });
        assert_eq!(texts.collect::<String>(), text);
    }

    #[test]
    fn a_slow_subscriber_loses_nothing_and_its_backlog_stays_small() {
        check((0..10).map(|_| (0, "ab")), 10, &"ab".repeat(10));
        check((0..10_000).map(|_| (0, "ab")), JOINED_FROM, &"ab".repeat(10_000));
        check((0..100).map(|n| (n, "x")), 100, &"x".repeat(100));
    }

    #[tokio::test]
    async fn a_subscription_ends_with_the_agent() {
        let mut subscribers = Subscribers::default();
        let (mut early, gone) = (subscribers.add(), subscribers.add());
        drop(gone);
        subscribers.send(&AgentEvent::Task(TaskEvent::Stopped));
        assert_eq!(subscribers.lines.len(), 1);
        subscribers.end();
        assert_eq!(early.recv().await, Some(AgentEvent::Task(TaskEvent::Stopped)));
        assert_eq!(early.recv().await, None);
        assert_eq!(subscribers.add().recv().await, None);
    }
}
