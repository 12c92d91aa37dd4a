//! Earlier messages: the wanted pages, and the effect of a loaded page on the screen.
//!
//! The agent sends the end of a session and live events. Of the earlier history a window is loaded, wherever
//! the user looks, and moves along without moving the screen's content; `window` owns it. One row marks
//! unloaded messages above it, another a gap below it.

use std::ops::Range;

use super::window::{GAP, Join};
use super::{ScrollPosition, Transcript};
use crate::geometry::{Anchor, FrameLayout};
use crate::printable::Printable;
use tau_protocol::query::{HistoryPage, PageFrom, PageGoal};

/// Number of entries around a row for unloaded messages within which more are loaded.
const NEAR: usize = 40;

/// The pending page, and the place that the user wants to reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paging {
    /// The requested page that has not arrived.
    asked: Option<(PageFrom, PageGoal)>,
    pub(super) goal: Option<Goal>,
    /// The reason why a page could not be read: the user must scroll there again.
    pub(super) failed: Option<Printable>,
}

/// The place that the user wants to reach, once loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The very first message.
    First,
    /// The nearest prompt in that direction.
    Prompt(PageFrom),
}

impl Transcript {
    /// Records that about `left` messages come before the ones that were sent with the session.
    pub(crate) fn history_available(&mut self, left: u64, rows: &[Option<Anchor>]) {
        self.hold(rows, false);
        self.window.available = Some(left);
        self.mark_rows();
    }

    /// Whether a page was asked for and has not come.
    pub(crate) fn awaits_page(&self) -> bool {
        self.paging.asked.is_some()
    }

    /// Adds a page. `rows` are the screen's rows: the first row of a message stays in place.
    pub(crate) fn take_page(&mut self, page: &HistoryPage, rows: &[Option<Anchor>]) {
        let asked = self.paging.asked.take();
        let goal = asked.map_or(PageGoal::Next, |(_, goal)| goal);
        if let Some(error) = &page.failed {
            self.window.available = page.left.or(self.window.available);
            self.paging = Paging { failed: Some(Printable::line(error)), ..Paging::default() };
            self.stop_seeking();
            return self.mark_rows();
        }
        self.paging.failed = None;
        if page.messages.is_empty() && goal != PageGoal::Next {
            return self.on_page_miss(&goal);
        }
        let join = self.window.join(page);
        if join == Join::Apart && self.is_in_window() && !self.is_wanted(&goal, page) {
            // The user has moved elsewhere in the meantime.
            return;
        }
        self.hold(rows, join == Join::Apart);
        let entries = self.add_page(page, join);
        self.reach(&goal, page, entries);
        self.drop_far(join);
        self.settle_runs();
        self.mark_rows();
    }

    /// The page to load after this frame.
    pub(crate) fn wants_page(&self, laid: &FrameLayout) -> Option<(PageFrom, PageGoal)> {
        if self.paging.asked.is_some() || self.paging.failed.is_some() || !self.has_earlier() {
            return None;
        }
        let goal = match self.paging.goal {
            None => None,
            Some(Goal::First) if self.window.has_first() => None,
            Some(Goal::First) => Some((PageFrom::After { position: 0 }, PageGoal::Next)),
            Some(Goal::Prompt(from)) => Some((from, PageGoal::Prompt)),
        };
        goal.or_else(|| self.page_for_search()).or_else(|| Some((self.near_page(laid)?, PageGoal::Next)))
    }

    /// The page next to the screen, when the screen is near the end of the loaded part.
    fn near_page(&self, laid: &FrameLayout) -> Option<PageFrom> {
        if laid.position != self.position {
            // That frame showed another part.
            return None;
        }
        let place = |anchor: &Anchor| self.index_of(anchor.entry);
        let top = laid.rows.iter().flatten().next().and_then(place)?;
        let bottom = laid.rows.iter().flatten().next_back().and_then(place)?;
        let (above, gap) = (self.above_row(), self.index_of(GAP));
        let is_tail = self.position == ScrollPosition::Tail;
        let near = if is_tail { 0 } else { NEAR };
        match gap {
            Some(gap) if is_tail || top >= gap => (top <= gap + near).then(PageFrom::default),
            Some(gap) if bottom + near >= gap => Some(self.window.after()),
            _ => above.filter(|row| top <= row + near).map(|_| self.window.before()),
        }
    }

    /// Records which page is on its way, so that it is not requested again.
    pub(crate) fn note_page_request(&mut self, from: PageFrom, goal: PageGoal) {
        self.paging.asked = Some((from, goal));
    }

    /// Scrolls by that many rows.
    pub(super) fn look_earlier(&mut self, rows: i32) {
        // Even when nothing is known of them yet: a session may just be opening.
        self.paging.goal = (rows == i32::MIN).then_some(Goal::First);
        if rows < 0 && self.paging.failed.take().is_some() {
            self.mark_rows();
        }
    }

    /// Goes to a place that is not loaded yet.
    pub(super) fn go_far(&mut self, goal: Goal) {
        self.look_earlier(-1);
        self.paging.goal = Some(goal);
    }

    /// Whether unloaded messages can be loaded, as far as known.
    pub(super) fn may_load(&self) -> bool {
        self.paging.failed.is_none()
    }

    /// Whether the user still waits for this page.
    fn is_wanted(&self, asked: &PageGoal, page: &HistoryPage) -> bool {
        match asked {
            PageGoal::Next => self.paging.goal == Some(Goal::First) && page.left.is_none(),
            PageGoal::Prompt => matches!(self.paging.goal, Some(Goal::Prompt(_))),
            PageGoal::Text { text } => self.is_sought(text),
        }
    }

    /// Goes to the page's goal, if it is among its entries.
    fn reach(&mut self, asked: &PageGoal, page: &HistoryPage, entries: Range<usize>) {
        match (asked, self.paging.goal) {
            (_, Some(Goal::First)) if self.window.has_first() => {
                self.pending = i32::MIN;
                self.paging.goal = None;
            }
            (PageGoal::Prompt, Some(Goal::Prompt(_))) => {
                self.paging.goal = None;
                self.show_prompt_from(entries.start);
            }
            _ => self.find_in_page(asked, page, entries),
        }
    }

    fn on_page_miss(&mut self, asked: &PageGoal) {
        match (asked, self.paging.goal) {
            (PageGoal::Prompt, Some(Goal::Prompt(from))) => self.on_prompt_miss(from),
            (PageGoal::Text { text }, _) if self.is_sought(text) => self.on_find_miss(),
            _ => {}
        }
    }
}
