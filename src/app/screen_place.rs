//! The place that a screen keeps for the next one when it is left: the draft and the scroll position.

use serde::{Deserialize, Serialize};

use tau_protocol::message::Block;

/// The draft and the scroll position of a screen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScreenPlace {
    /// The text in the composer, with its pastes.
    pub draft: String,
    /// The pictures of the draft.
    pub pictures: Vec<Block>,
    /// The drafts that were set aside, with their pictures, the newest last.
    pub set_aside: Vec<(String, Vec<Block>)>,
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
