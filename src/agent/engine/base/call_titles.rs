//! Titles of tool calls for the user, even while the arguments are arriving.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::extensions::call_title;
use crate::extensions::mcp::search;
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
                let title = title_of(tools, &arriving.tool, &partial_json::partial(&arriving.text));
                arriving.show(title)
            }
            Delta::ToolCallEnd { content_index, tool_call } => {
                let mut arriving = self.arriving.remove(content_index)?;
                arriving.show(title_of(tools, &tool_call.name, &tool_call.arguments))
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

/// The titles of all calls in a conversation, by call id: those of its tools, which may no longer be offered.
pub fn titles_of(tools: &Toolbox, messages: &[Arc<Message>]) -> BTreeMap<String, String> {
    let calls = messages.iter().filter_map(|message| match message.as_ref() {
        Message::Assistant(answer) => Some(answer.tool_calls()),
        _ => None,
    });
    let title = |call: &ToolCall| (call.id.clone(), title_of(tools, &call.name, &call.arguments));
    calls.flatten().map(title).collect()
}

/// Every tool of tau, offered or not.
static BUILT_IN: LazyLock<Toolbox> =
    LazyLock::new(|| Toolbox::all().with(plan::submit_tool()).with(plan::step_tool()));

/// The title of a call; of a tool that is unknown, or not known yet, as its kind has it.
fn title_of(tools: &Toolbox, name: &str, args: &Value) -> String {
    let tool = tools.get(name).or_else(|| BUILT_IN.get(name));
    #[cfg(feature = "web")]
    if tool.is_none()
        && let Some(title) = crate::web::title_of(name, args)
    {
        return title;
    }
    match tool {
        Some(tool) => tool.title(args),
        None if name == search::TOOL_CALL => match search::target(args) {
            Some((name, given)) => {
                format!("{name} {}", call_title::of_arguments(&given)).trim_end().to_owned()
            }
            None => String::new(),
        },
        None if name == search::TOOL_SEARCH => search::words(args),
        None => call_title::of_arguments(args),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_have_their_titles_when_their_tools_are_not_there() {
        let titled = |name: &str, args: Value| title_of(&Toolbox::all(), name, &args);
        assert_eq!(titled(plan::SUBMIT, json!({"plan": "1. read it\n2. change it"})), "1. read it");
        assert_eq!(titled(plan::SUBMIT, json!({"plan": "# Tidy\n1. read it"})), "Tidy");
        assert_eq!(titled(plan::STEP, json!({"done": [1, 2]})), "steps 1, 2 are done");
        assert_eq!(titled("bash", json!({"command": "ls -l"})), "ls -l");
        assert_eq!(titled("mcp__far__add", json!({"a": 1, "b": "x"})), "a=1 b=x");
        let inner = json!({"name": "mcp__far__add", "arguments": {"a": 1}});
        assert_eq!(titled(search::TOOL_CALL, inner), "mcp__far__add a=1");
        assert_eq!(titled(search::TOOL_SEARCH, json!({"query": "add"})), "add");
        #[cfg(feature = "web")]
        assert_eq!(titled("web_fetch", json!({"url": "https://x.example"})), "https://x.example");
    }
}
