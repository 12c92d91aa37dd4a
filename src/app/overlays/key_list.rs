//! The list of actions with their keys: an action gets the pressed key.

use super::list::Report;
use super::list_keys::ListFilter;
use crate::action::{Action, ActionRow, KeyContext, TABLE};
use crate::key::{Key, KeyCode, Mods};
use crate::keymap::Keymap;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::{KeyChanges, Ticket};
use tau_tools::user_error::UserError;

/// Actions that tau cannot be used without: they keep a key.
const ESSENTIAL: [Action; 4] = [Action::Send, Action::Cancel, Action::Clear, Action::TakeKeyboard];

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeysView {
    pub(super) query: ListFilter,
    /// Place among the rows that match.
    pub selected: usize,
    pub step: KeyStep,
    /// The result of the last change, or the reason why it is impossible.
    pub said: Option<Report>,
    /// The pending request.
    pub ticket: Option<Ticket>,
}

/// The use of the next key press.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyStep {
    /// It chooses an action.
    #[default]
    Choosing,
    /// It becomes the new key of the selected action.
    Pressing,
    /// It decides about this key, which may belong to another action.
    Deciding(Key, Option<Action>),
}

impl KeysView {
    /// The typed filter.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// The actions that match.
    pub fn rows(&self, keymap: &Keymap) -> Vec<&'static ActionRow> {
        let matches = |row: &&ActionRow| {
            self.query.matches(&[row.name, row.help, &keymap.keys_of(row.action).join(" ")])
        };
        TABLE.iter().filter(matches).collect()
    }

    /// The selected action.
    pub fn row(&self, keymap: &Keymap) -> Option<&'static ActionRow> {
        self.rows(keymap).get(self.selected).copied()
    }

    /// Adds pasted text to the filter.
    pub(crate) fn paste(&mut self, text: &str) {
        if self.step == KeyStep::Choosing {
            self.query.paste(text);
            self.selected = 0;
        }
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, keymap: &Keymap, page: usize) -> KeyOutcome<KeyChanges> {
        match (self.step, key.code) {
            (KeyStep::Choosing, _) => self.choose(key, keymap, page),
            (KeyStep::Pressing | KeyStep::Deciding(..), KeyCode::Esc) => {
                self.step = KeyStep::Choosing;
                KeyOutcome::Handled
            }
            (KeyStep::Pressing, _) => {
                self.said = None;
                if let Some(row) = self.row(keymap) {
                    match check_key(keymap, row, key) {
                        Ok(other) => self.step = KeyStep::Deciding(key, other),
                        Err(reason) => self.said = Some(Err(Printable::line(&reason))),
                    }
                }
                KeyOutcome::Handled
            }
            (KeyStep::Deciding(new, other), KeyCode::Enter | KeyCode::Char('a')) => {
                let Some(row) = self.row(keymap) else { return KeyOutcome::Handled };
                self.step = KeyStep::Choosing;
                let adds = key.code != KeyCode::Enter;
                KeyOutcome::Done(changes(keymap, row, new, other, adds))
            }
            (KeyStep::Deciding(..), _) => KeyOutcome::Ignored,
        }
    }

    fn choose(&mut self, key: Key, keymap: &Keymap, page: usize) -> KeyOutcome<KeyChanges> {
        self.said = None;
        let count = self.rows(keymap).len();
        match self.query.select(key, page, &mut self.selected, count) {
            KeyOutcome::Ignored => {}
            outcome => return outcome,
        }
        match (key.code, key.mods) {
            (KeyCode::Enter | KeyCode::Delete, _) if self.ticket.is_some() => {}
            (KeyCode::Enter, _) if self.row(keymap).is_some() => self.step = KeyStep::Pressing,
            (KeyCode::Delete, _) => match self.row(keymap).map(|row| reset(keymap, row)) {
                Some(Ok(changes)) => return KeyOutcome::Done(changes),
                Some(Err(reason)) => self.said = Some(Err(Printable::line(&reason))),
                None => {}
            },
            _ if self.query.key(key) => self.selected = 0,
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }
}

