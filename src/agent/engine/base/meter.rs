//! Measures the usage of a run against its limits.
//!
//! Failed and repeated requests count too. What a helper uses counts in its parent's run as well: the limits of
//! a run are limits of the whole tree.

use std::sync::Arc;

use parking_lot::Mutex;

use super::spending::{SessionSpending, SpentLimit};
use tau_protocol::message::Usage;
use tau_protocol::run::{RunEnd, RunLimits};
use tau_tools::counted::pluralize;

/// The usage of a run so far. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<MeterState>);

#[derive(Debug, Default)]
struct MeterState {
    used: Mutex<RunBudget>,
    /// The run that asked for this one.
    above: Option<Meter>,
    /// The cost of the session before, and the limits of the session and of 24 hours; on the topmost meter.
    spending: Option<SessionSpending>,
}

#[derive(Clone, Copy, Debug, Default)]
struct RunBudget {
    answers: u32,
    usage: Usage,
    /// The number of helpers that were started, with their own.
    helpers: u32,
    limits: RunLimits,
}

impl RunBudget {
    /// Whether this limit of a tree of runs is reached.
    fn has_reached(&self, end: RunEnd) -> bool {
        let RunBudget { usage, limits, .. } = self;
        match end {
            RunEnd::Dollars => limits.dollars.is_some_and(|most| usage.cost.total >= most),
            RunEnd::Tokens => limits.tokens.is_some_and(|most| tokens(usage) >= most),
            RunEnd::Turns
            | RunEnd::Time
            | RunEnd::Day
            | RunEnd::Repeats
            | RunEnd::Rounds
            | RunEnd::GivenUp => false,
        }
    }
}

impl Meter {
    /// The meter of a run of a session.
    pub(crate) fn of_session(spending: SessionSpending) -> Self {
        Meter(Arc::new(MeterState { spending: Some(spending), ..MeterState::default() }))
    }

    /// The meter of a helper's run.
    pub(crate) fn below(above: &Meter) -> Self {
        Meter(Arc::new(MeterState { above: Some(above.clone()), ..MeterState::default() }))
    }

    /// The meters that what is used here counts in: this one, and those above.
    fn chain(&self) -> impl Iterator<Item = &Meter> {
        std::iter::successors(Some(self), |meter| meter.0.above.as_ref())
    }

    /// Adds the usage of a request, whether or not it succeeded.
    pub(crate) fn spend(&self, usage: &Usage) {
        for meter in self.chain() {
            meter.0.used.lock().usage.add(usage);
            if let Some(spending) = &meter.0.spending {
                spending.add(usage.cost.total);
            }
        }
    }

    /// Adds usage whose cost is recorded already.
    pub(crate) fn count(&self, usage: &Usage) {
        self.chain().for_each(|meter| meter.0.used.lock().usage.add(usage));
    }

    /// The cost of the session, with this run.
    pub(crate) fn of_whole_session(&self) -> f64 {
        self.0.spending.as_ref().map_or(0.0, SessionSpending::before) + self.usage().cost.total
    }

    /// Adds what the session turns out to have cost before.
    pub(crate) fn add_before(&self, dollars: f64) {
        self.0.spending.iter().for_each(|spending| spending.add_before(dollars));
    }

    /// The limit of the session or of 24 hours that is reached.
    pub(crate) fn overspent(&self) -> Option<SpentLimit> {
        self.chain().find_map(|meter| {
            let of_run = meter.usage().cost.total;
            meter.0.spending.as_ref()?.reached_limit(of_run)
        })
    }

    /// Counts a finished answer.
    pub(crate) fn count_answer(&self) {
        let mut used = self.0.used.lock();
        used.answers = used.answers.saturating_add(1);
    }

    /// Everything used so far, also by helpers.
    pub(crate) fn usage(&self) -> Usage {
        self.0.used.lock().usage
    }

    /// Counts another helper, unless the whole tree has had `most`.
    pub(crate) fn takes_helper(&self, most: u32) -> bool {
        let root = self.chain().last().unwrap_or(self);
        if root.0.used.lock().helpers >= most {
            return false;
        }
        self.chain().for_each(|meter| {
            let mut used = meter.0.used.lock();
            used.helpers = used.helpers.saturating_add(1);
        });
        true
    }

    /// Applies these limits, also to helpers.
    pub(crate) fn limit(&self, limits: &RunLimits) {
        self.0.used.lock().limits = *limits;
    }

