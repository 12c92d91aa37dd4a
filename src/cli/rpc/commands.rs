//! What each command does: an answer at once, or a command to the agent and somebody who waits.
//!
//! Pure. Commands take effect in the order in which they come; their answers may not.

use std::sync::Arc;

use serde_json::{Value, json};

use super::request::{Call, Command, Request};
use super::state::{Change, Desk, Held, Phase};
use crate::agent::AgentCommand;
use crate::agent::protocol::command::{Queue, SessionCommand, Tuning};
use crate::agent::protocol::message::Block;
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::cli::protocol;

/// Why a prompt during a run is refused.
const BUSY: &str = "Agent is already processing. Set streamingBehavior to \"steer\" or \"followUp\" to queue \
                    the message.";

/// Carries a command out, or refuses it.
pub fn carry(desk: &mut Desk, request: Request) {
    let Request { call, command } = request;
    match command {
        Err(error) => desk.refuse(&call, &error),
        Ok(command) => obey(desk, call, command),
    }
}

fn obey(desk: &mut Desk, call: Call, command: Command) {
    match command {
        Command::Prompt { text, images, streaming } => prompt(desk, call, text, images, streaming),
        Command::Enqueue { text, images, queue } => enqueue(desk, call, text, images, queue),
        Command::Abort => abort(desk, call),
        Command::ClearQueue => {
            desk.waiting.takes.push_back(call);
            desk.commands.push_back(AgentCommand::TakeQueue);
        }
        Command::Query(query) => desk.ask(call, query),
        // Neither templates nor skills nor extensions are there to be listed.
        Command::Commands => desk.give(&call, &json!({ "commands": [] })),
        Command::SetModel { provider, id } => set_model(desk, call, &provider, &id),
        Command::CycleModel => cycle_model(desk, call),
        Command::Models => {
            let models: Vec<Value> =
                desk.models.available().iter().map(|model| protocol::model(model)).collect();
            desk.give(&call, &json!({ "models": models }));
        }
        Command::SetThinking(level) => {
            think(desk, level);
            desk.answer_after(call, Value::Null);
        }
        Command::CycleThinking => cycle_thinking(desk, call),
        Command::ThinkingLevels => {
            let levels = levels(desk);
            desk.give(&call, &json!({ "levels": levels }));
        }
        Command::SetQueueMode { queue, mode } => {
            send(desk, &call, AgentCommand::SetQueueMode { queue, mode });
        }
        Command::AutoCompaction { enabled } => tune(desk, &call, Tuning::AutoCompaction { enabled }),
        Command::AutoRetry { enabled } => tune(desk, &call, Tuning::AutoRetry { enabled }),
        Command::AbortRetry => send(desk, &call, AgentCommand::AbortRetry),
        Command::Compact { instructions } => {
            desk.waiting.compactions.push_back(call);
            desk.commands.push_back(AgentCommand::Compact { instructions });
        }
        Command::Bash { command, hidden } => {
            let id = Some(desk.shell(call));
            desk.commands.push_back(AgentCommand::Bash {
                id,
                command,
                exclude_from_context: hidden,
                size: None,
            });
        }
        Command::AbortBash => send(desk, &call, AgentCommand::AbortBash),
        Command::Session(command) => change(desk, call, command),
        Command::Name(name) => {
            desk.commands.push_back(AgentCommand::Session(SessionCommand::Name { name }));
            desk.answer_after(call, Value::Null);
        }
        Command::Export { file } => desk.export(call, file),
        Command::Answer { id, answer } => desk.commands.push_back(AgentCommand::Answer { id, answer }),
        Command::Nothing => {}
    }
}

fn send(desk: &mut Desk, call: &Call, command: AgentCommand) {
    desk.commands.push_back(command);
    desk.done(call);
}

fn tune(desk: &mut Desk, call: &Call, tuning: Tuning) {
    send(desk, call, AgentCommand::Tune(tuning));
}

fn prompt(desk: &mut Desk, call: Call, text: String, images: Vec<Block>, streaming: Option<Queue>) {
    if let Err(error) = sendable(desk, &text, &images) {
        return desk.refuse(&call, &error);
    }
    let bare = call.is_bare();
    match (desk.phase, streaming) {
        (Phase::Starting | Phase::Running, None) => desk.refuse(&call, BUSY),
        (Phase::Starting | Phase::Running, Some(queue)) => enqueue(desk, call, text, images, queue),
        (Phase::Idle | Phase::Ended, _) if desk.is_busy() => {
            desk.held.push_back(Held { text, images, bare });
            desk.give(&call, &json!({ "disposition": "queued" }));
        }
        (Phase::Idle | Phase::Ended, _) => {
            start(desk, Held { text, images, bare });
            desk.give(&call, &json!({ "disposition": "started" }));
        }
    }
}

