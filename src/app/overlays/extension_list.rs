//! The list of extensions: the loaded ones, their faults, and turning them on or off.

use std::borrow::Cow;
use std::path::PathBuf;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use tau_protocol::extension::{ExtensionRow, ExtensionState};

/// The extensions, by kind and name.
pub type ExtensionsView = List<ExtensionRow>;

/// The action on the selected extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExtensionChoice {
    /// Turn it on or off, by its name in the setting.
    Turn { id: String, on: bool },
    /// Open its file in an editor.
    Edit { path: PathBuf },
}

impl ListRow for ExtensionRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        [self.name.as_str(), &self.description, self.kind.heading()].map(Cow::Borrowed).into()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id() == other.id() && self.path == other.path
    }
}

impl ExtensionsView {
    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn press(&mut self, key: Key, page: usize) -> KeyOutcome<ExtensionChoice> {
        let types = self.typed_filter().is_some();
        match (key.code, key.mods) {
            (KeyCode::Enter, _) if self.change.is_none() => self.turn(),
            (KeyCode::Char(' '), _) if self.change.is_none() && !types => self.turn(),
            (KeyCode::Char('e'), Mods::NONE) if !types => self.edit(),
            (KeyCode::Char('g'), Mods::CTRL) => self.edit(),
            _ => self.key(key, page),
        }
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
        let others = self.rows().into_iter().flatten().filter(|other| other.id() == row.id());
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
