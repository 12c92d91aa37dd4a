//! The settings `notify` and `progress`: what tau reports to a user who is looking at another window.

use std::ffi::OsStr;

use serde::{Deserialize, Deserializer, Serialize};

use super::value::{SettingValue, ValueKind, choice};

/// How tau notifies you, while its window is not focused, that a run has finished or that it is
/// waiting for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notify {
    /// The notification that the terminal is known to understand, otherwise the bell.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// The bell.
    Bell,
    /// The notification of iTerm2 (OSC 9).
    Osc9,
    /// The notification of kitty (OSC 99).
    Osc99,
    /// The notification of rxvt-unicode (OSC 777).
    Osc777,
}

impl Notify {
    const NAMES: [(&str, Notify); 6] = [
        ("auto", Notify::Auto),
        ("off", Notify::Off),
        ("bell", Notify::Bell),
        ("osc9", Notify::Osc9),
        ("osc99", Notify::Osc99),
        ("osc777", Notify::Osc777),
    ];
}

impl SettingValue for Notify {
    const KIND: ValueKind = ValueKind::Choice(|| Notify::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        Notify::NAMES.iter().find(|(_, value)| value == self).map_or("", |(name, _)| name).to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, String> {
        choice(value, &Notify::NAMES, Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Notify::deserialize(deserializer)
    }
}
