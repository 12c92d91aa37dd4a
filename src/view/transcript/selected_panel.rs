//! Marks the selected panel and brings it into sight.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Place, Walk};
use crate::parts;
use crate::theme::ThemeToken;
use tau_app::transcript::selected_panel::PanelId;

/// The location of the panel: its entry and its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PanelPlace {
    index: usize,
    parts: Range<u32>,
}

impl PanelPlace {
    fn contains(&self, place: Place) -> bool {
        place.index == self.index && self.parts.contains(&place.part)
    }
}

impl Walk<'_> {
    pub(super) fn panel_place(&self, panel: PanelId) -> Option<PanelPlace> {
        let index = self.model.transcript.index_of(panel.entry)?;
        Some(PanelPlace { index, parts: self.model.transcript.parts_of(panel) })
    }

    /// Marks a row of the selected panel: a head like a selected row of a list, any other at its left edge.
    pub(super) fn mark_panel(&self, at: Place, row: u32, area: Rect, buffer: &mut Buffer) {
        if !self.panel.as_ref().is_some_and(|panel| panel.contains(at)) {
            return;
        }
        let theme = self.memo.theme();
        let is_head = self.entries().get(at.index).is_some_and(|entry| parts::is_head(entry, at.part));
        if row == 0 && is_head {
            buffer.set_style(area, theme.style(ThemeToken::OverlaySelected));
        } else {
            buffer.set_string(area.x, area.y, "┃", theme.style(ThemeToken::Accent));
        }
    }

    /// The top of a screen that shows the selected panel, moved as little as possible: its start if it is
    /// higher than the screen.
    pub(super) fn top_showing_panel(&mut self, top: Place, height: usize) -> Place {
        let Some(panel) = self.panel.clone() else { return top };
        let gap = self.rows(panel.index, panel.parts.start).is_some_and(|(gap, _)| gap);
        let first = Place { index: panel.index, part: panel.parts.start, row: u32::from(gap) };
        // The first row of the screen may be covered by the pinned prompt.
        if first <= top {
            return self.previous_row(first).unwrap_or(first);
        }
        let mut end = first;
        for _ in 2..height {
            match self.next_row(end) {
                Some(next) if panel.contains(next) => end = next,
                _ => break,
            }
        }
        let mut at = Some(top);
        for _ in 0..height {
            match at {
                Some(place) if place == end => return top,
                Some(place) => at = self.next_row(place),
                None => return top,
            }
        }
        self.rows_back(end, height.saturating_sub(1))
    }
}
