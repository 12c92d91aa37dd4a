//! The transcript on the screen: walked from its anchor until the screen is full.
//!
//! A part's rows are its gap (if any) and its rendered rows; an [`Anchor`] counts rows in these. The total
//! height is never needed.

mod asked;
mod find;
mod inline;
mod scrolled;
mod selected_panel;
mod selection;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::frame::{DrawnRow, Frame};
use super::memo::Memo;
use super::parts;
use super::row::Rows;
use super::theme::ThemeToken;
use asked::AskedPlace;
use find::{CurrentPlace, FoundInPart};
pub(super) use inline::{UnprintedRows, is_finished};
use selected_panel::PanelPlace;
use tau_app::Model;
use tau_app::geometry::{Anchor, FrameLayout, Hit, Point, ScrollPosition};
use tau_app::transcript::TranscriptEntry;
use tau_app::transcript::find::Find;
use tau_protocol::needle::Needle;

/// Draws the transcript; returns its position, the targets of clicks, and the selection.
pub fn draw(model: &Model, memo: &mut Memo, area: Rect, frame: &mut Frame) -> FrameLayout {
    let find = model.transcript.find.as_ref();
    let needle = find.and_then(Find::needle);
    let mut walk = Walk { needle, ..Walk::new(model, memo, area.width) };
    walk.selection = walk.selection_ends();
    walk.current = find.and_then(Find::current).and_then(|place| walk.locate_match(place));
    walk.panel = model.transcript.selected_panel().and_then(|panel| walk.panel_place(panel));
    walk.asked = walk.prompt_place();
    let (top, tail) = walk.resolve(usize::from(area.height));
    let at_end = top >= tail;
    // New content does not move a selected panel.
    let position = match top.filter(|_| !at_end || walk.panel.is_some()) {
        // The prompt's content stays in view for as long as it is open.
        _ if walk.follows_prompt() && model.transcript.pending == 0 => model.transcript.position,
        Some(top) => ScrollPosition::Top(walk.anchor(top)),
        None => ScrollPosition::Tail,
    };
    let rows = walk.screen_rows(top, usize::from(area.height));
    let page = u16::try_from(walk.rows_without_gap(&rows)).unwrap_or(area.height);
    let mut laid = FrameLayout { position, page, top: area.y, ..FrameLayout::default() };
    let scrolled = top.filter(|_| !at_end);
    let bar = scrolled.map(|top| walk.scroll_bar(top, &rows)).unwrap_or_default();
    // Marks in a row end before the bar.
    let marked = Rect { width: area.width - u16::from(!bar.is_empty()), height: 1, ..area };
    let edges = bar.into_iter().map(Some).chain(std::iter::repeat(None));
    let wanted = rows.iter().zip(edges).map(|(place, edge)| walk.row_at(*place).with_edge(edge));
    let mut wanted: Vec<DrawnRow> = wanted.collect();
    frame.move_rows(area, &mut wanted);
    for ((y, place), wanted) in (area.top()..area.bottom()).zip(&rows).zip(wanted) {
        let area = Rect { y, height: 1, ..area };
        frame.draw_row(area, wanted);
        match place {
            Some(at) => walk.mark_row(*at, Rect { y, ..marked }, frame, &mut laid),
            None => laid.rows.push(None),
        }
    }
    walk.report_prompt(&rows, area.y, &mut laid);
    if let Some(given) = walk.mark_left_out(&rows, area, frame) {
        // The next page begins with the row that gave way to a mark.
        laid.page = laid.page.min(given.max(1));
    }
    if model.copying {
        laid.selected = walk.selected_text();
    }
    if let Some(top) = scrolled {
        walk.draw_scroll_hints(top, area, frame, &mut laid);
    }
    laid
}

/// A row: the entry's index, the part, and the row within the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    index: usize,
    part: u32,
    row: u32,
}

struct Walk<'a> {
    model: &'a Model,
    memo: &'a mut Memo,
    width: u16,
    /// The first and the last selected cell.
    selection: Option<(Point, Point)>,
    /// The part that was requested last: most lookups in a row concern one part.
    last: Option<LastPart>,
    /// The search query.
    needle: Option<Needle>,
    /// The matches in the part that was requested last.
    found: Option<FoundInPart>,
    /// The current match.
    current: Option<CurrentPlace>,
    /// The selected panel.
    panel: Option<PanelPlace>,
    /// The prompt of a waiting call.
    asked: Option<AskedPlace>,
}

