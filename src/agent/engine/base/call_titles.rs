//! Titles of tool calls for the user, even while the arguments are arriving.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::provider::partial_json;
use tau_protocol::event::{AgentEvent, Delta, TurnEvent};
use tau_protocol::message::{Message, ToolCall};
use tau_tools::{Toolbox, plan};

/// The maximum bytes of arriving arguments that are parsed for a title. The parts shown in a title come
/// first; beyond this the title waits for the complete arguments, so that a long call costs no more.
const MAX_PARSED: usize = 2 * 1024;

/// The titles of the calls in one answer.
#[derive(Debug, Default)]
pub(crate) struct ArrivingTitles {
    arriving: HashMap<usize, Arriving>,
}

#[derive(Debug)]
struct Arriving {
    id: String,
    tool: String,
    text: String,
    shown: String,
}

impl ArrivingTitles {
    /// Handles a piece of the answer; returns an event if that changes a title.
    pub(crate) fn take(&mut self, tools: &Toolbox, delta: &Delta) -> Option<AgentEvent> {
        match delta {
            Delta::ToolCallStart { content_index, id, tool_name } => {
                let (id, tool) = (id.clone(), tool_name.clone());
                let arriving = Arriving { id, tool, text: String::new(), shown: String::new() };
                self.arriving.insert(*content_index, arriving);
                None
            }
            Delta::ToolCallDelta { content_index, delta } => {
                let arriving =
                    self.arriving.get_mut(content_index).filter(|call| call.text.len() < MAX_PARSED)?;
                arriving.text.push_str(delta);
                let title = tools.get(&arriving.tool)?.title(&partial_json::partial(&arriving.text));
                arriving.show(title)
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                let mut arriving = self.arriving.remove(content_index)?;
                arriving.show(tools.get(&tool_call.name)?.title(&tool_call.arguments))
            }
            _ => None,
        }
    }
}

impl Arriving {
    fn show(&mut self, title: String) -> Option<AgentEvent> {
        if title.is_empty() || title == self.shown {
            return None;
        }
        self.shown.clone_from(&title);
        Some(AgentEvent::Turn(TurnEvent::ToolTitle { tool_call_id: self.id.clone(), title }))
    }
}

/// The titles of all calls in a conversation, by call id.
pub(crate) fn titles_of(tools: &Toolbox, messages: &[Arc<Message>]) -> BTreeMap<String, String> {
    let calls = messages.iter().filter_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer.tool_calls()),
        _ => None,
    });
    // The plan tools are not always offered.
    let plans = Toolbox::empty().with(plan::submit_tool()).with(plan::step_tool());
    let tool = |name: &str| tools.get(name).or_else(|| plans.get(name));
    let title = |call: &ToolCall| Some((call.id.clone(), tool(&call.name)?.title(&call.arguments)));
    calls.flatten().filter_map(title).collect()
}