/// Starts a run.
pub fn start(desk: &mut Desk, prompt: Held) {
    let Held { text, images, bare } = prompt;
    desk.phase = Phase::Starting;
    desk.bare_run = bare;
    desk.commands.push_back(AgentCommand::Prompt { text, images, streaming: Queue::Steer });
}

fn sendable(desk: &Desk, text: &str, images: &[Block]) -> Result<(), String> {
    if text.trim().is_empty() && images.is_empty() {
        return Err("The message is empty: give a message or images".into());
    }
    match &desk.model {
        None => Err("No model selected. Use set_model, or start tau with --model".into()),
        Some(model) if !desk.models.can_use(model) => Err(no_key(&model.provider)),
        Some(_) => Ok(()),
    }
}

fn no_key(provider: &str) -> String {
    format!("No API key found for {provider}. Set its environment variable, or start tau with --api-key")
}

/// The agent tells of the queue before the answer is written.
fn enqueue(desk: &mut Desk, call: Call, text: String, images: Vec<Block>, queue: Queue) {
    if text.trim().is_empty() && images.is_empty() {
        return desk.refuse(&call, "The message is empty: give a message or images");
    }
    desk.commands.push_back(AgentCommand::Enqueue { text, images, queue });
    desk.answer_after(call, json!({ "disposition": "queued" }));
}

/// The answer comes when everything has come to rest.
fn abort(desk: &mut Desk, call: Call) {
    desk.commands.push_back(AgentCommand::Abort);
    if desk.phase == Phase::Idle && desk.waiting.compactions.is_empty() {
        desk.done(&call);
    } else {
        desk.waiting.aborts.push(call);
    }
}

/// The agent tells what follows from the model before the answer is written.
fn set_model(desk: &mut Desk, call: Call, provider: &str, id: &str) {
    let Some(model) = desk.models.find(provider, id) else {
        return desk.refuse(&call, &format!("Model not found: {provider}/{id}"));
    };
    if !desk.models.can_use(&model) {
        return desk.refuse(&call, &no_key(provider));
    }
    let data = protocol::model(&model);
    choose(desk, model);
    desk.answer_after(call, data);
}

fn choose(desk: &mut Desk, model: Arc<Model>) {
    desk.model = Some(model.clone());
    desk.thinking = model.nearest(desk.thinking);
    desk.commands.push_back(AgentCommand::SetModel { model });
}

fn cycle_model(desk: &mut Desk, call: Call) {
    let models = desk.models.available();
    let now = desk.model.as_ref().map(|model| model.reference());
    let at = models.iter().position(|model| Some(model.reference()) == now);
    let next = at.map_or(0, |at| (at + 1) % models.len().max(1));
    let next = models.get(next).filter(|next| Some(next.reference()) != now).cloned();
    let Some(model) = next else { return desk.give(&call, &Value::Null) };
    let told = protocol::model(&model);
    choose(desk, model);
    let data = json!({ "model": told, "thinkingLevel": desk.thinking, "isScoped": false });
    desk.answer_after(call, data);
}

fn levels(desk: &Desk) -> Vec<ThinkingLevel> {
    desk.model.as_ref().map_or_else(|| vec![ThinkingLevel::Off], |model| model.levels())
}

/// Asks for a level; the nearest that the model has is the one in force.
fn think(desk: &mut Desk, level: ThinkingLevel) {
    desk.thinking = desk.model.as_ref().map_or(level, |model| model.nearest(level));
    desk.commands.push_back(AgentCommand::SetThinking { level: desk.thinking });
}

fn cycle_thinking(desk: &mut Desk, call: Call) {
    let levels = levels(desk);
    if levels.iter().all(|level| *level == ThinkingLevel::Off) {
        return desk.give(&call, &Value::Null);
    }
    let at = levels.iter().position(|level| *level == desk.thinking);
    let next = at.map_or(0, |at| (at + 1) % levels.len().max(1));
    let level = levels.get(next).copied().unwrap_or_default();
    think(desk, level);
    desk.answer_after(call, json!({ "level": level }));
}

/// What was to be said in this session is dropped with it.
fn change(desk: &mut Desk, call: Call, command: SessionCommand) {
    desk.held.clear();
    let fork = matches!(command, SessionCommand::Fork { .. });
    desk.waiting.changes.push_back(Change { call, fork });
    desk.commands.push_back(AgentCommand::Session(command));
}
