//! The loaded window of a session's history: adjacent pages, between rows for the unloaded rest.
//!
//! Entries are in the order of their ids, and ids are never reused: entries before all messages have the
//! lowest ids, those of a window a range of their own below 0, those since the session was opened count up
//! from 1. Pages far from the view are dropped.

use std::collections::VecDeque;
use std::ops::Range;

use super::message_size::message_size;
use super::run_end::{FirstEnd, RunCost};
use super::{EntryBody, FoldState, Transcript, TranscriptEntry};
use crate::geometry::{Anchor, EntryId, ScrollPosition};
use tau_protocol::query::{HistoryPage, PageFrom};

/// Maximum size of the loaded history, in bytes of messages; the page on the screen is always kept.
pub const HISTORY_BYTES: usize = 6 * 1024 * 1024;
/// Ids below this belong to entries before all messages.
const MESSAGES: EntryId = EntryId(i64::MIN / 2);
/// The row between the window and the entries sent with the session.
pub(super) const GAP: EntryId = EntryId(-1);
/// The distance between windows, in ids.
const APART: i64 = 1 << 40;

/// The loaded part of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Window {
    pub(super) pages: VecDeque<Page>,
    /// The approximate number of messages before the ones that were sent with the session, if any.
    pub(super) available: Option<u64>,
    /// The row that marks unloaded messages above.
    above: Option<EntryId>,
    /// The number of windows so far.
    count: i64,
    /// The lowest id of the window, and the one after its highest id so far.
    ids: (i64, i64),
}

/// A page of the history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Page {
    start: u64,
    end: u64,
    left: Option<u64>,
    after: Option<u64>,
    /// Its first entry, or the place of it.
    first: EntryId,
    /// The approximate size of its messages in bytes.
    bytes: usize,
    pub(super) first_end: FirstEnd,
    /// Its part of the run that continues after it.
    pub(super) open: RunCost,
}

/// The parts of a transcript, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment {
    /// Entries before all messages.
    Head,
    Window,
    /// Entries sent when the session was opened, and since.
    Sent,
}

impl Segment {
    pub(super) fn of(entry: EntryId) -> Self {
        match entry {
            entry if entry < MESSAGES => Segment::Head,
            entry if entry < GAP => Segment::Window,
            _ => Segment::Sent,
        }
    }
}

/// The way in which a page joins the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Above,
    Below,
    /// In place of the window.
    Apart,
}

impl Window {
    /// The window without pages, for another session.
    pub(super) fn without_pages(&self) -> Self {
        Window { count: self.count, ..Window::default() }
    }

    pub(super) fn join(&self, page: &HistoryPage) -> Join {
        match (self.pages.front(), self.pages.back()) {
            (Some(first), _) if first.start == page.end => Join::Above,
            (_, Some(last)) if last.end == page.start => Join::Below,
            _ => Join::Apart,
        }
    }

    /// The position of the page before the window.
    pub(super) fn before(&self) -> PageFrom {
        PageFrom::Before { position: self.pages.front().map(|page| page.start) }
    }

    /// The position of the page after the window.
    pub(super) fn after(&self) -> PageFrom {
        PageFrom::After { position: self.pages.back().map_or(0, |page| page.end) }
    }

    /// Whether the first message of the session is loaded.
    pub(super) fn has_first(&self) -> bool {
        self.earlier_count().is_none()
    }

    fn earlier_count(&self) -> Option<u64> {
        self.pages.front().map_or(self.available, |page| page.left)
    }

    /// The approximate number of messages between the window and the sent ones; `None` if there are none.
    fn gap(&self) -> Option<u64> {
        self.pages.back()?.after
    }
}

impl Transcript {
    /// Whether there are unloaded messages.
    pub fn has_earlier(&self) -> bool {
        !self.window.has_first() || self.window.gap().is_some()
    }

    /// Whether there are unloaded messages between the window and the sent ones.
    pub(super) fn has_gap(&self) -> bool {
        self.window.gap().is_some()
    }

