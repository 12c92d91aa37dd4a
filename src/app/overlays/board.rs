//! The board: all live sessions of the user on this machine, and the results of those that ran in the
//! background.

use super::list_keys::{ListFilter, ListStep};
use crate::key::{Key, KeyCode, Mods};
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::live_session::LiveRow;

/// The time between two looks at the sessions.
pub(crate) const REFRESH: Millis = 1_000;

/// The board on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoardView {
    /// The sessions, those that wait first, then by the time of the last change; `None` until they are known.
    pub rows: Option<Vec<LiveRow>>,
    /// Index among those that match the filter.
    pub selected: usize,
    pub(crate) query: ListFilter,
    /// The result of the last action, or why it failed.
    pub said: Option<Result<Printable, Printable>>,
    /// The query that fills it.
    pub(crate) ticket: Option<Ticket>,
    /// The pending stop.
    pub(crate) change: Option<Ticket>,
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

impl BoardView {
    /// The filter that is typed; `None` while none is.
    pub fn query(&self) -> Option<&str> {
        self.query.is_typed().then(|| self.query.text())
    }

    /// The sessions that match the filter.
    pub fn shown(&self) -> Vec<&LiveRow> {
        let texts = |row: &&LiveRow| {
            let directory = row.directory.to_string_lossy();
            self.query.matches(&[&row.title, &directory, row.state.name(), &row.last_line, &row.id])
        };
        self.rows.iter().flatten().filter(texts).collect()
    }

    /// The selected session.
    pub fn row(&self) -> Option<&LiveRow> {
        self.shown().get(self.selected).copied()
    }

    /// Adds pasted text to the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.selected = 0;
    }

    /// Fills in the current sessions; the selection stays on its session.
    pub(crate) fn fill(&mut self, mut rows: Vec<LiveRow>) {
        rows.sort_by_key(|row| (row.state, std::cmp::Reverse(row.changed)));
        let kept = self.row().map(|row| row.id.clone());
        self.rows = Some(rows);
        let shown = self.shown();
        let same = kept.and_then(|kept| shown.iter().position(|row| row.id == kept));
        self.selected = same.unwrap_or(self.selected).min(shown.len().saturating_sub(1));
        self.ticket = None;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<BoardChoice> {
        let choice = |choice: fn(String) -> BoardChoice| match self.row() {
            Some(row) => KeyOutcome::Done(choice(row.id.clone())),
            None => KeyOutcome::Handled,
        };
        match (key.code, key.mods) {
            (KeyCode::Enter, _) => return choice(|id| BoardChoice::Open { id }),
            (KeyCode::Char('x'), Mods::NONE) if !self.query.is_typed() && self.change.is_none() => {
                return choice(|id| BoardChoice::Stop { id });
            }
            _ => {}
        }
        let count = self.shown().len();
        match self.query.select(key, page, &mut self.selected, count) {
            Some(ListStep::Closed) => return KeyOutcome::Closed,
            Some(ListStep::Handled) => {}
            None if self.query.key(key) => self.selected = 0,
            None => return KeyOutcome::Ignored,
        }
        self.said = None;
        KeyOutcome::Handled
    }
}
