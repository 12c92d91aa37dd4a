//! Questions of the model: choices, several choices, text; one after another.

use serde::{Deserialize, Serialize};

use super::list_keys::{ListKey, move_key, step_clamped};
use super::quiet::Quiet;
use crate::approval::QUIET;
use crate::key::{Key, KeyCode, Mods};
use crate::line_edit::LineEdit;
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use tau_protocol::command::QuestionAnswer;
use tau_tools::user::{UserAnswer, UserQuestion};

/// The dialog.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionsView {
    /// The id of the question that it answers.
    pub id: String,
    /// The questions; at least one.
    pub questions: Vec<QuestionView>,
    /// Index of the displayed question.
    pub at: usize,
    /// The first displayed row of its text.
    pub scroll: usize,
    /// The number of rows that the last key scrolled.
    step: usize,
    /// Enter was pressed without an answer to send.
    pub is_empty: bool,
    /// The digit that has just marked one of several choices, and when.
    digit: Option<(Key, Option<Millis>)>,
    /// An answer has just brought the displayed question.
    is_next: bool,
    /// The time at which an answer brought the displayed question.
    next_at: Option<Millis>,
    pub(crate) quiet: Quiet,
}

/// One question, with the user's input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionView {
    pub asked: UserQuestion,
    /// The choice at the cursor; behind the choices, the text.
    pub selected: usize,
    /// The marked choices.
    pub marked: Vec<bool>,
    pub text: LineEdit,
    pub is_answered: bool,
}

impl QuestionView {
    fn new(asked: &UserQuestion) -> Self {
        QuestionView {
            asked: asked.clone(),
            selected: 0,
            marked: vec![false; asked.choices.len()],
            text: LineEdit::default(),
            is_answered: false,
        }
    }

    /// Whether the cursor is in the text.
    pub fn is_at_text(&self) -> bool {
        self.selected >= self.marked.len()
    }

    /// Whether an answer was begun.
    pub(crate) fn is_begun(&self) -> bool {
        *self != QuestionView::new(&self.asked)
    }

    fn has_marks(&self) -> bool {
        self.marked.contains(&true)
    }

    fn has_text(&self) -> bool {
        !self.text.text().trim().is_empty()
    }

    /// Marks or unmarks a choice; if there can be only one answer, unmarks any other.
    fn mark(&mut self, index: usize) {
        let is_one = !self.asked.multiple;
        for (other, mark) in self.marked.iter_mut().enumerate() {
            *mark = if other == index { is_one || !*mark } else { *mark && !is_one };
        }
    }

    /// Uses the selection as the answer; false if it is empty.
    fn answer(&mut self) -> bool {
        let is_one = !self.asked.multiple;
        if self.is_at_text() && is_one {
            self.marked.fill(false);
        } else if !self.is_at_text() && (is_one || !self.has_marks() && !self.has_text()) {
            self.mark(self.selected);
        }
        self.is_answered = self.has_marks() || self.has_text();
        self.is_answered
    }

    fn to_answer(&self) -> UserAnswer {
        let marked = self.marked.iter().enumerate().filter(|(_, mark)| **mark);
        let choices: Vec<usize> = marked.map(|(index, _)| index).collect();
        // A single answer is a choice or a text, whichever was given last.
        let has_text = self.asked.multiple || choices.is_empty();
        let text = if has_text { self.text.text().trim().to_owned() } else { String::new() };
        UserAnswer { choices, text }
    }
}

impl QuestionsView {
    /// A dialog of questions that appears now.
    pub fn new(id: &str, questions: &[UserQuestion], now: Millis) -> Self {
        QuestionsView {
            id: id.to_owned(),
            questions: questions.iter().map(QuestionView::new).collect(),
            at: 0,
            scroll: 0,
            step: 0,
            is_empty: false,
            digit: None,
            is_next: false,
            next_at: None,
            quiet: Quiet::new(now),
        }
    }

    /// The displayed question.
    pub fn current_question(&self) -> Option<&QuestionView> {
        self.questions.get(self.at)
    }

    /// Whether it asks what these ask.
    pub(crate) fn asks(&self, others: &[QuestionView]) -> bool {
        let is_same = |(own, other): (&QuestionView, &QuestionView)| {
            own.asked == other.asked && own.marked.len() == other.marked.len()
        };
        self.questions.len() == others.len() && self.questions.iter().zip(others).all(is_same)
    }

    /// The typed text, to be kept when nothing is answered.
    pub(crate) fn typed_text(&self) -> String {
        let texts = self.questions.iter().map(|question| question.text.text());
        texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
    }

