//! The prompt of a call that waits, kept in sight: the call's panel is brought onto the screen, and where
//! it does not fit, or the user looks elsewhere, the prompt is at the bottom of it.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Place, Walk};
use crate::app::geometry::Laid;
use crate::app::transcript::EntryBody;
use crate::tools::counted::counted;
use crate::view::approval::{self, Prompt};
use crate::view::frame::Frame;
use crate::view::theme::ThemeToken;
use crate::view::wrap;

/// Rows of the transcript that the prompt leaves, where there is room: the head of the call, and the start
/// of what it would do.
const CONTEXT: usize = 2;
/// Transcripts with fewer rows show nothing above the call.
const LOW: usize = 12;

/// Where the prompt is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AskedPlace {
    /// The entry of the call.
    index: usize,
    /// The part of the hunk that keys act on.
    hunk: Option<u32>,
    /// The part of the prompt.
    part: u32,
    /// The user does not scroll.
    follow: bool,
}

impl Walk<'_> {
    /// Where the prompt that takes keys is, or the one that is set aside.
    pub(super) fn asked_place(&self) -> Option<AskedPlace> {
        let approvals = &self.model.approvals;
        let open = approvals.open()?;
        let is_call = |body: &EntryBody| {
            let EntryBody::Tool(tool) = body else { return None };
            approval::open_of(self.model, tool).map(|_| approval::places(tool, open))
        };
        let entries = self.entries().iter().enumerate().rev();
        let found = entries.filter_map(|(index, entry)| Some((index, is_call(&entry.body)?)));
        let (index, (hunk, part)) = { found }.next()?;
        let follow = approvals.follow && self.model.takes_answer();
        Some(AskedPlace { index, hunk, part, follow })
    }

    /// Whether the screen follows the prompt: then the position stays what it is.
    pub(super) fn follows_prompt(&self) -> bool {
        self.asked.is_some_and(|asked| asked.follow)
    }

    /// The row at the top of the screen that shows the prompt and what it is about: all of it where it
    /// fits, otherwise its start, or the hunk that keys act on.
    pub(super) fn top_showing_prompt(&mut self, height: usize) -> Option<Place> {
        let asked = self.asked.filter(|asked| asked.follow)?;
        let gap = self.rows(asked.index, 0).is_some_and(|(gap, _)| gap);
        let first = Place { index: asked.index, part: 0, row: u32::from(gap) };
        let last = self.prompt_rows(asked, height).last().copied()?;
        if self.reaches(first, last, height) {
            return Some(self.rows_back(last, height.saturating_sub(1)));
        }
        // The first row may be covered by the user's prompt that stays in sight.
        let start = if height < LOW { first } else { self.previous_row(first).unwrap_or(first) };
        let room = height.saturating_sub(self.prompt_rows(asked, height).len());
        let hunk = asked.hunk.map(|part| Place { index: asked.index, part, row: 0 });
        match hunk {
            Some(hunk) if !self.reaches(start, hunk, room.saturating_sub(1)) => Some(self.rows_back(hunk, 1)),
            _ => Some(start),
        }
    }

    /// Whether a row is among so many rows from another one on.
    fn reaches(&mut self, from: Place, to: Place, rows: usize) -> bool {
        let mut at = from;
        for _ in 1..rows.max(1) {
            if at == to {
                break;
            }
            match self.next_row(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        at == to
    }

    /// The row so many rows above; the first one where there are fewer.
    fn rows_back(&mut self, from: Place, rows: usize) -> Place {
        let mut at = from;
        for _ in 0..rows {
            match self.previous_row(at) {
                Some(above) => at = above,
                None => break,
            }
        }
        at
    }

    /// The rows of the prompt, as far as a screen of that height has room; the last ones count most.
    fn prompt_rows(&mut self, asked: AskedPlace, height: usize) -> Vec<Place> {
        let count = self.height(asked.index, asked.part);
        let room = height.saturating_sub(CONTEXT).max(height.min(2));
        let skipped = count.saturating_sub(u32::try_from(room).unwrap_or(u32::MAX));
        let place = |row| Place { index: asked.index, part: asked.part, row };
        (skipped..count).map(place).collect()
    }

    /// The rows of the screen from its top on. The prompt is among them: where it is, or else at the
    /// bottom.
    pub(super) fn screen_rows(&mut self, top: Option<Place>, height: usize) -> Vec<Option<Place>> {
        let mut rows: Vec<Option<Place>> = Vec::with_capacity(height);
        let mut place = top;
        while rows.len() < height {
            rows.push(place);
            place = place.and_then(|at| self.next_row(at));
        }
        let Some(asked) = self.asked else { return rows };
        let prompt = self.prompt_rows(asked, height);
        if prompt.last().is_none_or(|last| rows.contains(&Some(*last))) {
            return rows;
        }
        rows.truncate(height - prompt.len());
        for row in &mut rows {
            *row = row.filter(|at| (at.index, at.part) != (asked.index, asked.part));
        }
        rows.extend(prompt.into_iter().map(Some));
        rows
    }

    /// Whether nothing may be drawn over the first row: the call that is asked about needs every row.
    pub(super) fn needs_all_rows(&self, height: u16) -> bool {
        usize::from(height) < LOW && self.asked.is_some()
    }

    /// Says before the prompt how many rows of the call do not fit above it.
    pub(super) fn mark_left_out(&mut self, rows: &[Option<Place>], area: Rect, frame: &mut Frame) {
        let Some(asked) = self.asked else { return };
        let is_prompt = |at: &Place| (at.index, at.part) == (asked.index, asked.part);
        let Some(first) = rows.iter().position(|at| at.is_some_and(|at| is_prompt(&at))) else { return };
        let Some(last) = first.checked_sub(1).and_then(|above| *rows.get(above)?) else { return };
        if last.index != asked.index || last.part >= asked.part {
            return;
        }
        let below = (last.part + 1..asked.part).map(|part| self.height(asked.index, part)).sum::<u32>();
        let count = below + self.height(last.index, last.part).saturating_sub(last.row + 1);
        if count == 0 {
            return;
        }
        let text = format!(" ⋯ {} ", counted(count, "more row"));
        let width = u16::try_from(wrap::cells(&text)).unwrap_or(area.width);
        // The scroll bar is at the right edge.
        let Some(x) = area.right().checked_sub(width + 1).filter(|x| *x > area.x) else { return };
        let first = area.y.saturating_add(u16::try_from(first).unwrap_or(u16::MAX));
        // What the call would do is not drawn over; the first row of the prompt may be.
        let above = first.saturating_sub(1);
        let is_free =
            (x..x + width).all(|x| frame.row(above).get(usize::from(x)).is_none_or(|at| at.symbol() == " "));
        let y = if is_free { above } else { first };
        let style = self.memo.theme().style(ThemeToken::OverlaySelected);
        frame.draw_over(Rect { x, y, width, height: 1 }, &Line::styled(text, style));
    }

    /// The live rows of the shell's screen, from `first` on: with the prompt, and before it as much as
    /// fits of what it is about.
    pub(super) fn live_rows_with_prompt(&mut self, first: Place, room: usize) -> Option<Vec<Place>> {
        let asked = self.asked?;
        let prompt = self.prompt_rows(asked, room);
        let last = prompt.last().copied().filter(|last| *last >= first)?;
        let begin = match self.top_showing_prompt(room) {
            Some(top) => top.max(first),
            None => self.rows_back(last, room.saturating_sub(1)).max(first),
        };
        let mut rows = Vec::new();
        let mut at = Some(begin);
        while let Some(place) = at.filter(|_| rows.len() < room) {
            rows.push(place);
            if place == last {
                return Some(rows);
            }
            at = self.next_row(place);
        }
        rows.truncate(room - prompt.len());
        rows.retain(|at| (at.index, at.part) != (asked.index, asked.part));
        rows.extend(prompt);
        Some(rows)
    }

    /// Reports the prompt that is in these rows of the screen, the first of which is at `top`: its request,
    /// and where the cursor is.
    pub(super) fn report_prompt(&mut self, rows: &[Option<Place>], top: u16, laid: &mut Laid) {
        let Some(asked) = self.asked.filter(|_| self.model.takes_answer()) else { return };
        let Some(open) = self.model.approvals.open() else { return };
        let of_prompt = |at: &Place| (at.index, at.part) == (asked.index, asked.part);
        let last = self.height(asked.index, asked.part).saturating_sub(1);
        if rows.iter().flatten().any(|at| of_prompt(at) && at.row == last) {
            laid.asked = Some(open.request.id.clone());
        }
        let prompt = Prompt::of(self.model, open, approval::inner(self.width), self.memo.theme());
        let Some((row, column)) = prompt.cursor else { return };
        let found = rows.iter().position(|at| at.is_some_and(|at| of_prompt(&at) && at.row as usize == row));
        laid.cursor = found.and_then(|y| {
            let column = (column + approval::BAR_CELLS).min(self.width.saturating_sub(1));
            Some((column, top.checked_add(u16::try_from(y).ok()?)?))
        });
    }
}
