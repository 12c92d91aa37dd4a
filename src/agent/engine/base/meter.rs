//! Measures the usage of a run against its limits.
//!
//! Pure. Failed and repeated requests count too.

use tau_protocol::message::Usage;
use tau_protocol::run::{RunEnd, RunLimits};

/// The usage of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Meter {
    answers: u32,
    dollars: f64,
}

impl Meter {
    /// Adds the usage of a request, whether or not it succeeded.
    pub(crate) fn spend(&mut self, usage: &Usage) {
        self.dollars += usage.cost.total;
    }

    /// Counts a finished answer.
    pub(crate) fn answered(&mut self) {
        self.answers = self.answers.saturating_add(1);
    }

    /// The limit that forbids another request, if one is reached.
    pub(crate) fn exceeded(&self, limits: &RunLimits) -> Option<RunEnd> {
        if limits.turns.is_some_and(|most| self.answers >= most) {
            return Some(RunEnd::Turns);
        }
        limits.dollars.is_some_and(|most| self.dollars >= most).then_some(RunEnd::Dollars)
    }

    /// The notice for a run that was ended by a limit.
    pub(crate) fn notice(&self, end: RunEnd) -> String {
        let answers = if self.answers == 1 { "answer" } else { "answers" };
        match end {
            RunEnd::Turns => {
                format!("stopped after {} {answers}, the limit for a run", self.answers)
            }
            RunEnd::Time => "stopped: the time limit of this run was reached".to_owned(),
            RunEnd::Dollars => {
                format!("stopped: this run has reached its cost limit (${:.4} so far)", self.dollars)
            }
            RunEnd::Repeats => "stopped: the model keeps repeating the same call".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::message::Cost;

    #[test]
    fn failed_requests_count_too() {
        let mut meter = Meter::default();
        let usage = Usage { cost: Cost { total: 0.6, ..Cost::default() }, ..Usage::default() };
        let turns = |turns| RunLimits { turns: Some(turns), ..RunLimits::default() };
        let dollars = |most| RunLimits { dollars: Some(most), ..RunLimits::default() };
        assert_eq!(meter.exceeded(&turns(0)), Some(RunEnd::Turns));
        meter.spend(&usage);
        meter.spend(&usage);
        meter.answered();
        let cases = [
            (RunLimits::default(), None),
            (turns(1), Some(RunEnd::Turns)),
            (turns(2), None),
            (dollars(1.2), Some(RunEnd::Dollars)),
            (dollars(1.3), None),
        ];
        for (limits, expected) in cases {
            assert_eq!(meter.exceeded(&limits), expected, "{limits:?}");
        }
        assert!(meter.notice(RunEnd::Turns).contains("after 1 answer,"));
        assert!(meter.notice(RunEnd::Dollars).contains("$1.2000"));
    }
}
