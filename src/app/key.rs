//! Keys and the mouse as plain data.
//!
//! A key has one spelling: `ctrl+shift+p`, `alt+enter`, `f1`, `a`, `space`. The same text is in the action
//! table, in `config.toml`, in recordings and on the help page. Terminal input is brought to this form in
//! `cli::tui::input`; nothing here knows a terminal.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Held modifier keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mods(u8);

impl Mods {
    /// No modifier.
    pub const NONE: Mods = Mods(0);
    /// Control.
    pub const CTRL: Mods = Mods(1);
    /// Alt, also called Option and Meta.
    pub const ALT: Mods = Mods(2);
    /// Shift; implied, and therefore absent, where a character alone shows it (`A`, `?`).
    pub const SHIFT: Mods = Mods(4);
    /// Super, also called Command and Windows.
    pub const SUPER: Mods = Mods(8);

    /// Pressed after the leader, which is written before it: `ctrl+x t`.
    pub(crate) const LED: Mods = Mods(16);

    /// The modifiers with their names, in written order.
    const NAMES: [(&'static str, Mods); 4] =
        [("ctrl", Mods::CTRL), ("alt", Mods::ALT), ("shift", Mods::SHIFT), ("super", Mods::SUPER)];

    /// Other accepted names of modifiers.
    const ALIASES: [(&'static str, Mods); 6] = [
        ("control", Mods::CTRL),
        ("meta", Mods::ALT),
        ("option", Mods::ALT),
        ("opt", Mods::ALT),
        ("cmd", Mods::SUPER),
        ("win", Mods::SUPER),
    ];

    /// The union of both sets.
    pub const fn with(self, other: Mods) -> Mods {
        Mods(self.0 | other.0)
    }

    /// These modifiers without `other`.
    pub const fn without(self, other: Mods) -> Mods {
        Mods(self.0 & !other.0)
    }

    /// Whether all of `other` are held.
    pub const fn has(self, other: Mods) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether no modifier is held.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    fn is_unset(&self) -> bool {
        self.is_none()
    }

    fn from_name(name: &str) -> Option<Mods> {
        let name = name.to_ascii_lowercase();
        let mut known = Self::NAMES.iter().chain(&Self::ALIASES);
        known.find(|(word, _)| *word == name).map(|(_, mods)| *mods)
    }
}

/// The key itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    /// A character. With ctrl, alt or super a letter is in lower case and shift is a modifier.
    Char(char),
    Enter,
    Esc,
    Tab,
    Backspace,
    Delete,
    Insert,
    Home,
    End,
    PageUp,
    PageDown,
    Up,
    Down,
    Left,
    Right,
    /// A function key, from 1.
    F(u8),
}

impl KeyCode {
    /// Named keys; the first name of a key is the canonical one.
    const NAMES: [(&'static str, KeyCode); 24] = [
        ("enter", KeyCode::Enter),
        ("return", KeyCode::Enter),
        ("esc", KeyCode::Esc),
        ("escape", KeyCode::Esc),
        ("tab", KeyCode::Tab),
        ("backspace", KeyCode::Backspace),
        ("delete", KeyCode::Delete),
        ("del", KeyCode::Delete),
        ("insert", KeyCode::Insert),
        ("ins", KeyCode::Insert),
        ("home", KeyCode::Home),
        ("end", KeyCode::End),
        ("pageup", KeyCode::PageUp),
        ("pgup", KeyCode::PageUp),
        ("pagedown", KeyCode::PageDown),
        ("pgdown", KeyCode::PageDown),
        ("pgdn", KeyCode::PageDown),
        ("up", KeyCode::Up),
        ("down", KeyCode::Down),
        ("left", KeyCode::Left),
        ("right", KeyCode::Right),
        ("space", KeyCode::Char(' ')),
        ("plus", KeyCode::Char('+')),
        ("minus", KeyCode::Char('-')),
    ];

    fn parse(text: &str) -> Option<KeyCode> {
        let mut chars = text.chars();
        if let (Some(single), None) = (chars.next(), chars.next()) {
            return Some(KeyCode::Char(single));
        }
        let name = text.to_ascii_lowercase();
        if let Some((_, code)) = Self::NAMES.iter().find(|(known, _)| *known == name) {
            return Some(*code);
        }
        let number: u8 = name.strip_prefix('f')?.parse().ok()?;
        (1..=24).contains(&number).then_some(KeyCode::F(number))
    }
}

impl fmt::Display for KeyCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyCode::Char(' ') => f.write_str("space"),
            KeyCode::Char(character) => write!(f, "{character}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            named => {
                let name = Self::NAMES.iter().find(|(_, code)| code == named);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

/// A key with its modifiers, in the one form that [`Key::new`] makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: KeyCode,
    pub mods: Mods,
}

impl Key {
    /// The key that begins others: not every terminal sends Alt and Shift with a letter, so those keys have a
    /// second binding that begins with it.
    pub(crate) const LEADER: Key = Key { code: KeyCode::Char('x'), mods: Mods::CTRL };

    /// This key, pressed after the leader.
    pub(crate) fn with_leader(self) -> Key {
        Key { mods: self.mods.with(Mods::LED), ..self }
    }

    /// Whether it follows the leader.
    pub(crate) fn is_led(&self) -> bool {
        self.mods.has(Mods::LED)
    }

    /// Whether every terminal sends it with default settings: on a Mac, Option with a letter types a
    /// character, Ctrl with an arrow or a digit belongs to the window manager, F-keys are for light and
    /// sound, Home, End and PageUp scroll Terminal's own window; and without a keyboard protocol Shift cannot
    /// be detected.
    pub(crate) fn arrives_everywhere(&self) -> bool {
        let mods = self.mods.without(Mods::LED);
        let is_sent_with_ctrl = |c: char| (c.is_ascii_lowercase() && !"im".contains(c)) || "_]\\".contains(c);
        match self.code {
            KeyCode::F(_) | KeyCode::Home | KeyCode::End => false,
            KeyCode::PageUp | KeyCode::PageDown | KeyCode::Insert => false,
            KeyCode::Tab => mods.without(Mods::SHIFT).is_none(),
            // These are sent as Escape and `b` or `f`, or as Alt with the arrow.
            KeyCode::Left | KeyCode::Right => mods.without(Mods::ALT).is_none(),
            KeyCode::Char(c) if mods == Mods::CTRL => is_sent_with_ctrl(c),
            KeyCode::Char(_) | KeyCode::Enter | KeyCode::Esc | KeyCode::Backspace | KeyCode::Delete => {
                mods.is_none()
            }
            KeyCode::Up | KeyCode::Down => mods.is_none(),
        }
    }

    /// A key in canonical form: shift is dropped where the character shows it, and a letter held with ctrl,
    /// alt or super is lower case with shift as a modifier.
    pub fn new(code: KeyCode, mods: Mods) -> Self {
        let KeyCode::Char(character) = code else { return Key { code, mods } };
        if mods.without(Mods::SHIFT).is_none() {
            let typed = if mods.has(Mods::SHIFT) { single_upper(character) } else { character };
            let mods = if typed == ' ' { mods } else { mods.without(Mods::SHIFT) };
            return Key { code: KeyCode::Char(typed), mods };
        }
        if !character.is_uppercase() {
            return Key { code, mods };
        }
        Key { code: KeyCode::Char(single_lower(character)), mods: mods.with(Mods::SHIFT) }
    }

    /// A key without modifiers.
    pub fn plain(code: KeyCode) -> Self {
        Key::new(code, Mods::NONE)
    }

    /// The character this key types, if any.
    pub fn typed_char(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(character) if self.mods.without(Mods::SHIFT).is_none() => Some(character),
            _ => None,
        }
    }

    /// The index of the row that this key, a digit, names: 0 for `1`.
    pub(crate) fn row(&self) -> Option<usize> {
        (self.typed_char()?.to_digit(10)? as usize).checked_sub(1)
    }

    /// Parses the text form; modifiers in any order, names in any case.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let wrong = || KeyError(text.to_owned());
        let text = text.trim();
        if let Some((first, second)) = text.split_once(char::is_whitespace) {
            let key = Key::parse(second).map_err(|_| wrong())?;
            let is_led = Key::parse(first) == Ok(Key::LEADER) && !key.is_led();
            return if is_led { Ok(key.with_leader()) } else { Err(wrong()) };
        }
        // The plus key itself: `+`, `ctrl++`.
        let (head, code) = match text.strip_suffix('+') {
            Some("") => ("", "+"),
            Some(head) => (head.strip_suffix('+').ok_or_else(wrong)?, "+"),
            None => text.rsplit_once('+').unwrap_or(("", text)),
        };
        let mut mods = Mods::NONE;
        for word in head.split('+').filter(|_| !head.is_empty()) {
            mods = mods.with(Mods::from_name(word.trim()).ok_or_else(wrong)?);
        }
        // `Ctrl+O` usually means ctrl+o; shift counts only when named.
        let code = match KeyCode::parse(code.trim()).ok_or_else(wrong)? {
            KeyCode::Char(letter) if !mods.without(Mods::SHIFT).is_none() => {
                KeyCode::Char(single_lower(letter))
            }
            code => code,
        };
        Ok(Key::new(code, mods))
    }
}

fn single_upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

fn single_lower(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_led() {
            write!(f, "{} ", Key::LEADER)?;
        }
        for (name, mods) in Mods::NAMES {
            if self.mods.has(mods) {
                write!(f, "{name}+")?;
            }
        }
        self.code.fmt(f)
    }
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Key::parse(text)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Key::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A text that is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a key (write it as ctrl+o, shift+tab, alt+enter, ctrl+x t, f1, space or a)")]
pub struct KeyError(String);

/// A mouse event: action, position and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mouse {
    pub kind: MouseKind,
    /// Column of the screen, from 0.
    pub column: u16,
    /// Row of the screen, from 0.
    pub row: u16,
    #[serde(default, skip_serializing_if = "Mods::is_unset")]
    pub mods: Mods,
}

