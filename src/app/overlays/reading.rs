//! A text in a dialog that scrolls, and how much of it was on the screen: what is not seen is not accepted by one key.

use crate::geometry::FrameLayout;
use crate::key::{Key, KeyCode};

/// The text's place, and what frames have shown of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The first displayed row.
    pub scroll: usize,
    /// The number of rows that the last key scrolled.
    step: usize,
    /// The furthest row that a frame can start at without skipping rows that were never shown.
    reached: usize,
    /// Whether all rows were on the screen.
    is_seen: bool,
    /// Whether the key must be pressed again to accept a text that was not seen as a whole.
    pub insists: bool,
}

impl Reading {
    /// Scrolls by a page; false for another key.
    pub(crate) fn scroll_by_key(&mut self, key: Key, page: usize) -> bool {
        match key.code {
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.step.max(page).max(1)),
            KeyCode::PageDown => {
                self.step = self.step.max(page);
                self.scroll = self.scroll.saturating_add(page);
            }
            _ => return false,
        }
        true
    }

    /// Whether a key accepts the text: it was seen, or the key before `insisted`.
    pub(crate) fn accepts(&mut self, insisted: bool) -> bool {
        self.insists = !self.is_seen && !insisted;
        !self.insists
    }

    /// Records what a frame has shown.
    pub(crate) fn note_shown(&mut self, laid: &FrameLayout) {
        (self.reached, self.is_seen) = self.seen_with(laid);
    }

    /// Whether a frame has shown more than those before.
    pub(crate) fn learns_from(&self, laid: &FrameLayout) -> bool {
        (self.reached, self.is_seen) != self.seen_with(laid)
    }

    /// The state after this frame. One that begins further down than those before has left out rows.
    fn seen_with(&self, laid: &FrameLayout) -> (usize, bool) {
        if !laid.has_overlay || self.scroll > self.reached {
            return (self.reached, self.is_seen);
        }
        let below = usize::from(laid.list_page);
        (self.reached.max(self.scroll.saturating_add(below)), self.is_seen || below == 0)
    }
}
