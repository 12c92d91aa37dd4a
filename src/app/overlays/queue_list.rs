//! The list of queued messages, its selection and actions.
//!
//! The messages themselves are in the [`Status`], which follows the agent; the list only knows which
//! one is selected, and stays on it when the agent takes others.

use super::list_keys::{ListKey, list_key, step_clamped};
use crate::key::{Key, KeyCode, Mods};
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::status::{QueuedText, Status};
use tau_protocol::command::{Queue, QueueChange, QueuedMessage};

/// Milliseconds after which a key is meant for a message that was selected in place of another: a letter waits for a part
/// of them.
const MOVED: Millis = 1_000;

/// The list.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueView {
    pub selected: QueuedMessage,
    /// Whether the user removes the selected message.
    removes: bool,
    /// The time at which another message was selected, as somebody else has removed the one before.
    moved_at: Option<Millis>,
}

/// The action on the selected message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueChoice {
    /// Move it into the composer.
    Edit,
    Change(QueueChange),
}

/// All queued messages in display order.
pub fn all(status: &Status) -> impl Iterator<Item = (QueuedMessage, &QueuedText)> {
    let of = |queue, texts: &'_ [QueuedText]| {
        let name = move |(index, queued): (usize, &QueuedText)| QueuedMessage {
            queue,
            index,
            text: queued.text.clone(),
        };
        texts.iter().enumerate().map(name).collect::<Vec<_>>()
    };
    let names = of(Queue::Steer, &status.steering).into_iter().chain(of(Queue::FollowUp, &status.follow_up));
    names.zip(status.steering.iter().chain(&status.follow_up))
}

/// The current place of a message: in its queue, or in the other one; `None` if it is in neither.
pub fn find(status: &Status, message: &QueuedMessage) -> Option<QueuedMessage> {
    let same = all(status).map(|(name, _)| name).filter(|name| name.text == message.text);
    same.min_by_key(|name| (name.queue != message.queue, name.index.abs_diff(message.index)))
}

impl QueueView {
    /// The list with the newest message selected; `None` when nothing is queued.
    pub(crate) fn new(status: &Status) -> Option<Self> {
        all(status).last().map(|(selected, _)| QueueView { selected, removes: false, moved_at: None })
    }

    /// Index of the selected message among all.
    pub fn place(&self, status: &Status) -> usize {
        all(status).position(|(name, _)| name == self.selected).unwrap_or(0)
    }

    /// Updates the list from the queues; false if they are empty.
    pub(crate) fn follow(&mut self, status: &Status, now: Millis) -> bool {
        let is_there = find(status, &self.selected).is_some();
        if !is_there && !std::mem::take(&mut self.removes) {
            self.moved_at = Some(now);
        }
        let left =
            |name: &QueuedMessage| name.queue == self.selected.queue && name.index <= self.selected.index;
        let found = find(status, &self.selected)
            .or_else(|| all(status).map(|(name, _)| name).filter(left).last())
            .or_else(|| all(status).map(|(name, _)| name).next());
        found.map(|name| self.selected = name).is_some()
    }

    /// Whether a change is meant for the message that was selected a moment ago, and is no more.
    pub(crate) fn is_early(&self, now: Millis) -> bool {
        self.moved_at.is_some_and(|moved_at| now - moved_at < MOVED)
    }

    /// Notes that the user removes the selected message: the next one is selected then.
    pub(crate) fn remove(&mut self) {
        self.removes = true;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, status: &Status, page: usize) -> KeyOutcome<QueueChoice> {
        let change = |change| KeyOutcome::Done(QueueChoice::Change(change));
        match (key.code, key.mods) {
            (KeyCode::Enter, _) | (KeyCode::Char('e'), Mods::NONE) => {
                return KeyOutcome::Done(QueueChoice::Edit);
            }
            (KeyCode::Delete, _) | (KeyCode::Char('d'), Mods::NONE | Mods::CTRL) => {
                return change(QueueChange::Remove);
            }
            (KeyCode::Up, Mods::SHIFT) | (KeyCode::Char('K'), _) => {
                return change(QueueChange::Move { by: -1 });
            }
            (KeyCode::Down, Mods::SHIFT) | (KeyCode::Char('J'), _) => {
                return change(QueueChange::Move { by: 1 });
            }
            (KeyCode::Tab, _) => {
                let queue = match self.selected.queue {
                    Queue::Steer => Queue::FollowUp,
                    Queue::FollowUp => Queue::Steer,
                };
                return change(QueueChange::Requeue { queue });
            }
            (KeyCode::Char('s'), Mods::NONE) => return change(QueueChange::SendNow),
            _ => match list_key(key, page) {
                Some(ListKey::Close) => return KeyOutcome::Closed,
                Some(ListKey::Move(by)) => self.step(status, by),
                Some(ListKey::Row(row)) => self.select(status, row),
                Some(ListKey::Filter) | None => return KeyOutcome::Ignored,
            },
        }
        KeyOutcome::Handled
    }

    fn step(&mut self, status: &Status, by: isize) {
        self.select(status, step_clamped(self.place(status), by, status.queued_count()));
    }

    fn select(&mut self, status: &Status, place: usize) {
        if let Some((name, _)) = all(status).nth(place) {
            (self.selected, self.removes, self.moved_at) = (name, false, None);
        }
    }
}
