//! The list of extensions: the loaded ones, their faults, and turning them on or off.

use std::path::PathBuf;

use super::list_keys::{ListFilter, ListStep};
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_protocol::extension::{ExtensionRow, ExtensionState};

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionsView {
    /// By kind and name; `None` until they are known.
    pub rows: Option<Vec<ExtensionRow>>,
    /// Index among those that match the filter.
    pub selected: usize,
    pub(crate) query: ListFilter,
    /// The result of the last change, or why it failed.
    pub said: Option<Result<Printable, Printable>>,
    /// The query that fills the list.
    pub(crate) ticket: Option<Ticket>,
    /// The pending change.
    pub(crate) change: Option<Ticket>,
}

/// The action on the selected extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionChoice {
    /// Turn it on or off, by its name in the setting.
    Turn { id: String, on: bool },
    /// Open its file in an editor.
    Edit { path: PathBuf },
}

impl ExtensionsView {
    /// The filter that is typed; `None` while none is.
    pub fn query(&self) -> Option<&str> {
        self.query.is_typed().then(|| self.query.text())
    }

    /// The extensions that match the filter.
    pub fn shown(&self) -> Vec<&ExtensionRow> {
        let texts =
            |row: &&ExtensionRow| self.query.matches(&[&row.name, &row.description, row.kind.heading()]);
        self.rows.iter().flatten().filter(texts).collect()
    }

    /// The selected extension.
    pub fn row(&self) -> Option<&ExtensionRow> {
        self.shown().get(self.selected).copied()
    }

    /// Adds pasted text to the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.selected = 0;
    }

    /// Fills in the current extensions; the selection stays on its row.
    pub(crate) fn fill(&mut self, rows: Vec<ExtensionRow>) {
        let key = |row: &ExtensionRow| (row.id(), row.path.clone());
        let kept = self.row().map(key);
        self.rows = Some(rows);
        let shown = self.shown();
        let same = kept.and_then(|kept| shown.iter().position(|row| key(row) == kept));
        self.selected = same.unwrap_or(self.selected).min(shown.len().saturating_sub(1));
        self.ticket = None;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<ExtensionChoice> {
        let types = self.query.is_typed();
        match (key.code, key.mods) {
            (KeyCode::Enter, _) if self.change.is_none() => return self.turn(),
            (KeyCode::Char(' '), _) if self.change.is_none() && !types => return self.turn(),
            (KeyCode::Char('e'), Mods::NONE) if !types => return self.edit(),
            (KeyCode::Char('g'), Mods::CTRL) => return self.edit(),
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

    fn edit(&self) -> KeyOutcome<ExtensionChoice> {
        match self.row().and_then(|row| row.path.clone()) {
            Some(path) => KeyOutcome::Done(ExtensionChoice::Edit { path }),
            None => KeyOutcome::Handled,
        }
    }

    /// Another one of the same name may be used in its place, so the file counts, too.
    fn turn(&mut self) -> KeyOutcome<ExtensionChoice> {
        let Some(row) = self.row() else { return KeyOutcome::Handled };
        let others = self.rows.iter().flatten().filter(|other| other.id() == row.id());
        let is_hidden = row.state == ExtensionState::Off
            && others.clone().any(|other| other.state == ExtensionState::On && other.path != row.path);
        if is_hidden {
            self.said = Some(Err(Printable::line("another one with this name is in use; turn that one off")));
            return KeyOutcome::Handled;
        }
        let on = match row.state {
            ExtensionState::On | ExtensionState::Starting => false,
            ExtensionState::Off => true,
            ExtensionState::Failed => {
                self.said = Some(Err(Printable::line("it can't be used yet; see the problems below")));
                return KeyOutcome::Handled;
            }
        };
        KeyOutcome::Done(ExtensionChoice::Turn { id: row.id(), on })
    }
}
