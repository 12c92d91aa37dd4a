//! Moves between the user's prompts.

use super::paging::Goal;
use super::window::GAP;
use super::{EntryBody, Transcript};
use crate::geometry::{Anchor, EntryId, FrameLayout, ScrollPosition};
use tau_protocol::query::PageFrom;

/// Rows of a part above its text: the gap to the previous part.
const GAP_ROWS: u32 = 1;

impl Transcript {
    /// Scrolls to the nearest prompt above the first row of the screen; without one, to the start of the
    /// session.
    pub(crate) fn show_previous_prompt(&mut self, laid: &FrameLayout) {
        let Some((top, index)) = self.top_of(laid) else { return };
        // A prompt that is partly scrolled off is its own nearest one.
        let inside = top.part > 0 || top.row > GAP_ROWS;
        let (from, before) = (self.contiguous_start(index), index + usize::from(inside));
        let mut found = self.entries.get(from..before).unwrap_or_default().iter();
        let found = found.rposition(|entry| is_prompt(&entry.body));
        let unloaded = if from > 0 { Some(PageFrom::default()) } else { self.before_window() };
        match (found, unloaded) {
            (Some(found), _) => self.show_at_top(from + found),
            (None, Some(from)) => self.go_far(Goal::Prompt(from)),
            (None, None) => self.scroll(i32::MIN),
        }
    }

    /// Scrolls to the nearest prompt below the first row of the screen; without one, to the tail.
    pub(crate) fn show_next_prompt(&mut self, laid: &FrameLayout) {
        let Some((_, index)) = self.top_of(laid) else { return };
        let gap = self.index_of(GAP).filter(|gap| *gap > index);
        let rest = self.entries.get(index + 1..gap.unwrap_or(self.entries.len())).unwrap_or_default();
        match rest.iter().position(|entry| is_prompt(&entry.body)) {
            Some(found) => self.show_at_top(index + 1 + found),
            None if gap.is_some() => self.go_far(Goal::Prompt(self.window.after())),
            None => self.show_tail(),
        }
    }

    /// Scrolls a prompt to the first row of the screen.
    pub(crate) fn show_prompt(&mut self, id: EntryId) {
        if let Some(index) = self.index_of(id) {
            self.show_at_top(index);
        }
    }

    /// Scrolls the first prompt at or after that index to the top of the screen.
    pub(super) fn show_prompt_from(&mut self, index: usize) {
        let rest = self.entries.get(index..).unwrap_or_default();
        match rest.iter().position(|entry| is_prompt(&entry.body)) {
            Some(found) => self.show_at_top(index + found),
            None => self.show_tail(),
        }
    }

    /// Handles an unloaded range without a prompt, in that direction.
    pub(super) fn on_prompt_miss(&mut self, from: PageFrom) {
        match from {
            PageFrom::Before { .. } => self.scroll(i32::MIN),
            PageFrom::After { .. } => self.show_prompt_from(self.index_of(GAP).unwrap_or(0)),
        }
    }

    /// The place of the messages before the window, if there are any.
    fn before_window(&self) -> Option<PageFrom> {
        (!self.window.has_first()).then(|| self.window.before())
    }

    /// An entry as it is found on another screen: the number of prompts after it, and of entries since the
    /// prompt before it.
    pub(crate) fn place_of(&self, entry: EntryId) -> Option<(usize, usize)> {
        let index = self.index_of(entry)?;
        let (before, after) = self.entries.split_at_checked(index.saturating_add(1))?;
        let since = before.iter().rev().position(|entry| is_prompt(&entry.body));
        Some((after.iter().filter(|entry| is_prompt(&entry.body)).count(), since.unwrap_or(index)))
    }

    /// Shows such an entry at the top, from this part and row of it.
    pub(crate) fn show_place(&mut self, prompts_after: usize, entries: usize, (part, row): (u32, u32)) {
        let prompts = self.entries.iter().enumerate().rev().filter(|(_, entry)| is_prompt(&entry.body));
        let prompt = prompts.map(|(index, _)| index).nth(prompts_after).unwrap_or(0);
        if let Some(entry) = self.entries.get(prompt.saturating_add(entries)) {
            self.look_from(ScrollPosition::Top(Anchor { entry: entry.id, part, row }));
        }
    }

    /// The first row on the screen, and the index of its entry.
    fn top_of(&self, laid: &FrameLayout) -> Option<(Anchor, usize)> {
        let top = laid.rows.iter().flatten().next()?;
        Some((*top, self.index_of(top.entry)?))
    }

    fn show_at_top(&mut self, index: usize) {
        let Some(entry) = self.entries.get(index) else { return };
        let row = if index == 0 { 0 } else { GAP_ROWS };
        self.look_from(ScrollPosition::Top(Anchor { entry: entry.id, part: 0, row }));
        self.look_earlier(0);
    }
}

fn is_prompt(body: &EntryBody) -> bool {
    matches!(body, EntryBody::User { .. })
}