    /// The approximate number of unloaded messages before that entry.
    pub fn unloaded_count_before(&self, index: usize) -> u64 {
        let gap = self.index_of(GAP).is_some_and(|gap| index > gap);
        self.window.earlier_count().unwrap_or(0) + self.window.gap().filter(|_| gap).unwrap_or(0)
    }

    /// The first of the entries that are loaded without a gap up to the given one.
    pub fn contiguous_start(&self, index: usize) -> usize {
        self.index_of(GAP).filter(|gap| *gap < index).map_or(0, |gap| gap + 1)
    }

    /// Size of the loaded history, in bytes of messages.
    pub fn history_bytes(&self) -> usize {
        self.window.pages.iter().map(|page| page.bytes).sum()
    }

    /// Whether there are only entries before all messages.
    pub(super) fn is_head(&self) -> bool {
        self.entries.last().is_none_or(|last| last.id < MESSAGES)
    }

    /// An id before all messages, after other such ids.
    pub(super) fn next_head(&mut self) -> EntryId {
        self.heads += 1;
        EntryId(i64::MIN + self.heads)
    }

    /// Index of the row that marks unloaded messages above.
    pub(super) fn above_row(&self) -> Option<usize> {
        self.window.above.and_then(|row| self.index_of(row))
    }

    /// Whether the screen begins in the window.
    pub(super) fn is_in_window(&self) -> bool {
        match self.position {
            ScrollPosition::Tail => false,
            ScrollPosition::Top(top) => Segment::of(top.entry) == Segment::Window,
        }
    }

    /// Makes the first row of a message on the screen the anchor, at its current row. When the window is
    /// left, the message must have come with the session.
    pub(super) fn hold(&mut self, rows: &[Option<Anchor>], leaves: bool) {
        let ScrollPosition::Top(top) = self.position else { return };
        let lowest = if leaves { GAP } else { MESSAGES };
        let stays = |entry: EntryId| entry >= lowest && entry != GAP && self.index_of(entry).is_some();
        if stays(top.entry) || self.pending == i32::MIN {
            return;
        }
        let mut seen = rows.iter().zip(0..).filter_map(|(anchor, row)| Some(((*anchor)?, row)));
        let first = || self.entries.iter().find(|entry| stays(entry.id));
        let first = || Some((Anchor { entry: first()?.id, part: 0, row: 0 }, 0));
        match seen.find(|(anchor, _)| stays(anchor.entry)).or_else(first) {
            Some((anchor, row)) => {
                self.position = ScrollPosition::Top(anchor);
                self.pending = self.pending.saturating_sub(row);
            }
            None => self.position = ScrollPosition::Tail,
        }
    }

    /// Index of the first entry from a message.
    fn heads_end(&self) -> usize {
        self.entries.partition_point(|entry| entry.id < MESSAGES)
    }

    /// Adds the entries of a page and returns their indexes.
    pub(super) fn add_page(&mut self, page: &HistoryPage, join: Join) -> Range<usize> {
        let mut folded = Transcript::default();
        for message in &page.messages {
            folded.add_stored_message(message, &page.titles);
        }
        folded.mark_first_end();
        if join == Join::Apart {
            self.drop_pages(0, self.window.pages.len());
            self.window.count += 1;
            let middle = -self.window.count * APART;
            self.window.ids = (middle, middle);
        }
        let count = folded.entries.len() as i64;
        let (lowest, highest) = &mut self.window.ids;
        let first = if join == Join::Below { *highest } else { *lowest - count };
        (*lowest, *highest) = (first.min(*lowest), (first + count).max(*highest));
        let first_end = folded.first_end_from(first);
        for (entry, id) in folded.entries.iter_mut().zip(first..) {
            entry.id = EntryId(id);
            if let EntryBody::Tool(panel) = &entry.body {
                // Of calls with equal ids the last counts.
                let last = self.calls.entry(panel.call_id.clone()).or_insert(entry.id);
                *last = entry.id.max(*last);
            }
        }
        let (start, end) = (page.start, page.end);
        let bytes = page.messages.iter().map(|message| message_size(message)).sum();
        let open = folded.open_cost();
        let (left, after) = (page.left, page.after);
        let new = Page { start, end, left, after, first: EntryId(first), bytes, first_end, open };
        match join {
            Join::Below => self.window.pages.push_back(new),
            Join::Above | Join::Apart => self.window.pages.push_front(new),
        }
        let at = self.entries.partition_point(|entry| entry.id < EntryId(first));
        let places = at..at + folded.entries.len();
        self.entries.splice(at..at, folded.entries);
        if page.after.is_none() && self.last_answer.is_none() {
            self.last_answer = folded.last_answer;
        }
        places
    }

