//! Earlier messages: which of them are wanted, and what a page of them does to what is seen.
//!
//! The agent sends the end of a session and what comes live. Of the history before it a window is
//! loaded, wherever the user looks, and moves along without moving what is on the screen; `window` owns
//! it. A row says that there is more above it, another that something is left out below it.

use std::ops::Range;

use super::window::{GAP, Join};
use super::{ScrollPosition, Transcript};
use crate::geometry::{Anchor, Laid};
use crate::printable::Printable;
use tau_protocol::query::{HistoryPage, PageFrom, PageGoal};

/// Within this many entries of a row that says that there is more, more is loaded.
const NEAR: usize = 40;

/// What is asked for and where the user wants to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paging {
    /// What was asked for and has not come.
    asked: Option<(PageFrom, PageGoal)>,
    pub(super) goal: Option<Goal>,
    /// Why a page could not be read: the user has to look again.
    pub(super) failed: Option<Printable>,
}

/// Where the user wants to be, as soon as it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// At the very first message.
    First,
    /// At the nearest prompt of that direction.
    Prompt(PageFrom),
}

impl Transcript {
    /// About that many messages come before those that were sent with the session.
    pub(crate) fn history_available(&mut self, left: u64, rows: &[Option<Anchor>]) {
        self.hold(rows, false);
        self.window.available = Some(left);
        self.mark_rows();
    }

    /// Takes a page. `rows` are those on the screen: the first of a message stays where it is.
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
            return self.nothing_found(&goal);
        }
        let join = self.window.join(page);
        if join == Join::Apart && self.is_in_window() && !self.is_wanted(&goal, page) {
            // The user went elsewhere meanwhile.
            return;
        }
        self.hold(rows, join == Join::Apart);
        let entries = self.add_page(page, join);
        self.reach(&goal, page, entries);
        self.drop_far(join);
        self.settle_runs();
        self.mark_rows();
    }

    /// The page to be loaded, now that this frame was drawn.
    pub(crate) fn wants_page(&self, laid: &Laid) -> Option<(PageFrom, PageGoal)> {
        if self.paging.asked.is_some() || self.paging.failed.is_some() || !self.has_earlier() {
            return None;
        }
        let goal = match self.paging.goal {
            None => None,
            Some(Goal::First) if self.window.has_first() => None,
            Some(Goal::First) => Some((PageFrom::After { position: 0 }, PageGoal::Next)),
            Some(Goal::Prompt(from)) => Some((from, PageGoal::Prompt)),
        };
        goal.or_else(|| self.sought_page()).or_else(|| Some((self.near_page(laid)?, PageGoal::Next)))
    }

    /// The page next to what is on the screen, when that is near the end of what is loaded.
    fn near_page(&self, laid: &Laid) -> Option<PageFrom> {
        if laid.position != self.position {
            // That frame showed something else.
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

    /// Notes what was asked for.
    pub(crate) fn page_asked(&mut self, from: PageFrom, goal: PageGoal) {
        self.paging.asked = Some((from, goal));
    }

    /// The user scrolls by that many rows.
    pub(super) fn look_earlier(&mut self, rows: i32) {
        // Also when nothing is known of them yet: a session may just be opening.
        self.paging.goal = (rows == i32::MIN).then_some(Goal::First);
        if rows < 0 && self.paging.failed.take().is_some() {
            self.mark_rows();
        }
    }

    /// Goes to a place that is not loaded.
    pub(super) fn go_far(&mut self, goal: Goal) {
        self.look_earlier(-1);
        self.paging.goal = Some(goal);
    }

    /// Whether what is not loaded can be loaded, as far as is known.
    pub(super) fn may_load(&self) -> bool {
        self.paging.failed.is_none()
    }

    /// Whether the page is what the user still waits for.
    fn is_wanted(&self, asked: &PageGoal, page: &HistoryPage) -> bool {
        match asked {
            PageGoal::Next => self.paging.goal == Some(Goal::First) && page.left.is_none(),
            PageGoal::Prompt => matches!(self.paging.goal, Some(Goal::Prompt(_))),
            PageGoal::Text { text } => self.is_sought(text),
        }
    }

    /// Goes to what the page was asked for, if that is among its entries.
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

    fn nothing_found(&mut self, asked: &PageGoal) {
        match (asked, self.paging.goal) {
            (PageGoal::Prompt, Some(Goal::Prompt(from))) => self.no_prompt_found(from),
            (PageGoal::Text { text }, _) if self.is_sought(text) => self.nothing_sought_found(),
            _ => {}
        }
    }
}
