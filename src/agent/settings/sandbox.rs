//! The settings `sandbox` and `network`, which confine commands.

use std::ffi::OsStr;

use serde::{Deserialize, Deserializer};

use super::value::{SettingValue, ValueKind, choice};
use tau_tools::sandbox::SandboxLevel;
use tau_tools::user_error::UserError;

impl SettingValue for SandboxLevel {
    const KIND: ValueKind = ValueKind::Choice(|| SandboxLevel::ALL.map(SandboxLevel::name).to_vec());

    fn show(&self) -> String {
        self.name().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        choice(value, &SandboxLevel::ALL.map(|level| (level.name(), level)), Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        SandboxLevel::deserialize(deserializer)
    }
}

/// Whether commands can use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    #[default]
    On,
    Off,
}

impl NetworkAccess {
    const NAMES: [(&str, NetworkAccess); 2] = [("on", NetworkAccess::On), ("off", NetworkAccess::Off)];

    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, access)| *access == self).map_or("", |(name, _)| name)
    }
}

impl SettingValue for NetworkAccess {
    const KIND: ValueKind = ValueKind::Choice(|| NetworkAccess::NAMES.map(|(name, _)| name).to_vec());

    fn show(&self) -> String {
        self.name().to_owned()
    }

    fn parse(value: &OsStr) -> Result<Self, UserError> {
        choice(value, &NetworkAccess::NAMES, Self::KIND)
    }

    fn from_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        NetworkAccess::deserialize(deserializer)
    }
}
