//! Settings of the screen that have a few named values.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

/// The key bindings for editing text.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum EditingMode {
    /// Readline and Emacs keys, as in the table of actions.
    #[default]
    Emacs,
    /// Vim's normal, insert and visual modes.
    Vim,
}

/// The fate of a session at work whose terminal is closed or disconnected.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum OnHangup {
    /// The run is stopped, and tau ends.
    #[default]
    Stop,
    /// The session continues in the background.
    Continue,
}

/// How tau notifies you, while its window is not focused, that a run has finished or that it needs an
/// answer.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Notify {
    /// The notification that the terminal is known to support, otherwise the bell.
    #[default]
    Auto,
    /// No notification.
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

/// Whether a terminal feature is used.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Support {
    /// If the terminal is known to support it.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Support {
    /// True if the feature is used; `known` says whether the terminal is known to support it.
    pub fn uses(self, known: impl FnOnce() -> bool) -> bool {
        match self {
            Support::Auto => known(),
            Support::On => true,
            Support::Off => false,
        }
    }
}

/// The layout of diffs.
#[derive(EnumString, IntoStaticStr, VariantNames)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum DiffLayout {
    /// Side by side if the window is wide.
    #[default]
    Auto,
    /// In one column.
    Unified,
    /// Side by side.
    Split,
}
