//! Measures the usage of a run against its limits.
//!
//! Failed and repeated requests count too. What a helper uses counts in its parent's run as well: the limits of
//! a run are limits of the whole tree. Every request asks [`Meter::spent_limit`] just before it is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::retry::span;
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
    /// Whether the user was told that usage is estimated; on the topmost meter.
    has_told_of_estimates: AtomicBool,
}

/// The dollars that a goal may still cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GoalBudget {
    /// The limit of the goal.
    pub(crate) most: f64,
    /// The cost of the run at which it is reached.
    pub(crate) until: f64,
}

/// The time at which a run must end, and whose limit that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeLimit {
    pub(crate) at: Instant,
    pub(crate) whose: TimeLimitOwner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimitOwner {
    Run,
    WholeRun,
    Helper,
    HelperAbove,
    /// The goal, which may take this many seconds.
    Goal {
        seconds: u64,
    },
}

impl TimeLimit {
    /// The limit as it holds for a helper of the run.
    pub(crate) fn below(self) -> Self {
        let whose = match self.whose {
            TimeLimitOwner::Run | TimeLimitOwner::WholeRun => TimeLimitOwner::WholeRun,
            TimeLimitOwner::Helper | TimeLimitOwner::HelperAbove => TimeLimitOwner::HelperAbove,
            TimeLimitOwner::Goal { seconds } => TimeLimitOwner::Goal { seconds },
        };
        TimeLimit { whose, ..self }
    }

    /// The limit that is reached first.
    pub(crate) fn first(limits: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        limits.into_iter().flatten().min_by_key(|limit| limit.at)
    }
}

