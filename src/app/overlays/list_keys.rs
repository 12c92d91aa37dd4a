//! The keys and the filter that all lists share.

use crate::approval::QUIET;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;

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

/// The filter of a list. As long as nothing is typed, letters and digits are keys of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListFilter {
    line: LineEdit,
    typing: bool,
}

/// Letters that are keys of a list, and the beginning of its filter if another letter follows soon.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PendingLetters {
    text: String,
    /// The last of them, if it does something that a move does not undo: it waits for what follows.
    pub(crate) held: Option<Key>,
    at: Millis,
}

/// The treatment of a key at a list whose filter is not typed yet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListLetter {
    /// It acts at once.
    Acts,
    /// It waits for what follows.
    Waits,
    /// It continues a word that begins with this.
    Continues(String),
}

impl PendingLetters {
    /// The treatment of a key after `before`, and what it begins; `held` are the letters that wait.
    pub(crate) fn follow(
        before: Option<PendingLetters>,
        key: Key,
        held: &str,
        now: Millis,
    ) -> (ListLetter, Option<PendingLetters>) {
        let before = before.filter(|before| !before.is_over(now));
        let is_number =
            before.as_ref().and_then(|before| before.held?.typed_char()).is_some_and(|c| c.is_ascii_digit());
        let Some(letter) = key.typed_char().filter(|letter| *letter != ' ' || is_number) else {
            return (ListLetter::Acts, None);
        };
        let begun = |text: String, held| Some(PendingLetters { text, held, at: now });
        match before {
            // Pressed twice, it is no word, but may be a number.
            Some(before) if before.held == Some(key) && !letter.is_ascii_digit() => (ListLetter::Acts, None),
            Some(before) if before.held.is_some() => (ListLetter::Continues(before.text), None),
            before if held.contains(letter) => {
                let before = before.map(|before| before.text).unwrap_or_default();
                (ListLetter::Waits, begun(format!("{before}{letter}"), Some(key)))
            }
            None if matches!(letter, 'j' | 'k' | '1'..='9') => {
                (ListLetter::Acts, begun(letter.to_string(), None))
            }
            None => (ListLetter::Acts, None),
            // It is moved.
            Some(_) if matches!(letter, 'j' | 'k') => (ListLetter::Acts, None),
            Some(before) if before.text == letter.to_string() => {
                (ListLetter::Acts, begun(letter.to_string(), None))
            }
            Some(before) => (ListLetter::Continues(before.text), None),
        }
    }

    /// The beginning of a word in the draft, if the key is one of these letters, which move in what is shown.
    pub(crate) fn by_move(key: Key, letters: &str, now: Millis) -> Option<PendingLetters> {
        let letter = key.typed_char().filter(|letter| letters.contains(*letter))?;
        Some(PendingLetters { text: letter.to_string(), held: None, at: now })
    }

    /// Whether this letter, typed now, makes a word of a letter that waits.
    pub(crate) fn is_continued(&self, key: Key, now: Millis) -> bool {
        self.held.is_some_and(|held| held != key) && !self.is_over(now)
    }

    /// The beginning of the word.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Whether nothing followed soon.
    pub(crate) fn is_over(&self, now: Millis) -> bool {
        now - self.at >= QUIET
    }
}

