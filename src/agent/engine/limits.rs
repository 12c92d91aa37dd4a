//! How far a run may go: answers, time, money; and the word that says why it was ended.
//!
//! Pure. The meter counts what every answer used, failed and repeated ones too; when it is read
//! is `run`'s and `turn`'s, the clock is `task`'s.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::protocol::message::Usage;

/// The limits of a run; none means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Limits {
    /// Answers of the model, at most. Tries of one answer count once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Time from the start of the run, waits included. What is going on then is aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// US dollars. Holds only for models whose price is known; a run with another model says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

/// Why a run was ended before the model had said everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    /// The limit of answers was reached.
    Turns,
    /// The limit of time was reached.
    Time,
    /// The limit of money was reached.
    Dollars,
    /// The model made the same call with the same result again and again.
    Repeats,
}

/// What a run has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Meter {
    answers: u32,
    dollars: f64,
}

impl Meter {
    /// Counts what a request used, whatever became of it.
    pub(crate) fn spend(&mut self, usage: &Usage) {
        self.dollars += usage.cost.total;
    }

    /// Counts an answer that stays.
    pub(crate) fn answered(&mut self) {
        self.answers = self.answers.saturating_add(1);
    }

    /// The limit that keeps the model from being asked again; none while there is room.
    pub(crate) fn over(&self, limits: &Limits) -> Option<RunEnd> {
        if limits.turns.is_some_and(|most| self.answers >= most) {
            return Some(RunEnd::Turns);
        }
        limits.dollars.is_some_and(|most| self.dollars >= most).then_some(RunEnd::Dollars)
    }

    /// What people are told when a limit ends the run.
    pub(crate) fn words(&self, end: RunEnd) -> String {
        let answers = if self.answers == 1 { "answer" } else { "answers" };
        match end {
            RunEnd::Turns => {
                format!("stopped after {} {answers} of the model, the limit of a run", self.answers)
            }
            RunEnd::Time => "stopped: the time for this run is up".to_owned(),
            RunEnd::Dollars => format!("stopped: this run has cost ${:.4}, which is its limit", self.dollars),
            RunEnd::Repeats => "stopped: the model repeats itself".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::protocol::message::Cost;

    #[test]
    fn a_meter_counts_what_failed_too() {
        let mut meter = Meter::default();
        let usage = Usage { cost: Cost { total: 0.6, ..Cost::default() }, ..Usage::default() };
        let turns = |turns| Limits { turns: Some(turns), ..Limits::default() };
        let dollars = |most| Limits { dollars: Some(most), ..Limits::default() };
        assert_eq!(meter.over(&turns(0)), Some(RunEnd::Turns));
        meter.spend(&usage);
        meter.spend(&usage);
        meter.answered();
        let cases = [
            (Limits::default(), None),
            (turns(1), Some(RunEnd::Turns)),
            (turns(2), None),
            (dollars(1.2), Some(RunEnd::Dollars)),
            (dollars(1.3), None),
        ];
        for (limits, expected) in cases {
            assert_eq!(meter.over(&limits), expected, "{limits:?}");
        }
        assert!(meter.words(RunEnd::Turns).contains("after 1 answer of"));
        assert!(meter.words(RunEnd::Dollars).contains("$1.2000"));
    }
}
