//! The setting `network`, which confines commands.

use serde::Deserialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// Whether commands can use the network.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum NetworkAccess {
    #[default]
    On,
    Off,
}
