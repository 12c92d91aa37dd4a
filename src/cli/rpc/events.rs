//! The handling of the agent's events: records for the client, answers to pending calls.
//!
//! Pure. Whether the older document's parts are written depends on the client that caused them.

use std::path::Path;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::answers;
use super::commands::start;
use super::partial::{self, PartialMessage};
use super::request::RpcCall;
use super::state::{PendingSessionChange, QueueTexts, RpcState, RunPhase};
use crate::protocol;
use tau_agent::AgentEvent;
use tau_protocol::command::RunCommand;
use tau_protocol::event::{
    CompactionReason, CompactionResult, Delta, QueueEvent, RunEvent, SessionEvent, ShellEvent, TaskEvent,
    TurnEvent,
};
use tau_protocol::message::{AssistantMessage, BashExecution, Message, Usage};
use tau_protocol::query::{QueryAnswer, SessionState, TypedQuery, ask};
use tau_tools::path_text;
use tau_tools::user_error::UserError;

/// Applies an event.
pub(crate) fn apply(state: &mut RpcState, event: AgentEvent, now: Instant) {
    let before = state.queues();
    state.mirror.apply(&event);
    match event {
        AgentEvent::Run(RunEvent::AgentStart) => {
            state.phase = RunPhase::Running;
            state.write(&json!({ "type": "agent_start" }));
        }
        AgentEvent::Run(RunEvent::AgentEnd { .. }) => {
            state.phase = RunPhase::Ended;
            pass_on(state, &event);
        }
        AgentEvent::Run(RunEvent::AgentSettled { aborted }) => {
            state.phase = RunPhase::Idle;
            state.unsent = aborted && before != QueueTexts::default();
            pass_on(state, &event);
        }
        AgentEvent::Turn(TurnEvent::MessageStart { ref message }) => {
            let answer = match message.as_ref() {
                Message::Assistant(answer) if state.sends_all(state.bare_run) => Some(answer.clone()),
                _ => None,
            };
            pass_on(state, &event);
            answer.iter().for_each(|answer| begin_partial(state, answer));
        }
        AgentEvent::Turn(TurnEvent::MessageUpdate { usage, assistant_message_event }) => {
            update(state, usage, assistant_message_event, now);
        }
        AgentEvent::Turn(TurnEvent::MessageEnd { ref message }) => {
            end_partial(state, message, now);
            pass_on(state, &event);
        }
        AgentEvent::Queue(QueueEvent::QueueUpdate { .. }) => {
            state.emptied = (state.queues() == QueueTexts::default()).then_some(before);
            pass_on(state, &event);
        }
        AgentEvent::Queue(QueueEvent::QueueReturned { texts, .. }) => on_queue_returned(state, texts),
        AgentEvent::Run(RunEvent::CompactionEnd {
            reason, ref result, aborted, ref error_message, ..
        }) => {
            let answer = on_compaction_end(
                state,
                reason,
                result.as_deref(),
                aborted,
                error_message.as_deref(),
                &event,
            );
            answer.into_iter().for_each(|answer| answer(state));
        }
        AgentEvent::Shell(ShellEvent::BashExecutionUpdate { id, delta }) => {
            on_bash_output(state, id.as_deref(), &delta);
        }
        AgentEvent::Shell(ShellEvent::BashEnd { id, message }) => on_bash_end(state, id.as_deref(), &message),
        AgentEvent::Session(event) => of_session(state, event),
        AgentEvent::Task(TaskEvent::Answered { ticket, answer }) => on_answer(state, ticket, answer),
        AgentEvent::Task(TaskEvent::Stopped) => {
            state.stopped = true;
            state.give_up("tau is shutting down");
        }
        other => pass_on(state, &other),
    }
    rest(state);
}

