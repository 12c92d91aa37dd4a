//! The report on a helper that users see: plain data.

use serde::{Deserialize, Serialize};

/// The state of a helper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HelperState {
    /// It begins when another helper has ended.
    Waiting,
    #[default]
    Running,
    /// It waits for the user's answer.
    Asking,
    Done,
    Failed,
    Stopped,
}

impl HelperState {
    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            HelperState::Waiting => "waiting",
            HelperState::Running => "running",
            HelperState::Asking => "waiting for you",
            HelperState::Done => "done",
            HelperState::Failed => "failed",
            HelperState::Stopped => "stopped",
        }
    }

    /// True if it has ended.
    pub fn is_over(self) -> bool {
        matches!(self, HelperState::Done | HelperState::Failed | HelperState::Stopped)
    }
}

/// A helper: its state, its calls, its use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelperReport {
    /// The kind, and its number: `explore 2`.
    pub name: String,
    pub state: HelperState,
    /// The model's id.
    pub model: String,
    /// The id of its session.
    pub session: String,
    /// The ids of the sessions of its own helpers, and of theirs: commands of these run, too. They are not written.
    #[serde(skip)]
    pub below: Vec<String>,
    /// The file of its session, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its current work, in words.
    pub doing: String,
    /// Its last calls, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// The number of its calls.
    pub calls: u64,
    /// The tokens that it has used, with its own helpers.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
    /// The parts of it.
    pub input_cost: f64,
    pub output_cost: f64,
    pub cache_read_cost: f64,
    pub cache_write_cost: f64,
    /// True if the price of a model that it used is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
    /// True if any of it is estimated, because a provider did not report it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The end of its answer so far.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub answer: String,
}

impl HelperReport {
    /// The ids of its session and of those below it.
    pub fn sessions(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.session).chain(&self.below)
    }

    /// All tokens.
    pub fn tokens(&self) -> u64 {
        let parts = [self.output, self.cache_read, self.cache_write];
        parts.iter().fold(self.input, |sum, part| sum.saturating_add(*part))
    }

    /// The texts that may contain anything.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [&mut self.name, &mut self.doing, &mut self.answer].into_iter().chain(&mut self.steps)
    }
}
