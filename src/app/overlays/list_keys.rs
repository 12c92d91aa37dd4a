//! The keys and the filter that all lists share.

use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;

/// A key that means the same in every list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKey {
    Close,
    /// Rows down, or up if negative; beyond an end, to the last or the first row.
    Move(isize),
    /// A digit: the row at this index.
    Row(usize),
    /// The filter is to be typed.
    Filter,
}

/// The effect of a key that all lists share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListStep {
    Closed,
    Handled,
}

/// The filter of a list. As long as nothing is typed, letters and digits are keys of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListFilter {
    line: LineEdit,
    typing: bool,
    /// A key was pressed.
    touched: bool,
    /// The first key, if it was a letter that moved: it is part of the filter if more letters follow.
    first: Option<Key>,
}

impl ListFilter {
    /// A filter that is already being typed.
    pub(crate) fn typed(text: &str) -> Self {
        ListFilter { line: LineEdit::new(text), typing: true, ..ListFilter::default() }
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        self.line.text()
    }

    /// Whether its words all occur in these texts; capitals do not matter.
    pub(crate) fn matches(&self, texts: &[&str]) -> bool {
        self.line.matches(texts)
    }

    /// Whether letters belong to the filter.
    pub(crate) fn is_typed(&self) -> bool {
        self.typing
    }

    /// Makes letters belong to the filter.
    pub(crate) fn begin(&mut self) {
        self.typing = true;
    }

    /// Takes a key; true when the text has changed. Backspace in an empty filter ends typing.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        if let Some(first) = self.first.take().filter(|_| key.typed().is_some()) {
            self.line.key(first);
        }
        let changed = self.line.key(key);
        self.typing = changed || (self.typing && key.code != KeyCode::Backspace);
        changed
    }

    /// Adds pasted text.
    pub(crate) fn paste(&mut self, text: &str) {
        self.line.paste(text);
        self.typing = true;
    }

    /// The meaning of a key in any list; `None` leaves it to the list. `page` is the number of rows on the screen.
    pub(crate) fn list_key(&mut self, key: Key, page: usize) -> Option<ListKey> {
        let moved = move_key(key, page);
        let meant = moved.or_else(|| if self.typing { None } else { letter_key(key) });
        if meant.is_some() {
            let is_first = !self.touched && moved.is_none();
            self.first = matches!(meant, Some(ListKey::Move(_)) if is_first).then_some(key);
        }
        self.touched = true;
        meant
    }

    /// Takes a key that means the same in every list of `count` rows; `None` leaves it to the list.
    pub(crate) fn select(
        &mut self,
        key: Key,
        page: usize,
        selected: &mut usize,
        count: usize,
    ) -> Option<ListStep> {
        match self.list_key(key, page)? {
            ListKey::Close => return Some(ListStep::Closed),
            ListKey::Move(by) => *selected = moved(*selected, by, count),
            ListKey::Row(row) => *selected = row.min(count.saturating_sub(1)),
            ListKey::Filter => self.begin(),
        }
        Some(ListStep::Handled)
    }
}

/// The keys of a list without a filter.
pub(crate) fn list_key(key: Key, page: usize) -> Option<ListKey> {
    ListFilter::default().list_key(key, page)
}

/// Takes a key that means the same in every list, for the answers of a question; `None` leaves it to the question.
pub(crate) fn answer_key(key: Key, selected: &mut usize, count: usize) -> Option<ListStep> {
    ListFilter::default().select(key, count, selected, count)
}

/// The keys that mean the same while text is typed.
pub(crate) fn move_key(key: Key, page: usize) -> Option<ListKey> {
    let page = isize::try_from(page.max(1)).unwrap_or(isize::MAX);
    let by = match (key.code, key.mods) {
        (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => return Some(ListKey::Close),
        (KeyCode::Up, _) | (KeyCode::Char('p'), Mods::CTRL) => -1,
        (KeyCode::Down, _) | (KeyCode::Char('n'), Mods::CTRL) => 1,
        (KeyCode::PageUp, _) => -page,
        (KeyCode::PageDown, _) => page,
        (KeyCode::Home, _) => isize::MIN,
        (KeyCode::End, _) => isize::MAX,
        _ => return None,
    };
    Some(ListKey::Move(by))
}

fn letter_key(key: Key) -> Option<ListKey> {
    Some(match key.typed()? {
        'j' => ListKey::Move(1),
        'k' => ListKey::Move(-1),
        'q' => ListKey::Close,
        '/' => ListKey::Filter,
        digit @ '1'..='9' => ListKey::Row(digit as usize - '1' as usize),
        _ => return None,
    })
}

/// The row that is selected after a move, of `count` rows.
pub(crate) fn moved(selected: usize, by: isize, count: usize) -> usize {
    selected.saturating_add_signed(by).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        name.parse().unwrap()
    }

    #[test]
    fn keys_move_within_the_list() {
        let after = |name: &str| match list_key(key(name), 5) {
            Some(ListKey::Move(by)) => moved(7, by, 10),
            other => panic!("{name}: {other:?}"),
        };
        let keys = ["up", "ctrl+p", "k", "down", "ctrl+n", "j", "pageup", "pagedown", "home", "end"];
        assert_eq!(keys.map(after), [6, 6, 6, 8, 8, 8, 2, 9, 0, 9]);
        assert_eq!(moved(0, 1, 0), 0);
        for name in ["esc", "ctrl+c", "q"] {
            assert_eq!(list_key(key(name), 5), Some(ListKey::Close), "{name}");
        }
        assert_eq!(list_key(key("1"), 5), Some(ListKey::Row(0)));
        assert_eq!(list_key(key("9"), 5), Some(ListKey::Row(8)));
        assert_eq!(list_key(key("/"), 5), Some(ListKey::Filter));
        assert_eq!(["x", "0", "Q"].map(|name| list_key(key(name), 5)), [None; 3]);
    }

    #[test]
    fn a_word_may_begin_with_a_letter_that_moves() {
        let typed = |keys: &[&str]| {
            let mut filter = ListFilter::default();
            for name in keys {
                if filter.list_key(key(name), 5).is_none() {
                    filter.key(key(name));
                }
            }
            filter.text().to_owned()
        };
        assert_eq!(typed(&["k", "e", "y", "s"]), "keys");
        assert_eq!(typed(&["j", "s"]), "js");
        assert_eq!(typed(&["j", "j", "s"]), "s", "it was moved");
        assert_eq!(typed(&["down", "k", "e"]), "e");
        assert_eq!(typed(&["k", "backspace", "e"]), "e");
    }

    #[test]
    fn letters_belong_to_a_filter_that_is_typed() {
        let mut filter = ListFilter::default();
        assert!(filter.key(key("x")));
        for name in ["j", "k", "q", "/", "1"] {
            assert_eq!(filter.list_key(key(name), 5), None, "{name}");
            assert!(filter.key(key(name)));
        }
        assert_eq!(filter.text(), "xjkq/1");
        assert_eq!(filter.list_key(key("down"), 5), Some(ListKey::Move(1)));
        assert!(filter.key(key("ctrl+u")));
        assert_eq!(filter.list_key(key("q"), 5), None, "still typed");
        assert!(!filter.key(key("backspace")));
        assert_eq!(filter.list_key(key("q"), 5), Some(ListKey::Close));
        filter.begin();
        assert_eq!(filter.list_key(key("q"), 5), None);
    }
}