/// The action that currently has the key, if any. The error is the reason why the action cannot have it.
fn check_key(keymap: &Keymap, row: &ActionRow, key: Key) -> Result<Option<Action>, UserError> {
    let stops = key == Key::new(KeyCode::Char('c'), Mods::CTRL);
    if stops && !keymap.keys_of(row.action).contains(&key.to_string()) {
        return Err(format!("{key} always clears, closes or quits; press another key").into());
    }
    if key.typed_char().is_some() && row.context != KeyContext::Panel {
        return Err(
            format!("{key} is needed to type; press it with ctrl or alt, or press another key").into()
        );
    }
    if keymap.begins_others(key) && row.context != KeyContext::Panel {
        return Err(format!("{key} begins other keys; press another key").into());
    }
    match keymap.action_in(row.context, key) {
        Some(action) if action == row.action => {
            Err(format!("{key} is already a key of \"{}\"", row.name).into())
        }
        Some(other) if ESSENTIAL.contains(&other) && keymap.keys_of(other).len() == 1 => {
            let other = other.name();
            Err(format!("{key} is the only key of \"{other}\"; give that another key first").into())
        }
        other => Ok(other),
    }
}

/// The changes when a key is added, or replaces the existing keys. Ctrl+C stays where it is.
fn changes(keymap: &Keymap, row: &ActionRow, new: Key, other: Option<Action>, adds: bool) -> KeyChanges {
    let mut keys = keymap.keys_of(row.action);
    keys.retain(|key| adds || key == "ctrl+c");
    keys.push(new.to_string());
    let kept = keys.clone();
    let mut changes = KeyChanges::from([setting(row, keys)]);
    if let Some(other) = other.and_then(|other| TABLE.iter().find(|row| row.action == other)) {
        let mut left = keymap.keys_of(other.action);
        left.retain(|key| *key != new.to_string());
        changes.extend([setting(other, left)]);
    }
    for (name, keys) in changes_to_give_back(keymap, row, &kept) {
        changes.entry(name).or_insert(keys);
    }
    changes
}

/// The changes that return keys which an action loses to the actions whose default keys they are.
fn changes_to_give_back(keymap: &Keymap, row: &ActionRow, kept: &[String]) -> KeyChanges {
    let in_panel = |row: &ActionRow| row.context == KeyContext::Panel;
    let mut lost = keymap.keys_of(row.action);
    lost.retain(|key| !kept.contains(key));
    let others = TABLE.iter().filter(|other| other.action != row.action && in_panel(other) == in_panel(row));
    let returned = others.filter_map(|other| {
        let mut back = lost.iter().filter(|key| other.keys.contains(&key.as_str())).cloned().peekable();
        back.peek()?;
        Some(setting(other, keymap.keys_of(other.action).into_iter().chain(back).collect()))
    });
    returned.collect()
}

/// The setting for an action with these keys: nothing for its default keys.
fn setting(row: &ActionRow, keys: Vec<String>) -> (String, Option<Vec<String>>) {
    let is_default = keys.len() == row.keys.len() && keys.iter().all(|key| row.keys.contains(&key.as_str()));
    (row.name.to_owned(), (!is_default).then_some(keys))
}

