//! What governs a run: its limits, queues, retries and compaction; and why one was ended.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a steering message does to the tool calls of the turn it arrives in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SteerMode {
    /// Queued messages are checked after each call; calls that have not started are skipped, and
    /// their results say so.
    #[default]
    SkipRemaining,
    /// All calls of the turn run first: the contract of the RPC protocol.
    AfterTurnCalls,
}

/// How many messages leave a queue at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// One; the model answers before the next.
    #[default]
    OneAtATime,
    /// All of them.
    All,
}

/// What happens when a model repeats the same tool call in spite of a warning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnRepeat {
    /// The run ends.
    #[default]
    Stop,
    /// The user is asked whether to continue.
    Ask,
}

/// What to do when a provider asks for a longer wait than usual before a retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RetryMode {
    /// Wait, and report it; the user can end the wait (`RunCommand::AbortRetry`).
    Interactive,
    /// Nobody is watching: fail the request, with the time in the error.
    #[default]
    Headless,
    /// Nobody is watching, but the run is to continue once the provider answers again: wait as long as it
    /// asks, as often as it asks. What is left of a wait is kept in the session, and waited for by the next
    /// run in it.
    WaitForQuota,
}

/// The limits of a run; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunLimits {
    /// Most answers of the model. Retries of one answer count once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// Time from the start of the run, waits included. Whatever is running then is aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Duration>,
    /// US dollars. Enforced only for models whose price is known; a run with another model warns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

/// Why a run was ended before the model had finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunEnd {
    /// The limit of answers was reached.
    Turns,
    /// The time limit was reached.
    Time,
    /// The cost limit was reached.
    Dollars,
    /// The model repeated the same call with the same result.
    Repeats,
}

/// When the conversation is compacted, and how much of it stays verbatim. Sizes in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    /// Whether the agent compacts without being asked.
    pub auto: bool,
    /// Tokens of the context window kept free; at most half of the window.
    pub reserve: u64,
    /// Tokens at the end of the conversation that stay as they are.
    pub keep: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        CompactionSettings { auto: true, reserve: 20_000, keep: 20_000 }
    }
}
