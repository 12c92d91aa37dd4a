//! The list of settings: their values, the origin of these, and changing them.

use super::list_keys::{ListFilter, ListStep};
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::{SettingShown, Ticket};

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsView {
    pub rows: Vec<SettingShown>,
    pub(crate) query: ListFilter,
    /// Index among those that match the query.
    pub selected: usize,
    /// The new value, while being typed.
    pub editing: Option<LineEdit>,
    /// The result of the last change, or its failure.
    pub said: Option<Result<Printable, Printable>>,
    /// The pending request.
    pub ticket: Option<Ticket>,
}

/// A setting and its new value; without one it is reset.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SettingChoice {
    pub key: String,
    pub value: Option<String>,
}

impl SettingsView {
    /// The typed filter.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// The settings whose name or help has every word of the query: first an exact name, then names that
    /// begin with it, then names with its words.
    pub fn shown(&self) -> impl Iterator<Item = &SettingShown> {
        let typed = self.query().trim().to_lowercase();
        let mut rows: Vec<&SettingShown> =
            self.rows.iter().filter(|row| self.query.matches(&[&row.key, &row.help])).collect();
        rows.sort_by_key(|row| {
            (row.key != typed, !row.key.starts_with(&typed), !self.query.matches(&[&row.key]))
        });
        rows.into_iter()
    }

    /// The selected setting.
    pub fn row(&self) -> Option<&SettingShown> {
        self.shown().nth(self.selected)
    }

    /// Whether the typed text must not be recorded or shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.editing.is_some() && self.row().is_some_and(|row| row.secret)
    }

    /// Adds pasted text to the value being typed, or to the query.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.editing {
            Some(line) => line.paste(text),
            None => {
                self.query.paste(text);
                self.selected = 0;
            }
        }
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<SettingChoice> {
        if let Some(line) = self.editing.take() {
            return self.type_key(line, key);
        }
        let count = self.shown().count();
        match self.query.select(key, page, &mut self.selected, count) {
            Some(ListStep::Closed) => return KeyOutcome::Closed,
            Some(ListStep::Handled) => {
                self.said = None;
                return KeyOutcome::Handled;
            }
            None => {}
        }
        match (key.code, key.mods) {
            (KeyCode::Enter | KeyCode::Delete | KeyCode::Left | KeyCode::Right, _)
                if self.ticket.is_some() => {}
            (KeyCode::Enter | KeyCode::Right, _) => return self.change(1),
            (KeyCode::Left, _) => return self.change(-1),
            (KeyCode::Delete, _) => {
                let Some(row) = self.row() else { return KeyOutcome::Handled };
                return KeyOutcome::Done(SettingChoice { key: row.key.clone(), value: None });
            }
            _ if self.query.key(key) => (self.selected, self.said) = (0, None),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }

    /// Selects the next possible value, or opens a line to type one.
    fn change(&mut self, by: isize) -> KeyOutcome<SettingChoice> {
        let Some(row) = self.row().cloned() else { return KeyOutcome::Handled };
        if row.is_table {
            let place = match row.key.as_str() {
                "permissions" => "a table: change it with /permissions",
                "keys" => "a table: change it with /keys",
                _ => "a table: change it in config.toml, then use /reload",
            };
            self.said = Some(Err(Printable::line(place)));
        } else if row.choices.is_empty() {
            let is_set = !row.secret && row.origin != "default";
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
                let key = self.row().map(|row| row.key.clone()).unwrap_or_default();
                // The line stays until the value is accepted.
                self.editing = Some(line);
                return KeyOutcome::Done(SettingChoice { key, value: (!value.is_empty()).then_some(value) });
            }
            _ => drop(line.key(key)),
        }
        self.said = None;
        self.editing = Some(line);
        KeyOutcome::Handled
    }
}
