//! The goal of the session, and what the current run has spent on it.

use std::collections::HashSet;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::meter::{GoalBudget, TimeLimit, TimeLimitOwner};
use tau_protocol::goal::Goal;
use tau_protocol::message::BashExecution;

/// The goal of the session, and what the current run has spent on it.
#[derive(Default)]
pub(crate) struct GoalPlace {
    pub(crate) goal: Option<Goal>,
    /// Whether the model was told of it.
    pub(crate) is_told: bool,
    /// The number of rounds in a row in which the model called no tool.
    pub(crate) idle: u32,
    /// Whether the last check was ended because it took too long.
    pub(crate) timed_out: bool,
    /// The commands that the user has set or confirmed since tau started: only these run.
    confirmed: HashSet<String>,
    /// The dollars of the current run that are counted already.
    counted: f64,
    /// The time up to which the time of the current run is counted.
    since: Option<Instant>,
    /// Whether the run waits until the provider accepts requests again.
    pub(crate) waits_for_provider: bool,
    /// The time since which the user is asked something, or the provider is waited for.
    paused_since: Option<Instant>,
    /// The check that runs.
    check: Option<Check>,
    /// Whether the last check was of a goal that has been replaced or dropped since it began.
    is_outdated: bool,
}

/// A check that runs.
struct Check {
    /// The id of its command.
    id: String,
    result: oneshot::Sender<BashExecution>,
    stop: CancellationToken,
}

impl GoalPlace {
    /// The goal, if runs continue until it is reached.
    pub(crate) fn active(&self) -> Option<&Goal> {
        self.goal.as_ref().filter(|goal| goal.is_active())
    }

    /// Records that the user wants this command to run.
    pub(crate) fn confirm(&mut self, command: &str) {
        self.confirmed.insert(command.to_owned());
    }

    /// Whether the user has set or confirmed this command since tau started.
    pub(crate) fn is_confirmed(&self, command: &str) -> bool {
        self.confirmed.contains(command)
    }

    /// Called when a run begins.
    pub(crate) fn on_run_start(&mut self) {
        (self.counted, self.since, self.idle) = (0.0, Some(Instant::now()), 0);
    }

    /// The time at which the run ends, because the goal's time is over; `None` while nothing can be done for it.
    pub(crate) fn deadline(&self) -> Option<TimeLimit> {
        let goal = self.active()?;
        let at = self.since.filter(|_| self.paused_since.is_none())?.checked_add(goal.time_left()?)?;
        Some(TimeLimit { at, whose: TimeLimitOwner::Goal { seconds: goal.limits.seconds? } })
    }

    /// Leaves the time for which the user `is_asked` something, or the provider is waited for, out of the goal's.
    pub(crate) fn follow_pauses(&mut self, is_asked: bool) {
        match (is_asked || self.waits_for_provider, self.paused_since) {
            (true, None) => self.paused_since = Some(Instant::now()),
            (false, Some(asked)) => {
                self.paused_since = None;
                self.since = self.since.map(|since| since + asked.elapsed());
            }
            _ => {}
        }
    }

    /// Stops counting time.
    pub(crate) fn on_run_end(&mut self) {
        self.since = None;
    }

    /// Starts to count from here, where the run has cost `dollars`.
    pub(crate) fn count_from(&mut self, dollars: f64) {
        self.counted = dollars;
        self.since = self.since.map(|_| Instant::now());
    }

    /// Adds what the run has spent since the last count to the goal; the run has cost `dollars` so far.
    pub(crate) fn count(&mut self, dollars: f64) {
        if let Some(goal) = &mut self.goal {
            goal.dollars += (dollars - self.counted).max(0.0);
            if let Some(since) = &mut self.since {
                let end = self.paused_since.unwrap_or_else(Instant::now);
                let spent = end.saturating_duration_since(*since).as_millis();
                let whole = u64::try_from(spent).unwrap_or(u64::MAX);
                goal.milliseconds = goal.milliseconds.saturating_add(whole);
                // The rest of a millisecond is counted the next time.
                *since += Duration::from_millis(whole);
            }
            self.counted = dollars;
        } else {
            self.count_from(dollars);
        }
    }

