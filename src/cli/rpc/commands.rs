//! The handling of commands: an answer at once, or a command to the agent and a pending call.
//!
//! Pure. Commands take effect in the order of their arrival; their answers may not.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::{RpcCall, RpcCommand, RpcRequest};
use super::state::{HeldPrompt, PendingSessionChange, RpcState, RunPhase};
use crate::protocol;
use tau_protocol::command::AgentCommand;
use tau_protocol::command::{
    QuestionCommand, Queue, QueueCommand, RunCommand, SessionChange, SessionCommand, SettingsCommand,
    ShellCommand, TaskCommand, Tuning,
};
use tau_protocol::goal::Goal;
use tau_protocol::message::UserMessage;
use tau_protocol::model::{Model, ThinkingLevel};
use tau_tools::user_error::UserError;

/// The reason for refusing a prompt during a run.
const BUSY: &str = "Agent is already processing. Set streamingBehavior to \"steer\" or \"followUp\" to queue \
                    the message.";

/// Runs a command, or refuses it.
pub(crate) fn apply(state: &mut RpcState, request: RpcRequest) {
    let RpcRequest { call, command } = request;
    match command {
        Err(error) => state.refuse(&call, &error),
        Ok(command) => run_command(state, call, command),
    }
}

fn run_command(state: &mut RpcState, call: RpcCall, command: RpcCommand) {
    match command {
        RpcCommand::Prompt { message, streaming } => prompt(state, call, message, streaming),
        RpcCommand::Enqueue { message, queue } => enqueue(state, call, message, queue),
        RpcCommand::Abort => abort(state, call),
        RpcCommand::ClearQueue => {
            let held = state.take_held_prompts();
            state.waiting.takes.push_back((call, held));
            state.send(QueueCommand::TakeQueue);
        }
        RpcCommand::Query(query) => state.ask(call, query),
        // tau has no templates, skills or extensions to list.
        RpcCommand::SetModel { provider, id } => set_model(state, call, &provider, &id),
        RpcCommand::CycleModel => cycle_model(state, call),
        RpcCommand::Models => {
            let models: Vec<Value> =
                state.host.available().iter().map(|model| protocol::model(model)).collect();
            state.give(&call, &json!({ "models": models }));
        }
        RpcCommand::SetThinking(level) => {
            think(state, level);
            state.answer_after(call, Value::Null);
        }
        RpcCommand::CycleThinking => cycle_thinking(state, call),
        RpcCommand::ThinkingLevels => {
            let levels = levels(state);
            state.give(&call, &json!({ "levels": levels }));
        }
        RpcCommand::SetQueueMode { queue, mode } => {
            send(state, &call, QueueCommand::SetQueueMode { queue, mode });
        }
        RpcCommand::AutoCompaction { enabled } => tune(state, &call, Tuning::AutoCompaction { enabled }),
        RpcCommand::AutoRetry { enabled } => tune(state, &call, Tuning::AutoRetry { enabled }),
        RpcCommand::HelperEvents { enabled } => tune(state, &call, Tuning::HelperEvents { enabled }),
        RpcCommand::AskUser { enabled } => tune(state, &call, Tuning::AskUser { enabled }),
        RpcCommand::AnswerApproval { id, answer } => {
            send(state, &call, QuestionCommand::AnswerApproval { id, answer });
        }
        RpcCommand::SetPermissionMode(mode) => match mode.within(state.host.mode_ceiling()) {
            Ok(mode) => {
                send(state, &call, SettingsCommand::SetPermissionMode { mode });
            }
            Err(why) => state.refuse(&call, &why),
        },
        RpcCommand::DropPlan => send(state, &call, SessionCommand::DropPlan),
        RpcCommand::SetGoal(_) | RpcCommand::SideQuestion(_) | RpcCommand::PursueGoal => {
            beside(state, call, command);
        }
        RpcCommand::ChangeRules(change) => state.change_rules(call, change),
        RpcCommand::AbortRetry => send(state, &call, RunCommand::AbortRetry),
        RpcCommand::Compact { instructions } => {
            state.waiting.compactions.push_back(call);
            state.send(RunCommand::Compact { instructions });
        }
        RpcCommand::Bash { command, hidden } => bash(state, call, command, hidden),
        RpcCommand::Restore(command) => {
            state.waiting.restores.push_back(call);
            state.send(command);
        }
        RpcCommand::AbortBash => send(state, &call, ShellCommand::AbortBash),
        RpcCommand::Jobs(command) => change_jobs(state, call, command),
        RpcCommand::Session(command) => change(state, call, command),
        RpcCommand::Name(name) => {
            state.send(SessionCommand::Change(SessionChange::Name { name }));
            state.answer_after(call, Value::Null);
        }
        RpcCommand::Export { file } => state.export(call, file),
        RpcCommand::Answer { id, answer } => {
            state.mirror.remove_question(&id);
            state.send(QuestionCommand::Answer { id, answer });
        }
        RpcCommand::Nothing => {}
    }
}

