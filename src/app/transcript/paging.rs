//! Earlier messages, inserted above the loaded ones without moving what is on the screen.
//!
//! Entries keep their ids, so nothing that was rendered is rendered again. Entries before all
//! messages (the head of a session, notices of the start) have the lowest ids and stay at the top;
//! below them a row says that there is more.

use super::{EntryBody, FoldState, Transcript, TranscriptEntry};
use crate::agent::protocol::query::HistoryPage;
use crate::app::geometry::{Anchor, EntryId, Laid, ScrollPosition};
use crate::app::printable::Printable;

/// Ids below this are of entries before all messages.
const MESSAGES: EntryId = EntryId(i32::MIN / 2);
/// Within this many entries of the row that says that there is more, more is loaded.
const NEAR: usize = 40;

/// What is known about messages before those that are loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EarlierMessages {
    /// The entry that says so.
    row: EntryId,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// They can be loaded.
    There,
    Asked,
    /// They could not be loaded; the user has to ask again.
    Failed,
}

impl Transcript {
    /// Puts messages above those that are here. `rows` are those on the screen: the first of a
    /// message stays where it is.
    pub(crate) fn put_earlier(&mut self, page: &HistoryPage, rows: &[Option<Anchor>]) {
        let mut above = Transcript::default();
        for message in &page.messages {
            above.stored(message, &page.titles);
        }
        self.join_run(&mut above);
        self.hold(rows);
        self.put_above(above);
        match page.left {
            Some(left) => self.say_more(left, page.failed.as_deref()),
            None => self.say_no_more(),
        }
        if self.to_first {
            self.pending = i32::MIN;
            self.to_first = self.earlier.is_some_and(|earlier| earlier.stage == Stage::There);
        }
        self.find_in_earlier();
    }

    /// Whether earlier messages are to be loaded, now that this frame was drawn.
    pub(crate) fn wants_earlier(&self, laid: &Laid) -> bool {
        let Some(EarlierMessages { row, stage: Stage::There }) = self.earlier else { return false };
        let place = |entry| self.index_of(entry);
        let top = laid.rows.iter().flatten().next().and_then(|top| place(top.entry));
        let near = match self.position {
            ScrollPosition::Top(_) => NEAR,
            ScrollPosition::Tail => 0,
        };
        let seen = top.zip(place(row)).is_some_and(|(top, row)| top <= row.saturating_add(near));
        seen || self.to_first || self.seeks_earlier()
    }

    /// Whether there are messages that are not loaded.
    pub(crate) fn has_earlier(&self) -> bool {
        self.earlier.is_some()
    }

    /// About how many messages are not loaded.
    pub(crate) fn earlier_count(&self) -> u64 {
        let row = self.earlier.and_then(|earlier| self.index_of(earlier.row));
        match row.and_then(|row| self.entries.get(row)).map(|entry| &entry.body) {
            Some(EntryBody::Earlier { left, .. }) => *left,
            _ => 0,
        }
    }

    /// Whether there are earlier messages that can be loaded.
    pub(super) fn may_load_earlier(&self) -> bool {
        self.earlier.is_some_and(|earlier| earlier.stage != Stage::Failed)
    }

    /// Notes that they are being loaded.
    pub(crate) fn earlier_asked(&mut self) {
        if let Some(earlier) = &mut self.earlier {
            earlier.stage = Stage::Asked;
        }
    }

    /// The user scrolls by that many rows.
    pub(super) fn look_earlier(&mut self, rows: i32) {
        // Also when nothing is known of them yet: a session may just be opening.
        self.to_first = rows == i32::MIN;
        if let Some(earlier) = self.earlier.as_mut().filter(|earlier| earlier.stage == Stage::Failed)
            && rows < 0
        {
            earlier.stage = Stage::There;
        }
    }

    /// Whether there are only entries that come before all messages.
    pub(super) fn is_head(&self) -> bool {
        self.entries.last().is_none_or(|last| last.id < MESSAGES)
    }

    /// An id before those of all messages, after those of its kind.
    pub(super) fn next_head(&mut self) -> EntryId {
        self.heads += 1;
        EntryId(i32::MIN + self.heads)
    }

    /// Makes the first row of a message that is on the screen the anchor, at the row where it is.
    fn hold(&mut self, rows: &[Option<Anchor>]) {
        let ScrollPosition::Top(top) = self.position else { return };
        let is_message = |entry: EntryId| entry >= MESSAGES && self.index_of(entry).is_some();
        if is_message(top.entry) || self.pending == i32::MIN {
            return;
        }
        let mut seen = rows.iter().zip(0..).filter_map(|(anchor, row)| Some(((*anchor)?, row)));
        let first = || Some((Anchor { entry: self.entries.get(self.heads_end())?.id, part: 0, row: 0 }, 0));
        match seen.find(|(anchor, _)| is_message(anchor.entry)).or_else(first) {
            Some((anchor, row)) => {
                self.position = ScrollPosition::Top(anchor);
                self.pending = self.pending.saturating_sub(row);
            }
            None => self.position = ScrollPosition::Tail,
        }
    }

    /// Place of the first entry that came of messages.
    fn heads_end(&self) -> usize {
        self.entries.partition_point(|entry| entry.id < MESSAGES)
    }

    fn put_above(&mut self, mut above: Transcript) {
        let count = above.entries.len();
        self.first = self.first.saturating_sub_unsigned(u32::try_from(count).unwrap_or(u32::MAX));
        for (entry, id) in above.entries.iter_mut().zip(self.first..) {
            entry.id = EntryId(id);
        }
        // Of calls with one id the last counts.
        for entry in above.entries.iter().rev() {
            if let EntryBody::Tool(panel) = &entry.body {
                self.calls.entry(panel.call_id.clone()).or_insert(entry.id);
            }
        }
        let at = self.heads_end();
        self.entries.splice(at..at, above.entries);
        self.seen += count;
        self.last_answer = self.last_answer.take().or(above.last_answer);
    }

    fn say_more(&mut self, left: u64, failed: Option<&str>) {
        let stage = if failed.is_some() { Stage::Failed } else { Stage::There };
        let body = EntryBody::Earlier { left, failed: failed.map(Printable::line) };
        if let Some(earlier) = &mut self.earlier {
            earlier.stage = stage;
            let row = earlier.row;
            return self.edit(row, |old| *old = body);
        }
        let (at, row) = (self.heads_end(), self.next_head());
        self.earlier = Some(EarlierMessages { row, stage });
        self.entries
            .insert(at, TranscriptEntry { id: row, body, fold: FoldState::Default, revision: 0, epoch: 0 });
        self.seen += 1;
    }

    fn say_no_more(&mut self) {
        let row = self.earlier.take().and_then(|earlier| self.index_of(earlier.row));
        if let Some(row) = row {
            self.entries.remove(row);
            self.seen = self.seen.saturating_sub(1);
        }
    }
}
