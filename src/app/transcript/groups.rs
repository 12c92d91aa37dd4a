//! Calls that only read files: a sequence of them is one row until unfolded. Calls that failed or were
//! stopped, or that hooks changed, stand alone, to be noticed.

use std::ops::Range;

use super::panel::{CallState, PanelOutput, ToolPanel};
use super::{EntryBody, FoldState, Transcript, TranscriptEntry};

/// Tools whose calls are grouped.
const LOOKING: [&str; 4] = ["read", "ls", "find", "grep"];

impl Transcript {
    /// Whether an entry is shown in one row with its neighbours of the same group.
    pub fn is_grouped(&self, entry: &TranscriptEntry) -> bool {
        looks(entry) && !self.is_open(entry)
    }

    /// Whether an entry is shown in the row of the previous entry. A printed row takes no more.
    pub fn joins_previous(&self, entry: &TranscriptEntry) -> bool {
        let previous = || self.entries.get(self.index_of(entry.id)?.checked_sub(1)?);
        let is_open = |previous: &TranscriptEntry| {
            self.is_grouped(previous) && self.printed.is_none_or(|printed| previous.id >= printed.entry)
        };
        self.is_grouped(entry) && previous().is_some_and(is_open)
    }

    /// Whether another call may join the row of this entry: no other entry follows it.
    pub fn may_grow(&self, entry: &TranscriptEntry) -> bool {
        let from = self.index_of(entry.id).unwrap_or(self.entries.len());
        self.entries.get(from..).unwrap_or_default().iter().all(|entry| self.is_grouped(entry))
    }

    /// The calls in the row that begins with this entry.
    pub fn group<'a>(&'a self, first: &TranscriptEntry) -> impl Iterator<Item = &'a ToolPanel> {
        let from = self.index_of(first.id).unwrap_or(self.entries.len());
        let rest = self.entries.get(from..).unwrap_or_default();
        rest.iter().take_while(|entry| self.is_grouped(entry)).filter_map(panel)
    }

    /// Folds or unfolds an entry, and with it the entries that share its row when folded.
    pub(super) fn fold_group(&mut self, index: usize, fold: FoldState) {
        let group = self.neighbours(index);
        for entry in self.entries.get_mut(group).unwrap_or_default() {
            entry.fold = fold;
        }
    }

    /// The entries that share a row with this one.
    fn neighbours(&self, index: usize) -> Range<usize> {
        if !self.entries.get(index).is_some_and(looks) {
            return index..index + 1;
        }
        let before = self.entries.get(..index).unwrap_or_default();
        let after = self.entries.get(index..).unwrap_or_default();
        let start = before.iter().rev().take_while(|entry| looks(entry)).count();
        index - start..index + after.iter().take_while(|entry| looks(entry)).count()
    }
}

fn panel(entry: &TranscriptEntry) -> Option<&ToolPanel> {
    match &entry.body {
        EntryBody::Tool(panel) => Some(panel),
        _ => None,
    }
}

fn looks(entry: &TranscriptEntry) -> bool {
    panel(entry).is_some_and(|panel| {
        LOOKING.contains(&panel.name.as_str())
            && !matches!(
                panel.state,
                CallState::Asked | CallState::Failed | CallState::Stopped | CallState::Skipped
            )
            && !matches!(panel.output, PanelOutput::Picture(_))
            && panel.hooks.is_empty()
    })
}