fn send(state: &mut RpcState, call: &RpcCall, command: impl Into<AgentCommand>) {
    state.send(command);
    state.acknowledge(call);
}

fn tune(state: &mut RpcState, call: &RpcCall, tuning: Tuning) {
    send(state, call, SettingsCommand::Tune(tuning));
}

fn prompt(state: &mut RpcState, call: RpcCall, message: UserMessage, streaming: Option<Queue>) {
    if let Err(error) = sendable(state, &message) {
        return state.refuse(&call, &error);
    }
    let bare = call.is_bare();
    match (state.phase, streaming) {
        (RunPhase::Starting | RunPhase::Running, None) => state.refuse(&call, BUSY),
        (RunPhase::Starting | RunPhase::Running, Some(queue)) => enqueue(state, call, message, queue),
        (RunPhase::Idle | RunPhase::Ended, _) if state.is_busy() => {
            state.held.push_back(HeldPrompt { message, bare });
            state.give(&call, &json!({ "disposition": "queued" }));
        }
        (RunPhase::Idle | RunPhase::Ended, _) => {
            start(state, HeldPrompt { message, bare });
            state.give(&call, &json!({ "disposition": "started" }));
        }
    }
}

/// Changes background jobs.
fn change_jobs(state: &mut RpcState, call: RpcCall, command: ShellCommand) {
    match command {
        ShellCommand::StopJob { job } if !state.mirror.jobs.iter().any(|known| known.id == job) => {
            state.refuse(&call, &format!("There is no job {job}"));
        }
        command => send(state, &call, command),
    }
}

/// Starts a run.
pub fn start(state: &mut RpcState, prompt: HeldPrompt) {
    let HeldPrompt { message, bare } = prompt;
    state.phase = RunPhase::Starting;
    state.bare_run = bare;
    state.send(RunCommand::PromptMessage { message, streaming: Queue::Steer });
}

/// Runs a command of the user.
fn bash(state: &mut RpcState, call: RpcCall, command: String, hidden: bool) {
    let id = Some(state.shell(call));
    state.send(ShellCommand::Bash {
        id,
        command,
        exclude_from_context: hidden,
        size: None,
        without_sandbox: false,
    });
}

/// The goal, and questions beside the run.
fn beside(state: &mut RpcState, call: RpcCall, command: RpcCommand) {
    match command {
        RpcCommand::SetGoal(goal) => {
            let order = goal.clone();
            state.mirror.goal = order.map(|order| Goal::new(order.command, order.limits.unwrap_or_default()));
            send(state, &call, SessionCommand::SetGoal { goal });
        }
        RpcCommand::SideQuestion(question) => {
            let id = match &call.id {
                Some(Value::String(id)) => id.clone(),
                id => id.clone().unwrap_or_default().to_string(),
            };
            send(state, &call, TaskCommand::SideQuestion { id, question });
        }
        _ => pursue_goal(state, call),
    }
}

/// Starts a run that works until the goal is reached, or has the current one do so.
fn pursue_goal(state: &mut RpcState, call: RpcCall) {
    if let Err(error) = usable_model(state) {
        return state.refuse(&call, &error);
    }
    if state.mirror.goal.is_none() {
        return state.refuse(&call, "This session has no goal. Set one with set_goal");
    }
    send(state, &call, RunCommand::PursueGoal);
}

