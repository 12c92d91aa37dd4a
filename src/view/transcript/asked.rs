//! Keeps the prompt of a waiting call in sight. The call's panel is brought onto the screen; if it does not
//! fit, or the user views something else, the prompt is at the bottom with as much of the call as fits: its
//! start, and the reason for the question.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Place, Walk};
use crate::approval::{self, Prompt};
use crate::frame::Frame;
use crate::theme::ThemeToken;
use crate::wrap;
use tau_app::action::Action;
use tau_app::geometry::{CallRow, FrameLayout, ScreenKind};
use tau_app::transcript::EntryBody;
use tau_tools::counted::pluralize;

/// The number of transcript rows that the prompt leaves, if there is room.
const CONTEXT: usize = 2;

/// The location of the prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AskedPlace {
    /// The entry of the call.
    index: usize,
    /// The part of the selected hunk.
    hunk: Option<u32>,
    /// The part of the prompt.
    part: u32,
    /// True if the user does not scroll.
    follow: bool,
}

/// Rows of the subject that are left out.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The row of the screen below it.
    below: usize,
    count: u32,
    /// They are above all rows of the subject in sight.
    is_above: bool,
    is_before_question: bool,
}

impl Gap {
    fn text(self, key: Option<&str>) -> String {
        let rows = if self.is_above {
            format!("{} above", pluralize(self.count, "row"))
        } else {
            pluralize(self.count, "more row")
        };
        key.map_or_else(|| format!(" ⋯ {rows} "), |key| format!(" ⋯ {rows}: {key} "))
    }
}

/// A mark on the screen.
#[derive(Clone, Copy, Debug)]
struct Mark {
    y: usize,
    count: u32,
    /// It has a row of the subject for itself.
    is_own_row: bool,
}

/// The first cell of a text at the right end of a row, beside the scroll bar.
fn start_of(text: &str, area: Rect) -> Option<u16> {
    let start = area.right().checked_sub(1)?.checked_sub(u16::try_from(wrap::cells(text)).ok()?)?;
    (start > area.x).then_some(start)
}

/// Whether the cells of a text at the right end of this row are free. The one before them may not be half of a
/// character.
fn is_free(text: &str, y: usize, area: Rect, frame: &Frame) -> bool {
    let Some(start) = start_of(text, area) else { return false };
    let cells = frame.row(area.y.saturating_add(u16::try_from(y).unwrap_or(u16::MAX)));
    let (before, from) = cells.split_at_checked(usize::from(start)).unwrap_or((cells, <&[_]>::default()));
    let mut row = from.iter().take(usize::from(area.right() - 1 - start));
    row.all(|cell| cell.symbol() == " ") && before.last().is_none_or(|cell| wrap::cells(cell.symbol()) < 2)
}