/// An event about the session.
fn of_session(state: &mut RpcState, event: SessionEvent) {
    match event {
        SessionEvent::SessionOpened { session, .. } => {
            let commands = state.host.enter_directory(&session.cwd);
            state.commands.extend(commands);
            answer_session_change(state);
        }
        SessionEvent::SessionRefused { error } => {
            if let Some(change) = state.waiting.changes.pop_front() {
                // The next change drops them, if there is one.
                let held = state.waiting.changes.front_mut().map_or(&mut state.held, |next| &mut next.held);
                change.held.into_iter().rev().for_each(|prompt| held.push_front(prompt));
                state.refuse(&change.call, &protocol::capital(&error));
            }
        }
        SessionEvent::FilesRestored { report, error } => match (state.waiting.restores.pop_front(), error) {
            (Some(call), Some(error)) => state.refuse(&call, &protocol::capital(&error)),
            (Some(call), None) => state.give(&call, &json!(report)),
            (None, _) => {}
        },
        other => pass_on(state, &other.into()),
    }
}

/// Starts an answer for a client of the older document.
fn begin_partial(state: &mut RpcState, answer: &AssistantMessage) {
    let partial = PartialMessage::new(answer);
    state.write(&partial.start_record());
    state.partial = Some(partial);
}

/// Ends the current answer for a client of the older document.
fn end_partial(state: &mut RpcState, message: &Message, now: Instant) {
    let Some(mut partial) = state.partial.take() else { return };
    partial.flush(now).into_iter().for_each(|record| state.write(&record));
    if let Message::Assistant(answer) = message {
        state.write(&partial::end_record(answer));
    }
}

/// Answers the call that opened another session, after a fork with the text that follows.
fn answer_session_change(state: &mut RpcState) {
    let Some(PendingSessionChange { call, fork, .. }) = state.waiting.changes.pop_front() else { return };
    if fork {
        state.waiting.forked = Some(call);
    } else {
        state.give(&call, &json!({ "cancelled": false }));
    }
}

/// Writes due records, without an event.
pub fn tick(state: &mut RpcState, now: Instant) {
    let due = state.partial.as_mut().and_then(|partial| partial.tick(now));
    due.into_iter().for_each(|record| state.write(&record));
}

fn pass_on(state: &mut RpcState, event: &AgentEvent) {
    if let Some(record) = protocol::event(event) {
        state.write(&record);
    }
}

/// Continues once nothing is running: answers aborts, then starts a held prompt, or the messages that an
/// abort has left in the queues.
fn rest(state: &mut RpcState) {
    if state.phase != RunPhase::Idle || !state.waiting.compactions.is_empty() {
        return;
    }
    for call in std::mem::take(&mut state.waiting.aborts) {
        state.acknowledge(&call);
    }
    let unsent = std::mem::take(&mut state.unsent);
    if !state.waiting.changes.is_empty() {
        return;
    }
    match state.held.pop_front() {
        // Queued messages go with it.
        Some(prompt) => start(state, prompt),
        None if unsent => {
            state.phase = RunPhase::Starting;
            state.send(RunCommand::SendQueued);
            state.detect_unstarted_run();
        }
        None => {}
    }
}

fn update(state: &mut RpcState, usage: Usage, delta: Delta, now: Instant) {
    match &mut state.partial {
        Some(partial) => {
            let records = partial.take(usage, delta, now);
            records.iter().for_each(|record| state.write(record));
        }
        None => pass_on(
            state,
            &AgentEvent::Turn(TurnEvent::MessageUpdate { usage, assistant_message_event: delta }),
        ),
    }
}

/// Handles texts that the agent returned: from a fork, from the queues, or from a refused prompt.
fn on_queue_returned(state: &mut RpcState, texts: Vec<String>) {
    if let Some(call) = state.waiting.forked.take() {
        let text = texts.into_iter().next().unwrap_or_default();
        return state.give(&call, &json!({ "text": text, "cancelled": false }));
    }
    if let Some((call, held)) = state.waiting.takes.pop_front() {
        let emptied = state.emptied.take();
        let same = emptied.filter(|queues| queues.steering.len() + queues.follow_up.len() == texts.len());
        let mut queues = same.unwrap_or(QueueTexts { steering: texts, follow_up: Vec::new() });
        queues.follow_up.splice(0..0, held);
        return state.give(&call, &queues.json());
    }
    if state.phase == RunPhase::Starting && !texts.is_empty() {
        state.phase = RunPhase::Idle;
    }
}

/// An answer that follows the end of a compaction.
type Answer = Box<dyn FnOnce(&mut RpcState)>;