    /// The limit that forbids another request, if one is reached: of this run, or of a run above it.
    pub(crate) fn reached_limit(&self) -> Option<RunEnd> {
        let used = *self.0.used.lock();
        if used.limits.turns.is_some_and(|most| used.answers >= most) {
            return Some(RunEnd::Turns);
        }
        let of_runs = self.chain().find_map(|meter| {
            let used = *meter.0.used.lock();
            [RunEnd::Dollars, RunEnd::Tokens].into_iter().find(|end| used.has_reached(*end))
        });
        of_runs.or_else(|| self.overspent().map(|limit| limit.end))
    }

    /// The notice for a run that was ended by a limit.
    pub(crate) fn notice(&self, end: RunEnd) -> String {
        // The run whose limit it is may be one above.
        let reached = self.chain().map(|meter| *meter.0.used.lock()).find(|used| used.has_reached(end));
        let used = reached.unwrap_or_else(|| *self.0.used.lock());
        match end {
            RunEnd::Turns => {
                format!("stopped after {}, the limit for a run", pluralize(u64::from(used.answers), "answer"))
            }
            RunEnd::Time => "stopped: the time limit of this run was reached".to_owned(),
            RunEnd::Dollars => {
                format!("stopped: this run has reached its cost limit (${:.4} so far)", used.usage.cost.total)
            }
            RunEnd::Day => "stopped: the cost limit of 24 hours was reached".to_owned(),
            RunEnd::Tokens => {
                let tokens = pluralize(tokens(&used.usage), "token");
                format!("stopped: this run has reached its token limit ({tokens} so far)")
            }
            RunEnd::Repeats => "stopped: the model keeps repeating the same call".to_owned(),
            RunEnd::Rounds => "stopped: the goal was not reached within its limit of rounds".to_owned(),
            RunEnd::GivenUp => "stopped: the model has given up on the goal".to_owned(),
        }
    }
}

/// All tokens, also those from a cache.
fn tokens(usage: &Usage) -> u64 {
    let parts = [usage.output, usage.cache_read, usage.cache_write];
    parts.iter().fold(usage.input, |sum, part| sum.saturating_add(*part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::message::Cost;

    fn usage() -> Usage {
        let cost = Cost { total: 0.6, ..Cost::default() };
        Usage { input: 90, output: 10, cost, ..Usage::default() }
    }

    #[test]
    fn failed_requests_count_too() {
        let meter = Meter::default();
        let exceeded = |limits: RunLimits| {
            meter.limit(&limits);
            meter.reached_limit()
        };
        let turns = |turns| RunLimits { turns: Some(turns), ..RunLimits::default() };
        let dollars = |most| RunLimits { dollars: Some(most), ..RunLimits::default() };
        let tokens = |most| RunLimits { tokens: Some(most), ..RunLimits::default() };
        assert_eq!(exceeded(turns(0)), Some(RunEnd::Turns));
        meter.spend(&usage());
        meter.spend(&usage());
        meter.count_answer();
        let cases = [
            (RunLimits::default(), None),
            (turns(1), Some(RunEnd::Turns)),
            (turns(2), None),
            (dollars(1.2), Some(RunEnd::Dollars)),
            (dollars(1.3), None),
            (tokens(200), Some(RunEnd::Tokens)),
            (tokens(201), None),
        ];
        for (limits, expected) in cases {
            assert_eq!(exceeded(limits), expected, "{limits:?}");
        }
        assert!(meter.notice(RunEnd::Turns).contains("after 1 answer,"));
        assert!(meter.notice(RunEnd::Dollars).contains("$1.2000"));
        assert!(meter.notice(RunEnd::Tokens).contains("(200 tokens so far)"));
    }

    #[test]
    fn a_tree_has_one_limit() {
        let root = Meter::default();
        root.limit(&RunLimits { dollars: Some(1.0), turns: Some(1), ..RunLimits::default() });
        let (one, other) = (Meter::below(&root), Meter::below(&root));
        let inner = Meter::below(&one);
        inner.spend(&usage());
        root.count_answer();
        assert_eq!(
            (inner.reached_limit(), other.reached_limit()),
            (None, None),
            "answers are counted run by run"
        );
        other.spend(&usage());
        for meter in [&inner, &one, &other] {
            assert_eq!(meter.reached_limit(), Some(RunEnd::Dollars));
            assert!(meter.notice(RunEnd::Dollars).contains("$1.2000"), "that of the whole tree");
        }
        assert_eq!((one.usage().input, root.usage().input), (90, 180));
        let started = (0..5).filter(|_| inner.takes_helper(3)).count();
        assert_eq!((started, other.takes_helper(3)), (3, false));
    }
}
