//! A single line being typed: the query of a picker, a name, a key.

use unicode_segmentation::UnicodeSegmentation;

use super::key::{Key, KeyCode, Mods};

/// The line. Editing happens at its end, which is all that a query needs.
#[derive(Clone, Default, PartialEq)]
pub struct LineEdit {
    text: String,
}

impl LineEdit {
    /// A line that begins with `text`.
    pub fn new(text: impl Into<String>) -> Self {
        LineEdit { text: text.into() }
    }

    /// What has been typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its words all occur in these texts; capitals do not matter.
    pub(crate) fn matches(&self, texts: &[&str]) -> bool {
        let text = texts.join(" ").to_lowercase();
        self.text.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }

    /// Takes a key; true when the text has changed.
    pub fn key(&mut self, key: Key) -> bool {
        if let Some(c) = key.typed() {
            self.text.push(c);
            return true;
        }
        match (key.code, key.mods) {
            (KeyCode::Backspace, Mods::NONE | Mods::SHIFT) | (KeyCode::Char('h'), Mods::CTRL) => {
                self.delete_cluster()
            }
            (KeyCode::Char('u'), Mods::CTRL) => !std::mem::take(&mut self.text).is_empty(),
            (KeyCode::Char('w'), Mods::CTRL) | (KeyCode::Backspace, _) => self.delete_word(),
            _ => false,
        }
    }

    /// Adds pasted text: its first line, without control characters.
    pub fn paste(&mut self, text: &str) {
        let line = text.lines().next().unwrap_or("");
        self.text.extend(line.chars().filter(|c| !c.is_control()));
    }

    fn delete_cluster(&mut self) -> bool {
        let last = self.text.grapheme_indices(true).next_back().map(|(at, _)| at);
        last.map(|at| self.text.truncate(at)).is_some()
    }

    fn delete_word(&mut self) -> bool {
        let trimmed = self.text.trim_end();
        let keep = trimmed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let changed = keep < self.text.len();
        self.text.truncate(keep);
        changed
    }
}

/// What is typed may be a key to a service: a debug print shows its length only.
impl std::fmt::Debug for LineEdit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LineEdit({} bytes)", self.text.len())
    }
}
