//! What each event of the agent becomes: records for the client, answers to those that wait.
//!
//! Pure. Which parts of the older document are told is decided by who caused them.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::commands::start;
use super::partial::Partial;
use super::request::Call;
use super::state::{Change, Desk, Phase, QueueTexts};
use crate::agent::protocol::event::{CompactionReason, CompactionResult, Delta};
use crate::agent::protocol::message::{BashExecution, Message, Usage};
use crate::agent::{AgentCommand, AgentEvent};
use crate::cli::protocol;

/// Takes an event.
pub fn tell(desk: &mut Desk, event: AgentEvent, now: Instant) {
    match event {
        AgentEvent::AgentStart => {
            desk.phase = Phase::Running;
            desk.write(&json!({ "type": "agent_start" }));
        }
        AgentEvent::AgentEnd { .. } => {
            desk.phase = Phase::Ended;
            pass_on(desk, &event);
        }
        AgentEvent::AgentSettled { aborted } => {
            desk.phase = Phase::Idle;
            desk.unsent = aborted && desk.queues != QueueTexts::default();
            pass_on(desk, &event);
        }
        AgentEvent::MessageStart { ref message } => {
            if let Message::Assistant(answer) = message.as_ref()
                && desk.tells_all(desk.bare_run)
            {
                desk.partial = Some(Partial::new(answer));
            }
            pass_on(desk, &event);
        }
        AgentEvent::MessageUpdate { usage, assistant_message_event } => {
            update(desk, usage, assistant_message_event, now);
        }
        AgentEvent::MessageEnd { .. } => {
            let rest = desk.partial.take().and_then(|mut partial| partial.flush(now));
            rest.into_iter().for_each(|record| desk.write(&record));
            pass_on(desk, &event);
        }
        AgentEvent::QueueUpdate { ref steering, ref follow_up } => {
            let next = QueueTexts { steering: steering.clone(), follow_up: follow_up.clone() };
            let before = std::mem::replace(&mut desk.queues, next);
            desk.emptied = (desk.queues == QueueTexts::default()).then_some(before);
            pass_on(desk, &event);
        }
        AgentEvent::QueueReturned { texts, .. } => returned(desk, texts),
        AgentEvent::CompactionStart { .. } => {
            desk.compacting = true;
            pass_on(desk, &event);
        }
        AgentEvent::CompactionEnd { reason, ref result, aborted, ref error_message, .. } => {
            desk.compacting = false;
            let told = compacted(desk, reason, result.as_ref(), aborted, error_message.as_deref(), &event);
            told.into_iter().for_each(|answer| answer(desk));
        }
        AgentEvent::BashExecutionUpdate { id, delta } => shell_wrote(desk, id.as_deref(), &delta),
        AgentEvent::BashEnd { id, message } => shell_ended(desk, id.as_deref(), &message),
        AgentEvent::ThinkingLevelChanged { level } => {
            desk.thinking = level;
            pass_on(desk, &event);
        }
        AgentEvent::ModelChanged { model } => desk.model = Some(model),
        AgentEvent::SessionOpened { session, .. } => {
            desk.session = session;
            changed(desk);
        }
        AgentEvent::SessionRefused { error } => {
            if let Some(change) = desk.waiting.changes.pop_front() {
                desk.refuse(&change.call, &protocol::capital(&error));
            }
        }
        AgentEvent::Inspected { ticket, found } => found_out(desk, ticket, found),
        AgentEvent::Marked { id } => {
            if let Ok(ticket) = id.parse() {
                marked(desk, ticket);
            }
        }
        AgentEvent::Stopped => {
            desk.stopped = true;
            desk.give_up("tau is shutting down");
        }
        other => pass_on(desk, &other),
    }
    rest(desk);
}

