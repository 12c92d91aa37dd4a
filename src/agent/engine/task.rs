//! The agent task, the only owner of the conversation: commands in, events out.
//!
//! The task owns the session, the queues and the run. While it waits for anything it serves commands (see
//! `attend`), so there are no locks and no second owner.

use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, timeout_at};

pub use super::agent_handle::AgentHandle;
use super::attend::{end_delegation, end_jobs, end_shells, serve};
use super::config::AgentConfig;
use super::state::{Engine, Phase};
use super::{announce, background_jobs, commands, compact, event_hooks, kept_queue, run, side_question};
use crate::context::request;
use crate::engine::base::outbox::Outbox;
use crate::engine::base::panics::catch_panic;
use crate::engine::queries::session_usage;
use crate::engine::sessions::{open_session, session_commands, undo_commands};
use tau_protocol::command::{AgentCommand, RunCommand, SessionChange, SessionCommand};
use tau_protocol::event::{AgentEvent, NoticeLevel, TaskEvent};
use tau_protocol::message::UserMessage;

/// The maximum number of commands that wait for the agent.
const COMMANDS: usize = 64;
/// The maximum number of events that wait for the front end.
const EVENTS: usize = 256;
/// The time limit for the end of the task after the end of a run: together less than a second.
const TASK_END: Duration = Duration::from_millis(400);

/// The time that MCP servers have to end by themselves.
const SERVERS_END: Duration = Duration::from_millis(300);

/// The time limit of the hooks at the end of the session.
const HOOKS_END: Duration = Duration::from_millis(1_200);