struct LastPart {
    index: usize,
    part: u32,
    gap: bool,
    rows: Rows,
}

impl<'a> Walk<'a> {
    fn new(model: &'a Model, memo: &'a mut Memo, width: u16) -> Self {
        Walk {
            model,
            memo,
            width,
            selection: None,
            last: None,
            needle: None,
            found: None,
            current: None,
            panel: None,
            asked: None,
        }
    }

    fn entries(&self) -> &'a [TranscriptEntry] {
        self.model.transcript.entries()
    }

    /// The top row of the screen after pending scrolling, and the top row with the newest row at the bottom.
    fn resolve(&mut self, height: usize) -> (Option<Place>, Option<Place>) {
        let tail = self.tail_top(height);
        let pending = self.model.transcript.pending;
        let from = match self.model.transcript.position {
            _ if self.follows_prompt() => self.top_showing_prompt(height).or(tail),
            ScrollPosition::Tail => tail,
            ScrollPosition::Top(anchor) => self.place_of(anchor).or(tail),
        };
        let Some(mut top) = from else { return (None, tail) };
        if let Some(row) = self.row_to_show() {
            top = self.top_showing(row, top, height);
        } else if self.model.transcript.panel_to_show().is_some() {
            top = self.top_showing_panel(top, height);
        } else if pending == i32::MIN {
            top = Place { index: 0, part: 0, row: 0 };
        } else {
            for _ in 0..pending.unsigned_abs() {
                let next = if pending < 0 { self.previous_row(top) } else { self.next_row(top) };
                match next {
                    Some(next) if pending < 0 || tail.is_some_and(|tail| next <= tail) => top = next,
                    _ => break,
                }
            }
        }
        (tail.map(|tail| top.min(tail)), tail)
    }

    /// The top row when the newest row is at the bottom.
    fn tail_top(&mut self, height: usize) -> Option<Place> {
        let index = self.entries().len().checked_sub(1)?;
        let part = parts::count(self.model, self.entries().get(index)?).saturating_sub(1);
        let mut missing = height.max(1) as u32;
        let (mut index, mut part) = (index, part);
        loop {
            let rows = self.height(index, part);
            if rows >= missing {
                return Some(Place { index, part, row: rows - missing });
            }
            missing -= rows;
            match self.previous_part(index, part) {
                Some(previous) => (index, part) = previous,
                None => return self.first_row(),
            }
        }
    }

    fn first_row(&mut self) -> Option<Place> {
        let first = Place { index: 0, part: 0, row: 0 };
        if self.height(0, 0) > 0 { Some(first) } else { self.next_row(first) }
    }

    /// The rows of a part, and whether there is a gap above them.
    fn rows(&mut self, index: usize, part: u32) -> Option<(bool, Rows)> {
        if self.last.as_ref().is_none_or(|last| (last.index, last.part) != (index, part)) {
            let entry = self.entries().get(index)?;
            let rows = parts::rows(self.model, self.memo, entry, part, self.width);
            let gap = parts::gap(entry, part) && index + part as usize > 0 && !rows.is_empty();
            self.last = Some(LastPart { index, part, gap, rows });
        }
        self.last.as_ref().map(|last| (last.gap, Rows::clone(&last.rows)))
    }

    fn height(&mut self, index: usize, part: u32) -> u32 {
        self.rows(index, part).map_or(0, |(gap, rows)| u32::from(gap) + rows.len() as u32)
    }

    fn previous_part(&self, index: usize, part: u32) -> Option<(usize, u32)> {
        if part > 0 {
            return Some((index, part - 1));
        }
        let index = index.checked_sub(1)?;
        Some((index, parts::count(self.model, self.entries().get(index)?).saturating_sub(1)))
    }

    fn next_part(&self, index: usize, part: u32) -> Option<(usize, u32)> {
        let count = parts::count(self.model, self.entries().get(index)?);
        if part + 1 < count {
            return Some((index, part + 1));
        }
        (index + 1 < self.entries().len()).then_some((index + 1, 0))
    }

    fn next_row(&mut self, at: Place) -> Option<Place> {
        if at.row + 1 < self.height(at.index, at.part) {
            return Some(Place { row: at.row + 1, ..at });
        }
        let (mut index, mut part) = (at.index, at.part);
        loop {
            (index, part) = self.next_part(index, part)?;
            if self.height(index, part) > 0 {
                return Some(Place { index, part, row: 0 });
            }
        }
    }

    fn previous_row(&mut self, at: Place) -> Option<Place> {
        if at.row > 0 {
            return Some(Place { row: at.row - 1, ..at });
        }
        let (mut index, mut part) = (at.index, at.part);
        loop {
            (index, part) = self.previous_part(index, part)?;
            let rows = self.height(index, part);
            if rows > 0 {
                return Some(Place { index, part, row: rows - 1 });
            }
        }
    }

    /// The row of an anchor; the nearest one if the part has shrunk.
    fn place_of(&mut self, anchor: Anchor) -> Option<Place> {
        let index = self.model.transcript.index_of(anchor.entry)?;
        let count = parts::count(self.model, self.entries().get(index)?);
        let part = anchor.part.min(count.saturating_sub(1));
        let rows = self.height(index, part);
        match rows {
            0 => self.next_row(Place { index, part, row: 0 }),
            rows => Some(Place { index, part, row: anchor.row.min(rows - 1) }),
        }
    }

    fn anchor(&self, place: Place) -> Anchor {
        let entry = self.entries().get(place.index).map(|entry| entry.id).unwrap_or_default();
        Anchor { entry, part: place.part, row: place.row }
    }

    /// The row at a place; blank after the last one.
    fn row_at(&mut self, place: Option<Place>) -> DrawnRow {
        let found = place.and_then(|at| Some((at, self.rows(at.index, at.part)?)));
        let row = found.and_then(|(at, (gap, rows))| {
            Some(DrawnRow::of(&rows, at.row.checked_sub(u32::from(gap))? as usize))
        });
        row.unwrap_or_else(DrawnRow::blank)
    }

    /// Marks selected or matching text on a drawn row, and reports the row's contents.
    fn mark_row(&mut self, at: Place, area: Rect, frame: &mut Frame, laid: &mut FrameLayout) {
        let anchor = self.anchor(at);
        let Some((gap, rows)) = self.rows(at.index, at.part) else { return };
        laid.rows.push(Some(anchor));
        let Some(row) = at.row.checked_sub(u32::from(gap)) else { return };
        if let Some(entry) =
            self.entries().get(at.index).filter(|entry| row == 0 && parts::is_head(entry, at.part))
        {
            laid.hits.push((area.y, Hit::Fold(entry.id)));
        }
        if self.panel.is_none() && self.needle.is_none() && self.selection.is_none() {
            return;
        }
        frame.touch(area.top()..area.bottom());
        let buffer = frame.buffer();
        self.mark_panel(at, row, area, buffer);
        self.mark_matches(at, row as usize, area, buffer);
        let Some(ends) = self.selection else { return };
        let selected = selection::columns(ends, anchor, area.width);
        for run in rows.get(row as usize).map_or(&[][..], |row| row.text_columns()) {
            let (start, end) = (run.start.max(selected.start), run.end.min(selected.end));
            if start < end {
                let marked = Rect { x: area.x + start, width: end - start, ..area };
                buffer.set_style(marked, self.memo.theme().style(ThemeToken::Selection));
            }
        }
    }

    /// Marks matches on a row of a part; the current match stands out.
    fn mark_matches(&mut self, at: Place, row: usize, area: Rect, buffer: &mut Buffer) {
        if self.needle.is_none() || self.count_matches(at.index, at.part) == 0 {
            return;
        }
        let Some(found) = &self.found else { return };
        for (nth, place) in found.all.iter().enumerate() {
            let is_current = self.current == Some(CurrentPlace { index: at.index, part: at.part, nth });
            let token = if is_current { ThemeToken::MatchMark } else { ThemeToken::Selection };
            let style = self.memo.theme().style(token);
            for cells in place.iter().filter(|cells| cells.row == row) {
                let (start, end) = (cells.columns.start.min(area.width), cells.columns.end.min(area.width));
                buffer.set_style(Rect { x: area.x + start, width: end - start, ..area }, style);
            }
        }
    }
}
