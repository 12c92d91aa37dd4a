//! The bindings from keys to actions: the table's defaults with the user's overrides.

use std::collections::BTreeMap;

use super::action::{self, Action, KeyContext, TABLE};
use super::key::{Key, Mods};

/// A fault in the keys that the user set for an action.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFault {
    /// The action's name as written in the settings.
    pub action: String,
    /// The fault, as a sentence.
    pub text: String,
}

/// The key map of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keymap {
    keys: BTreeMap<Key, Action>,
    /// The bindings while a panel is selected.
    panel: BTreeMap<Key, Action>,
    /// The keys of each action, in the given order.
    of_action: BTreeMap<Action, Vec<Key>>,
}

impl Keymap {
    /// The defaults, with the keys of the actions named in `overrides` replaced (an empty list removes an
    /// action's keys). Also returns the faults; an invalid entry leaves the default in place.
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
        if let Some(action) = keymap.action(Key::LEADER).filter(|_| keymap.keys.keys().any(Key::is_led)) {
            faults.push(KeyFault {
                action: action.name().to_owned(),
                text: format!("{} no longer begins other keys", Key::LEADER),
            });
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

    /// The key's action in a context.
    pub(crate) fn action_in(&self, context: KeyContext, key: Key) -> Option<Action> {
        match context {
            KeyContext::Panel => self.panel_action(key),
            KeyContext::Composer | KeyContext::Screen => self.action(key),
        }
    }

    /// The key's action.
    pub fn action(&self, key: Key) -> Option<Action> {
        self.keys.get(&key).copied()
    }

    /// Whether the key is the leader, which begins others.
    pub(crate) fn begins_others(&self, key: Key) -> bool {
        key == Key::LEADER && self.action(key).is_none() && self.keys.keys().any(Key::is_led)
    }

    /// The key's action on a selected panel.
    pub(crate) fn panel_action(&self, key: Key) -> Option<Action> {
        self.panel.get(&key).copied()
    }

    /// The keys of the action in display form; empty when it has none.
    pub fn keys_of(&self, action: Action) -> Vec<String> {
        self.of_action.get(&action).into_iter().flatten().map(Key::to_string).collect()
    }

    /// The key to show in a hint: the first of the action's keys, on a Mac the first that arrives there with
    /// default settings; `None` when it has none.
    pub fn hint(&self, action: Action) -> Option<String> {
        let keys = self.of_action.get(&action)?;
        let arriving = keys.iter().find(|key| key.arrives_everywhere()).filter(|_| cfg!(target_os = "macos"));
        arriving.or(keys.first()).map(Key::to_string)
    }

    /// The second keys that follow the leader, with the names of their actions.
    pub(crate) fn leader_keys(&self) -> impl Iterator<Item = (String, &'static str)> {
        let led = self.keys.iter().filter(|(key, _)| key.is_led());
        led.map(|(key, action)| {
            let second = Key { mods: key.mods.without(Mods::LED), ..*key };
            (second.to_string(), action.name())
        })
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

    /// On a Mac with default settings, in a terminal without a keyboard protocol.
    #[test]
    fn every_action_that_has_a_key_has_one_that_arrives_everywhere() {
        for row in TABLE {
            let keys: Vec<Key> = row.keys.iter().map(|name| name.parse().expect(name)).collect();
            assert!(keys.iter().any(Key::arrives_everywhere), "{}: {:?}", row.name, row.keys);
        }
        let arrives = |name: &str| name.parse::<Key>().expect(name).arrives_everywhere();
        for name in
            ["ctrl+a", "ctrl+_", "ctrl+x t", "ctrl+x enter", "shift+tab", "alt+left", "?", "delete", "up"]
        {
            assert!(arrives(name), "{name}");
        }
        for name in [
            "alt+t", "alt+enter", "ctrl+shift+p", "shift+enter", "ctrl+up", "ctrl+7", "f1", "ctrl+i",
            "pageup",
        ] {
            assert!(!arrives(name), "{name}");
        }
    }

    #[test]
    fn the_leader_begins_others_unless_it_means_something_itself() {
        let (keymap, faults) = Keymap::new(&BTreeMap::new());
        assert!(faults.is_empty() && keymap.begins_others(Key::LEADER));
        let thinking: Key = "ctrl+x t".parse().expect("a key");
        assert_eq!(keymap.action(thinking), Some(Action::Thinking));
        assert_eq!(thinking.to_string(), "ctrl+x t");
        assert!(keymap.leader_keys().any(|(key, name)| key == "t" && name == "thinking"));
        for nonsense in ["ctrl+y t", "ctrl+x ctrl+x t", "ctrl+x", "ctrl+x tt"] {
            assert_ne!(nonsense.parse::<Key>().ok().map(|key| key.is_led()), Some(true), "{nonsense}");
        }
        let own = BTreeMap::from([("copy-answer".to_owned(), vec!["ctrl+x".to_owned()])]);
        let (keymap, faults) = Keymap::new(&own);
        assert!(!keymap.begins_others(Key::LEADER));
        assert_eq!(faults[0].text, "ctrl+x no longer begins other keys");
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
