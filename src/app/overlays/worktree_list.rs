//! The list of the worktrees of a repository.

use std::borrow::Cow;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use tau_protocol::worktree::{WorktreeEnd, WorktreeRow};

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WorktreesView {
    pub list: List<WorktreeRow>,
}

/// The action on the selected worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorktreeChoice {
    /// Continue the session there.
    Open {
        name: String,
    },
    End {
        name: String,
        end: WorktreeEnd,
    },
}

impl ListRow for WorktreeRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        [self.name.as_str(), &self.has].map(Cow::Borrowed).into()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.is_removed == other.is_removed
    }
}

impl WorktreesView {
    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<WorktreeChoice> {
        let is_free = self.list.change.is_none();
        let Some(row) = self.list.row().filter(|_| is_free) else { return self.list.key(key, page) };
        let name = row.name.clone();
        let is_typed = self.list.typed_filter().is_some();
        let end = match (key.code, key.mods) {
            (KeyCode::Enter, _) if row.is_removed => WorktreeEnd::Restore,
            (KeyCode::Enter, _) => return KeyOutcome::Done(WorktreeChoice::Open { name }),
            (KeyCode::Char('m'), Mods::NONE) if !is_typed && !row.is_removed => WorktreeEnd::Merge,
            (KeyCode::Char('x'), Mods::NONE) if !is_typed && !row.is_removed => WorktreeEnd::Remove,
            _ => return self.list.key(key, page),
        };
        KeyOutcome::Done(WorktreeChoice::End { name, end })
    }
}