/// Another session is open: who asked for it is answered, after a fork with the text that follows.
fn changed(desk: &mut Desk) {
    let Some(Change { call, fork }) = desk.waiting.changes.pop_front() else { return };
    if fork {
        desk.waiting.forked = Some(call);
    } else {
        desk.give(&call, &json!({ "cancelled": false }));
    }
}

/// Writes what is due by now without any event.
pub fn tick(desk: &mut Desk, now: Instant) {
    let due = desk.partial.as_mut().and_then(|partial| partial.tick(now));
    due.into_iter().for_each(|record| desk.write(&record));
}

fn pass_on(desk: &mut Desk, event: &AgentEvent) {
    if let Some(record) = protocol::event(event) {
        desk.write(&record);
    }
}

/// Where everything has come to rest: aborts are answered, then what was held back starts, or what
/// an abort has left in the queues.
fn rest(desk: &mut Desk) {
    if desk.phase != Phase::Idle || !desk.waiting.compactions.is_empty() {
        return;
    }
    for call in std::mem::take(&mut desk.waiting.aborts) {
        desk.done(&call);
    }
    let unsent = std::mem::take(&mut desk.unsent);
    if !desk.waiting.changes.is_empty() {
        return;
    }
    match desk.held.pop_front() {
        // What waits in the queues goes with it.
        Some(prompt) => start(desk, prompt),
        None if unsent => {
            desk.phase = Phase::Starting;
            desk.commands.push_back(AgentCommand::SendQueued);
            desk.notice_if_unstarted();
        }
        None => {}
    }
}

fn update(desk: &mut Desk, usage: Usage, delta: Delta, now: Instant) {
    match &mut desk.partial {
        Some(partial) => {
            let records = partial.take(usage, delta, now);
            records.iter().for_each(|record| desk.write(record));
        }
        None => pass_on(desk, &AgentEvent::MessageUpdate { usage, assistant_message_event: delta }),
    }
}

/// Texts came back from the agent: of a fork, of the queues, or of a prompt that was not taken.
fn returned(desk: &mut Desk, texts: Vec<String>) {
    if let Some(call) = desk.waiting.forked.take() {
        let text = texts.into_iter().next().unwrap_or_default();
        return desk.give(&call, &json!({ "text": text, "cancelled": false }));
    }
    if let Some(call) = desk.waiting.takes.pop_front() {
        let emptied = desk.emptied.take();
        let same = emptied.filter(|queues| queues.steering.len() + queues.follow_up.len() == texts.len());
        let queues = same.unwrap_or(QueueTexts { steering: texts, follow_up: Vec::new() });
        return desk.give(&call, &queues.json());
    }
    if desk.phase == Phase::Starting && !texts.is_empty() {
        desk.phase = Phase::Idle;
    }
}

/// An answer that follows the end of a compaction.
type Answer = Box<dyn FnOnce(&mut Desk)>;

/// Tells of the end of a compaction; the answer to who asked for it comes after it.
fn compacted(
    desk: &mut Desk,
    reason: CompactionReason,
    result: Option<&CompactionResult>,
    aborted: bool,
    error: Option<&str>,
    event: &AgentEvent,
) -> Option<Answer> {
    let manual = reason == CompactionReason::Manual;
    let call = if manual { desk.waiting.compactions.pop_front() } else { None };
    let bare = call.as_ref().map_or(desk.bare_run && !manual, |call| call.is_bare());
    if let Some(result) = result
        && desk.tells_all(bare)
    {
        let mut record =
            json!({ "type": "compaction", "summary": result.summary, "tokensBefore": result.tokens_before });
        if !manual {
            protocol::set(&mut record, "auto", json!(true));
        }
        desk.write(&record);
    }
    pass_on(desk, event);
    let call = call?;
    let (result, error) = (result.cloned(), error.map(protocol::capital));
    Some(Box::new(move |desk| match (result, error) {
        (Some(result), _) => desk.give(&call, &serde_json::to_value(result).unwrap_or_default()),
        (None, _) if aborted => desk.refuse(&call, "Compaction aborted"),
        (None, error) => desk.refuse(&call, error.as_deref().unwrap_or("Compaction failed")),
    }))
}

