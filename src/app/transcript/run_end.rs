//! The line at the end of a run: its time, tokens and cost.
//!
//! While tau runs, the time is known as well; for a session from a file, only the usage of its answers.

use super::{EntryBody, Transcript, TranscriptEntry};
use crate::geometry::EntryId;
use crate::msg::Millis;
use tau_protocol::message::{AssistantMessage, Usage};
use tau_protocol::usage::helper_usage;
use tau_tools::details::Details;

/// The end entry of a run that began in the history, if no other entry tells its cost.
const FIRST_RUN_END: EntryId = EntryId(0);

/// Time and usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCost {
    /// Its duration in milliseconds, if known.
    pub took: Option<Millis>,
    /// Tokens of the requests.
    pub sent: u64,
    /// Tokens of the answers.
    pub received: u64,
    /// In dollars.
    pub cost: f64,
    /// Whether any of it is estimated.
    pub estimated: bool,
}

impl RunCost {
    /// Whether anything is known.
    pub fn is_empty(&self) -> bool {
        self.sent + self.received == 0 && self.took.is_none_or(|took| took < 500)
    }

    fn add(&mut self, usage: &Usage) {
        self.sent += usage.input + usage.cache_read + usage.cache_write;
        self.received += usage.output;
        self.cost += usage.cost.total;
        self.estimated |= usage.estimated;
    }

    fn join(&mut self, other: RunCost) {
        self.sent += other.sent;
        self.received += other.received;
        self.cost += other.cost;
        self.estimated |= other.estimated;
    }
}

/// The run that the newest entries belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OpenRun {
    /// Its start; `None` when it was read from a file.
    since: Option<Millis>,
    cost: RunCost,
    /// The model had nothing more to do.
    is_complete: bool,
    /// It was at work when this screen came: what it has used until then is among the messages.
    is_joined: bool,
}

/// The first end of a run in a sequence of entries: the run may have begun earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum FirstEnd {
    /// All of them belong to one run.
    #[default]
    Open,
    /// Nothing marks its end, as nothing was used.
    Unmarked,
    /// This entry marks it; the sequence's part of the run's cost.
    At(EntryId, RunCost),
}

impl Transcript {
    pub(super) fn on_run_start(&mut self, now: Millis) {
        let since = Some(now);
        if self.run.is_joined {
            self.run = OpenRun { since, cost: self.run.cost, ..OpenRun::default() };
            return;
        }
        if self.first_end == FirstEnd::Open {
            self.first_end = FirstEnd::Unmarked;
        }
        self.run = OpenRun { since, ..OpenRun::default() };
    }

    /// Notes that the run that begins next was at work before this screen came. One that pursues a goal may be between
    /// two rounds.
    pub(crate) fn join_run(&mut self, has_goal: bool) {
        if has_goal {
            self.reopen_run();
        }
        self.run.is_joined = true;
    }

    /// Takes back the end of the last run, if only commands come after it: the goal has it continue.
    pub(super) fn reopen_run(&mut self) {
        let is_command = |entry: &&TranscriptEntry| matches!(entry.body, EntryBody::Command(_));
        let last = self.entries.iter().rev().find(|entry| !is_command(entry));
        let Some((end, EntryBody::RunEnd(whole))) = last.map(|entry| (entry.id, &entry.body)) else { return };
        self.run.cost = *whole;
        if let FirstEnd::At(first, own) = self.first_end
            && first == end
        {
            (self.run.cost, self.first_end) = (own, FirstEnd::Open);
        }
        self.entries.retain(|entry| entry.id != end);
    }

    /// Ends the run because the agent has settled, and adds its cost.
    pub(super) fn run_settles(&mut self, now: Millis) {
        if let Some(since) = self.run.since {
            self.run.cost.took = Some(now - since);
            self.end_run();
        }
    }

    /// A queued prompt is next: a complete run ends before it, and a new one begins with it.
    pub(super) fn next_run(&mut self, now: Millis) {
        if self.run.is_complete && self.run.since.is_some() {
            self.run_settles(now);
            self.on_run_start(now);
        }
    }

