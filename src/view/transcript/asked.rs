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
use tau_app::geometry::FrameLayout;
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
            let mark = self.memo.theme().style(ThemeToken::MatchMark);
            let (_, rows) = self.rows(asked.index, 1).unwrap_or_default();
            let is_marked = |at: &&Place| {
                let spans = rows.get(at.row as usize).map_or(&[][..], |row| &row.spans);
                at.part == 1 && spans.iter().any(|span| span.style.patch(mark) == span.style)
            };
            // The first row says where the command begins.
            chosen.extend(body.first().filter(|_| room > 1));
            let marked = body.iter().skip(chosen.len()).filter(is_marked).take(room - chosen.len());
            chosen.extend(marked);
        }
        let others: Vec<Place> =
            body.iter().filter(|at| !chosen.contains(at)).take(room - chosen.len()).copied().collect();
        chosen.extend(others);
        chosen.sort_unstable();
        chosen
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

    /// Shows how many rows of the subject are left out, in their place.
    pub(super) fn mark_left_out(&mut self, rows: &[Option<Place>], area: Rect, frame: &mut Frame) {
        let Some(asked) = self.asked else { return };
        if self.needs_all_rows() {
            // The rows above the first one in sight: they are not scrolled away, there is no room for them.
            let first =
                rows.iter().position(|at| at.is_some_and(|at| at.index == asked.index && at.part > 0));
            let body = self.body_rows(asked);
            let place = first.and_then(|y| Some((y, (*rows.get(y)?)?)));
            if let Some((y, hidden)) =
                place.and_then(|(y, at)| Some((y, body.iter().position(|row| *row == at)?)))
            {
                let count = u32::try_from(hidden).unwrap_or(u32::MAX);
                if count > 0 {
                    let y = area.y.saturating_add(u16::try_from(y).unwrap_or(u16::MAX));
                    self.mark_gap(count, y, false, area, frame);
                }
            }
        }
        for (y, (above, below)) in rows.iter().zip(rows.iter().skip(1)).enumerate() {
            let (Some(above), Some(below)) = (above, below) else { continue };
            if above.index != asked.index || above.part >= asked.part || below.index != asked.index {
                continue;
            }
            let between = (above.part..=below.part.min(asked.part - 1)).map(|part| {
                let from = if part == above.part { above.row + 1 } else { 0 };
                let to = if part == below.part { below.row } else { self.height(asked.index, part) };
                to.saturating_sub(from)
            });
            let count = between.sum::<u32>();
            if count > 0 {
                let y = area.y.saturating_add(u16::try_from(y).unwrap_or(u16::MAX));
                self.mark_gap(count, y, below.part == asked.part && below.row == 0, area, frame);
            }
        }
    }

    /// Shows how many rows are left out below this row of the screen, at the right end of it or of the next
    /// one.
    fn mark_gap(&self, count: u32, above: u16, is_before_question: bool, area: Rect, frame: &mut Frame) {
        let place = |text: &str, y: u16| {
            let width = u16::try_from(wrap::cells(text)).unwrap_or(area.width);
            // The scroll bar is at the right edge.
            let x = area.right().checked_sub(width + 1).filter(|x| *x > area.x)?;
            Some((Rect { x, y, width, height: 1 }, text.to_owned()))
        };
        let is_free = |at: &Rect| {
            let cells = frame.row(at.y);
            (at.x..at.right()).all(|x| cells.get(usize::from(x)).is_none_or(|cell| cell.symbol() == " "))
        };
        // The call's contents and the keys are never drawn over; the question may be.
        let (rows, key) = (pluralize(count, "more row"), self.model.keymap.hint(Action::PageDown));
        let keyed = key.map(|key| format!(" ⋯ {rows}: {key} ")).unwrap_or_default();
        let (long, short) = (format!(" ⋯ {rows} "), format!(" ⋯ {count} "));
        let free = |text: &str, y: u16| place(text, y).filter(|(at, _)| is_free(at));
        let over = || place(&long, above + 1).filter(|(at, _)| is_before_question || is_free(at));
        let keyed = || free(&keyed, above).filter(|(_, text)| !text.is_empty());
        let found = keyed().or_else(|| free(&long, above)).or_else(over);
        let found = found.or_else(|| free(&short, above)).or_else(|| free(&short, above + 1));
        let Some((at, text)) = found else { return };
        let style = self.memo.theme().style(ThemeToken::OverlaySelected);
        frame.draw_over(at, &Line::styled(text, style));
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
            // The end alone, after rows that were left out, is not all of it.
            let of_call = rows.iter().flatten().filter(|at| at.index == asked.index && at.part < asked.part);
            let shown: Vec<Place> = of_call.copied().collect();
            let is_whole =
                shown.iter().zip(shown.iter().skip(1)).all(|(at, next)| self.next_row(*at) == Some(*next));
            laid.asked_end = end.is_none_or(|end| is_whole && shown.contains(&end));
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
