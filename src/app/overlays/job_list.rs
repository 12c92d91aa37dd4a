//! The list of background jobs, and the end of the output of one.

use std::borrow::Cow;

use super::list::{List, ListRow};
use crate::key::{Key, KeyCode, Mods};
use crate::msg::Millis;
use crate::outcome::KeyOutcome;
use crate::printable::Printable;
use crate::request::Ticket;
use tau_tools::jobs::row::JobRow;

/// The time between two looks at the jobs.
pub(crate) const REFRESH: Millis = 1_000;

/// The list on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobsView {
    /// The jobs, those that run first, then the newest first.
    pub list: List<JobRow>,
    /// The output that is shown in place of the list.
    pub tail: Option<JobTail>,
    /// The time of the last query.
    pub(crate) asked: Millis,
}

/// The end of a job's output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobTail {
    pub job: u32,
    /// `None` until it is known.
    pub text: Option<Printable>,
    /// The number of rows between the last one and the end.
    pub above_end: usize,
    pub(crate) ticket: Option<Ticket>,
}

/// The action on the selected job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobChoice {
    /// Show the end of its output.
    Tail {
        job: u32,
    },
    Stop {
        job: u32,
    },
    /// Keep it when the screen is left, or not.
    Keep {
        job: u32,
        kept: bool,
    },
}

impl ListRow for JobRow {
    fn texts(&self) -> Vec<Cow<'_, str>> {
        [self.command.as_str(), self.state.name(), &self.last_line].map(Cow::Borrowed).into()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl JobsView {
    /// The job whose output is shown.
    pub fn tail_row(&self) -> Option<&JobRow> {
        let job = self.tail.as_ref()?.job;
        self.list.rows().into_iter().flatten().find(|row| row.id == job)
    }

    /// Fills in the current jobs; the selection stays on its job.
    pub(crate) fn fill(&mut self, mut rows: Vec<JobRow>) {
        rows.sort_by_key(|row| (!row.is_running(), std::cmp::Reverse(row.id)));
        self.list.fill(rows);
        self.list.said = None;
    }

    /// Handles a key; `page` is the number of rows on the screen.
    pub(crate) fn key(&mut self, key: Key, page: usize) -> KeyOutcome<JobChoice> {
        if self.tail.is_some() {
            return self.tail_key(key, page);
        }
        let typed = self.list.typed_filter().is_some();
        if let Some(row) = self.list.row() {
            let job = row.id;
            match (key.code, key.mods) {
                (KeyCode::Enter, _) => return KeyOutcome::Done(JobChoice::Tail { job }),
                (KeyCode::Char('x'), Mods::NONE) if !typed && row.is_running() => {
                    return KeyOutcome::Done(JobChoice::Stop { job });
                }
                (KeyCode::Char('s'), Mods::NONE) if !typed && row.is_running() => {
                    return KeyOutcome::Done(JobChoice::Keep { job, kept: !row.kept });
                }
                _ => {}
            }
        }
        self.list.key(key, page)
    }

    fn tail_key(&mut self, key: Key, page: usize) -> KeyOutcome<JobChoice> {
        let running = self.tail_row().filter(|row| row.is_running()).map(|row| row.id);
        let Some(tail) = &mut self.tail else { return KeyOutcome::Ignored };
        let rows = tail.text.as_ref().map_or(0, |text| text.as_str().lines().count());
        let most = rows.saturating_sub(page.max(1));
        let page = page.max(1);
        tail.above_end = match (key.code, key.mods) {
            (KeyCode::Esc | KeyCode::Enter, _) | (KeyCode::Char('c'), Mods::CTRL) => {
                self.tail = None;
                return KeyOutcome::Handled;
            }
            (KeyCode::Char('x'), Mods::NONE) => {
                return running.map_or(KeyOutcome::Handled, |job| KeyOutcome::Done(JobChoice::Stop { job }));
            }
            (KeyCode::Up, _) => (tail.above_end + 1).min(most),
            (KeyCode::Down, _) => tail.above_end.saturating_sub(1),
            (KeyCode::PageUp, _) => (tail.above_end + page).min(most),
            (KeyCode::PageDown, _) => tail.above_end.saturating_sub(page),
            (KeyCode::Home, _) => most,
            (KeyCode::End, _) => 0,
            _ => return KeyOutcome::Ignored,
        };
        KeyOutcome::Handled
    }
}
