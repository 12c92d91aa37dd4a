//! The transcript on the shell's screen: finished rows, which can be printed, and live ones.
//!
//! A part is finished when nothing can change it any more: closed blocks of an answer, completed calls and
//! commands, notices. They are printed in order, so anything after a running call waits for it.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Place, Walk};
use crate::frame::Frame;
use crate::memo::Memo;
use crate::parts;
use crate::theme::ThemeToken;
use tau_app::Model;
use tau_app::geometry::{Anchor, EntryId, FrameLayout};
use tau_app::transcript::{EntryBody, TranscriptEntry};

/// The maximum number of rows printed at once, so that a frame stays small.
const AT_ONCE: usize = 400;
/// The number of rows printed when a session is opened.
const OPENED: usize = 200;

/// The rows that are not yet in the terminal's scrollback.
#[derive(Default)]
pub(crate) struct UnprintedRows {
    finished: Vec<Place>,
    /// True if a row says that the session has earlier messages.
    is_cut: bool,
    live: Vec<Place>,
    /// The end of the transcript printed with this frame.
    pub printed: Option<Anchor>,
    /// True if more is finished than this frame prints.
    pub more: bool,
}

impl UnprintedRows {
    /// Finds them, with `room` rows for live ones.
    pub fn find(model: &Model, memo: &mut Memo, width: u16, room: u16) -> Self {
        let mut walk = Walk::new(model, memo, width);
        walk.asked = walk.prompt_place();
        let start = match model.transcript.printed {
            Some(printed) => walk.place_after(printed),
            None => walk.start(),
        };
        let mut unprinted = UnprintedRows::default();
        // Nothing is printed before the session is open: it may have earlier messages.
        if model.status.mirror.session.id.is_empty() {
            unprinted.live = walk.live(start, room);
            return unprinted;
        }
        unprinted.is_cut = model.transcript.printed.is_none() && start.index > 0;
        let end = walk.collect_finished_rows(start, &mut unprinted);
        unprinted.printed = Some(walk.anchor_at(end));
        unprinted.live = walk.live(end, room);
        unprinted
    }

    /// The number of printed rows.
    pub fn finished_rows(&self) -> u16 {
        u16::try_from(self.finished.len() + usize::from(self.is_cut)).unwrap_or(u16::MAX)
    }

    /// The number of live rows that fit.
    pub fn live_rows(&self) -> u16 {
        u16::try_from(self.live.len()).unwrap_or(u16::MAX)
    }

    /// Draws them from the top of the frame on; reports the prompt among them.
    pub fn draw(&self, model: &Model, memo: &mut Memo, frame: &mut Frame) -> FrameLayout {
        let mut walk = Walk::new(model, memo, frame.area().width);
        walk.asked = walk.prompt_place();
        let mut area = Rect { height: 1, ..frame.area() };
        if self.is_cut {
            let style = walk.memo.theme().style(ThemeToken::Muted);
            let line = Line::styled("… earlier messages of this session are not printed", style);
            frame.buffer().set_line(area.x, area.y, &line, area.width);
            area.y += 1;
        }
        for place in self.finished.iter().chain(&self.live) {
            frame.draw_row(area, walk.row_at(Some(*place)));
            walk.mark_row(*place, area, frame, &mut FrameLayout::default());
            area.y += 1;
        }
        let mut laid = FrameLayout::default();
        let live: Vec<Option<Place>> = self.live.iter().copied().map(Some).collect();
        walk.report_prompt(&live, self.finished_rows(), &mut laid);
        walk.mark_left_out(&live, Rect { y: self.finished_rows(), ..frame.area() }, frame);
        laid
    }
}

