//! Moves between the user's prompts.

use std::cmp::Reverse;

use super::paging::Goal;
use super::window::GAP;
use super::{EntryBody, Transcript, TranscriptEntry};
use crate::geometry::{Anchor, EntryId, FrameLayout, ScrollPosition};
use crate::printable::Printable;
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

    /// The row at the top, to be found again once the conversation was opened again; `None` at the tail.
    pub(crate) fn kept_place(&self) -> Option<KeptPlace> {
        let ScrollPosition::Top(Anchor { entry, part, row }) = self.position else { return None };
        let until = self.entries.get(..=self.index_of(entry)?)?;
        let start = until.iter().rposition(|entry| is_prompt(&entry.body));
        let since = until.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
        let since = since.iter().filter(|entry| is_lasting(&entry.body)).count();
        Some(KeptPlace {
            prompts: prompts_of(until).map(|(_, text)| text.clone()).collect(),
            is_whole: self.window.has_first(),
            since,
            part,
            row,
        })
    }

    /// Shows such a row at the top, if it is still there.
    pub(crate) fn show_kept_place(&mut self, place: &KeptPlace) {
        let KeptPlace { prompts, is_whole, since, part, row } = place;
        let all: Vec<(usize, &Printable)> = prompts_of(&self.entries).collect();
        // The same text may have been sent several times: what was sent before it tells.
        let alike = |at: usize| {
            let before = all.get(..=at).unwrap_or_default().iter().rev().map(|(_, text)| *text);
            before.zip(prompts.iter().rev()).take_while(|(now, then)| now == then).count()
        };
        // Where several are alike, the one in the same place, which is certain if nothing before is missing.
        let distance = |at: usize| prompts.len().abs_diff(at + 1);
        let is_certain = *is_whole && self.window.has_first();
        let may_be = |at: &usize| alike(*at) > 0 && (!is_certain || distance(*at) == 0);
        let best = (0..all.len()).filter(may_be).max_by_key(|at| (alike(*at), Reverse(distance(*at))));
        let best = best.and_then(|at| all.get(at)).map(|(index, _)| *index);
        let (start, from) = match best {
            Some(index) => (index, index + 1),
            None if prompts.is_empty() => (0, 0),
            None => return,
        };
        let rest = self.entries.get(from..).unwrap_or_default().iter();
        let mut lasting =
            rest.take_while(|entry| !is_prompt(&entry.body)).filter(|entry| is_lasting(&entry.body));
        let found = match since.checked_sub(1) {
            Some(at) => lasting.nth(at),
            None => self.entries.get(start),
        };
        if let Some(entry) = found {
            let anchor = Anchor { entry: entry.id, part: *part, row: *row };
            self.look_from(ScrollPosition::Top(anchor));
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

/// A row of the transcript, found again by the prompts up to it and the entries since the last of them.
#[derive(Clone, Debug)]
pub(crate) struct KeptPlace {
    prompts: Vec<Printable>,
    /// Whether these are all since the beginning.
    is_whole: bool,
    since: usize,
    part: u32,
    row: u32,
}

/// The prompts among these entries, with their indexes.
fn prompts_of(entries: &[TranscriptEntry]) -> impl Iterator<Item = (usize, &Printable)> {
    entries.iter().enumerate().filter_map(|(index, entry)| {
        if let EntryBody::User { text, .. } = &entry.body { Some((index, text)) } else { None }
    })
}

/// Whether a session that is opened again has this entry, too.
fn is_lasting(body: &EntryBody) -> bool {
    match body {
        EntryBody::User { .. }
        | EntryBody::Answer(_)
        | EntryBody::Thinking { .. }
        | EntryBody::Tool(_)
        | EntryBody::Command(_)
        | EntryBody::Summary { .. } => true,
        EntryBody::Welcome | EntryBody::Earlier { .. } | EntryBody::RunEnd(_) | EntryBody::Notice { .. } => {
            false
        }
    }
}

fn is_prompt(body: &EntryBody) -> bool {
    matches!(body, EntryBody::User { .. })
}