impl ListFilter {
    /// A filter that is already being typed.
    pub(crate) fn with_text(text: &str) -> Self {
        ListFilter { line: LineEdit::new(text), typing: true }
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
    pub(crate) fn list_key(&self, key: Key, page: usize) -> Option<ListKey> {
        move_key(key, page).or_else(|| if self.typing { None } else { letter_key(key) })
    }

    /// Takes a key that means the same in every list of `count` rows; others are left to the list.
    pub(crate) fn select<T>(
        &mut self,
        key: Key,
        page: usize,
        selected: &mut usize,
        count: usize,
    ) -> KeyOutcome<T> {
        match self.list_key(key, page) {
            None => return KeyOutcome::Ignored,
            Some(ListKey::Close) => return KeyOutcome::Closed,
            Some(ListKey::Move(by)) => *selected = step_clamped(*selected, by, count),
            Some(ListKey::Row(row)) => *selected = row.min(count.saturating_sub(1)),
            Some(ListKey::Filter) => self.begin(),
        }
        KeyOutcome::Handled
    }
}

/// The keys of a list without a filter.
pub(crate) fn list_key(key: Key, page: usize) -> Option<ListKey> {
    ListFilter::default().list_key(key, page)
}

/// Takes a key that means the same in every list, for the answers of a question; others are left to the question.
pub(crate) fn answer_key<T>(key: Key, selected: &mut usize, count: usize) -> KeyOutcome<T> {
    // There is no filter: it begins a command in the draft.
    match key.typed_char() {
        Some('/') => KeyOutcome::Ignored,
        _ => ListFilter::default().select(key, count, selected, count),
    }
}

/// Takes a key at these answers, which Enter and digits give.
pub(crate) fn choice_key<T: Copy>(key: Key, selected: &mut usize, answers: &[T]) -> KeyOutcome<T> {
    let given = |at: usize| answers.get(at).copied();
    if key.code == KeyCode::Enter {
        return given(*selected).map_or(KeyOutcome::Closed, KeyOutcome::Done);
    }
    match key.row().and_then(given) {
        Some(answer) => KeyOutcome::Done(answer),
        None => answer_key(key, selected, answers.len()),
    }
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
    Some(match key.typed_char()? {
        'j' => ListKey::Move(1),
        'k' => ListKey::Move(-1),
        'q' => ListKey::Close,
        '/' => ListKey::Filter,
        digit @ '1'..='9' => ListKey::Row(digit as usize - '1' as usize),
        _ => return None,
    })
}

/// The row that is selected after a move, of `count` rows.
pub(crate) fn step_clamped(selected: usize, by: isize, count: usize) -> usize {
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
            Some(ListKey::Move(by)) => step_clamped(7, by, 10),
            other => panic!("{name}: {other:?}"),
        };
        let keys = ["up", "ctrl+p", "k", "down", "ctrl+n", "j", "pageup", "pagedown", "home", "end"];
        assert_eq!(keys.map(after), [6, 6, 6, 8, 8, 8, 2, 9, 0, 9]);
        assert_eq!(step_clamped(0, 1, 0), 0);
        for name in ["esc", "ctrl+c", "q"] {
            assert_eq!(list_key(key(name), 5), Some(ListKey::Close), "{name}");
        }
        assert_eq!(list_key(key("1"), 5), Some(ListKey::Row(0)));
        assert_eq!(list_key(key("9"), 5), Some(ListKey::Row(8)));
        assert_eq!(list_key(key("/"), 5), Some(ListKey::Filter));
        assert_eq!(["x", "0", "Q"].map(|name| list_key(key(name), 5)), [None; 3]);
    }

    #[test]
    fn a_word_may_begin_with_a_letter_that_is_a_key() {
        // The keys that act, and the filter; `.` is a pause.
        let typed = |keys: &str| {
            let (mut begun, mut acted, mut filter, mut now) = (None, String::new(), String::new(), 0);
            for letter in keys.chars() {
                now += if letter == '.' { QUIET } else { 100 };
                let is_over = |begun: &PendingLetters| begun.is_over(now);
                if let Some(held) = begun.take_if(|begun| is_over(begun)).and_then(|it| it.held) {
                    acted.extend(held.typed_char());
                }
                if letter == '.' || !filter.is_empty() {
                    filter.extend(Some(letter).filter(|letter| *letter != '.'));
                    continue;
                }
                let held = begun.as_ref().and_then(|begun: &PendingLetters| begun.held);
                let (meant, next) = PendingLetters::follow(begun, key(&letter.to_string()), "qx", now);
                begun = next;
                match meant {
                    ListLetter::Continues(text) => filter = format!("{text}{letter}"),
                    ListLetter::Acts if letter_key(key(&letter.to_string())).is_none() && letter != 'x' => {
                        filter.push(letter);
                    }
                    ListLetter::Acts => {
                        acted.extend(held.and_then(|held| held.typed_char()).into_iter().chain([letter]));
                    }
                    ListLetter::Waits => {}
                }
            }
            format!("{acted} {filter}").trim().to_owned()
        };
        for (keys, expected) in [
            ("keys", "k keys"),
            ("qwen", "qwen"),
            ("4o", "4 4o"),
            ("12b", "1 12b"),
            ("11", "11"),
            ("kqa", "k kqa"),
            ("jjs", "jj s"),
            ("j.s", "j s"),
            ("4.o", "4 o"),
            ("q.", "q"),
            ("jq.", "jq"),
            ("xx", "xx"),
            ("x.x.", "xx"),
            ("gpt", "gpt"),
        ] {
            assert_eq!(typed(keys), expected, "{keys}");
        }
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
