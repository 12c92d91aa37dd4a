//! Find in the transcript: the query, its occurrences, and the current one.
//!
//! Occurrences are found in the text of entries, whether shown or not; the view finds their cells. A place is
//! named by its part, so that nothing above or below must be laid out. The search goes up: it starts at the
//! screen; `find_step` continues from there.

mod live;

use std::collections::BTreeSet;

use super::find_text::place_texts;
use super::window::Segment;
use super::{FoldState, Transcript, TranscriptEntry};
use crate::geometry::{EntryId, FrameLayout, ScrollPosition};
use crate::line_edit::LineEdit;
use tau_protocol::needle::Needle;
use tau_protocol::query::PageFrom;

/// A match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    pub entry: EntryId,
    /// The part at which counting starts; panels are counted as a whole, from part 0.
    pub part: u32,
    /// The number of earlier occurrences, from that part on.
    pub nth: u32,
    /// It is inside a fold.
    hidden: bool,
}

/// The direction of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindStep {
    /// To earlier text.
    Older,
    Newer,
}

/// A search of unloaded messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seeking {
    pub(super) step: FindStep,
    pub(super) from: PageFrom,
    /// It has wrapped around, so that it ends when it returns to its start.
    pub(super) has_wrapped: bool,
}

/// A search in the transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Find {
    query: LineEdit,
    /// Keys are typed into the query; otherwise they are commands.
    pub typing: bool,
    /// The query is a passage of the session that was opened for it, not typed.
    is_passage: bool,
    /// Scroll position at the start of the search.
    from: ScrollPosition,
    /// The last part on the screen then: the search starts there.
    origin: Option<(EntryId, u32)>,
    pub(super) places: Vec<Occurrence>,
    /// Entries that have changed since their occurrences were found.
    changed: BTreeSet<EntryId>,
    pub(super) current: Option<Occurrence>,
    /// The pending search of earlier messages.
    pub(super) seeking: Option<Seeking>,
    /// The view must bring the current place onto the screen.
    pub(super) to_show: bool,
    /// The entry that was unfolded for the current place, and its previous state.
    unfolded: Option<(EntryId, FoldState)>,
}

impl Find {
    /// The typed query.
    pub fn query(&self) -> &str {
        self.query.text()
    }

    /// Whether the session has the passage, but not in the messages that are shown.
    pub fn is_elsewhere(&self) -> bool {
        self.is_passage && self.places.is_empty() && !self.is_seeking()
    }

    /// The needle; `None` while the query is empty.
    pub fn needle(&self) -> Option<Needle> {
        Needle::new(self.query.text())
    }

    /// The current occurrence.
    pub fn current(&self) -> Option<Occurrence> {
        self.current
    }

    /// The place that must be brought onto the screen.
    pub fn place_to_show(&self) -> Option<Occurrence> {
        self.current.filter(|_| self.to_show)
    }

    pub(super) fn places(&self) -> &[Occurrence] {
        &self.places
    }

    /// The number of the current place, from 1 for the oldest, and the total.
    pub fn count(&self) -> (usize, usize) {
        let at = self.current.and_then(|current| self.places.binary_search(&current).ok());
        (at.map_or(0, |at| at + 1), self.places.len())
    }

    /// Whether earlier messages are being searched.
    pub fn is_seeking(&self) -> bool {
        self.seeking.is_some()
    }
}

impl Transcript {
    /// Starts a search, or reopens the query of the current one.
    pub(crate) fn open_find(&mut self, laid: &FrameLayout) {
        if let Some(find) = &mut self.find {
            find.typing = true;
            return;
        }
        let last = laid.rows.iter().flatten().next_back();
        let origin = last.map(|row| (row.entry, row.part));
        self.find = Some(Find { typing: true, from: self.position, origin, ..Find::default() });
    }

    /// Searches for a text of the session that was just opened, from its end up.
    pub(crate) fn find_passage(&mut self, passage: &str) {
        let mut query = LineEdit::default();
        query.paste(passage);
        self.find = Some(Find { from: ScrollPosition::Tail, query, is_passage: true, ..Find::default() });
        self.look_again();
        self.go_to_first();
    }

