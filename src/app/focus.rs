//! The part of the screen that has the keyboard.

/// The part of the screen that keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The user's running command.
    Command,
    /// The overlay on top.
    Overlay,
    /// The search in the transcript.
    Find,
    /// The selected panel.
    Panel,
    /// The prompt of a call that awaits the user's decision. Until it is ready, keys go to the draft.
    Prompt { is_ready: bool },
    /// The composer.
    Composer,
}

impl Focus {
    /// Whether keys go to a command or an overlay, where they mean something else than on the screen below.
    pub fn is_elsewhere(self) -> bool {
        matches!(self, Focus::Command | Focus::Overlay)
    }
}
