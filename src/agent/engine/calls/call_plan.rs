//! Plans the calls of an answer: finds the tool of each, or the reason it cannot run.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::state::Engine;
use crate::extensions::mcp::search;
use tau_protocol::message::{AssistantMessage, HookNote, StopReason, ToolCall};
use tau_tools::user_error::UserError;
use tau_tools::{AnyTool, Details, ToolOutput};

/// The result of a call in an answer that failed, whether or not the call was complete.
const CUT_OFF: &str = "not run: the answer was cut off before it was complete";

/// A call, its tool (or the reason it cannot run), and its outcome.
pub(crate) struct Slot {
    pub call: ToolCall,
    /// The name in the model's call, which its result must have.
    pub asked_name: String,
    pub tool: Result<Arc<dyn AnyTool>, UserError>,
    pub outcome: Option<Outcome>,
}

pub(crate) struct Outcome {
    pub output: ToolOutput,
    pub is_error: bool,
    /// Whether the user, a rule or a hook denied it.
    pub is_denied: bool,
    pub duration_ms: Option<u64>,
    /// Notes about hooks.
    pub hooks: Vec<HookNote>,
}

impl Outcome {
    /// The result of a call that did not run.
    pub fn unrun(reason: &str) -> Self {
        let output = ToolOutput::new(reason, Details::None);
        Outcome { output, is_error: true, is_denied: false, duration_ms: None, hooks: Vec::new() }
    }
}

/// Finds the tool of each call, or the reason it cannot run.
pub(crate) fn plan(engine: &Engine, answer: &AssistantMessage) -> Vec<Slot> {
    let last = answer.tool_calls().count().saturating_sub(1);
    let cut = answer.stop_reason == StopReason::Length;
    let slot = |(index, asked): (usize, &ToolCall)| {
        let call = &target(engine, asked);
        let tool = if answer.stop_reason == StopReason::Error {
            Err(CUT_OFF.into())
        } else if cut && index == last {
            Err("not run: the answer reached its length limit, so this call may be incomplete; \
                 call the tool again with shorter arguments"
                .into())
        } else {
            find(engine, call)
        };
        Slot { call: call.clone(), asked_name: asked.name.clone(), tool, outcome: None }
    };
    answer.tool_calls().enumerate().map(slot).collect()
}

/// Resolves a call of `tool_call` to a call of the tool that it names.
fn target(engine: &Engine, call: &ToolCall) -> ToolCall {
    let named = (call.name == search::TOOL_CALL && engine.config.tools.get(&call.name).is_some())
        .then(|| search::target(&call.arguments));
    match named.flatten() {
        Some((name, arguments)) => ToolCall { name, arguments, ..call.clone() },
        None => call.clone(),
    }
}

fn find(engine: &Engine, call: &ToolCall) -> Result<Arc<dyn AnyTool>, UserError> {
    let tools = &engine.config.tools;
    let Some(tool) = engine.tool(&call.name) else {
        let names: Vec<String> = tools.specs().into_iter().map(|spec| spec.name).collect();
        let names = if names.is_empty() {
            "no tools are enabled".to_owned()
        } else {
            format!("the tools are: {}", names.join(", "))
        };
        return Err(format!("unknown tool {:?}; {names}", call.name).into());
    };
    let allowed = engine.config.helper.as_ref().and_then(|role| role.allowed.as_ref());
    if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(&call.name)) {
        return Err(
            format!("this helper may not call {}; it may call {}", call.name, allowed.join(", ")).into()
        );
    }
    match &call.arguments {
        Value::Object(_) => Ok(tool.clone()),
        Value::String(text) => {
            let error = serde_json::from_str::<Value>(text).err();
            let why = error.map_or_else(|| "not an object".to_owned(), |error| error.to_string());
            Err(format!("the arguments are not a valid JSON object ({why}); send the complete call again")
                .into())
        }
        _ => {
            Err(UserError::new("the arguments are not a JSON object").remedy("send the call again with one"))
        }
    }
}

/// The arguments in the form that events need: always an object.
pub(crate) fn arguments(call: &ToolCall) -> Value {
    if call.arguments.is_object() { call.arguments.clone() } else { json!({}) }
}