    /// The dollars that the goal may still cost, for the meter of the run.
    pub(crate) fn budget(&self) -> Option<GoalBudget> {
        let goal = self.active()?;
        let most = goal.limits.dollars?;
        Some(GoalBudget { most, until: self.counted + most - goal.dollars })
    }

    /// Records that the command with this id is the check, which `stop` ends; returns what waits for its end.
    pub(crate) fn begin_check(
        &mut self,
        id: &str,
        stop: CancellationToken,
    ) -> oneshot::Receiver<BashExecution> {
        let (result, receiver) = oneshot::channel();
        self.check = Some(Check { id: id.to_owned(), result, stop });
        self.is_outdated = false;
        receiver
    }

    /// Stops the check that runs, if any: its goal has been replaced or dropped, so its result counts for none.
    pub(crate) fn drop_check(&mut self) {
        self.is_outdated = true;
        if let Some(check) = &self.check {
            check.stop.cancel();
        }
    }

    /// Whether the result of the last check counts.
    pub(crate) fn has_valid_check(&self) -> bool {
        !self.is_outdated
    }

    /// Takes the end of a command of the user; returns false if it is not the check.
    pub(crate) fn complete_check(&mut self, id: Option<&str>, message: &BashExecution) -> bool {
        match self.check.take_if(|check| id == Some(check.id.as_str())) {
            Some(check) => check.result.send(message.clone()).is_ok(),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::goal::GoalLimits;

    #[test]
    fn what_a_run_costs_is_counted_once() {
        let limits = GoalLimits { dollars: Some(1.5), ..GoalLimits::default() };
        let goal = Some(Goal::new("make".to_owned(), limits));
        let mut place = GoalPlace { goal, ..GoalPlace::default() };
        let until = |place: &GoalPlace| place.budget().map(|budget| budget.until);
        place.on_run_start();
        assert_eq!(until(&place), Some(1.5));
        place.count(0.5);
        place.count(0.75);
        assert_eq!(until(&place), Some(1.5), "of what the run has cost");
        // The next run has a meter of its own.
        place.on_run_start();
        assert_eq!(until(&place), Some(0.75));
        place.count(0.25);
        assert_eq!(place.goal.map(|goal| goal.dollars), Some(1.0));
    }

    #[test]
    fn the_time_of_questions_and_of_a_dropped_goal_does_not_count() {
        let limits = GoalLimits { seconds: Some(60), ..GoalLimits::default() };
        let goal = Some(Goal::new("make".to_owned(), limits));
        let mut place = GoalPlace { goal, ..GoalPlace::default() };
        assert_eq!(place.deadline(), None, "nothing runs");
        // It has run for 10 s, then asked for 100 s.
        let now = Instant::now();
        place.since = now.checked_sub(Duration::from_secs(110));
        place.paused_since = now.checked_sub(Duration::from_secs(100));
        assert_eq!(place.deadline(), None);
        place.count(0.0);
        assert_eq!(place.goal.as_ref().map(|goal| goal.milliseconds), Some(10_000));
        place.follow_pauses(false);
        let left = place.deadline().map(|end| end.at.duration_since(now).as_secs());
        assert!(left.is_some_and(|left| (50..55).contains(&left)), "{left:?}");
        place.goal = None;
        assert_eq!(place.deadline(), None);
    }

    /// Such limits come from session files and clients.
    #[test]
    fn a_limit_that_no_clock_reaches_is_none() {
        let limits = GoalLimits { seconds: Some(u64::MAX), ..GoalLimits::default() };
        let goal = Some(Goal::new("make".to_owned(), limits));
        let mut place = GoalPlace { goal, ..GoalPlace::default() };
        place.on_run_start();
        assert_eq!(place.deadline(), None);
    }

    #[test]
    fn part_of_a_millisecond_is_counted_the_next_time() {
        let goal = Some(Goal::new("make".to_owned(), GoalLimits::default()));
        let mut place = GoalPlace { goal, ..GoalPlace::default() };
        let begun = Instant::now() - Duration::from_micros(1_750);
        place.since = Some(begun);
        place.count(0.0);
        let counted = Duration::from_millis(place.goal.as_ref().map_or(0, |goal| goal.milliseconds));
        assert!(counted >= Duration::from_millis(1));
        assert_eq!(place.since, Some(begun + counted));
    }
}