fn shell_wrote(desk: &mut Desk, id: Option<&str>, delta: &str) {
    let mut record = json!({ "type": "bash_execution_update" });
    let call = id.and_then(|id| desk.waiting.shells.get(id));
    if let Some(id) = call.and_then(|call| call.id.clone()) {
        protocol::set(&mut record, "id", id);
    }
    protocol::set(&mut record, "delta", json!(delta));
    desk.write(&record);
}

fn shell_ended(desk: &mut Desk, id: Option<&str>, run: &BashExecution) {
    let Some(call) = id.and_then(|id| desk.waiting.shells.remove(id)) else { return };
    if desk.tells_all(call.is_bare()) {
        desk.write(&json!({ "type": "bash_end", "message": protocol::bash_message(run) }));
    }
    desk.give(&call, &protocol::bash_result(run));
}

/// Everything before a mark has taken effect and was told.
fn marked(desk: &mut Desk, ticket: u64) {
    if desk.waiting.start == Some(ticket) {
        desk.waiting.start = None;
        // What was to be sent has been taken out of the queues meanwhile.
        if desk.phase == Phase::Starting {
            desk.phase = Phase::Idle;
        }
    } else {
        found_out(desk, ticket, Ok("null".to_owned()));
    }
}

/// An answer of the agent's, or the sign that another answer waited for.
fn found_out(desk: &mut Desk, ticket: u64, found: Result<String, String>) {
    if let Some((call, file)) = desk.waiting.exports.remove(&ticket) {
        return export(desk, &call, file.as_deref(), found);
    }
    let Some((call, prepared)) = desk.waiting.tickets.remove(&ticket) else { return };
    match (prepared, found) {
        (Some(Value::Null), _) => desk.done(&call),
        (Some(data), _) => desk.give(&call, &data),
        (None, Ok(text)) if call.command == "get_state" => {
            let state = state(desk, &text);
            desk.give(&call, &state);
        }
        (None, Ok(text)) if call.command == "get_messages" => {
            let messages = messages(&text);
            desk.give(&call, &messages);
        }
        (None, Ok(text)) => desk.give_json(&call, &without_nulls(&call.command, text)),
        (None, Err(error)) => desk.refuse(&call, &error),
    }
}

/// Writes the session from where it can be read.
fn export(desk: &mut Desk, call: &Call, file: Option<&Path>, found: Result<String, String>) {
    let source = found.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
    match source.and_then(|source| desk.models.export(&source, &desk.session.cwd, file)) {
        Ok(path) => desk.give(call, &json!({ "path": path })),
        Err(error) => desk.refuse(call, &error),
    }
}

/// The agent's part of the state with what is known here. What has no value is left out.
fn state(desk: &Desk, text: &str) -> Value {
    let mut state: Value = serde_json::from_str(text).unwrap_or_default();
    if let Some(model) = &desk.model {
        protocol::set(&mut state, "model", protocol::model(model));
    }
    protocol::set(&mut state, "isStreaming", json!(desk.is_streaming()));
    protocol::set(&mut state, "isCompacting", json!(desk.compacting || !desk.waiting.compactions.is_empty()));
    drop_nulls(&mut state);
    state
}

fn messages(text: &str) -> Value {
    let mut found: Value = serde_json::from_str(text).unwrap_or_default();
    for message in found.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(fields) = message.as_object_mut() {
            fields.shift_remove("responseId");
            fields.shift_remove("durationMs");
        }
    }
    found
}

/// Statistics without the fields that have no value; other answers as they are.
fn without_nulls(command: &str, text: String) -> String {
    if command != "get_session_stats" {
        return text;
    }
    let mut stats: Value = serde_json::from_str(&text).unwrap_or_default();
    drop_nulls(&mut stats);
    stats.to_string()
}

fn drop_nulls(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
}
