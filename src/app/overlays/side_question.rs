//! The box of a side question: the answer as it streams, which is no part of the conversation.

use crate::key::{Key, KeyCode, Mods};
use crate::outcome::KeyOutcome;

/// The box.
#[derive(Clone, Debug, PartialEq)]
pub struct SideQuestionView {
    /// Names the question in events.
    pub id: String,
    pub question: String,
    /// The answer so far, as markdown.
    pub answer: String,
    /// Whether the answer is still coming.
    pub is_open: bool,
    /// The reason why there is no complete answer.
    pub error: Option<String>,
    /// The first displayed row.
    pub scroll: usize,
}

impl SideQuestionView {
    /// The box of a question that was just asked.
    pub fn new(id: String, question: &str) -> Self {
        let (question, answer) = (question.to_owned(), String::new());
        SideQuestionView { id, question, answer, is_open: true, error: None, scroll: 0 }
    }

    /// Handles a key; `page` is the number of rows by which it can be scrolled down.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<()> {
        match (key.code, key.mods) {
            (KeyCode::Esc | KeyCode::Enter, Mods::NONE) | (KeyCode::Char('c'), Mods::CTRL) => {
                return KeyOutcome::Closed;
            }
            (KeyCode::PageUp, _) => self.scroll = self.scroll.saturating_sub(10),
            (KeyCode::PageDown, _) => self.scroll = self.scroll.saturating_add(page.min(10)),
            (KeyCode::Up, _) => self.scroll = self.scroll.saturating_sub(1),
            (KeyCode::Down, _) => self.scroll = self.scroll.saturating_add(page.min(1)),
            _ => return KeyOutcome::Ignored,
        }
        KeyOutcome::Handled
    }
}
