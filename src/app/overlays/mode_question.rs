//! The question at the first start: the permission mode to use.

use super::list_keys::choice_key;
use super::quiet::Quiet;
use crate::key::Key;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use tau_protocol::approval::PermissionMode;
use tau_protocol::chosen::ChosenMode;

/// An answer: the chosen mode, its name, and its meaning.
pub type ModeAnswer = (ChosenMode, &'static str, &'static str);

const fn plain(mode: PermissionMode) -> ChosenMode {
    ChosenMode { mode, sandbox: None }
}

const SANDBOXED: ModeAnswer = (
    ChosenMode::SANDBOXED,
    "auto in a sandbox",
    "run without questions; the kernel lets commands change only this folder and temporary files",
);
const ASK: ModeAnswer =
    (plain(PermissionMode::Ask), "ask", "read; tau asks before a command runs or a file changes");
const EDITS: ModeAnswer =
    (plain(PermissionMode::Edits), "edits", "change files in this folder; tau asks before a command runs");
const AUTO: ModeAnswer = (plain(PermissionMode::Auto), "auto", "run without questions and without a sandbox");

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub struct ModeQuestion {
    /// The answers, the recommended one first.
    pub answers: Vec<ModeAnswer>,
    /// The marked answer.
    pub selected: usize,
    pub(crate) quiet: Quiet,
}

impl ModeQuestion {
    /// A question that appears now; `can_sandbox` tells whether commands can be confined.
    pub fn new(can_sandbox: bool, now: Millis) -> Self {
        let all = [Some(SANDBOXED).filter(|_| can_sandbox), Some(ASK), Some(EDITS), Some(AUTO)];
        ModeQuestion { answers: all.into_iter().flatten().collect(), selected: 0, quiet: Quiet::new(now) }
    }

    /// Handles a key.
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome<ChosenMode> {
        let answers: Vec<ChosenMode> = self.answers.iter().map(|(chosen, ..)| *chosen).collect();
        choice_key(key, &mut self.selected, &answers)
    }
}