/// Starts an agent on the current runtime. Its first event is `SessionOpened`; `ModelChanged` (if
/// there is a model) and `ThinkingLevelChanged` follow, so that a front end knows the complete
/// state.
pub fn spawn(config: AgentConfig) -> AgentHandle {
    let (commands, inbox) = mpsc::channel(COMMANDS);
    let (sender, events) = mpsc::channel(EVENTS);
    let engine = Engine::new(config, inbox, Outbox::new(sender.clone()), spawn);
    let task = tokio::spawn(async move {
        if let Err(panic) = catch_panic(run_until_shutdown(engine)).await {
            let text = format!("the agent crashed: {panic}");
            let hint = "the conversation is in the session file: restart with tau --continue";
            let notice = AgentEvent::Task(TaskEvent::Notice {
                level: NoticeLevel::Error,
                text,
                hint: Some(hint.into()),
            });
            for event in [notice, AgentEvent::Task(TaskEvent::Stopped)] {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        }
    });
    AgentHandle { commands, events, task }
}

/// The main loop: until `Shutdown`, or until the handle is dropped.
async fn run_until_shutdown(mut engine: Engine) {
    let engine = &mut engine;
    announce::initial_state(engine);
    background_jobs::follow_stop(engine);
    engine.start_servers();
    event_hooks::on_agent_start(engine).await;
    while !engine.current.shutting_down {
        match engine.pending.commands.pop_front() {
            Some(command) => start(engine, command).await,
            None => {
                commands::answer_idle_queries(engine);
                serve(engine).await;
            }
        }
    }
    side_question::end_all(engine).await;
    let ending = event_hooks::ending(engine);
    event_hooks::on_session_end(engine, ending, "exit", Instant::now() + HOOKS_END).await;
    let (deadline, servers_end) = (Instant::now() + TASK_END, Instant::now() + SERVERS_END);
    end_delegation(engine, deadline).await;
    session_usage::count_apart(engine, &[]);
    end_jobs(engine, deadline).await;
    end_shells(engine, deadline).await;
    engine.mcp.end(servers_end).await;
    engine.flush();
    if engine.config.session.has_unsaved() {
        let text = "the end of this session could not be saved and is lost";
        engine.notice(NoticeLevel::Error, text, Some("you can continue from what its file contains"));
    }
    engine.emit(TaskEvent::Stopped);
    while !engine.outbox.is_empty() && timeout_at(deadline, engine.outbox.send_next()).await.is_ok() {}
}

/// Starts an operation that waited until nothing else was running.
async fn start(engine: &mut Engine, command: AgentCommand) {
    open_session::prepare(engine, &command);
    match command {
        AgentCommand::Run(RunCommand::Prompt { text, images, .. }) => {
            start_run(engine, UserMessage::with_blocks(text, images)).await;
        }
        AgentCommand::Run(RunCommand::PromptMessage { message, .. }) => start_run(engine, message).await,
        AgentCommand::Run(RunCommand::Continue) => continue_run(engine).await,
        AgentCommand::Run(RunCommand::SendQueued) if engine.queues.is_empty() || !has_model(engine) => {}
        AgentCommand::Run(RunCommand::SendQueued) => run::run_from_queue(engine).await,
        AgentCommand::Run(RunCommand::PursueGoal) => pursue_goal(engine).await,
        AgentCommand::Run(RunCommand::Compact { instructions }) => {
            compact::manual(engine, instructions).await;
        }
        AgentCommand::Session(SessionCommand::ReplaceMessages { messages }) => {
            session_commands::replace_messages(engine, messages);
        }
        AgentCommand::Session(SessionCommand::Change(command)) => {
            engine.current.phase = Phase::SwitchingSession;
            let (before, ending) = (engine.config.session.info().id.clone(), event_hooks::ending(engine));
            let is_new = matches!(command, SessionChange::New | SessionChange::Continued { .. });
            session_commands::session(engine, command).await;
            if engine.config.session.info().id != before {
                let (reason, source) = if is_new { ("clear", "clear") } else { ("other", "resume") };
                engine.pending.hook_context.clear();
                event_hooks::on_session_end(engine, ending, reason, Instant::now() + HOOKS_END).await;
                // What was stopped for the change is over.
                engine.begin();
                event_hooks::on_session_start(engine, source).await;
            }
            announce::idle(engine);
        }
        AgentCommand::Session(SessionCommand::Undo { order }) => {
            engine.current.phase = Phase::SwitchingSession;
            undo_commands::undo(engine, order).await;
            announce::idle(engine);
        }
        AgentCommand::Session(SessionCommand::Redo { order }) => {
            engine.current.phase = Phase::SwitchingSession;
            undo_commands::redo(engine, order).await;
            announce::idle(engine);
        }
        AgentCommand::Session(SessionCommand::Revert { order }) => {
            engine.current.phase = Phase::SwitchingSession;
            undo_commands::revert(engine, order).await;
            announce::idle(engine);
        }
        // Commands after it wait for their own turn, so that the order is kept.
        other => commands::apply(engine, other),
    }
}

/// Starts a run with a message, or reports why not and returns the text.
async fn start_run(engine: &mut Engine, message: UserMessage) {
    if !commands::has_content(engine, &message) {
        return;
    }
    let message = commands::stamp_message(message);
    if has_model(engine) {
        run::run(engine, Some(message)).await;
    } else {
        kept_queue::finish_delivery(engine);
        announce::return_messages(engine, vec![message]);
    }
}

/// Continues from the history, or reports why not.
async fn continue_run(engine: &mut Engine) {
    let queued = !engine.queues.is_empty();
    if !queued && !request::can_continue(&engine.config.session.context().messages) {
        engine.notice(NoticeLevel::Warning, "nothing to continue from", Some("send a message"));
    } else if has_model(engine) {
        run::run(engine, None).await;
    }
}

/// Works until the goal is reached, or reports why not.
async fn pursue_goal(engine: &mut Engine) {
    if engine.goal.goal.is_none() {
        engine.notice(NoticeLevel::Warning, "this session has no goal", Some("set one with /goal COMMAND"));
    } else if has_model(engine) {
        run::pursue(engine).await;
    }
}

/// Whether a model is selected; reports it if not.
fn has_model(engine: &mut Engine) -> bool {
    if engine.config.model.is_some() {
        return true;
    }
    let hint = "choose one with /model, or start tau with --model demo";
    engine.notice(NoticeLevel::Error, "no model selected", Some(hint));
    false
}
