//! Keys and mouse as plain data, and their names in key maps, recordings and documents.
//!
//! A key is written `ctrl+o`, `shift+tab`, `alt+enter`, `f1`, `space`, `A`. Conversion from the
//! terminal's events is in `cli/tui/input.rs`; nothing here knows a terminal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which key, without modifiers. A character with shift is that character (`A`, not shift+a).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Insert,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// The named keys; characters and function keys are written as themselves.
const NAMES: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("esc", KeyCode::Esc),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

/// Modifiers that are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mods {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Mods {
    /// No modifier.
    pub const NONE: Mods = Mods { ctrl: false, alt: false, shift: false };
    /// Control alone.
    pub const CTRL: Mods = Mods { ctrl: true, alt: false, shift: false };
    /// Alt alone.
    pub const ALT: Mods = Mods { ctrl: false, alt: true, shift: false };
    /// Shift alone.
    pub const SHIFT: Mods = Mods { ctrl: false, alt: false, shift: true };
}

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub mods: Mods,
}

impl Key {
    /// A key with modifiers.
    pub const fn new(code: KeyCode, mods: Mods) -> Self {
        Key { code, mods }
    }

    /// A key without modifiers.
    pub const fn plain(code: KeyCode) -> Self {
        Key { code, mods: Mods::NONE }
    }

    /// The character this key types: one without control and alt.
    pub fn typed(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.mods.ctrl && !self.mods.alt => Some(c),
            _ => None,
        }
    }
}

/// A key's name could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no key; write it like `ctrl+o`, `alt+enter`, `f1` or `space`")]
pub struct KeyError(String);

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let error = || KeyError(text.to_owned());
        let mut mods = Mods::NONE;
        let mut rest = text;
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "ctrl" => mods.ctrl = true,
                "alt" => mods.alt = true,
                "shift" => mods.shift = true,
                _ => return Err(error()),
            }
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) if c != ' ' => KeyCode::Char(c),
            _ => named(&rest.to_ascii_lowercase()).ok_or_else(error)?,
        };
        Ok(Key { code, mods })
    }
}

fn named(word: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMES.iter().find(|(name, _)| *name == word) {
        return Some(*code);
    }
    let number: u8 = word.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then_some(KeyCode::F(number))
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (held, name) in [(self.mods.ctrl, "ctrl+"), (self.mods.alt, "alt+"), (self.mods.shift, "shift+")] {
            if held {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::F(number) => write!(f, "f{number}"),
            code => match NAMES.iter().find(|(_, known)| *known == code) {
                Some((name, _)) => f.write_str(name),
                None => match code {
                    KeyCode::Char(c) => write!(f, "{c}"),
                    _ => Ok(()),
                },
            },
        }
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What the mouse did, at a cell of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mouse {
    pub kind: MouseKind,
    pub column: u16,
    pub row: u16,
}

/// Kinds of mouse events. Only the left button counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MouseKind {
    Down,
    Drag,
    Up,
    WheelUp,
    WheelDown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_back() {
        for name in ["ctrl+o", "shift+tab", "alt+enter", "f1", "f12", "space", "A", "+", "ctrl++", "ctrl+alt+x"] {
            let key: Key = name.parse().expect(name);
            assert_eq!(key.to_string(), name);
        }
    }

    #[test]
    fn what_is_no_key_is_named_in_the_error() {
        for name in ["", "hyper+x", "ctrl+", "f99", "enterr"] {
            let error = name.parse::<Key>().expect_err(name);
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    }
}
