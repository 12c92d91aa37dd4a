//! The panel selected with the keyboard: a call, a command, a message, or a block of code.
//!
//! Panels are in drawing order; an answer comes before its blocks of code. While one is selected the view
//! stays in place, even if text arrives.

use std::ops::Range;

use super::{EntryBody, Transcript, TranscriptEntry};
use crate::blocks::{MarkdownBlock, MarkdownBlocks};
use crate::geometry::{EntryId, FrameLayout};

/// A panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PanelId {
    pub entry: EntryId,
    /// The first part of a block of code; `None` is the whole entry.
    pub code: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SelectedPanel {
    id: PanelId,
    /// The view must bring it onto the screen.
    pub(super) to_show: bool,
}

impl EntryBody {
    /// Whether it can be folded.
    pub fn folds(&self) -> bool {
        matches!(
            self,
            EntryBody::Tool(_)
                | EntryBody::Command(_)
                | EntryBody::Thinking { .. }
                | EntryBody::Summary { .. }
                | EntryBody::User { .. }
        )
    }
}

impl Transcript {
    /// The selected panel. For calls in one row, the first.
    pub fn selected_panel(&self) -> Option<PanelId> {
        let PanelId { entry, code } = self.panel?.id;
        let before = self.entries.get(..=self.index_of(entry)?)?;
        let first = before.iter().rev().find(|entry| !self.joins_previous(entry))?;
        Some(PanelId { entry: first.id, code })
    }

    /// The selected panel, when it must be brought onto the screen.
    pub fn panel_to_show(&self) -> Option<PanelId> {
        self.selected_panel().filter(|_| self.panel.is_some_and(|panel| panel.to_show))
    }

    /// The entry of the selected panel.
    pub fn selected_entry(&self) -> Option<&TranscriptEntry> {
        self.entries.get(self.index_of(self.selected_panel()?.entry)?)
    }

    /// The parts of its entry that belong to a panel; their end may be beyond the end of the entry.
    pub fn parts_of(&self, panel: PanelId) -> Range<u32> {
        let body = self.index_of(panel.entry).and_then(|index| self.entries.get(index));
        match (panel.code, body.map(|entry| &entry.body)) {
            (Some(first), Some(EntryBody::Answer(blocks))) => first..code_end(blocks, first),
            _ => 0..u32::MAX,
        }
    }

    /// Selects the panel nearest to the end of the screen; false if no panel is loaded.
    pub(crate) fn select_nearest(&mut self, laid: &FrameLayout) -> bool {
        let seen: Vec<_> = laid.rows.iter().flatten().map(|row| (row.entry, row.part)).collect();
        let Some(end) = seen.last().and_then(|(entry, _)| self.index_of(*entry)) else { return false };
        let in_sight = |panel: &PanelId| {
            let parts = self.parts_of(*panel);
            seen.iter().any(|(entry, part)| *entry == panel.entry && parts.contains(part))
        };
        let seen = self.panels_up(end).find(in_sight).map(|id| SelectedPanel { id, to_show: false });
        let above = || self.panels_up(end).next().map(|id| SelectedPanel { id, to_show: true });
        self.panel = seen.or_else(above);
        self.panel.is_some()
    }

    /// Selects the panel above; where none is loaded, scrolls up.
    pub(crate) fn select_above(&mut self) {
        let Some(current) = self.selected_panel() else { return };
        let index = self.index_of(current.entry).unwrap_or_default();
        let above = self.panels_up(index).find(|panel| *panel < current);
        match above {
            Some(panel) => self.select(panel),
            None => self.scroll(-1),
        }
    }

    /// Selects the panel below; after the last one, none.
    pub(crate) fn select_below(&mut self) {
        let Some(current) = self.selected_panel() else { return };
        let below = self.entries.iter().skip(self.index_of(current.entry).unwrap_or_default());
        match below.flat_map(|entry| self.panels_of(entry)).find(|panel| *panel > current) {
            Some(panel) => self.select(panel),
            None => self.leave_panel(),
        }
    }

    /// Clears the selection.
    pub(crate) fn leave_panel(&mut self) {
        self.panel = None;
    }

    /// Folds or unfolds the selected panel.
    pub(crate) fn fold_selected_panel(&mut self) {
        let Some(id) = self.selected_entry().filter(|entry| entry.body.folds()).map(|entry| entry.id) else {
            return;
        };
        self.toggle(id);
        self.show_selected_panel();
    }

    /// Brings the selected panel onto the screen, if there is one.
    pub(crate) fn show_selected_panel(&mut self) {
        if let Some(panel) = &mut self.panel {
            panel.to_show = true;
        }
    }

    fn select(&mut self, id: PanelId) {
        self.panel = Some(SelectedPanel { id, to_show: true });
        self.pending = 0;
    }

    /// The panels of the entry at an index and of those above it, the last one first.
    fn panels_up(&self, index: usize) -> impl Iterator<Item = PanelId> {
        let above = self.entries.get(self.contiguous_start(index)..=index).unwrap_or_default();
        above.iter().rev().flat_map(|entry| self.panels_of(entry).into_iter().rev())
    }

    fn panels_of(&self, entry: &TranscriptEntry) -> Vec<PanelId> {
        let whole = PanelId { entry: entry.id, code: None };
        match &entry.body {
            EntryBody::Answer(blocks) if blocks.closed_blocks().is_empty() && !blocks.has_open() => {
                Vec::new()
            }
            EntryBody::Answer(blocks) => {
                let open = blocks.open();
                let all = blocks.closed_blocks().iter().chain(&open).zip(0..);
                let begins = |block: &MarkdownBlock| matches!(block, MarkdownBlock::Code { part, .. } if part.starts());
                let code = all.filter(|(block, _)| begins(block));
                let code = code.map(|(_, part)| PanelId { code: Some(part), ..whole });
                std::iter::once(whole).chain(code).collect()
            }
            _ if self.joins_previous(entry) || !entry.body.folds() => Vec::new(),
            _ => vec![whole],
        }
    }
}

/// The part after the block of code that begins with `first`.
fn code_end(blocks: &MarkdownBlocks, first: u32) -> u32 {
    let rest = blocks.closed_blocks().get(first as usize + 1..).unwrap_or_default();
    let more = rest.iter().take_while(|block| block.continues()).count();
    let open = more == rest.len() && blocks.has_open() && blocks.open_continues();
    first.saturating_add(1 + more as u32 + u32::from(open))
}
