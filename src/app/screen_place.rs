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
