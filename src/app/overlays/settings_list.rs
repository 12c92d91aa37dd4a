//! The list of settings: their values, the origin of these, and changing them.

use std::borrow::Cow;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::{SettingOrigin, SettingShown};

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsView {
    /// The settings whose name or help has every word of the filter: first an exact name, then names that begin
    /// with it, then names with its words.
    pub list: List<SettingShown>,
    /// The new value, while being typed.
    pub editing: Option<LineEdit>,
}

/// A setting and its new value; without one it is reset.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SettingChoice {
    pub key: String,
    pub value: Option<String>,
}

impl ListRow for SettingShown {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        [self.key.as_str(), &self.help].map(Cow::Borrowed).into()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
    }

    fn rank(&self, filter: &str) -> u8 {
        let has_words = filter.split_whitespace().all(|word| self.key.to_lowercase().contains(word));
        match () {
            () if self.key == filter => 0,
            () if self.key.starts_with(filter) => {
                if has_words {
                    1
                } else {
                    2
                }
            }
            () => {
                if has_words {
                    3
                } else {
                    4
                }
            }
        }
    }
}

impl SettingsView {
    /// Whether the typed text must not be recorded or shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.editing.is_some() && self.list.row().is_some_and(|row| row.secret)
    }

    /// Adds pasted text to the value being typed, or to the query.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.editing {
            Some(line) => line.paste(text),
            None => self.list.paste(text),
        }
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<SettingChoice> {
        if let Some(line) = self.editing.take() {
            return self.type_key(line, key);
        }
        match (key.code, key.mods) {
            (KeyCode::Enter | KeyCode::Delete | KeyCode::Left | KeyCode::Right, _)
                if self.list.ticket.is_some() =>
            {
                KeyOutcome::Handled
            }
            (KeyCode::Enter | KeyCode::Right, _) => self.change(1),
            (KeyCode::Left, _) => self.change(-1),
            (KeyCode::Delete, _) => {
                let Some(row) = self.list.row() else { return KeyOutcome::Handled };
                KeyOutcome::Done(SettingChoice { key: row.key.clone(), value: None })
            }
            _ => self.list.key(key, page),
        }
    }

    /// Selects the next possible value, or opens a line to type one.
    fn change(&mut self, by: isize) -> KeyOutcome<SettingChoice> {
        let Some(row) = self.list.row().cloned() else { return KeyOutcome::Handled };
        if row.is_table {
            let place = match row.key.as_str() {
                "permissions" => "a table: change it with /permissions",
                "keys" => "a table: change it with /keys",
                _ => "a table: change it in config.toml, then use /reload",
            };
            self.list.said = Some(Err(Printable::line(place)));
        } else if row.choices.is_empty() {
            let is_set = !row.secret && row.origin != SettingOrigin::Default;
            self.editing = Some(LineEdit::new(if is_set { row.value.as_str() } else { "" }));
        } else {
            let count = row.choices.len() as isize;
            let now = row.choices.iter().position(|choice| *choice == row.value).unwrap_or(0) as isize;
            let next = row.choices.get((now + by).rem_euclid(count) as usize).cloned();
            return KeyOutcome::Done(SettingChoice { key: row.key, value: next });
        }
        KeyOutcome::Handled
    }

    fn type_key(&mut self, mut line: LineEdit, key: Key) -> KeyOutcome<SettingChoice> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Handled,
            (KeyCode::Enter, _) => {
                let value = line.text().trim().to_owned();
                let key = self.list.row().map(|row| row.key.clone()).unwrap_or_default();
                // The line stays until the value is accepted.
                self.editing = Some(line);
                return KeyOutcome::Done(SettingChoice { key, value: (!value.is_empty()).then_some(value) });
            }
            _ => drop(line.key(key)),
        }
        self.list.said = None;
        self.editing = Some(line);
        KeyOutcome::Handled
    }
}
