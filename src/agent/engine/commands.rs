//! What each command does: at once, or noted for when the run has ended.
//!
//! Acting never awaits, so commands work while anything else is going on. What takes time
//! (a run, a change of session) waits in `Agent::later` and is begun by [`begin`].

use std::sync::Arc;

use super::queries::inspect;
use super::shell::{Happening, Order};
use super::task::{Agent, Phase, now};
use super::{branch, compact, open_session, run, session_commands};
use crate::agent::context::request;
use crate::agent::protocol::command::{AgentCommand, Queue, SessionCommand, Tuning, When};
use crate::agent::protocol::event::{AgentEvent, CompactionReason, NoticeLevel};
use crate::agent::protocol::message::{Block, Message, UserContent, UserMessage};
use crate::agent::protocol::model::{Model, ThinkingLevel};
use crate::tools::process::pty::{PtyInput, WindowSize};

/// Acts on a command.
pub(crate) fn act(agent: &mut Agent, command: AgentCommand) {
    match command {
        AgentCommand::Abort => abort(agent),
        AgentCommand::AbortRetry => agent.give_up.cancel(),
        AgentCommand::AbortBash => agent.shells.cancel(),
        AgentCommand::BashInput { id, data } => {
            agent.shells.input(id.as_deref(), PtyInput::Typed(data.into_bytes()));
        }
        AgentCommand::BashResize { id, size } => {
            agent.shells.input(id.as_deref(), PtyInput::Resized(window(size)));
        }
        AgentCommand::TakeQueue => take_queue(agent),
        AgentCommand::Shutdown => agent.shut(),
        AgentCommand::Answer { id, answer } => agent.questions.answer(&id, answer),
        AgentCommand::Mark { id, when: When::Idle } => agent.marks.push(id),
        // What follows a command that waits must wait too, or it would act on the wrong session.
        command if blocked(agent) => agent.later.push_back(command),
        AgentCommand::Mark { .. } if !passed(agent) => agent.later.push_back(command),
        command => obey(agent, command),
    }
}

/// Acts on a command whose turn has come.
fn obey(agent: &mut Agent, command: AgentCommand) {
    match command {
        AgentCommand::Prompt { text, images, streaming } => prompt(agent, text, images, streaming),
        AgentCommand::Mark { id, .. } => agent.emit(AgentEvent::Marked { id }),
        AgentCommand::Enqueue { text, images, queue } => enqueue(agent, text, images, queue),
        AgentCommand::ClearQueue { queue } => {
            agent.queues.clear(queue);
            tell_queues(agent);
        }
        AgentCommand::SetQueueMode { queue, mode } => agent.queues.set_mode(queue, mode),
        AgentCommand::SetSteerMode { mode } => agent.config.conduct.steer = mode,
        AgentCommand::SetBudgets { budgets } => agent.config.conduct.budgets = budgets,
        AgentCommand::SetSystem { text } => agent.config.system = text.into(),
        AgentCommand::SetTools { names } => set_tools(agent, &names),
        AgentCommand::SetLimits { limits } => agent.config.limits = limits,
        AgentCommand::AppendMessage { message } => append(agent, message),
        AgentCommand::Continue if agent.phase == Phase::Running => {
            agent.notice(NoticeLevel::Info, "the agent is working already", None);
        }
        AgentCommand::SendQueued if agent.phase == Phase::Running => {}
        AgentCommand::Continue | AgentCommand::SendQueued => agent.later.push_back(command),
        AgentCommand::Tune(tuning) => tune(agent, tuning),
        AgentCommand::Inspect { ticket, wish } => {
            agent.complete();
            let found = inspect(agent, &wish);
            agent.emit(AgentEvent::Inspected { ticket, found });
        }
        AgentCommand::SetModel { model } => set_model(agent, model),
        AgentCommand::SetThinking { level } => set_thinking(agent, level),
        AgentCommand::Bash { id, command, exclude_from_context, size } => {
            start_shell(agent, Order { id, command, hidden: exclude_from_context, window: size.map(window) });
        }
        AgentCommand::Show { what } => branch::show(agent, what),
        AgentCommand::Label { entry_id, label } => branch::label(agent, &entry_id, label),
        AgentCommand::Session(SessionCommand::Name { name }) => session_commands::name(agent, &name),
        AgentCommand::Session(_) | AgentCommand::Compact { .. } | AgentCommand::ReplaceMessages { .. } => {
            agent.stop.cancel();
            agent.later.push_back(command);
        }
        // These never wait.
        AgentCommand::Abort
        | AgentCommand::AbortRetry
        | AgentCommand::AbortBash
        | AgentCommand::BashInput { .. }
        | AgentCommand::BashResize { .. }
        | AgentCommand::TakeQueue
        | AgentCommand::Shutdown
        | AgentCommand::Answer { .. } => act(agent, command),
    }
}

