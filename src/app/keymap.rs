//! Which key means which action: the defaults of the table, and what the user has set instead.

use std::collections::BTreeMap;

use super::action::{self, Action, KeyContext, TABLE};
use super::key::Key;

/// What is wrong with the keys that the user has set for an action.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFault {
    /// The name of the action, as it is set.
    pub action: String,
    /// A sentence.
    pub text: String,
}

/// The key map of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keymap {
    keys: BTreeMap<Key, Action>,
    /// What keys mean while a panel is selected.
    panel: BTreeMap<Key, Action>,
    /// The keys of each action, in the order in which they were given to it.
    of_action: BTreeMap<Action, Vec<Key>>,
}

impl Keymap {
    /// The defaults, with the keys of the actions named in `overrides` replaced (an empty list
    /// removes an action's keys). Also returns what is wrong; an invalid entry leaves the
    /// default in place.
    pub fn new(overrides: &BTreeMap<String, Vec<String>>) -> (Self, Vec<KeyFault>) {
        let mut faults = Vec::new();
        let mut fault = |action: &str, text| faults.push(KeyFault { action: action.to_owned(), text });
        let mut chosen: BTreeMap<Action, Vec<Key>> = BTreeMap::new();
        for (name, keys) in overrides {
            let Some(row) = action::of(name) else {
                fault(name, format!("unknown action \"{name}\"; /keys in tau lists the names"));
                continue;
            };
            match keys.iter().map(|key| key.parse()).collect::<Result<Vec<Key>, _>>() {
                Ok(keys) => {
                    chosen.insert(row.action, keys);
                }
                Err(error) => fault(name, error.to_string()),
            }
        }
        let mut keymap = Keymap::default();
        for row in TABLE.iter().filter(|row| !chosen.contains_key(&row.action)) {
            for key in row.keys.iter().filter_map(|key| key.parse().ok()) {
                keymap.insert(key, row.action);
            }
        }
        for (action, keys) in chosen {
            for key in keys {
                if let Some(other) = keymap.insert(key, action).filter(|other| *other != action) {
                    fault(action.name(), format!("{key} no longer means \"{}\"", other.name()));
                }
            }
        }
        (keymap, faults)
    }

    fn insert(&mut self, key: Key, action: Action) -> Option<Action> {
        let before = match action.context() {
            KeyContext::Panel => self.panel.insert(key, action),
            KeyContext::Composer | KeyContext::Screen => self.keys.insert(key, action),
        };
        if let Some(keys) = before.and_then(|before| self.of_action.get_mut(&before)) {
            keys.retain(|known| *known != key);
        }
        self.of_action.entry(action).or_default().push(key);
        before
    }

    /// What the key means there.
    pub(crate) fn bound(&self, context: KeyContext, key: Key) -> Option<Action> {
        match context {
            KeyContext::Panel => self.panel_action(key),
            KeyContext::Composer | KeyContext::Screen => self.action(key),
        }
    }

    /// What the key means.
    pub fn action(&self, key: Key) -> Option<Action> {
        self.keys.get(&key).copied()
    }

    /// What the key means to a selected panel.
    pub(crate) fn panel_action(&self, key: Key) -> Option<Action> {
        self.panel.get(&key).copied()
    }

    /// The keys that mean the action, as people write them; empty when it has none.
    pub(crate) fn keys_of(&self, action: Action) -> Vec<String> {
        self.of_action.get(&action).into_iter().flatten().map(Key::to_string).collect()
    }

    /// The key to show in a hint: the first of the action's keys, `None` when it has none.
    pub fn hint(&self, action: Action) -> Option<String> {
        self.of_action.get(&action)?.first().map(Key::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_default_key_can_be_read_and_no_two_rows_share_one() {
        let mut seen = BTreeSet::new();
        for row in TABLE {
            for name in row.keys {
                let key: Key = name.parse().expect(name);
                let for_panels = row.context == KeyContext::Panel;
                assert!(seen.insert((for_panels, key)), "{name} of {} is taken", row.name);
            }
        }
    }

    #[test]
    fn choices_replace_defaults_and_nonsense_is_named() {
        let overrides = BTreeMap::from([
            ("models".to_owned(), vec!["f6".to_owned(), "f5".to_owned()]),
            ("help".to_owned(), vec![]),
            ("top".to_owned(), vec!["hyper+x".to_owned()]),
            ("fly".to_owned(), vec!["f9".to_owned()]),
            ("copy-answer".to_owned(), vec!["ctrl+o".to_owned()]),
        ]);
        let (keymap, faults) = Keymap::new(&overrides);
        let means = |name: &str| keymap.action(name.parse().expect(name));
        assert_eq!(means("f5"), Some(Action::Models));
        assert_eq!(means("ctrl+l"), None);
        assert_eq!(means("f1"), None);
        assert_eq!(keymap.keys_of(Action::Models), ["f6", "f5"], "in the order of the settings");
        assert_eq!(keymap.hint(Action::Models).as_deref(), Some("f6"));
        assert!(keymap.keys_of(Action::Help).is_empty());
        assert_eq!(means("ctrl+home"), Some(Action::Top), "a bad key leaves the default in place");
        assert_eq!(means("ctrl+o"), Some(Action::CopyAnswer));
        let was_meant = TABLE.iter().find(|row| row.keys.contains(&"ctrl+o")).expect("a default");
        assert!(!keymap.keys_of(was_meant.action).contains(&"ctrl+o".to_owned()));
        let wrong: Vec<&str> = faults.iter().map(|fault| fault.action.as_str()).collect();
        assert_eq!(wrong, ["fly", "top", "copy-answer"], "{faults:?}");
    }
}