impl TimeLimitOwner {
    /// The reason why the run ended, and what to do about it.
    fn reason(self) -> SpentLimit {
        let (why, hint) = match self {
            TimeLimitOwner::Run => ("this run has reached its time limit".to_owned(), RunEnd::Time.remedy()),
            TimeLimitOwner::WholeRun => (
                "the whole run with its helpers has reached its time limit".to_owned(),
                RunEnd::Time.remedy(),
            ),
            TimeLimitOwner::Helper => {
                ("this helper has reached its time limit".to_owned(), RunEnd::Time.remedy())
            }
            TimeLimitOwner::HelperAbove => {
                ("the helper above this one has reached its time limit".to_owned(), RunEnd::Time.remedy())
            }
            TimeLimitOwner::Goal { seconds } => (
                format!("the goal has taken {}, its limit", span(seconds.saturating_mul(1_000))),
                "/goal resume grants as much again",
            ),
        };
        SpentLimit { end: RunEnd::Time, why, hint }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct RunBudget {
    answers: u32,
    usage: Usage,
    /// The number of helpers that were started, with their own.
    helpers: u32,
    limits: RunLimits,
    goal: Option<GoalBudget>,
}

impl RunBudget {
    /// The limit of the tree below a run that is reached; `run` names that run.
    fn reached_limit(&self, run: &str) -> Option<SpentLimit> {
        let RunBudget { usage, limits, goal, .. } = self;
        let (spent, tokens) = (usage.cost.total, tokens(usage));
        if limits.dollars.is_some_and(|most| spent >= most) {
            let why = format!("{run} has reached its cost limit (${spent:.4} so far)");
            return Some(SpentLimit { end: RunEnd::Dollars, why, hint: RunEnd::Dollars.remedy() });
        }
        if limits.tokens.is_some_and(|most| tokens >= most) {
            let why = format!("{run} has reached its token limit ({} so far)", pluralize(tokens, "token"));
            return Some(SpentLimit { end: RunEnd::Tokens, why, hint: RunEnd::Tokens.remedy() });
        }
        let GoalBudget { most, until } = goal.filter(|goal| spent >= goal.until)?;
        let why = format!("the goal has cost ${:.4}; its limit is ${most}", most + spent - until);
        Some(SpentLimit { end: RunEnd::Dollars, why, hint: "/goal resume grants as much again" })
    }

    fn is_limited(&self) -> bool {
        self.limits.dollars.is_some() || self.limits.tokens.is_some() || self.goal.is_some()
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

    fn topmost(&self) -> &Meter {
        self.chain().last().unwrap_or(self)
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
        if self.topmost().0.used.lock().helpers >= most {
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

    /// Applies the limit of the goal, also to helpers.
    pub(crate) fn limit_goal(&self, goal: Option<GoalBudget>) {
        self.0.used.lock().goal = goal;
    }

    /// Ends the limits of the run, since it is over.
    pub(crate) fn end_run(&self) {
        let mut used = self.0.used.lock();
        (used.limits, used.goal) = (RunLimits::default(), None);
    }

    /// The limit of money or tokens that forbids another request: of this run, of a run above it or its goal, of the
    /// session, or of 24 hours.
    pub(crate) fn spent_limit(&self) -> Option<SpentLimit> {
        let of_runs = self.chain().enumerate().find_map(|(above, meter)| {
            let run = match (above, &meter.0.above) {
                (0, None) => "this run",
                (0, Some(_)) => "this helper",
                (_, Some(_)) => "the helper above this one",
                (_, None) => "the whole run with its helpers",
            };
            meter.0.used.lock().reached_limit(run)
        });
        of_runs.or_else(|| {
            let top = self.topmost();
            top.0.spending.as_ref()?.reached_limit(top.usage().cost.total)
        })
    }

    /// The limit that forbids another request, if one is reached.
    pub(crate) fn reached_limit(&self) -> Option<RunEnd> {
        let used = *self.0.used.lock();
        if used.limits.turns.is_some_and(|most| used.answers >= most) {
            return Some(RunEnd::Turns);
        }
        self.spent_limit().map(|limit| limit.end)
    }

    /// Whether to tell the user, once, that limits are held against estimates.
    pub(crate) fn tells_of_estimates(&self) -> bool {
        let is_limited = |meter: &Meter| {
            meter.0.used.lock().is_limited()
                || meter.0.spending.as_ref().is_some_and(SessionSpending::is_limited)
        };
        self.chain().any(is_limited) && !self.topmost().0.has_told_of_estimates.swap(true, Ordering::Relaxed)
    }

    /// The notice for a run that was ended by a limit, and what to do about it; `time`: whose time was over.
    pub(crate) fn notice(&self, end: RunEnd, time: Option<TimeLimitOwner>) -> (String, &'static str) {
        let of_time = time.map(TimeLimitOwner::reason);
        if let Some(limit) = of_time.or_else(|| self.spent_limit()).filter(|limit| limit.end == end) {
            return (format!("stopped: {}", limit.why), limit.hint);
        }
        let text = match end {
            RunEnd::Turns => {
                let answers = pluralize(u64::from(self.0.used.lock().answers), "answer");
                return (format!("stopped after {answers}, the limit for a run"), end.remedy());
            }
            RunEnd::Time => "the time limit of this run was reached",
            RunEnd::Dollars => "the cost limit was reached",
            RunEnd::Day => "the cost limit of 24 hours was reached",
            RunEnd::Tokens => "the token limit was reached",
            RunEnd::Repeats => "the model keeps repeating the same call",
            RunEnd::Rounds => "the goal was not reached within its limit of rounds",
            RunEnd::GivenUp => "the model has given up on the goal",
        };
        (format!("stopped: {text}"), end.remedy())
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
        meter.limit(&dollars(1.0));
        assert!(meter.notice(RunEnd::Turns, None).0.contains("after 1 answer,"));
        assert!(meter.notice(RunEnd::Dollars, None).0.contains("$1.2000"));
        meter.limit(&tokens(100));
        assert!(meter.notice(RunEnd::Tokens, None).0.contains("(200 tokens so far)"));
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
            let (text, _) = meter.notice(RunEnd::Dollars, None);
            assert!(text.contains("the whole run with its helpers") && text.contains("$1.2000"), "{text}");
        }
        assert_eq!((one.usage().input, root.usage().input), (90, 180));
        let started = (0..5).filter(|_| inner.takes_helper(3)).count();
        assert_eq!((started, other.takes_helper(3)), (3, false));
    }

    /// Each says whose limit it is.
    #[test]
    fn the_limits_of_a_tree_are_told_apart() {
        let root = Meter::default();
        let one = Meter::below(&root);
        let inner = Meter::below(&one);
        inner.spend(&usage());
        let most = RunLimits { dollars: Some(0.5), ..RunLimits::default() };
        let why = |meter: &Meter| meter.spent_limit().map(|limit| limit.why).unwrap_or_default();
        root.limit_goal(Some(GoalBudget { most: 0.75, until: 0.5 }));
        assert_eq!(why(&inner), "the goal has cost $0.8500; its limit is $0.75");
        root.limit(&most);
        assert!(why(&inner).starts_with("the whole run with its helpers has"), "{}", why(&inner));
        assert!(why(&root).starts_with("this run has"), "{}", why(&root));
        one.limit(&most);
        assert!(why(&inner).starts_with("the helper above this one has"), "{}", why(&inner));
        inner.limit(&most);
        assert!(why(&inner).starts_with("this helper has"), "{}", why(&inner));
        assert!(inner.tells_of_estimates() && !one.tells_of_estimates(), "once for the tree");
    }
}