impl Walk<'_> {
    /// The location of the prompt that takes keys, or of the one that is set aside.
    pub(super) fn prompt_place(&self) -> Option<AskedPlace> {
        let approvals = &self.model.approvals;
        let open = approvals.open()?;
        let is_call = |body: &EntryBody| {
            let EntryBody::Tool(tool) = body else { return None };
            approval::open_of(self.model, tool).map(|_| approval::places(tool, open))
        };
        let entries = self.entries().iter().enumerate().rev();
        let found = entries.filter_map(|(index, entry)| Some((index, is_call(&entry.body)?)));
        let (index, (hunk, part)) = { found }.next()?;
        let follow = approvals.follow && self.model.shows_prompt();
        Some(AskedPlace { index, hunk, part, follow })
    }

    /// True if the screen follows the prompt, so that the stored position stays unchanged.
    pub(super) fn follows_prompt(&self) -> bool {
        self.asked.is_some_and(|asked| asked.follow)
    }

    /// The top row of a screen that shows the prompt and its subject: all of it if it fits, otherwise its
    /// start, or the selected hunk.
    pub(super) fn top_showing_prompt(&mut self, height: usize) -> Option<Place> {
        let asked = self.asked.filter(|asked| asked.follow)?;
        let gap = self.rows(asked.index, 0).is_some_and(|(gap, _)| gap);
        let first = Place { index: asked.index, part: 0, row: u32::from(gap) };
        let last = self.prompt_rows(asked, height).last().copied()?;
        if self.reaches(first, last, height) {
            return Some(self.rows_back(last, height.saturating_sub(1)));
        }
        // The head says less than the row it would take from the call.
        let start = self.body_rows(asked).first().copied().unwrap_or(first);
        let room = height.saturating_sub(self.prompt_rows(asked, height).len());
        let hunk = asked.hunk.map(|part| Place { index: asked.index, part, row: 0 });
        match hunk {
            Some(hunk) => {
                let end = self.height(hunk.index, hunk.part).saturating_sub(1);
                let is_whole = self.reaches(start, Place { row: end, ..hunk }, room);
                Some(if is_whole { start } else { hunk })
            }
            None => Some(start),
        }
    }

    /// True if a row is among the given number of rows from another one on.
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

    /// The row this many rows above, or the first one.
    pub(super) fn rows_back(&mut self, from: Place, rows: usize) -> Place {
        let mut at = from;
        for _ in 0..rows {
            match self.previous_row(at) {
                Some(above) => at = above,
                None => break,
            }
        }
        at
    }

    /// As many rows of the prompt as fit on a screen of this height; the last ones matter most.
    fn prompt_rows(&mut self, asked: AskedPlace, height: usize) -> Vec<Place> {
        let count = self.height(asked.index, asked.part);
        let room = height.saturating_sub(CONTEXT).max(height.min(2));
        let skipped = count.saturating_sub(u32::try_from(room).unwrap_or(u32::MAX));
        let place = |row| Place { index: asked.index, part: asked.part, row };
        (skipped..count).map(place).collect()
    }

    /// The rows of the request's subject, between the head of the call and the prompt.
    fn body_rows(&mut self, asked: AskedPlace) -> Vec<Place> {
        let mut rows = Vec::new();
        for part in 1..asked.part {
            let count = self.height(asked.index, part);
            rows.extend((0..count).map(|row| Place { index: asked.index, part, row }));
        }
        rows
    }

    /// As many of these rows as fit: the first, those that are the reason, and those from the start on, or from
    /// the selected hunk on.
    fn choose_rows(&mut self, asked: AskedPlace, body: &[Place], room: usize) -> Vec<Place> {
        if let Some(part) = asked.hunk.filter(|_| body.len() > room) {
            let hunk = body.iter().position(|at| at.part >= part).unwrap_or(0);
            let from = hunk.min(body.len() - room);
            return body.iter().skip(from).take(room).copied().collect();
        }
        let mut chosen: Vec<Place> = Vec::new();
        if body.len() > room {
            // The first row says where the command begins.
            chosen.extend(body.first().filter(|_| room > 1));
            for at in self.reason_places(asked, room) {
                if chosen.len() < room && !chosen.contains(&at) {
                    chosen.push(at);
                }
            }
        }
        let others: Vec<Place> =
            body.iter().filter(|at| !chosen.contains(at)).take(room - chosen.len()).copied().collect();
        chosen.extend(others);
        chosen.sort_unstable();
        chosen
    }

    /// The rows that are the reason for the question, what matters most first.
    fn reason_places(&self, asked: AskedPlace, most: usize) -> Vec<Place> {
        let command = self.model.approvals.open().and_then(|open| open.command.as_ref());
        let rows = command.map(|command| approval::reason_rows(command, self.width, most));
        let place = |row| Place { index: asked.index, part: 1, row };
        rows.unwrap_or_default().into_iter().map(place).collect()
    }

    /// The prompt preceded by its subject, in at most this many rows.
    fn question_rows(&mut self, asked: AskedPlace, room: usize) -> Vec<Place> {
        let body = self.body_rows(asked);
        // A subject of a single row leaves the other one to the prompt.
        let mut prompt = self.prompt_rows(asked, room + CONTEXT.saturating_sub(body.len()));
        prompt.drain(..prompt.len().saturating_sub(room));
        let mut rows = self.choose_rows(asked, &body, room - prompt.len());
        rows.extend(prompt);
        rows
    }

    /// The rows of the screen from its top on, including the prompt: in its place, or else at the bottom.
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
        let follows = asked.follow && self.model.transcript.pending == 0;
        let body = self.body_rows(asked);
        let half = usize::from(self.model.size.height).div_ceil(2).min(body.len());
        let is_body = |at: &&Place| at.index == asked.index && (1..asked.part).contains(&at.part);
        let in_place = rows.iter().take(height - prompt.len()).flatten().filter(is_body).count();
        let below = if follows {
            self.question_rows(asked, height)
        } else if half > 0 && in_place >= half.min(height - prompt.len()) {
            // A user who scrolls through the subject sees all of it.
            prompt
        } else {
            // A user who reads further up keeps reading there.
            let room = (height * 2 / 3).max(prompt.len() + half.max(CONTEXT)).min(height.saturating_sub(1));
            self.question_rows(asked, room.max(prompt.len()))
        };
        rows.truncate(height - below.len());
        for row in &mut rows {
            *row = row.filter(|at| !below.contains(at));
        }
        rows.extend(below.into_iter().map(Some));
        rows
    }

    /// The number of rows from the first one on that are shown without a gap.
    pub(super) fn rows_without_gap(&mut self, rows: &[Option<Place>]) -> usize {
        if self.asked.is_none() {
            return rows.len();
        }
        let mut pairs = rows.iter().zip(rows.iter().skip(1));
        let gap = pairs.position(|(at, next)| next.is_some() && at.and_then(|at| self.next_row(at)) != *next);
        gap.map_or(rows.len(), |gap| gap.saturating_add(1))
    }

    /// True if nothing may be drawn over the first row, as the request needs every row.
    pub(super) fn needs_all_rows(&self) -> bool {
        self.follows_prompt() && self.model.transcript.pending == 0
    }

    /// Shows how many rows of the subject are left out, in their place. Returns the first row of the screen that
    /// gives way to such a mark.
    pub(super) fn mark_left_out(
        &mut self,
        rows: &[Option<Place>],
        area: Rect,
        frame: &mut Frame,
    ) -> Option<u16> {
        let (mut first, mut last): (Option<usize>, Option<Mark>) = (None, None);
        for gap in self.gaps(rows) {
            // Marks of gaps with nothing but a mark between them are one.
            let above = last.filter(|mark| mark.is_own_row && mark.y + 1 == gap.below);
            let given = self.row_to_give(gap, rows);
            let mark = match above {
                Some(mark) => Mark { count: mark.count + gap.count, ..mark },
                None => match (self.free_place(gap, area, frame), given) {
                    (Some(y), _) => Mark { y, count: gap.count, is_own_row: false },
                    (None, Some(y)) => {
                        let covered = last.filter(|mark| mark.y == y).map_or(0, |mark| mark.count);
                        Mark { y, count: gap.count + covered + 1, is_own_row: true }
                    }
                    // Neither row can be missed: the mark covers the end of one.
                    (None, None) => {
                        let is_below = gap.is_above || gap.is_before_question;
                        let y = gap.below.saturating_sub(usize::from(!is_below));
                        Mark { y, count: gap.count, is_own_row: false }
                    }
                },
            };
            self.draw_mark(Gap { count: mark.count, ..gap }, mark, area, frame);
            // Whether the question has free cells changes with what else is in sight: its page does not.
            first = first.or(given.filter(|_| mark.is_own_row || gap.is_before_question));
            last = Some(mark);
        }
        first.and_then(|y| u16::try_from(y).ok())
    }

    /// The gaps between these rows of the screen, and above the first one of the subject: those rows are not scrolled
    /// away, there is no room for them.
    fn gaps(&mut self, rows: &[Option<Place>]) -> Vec<Gap> {
        let Some(asked) = self.asked else { return Vec::new() };
        let body = self.body_rows(asked);
        let first = rows.iter().position(|at| at.is_some_and(|at| at.index == asked.index && at.part > 0));
        let hidden = first.filter(|_| self.needs_all_rows()).and_then(|y| {
            let count = body.iter().position(|row| Some(Some(*row)) == rows.get(y).copied())?;
            let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
            Some(Gap { below: y, count, is_above: true, is_before_question: false })
        });
        let between = rows.iter().zip(rows.iter().skip(1)).enumerate().filter_map(|(y, pair)| {
            let (Some(above), Some(below)) = pair else { return None };
            if above.index != asked.index || above.part >= asked.part || below.index != asked.index {
                return None;
            }
            let first = body.partition_point(|at| at <= above);
            let count = body.partition_point(|at| at < below).saturating_sub(first);
            let count = u32::try_from(count).ok().filter(|count| *count > 0)?;
            let is_before_question = (below.part, below.row) == (asked.part, 0);
            Some(Gap { below: y + 1, count, is_above: false, is_before_question })
        });
        hidden.into_iter().chain(between).collect()
    }

    /// Whether a row of the subject is part of the reason for the question.
    fn is_reason(&mut self, at: Place) -> bool {
        let mark = self.memo.theme().style(ThemeToken::MatchMark);
        let (_, rows) = self.rows(at.index, 1).unwrap_or_default();
        let spans = rows.get(at.row as usize).map_or(&[][..], |row| &row.spans);
        at.part == 1 && spans.iter().any(|span| span.style.patch(mark) == span.style)
    }

    /// The row above or below a gap that has free cells for its mark at its right end.
    fn free_place(&self, gap: Gap, area: Rect, frame: &Frame) -> Option<usize> {
        let above = gap.below.checked_sub(1).filter(|_| !gap.is_above);
        let mut rows = above.into_iter().chain([gap.below]);
        rows.find(|y| is_free(&gap.text(None), *y, area, frame))
    }

    /// A row of the subject beside the gap that can be missed: neither the first one nor part of the reason, nor the
    /// head of the selected hunk.
    fn row_to_give(&mut self, gap: Gap, rows: &[Option<Place>]) -> Option<usize> {
        let asked = self.asked?;
        let above = gap.below.checked_sub(1).filter(|_| !gap.is_above);
        let can_give = |walk: &mut Self, at: Place| {
            let is_body = at.index == asked.index && (1..asked.part).contains(&at.part);
            let is_first = (at.part, at.row) == (1, 0) || (Some(at.part), at.row) == (asked.hunk, 0);
            is_body && !is_first && !walk.is_reason(at)
        };
        let mut beside = above.into_iter().chain([gap.below]);
        beside.find(|y| rows.get(*y).copied().flatten().is_some_and(|at| can_give(self, at)))
    }

    /// Draws the mark of a gap: in a row of its own, or at the right end of a row. It names the key if there is room.
    fn draw_mark(&self, gap: Gap, mark: Mark, area: Rect, frame: &mut Frame) {
        let action = if gap.is_above { Action::PageUp } else { Action::PageDown };
        let key = self.model.keymap.hint(action).filter(|_| self.model.boot.screen != ScreenKind::Inline);
        let y = area.y.saturating_add(u16::try_from(mark.y).unwrap_or(u16::MAX));
        let style = self.memo.theme().style(ThemeToken::OverlaySelected);
        let (keyed, bare) = (gap.text(key.as_deref()), gap.text(None));
        // The bar beside the call stays.
        let (from, to) = (area.x + approval::BAR_CELLS, area.right().saturating_sub(1));
        let room = usize::from(to.saturating_sub(from));
        let has_room = match mark.is_own_row {
            true => wrap::cells(&keyed) <= room,
            false => is_free(&keyed, mark.y, area, frame),
        };
        let text = if has_room { keyed } else { bare };
        let start = if mark.is_own_row { from } else { start_of(&text, area).unwrap_or(area.x) };
        let width = to.saturating_sub(start);
        let text = Line::styled(wrap::truncate(&text, width).into_owned(), style);
        frame.draw_over(Rect { x: start, y, width, height: 1 }, &text);
    }

    /// The live rows of the shell's screen, from `first` on: the prompt, preceded by as much of its subject
    /// as fits.
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
        Some(self.question_rows(asked, room))
    }

    /// Reports the prompt in these rows of the screen, the first of which is at `top`: its request and its
    /// cursor's position.
    pub(super) fn report_prompt(&mut self, rows: &[Option<Place>], top: u16, laid: &mut FrameLayout) {
        let Some(asked) = self.asked.filter(|_| self.model.shows_prompt()) else { return };
        let Some(open) = self.model.approvals.open() else { return };
        let of_prompt = |at: &Place| (at.index, at.part) == (asked.index, asked.part);
        let last = self.height(asked.index, asked.part).saturating_sub(1);
        if rows.iter().flatten().any(|at| of_prompt(at) && at.row == last) {
            laid.asked = Some(open.request.id.clone());
            let end = (0..asked.part).rev().find_map(|part| {
                let row = self.height(asked.index, part).checked_sub(1)?;
                Some(Place { index: asked.index, part, row })
            });
            let known = open.seen_row.filter(|seen| seen.width == self.width);
            let known = known.map(|CallRow { part, row, .. }| Place { index: asked.index, part, row });
            let of_call = rows.iter().flatten().filter(|at| at.index == asked.index && at.part < asked.part);
            // Rows after others that were left out do not count. The prompt repeats the head.
            let head =
                Place { index: asked.index, part: 0, row: self.height(asked.index, 0).saturating_sub(1) };
            let seen = of_call.fold(known, |seen, at| {
                let before = seen.unwrap_or(head);
                let follows = *at <= before || self.next_row(before) == Some(*at);
                if follows { seen.max(Some(*at)) } else { seen }
            });
            laid.asked_row = seen.map(|Place { part, row, .. }| CallRow { width: self.width, part, row });
            laid.asked_end = end.is_none_or(|end| seen >= Some(end));
        }
        let prompt = Prompt::of(self.model, open, approval::inner(self.width), self.memo.theme());
        if laid.asked.is_some() && rows.iter().flatten().any(|at| of_prompt(at) && at.row == 0) {
            laid.asked_beside = prompt.listed;
        }
        let Some((row, column)) = prompt.cursor else { return };
        let found = rows.iter().position(|at| at.is_some_and(|at| of_prompt(&at) && at.row as usize == row));
        laid.cursor = found.and_then(|y| {
            let column = (column + approval::BAR_CELLS).min(self.width.saturating_sub(1));
            Some((column, top.checked_add(u16::try_from(y).ok()?)?))
        });
    }
}