    /// Subtracts time that the run has waited for the user.
    pub(crate) fn subtract_run_wait(&mut self, waited: Millis) {
        self.run.since = self.run.since.map(|since| since.saturating_add(waited));
    }

    /// Counts an answer.
    pub(super) fn run_answers(&mut self, answer: &AssistantMessage) {
        self.run.cost.add(&answer.usage);
        self.run.is_complete = answer.tool_calls().next().is_none();
    }

    /// Counts what a helper has used.
    pub(super) fn add_helper_cost(&mut self, details: &Details) {
        self.run.cost.add(&helper_usage(details).unwrap_or_default());
    }

    /// Ends a complete run, because the next message was read from a file.
    pub(super) fn end_complete_run(&mut self) {
        if self.run.is_complete && self.run.since.is_none() {
            self.end_run();
        }
    }

    /// Adds the line. It does not count as a new message.
    pub(super) fn end_run(&mut self) {
        let OpenRun { cost, .. } = std::mem::take(&mut self.run);
        let is_first = self.first_end == FirstEnd::Open;
        let mut whole = cost;
        if is_first {
            whole.join(std::mem::take(&mut self.carried));
            self.first_end = FirstEnd::Unmarked;
        }
        if whole.is_empty() {
            return;
        }
        let end = self.push(EntryBody::RunEnd(whole));
        if is_first {
            self.first_end = FirstEnd::At(end, cost);
        }
    }

    /// Makes an entry for the cost of the first run that ends here, wherever it began.
    pub(super) fn mark_first_end(&mut self) {
        self.end_complete_run();
        if self.first_end == FirstEnd::Unmarked {
            self.insert(0, FIRST_RUN_END, EntryBody::RunEnd(RunCost::default()));
            self.first_end = FirstEnd::At(FIRST_RUN_END, RunCost::default());
        }
    }

    /// The first end of a run when the entries have ids from `first` on.
    pub(super) fn first_end_from(&self, first: i64) -> FirstEnd {
        match self.first_end {
            FirstEnd::At(end, cost) => {
                let place = self.entries.iter().position(|entry| entry.id == end).unwrap_or(0);
                FirstEnd::At(EntryId(first + place as i64), cost)
            }
            other => other,
        }
    }

    /// The usage of the run that continues after the last entry.
    pub(super) fn open_cost(&self) -> RunCost {
        self.run.cost
    }

    /// Adds to each run its cost in the pages above its end.
    pub(super) fn settle_runs(&mut self) {
        let mut carried = RunCost::default();
        for page in 0..self.window.pages.len() {
            let Some(page) = self.window.pages.get(page) else { continue };
            let (first_end, open) = (page.first_end, page.open);
            if let FirstEnd::At(end, own) = first_end {
                self.set_run(end, own, std::mem::take(&mut carried));
            }
            carried.join(open);
        }
        if self.has_gap() {
            carried = RunCost::default();
        }
        match self.first_end {
            FirstEnd::Open => self.carried = carried,
            FirstEnd::At(end, own) => self.set_run(end, own, carried),
            FirstEnd::Unmarked if carried.is_empty() => {}
            FirstEnd::Unmarked => {
                let at = self.entries.partition_point(|entry| entry.id < FIRST_RUN_END);
                self.insert(at, FIRST_RUN_END, EntryBody::RunEnd(carried));
                self.first_end = FirstEnd::At(FIRST_RUN_END, RunCost::default());
            }
        }
    }

    fn set_run(&mut self, end: EntryId, own: RunCost, carried: RunCost) {
        let mut whole = own;
        whole.join(carried);
        let entry = self.index_of(end).and_then(|index| self.entries.get(index));
        if entry.is_some_and(|entry| entry.body != EntryBody::RunEnd(whole)) {
            self.edit(end, |body| *body = EntryBody::RunEnd(whole));
        }
    }
}
