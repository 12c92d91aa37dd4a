//! The usage of a session over all branches: tokens and cost, including compactions.
//!
//! The unread part of a large file is counted line by line when it is surveyed ([`super::survey`]).

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::Session;
use super::entry::{Body, Entry};
use tau_protocol::message::Message;
use tau_protocol::usage::{Usage, helper_usage};

/// The beginning of the details of a helper's call.
pub(super) const HELPER: &[u8] = br#""kind":"helper""#;

/// The usage of entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UsageSum {
    /// Tokens, and the total cost.
    pub(crate) total: Usage,
    /// Models, by provider and id, that answered without a cost: they are free, or their price was unknown.
    pub(crate) without_cost: BTreeSet<(String, String)>,
}

impl Session {
    /// The usage of the entries that have been read.
    pub(crate) fn usage(&self) -> UsageSum {
        let mut sum = UsageSum::default();
        self.tree.entries().iter().for_each(|entry| sum.add_entry(entry));
        sum
    }
}

/// A line that may have usage.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    message: Option<LineMessage<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct LineMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    provider: Cow<'a, str>,
    #[serde(borrow, default)]
    model: Cow<'a, str>,
    usage: Option<Usage>,
}

impl UsageSum {
    /// Adds another sum.
    pub(crate) fn add_sum(&mut self, other: UsageSum) {
        self.add(&other.total);
        self.without_cost.extend(other.without_cost);
    }

    pub(crate) fn add_message(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => self.add_answer(&answer.provider, &answer.model, &answer.usage),
            Message::ToolResult(result) => self.add(&helper_usage(&result.details).unwrap_or_default()),
            _ => {}
        }
    }

    pub(crate) fn add_entry(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Message { message } => self.add_message(message),
            Body::Compaction { usage: Some(usage), .. } | Body::BranchSummary { usage: Some(usage), .. } => {
                self.add(&serde_json::from_value(usage.clone()).unwrap_or_default());
            }
            Body::Other { line } => self.add_line(line.as_bytes()),
            _ => {}
        }
    }

    /// Adds the usage of a line of a session file.
    pub(super) fn add_line(&mut self, line: &[u8]) {
        if memchr::memmem::find(line, HELPER).is_some() {
            return self.add_helper(line);
        }
        if memchr::memmem::find(line, b"\"usage\"").is_none() {
            return;
        }
        let Ok(line) = serde_json::from_slice::<Line<'_>>(line) else { return };
        match (&*line.kind, line.message, line.usage) {
            ("message", Some(LineMessage { role, provider, model, usage: Some(usage) }), _)
                if role == "assistant" =>
            {
                self.add_answer(&provider, &model, &usage);
            }
            ("compaction" | "branch_summary" | "usage", _, Some(usage)) => self.add(&usage),
            _ => {}
        }
    }

    /// Adds what a helper has used, which the result of its call says.
    fn add_helper(&mut self, line: &[u8]) {
        let entry = std::str::from_utf8(line).ok().and_then(Entry::parse);
        if let Some(entry) = entry.filter(Entry::is_message) {
            self.add_entry(&entry);
        }
    }

    fn add_answer(&mut self, provider: &str, model: &str, usage: &Usage) {
        self.add(usage);
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        if usage.cost.total == 0.0 && tokens.iter().any(|tokens| *tokens > 0) {
            self.without_cost.insert((provider.to_owned(), model.to_owned()));
        }
    }

    fn add(&mut self, usage: &Usage) {
        let sum = &mut self.total;
        sum.add(usage);
        let parts = [sum.input, sum.output, sum.cache_read, sum.cache_write];
        sum.total_tokens = parts.iter().fold(0, |sum, part| sum.saturating_add(*part));
    }
}
