//! Words typed at a question or a list, tracked so that none reaches the model by accident.

use super::approval::QUIET;
use super::key::{Key, KeyCode};
use super::msg::Millis;

/// Words that users type at a question. Their first letter is a key that answers it; the rest of the word and
/// Enter arrive after the question has closed.
const WORDS: [&str; 17] = [
    "yes", "yep", "yeah", "yup", "ok", "no", "nope", "never", "nah", "not", "always", "allow", "all",
    "accept", "edit", "exit", "view",
];

/// Typing at questions and lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MisdirectedInput {
    /// The question or list that a key has just left.
    left: Option<LeftQuestion>,
    /// Time at which a letter was typed at a list that takes none.
    ignored_at: Option<Millis>,
    /// Time at which a text went past a question to the draft; `None` again once a key was for the question.
    drafted_at: Option<Millis>,
    /// The text that was not sent, because it is a command. Sending it again sends it.
    refused: Option<String>,
}

/// A question or list that a key has left, and the text typed right after that key.
#[derive(Clone, Debug, PartialEq)]
struct LeftQuestion {
    letter: Option<char>,
    typed: String,
    /// Whether the text began at once after the letter.
    is_joined: bool,
    at: Millis,
    /// The longest pause within what is typed.
    pause: Millis,
}

/// The longest pause within a word that a letter began which had waited for it in vain: it is typed slowly.
const SLOW: Millis = 1_000;

/// The treatment of an Enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enter {
    Sends,
    /// It was meant for the closed question.
    Held,
    /// It ends a word that answered the question: this many of its characters are in the draft.
    EndsWord(usize),
}

impl MisdirectedInput {
    /// Records a key; `left` says whether it left a question or a list.
    pub(crate) fn follow(&mut self, key: Key, left: bool, now: Millis) {
        if left {
            self.drafted_at = None;
            let counts = key.typed_char().is_some() || key.code == KeyCode::Enter;
            self.left = counts.then(|| LeftQuestion {
                letter: key.typed_char(),
                typed: String::new(),
                is_joined: true,
                at: now,
                pause: QUIET,
            });
            return;
        }
        let Some(left) = self.left.as_mut().filter(|left| now - left.at < left.pause) else {
            self.left = None;
            return;
        };
        match key.typed_char() {
            Some(c) => {
                left.is_joined &= !left.typed.is_empty() || now - left.at < QUIET;
                left.typed.push(c);
            }
            None => self.left = None,
        }
        if let Some(left) = &mut self.left {
            left.at = now;
        }
    }

    /// Records that a list closed by a letter that had waited for a word.
    pub(crate) fn note_list_closed(&mut self, letter: Key, now: Millis) {
        self.follow(letter, true, now);
        if let Some(left) = &mut self.left {
            left.pause = SLOW;
        }
    }

    /// The treatment of an Enter that would send the draft.
    pub(crate) fn enter(&mut self, now: Millis) -> Enter {
        let Some(left) = self.left.take().filter(|left| now - left.at < left.pause) else {
            return Enter::Sends;
        };
        match left.letter {
            Some(letter) if is_word(letter, &left.typed) => Enter::EndsWord(left.typed.chars().count()),
            _ if left.typed.is_empty() => Enter::Held,
            // Only digits continue a number.
            Some(letter) if letter.is_numeric() && !left.typed.chars().all(char::is_numeric) => Enter::Sends,
            Some(_) if left.is_joined => Enter::Held,
            Some(_) | None => Enter::Sends,
        }
    }

    /// Records a letter typed at a list that takes none.
    pub(crate) fn note_ignored_letter(&mut self, now: Millis) {
        self.ignored_at = Some(now);
    }

    /// Records a text that went past a question to the draft.
    pub(crate) fn drafts(&mut self, now: Millis) {
        self.drafted_at = Some(now);
    }

    /// Records a key that was for the question.
    pub(crate) fn answers(&mut self) {
        self.drafted_at = None;
    }