    /// Continues a search that found nothing before earlier messages were known.
    pub(crate) fn find_in_history(&mut self) {
        if self.find.as_ref().is_some_and(|find| find.current.is_none() && find.seeking.is_none()) {
            self.go_to_first();
        }
    }

    /// Ends the search. `back` returns to its start; otherwise the current place stays.
    pub(crate) fn close_find(&mut self, back: bool) {
        if back {
            self.refold();
        }
        let Some(find) = self.find.take() else { return };
        if back {
            self.look_from(find.from);
        }
    }

    /// Changes the query and goes to the nearest place, upward from the start of the search.
    pub(crate) fn edit_find(&mut self, change: impl FnOnce(&mut LineEdit) -> bool) {
        let Some(find) = &mut self.find else { return };
        if !change(&mut find.query) {
            return;
        }
        (find.seeking, find.current, find.is_passage) = (None, None, false);
        self.refold();
        self.look_again();
        self.go_to_first();
    }

    /// Makes keys commands from now on.
    pub(crate) fn keep_find(&mut self) {
        if let Some(find) = &mut self.find {
            find.typing = false;
        }
    }

    pub(super) fn go_to_first(&mut self) {
        let Some(find) = &self.find else { return };
        let (from, origin) = (find.from, find.origin);
        if find.query().is_empty() {
            return self.look_from(from);
        }
        if find.places.is_empty() && self.has_earlier() && self.may_load() {
            return self.seek_first(origin.map_or(Segment::Sent, |(entry, _)| Segment::of(entry)));
        }
        let above = |place: &&Occurrence| origin.is_none_or(|origin| (place.entry, place.part) <= origin);
        let found = find.places.iter().rev().find(above).or(find.places.first()).copied();
        if found.is_none() {
            self.look_from(from);
        }
        self.go_to(found);
    }

    pub(super) fn go_to(&mut self, place: Option<Occurrence>) {
        self.refold();
        let Some(find) = &mut self.find else { return };
        find.seeking = None;
        find.current = place;
        find.to_show = place.is_some();
        self.pending = 0;
        let Some(index) = place.filter(|place| place.hidden).and_then(|place| self.index_of(place.entry))
        else {
            return;
        };
        let is_open = self.entries.get(index).is_some_and(|entry| self.is_open(entry));
        if let Some(entry) = self.entries.get_mut(index).filter(|_| !is_open) {
            let before = std::mem::replace(&mut entry.fold, FoldState::Open);
            if let Some(find) = &mut self.find {
                find.unfolded = Some((entry.id, before));
            }
        }
    }

    /// Folds the entry that was unfolded for the previous place.
    fn refold(&mut self) {
        let unfolded = self.find.as_mut().and_then(|find| find.unfolded.take());
        let Some((id, before)) = unfolded else { return };
        if let Some(entry) = self.index_of(id).and_then(|index| self.entries.get_mut(index))
            && entry.fold == FoldState::Open
        {
            entry.fold = before;
        }
    }

    /// Finds all places again, as the searched text may have changed.
    pub(super) fn look_again(&mut self) {
        let Some(mut find) = self.find.take() else { return };
        find.places.clear();
        find.changed.clear();
        if let Some(needle) = find.needle() {
            find.places.extend(self.entries.iter().flat_map(|entry| occurrences(entry, &needle)));
        }
        self.find = Some(find);
    }
}

/// All occurrences in an entry, in order.
fn occurrences(entry: &TranscriptEntry, needle: &Needle) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for text in place_texts(&entry.body) {
        let all = needle.count(&needle.fold(&text.text, text.is_prose));
        let shown = match text.text.get(..text.shown) {
            Some(shown) => needle.count(&needle.fold(shown, text.is_prose)),
            None => u32::MAX,
        };
        let place = |nth| Occurrence { entry: entry.id, part: text.part, nth, hidden: nth >= shown };
        found.extend((0..all).map(place));
    }
    found
}
