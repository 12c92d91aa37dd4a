//! Goals: commands of the user that decide when the work is done.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The type of the messages with which a round begins; each is a checkpoint.
pub const ROUND: &str = "tau.goalRound";

/// The beginning of the ids of the commands that check a goal.
pub const CHECK: &str = "goal-";

/// The limits of a goal, over all of its runs; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GoalLimits {
    /// The maximum number of rounds: of times that the model works until it stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// US dollars. Enforced only for models whose price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// Seconds of work; the time for which the user is asked something does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// A goal as the user sets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoalOrder {
    /// The command that must succeed.
    pub command: String,
    /// The limits; `None` for those of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<GoalLimits>,
}

/// The state of a goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GoalState {
    /// A run continues until the goal is reached.
    Active,
    /// Runs end as usual, until the user continues the goal.
    #[default]
    Paused,
    /// The command has succeeded.
    Reached,
    /// The model stopped trying.
    GivenUp,
    /// A limit was reached first.
    Capped,
}

/// A goal: a command that decides when the work is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Goal {
    /// The command. It is not safe to print.
    pub command: String,
    pub state: GoalState,
    pub limits: GoalLimits,
    /// The number of rounds so far.
    pub rounds: u32,
    /// The cost so far, in US dollars.
    pub dollars: f64,
    /// The time spent so far, in milliseconds.
    pub milliseconds: u64,
    /// The exit code of the command when it last ran; absent if it did not run, or was ended by a signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

impl Goal {
    /// A goal without any work yet.
    pub fn new(command: String, limits: GoalLimits) -> Self {
        Goal { command, limits, state: GoalState::Active, ..Goal::default() }
    }

    /// Whether runs continue until it is reached.
    pub fn is_active(&self) -> bool {
        self.state == GoalState::Active
    }

    /// The time left; `None` if it is not limited.
    pub fn time_left(&self) -> Option<Duration> {
        let seconds = self.limits.seconds?;
        Some(Duration::from_secs(seconds).saturating_sub(Duration::from_millis(self.milliseconds)))
    }

    /// The number of rounds so far, and the limit if there is one: `2 of 20`.
    pub fn progress(&self) -> String {
        match self.limits.rounds {
            Some(most) => format!("{} of {most}", self.rounds),
            None => self.rounds.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_what_was_not_spent() {
        let limits = GoalLimits { seconds: Some(90), ..GoalLimits::default() };
        let goal = Goal { milliseconds: 60_500, ..Goal::new("make".to_owned(), limits) };
        assert_eq!(goal.time_left(), Some(Duration::from_millis(29_500)));
        assert_eq!(Goal { milliseconds: 99_000, ..goal }.time_left(), Some(Duration::ZERO));
        assert_eq!(Goal::new("make".to_owned(), GoalLimits::default()).time_left(), None);
    }
}
