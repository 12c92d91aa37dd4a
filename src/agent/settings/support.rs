//! Whether tau uses what not every terminal has.

use std::ffi::OsStr;

use serde::{Deserialize, Deserializer, Serialize};

use super::value::{SettingValue, ValueKind, choice};

/// Whether something of the terminal is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    /// Where the terminal is known to have it.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Support {
    const NAMES: [(&str, Support); 3] = [("auto", Support::Auto), ("on", Support::On), ("off", Support::Off)];

    /// Whether it is used, if the terminal is known to have it or not.
    pub(crate) fn uses(self, known: impl FnOnce() -> bool) -> bool {
        match self {
            Support::Auto => known(),
            Support::On => true,
            Support::Off => false,
        }
    }

    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

impl SettingValue for Support {
    const KIND: ValueKind = ValueKind::Choice(|| Support::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        self.name().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, String> {
        choice(value, &Support::NAMES, Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Support::deserialize(deserializer)
    }
}