fn sendable(state: &RpcState, message: &UserMessage) -> Result<(), UserError> {
    if message.is_blank() {
        return Err("The message is empty: give a message or images".into());
    }
    usable_model(state)
}

fn usable_model(state: &RpcState) -> Result<(), UserError> {
    match &state.mirror.model {
        None => Err("No model selected. Use set_model, or start tau with --model".into()),
        Some(model) if !state.host.can_use(model) => Err(no_key(&model.provider).into()),
        Some(_) => Ok(()),
    }
}

fn no_key(provider: &str) -> String {
    format!("No API key found for {provider}. Set its environment variable, or start tau with --api-key")
}

/// The queue update is written before the answer.
fn enqueue(state: &mut RpcState, call: RpcCall, message: UserMessage, queue: Queue) {
    if message.is_blank() {
        return state.refuse(&call, "The message is empty: give a message or images");
    }
    state.send(QueueCommand::EnqueueMessage { message, queue });
    state.answer_after(call, json!({ "disposition": "queued" }));
}

/// The answer comes once nothing is running.
fn abort(state: &mut RpcState, call: RpcCall) {
    state.send(RunCommand::Abort);
    if state.phase == RunPhase::Idle && state.waiting.compactions.is_empty() {
        state.acknowledge(&call);
    } else {
        state.waiting.aborts.push(call);
    }
}

/// The consequences of the model are written before the answer.
fn set_model(state: &mut RpcState, call: RpcCall, provider: &str, id: &str) {
    let Some(model) = state.host.find(provider, id) else {
        return state.refuse(&call, &format!("Model not found: {provider}/{id}"));
    };
    if !state.host.can_use(&model) {
        return state.refuse(&call, &no_key(provider));
    }
    let data = protocol::model(&model);
    choose(state, model);
    state.answer_after(call, data);
}

fn choose(state: &mut RpcState, model: Arc<Model>) {
    state.mirror.model = Some(model.clone());
    state.mirror.thinking = model.nearest(state.mirror.thinking);
    state.send(SettingsCommand::SetModel { model });
}

fn cycle_model(state: &mut RpcState, call: RpcCall) {
    let models = state.host.available();
    let now = state.mirror.model.as_ref().map(|model| model.reference());
    let at = models.iter().position(|model| Some(model.reference()) == now);
    let next = at.map_or(0, |at| (at + 1) % models.len().max(1));
    let next = models.get(next).filter(|next| Some(next.reference()) != now).cloned();
    let Some(model) = next else { return state.give(&call, &Value::Null) };
    let shown = protocol::model(&model);
    choose(state, model);
    let data = json!({ "model": shown, "thinkingLevel": state.mirror.thinking, "isScoped": false });
    state.answer_after(call, data);
}

fn levels(state: &RpcState) -> Vec<ThinkingLevel> {
    state.mirror.model.as_ref().map_or_else(|| vec![ThinkingLevel::Off], |model| model.levels())
}

/// Requests a level; the model's nearest level applies.
fn think(state: &mut RpcState, level: ThinkingLevel) {
    state.mirror.thinking = state.mirror.model.as_ref().map_or(level, |model| model.nearest(level));
    state.send(SettingsCommand::SetThinking { level: state.mirror.thinking });
}

fn cycle_thinking(state: &mut RpcState, call: RpcCall) {
    let levels = levels(state);
    if levels.iter().all(|level| *level == ThinkingLevel::Off) {
        return state.give(&call, &Value::Null);
    }
    let at = levels.iter().position(|level| *level == state.mirror.thinking);
    let next = at.map_or(0, |at| (at + 1) % levels.len().max(1));
    let level = levels.get(next).copied().unwrap_or_default();
    think(state, level);
    state.answer_after(call, json!({ "level": level }));
}

/// Pending prompts of this session are dropped with it, once it changes.
fn change(state: &mut RpcState, call: RpcCall, command: SessionChange) {
    let fork = matches!(command, SessionChange::Fork { .. });
    let held = std::mem::take(&mut state.held);
    state.waiting.changes.push_back(PendingSessionChange { call, fork, held });
    state.send(SessionCommand::Change(command));
}
