//! The cost of a run's answers: tokens, and their price where known.

use serde_json::{Value, json};

use crate::protocol;
use tau_protocol::event::{AgentEvent, RunEvent, SessionEvent, SettingsEvent, TaskEvent, TurnEvent};
use tau_protocol::message::{Message, ToolResultMessage, Usage};
use tau_protocol::usage::helper_usage;
use tau_tools::Details;

/// Tokens and dollars so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spending {
    usage: Usage,
    /// Whether the price of the current model is known.
    is_priced: bool,
    /// Whether any tokens have no known price.
    has_unpriced: bool,
}

impl Spending {
    /// Counts the next event.
    pub(crate) fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Settings(SettingsEvent::ModelChanged { model }) => {
                self.is_priced = model.cost.is_some();
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => {
                if let Message::Assistant(answer) = message.as_ref() {
                    self.add(&answer.usage);
                }
                // What helpers have used.
                if let Message::ToolResult(ToolResultMessage { details, .. }) = message.as_ref()
                    && let Details::Helper(report) = details
                {
                    self.has_unpriced |= report.unpriced;
                    self.usage.add(&helper_usage(details).unwrap_or_default());
                }
            }
            AgentEvent::Run(RunEvent::CompactionEnd { result: Some(result), .. }) => {
                result.usage.iter().for_each(|usage| self.add(usage));
            }
            AgentEvent::Session(SessionEvent::UsageAdded { usage })
            | AgentEvent::Task(TaskEvent::SideAnswerEnded { usage, .. }) => self.add(usage),
            _ => {}
        }
    }

    fn add(&mut self, usage: &Usage) {
        self.has_unpriced |= !self.is_priced && usage.total_tokens > 0;
        self.usage.add(usage);
    }

    /// The dollars; `None` if a price is unknown.
    pub(crate) fn known_dollars(&self) -> Option<f64> {
        (!self.has_unpriced).then_some(self.usage.cost.total)
    }

    /// Whether any of it is estimated.
    pub(crate) fn is_estimated(&self) -> bool {
        self.usage.estimated
    }

    /// Adds the totals to the last record. `cost` is in US dollars, and null if a price is unknown.
    pub(crate) fn put_into(&self, record: &mut Value) {
        let cost = if self.has_unpriced { Value::Null } else { json!(self.usage.cost.total) };
        protocol::set(record, "usage", json!(self.usage));
        protocol::set(record, "cost", cost);
    }
}