/// Whether the session that commands act upon is about to change.
fn blocked(agent: &Agent) -> bool {
    let changes = |command: &AgentCommand| {
        matches!(
            command,
            AgentCommand::Session(_) | AgentCommand::Compact { .. } | AgentCommand::ReplaceMessages { .. }
        )
    };
    agent.phase == Phase::Switching || agent.later.iter().any(changes)
}

/// Whether everything that was commanded so far has been acted on or belongs to a later run.
fn passed(agent: &Agent) -> bool {
    agent.later.is_empty() || agent.phase == Phase::Running
}

/// Begins what had to wait until nothing else runs.
pub(crate) async fn begin(agent: &mut Agent, command: AgentCommand) {
    open_session::prepare(agent, &command);
    match command {
        AgentCommand::Prompt { text, images, .. } => start(agent, text, images).await,
        AgentCommand::Continue => go_on(agent).await,
        AgentCommand::SendQueued if agent.queues.is_empty() || !ready(agent) => {}
        AgentCommand::SendQueued => run::run_queued(agent).await,
        AgentCommand::Compact { instructions } => compact::manual(agent, instructions).await,
        AgentCommand::ReplaceMessages { messages } => session_commands::replace(agent, messages),
        AgentCommand::Session(command) => {
            agent.phase = Phase::Switching;
            session_commands::session(agent, command).await;
            agent.phase = Phase::Idle;
        }
        // What stands behind it waits for its own turn, so that the order is kept.
        other => obey(agent, other),
    }
}

/// Tells the marks behind a prompt whose run has begun.
pub(crate) fn tell_passed_marks(agent: &mut Agent) {
    while let Some(AgentCommand::Mark { id, .. }) = agent.later.front().cloned() {
        agent.later.pop_front();
        agent.emit(AgentEvent::Marked { id });
    }
}

/// A message of the person's.
fn said(text: String, images: Vec<Block>) -> UserMessage {
    let content = if images.is_empty() {
        UserContent::Text(text)
    } else {
        let text = (!text.is_empty()).then(|| Block::text(text));
        UserContent::Blocks(text.into_iter().chain(images).collect())
    };
    UserMessage { content, timestamp: now() }
}

/// Queues a message during a run; else notes that a run is to begin.
fn prompt(agent: &mut Agent, text: String, images: Vec<Block>, streaming: Queue) {
    if agent.phase != Phase::Running {
        agent.later.push_back(AgentCommand::Prompt { text, images, streaming });
    } else {
        enqueue(agent, text, images, streaming);
    }
}

/// Puts a message in a queue.
fn enqueue(agent: &mut Agent, text: String, images: Vec<Block>, queue: Queue) {
    if sendable(agent, &text, &images) {
        agent.queues.push(queue, said(text, images));
        tell_queues(agent);
    }
}

fn tell_queues(agent: &mut Agent) {
    let update = agent.queues.update();
    agent.emit(update);
}

/// Offers other tools from the next request on.
fn set_tools(agent: &mut Agent, names: &[String]) {
    let (tools, missing) = agent.config.conduct.shelf.pick(names);
    agent.config.tools = tools;
    if !missing.is_empty() {
        let text = format!("there is no tool named {}", missing.join(", "));
        agent.notice(NoticeLevel::Warning, text, Some("the others are on"));
    }
}

/// Adds a message to the conversation; it must not come between a call and its result.
fn append(agent: &mut Agent, message: Arc<Message>) {
    if agent.phase != Phase::Idle {
        agent.after_run.push(message);
    } else {
        agent.record(message.clone());
        tell_whole(agent, message);
    }
}

/// Tells of a message that came whole and from outside. Commands of the person's have been told.
pub(crate) fn tell_whole(agent: &mut Agent, message: Arc<Message>) {
    if !matches!(*message, Message::BashExecution(_)) {
        agent.emit(AgentEvent::MessageStart { message: message.clone() });
        agent.emit(AgentEvent::MessageEnd { message });
    }
}

fn tune(agent: &mut Agent, tuning: Tuning) {
    match tuning {
        Tuning::AutoCompaction { enabled } => agent.config.room.auto = enabled,
        Tuning::CompactReserve { tokens } => agent.config.room.reserve = tokens,
        Tuning::BashTimeout { seconds } => agent.config.bash_timeout = seconds,
        Tuning::AutoRetry { enabled } => agent.auto_retry = enabled,
    }
}

/// Starts a run with a message, or says why not and gives the text back.
async fn start(agent: &mut Agent, text: String, images: Vec<Block>) {
    if !sendable(agent, &text, &images) {
        return;
    }
    if ready(agent) {
        run::run(agent, Some(said(text, images))).await;
    } else {
        give_back(agent, vec![said(text, images)]);
    }
}

