//! The setting for displaying pictures on the screen.

use serde::Deserialize;
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The protocol for sending pictures to the terminal.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ImageProtocol {
    /// The best protocol that the terminal is known to support, or reports; else half blocks.
    #[default]
    Auto,
    /// The kitty graphics protocol.
    Kitty,
    /// The file protocol of iTerm2.
    Iterm2,
    Sixel,
    /// Half blocks, which are text.
    Blocks,
    /// No pictures.
    Off,
}