    /// Whether the next character continues what went to the draft.
    pub(crate) fn is_drafting(&self, now: Millis) -> bool {
        self.drafted_at.is_some_and(|at| now - at < QUIET)
    }

    /// Whether a text went to the draft since the last key for the question.
    pub(crate) fn is_drafted(&self) -> bool {
        self.drafted_at.is_some()
    }

    /// Whether an Enter ends a word that the list did not take, or a text that went to the draft: however long one
    /// thinks before Enter, it was to send that text, not to answer.
    pub(crate) fn ends_ignored_word(&mut self, now: Millis) -> bool {
        let is_drafted = self.drafted_at.take().is_some();
        self.ignored_at.take().is_some_and(|at| now - at < QUIET) || is_drafted
    }

    /// Whether to refuse a command that would be sent as text: true the first time.
    pub(crate) fn refuses(&mut self, text: &str) -> bool {
        let is_again = self.refused.as_deref() == Some(text);
        self.refused = Some(text.to_owned()).filter(|_| !is_again);
        !is_again
    }
}

/// Whether a letter that answered a question began a word for that answer.
pub(crate) fn is_word(letter: char, rest: &str) -> bool {
    let word = format!("{letter}{rest}").to_lowercase();
    WORDS.contains(&word.trim_end_matches(['.', '!', ' ']))
}

/// A reason without the rest of the word whose first letter opened its line: `o, use make` after `n`.
pub(crate) fn without_word(letter: char, text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    if is_word(letter, word) && !word.is_empty() {
        rest.trim_start_matches(|c: char| !c.is_alphanumeric() && !"/\"'`(".contains(c))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_word_is_no_reason() {
        let cases = [
            ("o", ""),
            ("o, use make", "use make"),
            ("ope!", ""),
            ("o: `x`", "`x`"),
            ("one of them", "one of them"),
            ("use make", "use make"),
            ("", ""),
        ];
        for (typed, reason) in cases {
            assert_eq!(without_word('n', typed), reason, "{typed}");
        }
    }

    #[test]
    fn an_enter_that_follows_at_once_does_not_send() {
        let after = |keys: &[(&str, Millis)], at: Millis| {
            let mut typed = MisdirectedInput::default();
            for (index, (key, at)) in keys.iter().enumerate() {
                typed.follow(key.parse().expect("a key"), index == 0, *at);
            }
            typed.enter(at)
        };
        assert_eq!(after(&[("y", 0), ("e", 100), ("s", 200)], 300), Enter::EndsWord(2));
        assert_eq!(after(&[("y", 0), ("o", 300), ("u", 600)], 900), Enter::Held);
        assert_eq!(after(&[("y", 0)], 100), Enter::Held);
        assert_eq!(after(&[("enter", 0)], 100), Enter::Held);
        assert_eq!(after(&[("enter", 0), ("h", 100), ("i", 200)], 300), Enter::Sends);
        assert_eq!(after(&[("y", 0), ("h", 500), ("i", 600)], 700), Enter::Sends);
        assert_eq!(after(&[("esc", 0)], 100), Enter::Sends);
        assert_eq!(after(&[("1", 0), ("h", 100), ("i", 200)], 300), Enter::Sends);
        assert_eq!(after(&[("1", 0), ("2", 100)], 200), Enter::Held);
        // A list that waited for the rest of a word in vain.
        let after_list = |keys: &[(&str, Millis)], at: Millis| {
            let mut typed = MisdirectedInput::default();
            typed.note_list_closed("y".parse().expect("a key"), 0);
            keys.iter().for_each(|(key, at)| typed.follow(key.parse().expect("a key"), false, *at));
            typed.enter(at)
        };
        assert_eq!(after_list(&[("e", 900), ("s", 1_800)], 2_700), Enter::EndsWord(2));
        assert_eq!(after_list(&[("h", 600), ("i", 800)], 900), Enter::Sends);
        assert_eq!(after_list(&[("o", 300), ("u", 600)], 900), Enter::Held);
    }
}
