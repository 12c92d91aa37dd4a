//! What each event of the agent becomes: records for the client, answers to those that wait.
//!
//! Pure. Which parts of the older document are told is decided by who caused them.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answers;
use super::commands::start;
use super::partial::Partial;
use super::request::Call;
use super::state::{Change, Desk, Phase, QueueTexts};
use crate::agent::protocol::event::{CompactionReason, CompactionResult, Delta};
use crate::agent::protocol::message::{BashExecution, Message, Usage};
use crate::agent::protocol::query::{QueryAnswer, SessionState};
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
        AgentEvent::Answered { ticket, answer } => answered(desk, ticket, answer),
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

/// The agent has answered a query, or everything before it has taken effect.
fn answered(desk: &mut Desk, ticket: u64, answer: Result<QueryAnswer, String>) {
    if desk.waiting.start == Some(ticket) {
        desk.waiting.start = None;
        // What was to be sent has been taken out of the queues meanwhile.
        if desk.phase == Phase::Starting {
            desk.phase = Phase::Idle;
        }
        return;
    }
    if let Some((call, file)) = desk.waiting.exports.remove(&ticket) {
        return export(desk, &call, file.as_deref(), answer);
    }
    let Some((call, prepared)) = desk.waiting.tickets.remove(&ticket) else { return };
    match (prepared, answer) {
        (Some(Value::Null), _) => desk.done(&call),
        (Some(data), _) => desk.give(&call, &data),
        (None, Ok(QueryAnswer::State(state))) => {
            let state = state_with(desk, &state);
            desk.give(&call, &state);
        }
        (None, Ok(answer)) => desk.give_json(&call, &answers::text(&call.command, &answer)),
        (None, Err(error)) => desk.refuse(&call, &error),
    }
}

/// Writes the session from where it can be read.
fn export(desk: &mut Desk, call: &Call, file: Option<&Path>, answer: Result<QueryAnswer, String>) {
    let source = match answer {
        Ok(QueryAnswer::Source(source)) => Ok(source),
        Ok(_) => return,
        Err(error) => Err(error),
    };
    match source.and_then(|source| desk.models.export(&source, &desk.session.cwd, file)) {
        Ok(path) => desk.give(call, &json!({ "path": path })),
        Err(error) => desk.refuse(call, &error),
    }
}

/// The agent's part of the state with what is known here. What has no value is left out.
fn state_with(desk: &Desk, state: &SessionState) -> Value {
    let mut state = answers::state(state);
    if let Some(model) = &desk.model {
        protocol::set(&mut state, "model", protocol::model(model));
    }
    protocol::set(&mut state, "isStreaming", json!(desk.is_streaming()));
    protocol::set(&mut state, "isCompacting", json!(desk.compacting || !desk.waiting.compactions.is_empty()));
    answers::drop_nulls(&mut state);
    state
}