    /// Handles a key; `page` is the number of rows by which the text scrolls.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<QuestionAnswer> {
        self.is_empty = false;
        if key.code != KeyCode::Enter {
            self.next_at = None;
        }
        let Some(shown) = self.questions.get_mut(self.at) else {
            return KeyOutcome::Done(QuestionAnswer::Declined);
        };
        let rows = shown.marked.len() + 1;
        match (key.code, key.mods) {
            (KeyCode::Esc, _) | (KeyCode::Char('c'), Mods::CTRL) => {
                return KeyOutcome::Done(QuestionAnswer::Declined);
            }
            (KeyCode::PageUp, _) => self.scroll = self.scroll.saturating_sub(self.step.max(page).max(1)),
            (KeyCode::PageDown, _) => {
                self.step = self.step.max(page);
                self.scroll = self.scroll.saturating_add(page);
            }
            (KeyCode::Tab, Mods::SHIFT) => self.turn(-1),
            (KeyCode::Tab, _) => self.turn(1),
            _ if shown.is_at_text() && shown.text.break_line(key) => {}
            (KeyCode::Enter, _) => return self.enter(),
            _ if shown.is_at_text() && (shown.text.key(key) || shown.text.move_key(key)) => {}
            (KeyCode::Left, _) => self.turn(-1),
            (KeyCode::Right, _) => self.turn(1),
            _ if let Some(row) = key.row().filter(|row| *row < rows) => {
                shown.selected = row;
                if shown.asked.multiple && !shown.is_at_text() {
                    shown.mark(shown.selected);
                    self.digit = Some((key, None));
                } else if !shown.is_at_text() {
                    return self.enter();
                }
            }
            (KeyCode::Char(' '), Mods::NONE) if !shown.is_at_text() => shown.mark(shown.selected),
            _ if key.typed_char().is_some() => {
                shown.selected = rows - 1;
                shown.text.key(key);
            }
            _ => match move_key(key, rows) {
                Some(ListKey::Move(by)) => shown.selected = step_clamped(shown.selected, by, rows),
                Some(ListKey::Close | ListKey::Row(_) | ListKey::Filter) | None => {
                    return KeyOutcome::Ignored;
                }
            },
        }
        KeyOutcome::Handled
    }

    /// Makes a digit that has just marked one of several choices the beginning of an answer of the user's own, if a
    /// word follows it soon.
    pub(crate) fn begin_text(&mut self, key: Key, now: Millis) {
        let soon = |(digit, at): (Key, Option<Millis>)| at.filter(|at| now - at < QUIET).map(|_| digit);
        let is_word = key.typed_char().is_some_and(|c| !c.is_ascii_digit());
        let digit = self.digit.take().and_then(soon).filter(|_| is_word);
        if let (Some(digit), Some(shown)) = (digit, self.questions.get_mut(self.at)) {
            shown.mark(shown.selected);
            shown.selected = shown.marked.len();
            shown.text.key(digit);
        }
    }

    /// Moves the cursor to the choice of a digit that may still begin an answer of the user's own.
    pub(crate) fn points(&mut self, key: Key) {
        let Some(shown) = self.questions.get_mut(self.at) else { return };
        if let Some(choice) = key.row().filter(|choice| *choice < shown.marked.len()) {
            shown.selected = choice;
        }
    }

    /// Whether a digit and the letter after it were to select the text and to begin it.
    pub(crate) fn begins_text(&self, digit: Key, letter: Key) -> bool {
        let is_text_row =
            self.current_question().is_some_and(|shown| digit.row() == Some(shown.marked.len()));
        is_text_row && letter.typed_char().is_some_and(|c| c.is_alphabetic() || c == '/')
    }

    /// Whether a digit chooses: an answer in the user's own words may begin with it, so it waits for what follows.
    pub(crate) fn holds_digits(&self) -> bool {
        self.current_question().is_some_and(|shown| !shown.asked.multiple && !shown.is_at_text())
    }

    /// Records the time if an answer has just brought the next question, or a digit has marked a choice.
    pub(crate) fn follow(&mut self, now: Millis) {
        if std::mem::take(&mut self.is_next) {
            self.next_at = Some(now);
        }
        if let Some((_, at @ None)) = &mut self.digit {
            *at = Some(now);
        }
    }

    /// Whether an Enter was meant for the question before: nothing was typed for this one yet.
    pub(crate) fn is_for_last(&self, now: Millis) -> bool {
        let is_typed = self.current_question().is_some_and(|shown| shown.is_at_text() && shown.has_text());
        !is_typed && self.next_at.is_some_and(|at| now - at < QUIET)
    }

    /// Shows the next or the previous question.
    fn turn(&mut self, by: isize) {
        self.at = step_clamped(self.at, by, self.questions.len());
        self.scroll = 0;
    }

    /// Answers the displayed question. The next one without an answer follows; after the last, all are sent.
    fn enter(&mut self) -> KeyOutcome<QuestionAnswer> {
        if !self.questions.get_mut(self.at).is_some_and(QuestionView::answer) {
            self.is_empty = true;
            return KeyOutcome::Handled;
        }
        let count = self.questions.len();
        let mut others = (1..count).map(|step| (self.at + step) % count);
        match others.find(|index| self.questions.get(*index).is_some_and(|other| !other.is_answered)) {
            Some(next) => {
                self.at = next;
                self.scroll = 0;
                self.is_next = true;
                KeyOutcome::Handled
            }
            None => {
                let answers = self.questions.iter().map(QuestionView::to_answer).collect();
                KeyOutcome::Done(QuestionAnswer::Answers(answers))
            }
        }
    }

    /// Adds pasted text to the answer.
    pub(crate) fn paste(&mut self, text: &str) {
        if let Some(shown) = self.questions.get_mut(self.at) {
            shown.selected = shown.marked.len();
            shown.text.paste_lines(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(questions: &[(&[&str], bool)]) -> QuestionsView {
        let question = |(choices, multiple): &(&[&str], bool)| UserQuestion {
            question: "Which?".to_owned(),
            choices: choices.iter().map(|text| (*text).to_owned()).collect(),
            multiple: *multiple,
        };
        QuestionsView::new("q1", &questions.iter().map(question).collect::<Vec<_>>(), 0)
    }

    fn press(view: &mut QuestionsView, keys: &[&str]) -> Option<QuestionAnswer> {
        keys.iter().fold(None, |done, name| match view.key(name.parse().unwrap(), 5) {
            KeyOutcome::Done(answer) => Some(answer),
            KeyOutcome::Closed | KeyOutcome::Handled | KeyOutcome::Ignored => done,
        })
    }

    fn answers(list: &[(&[usize], &str)]) -> Option<QuestionAnswer> {
        let answer = |(choices, text): &(&[usize], &str)| UserAnswer {
            choices: choices.to_vec(),
            text: (*text).to_owned(),
        };
        Some(QuestionAnswer::Answers(list.iter().map(answer).collect()))
    }

    /// Questions with their choices and whether they allow several, the keys, and the answer.
    type Case = (&'static [(&'static [&'static str], bool)], &'static [&'static str], Option<QuestionAnswer>);

    #[test]
    fn keys_answer_each_kind_of_question() {
        const AB: (&[&str], bool) = (&["a", "b"], false);
        const ABC: (&[&str], bool) = (&["a", "b", "c"], true);
        const TEXT: (&[&str], bool) = (&[], false);
        let cases: [Case; 16] = [
            (&[AB], &["2"], answers(&[(&[1], "")])),
            (&[AB], &["enter"], answers(&[(&[0], "")])),
            (&[AB], &["down", "enter"], answers(&[(&[1], "")])),
            (&[AB], &["space", "down", "enter"], answers(&[(&[1], "")])),
            (&[AB], &["n", "o", "enter"], answers(&[(&[], "no")])),
            (&[AB], &["3", "2", "enter"], answers(&[(&[], "2")])),
            (&[AB], &["n", "o", "up", "enter"], answers(&[(&[1], "")])),
            (&[AB], &["3", "enter"], None),
            (&[AB], &["7", "1", "enter"], answers(&[(&[], "71")])),
            (&[ABC], &["1", "3", "enter"], answers(&[(&[0, 2], "")])),
            (&[ABC], &["space", "down", "space", "up", "space", "x", "enter"], answers(&[(&[1], "x")])),
            (&[ABC], &["down", "enter"], answers(&[(&[1], "")])),
            (&[TEXT], &["1", "space", "2", "enter"], answers(&[(&[], "1 2")])),
            (&[TEXT], &["space", "enter"], None),
            (&[AB, TEXT], &["1", "x", "enter"], answers(&[(&[0], ""), (&[], "x")])),
            (
                &[AB, AB, AB],
                &["tab", "2", "1", "left", "left", "2"],
                answers(&[(&[1], ""), (&[1], ""), (&[0], "")]),
            ),
        ];
        for (questions, keys, expected) in cases {
            assert_eq!(press(&mut view(questions), keys), expected, "{questions:?} {keys:?}");
        }
    }

    #[test]
    fn esc_declines_and_keeps_what_was_typed() {
        let mut view = view(&[(&["a"], false), (&[], false)]);
        view.paste("two\n  lines\n");
        assert_eq!(press(&mut view, &["tab", "m", "ctrl+j", "n", "esc"]), Some(QuestionAnswer::Declined));
        assert_eq!(view.typed_text(), "two\n  lines\nm\nn");
    }
}