    /// Drops pages at the other end of the window until the size limit is met, except the one on the screen.
    pub(super) fn drop_far(&mut self, joined: Join) {
        let seen = match self.position {
            ScrollPosition::Top(top) => top.entry,
            ScrollPosition::Tail => GAP,
        };
        while self.history_bytes() > HISTORY_BYTES {
            let last = self.window.pages.len() - 1;
            let is_seen = |page: usize| {
                let first = self.window.pages.get(page).map(|page| page.first);
                let next = self.window.pages.get(page + 1).map_or(GAP, |page| page.first);
                first.is_some_and(|first| (first..next).contains(&seen))
            };
            let far = if joined == Join::Below { 0 } else { last };
            if last == 0 || is_seen(far) {
                return;
            }
            self.drop_pages(far, far + 1);
        }
    }

    fn drop_pages(&mut self, from: usize, to: usize) {
        let ids = |page: usize| self.window.pages.get(page).map_or(GAP, |page| page.first);
        let (first, end) = (ids(from), ids(to));
        let place = |id: EntryId| self.entries.partition_point(|entry| entry.id < id);
        self.entries.drain(place(first)..place(end));
        self.calls.retain(|_, entry| !(first..end).contains(entry));
        self.window.pages.drain(from..to);
    }

    /// Moves the rows for unloaded messages to the gaps.
    pub(super) fn mark_rows(&mut self) {
        match (self.window.earlier_count(), self.window.above) {
            (Some(left), Some(row)) => self.update_earlier_row(row, left),
            (Some(left), None) => {
                let (at, row) = (self.heads_end(), self.next_head());
                self.window.above = Some(row);
                self.insert_row(at, row, left);
            }
            (None, Some(row)) => {
                self.window.above = None;
                self.remove(row);
            }
            (None, None) => {}
        }
        let place = self.entries.binary_search_by_key(&GAP, |entry| entry.id);
        match (self.window.gap(), place) {
            (Some(left), Ok(_)) => self.update_earlier_row(GAP, left),
            (Some(left), Err(at)) => self.insert_row(at, GAP, left),
            (None, Ok(_)) => self.remove(GAP),
            (None, Err(_)) => {}
        }
    }

    fn insert_row(&mut self, at: usize, id: EntryId, left: u64) {
        let body = EntryBody::Earlier { left, failed: self.paging.failed.clone() };
        self.insert(at, id, body);
    }

    pub(super) fn insert(&mut self, at: usize, id: EntryId, body: EntryBody) {
        let entry = TranscriptEntry { id, body, fold: FoldState::Default, revision: 0, epoch: 0 };
        self.entries.insert(at, entry);
    }

    fn update_earlier_row(&mut self, row: EntryId, left: u64) {
        let body = EntryBody::Earlier { left, failed: self.paging.failed.clone() };
        let known = self.index_of(row).and_then(|row| self.entries.get(row)).map(|entry| &entry.body);
        if known != Some(&body) {
            self.edit(row, |old| *old = body);
        }
    }

    fn remove(&mut self, row: EntryId) {
        if let Some(row) = self.index_of(row) {
            self.entries.remove(row);
        }
    }
}
