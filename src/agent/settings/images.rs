//! The setting for displaying pictures on the screen.

use std::ffi::OsStr;

use serde::{Deserialize, Deserializer};

use super::value::{SettingValue, ValueKind, choice};
use tau_tools::user_error::UserError;

/// The protocol for sending pictures to the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageProtocol {
    /// The best protocol that the terminal is known to support, or reports; else half blocks.
    #[default]
    Auto,
    /// The kitty graphics protocol.
    Kitty,
    /// The file protocol of iTerm2.
    Iterm2,
    /// Sixel.
    Sixel,
    /// Half blocks, which are text.
    Blocks,
    /// No pictures.
    Off,
}

impl ImageProtocol {
    const NAMES: [(&str, ImageProtocol); 6] = [
        ("auto", ImageProtocol::Auto),
        ("kitty", ImageProtocol::Kitty),
        ("iterm2", ImageProtocol::Iterm2),
        ("sixel", ImageProtocol::Sixel),
        ("blocks", ImageProtocol::Blocks),
        ("off", ImageProtocol::Off),
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, protocol)| *protocol == self).map_or("", |(name, _)| name)
    }
}

impl SettingValue for ImageProtocol {
    const KIND: ValueKind = ValueKind::Choice(|| ImageProtocol::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        self.name().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        choice(value, &ImageProtocol::NAMES, Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ImageProtocol::deserialize(deserializer)
    }
}