/// Hands messages back for editing.
pub(crate) fn give_back(agent: &mut Agent, messages: Vec<UserMessage>) {
    let texts = messages.iter().map(|message| message.content.text()).collect();
    let blocks = messages.into_iter().flat_map(|message| match message.content {
        UserContent::Text(_) => Vec::new(),
        UserContent::Blocks(blocks) => blocks,
    });
    let images = blocks.filter(|block| matches!(block, Block::Image { .. })).collect();
    agent.emit(AgentEvent::QueueReturned { texts, images });
}

/// Whether there is anything to send; says so when not.
fn sendable(agent: &mut Agent, text: &str, images: &[Block]) -> bool {
    let something = !text.trim().is_empty() || !images.is_empty();
    if !something {
        agent.notice(NoticeLevel::Warning, "there is nothing to send", Some("type a message first"));
    }
    something
}

/// Whether there is a model; says so when not.
fn ready(agent: &mut Agent) -> bool {
    if agent.config.model.is_some() {
        return true;
    }
    let hint = "choose one with /model, or start tau with --model demo";
    agent.notice(NoticeLevel::Error, "no model is chosen", Some(hint));
    false
}

/// Goes on from the history, or says why not.
async fn go_on(agent: &mut Agent) {
    let waiting = !agent.queues.is_empty();
    if !waiting && !request::can_go_on(&agent.config.session.context().messages) {
        agent.notice(NoticeLevel::Warning, "there is nothing to go on from", Some("send a message"));
    } else if ready(agent) {
        run::run(agent, None).await;
    }
}

/// Stops the run. Of what waits behind it the prompts go back to the person: they were sent
/// before the abort, so they must not run after it.
fn abort(agent: &mut Agent) {
    agent.stop.cancel();
    let mut messages = Vec::new();
    let mut compactions = 0;
    agent.later.retain(|command| match command {
        AgentCommand::Prompt { text, images, .. } => {
            messages.push(said(text.clone(), images.clone()));
            false
        }
        AgentCommand::Continue | AgentCommand::SendQueued => false,
        AgentCommand::Compact { .. } => {
            compactions += 1;
            false
        }
        _ => true,
    });
    for _ in 0..compactions {
        let reason = CompactionReason::Manual;
        agent.emit(AgentEvent::CompactionStart { reason });
        agent.emit(AgentEvent::CompactionEnd {
            reason,
            result: None,
            aborted: true,
            will_retry: false,
            error_message: None,
        });
    }
    if !messages.is_empty() {
        give_back(agent, messages);
    }
}

/// Empties the queues and hands what was in them back. The answer comes also when there are none.
fn take_queue(agent: &mut Agent) {
    let changed = !agent.queues.is_empty();
    let messages = agent.queues.take();
    if changed {
        tell_queues(agent);
    }
    give_back(agent, messages);
}

/// Uses `model` from the next request on, and notes that in the session.
fn set_model(agent: &mut Agent, model: Arc<Model>) {
    let noted = agent.config.session.set_model(&model.provider, &model.id);
    agent.written(noted);
    take_up(agent, model);
}

/// Uses `model`; the thinking level moves to one that it has.
pub(crate) fn take_up(agent: &mut Agent, model: Arc<Model>) {
    let before = agent.thinking();
    agent.config.model = Some(model.clone());
    agent.emit(AgentEvent::ModelChanged { model });
    let level = agent.thinking();
    if level != before {
        agent.emit(AgentEvent::ThinkingLevelChanged { level });
    }
}

fn set_thinking(agent: &mut Agent, level: ThinkingLevel) {
    agent.config.thinking = level;
    let level = agent.thinking();
    let noted = agent.config.session.set_thinking(level);
    agent.written(noted);
    agent.emit(AgentEvent::ThinkingLevelChanged { level });
}

fn window((columns, rows): (u16, u16)) -> WindowSize {
    WindowSize { columns, rows }
}

fn start_shell(agent: &mut Agent, order: Order) {
    let Order { id, command, hidden, window } = order.clone();
    let size = window.map(|window| (window.columns, window.rows));
    agent.emit(AgentEvent::BashStart { id, command, exclude_from_context: hidden, size });
    let cwd = agent.cwd().to_owned();
    agent.shells.start(&agent.config, cwd, order);
}

/// Passes on what one of the person's commands did. Its message must not come between a call
/// and its result, so during a run it waits for the run's end.
pub(crate) fn shell(agent: &mut Agent, happening: Happening) {
    match happening {
        Happening::NoTerminal { reason } => {
            let text = format!("there is no terminal for this command: {reason}");
            let hint = "it runs without one, so it cannot ask and may show no colours";
            agent.notice(NoticeLevel::Warning, text, Some(hint));
        }
        Happening::Output { id, delta } => agent.emit(AgentEvent::BashExecutionUpdate { id, delta }),
        Happening::Ended { id, message } => {
            let recorded = Arc::new(Message::BashExecution(message.clone()));
            if agent.phase != Phase::Idle {
                agent.after_run.push(recorded);
            } else {
                agent.record(recorded);
            }
            agent.emit(AgentEvent::BashEnd { id, message });
        }
    }
}
