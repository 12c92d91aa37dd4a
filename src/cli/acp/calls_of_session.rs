//! The tool calls of a session: the client's updates on each, from its name to its result.
//!
//! A call is shown when its name has arrived, and ends exactly once.

use agent_client_protocol_schema::v1::{
    SessionUpdate, Terminal, TerminalId, ToolCall as ShownCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields,
};

use serde_json::Value;

use super::calls;
use super::state::{AcpState, SessionKey};
use tau_app::printable::spell_hidden;
use tau_protocol::message::{ToolCall, ToolResultMessage};
use tau_tools::{Details, ToolOutput};

/// Reports a call that begins to arrive.
pub(crate) fn report_new_call(state: &mut AcpState, key: SessionKey, id: &str, tool: &str) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    if session.running.insert(id.to_owned(), None).is_none() {
        let call = ShownCall::new(id.to_owned(), tool)
            .name(tool)
            .kind(calls::kind(tool))
            .status(ToolCallStatus::Pending);
        state.update(key, SessionUpdate::ToolCall(call));
    }
}

/// Reports a complete call.
pub(crate) fn report_call(state: &mut AcpState, key: SessionKey, call: &ToolCall) {
    report_new_call(state, key, &call.id, &call.name);
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let command = call.arguments.get("command").and_then(Value::as_str).map(str::to_owned);
    session.running.insert(call.id.clone(), command);
    let fields = ToolCallUpdateFields::new()
        .raw_input(call.arguments.clone())
        .locations(calls::locations(&session.mirror.session.cwd, &call.arguments));
    update(state, key, &call.id, fields);
}

/// Reports a new or changed title of a call.
pub(crate) fn report_title(state: &mut AcpState, key: SessionKey, id: &str, title: &str) {
    update(state, key, id, ToolCallUpdateFields::new().title(spell_hidden(title)));
}

/// Reports that a call runs.
pub(crate) fn report_start(state: &mut AcpState, key: SessionKey, id: &str) {
    update(state, key, id, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress));
}

/// Reports the output of a running call.
pub(crate) fn report_progress(state: &mut AcpState, key: SessionKey, id: &str, output: &ToolOutput) {
    let Some(session) = state.sessions.get(&key).filter(|session| session.running.contains_key(id)) else {
        return;
    };
    let content = calls::content(&session.mirror.session.cwd, output);
    update(state, key, id, ToolCallUpdateFields::new().content(content));
}

/// Reports the end of a call.
pub(crate) fn report_end(
    state: &mut AcpState,
    key: SessionKey,
    id: &str,
    output: &ToolOutput,
    is_error: bool,
    duration_ms: Option<u64>,
) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    if session.running.remove(id).is_none() {
        return;
    }
    let cwd = &session.mirror.session.cwd;
    let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let mut fields = ToolCallUpdateFields::new()
        .status(status)
        .content(match session.terminals.remove(id) {
            Some(terminal) => vec![ToolCallContent::Terminal(Terminal::new(terminal))],
            None => calls::content(cwd, output),
        })
        .raw_output(calls::facts(output, duration_ms));
    if let Details::Diff(change) = &output.details {
        fields = fields.locations(vec![calls::change_location(cwd, change)]);
    }
    update(state, key, id, fields);
}

/// Reports the stored result of a call. Calls that did not run have no other end.
pub(crate) fn result(state: &mut AcpState, key: SessionKey, result: &ToolResultMessage) {
    let output = ToolOutput { content: result.content.clone(), details: result.details.clone() };
    report_end(state, key, &result.tool_call_id, &output, result.is_error, result.duration_ms);
}

/// Ends all running calls, because their answer was given up.
pub(crate) fn give_up(state: &mut AcpState, key: SessionKey) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    session.terminals.clear();
    for id in std::mem::take(&mut session.running).into_keys() {
        update(state, key, &id, ToolCallUpdateFields::new().status(ToolCallStatus::Failed));
    }
}

/// Shows the terminal that was opened for a command in its call.
pub(crate) fn in_terminal(state: &mut AcpState, key: SessionKey, command: &str, terminal: &TerminalId) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let found = session
        .running
        .iter()
        .find(|(id, own)| own.as_deref() == Some(command) && !session.terminals.contains_key(*id));
    let Some(id) = found.map(|(id, _)| id.clone()) else { return };
    session.terminals.insert(id.clone(), terminal.clone());
    let content = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
    update(state, key, &id, ToolCallUpdateFields::new().content(content));
}

fn update(state: &mut AcpState, key: SessionKey, id: &str, fields: ToolCallUpdateFields) {
    state.update(key, SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)));
}
