//! The board: all live sessions of the user on this machine, and the results of those that ran in the
//! background.

use std::borrow::Cow;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use tau_protocol::live_session::LiveRow;

/// The time between two looks at the sessions.
pub(crate) const REFRESH: Millis = 1_000;

/// The board on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardView {
    /// The sessions, those that wait first, then by the time of the last change.
    pub list: List<LiveRow>,
    /// The time of the last query.
    pub(crate) asked: Millis,
}

/// The action on the selected session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BoardChoice {
    /// Open it.
    Open { id: String },
    /// Stop its run.
    Stop { id: String },
}

impl ListRow for LiveRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        let texts = [self.title.as_str(), self.state.name(), &self.last_line, &self.id].map(Cow::Borrowed);
        texts.into_iter().chain([self.directory.to_string_lossy()]).collect()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl BoardView {
    /// Fills in the current sessions; the selection stays on its session.
    pub(crate) fn fill(&mut self, mut rows: Vec<LiveRow>) {
        rows.sort_by_key(|row| (row.state, std::cmp::Reverse(row.changed)));
        self.list.fill(rows);
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<BoardChoice> {
        let choice = |choice: fn(String) -> BoardChoice| match self.list.row() {
            Some(row) => KeyOutcome::Done(choice(row.id.clone())),
            None => KeyOutcome::Handled,
        };
        match (key.code, key.mods) {
            (KeyCode::Enter, _) => choice(|id| BoardChoice::Open { id }),
            (KeyCode::Char('x'), Mods::NONE) if self.list.typed().is_none() && self.list.change.is_none() => {
                choice(|id| BoardChoice::Stop { id })
            }
            _ => self.list.key(key, page),
        }
    }
}
