//! The list of attempts at a task.

use std::borrow::Cow;

use super::attempt_changes::AttemptChanges;
use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use tau_protocol::attempt::{AttemptPart, AttemptRow};

/// The time between two looks at attempts that are at work.
pub(crate) const REFRESH: Millis = 1_000;

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptsView {
    pub list: List<AttemptRow>,
    /// The id of the attempts; empty until they are known.
    pub id: String,
    /// The task and the command that decides.
    pub task: Printable,
    /// The changes that are shown in place of the list.
    pub changes: Option<AttemptChanges>,
    /// Whether the next `x` removes all copies.
    pub drops: bool,
    /// Whether any of them is at work.
    pub is_running: bool,
    /// Whether this screen has begun them, and can stop them.
    pub is_own: bool,
    /// The time of the last query.
    pub(crate) asked: Millis,
}

/// The action on an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AttemptChoice {
    /// Show the changes of one, or of all, file by file.
    Show(Option<u32>),
    Take(u32),
    /// Take these hunks and files.
    TakeParts(Vec<AttemptPart>),
    /// Stop those that are at work.
    Stop,
    /// Remove all copies.
    Drop,
}

impl ListRow for AttemptRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        [self.outcome.as_str(), &self.model, &self.session].map(Cow::Borrowed).into()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl AttemptsView {
    /// Why they can be neither taken nor removed.
    fn at_work(&self) -> &'static str {
        if self.is_own {
            "they are at work: wait, or stop them with s"
        } else {
            "they are at work in another process"
        }
    }

    /// Handles a key; `page` is the number of rows on the screen, `width` its width.
    pub(crate) fn key(&mut self, key: Key, page: usize, width: u16) -> KeyOutcome<AttemptChoice> {
        if let Some(changes) = &mut self.changes {
            return match changes.key(key, page, width) {
                KeyOutcome::Done(()) => KeyOutcome::Done(AttemptChoice::TakeParts(changes.parts())),
                KeyOutcome::Closed => {
                    self.changes = None;
                    KeyOutcome::Handled
                }
                KeyOutcome::Handled => KeyOutcome::Handled,
                KeyOutcome::Ignored => KeyOutcome::Ignored,
            };
        }
        let drops = std::mem::take(&mut self.drops);
        let is_free = self.list.change.is_none();
        if self.is_running && is_free && self.list.typed_filter().is_none() && key.mods == Mods::NONE {
            match key.code {
                KeyCode::Char('s') if self.is_own => return KeyOutcome::Done(AttemptChoice::Stop),
                KeyCode::Char('s' | 't' | 'x') => {
                    self.list.said = Some(Err(Printable::line(self.at_work())));
                    return KeyOutcome::Handled;
                }
                _ => {}
            }
        }
        let Some(row) = self.list.row().filter(|_| is_free) else { return self.list.key(key, page) };
        let is_typed = self.list.typed_filter().is_some();
        let choice = match (key.code, key.mods) {
            (KeyCode::Enter, _) => AttemptChoice::Show(Some(row.number)),
            (KeyCode::Char('a'), Mods::NONE) if !is_typed => AttemptChoice::Show(None),
            (KeyCode::Char('t'), Mods::NONE) if !is_typed => AttemptChoice::Take(row.number),
            (KeyCode::Char('x'), Mods::NONE) if drops => AttemptChoice::Drop,
            (KeyCode::Char('x'), Mods::NONE) if !is_typed => {
                self.drops = true;
                return KeyOutcome::Handled;
            }
            (KeyCode::Esc, _) if drops => return KeyOutcome::Handled,
            _ => return self.list.key(key, page),
        };
        KeyOutcome::Done(choice)
    }
}
