//! The help overlay: what is typed to filter it, and how far it is scrolled.

use super::key::{Key, KeyCode, Mods};
use super::line_edit::LineEdit;
use super::outcome::KeyOutcome;

/// The state of the help overlay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HelpView {
    query: LineEdit,
    /// The first row shown.
    pub scroll: usize,
}

impl HelpView {
    /// What has been typed.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Whether the words of the query all occur in these texts; capitals do not matter.
    pub(crate) fn matches(&self, texts: &[&str]) -> bool {
        self.query.matches(texts)
    }

    /// Takes a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<()> {
        let page = page.max(1);
        self.scroll = match (key.code, key.mods) {
            (KeyCode::Esc | KeyCode::Enter | KeyCode::F(1), _) | (KeyCode::Char('c'), Mods::CTRL) => {
                return KeyOutcome::Closed;
            }
            (KeyCode::Up, _) | (KeyCode::Char('p'), Mods::CTRL) => self.scroll.saturating_sub(1),
            (KeyCode::Down, _) | (KeyCode::Char('n'), Mods::CTRL) => self.scroll.saturating_add(1),
            (KeyCode::PageUp, _) => self.scroll.saturating_sub(page),
            (KeyCode::PageDown, _) => self.scroll.saturating_add(page),
            (KeyCode::Home, _) => 0,
            (KeyCode::End, _) => usize::MAX,
            _ if self.query.key(key) => 0,
            _ => return KeyOutcome::Ignored,
        };
        KeyOutcome::Handled
    }

    /// Adds pasted text to the query.
    pub(crate) fn paste(&mut self, text: &str) {
        self.query.paste(text);
        self.scroll = 0;
    }

    /// The first of `rows` rows to show when `fit` rows fit.
    pub(crate) fn first(&self, rows: usize, fit: usize) -> usize {
        self.scroll.min(rows.saturating_sub(fit))
    }
}