/// The changes that restore an action's default keys, and return its other keys to the actions they came
/// from. Fails if one of them now belongs to another action.
fn reset(keymap: &Keymap, row: &ActionRow) -> Result<KeyChanges, UserError> {
    for name in row.keys {
        let owner = name.parse().ok().and_then(|key| keymap.action_in(row.context, key));
        if let Some(other) = owner.filter(|other| *other != row.action) {
            return Err(format!("{name} is a key of \"{}\" now; change that first", other.name()).into());
        }
    }
    let default: Vec<String> = row.keys.iter().map(|key| (*key).to_owned()).collect();
    let mut changes = changes_to_give_back(keymap, row, &default);
    changes.insert(row.name.to_owned(), None);
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action;
    use std::collections::BTreeMap;

    fn keymap(overrides: &[(&str, &[&str])]) -> Keymap {
        let owned = |keys: &&[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let map: BTreeMap<_, _> =
            overrides.iter().map(|(name, keys)| ((*name).to_owned(), owned(keys))).collect();
        Keymap::new(&map).0
    }

    #[test]
    fn keys_that_must_stay_are_refused_with_the_reason() {
        let map = keymap(&[]);
        let refused = |name: &str, key: &str| {
            check_key(&map, action::of(name).unwrap(), key.parse().unwrap()).err().unwrap_or_default()
        };
        assert!(refused("models", "ctrl+c").contains("always clears, closes or quits"));
        assert!(refused("models", "q").contains("needed to type"));
        assert!(refused("models", "enter").contains("the only key of \"send\""));
        assert!(refused("models", "ctrl+l").contains("already a key"));
        assert_eq!(refused("models", "f5"), "");
        assert_eq!(refused("models", "ctrl+p"), "", "it is taken, and can be had");
        assert_eq!(refused("panel-copy", "q"), "", "nothing is typed there");
        assert_eq!(refused("new-line", "alt+enter"), "");
    }

    #[test]
    fn a_key_that_is_taken_from_an_action_is_written_for_both() {
        let map = keymap(&[]);
        let row = |name: &str| action::of(name).unwrap();
        let made = |name: &str, key: &str, adds: bool| {
            let key: Key = key.parse().unwrap();
            let other = check_key(&map, row(name), key).unwrap();
            let keys = |keys: Option<Vec<String>>| keys.map_or("default".to_owned(), |keys| keys.join(" "));
            let changes = changes(&map, row(name), key, other, adds).into_iter();
            changes.map(|(name, new)| format!("{name}={}", keys(new))).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(made("models", "f5", false), "models=f5");
        assert_eq!(made("models", "f5", true), "models=ctrl+l f5");
        assert_eq!(
            made("models", "alt+p", true),
            "models=ctrl+l alt+p, previous-model=ctrl+shift+p ctrl+x p"
        );
        assert_eq!(made("models", "ctrl+p", false), "models=ctrl+p, next-model=");
        assert_eq!(made("clear", "f5", false), "clear=ctrl+c f5", "ctrl+c stays");
        let map = keymap(&[("models", &["f5"])]);
        assert_eq!(changes(&map, row("models"), "ctrl+l".parse().unwrap(), None, false)["models"], None);
    }

    #[test]
    fn a_key_that_is_given_up_returns_to_the_action_that_has_it_by_default() {
        let row = |name: &str| action::of(name).unwrap();
        let map = keymap(&[("copy-answer", &["ctrl+o"]), ("toggle-tools", &[])]);
        let defaults = KeyChanges::from(["copy-answer", "toggle-tools"].map(|name| (name.to_owned(), None)));
        assert_eq!(reset(&map, row("copy-answer")), Ok(defaults));
        let replaced = changes(&map, row("copy-answer"), "f5".parse().unwrap(), None, false);
        assert_eq!(replaced["toggle-tools"], None);
        let added = changes(&map, row("copy-answer"), "f5".parse().unwrap(), None, true);
        assert!(!added.contains_key("toggle-tools"), "the key is kept");
        let map = keymap(&[("copy-answer", &["ctrl+o"]), ("toggle-tools", &["f5"])]);
        let back = &reset(&map, row("copy-answer")).unwrap()["toggle-tools"];
        assert_eq!(*back, Some(vec!["f5".to_owned(), "ctrl+o".to_owned()]), "beside a key that was chosen");
    }

    #[test]
    fn default_keys_come_back_where_they_are_free() {
        let map = keymap(&[("models", &["f5"]), ("next-model", &["ctrl+l"])]);
        assert!(reset(&map, action::of("models").unwrap()).unwrap_err().contains("\"next-model\" now"));
        assert_eq!(reset(&map, action::of("next-model").unwrap()).unwrap()["next-model"], None);
    }
}
