//! A single line being typed: the query of a picker, a name, a key.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::key::{Key, KeyCode, Mods};

/// The line. Editing happens at its end, which is enough for a query, unless the cursor is moved.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct LineEdit {
    text: String,
    /// Bytes behind the cursor.
    behind: usize,
}

impl From<String> for LineEdit {
    fn from(text: String) -> Self {
        LineEdit::new(text)
    }
}

impl From<LineEdit> for String {
    fn from(line: LineEdit) -> Self {
        line.text
    }
}

impl LineEdit {
    /// A line that begins with `text`.
    pub fn new(text: impl Into<String>) -> Self {
        LineEdit { text: text.into(), behind: 0 }
    }

    /// The typed text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor, and the text behind it.
    pub fn at_cursor(&self) -> (&str, &str) {
        self.text.split_at_checked(self.at()).unwrap_or((&self.text, ""))
    }

    fn at(&self) -> usize {
        self.text.len().saturating_sub(self.behind)
    }

    /// Whether all its words occur in these texts, ignoring case.
    pub(crate) fn matches(&self, texts: &[&str]) -> bool {
        let text = texts.join(" ").to_lowercase();
        self.text.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }

    /// Handles a key; true when the text has changed.
    pub fn key(&mut self, key: Key) -> bool {
        if let Some(c) = key.typed_char() {
            self.text.insert(self.at(), c);
            return true;
        }
        match (key.code, key.mods) {
            // A line end is a blank, as in a paste.
            (KeyCode::Char('j'), Mods::CTRL) => {
                self.text.insert(self.at(), ' ');
                true
            }
            (KeyCode::Backspace, Mods::NONE | Mods::SHIFT) | (KeyCode::Char('h'), Mods::CTRL) => {
                self.delete_cluster()
            }
            (KeyCode::Char('u'), Mods::CTRL) => self.delete_back_to(0),
            (KeyCode::Char('w'), Mods::CTRL) | (KeyCode::Backspace, _) => self.delete_word(),
            _ => false,
        }
    }

    /// Handles a key that moves the cursor or deletes behind it; true when it did. For editable lines, not
    /// queries.
    pub(crate) fn move_key(&mut self, key: Key) -> bool {
        let (before, after) = self.at_cursor();
        let next = after.graphemes(true).next().map_or(0, str::len);
        let back = before.graphemes(true).next_back().map_or(0, str::len);
        let (word_back, word_next) = (before.len() - word_start(before), word_end(after));
        let forward = |by: usize| self.behind - by;
        self.behind = match (key.code, key.mods) {
            (KeyCode::Left, Mods::NONE) | (KeyCode::Char('b'), Mods::CTRL) => self.behind + back,
            (KeyCode::Right, Mods::NONE) | (KeyCode::Char('f'), Mods::CTRL) => forward(next),
            (KeyCode::Left, _) | (KeyCode::Char('b'), Mods::ALT) => self.behind + word_back,
            (KeyCode::Right, _) | (KeyCode::Char('f'), Mods::ALT) => forward(word_next),
            (KeyCode::Home, _) | (KeyCode::Char('a'), Mods::CTRL) => self.text.len(),
            (KeyCode::End, _) | (KeyCode::Char('e'), Mods::CTRL) => 0,
            (KeyCode::Delete, _) | (KeyCode::Char('d'), Mods::CTRL) => return self.delete_forward(next),
            (KeyCode::Char('k'), Mods::CTRL) => return self.delete_forward(after.len()),
            _ => return false,
        };
        true
    }

    /// Adds pasted text without control characters; blanks join its lines.
    pub fn paste(&mut self, text: &str) {
        let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        let clean: String = line.chars().filter(|c| !c.is_control()).collect();
        self.text.insert_str(self.at(), &clean);
    }

    /// Adds pasted text with its lines, where an answer may have several.
    pub(crate) fn paste_lines(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let clean: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
        self.text.insert_str(self.at(), clean.trim_end());
    }

