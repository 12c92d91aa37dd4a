//! Whose keys edit the text that is being written.

use std::ffi::OsStr;

use serde::{Deserialize, Deserializer, Serialize};

use super::value::{SettingValue, ValueKind, choice};

/// Whose keys edit the text that is being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditingMode {
    /// Those of readline and Emacs, as the table of actions has them.
    #[default]
    Emacs,
    /// Normal, insert and visual mode of vim.
    Vim,
}

impl EditingMode {
    const NAMES: [(&str, EditingMode); 2] = [("emacs", EditingMode::Emacs), ("vim", EditingMode::Vim)];

    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

impl SettingValue for EditingMode {
    const KIND: ValueKind = ValueKind::Choice(|| EditingMode::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        self.name().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, String> {
        choice(value, &EditingMode::NAMES, Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EditingMode::deserialize(deserializer)
    }
}
