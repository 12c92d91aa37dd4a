//! Results for calls that have none, because the program was killed before they had ended, or because the conversation
//! continues from before their results.
//!
//! Opening a session does not write to it: until the conversation continues they are only reported.

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::base::clock::now;
use crate::engine::gate;
use crate::engine::queries::session_usage;
use crate::engine::state::Engine;
use crate::session::Session;
use crate::session::entry::Body;
use crate::session::unreported::UnreportedHelper;
use tau_protocol::message::{AssistantMessage, Message, ToolCall, ToolResultMessage};
use tau_tools::delegate::{self, HelperReport, HelperState};
use tau_tools::{Content, Details, OutputLimits, ask_user, command_result, plan};

/// The result of a call during which tau was killed.
const INTERRUPTED: &str = "interrupted: this call has no result; it may have run in part";

/// The result of a call that waited for a decision when tau was killed.
const UNDECIDED: &str = "not run: tau ended before the user decided about this call";

/// The result of a question that was open when tau was killed.
const NOT_ANSWERED: &str =
    "interrupted: tau ended before the user had answered; ask again if you still need to know";

/// Records them before the conversation continues. What their helpers have cost since the session was opened counts now.
pub(crate) fn repair(engine: &mut Engine) {
    let results = missing_results(&engine.config.session);
    session_usage::count_apart(engine, &results);
    for result in results {
        engine.record(result);
    }
    engine.apart = engine.config.session.usage_apart(&[]);
}

/// The results that are missing at the end of a conversation in which nothing runs.
pub fn missing_results(session: &Session) -> Vec<Arc<Message>> {
    let messages = session.context().messages;
    let mut answered = HashSet::new();
    for message in messages.iter().rev() {
        match message.as_ref() {
            Message::ToolResult(result) => {
                answered.insert(result.tool_call_id.as_str());
            }
            Message::BashExecution(_) | Message::Custom(_) | Message::Application(_) => {}
            Message::Assistant(answer) => return of_answer(session, answer, &answered),
            Message::User(_) | Message::BranchSummary(_) | Message::CompactionSummary(_) => break,
        }
    }
    Vec::new()
}

fn of_answer(session: &Session, answer: &AssistantMessage, answered: &HashSet<&str>) -> Vec<Arc<Message>> {
    let open: Vec<&ToolCall> =
        answer.tool_calls().filter(|call| !answered.contains(call.id.as_str())).collect();
    let unanswered = unanswered_calls(session);
    let has_helpers = open.iter().any(|call| call.name == delegate::NAME);
    let mut helpers = if has_helpers { session.unreported_helpers(answer.timestamp) } else { Vec::new() };
    let result = |call: &&ToolCall| {
        if call.name == delegate::NAME && !helpers.is_empty() {
            return of_helper(call, take(&mut helpers, call));
        }
        let text = match call.name.as_str() {
            _ if unanswered.contains(&call.id) => UNDECIDED,
            ask_user::NAME | plan::SUBMIT => NOT_ANSWERED,
            _ => INTERRUPTED,
        };
        without_result(call, text, Details::None)
    };
    open.iter().map(result).collect()
}

/// Takes the helper that was given the task of a call; the oldest one if its task reads differently.
fn take(helpers: &mut Vec<UnreportedHelper>, call: &ToolCall) -> UnreportedHelper {
    let task = call.arguments.get("task").and_then(|task| task.as_str()).unwrap_or_default();
    let is_it =
        |helper: &UnreportedHelper| helper.prompts.last().is_some_and(|prompt| prompt.ends_with(task));
    let at = helpers.iter().position(is_it).unwrap_or(0);
    helpers.remove(at)
}

/// The result of a call whose helper ended with tau: its answer, if it had finished. What it has used counts. One that
/// is open elsewhere may use more, so its result does not say how much.
fn of_helper(call: &ToolCall, helper: UnreportedHelper) -> Arc<Message> {
    if helper.is_open {
        let text = format!(
            "interrupted: tau ended before the helper had; another process continues it now, in its session, {}",
            helper.id
        );
        return without_result(call, &text, Details::None);
    }
    let file = helper.file.to_string_lossy().into_owned();
    let text = match &helper.answer {
        Some(answer) => {
            let whole = format!("the whole answer is the last one in {file}");
            command_result::cut(answer.trim(), &OutputLimits::default(), &whole)
        }
        None => format!(
            "interrupted: tau ended before the helper had; what it did is in its session, {}",
            helper.id
        ),
    };
    let state = if helper.answer.is_some() { HelperState::Done } else { HelperState::Stopped };
    let mut report = HelperReport {
        name: helper.kind,
        state,
        answer: if state == HelperState::Done { text.clone() } else { String::new() },
        model: helper.model,
        session: helper.id,
        file: Some(file),
        ..HelperReport::default()
    };
    helper.usage.put_into(&mut report);
    let result = of_call(call, &text, Details::Helper(Box::new(report)));
    Arc::new(Message::ToolResult(ToolResultMessage { is_error: state != HelperState::Done, ..result }))
}

/// The calls at the end of the branch that were waiting for the user when tau was killed.
fn unanswered_calls(session: &Session) -> HashSet<String> {
    let branch = session.tree().branch();
    let is_message = |body: &Body| matches!(body, Body::Message { message } if !matches!(**message, Message::ToolResult(_)));
    let end = branch.iter().rev().take_while(|entry| !is_message(&entry.body));
    let calls = end.filter_map(|entry| entry.custom_data(gate::WAITING_ENTRY));
    calls.filter_map(|data| data.get("toolCallId")?.as_str().map(str::to_owned)).collect()
}

fn without_result(call: &ToolCall, text: &str, details: Details) -> Arc<Message> {
    Arc::new(Message::ToolResult(of_call(call, text, details)))
}

fn of_call(call: &ToolCall, text: &str, details: Details) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: vec![Content::text(text)],
        details,
        is_error: true,
        timestamp: now(),
        duration_ms: None,
        hooks: Vec::new(),
    }
}