    /// Handles a key that ends a line, where an answer may have several; true when it did.
    pub(crate) fn break_line(&mut self, key: Key) -> bool {
        let breaks = match key.code {
            KeyCode::Enter => key.mods != Mods::NONE,
            KeyCode::Char('j') => key.mods == Mods::CTRL,
            _ => false,
        };
        if breaks {
            self.text.insert(self.at(), '\n');
        }
        breaks
    }

    fn delete_cluster(&mut self) -> bool {
        let last = self.at_cursor().0.grapheme_indices(true).next_back().map(|(at, _)| at);
        last.is_some_and(|at| self.delete_back_to(at))
    }

    fn delete_word(&mut self) -> bool {
        self.delete_back_to(word_start(self.at_cursor().0))
    }

    fn delete_back_to(&mut self, from: usize) -> bool {
        let at = self.at();
        if from < at {
            self.text.replace_range(from..at, "");
        }
        from < at
    }

    /// Always true: the line consumes the key, even at its end.
    fn delete_forward(&mut self, bytes: usize) -> bool {
        let at = self.at();
        self.text.replace_range(at..at + bytes, "");
        self.behind -= bytes;
        true
    }
}

/// Start of the last word of a text.
fn word_start(text: &str) -> usize {
    let last = text.trim_end().char_indices().rfind(|(_, c)| c.is_whitespace());
    last.map_or(0, |(at, c)| at + c.len_utf8())
}

/// End of the first word of a text.
fn word_end(text: &str) -> usize {
    let space = text.len() - text.trim_start().len();
    text.trim_start().find(char::is_whitespace).map_or(text.len(), |at| space + at)
}

/// The text may be a service's key: a debug print shows its length only.
impl std::fmt::Debug for LineEdit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LineEdit({} bytes)", self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_keys(line: &mut LineEdit, keys: &[&str]) -> (String, String) {
        for name in keys {
            let key: Key = name.parse().unwrap();
            let _ = line.key(key) || line.move_key(key);
        }
        let (before, after) = line.at_cursor();
        (before.to_owned(), after.to_owned())
    }

    #[test]
    fn pasted_lines_are_joined_or_kept() {
        let text = "first line\r\nsecond\tline\n\n  third\n";
        let mut line = LineEdit::default();
        line.paste(text);
        assert_eq!(line.text(), "first line secondline third");
        let mut line = LineEdit::new("as it");
        assert_eq!(type_keys(&mut line, &["ctrl+j", "b"]).0, "as it b", "so is a line end");
        let mut line = LineEdit::new("x: ");
        line.paste_lines(text);
        assert_eq!(line.text(), "x: first line\nsecond\tline\n\n  third");
        let breaks = ["ctrl+j", "shift+enter", "alt+enter", "enter", "j"];
        assert_eq!(breaks.map(|key| line.break_line(key.parse().unwrap())), [true, true, true, false, false]);
        assert!(line.text().ends_with("third\n\n\n"));
    }

    #[test]
    fn the_cursor_moves_and_edits_where_it_is() {
        let mut line = LineEdit::new("cargo test 한국");
        let at = |before: &str, after: &str| (before.to_owned(), after.to_owned());
        assert_eq!(type_keys(&mut line, &["left", "left", "x"]), at("cargo test x", "한국"));
        assert_eq!(type_keys(&mut line, &["alt+b", "alt+b"]), at("cargo ", "test x한국"));
        assert_eq!(type_keys(&mut line, &["delete", "T", "ctrl+w"]), at("cargo ", "est x한국"));
        assert_eq!(type_keys(&mut line, &["alt+f", "backspace"]), at("cargo es", " x한국"));
        assert_eq!(
            type_keys(&mut line, &["home", "left", "delete", "end", "right"]),
            at("argo es x한국", "")
        );
        assert_eq!(type_keys(&mut line, &["left", "ctrl+k", "ctrl+a", "ctrl+k"]), at("", ""));
        assert_eq!(type_keys(&mut line, &["backspace", "delete", "ctrl+u", "ctrl+w", "left"]), at("", ""));
    }
}
