//! The settings of the screen that apply while tau runs.

use serde::{Deserialize, Serialize};

use crate::geometry::{Motion, ScreenKind, TerminalUse, TextLayout};
use tau_protocol::screen_settings::EditingMode;
use tau_protocol::status_template::StatusTemplate;

/// The settings of the screen that apply while it runs. The user changes some of them by keys, too: these are the
/// configured ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenSettings {
    /// Whether thinking blocks are folded.
    pub hide_thinking: bool,
    /// The maximum width of prose, and the layout of diffs.
    pub text_layout: TextLayout,
    pub terminal: TerminalUse,
    pub motion: Motion,
    /// The key bindings that edit the composer.
    pub editing_mode: EditingMode,
    pub status_line: StatusTemplate,
    /// Whether a command provides a part of the status line.
    pub status_command: bool,
}

impl ScreenSettings {
    /// Whether anything moves by itself: never for a screen reader, which would read it out.
    pub(crate) fn motion_on(&self, screen: ScreenKind) -> Motion {
        if screen == ScreenKind::Reader { Motion::Still } else { self.motion }
    }
}