/// Reports the end of a compaction; the answer to its call comes after it.
fn on_compaction_end(
    state: &mut RpcState,
    reason: CompactionReason,
    result: Option<&CompactionResult>,
    aborted: bool,
    error: Option<&str>,
    event: &AgentEvent,
) -> Option<Answer> {
    let manual = reason == CompactionReason::Manual;
    let call = if manual { state.waiting.compactions.pop_front() } else { None };
    let bare = call.as_ref().map_or(state.bare_run && !manual, |call| call.is_bare());
    if let Some(result) = result
        && state.sends_all(bare)
    {
        let mut record =
            json!({ "type": "compaction", "summary": result.summary, "tokensBefore": result.tokens_before });
        if !manual {
            protocol::set(&mut record, "auto", json!(true));
        }
        state.write(&record);
    }
    pass_on(state, event);
    let call = call?;
    let (result, error) = (result.cloned(), error.map(protocol::capital));
    Some(Box::new(move |state| match (result, error) {
        (Some(result), _) => state.give(&call, &serde_json::to_value(result).unwrap_or_default()),
        (None, _) if aborted => state.refuse(&call, "Compaction aborted"),
        (None, error) => state.refuse(&call, error.as_deref().unwrap_or("Compaction failed")),
    }))
}

fn on_bash_output(state: &mut RpcState, id: Option<&str>, delta: &str) {
    let mut record = json!({ "type": "bash_execution_update" });
    let call = id.and_then(|id| state.waiting.shells.get(id));
    if let Some(id) = call.and_then(|call| call.id.clone()) {
        protocol::set(&mut record, "id", id);
    }
    protocol::set(&mut record, "delta", json!(delta));
    state.write(&record);
}

fn on_bash_end(state: &mut RpcState, id: Option<&str>, run: &BashExecution) {
    let Some(call) = id.and_then(|id| state.waiting.shells.remove(id)) else { return };
    if state.sends_all(call.is_bare()) {
        state.write(&json!({ "type": "bash_end", "message": protocol::bash_message(run) }));
    }
    state.give(&call, &protocol::bash_result(run));
}

/// Handles the answer to a query, or the confirmation that everything before it has taken effect.
fn on_answer(state: &mut RpcState, ticket: u64, answer: Result<QueryAnswer, UserError>) {
    if state.waiting.start == Some(ticket) {
        state.waiting.start = None;
        // The messages have been taken out of the queues in the meantime.
        if state.phase == RunPhase::Starting {
            state.phase = RunPhase::Idle;
        }
        return;
    }
    if let Some((call, file)) = state.waiting.exports.remove(&ticket) {
        return export(state, &call, file.as_deref(), answer);
    }
    let Some((call, prepared)) = state.waiting.tickets.remove(&ticket) else { return };
    match (prepared, answer) {
        (Some(Value::Null), _) => state.acknowledge(&call),
        (Some(data), _) => state.give(&call, &data),
        (None, Ok(QueryAnswer::State(session))) => {
            let json = state_with(state, &session);
            state.give(&call, &json);
        }
        (None, Ok(answer)) => state.give_json(&call, &answers::text(&call.command, &answer)),
        (None, Err(error)) => state.refuse(&call, &error),
    }
}

/// Exports the session from its location.
fn export(state: &mut RpcState, call: &RpcCall, file: Option<&Path>, answer: Result<QueryAnswer, UserError>) {
    let source = answer.and_then(ask::Source::take);
    match source.and_then(|source| state.host.export(&source, &state.mirror.session.cwd, file)) {
        Ok(path) => state.give(call, &json!({ "path": path_text::text(&path) })),
        Err(error) => state.refuse(call, &error),
    }
}

/// The agent's part of the state with the facts known here. Fields without a value are left out.
fn state_with(state: &RpcState, session: &SessionState) -> Value {
    let mut json = answers::state(session);
    if let Some(model) = &state.mirror.model {
        protocol::set(&mut json, "model", protocol::model(model));
    }
    protocol::set(&mut json, "isStreaming", json!(state.is_streaming()));
    let compacting = state.mirror.compacting || !state.waiting.compactions.is_empty();
    protocol::set(&mut json, "isCompacting", json!(compacting));
    if let Some(goal) = &state.mirror.goal {
        protocol::set(&mut json, "goal", json!(goal));
    }
    answers::drop_nulls(&mut json);
    json
}
