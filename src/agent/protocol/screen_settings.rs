//! Settings of the screen that have a few named values.

use serde::{Deserialize, Serialize};

/// The key bindings for editing text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EditingMode {
    /// Readline and Emacs keys, as in the table of actions.
    #[default]
    Emacs,
    /// Vim's normal, insert and visual modes.
    Vim,
}

impl EditingMode {
    /// The values with their names in settings.
    pub const NAMES: [(&str, EditingMode); 2] = [("emacs", EditingMode::Emacs), ("vim", EditingMode::Vim)];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// The fate of a session at work whose terminal is closed or disconnected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnHangup {
    /// The run is stopped, and tau ends.
    #[default]
    Stop,
    /// The session continues in the background.
    Continue,
}

impl OnHangup {
    /// The values with their names in settings.
    pub const NAMES: [(&str, OnHangup); 2] = [("stop", OnHangup::Stop), ("continue", OnHangup::Continue)];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// How tau notifies you, while its window is not focused, that a run has finished or that it needs an
/// answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

impl Notify {
    /// The values with their names in settings.
    pub const NAMES: [(&str, Notify); 6] = [
        ("auto", Notify::Auto),
        ("off", Notify::Off),
        ("bell", Notify::Bell),
        ("osc9", Notify::Osc9),
        ("osc99", Notify::Osc99),
        ("osc777", Notify::Osc777),
    ];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// Whether a terminal feature is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// The values with their names in settings.
    pub const NAMES: [(&str, Support); 3] =
        [("auto", Support::Auto), ("on", Support::On), ("off", Support::Off)];

    /// True if the feature is used; `known` says whether the terminal is known to support it.
    pub fn uses(self, known: impl FnOnce() -> bool) -> bool {
        match self {
            Support::Auto => known(),
            Support::On => true,
            Support::Off => false,
        }
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// The layout of diffs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffLayout {
    /// Side by side if the window is wide.
    #[default]
    Auto,
    /// In one column.
    Unified,
    /// Side by side.
    Split,
}

impl DiffLayout {
    /// The values with their names in settings.
    pub const NAMES: [(&str, DiffLayout); 3] =
        [("auto", DiffLayout::Auto), ("unified", DiffLayout::Unified), ("split", DiffLayout::Split)];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, layout)| *layout == self).map_or("", |(name, _)| name)
    }
}
