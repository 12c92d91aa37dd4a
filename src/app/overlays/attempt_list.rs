//! The list of attempts at a task, and the changes of one.

use std::borrow::Cow;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::attempt::AttemptRow;

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
}

/// The changes of an attempt, or of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttemptChanges {
    /// The attempt; `None` for all.
    pub number: Option<u32>,
    /// `None` until they are known.
    pub text: Option<Printable>,
    /// The first visible row.
    pub top: usize,
    pub(crate) ticket: Option<Ticket>,
}

/// The action on an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttemptChoice {
    /// Show the changes of one, or of all, file by file.
    Show(Option<u32>),
    Take(u32),
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
    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<AttemptChoice> {
        if let Some(changes) = &mut self.changes {
            if changes.key(key, page) {
                return KeyOutcome::Handled;
            }
            self.changes = None;
            return KeyOutcome::Handled;
        }
        let drops = std::mem::take(&mut self.drops);
        let is_free = self.list.change.is_none();
        let Some(row) = self.list.row().filter(|_| is_free) else { return self.list.key(key, page) };
        let is_typed = self.list.typed().is_some();
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

impl AttemptChanges {
    /// Scrolls; false for a key that closes them.
    fn key(&mut self, key: Key, page: usize) -> bool {
        let rows = self.text.as_ref().map_or(0, |text| text.as_str().lines().count());
        let (page, most) = (page.max(1), rows.saturating_sub(page.max(1)));
        let top = match (key.code, key.mods) {
            (KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q'), _) | (KeyCode::Char('c'), Mods::CTRL) => {
                return false;
            }
            (KeyCode::Up | KeyCode::Char('k'), _) => self.top.saturating_sub(1),
            (KeyCode::Down | KeyCode::Char('j'), _) => self.top.saturating_add(1),
            (KeyCode::PageUp, _) => self.top.saturating_sub(page),
            (KeyCode::PageDown, _) => self.top.saturating_add(page),
            (KeyCode::Home, _) => 0,
            (KeyCode::End, _) => most,
            _ => self.top,
        };
        self.top = top.min(most);
        true
    }
}
