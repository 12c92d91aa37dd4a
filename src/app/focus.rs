//! The part of the screen that has the keyboard.

use crate::model::Model;

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

impl Model {
    /// The part of the screen that keys go to.
    pub fn focus(&self) -> Focus {
        if self.jobs.owner().is_some() {
            Focus::Command
        } else if !self.overlays.is_empty() {
            Focus::Overlay
        } else if self.transcript.find.is_some() {
            Focus::Find
        } else if self.transcript.selected_panel().is_some() {
            Focus::Panel
        } else if !self.approvals.aside && self.approvals.open().is_some_and(|open| !open.is_answered) {
            Focus::Prompt { is_ready: self.approvals.is_ready(self.now) }
        } else {
            Focus::Composer
        }
    }

    /// Whether keys go to the prompt of a call that awaits the user's decision.
    pub fn takes_answer(&self) -> bool {
        self.focus() == Focus::Prompt { is_ready: true }
    }

    /// Whether that prompt is in the foreground. Keys may still go to the draft.
    pub fn shows_prompt(&self) -> bool {
        matches!(self.focus(), Focus::Prompt { .. })
    }
}
