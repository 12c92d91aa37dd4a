//! The place that a screen keeps for the next one when it is left: the draft, begun answers and the scroll position.

use serde::{Deserialize, Serialize};

use super::composer::SavedDraft;
use super::unfinished::UnfinishedAnswer;

/// The draft, begun answers and the scroll position of a screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenPlace {
    /// The draft in the composer.
    pub draft: SavedDraft,
    /// The drafts that were set aside, the newest last.
    pub set_aside: Vec<SavedDraft>,
    /// The answers that were begun.
    pub answers: Vec<UnfinishedAnswer>,
    /// The first row; `None` at the tail.
    pub top: Option<TopRow>,
}

impl ScreenPlace {
    /// Whether it has words that nobody else knows.
    pub fn has_words(&self) -> bool {
        let has_draft = self.set_aside.iter().chain([&self.draft]).any(|draft| !draft.is_empty());
        has_draft || !self.answers.is_empty()
    }

    /// This place, with everything that was written at an earlier one: one draft is in the composer, others are set aside,
    /// and so are the words of an answer that was begun here, too.
    pub fn with_words_of(mut self, earlier: ScreenPlace) -> ScreenPlace {
        let ScreenPlace { draft, mut set_aside, answers, .. } = earlier;
        for answer in answers {
            match self.answers.iter().find(|known| known.is_to_the_question_of(&answer)) {
                Some(known) if *known == answer => {}
                Some(_) => set_aside.push(SavedDraft::of(answer.words())),
                None => self.answers.push(answer),
            }
        }
        match self.draft.is_empty() {
            true => self.draft = draft,
            false => set_aside.push(draft),
        }
        set_aside
            .retain(|draft| !draft.is_empty() && *draft != self.draft && !self.set_aside.contains(draft));
        self.set_aside.splice(..0, set_aside);
        self
    }
}

/// A row of the transcript, found again on another screen, where entries have other ids and the beginning may
/// not be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopRow {
    /// The number of the user's messages after its entry.
    pub prompts_after: usize,
    /// The number of entries between the user's message before it and it.
    pub entries: usize,
    /// The part of the entry, and the row of the part.
    pub part: u32,
    pub row: u32,
}
