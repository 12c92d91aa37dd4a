//! The usage of a session with its helpers, as its events tell it.

use std::collections::BTreeMap;

use super::event::{AgentEvent, RunEvent, SessionEvent, TaskEvent, TurnEvent};
use super::message::Message;
use super::usage::{Usage, helper_usage};

/// The usage of a session with its helpers, folded from its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMeter {
    /// The usage before the session was opened.
    before: Usage,
    since: Usage,
    /// The usage of helpers at work, by their calls.
    helpers: BTreeMap<String, Usage>,
}

impl SessionMeter {
    /// Counts the next event.
    pub fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Session(SessionEvent::SessionOpened { .. }) => *self = SessionMeter::default(),
            AgentEvent::Session(SessionEvent::SessionUsage { usage: Some(usage), .. }) => {
                self.before = *usage;
            }
            AgentEvent::Session(SessionEvent::UsageAdded { usage })
            | AgentEvent::Task(TaskEvent::SideAnswerEnded { usage, .. }) => self.since.add(usage),
            AgentEvent::Run(RunEvent::CompactionEnd { result: Some(result), .. }) => {
                result.usage.iter().for_each(|usage| self.since.add(usage));
            }
            AgentEvent::Turn(TurnEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. }) => {
                if let Some(usage) = helper_usage(&partial_result.details) {
                    self.helpers.insert(tool_call_id.clone(), usage);
                }
            }
            AgentEvent::Turn(TurnEvent::MessageEnd { message }) => match message.as_ref() {
                Message::Assistant(answer) => self.since.add(&answer.usage),
                Message::ToolResult(result) => {
                    self.helpers.remove(&result.tool_call_id);
                    self.since.add(&helper_usage(&result.details).unwrap_or_default());
                }
                _ => {}
            },
            _ => {}
        }
    }

    /// The usage so far.
    pub fn total(&self) -> Usage {
        let mut total = self.before;
        total.add(&self.since_opening());
        total
    }

    /// The usage since the session was opened.
    pub fn since_opening(&self) -> Usage {
        let mut total = self.since;
        self.helpers.values().for_each(|usage| total.add(usage));
        total
    }
}
