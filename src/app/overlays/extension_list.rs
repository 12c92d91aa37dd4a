//! The list of extensions: the loaded ones, their faults, and turning them on or off.

use std::path::PathBuf;

use super::list_keys::{ListKey, list_key, moved};
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
    pub selected: usize,
    /// The result of the last change, or its failure.
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
    /// The selected extension.
    pub fn row(&self) -> Option<&ExtensionRow> {
        self.rows.as_ref()?.get(self.selected)
    }

    /// Fills in the current extensions; the selection stays on its row.
    pub(crate) fn fill(&mut self, rows: Vec<ExtensionRow>) {
        let key = |row: &ExtensionRow| (row.id(), row.path.clone());
        let kept = self.row().map(key);
        let same = kept.and_then(|kept| rows.iter().position(|row| key(row) == kept));
        self.selected = same.unwrap_or(self.selected).min(rows.len().saturating_sub(1));
        self.rows = Some(rows);
        self.ticket = None;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<ExtensionChoice> {
        match (key.code, key.mods) {
            (KeyCode::Char('q'), Mods::NONE) => return KeyOutcome::Closed,
            (KeyCode::Char(' ') | KeyCode::Enter, _) if self.change.is_none() => return self.turn(),
            (KeyCode::Char('e'), Mods::NONE) | (KeyCode::Char('g'), Mods::CTRL) => {
                return match self.row().and_then(|row| row.path.clone()) {
                    Some(path) => KeyOutcome::Done(ExtensionChoice::Edit { path }),
                    None => KeyOutcome::Handled,
                };
            }
            _ => match list_key(key, page) {
                Some(ListKey::Close) => return KeyOutcome::Closed,
                Some(ListKey::Move(by)) => {
                    self.selected = moved(self.selected, by, self.rows.as_ref().map_or(0, Vec::len));
                    self.said = None;
                }
                None => return KeyOutcome::Ignored,
            },
        }
        KeyOutcome::Handled
    }

    /// Another extension of the same name may take over, so the file counts, too.
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