/// The action of the mouse. Moving without a button is never reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseKind {
    Down(MouseButton),
    Up(MouseButton),
    /// Moved with the button held.
    Drag(MouseButton),
    ScrollUp,
    ScrollDown,
    ScrollLeft,
    ScrollRight,
}

/// A mouse button.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MouseButton {
    Left,
    Middle,
    Right,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_is_read_and_written() {
        // (as a user may write it, canonical form)
        let cases = [
            ("ctrl+o", "ctrl+o"),
            ("Ctrl+O", "ctrl+o"),
            ("Ctrl+Shift+O", "ctrl+shift+o"),
            ("shift+tab", "shift+tab"),
            ("alt+enter", "alt+enter"),
            ("Enter", "enter"),
            ("RETURN", "enter"),
            ("f1", "f1"),
            ("F24", "f24"),
            ("a", "a"),
            ("A", "A"),
            ("shift+a", "A"),
            ("?", "?"),
            ("space", "space"),
            (" ", "err"),
            ("shift+ctrl+p", "ctrl+shift+p"),
            ("super+control+alt+shift+x", "ctrl+alt+shift+super+x"),
            ("ctrl+_", "ctrl+_"),
            ("+", "+"),
            ("plus", "+"),
            ("ctrl++", "ctrl++"),
            ("ctrl+plus", "ctrl++"),
            ("pgdn", "pagedown"),
            ("option+left", "alt+left"),
            ("é", "é"),
            ("", "err"),
            ("ctrl+", "err"),
            ("hyper+a", "err"),
            ("f0", "err"),
            ("f25", "err"),
            ("entr", "err"),
        ];
        for (text, expected) in cases {
            let key = Key::parse(text);
            let written = key.as_ref().map_or("err".to_owned(), Key::to_string);
            assert_eq!(written, expected, "{text:?} -> {key:?}");
            if let Ok(key) = key {
                assert_eq!(Key::parse(&key.to_string()), Ok(key), "{text:?} does not survive");
            }
        }
    }

    #[test]
    fn every_key_survives_being_written() {
        let named = KeyCode::NAMES.iter().map(|(_, code)| *code);
        let codes = named.chain((1..=24).map(KeyCode::F)).chain("aZ é+-".chars().map(KeyCode::Char));
        for code in codes {
            for mods in 0..16 {
                let key = Key::new(code, Mods(mods));
                assert_eq!(Key::parse(&key.to_string()), Ok(key), "{key}");
                let json = serde_json::to_string(&key).unwrap();
                assert_eq!(serde_json::from_str::<Key>(&json).unwrap(), key);
            }
        }
    }

    #[test]
    fn a_key_types_its_character_only_alone() {
        for (text, typed) in
            [("a", Some('a')), ("A", Some('A')), ("space", Some(' ')), ("ctrl+a", None), ("tab", None)]
        {
            assert_eq!(Key::parse(text).unwrap().typed_char(), typed, "{text}");
        }
    }
}
