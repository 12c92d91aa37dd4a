//! The line at the end of a run: its time, tokens and cost.
//!
//! While tau runs, the time is known as well; of a session that was read from a file only what the
//! answers used.

use super::{EntryBody, ScrollPosition, Transcript};
use crate::agent::protocol::message::{AssistantMessage, Usage};
use crate::app::geometry::EntryId;
use crate::app::msg::Millis;

/// Time and usage of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunCost {
    /// How long it took, in milliseconds, where that is known.
    pub took: Option<Millis>,
    /// Tokens of the requests.
    pub sent: u64,
    /// Tokens of the answers.
    pub received: u64,
    /// In dollars.
    pub cost: f64,
}

impl RunCost {
    /// Whether anything is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent + self.received == 0 && self.took.is_none_or(|took| took < 500)
    }

    fn add(&mut self, usage: &Usage) {
        self.sent += usage.input + usage.cache_read + usage.cache_write;
        self.received += usage.output;
        self.cost += usage.cost.total;
    }

    fn join(&mut self, other: RunCost) {
        self.sent += other.sent;
        self.received += other.received;
        self.cost += other.cost;
    }
}

/// The run that the newest entries belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OpenRun {
    /// When it began; `None` when it was read from a file.
    since: Option<Millis>,
    cost: RunCost,
    /// The model had nothing more to do.
    is_complete: bool,
}

impl Transcript {
    pub(super) fn run_begins(&mut self, now: Millis) {
        self.run = OpenRun { since: Some(now), ..OpenRun::default() };
    }

    /// The agent has settled; says what the run took.
    pub(super) fn run_settles(&mut self, now: Millis) {
        if let Some(since) = self.run.since {
            self.run.cost.took = Some(now - since);
            self.end_run();
        }
    }

    /// Counts an answer.
    pub(super) fn run_answers(&mut self, answer: &AssistantMessage) {
        self.run.cost.add(&answer.usage);
        self.run.is_complete = answer.tool_calls().next().is_none();
    }

    /// A message that was read from a file comes next: it ends a run that is complete.
    pub(super) fn end_complete_run(&mut self) {
        if self.run.is_complete && self.run.since.is_none() {
            self.end_run();
        }
    }

    /// Adds the line. It does not count as a new message.
    pub(super) fn end_run(&mut self) {
        let OpenRun { cost, .. } = std::mem::take(&mut self.run);
        if cost.is_empty() {
            return;
        }
        self.push(EntryBody::RunEnd(cost));
        if self.position != ScrollPosition::Tail {
            self.seen += 1;
        }
    }

    /// Gives what the last messages of `above` used to the run that continues below them.
    pub(super) fn join_run(&mut self, above: &mut Transcript) {
        above.end_complete_run();
        let OpenRun { cost, .. } = std::mem::take(&mut above.run);
        let is_end = |body: &EntryBody| matches!(body, EntryBody::User { .. } | EntryBody::RunEnd(_));
        let next = self.entries.iter().find(|entry| is_end(&entry.body));
        match next.map(|entry| (entry.id, &entry.body)) {
            Some((id, EntryBody::RunEnd(_))) => self.add_to_run(id, cost),
            Some(_) => {
                above.run.cost = cost;
                above.end_run();
            }
            None => self.run.cost.join(cost),
        }
    }

    fn add_to_run(&mut self, id: EntryId, more: RunCost) {
        self.edit(id, |body| {
            if let EntryBody::RunEnd(cost) = body {
                cost.join(more);
            }
        });
    }
}
