//! The question of the first start: which permission mode is to be used.

use super::key::{Key, KeyCode, Mods};
use super::outcome::KeyOutcome;
use crate::agent::protocol::approval::PermissionMode;

/// The modes, in the order in which they are shown, and what each means.
pub const ANSWERS: [(PermissionMode, &str); 3] = [
    (PermissionMode::Ask, "tau asks before a command runs or a file changes; reading is free"),
    (PermissionMode::Auto, "tau asks only where protected paths or your rules say so"),
    (PermissionMode::Plan, "nothing can change; the model ends with a plan that you accept"),
];

/// The question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModeQuestion {
    /// The answer that is marked.
    pub selected: usize,
}

impl ModeQuestion {
    /// A key.
    pub(crate) fn key(&mut self, key: Key) -> KeyOutcome<PermissionMode> {
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return KeyOutcome::Closed,
            (KeyCode::Up, _) => self.selected = self.selected.saturating_sub(1),
            (KeyCode::Down, _) => self.selected = (self.selected + 1).min(ANSWERS.len() - 1),
            (KeyCode::Enter, _) => {
                return KeyOutcome::Done(ANSWERS.get(self.selected).map_or(PermissionMode::Ask, |it| it.0));
            }
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }
}