/// True if nothing can change a part any more; without a part, if nothing can be added to the entry.
pub(crate) fn is_finished(model: &Model, entry: &TranscriptEntry, part: Option<u32>) -> bool {
    if part.is_some_and(|part| parts::closed_block(entry, part).is_some()) {
        return true;
    }
    // Work in progress when the session was left has ended.
    let is_idle = model.status.run.is_none();
    match &entry.body {
        EntryBody::Welcome
        | EntryBody::Earlier { .. }
        | EntryBody::User { .. }
        | EntryBody::Summary { .. }
        | EntryBody::Notice { .. }
        | EntryBody::RunEnd(_) => true,
        EntryBody::Answer(_) => is_idle || !model.transcript.is_live(entry),
        EntryBody::Thinking { until, .. } if part == Some(0) => is_idle || until.is_some(),
        EntryBody::Thinking { .. } => is_idle || !model.transcript.is_live(entry),
        EntryBody::Tool(tool) => {
            let is_over = is_idle || tool.state.is_over();
            let grows = || model.transcript.is_grouped(entry) && model.transcript.may_grow(entry);
            is_over && (is_idle || !grows()) && !waits_for_group(model, entry)
        }
        EntryBody::Command(command) => command.end.is_some() && !parts::has_keyboard(model, entry),
    }
}

/// True if the row of a call belongs to a group with another call that is still running.
fn waits_for_group(model: &Model, entry: &TranscriptEntry) -> bool {
    let is_idle = model.status.run.is_none();
    !is_idle
        && model.transcript.is_grouped(entry)
        && model.transcript.group(entry).any(|call| !call.state.is_over())
}

impl Walk<'_> {
    /// The first row that is not above `anchor`, even if its entry has no such row (yet).
    fn place_after(&self, anchor: Anchor) -> Place {
        let index = self.entries().partition_point(|entry| entry.id < anchor.entry);
        match self.entries().get(index) {
            Some(entry) if entry.id == anchor.entry => Place { index, part: anchor.part, row: anchor.row },
            _ => Place { index, part: 0, row: 0 },
        }
    }

    /// The start of printing: the last messages of a long session.
    fn start(&mut self) -> Place {
        let index = self.tail_top(OPENED).map_or(0, |place| place.index);
        let is_prompt = |entry: &TranscriptEntry| matches!(entry.body, EntryBody::User { .. });
        let prompt = self.entries().iter().skip(index).position(is_prompt);
        let index = if index == 0 { 0 } else { index + prompt.unwrap_or(0) };
        Place { index, part: 0, row: 0 }
    }

    /// Collects the finished rows from `at` on and returns their end.
    fn collect_finished_rows(&mut self, mut at: Place, unprinted: &mut UnprintedRows) -> Place {
        while let Some(entry) = self.entries().get(at.index) {
            if at.part >= parts::count(self.model, entry) {
                if !is_finished(self.model, entry, None) {
                    break;
                }
                at = Place { index: at.index + 1, part: 0, row: 0 };
                continue;
            }
            if !is_finished(self.model, entry, Some(at.part)) {
                break;
            }
            let height = self.height(at.index, at.part);
            while at.row < height {
                if unprinted.finished.len() == AT_ONCE {
                    unprinted.more = true;
                    return at;
                }
                unprinted.finished.push(at);
                at.row += 1;
            }
            at = Place { part: at.part + 1, row: 0, ..at };
        }
        at
    }

    /// The anchor for printing up to `end`.
    fn anchor_at(&self, end: Place) -> Anchor {
        match self.entries().get(end.index) {
            Some(entry) => Anchor { entry: entry.id, part: end.part, row: end.row },
            None => {
                let last = self.entries().last().map(|entry| entry.id.0);
                Anchor {
                    entry: EntryId(last.map_or(i64::MIN, |last| last.saturating_add(1))),
                    part: 0,
                    row: 0,
                }
            }
        }
    }

    /// The last `room` rows from `from` on.
    fn live(&mut self, from: Place, room: u16) -> Vec<Place> {
        let first = match self.height(from.index, from.part) > from.row {
            true => Some(from),
            false => self.next_row(from),
        };
        let Some(first) = first.filter(|_| room > 0) else { return Vec::new() };
        if let Some(rows) = self.live_rows_with_prompt(first, usize::from(room)) {
            return rows;
        }
        let top = self.tail_top(usize::from(room)).map_or(first, |top| top.max(first));
        let mut rows = vec![top];
        while let Some(next) = rows.last().and_then(|last| self.next_row(*last)) {
            rows.push(next);
        }
        rows
    }
}
