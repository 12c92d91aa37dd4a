//! The controls of a run: limits, queues, retries and compaction; and the reasons why one ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The effect of a steering message on the tool calls of the turn in which it arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerMode {
    /// Queued messages are checked after each call; calls that have not started are skipped, and
    /// their results say so.
    #[default]
    SkipRemaining,
    /// All calls of the turn run first, as the RPC protocol requires.
    AfterTurnCalls,
}

/// How many messages leave a queue at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// One message; the model answers before the next.
    #[default]
    OneAtATime,
    /// All messages.
    All,
}

/// The reaction to a model that repeats the same tool call despite a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnRepeat {
    /// The run ends.
    #[default]
    Stop,
    /// The user is asked whether to continue.
    Ask,
}

/// The reaction to a provider that asks for a longer wait than usual before a retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryMode {
    /// Wait, and report it; the user can end the wait (`RunCommand::AbortRetry`).
    Interactive,
    /// No user is present: fail the request, with the time in the error.
    #[default]
    Headless,
    /// No user is present, but the run must continue once the provider answers again: wait as long and as
    /// often as it asks. The rest of a wait is kept in the session, and the next run in it waits for it.
    WaitForQuota,
}

/// The limits of a run, also of what its helpers use; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunLimits {
    /// The maximum number of answers of the model. Retries of one answer count once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The time from the start of the run, including waits. Work in progress is aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// US dollars. Enforced only for models whose price is known; a run with another model warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    /// Tokens, also those from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// The reason why a run ended before the model had finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    /// The limit of answers was reached.
    Turns,
    /// The time limit was reached.
    Time,
    /// The cost limit was reached.
    Dollars,
    /// The limit of what all sessions may cost in 24 hours was reached, or cannot be kept.
    Day,
    /// The limit of tokens was reached.
    Tokens,
    /// The model repeated the same call with the same result.
    Repeats,
    /// The limit of rounds for the goal was reached.
    Rounds,
    /// The model stopped trying to reach the goal.
    GivenUp,
}

impl RunEnd {
    /// The reason why the run ended, as shown when the session is opened again.
    pub fn report(self) -> &'static str {
        match self {
            RunEnd::Turns => "the last run was stopped: it reached its limit of answers",
            RunEnd::Time => "the last run was stopped: it reached its time limit",
            RunEnd::Dollars => "the last run was stopped: it reached its cost limit",
            RunEnd::Day => "the last run was stopped by the cost limit of 24 hours",
            RunEnd::Tokens => "the last run was stopped: it reached its token limit",
            RunEnd::Repeats => "the last run was stopped: the model kept repeating the same call",
            RunEnd::Rounds => "the last run was stopped: the goal was not reached within its limit of rounds",
            RunEnd::GivenUp => "the last run was stopped: the model has given up on the goal",
        }
    }

    /// Advice for the user then.
    pub fn remedy(self) -> &'static str {
        match self {
            RunEnd::Repeats => "tell it what to do differently",
            RunEnd::Rounds | RunEnd::GivenUp => "continue with /goal resume",
            RunEnd::Turns | RunEnd::Time | RunEnd::Dollars | RunEnd::Day | RunEnd::Tokens => {
                "send a message to continue"
            }
        }
    }
}

/// When to compact the conversation, and how much of it to keep verbatim. Sizes are in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// True if the agent compacts automatically.
    pub auto: bool,
    /// The number of tokens of the context window kept free; at most half of the window.
    pub reserve: u64,
    /// The number of tokens kept unchanged at the end of the conversation.
    pub keep: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        CompactionSettings { auto: true, reserve: 20_000, keep: 20_000 }
    }
}
