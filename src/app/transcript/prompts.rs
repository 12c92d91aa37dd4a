//! From one prompt of the user to the next: scrolling by what was asked.

use super::{EntryBody, Transcript};
use crate::app::geometry::{Anchor, EntryId, Laid, ScrollPosition};

/// Rows of a part above its text: the gap to what is before it.
const GAP: u32 = 1;

impl Transcript {
    /// Puts the nearest prompt above the first row of the screen there; without one, the start of
    /// what is loaded.
    pub(crate) fn show_previous_prompt(&mut self, laid: &Laid) {
        let Some((top, index)) = self.top_of(laid) else { return };
        // A prompt that is scrolled into is its own nearest one.
        let inside = top.part > 0 || top.row > GAP;
        let before = index + usize::from(inside);
        match self.entries.iter().take(before).rposition(|entry| is_prompt(&entry.body)) {
            Some(found) => self.show_at_top(found),
            None => self.scroll(i32::MIN),
        }
    }

    /// Puts the nearest prompt below the first row of the screen there; without one, goes to the tail.
    pub(crate) fn show_next_prompt(&mut self, laid: &Laid) {
        let Some((_, index)) = self.top_of(laid) else { return };
        let after = self.entries.iter().skip(index + 1).position(|entry| is_prompt(&entry.body));
        match after {
            Some(found) => self.show_at_top(index + 1 + found),
            None => self.show_tail(),
        }
    }

    /// Puts a prompt above the first row of the screen there.
    pub(crate) fn show_prompt(&mut self, id: EntryId) {
        if let Some(index) = self.index_of(id) {
            self.show_at_top(index);
        }
    }

    /// The first row on the screen, and the place of its entry.
    fn top_of(&self, laid: &Laid) -> Option<(Anchor, usize)> {
        let top = laid.rows.iter().flatten().next()?;
        Some((*top, self.index_of(top.entry)?))
    }

    fn show_at_top(&mut self, index: usize) {
        let Some(entry) = self.entries.get(index) else { return };
        let row = if index == 0 { 0 } else { GAP };
        self.position = ScrollPosition::Top(Anchor { entry: entry.id, part: 0, row });
        self.pending = 0;
        self.look_earlier(0);
    }
}

fn is_prompt(body: &EntryBody) -> bool {
    matches!(body, EntryBody::User { .. })
}
