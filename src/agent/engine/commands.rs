//! Carries out commands: immediately, or once the run has ended.
//!
//! Nothing here awaits, so commands work while anything else is in progress. Long operations (a run, a change
//! of session) wait in `Engine::pending`; the main loop in `task` starts them.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::queries::{self, session_usage};
use super::shell::{USUAL_OUTPUT, UserCommand, UserCommandEvent};
use super::state::{Engine, Phase, ends_what_runs};
use super::{
    accepted_plan, announce, ask_user, background_jobs, delegation, gate, goal, kept_queue, side_question,
};
use crate::engine::base::clock::now;
use crate::engine::base::queue::QueueChangeOutcome;
use crate::engine::gate::sandbox_gate;
use crate::engine::sessions::refusals;
use crate::extensions::mcp::McpNews;
use crate::session::entry::Body;
use tau_protocol::command::{
    AgentCommand, QuestionCommand, Queue, QueueChange, QueueCommand, QueuedMessage, RunCommand,
    SessionChange, SessionCommand, SettingsCommand, ShellCommand, TaskCommand, Tuning,
};
use tau_protocol::event::{
    CompactionReason, NoticeLevel, QuestionEvent, QueueEvent, RunEvent, SessionEvent, SettingsEvent,
    ShellEvent, TaskEvent,
};
use tau_protocol::message::{Message, UserMessage};
use tau_protocol::model::{Model, ThinkingLevel};
use tau_protocol::query::{Query, QueryAnswer};
use tau_protocol::undo::RestoreReport;
use tau_tools::jobs::MoveReason;
use tau_tools::process::pty::{PtyInput, WindowSize};

/// Handles an incoming command.
pub(crate) fn receive(engine: &mut Engine, command: AgentCommand) {
    match command {
        AgentCommand::Run(RunCommand::Abort) => abort(engine),
        AgentCommand::Run(RunCommand::AbortRetry) => engine.current.retry_wait.cancel(),
        AgentCommand::Shell(ShellCommand::AbortBash) => engine.shells.cancel(),
        AgentCommand::Shell(ShellCommand::MoveToBackground) => {
            background_jobs::move_all(engine, MoveReason::User);
        }
        AgentCommand::Shell(ShellCommand::StopJob { job }) => background_jobs::stop(engine, job),
        AgentCommand::Shell(ShellCommand::KeepJobs { job, kept }) => background_jobs::keep(engine, job, kept),
        AgentCommand::Shell(ShellCommand::BashInput { id, data }) => {
            engine.config.behavior.masking.note_typing(&id);
            engine.shells.input(id.as_deref(), PtyInput::Typed(data.into_bytes()));
        }
        AgentCommand::Shell(ShellCommand::BashResize { id, size }) => {
            engine.shells.input(id.as_deref(), PtyInput::Resized(window(size)));
        }
        AgentCommand::Queue(QueueCommand::TakeQueue) => take_queue(engine),
        AgentCommand::Task(TaskCommand::Shutdown) => engine.shut_down(),
        AgentCommand::Task(TaskCommand::StopSideQuestion { id }) => engine.side.stop(&id),
        AgentCommand::Questions(command) => match delegation::pass_answer(engine, command) {
            Some(QuestionCommand::Answer { id, answer }) => ask_user::answer(engine, &id, answer),
            Some(QuestionCommand::AnswerApproval { id, answer }) => gate::answer(engine, &id, answer),
            None => {}
        },
        AgentCommand::Session(SessionCommand::DropPlan) => accepted_plan::set(engine, None),
        AgentCommand::Settings(SettingsCommand::SetPermissionMode { mode }) => gate::set_mode(engine, mode),
        AgentCommand::Settings(SettingsCommand::ChangeRules { ticket, change }) => {
            gate::change_rules(engine, ticket, &change);
        }
        AgentCommand::Task(TaskCommand::Query { ticket, query: Query::Idle }) => {
            engine.pending.idle_queries.push(ticket);
        }
        // Commands behind a waiting one must wait too, or they would apply to the wrong session.
        command if session_changes(engine) => {
            if ends_what_runs(&command) && matches!(engine.current.phase, Phase::Running | Phase::Compacting)
            {
                engine.current.stop.cancel();
            }
            engine.pending.commands.push_back(command);
        }
        AgentCommand::Task(TaskCommand::Query { query: Query::Sync, .. }) if !is_caught_up(engine) => {
            engine.pending.commands.push_back(command);
        }
        command => apply(engine, command),
    }
}

/// Applies a command when its turn comes.
pub(crate) fn apply(engine: &mut Engine, command: AgentCommand) {
    match command {
        AgentCommand::Run(command) => apply_to_run(engine, command),
        AgentCommand::Queue(command) => apply_to_queues(engine, command),
        AgentCommand::Session(command) => apply_to_session(engine, command),
        AgentCommand::Settings(command) => apply_to_settings(engine, command),
        AgentCommand::Task(TaskCommand::Query { ticket, query }) => {
            if let Some(query) = delegation::pass_query(engine, ticket, query) {
                queries::answer(engine, ticket, query);
            }
        }
        AgentCommand::Task(TaskCommand::SideQuestion { id, question }) => {
            side_question::ask(engine, id, &question);
        }
        AgentCommand::Shell(ShellCommand::Bash {
            id,
            command,
            exclude_from_context: hidden,
            size,
            without_sandbox,
        }) => {
            let window = size.map(window);
            let output = USUAL_OUTPUT;
            start_shell(engine, UserCommand { id, command, hidden, window, without_sandbox, output });
        }
        // These never wait.
        command @ (AgentCommand::Questions(_)
        | AgentCommand::Task(TaskCommand::Shutdown | TaskCommand::StopSideQuestion { .. })
        | AgentCommand::Shell(
            ShellCommand::AbortBash
            | ShellCommand::BashInput { .. }
            | ShellCommand::BashResize { .. }
            | ShellCommand::MoveToBackground
            | ShellCommand::StopJob { .. }
            | ShellCommand::KeepJobs { .. },
        )) => receive(engine, command),
    }
}

fn apply_to_run(engine: &mut Engine, command: RunCommand) {
    let is_running = engine.current.phase == Phase::Running;
    match command {
        RunCommand::Prompt { text, images, streaming } => {
            prompt(engine, UserMessage::with_blocks(text, images), streaming);
        }
        RunCommand::PromptMessage { message, streaming } => prompt(engine, message, streaming),
        RunCommand::Continue if is_running => {
            engine.notice(NoticeLevel::Info, "the agent is already running", None);
        }
        RunCommand::SendQueued if is_running => {}
        // The run continues until the goal is reached.
        RunCommand::PursueGoal if is_running && goal::resume_confirmed(engine) => {}
        RunCommand::Continue | RunCommand::SendQueued | RunCommand::PursueGoal => {
            engine.pending.commands.push_back(command.into());
        }
        RunCommand::Compact { .. } => stop_for(engine, command.into()),
        // These never wait.
        RunCommand::Abort | RunCommand::AbortRetry => receive(engine, command.into()),
    }
}

fn apply_to_queues(engine: &mut Engine, command: QueueCommand) {
    match command {
        QueueCommand::Enqueue { text, images, queue } => {
            enqueue(engine, UserMessage::with_blocks(text, images), queue);
        }
        QueueCommand::EnqueueMessage { message, queue } => enqueue(engine, message, queue),
        QueueCommand::ClearQueue { queue } => {
            engine.queues.clear(queue);
            announce::queues(engine);
        }
        QueueCommand::ChangeQueued { message, change } => change_queued_message(engine, message, change),
        QueueCommand::SetQueueMode { queue, mode } => engine.queues.set_mode(queue, mode),
        QueueCommand::SetSteerMode { mode } => engine.config.behavior.steer = mode,
        // This never waits.
        QueueCommand::TakeQueue => receive(engine, command.into()),
    }
}

fn apply_to_session(engine: &mut Engine, command: SessionCommand) {
    match command {
        SessionCommand::AppendMessage { message } => append(engine, message),
        SessionCommand::SetGoal { goal } => goal::set(engine, goal),
        SessionCommand::AddUsage { usage } => session_usage::add(engine, usage),
        SessionCommand::Label { entry_id, label } => set_label(engine, &entry_id, label),
        SessionCommand::Change(SessionChange::Name { name }) => set_name(engine, &name),
        SessionCommand::Revert { .. } if engine.current.phase == Phase::Running => {
            let error = "the agent is working; stop it first".to_owned();
            engine.notice(NoticeLevel::Warning, format!("cannot revert: {error}"), None);
            let (report, error) = (RestoreReport::default(), Some(error));
            engine.emit(SessionEvent::FilesRestored { report, error });
        }
        SessionCommand::Revert { .. } => engine.pending.commands.push_back(command.into()),
        // What cannot be done must not end a run.
        SessionCommand::Change(ref change) if refusals::refuses_change(engine, change) => {}
        SessionCommand::Undo { ref order } if refusals::refuses_undo(engine, order) => {}
        SessionCommand::Redo { order } if engine.current.phase == Phase::Running => {
            engine.undo.find_redo(order);
        }
        SessionCommand::Change(_)
        | SessionCommand::ReplaceMessages { .. }
        | SessionCommand::Undo { .. }
        | SessionCommand::Redo { .. } => stop_for(engine, command.into()),
        // This never waits.
        SessionCommand::DropPlan => receive(engine, command.into()),
    }
}

fn apply_to_settings(engine: &mut Engine, command: SettingsCommand) {
    match command {
        SettingsCommand::SetModel { model } => set_model(engine, model),
        SettingsCommand::SetThinking { level } => set_thinking(engine, level),
        SettingsCommand::SetBudgets { budgets } => engine.config.behavior.budgets = budgets,
        SettingsCommand::SetSystem { text } => engine.config.system = text.into(),
        SettingsCommand::SetTools { names, by_mode } => set_tools(engine, &names, by_mode),
        SettingsCommand::SetLimits { limits } => {
            engine.config.limits = limits;
            engine.meters.used.limit(&engine.run_limits());
        }
        SettingsCommand::Tune(tuning) => tune(engine, tuning),
        // These never wait.
        SettingsCommand::ChangeRules { .. } | SettingsCommand::SetPermissionMode { .. } => {
            receive(engine, command.into());
        }
    }
}

/// Stops the current work before a command is carried out.
fn stop_for(engine: &mut Engine, command: AgentCommand) {
    engine.current.stop.cancel();
    engine.pending.commands.push_back(command);
}

/// Whether the session that commands apply to is about to change.
fn session_changes(engine: &Engine) -> bool {
    let changes = |command: &AgentCommand| {
        matches!(
            command,
            AgentCommand::Run(RunCommand::Compact { .. })
                | AgentCommand::Session(
                    SessionCommand::Change(_)
                        | SessionCommand::ReplaceMessages { .. }
                        | SessionCommand::Undo { .. }
                        | SessionCommand::Redo { .. }
                        | SessionCommand::Revert { .. }
                )
        )
    };
    engine.current.phase == Phase::SwitchingSession || engine.pending.commands.iter().any(changes)
}

/// Whether every command so far has been applied or belongs to a later run.
fn is_caught_up(engine: &Engine) -> bool {
    engine.pending.commands.is_empty() || engine.current.phase == Phase::Running
}

/// Answers the `Query::Sync` that came after a prompt whose run has started.
pub(crate) fn answer_sync_queries(engine: &mut Engine) {
    while let Some(AgentCommand::Task(TaskCommand::Query { ticket, query: Query::Sync })) =
        engine.pending.commands.front()
    {
        let ticket = *ticket;
        engine.pending.commands.pop_front();
        engine.emit(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::Done) });
    }
}

/// Answers a `Query::Idle` once there is nothing left to do.
pub(crate) fn answer_idle_queries(engine: &mut Engine) {
    for ticket in std::mem::take(&mut engine.pending.idle_queries) {
        engine.emit(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::Done) });
    }
}

/// Queues a message during a run; otherwise requests a run with it.
fn prompt(engine: &mut Engine, message: UserMessage, streaming: Queue) {
    match engine.current.phase {
        Phase::Running => enqueue(engine, message, streaming),
        // It is listed, and stored, until then.
        Phase::Compacting => {
            enqueue(engine, message, streaming);
            engine.pending.commands.push_back(AgentCommand::Run(RunCommand::SendQueued));
        }
        Phase::Idle | Phase::Settling | Phase::SwitchingSession => {
            let message = stamp_message(message);
            engine
                .pending
                .commands
                .push_back(AgentCommand::Run(RunCommand::PromptMessage { message, streaming }));
        }
    }
}

/// Adds a message to a queue.
fn enqueue(engine: &mut Engine, message: UserMessage, queue: Queue) {
    if has_content(engine, &message) {
        engine.queues.push(queue, stamp_message(message));
        announce::queues(engine);
        if queue == Queue::Steer {
            background_jobs::move_all(engine, MoveReason::Steering);
        }
    }
}

/// Sets the current time on a message without one.
pub(crate) fn stamp_message(message: UserMessage) -> UserMessage {
    let timestamp = if message.timestamp == 0 { now() } else { message.timestamp };
    UserMessage { timestamp, ..message }
}

/// Changes a queued message. If it is to be sent now, the run ends and the next one starts.
fn change_queued_message(engine: &mut Engine, message: QueuedMessage, change: QueueChange) {
    if let QueueChange::Replace { text, images } = &change
        && !has_content(engine, &UserMessage::with_blocks(text.clone(), images.clone()))
    {
        return;
    }
    match engine.queues.change(&message, &change) {
        QueueChangeOutcome::Changed => announce::queues(engine),
        QueueChangeOutcome::Gone => {
            engine.emit(QueueEvent::QueueChangeFailed { message, change });
        }
        QueueChangeOutcome::Send(sent) => {
            announce::queues(engine);
            if engine.current.phase == Phase::Running {
                // Before the stop, which would end them.
                background_jobs::move_all(engine, MoveReason::Message);
                engine.current.stop.cancel();
            }
            let streaming = message.queue;
            engine
                .pending
                .commands
                .push_back(AgentCommand::Run(RunCommand::PromptMessage { message: sent, streaming }));
        }
    }
}

/// Whether there is anything to send; reports it if not.
pub(crate) fn has_content(engine: &mut Engine, message: &UserMessage) -> bool {
    let any = !message.is_blank();
    if !any {
        engine.notice(NoticeLevel::Warning, "nothing to send", Some("type a message first"));
    }
    any
}

/// Replaces the offered tools from the next request on.
fn set_tools(engine: &mut Engine, names: &[String], by_mode: bool) {
    let (tools, missing) = engine.config.behavior.tools.select(names);
    engine.own_tools = tools;
    engine.config.behavior.search_tools_by_mode = by_mode;
    engine.refresh_tools();
    announce::context_size(engine);
    if !missing.is_empty() {
        let text = format!("unknown tools: {}", missing.join(", "));
        engine.notice(NoticeLevel::Warning, text, Some("the other tools are enabled"));
    }
}

/// Adds a message to the conversation, but never between a call and its result.
fn append(engine: &mut Engine, message: Arc<Message>) {
    if engine.current.phase == Phase::Idle {
        announce::record_external(engine, message);
    } else {
        engine.pending.messages.push(message);
    }
}

fn tune(engine: &mut Engine, tuning: Tuning) {
    match tuning {
        Tuning::AutoCompaction { enabled } => engine.config.compaction.auto = enabled,
        Tuning::ConversationId { id } => engine.config.behavior.conversation_id = id,
        Tuning::Temperature { temperature } => engine.config.behavior.temperature = temperature,
        Tuning::BashTimeout { seconds } => engine.config.bash_timeout = seconds,
        Tuning::GoalLimits { limits } => engine.config.behavior.goal_limits = limits,
        Tuning::Sandbox { policy, user_commands, hooks } => {
            sandbox_gate::set_policy(engine, *policy);
            let sandbox = &mut engine.config.behavior.sandbox;
            (sandbox.user_commands, sandbox.hooks) = (user_commands, hooks);
        }
        Tuning::Rules => gate::read_rules(engine),
        Tuning::SettingsFault { fault } => gate::set_settings_fault(engine, fault),
        Tuning::McpServers => engine.restart_servers(),
        Tuning::MaskSecrets { enabled } => engine.config.behavior.masking.vault.is_on = enabled,
        Tuning::AutoRetry { enabled } => engine.auto_retry = enabled,
        Tuning::HelperEvents { enabled } => engine.config.behavior.helper_events = enabled,
        Tuning::AskUser { enabled } => {
            engine.config.behavior.asks_user = enabled;
            accepted_plan::report(engine);
        }
    }
}

/// Stops the run. Prompts that wait for its end are returned to the user, or queued if they stay: they were sent
/// before the abort, so they must not run after it.
fn abort(engine: &mut Engine) {
    engine.current.stop.cancel();
    let (mut messages, mut staying) = (Vec::new(), Vec::new());
    let mut compactions = 0;
    engine.pending.commands.retain(|command| match command {
        AgentCommand::Run(RunCommand::Prompt { text, images, .. }) => {
            messages.push(UserMessage::with_blocks(text.clone(), images.clone()));
            false
        }
        AgentCommand::Run(RunCommand::PromptMessage { message, .. }) => {
            let list = if message.stays_queued { &mut staying } else { &mut messages };
            list.push(message.clone());
            false
        }
        AgentCommand::Run(RunCommand::Continue | RunCommand::SendQueued | RunCommand::PursueGoal) => false,
        AgentCommand::Run(RunCommand::Compact { .. }) => {
            compactions += 1;
            false
        }
        _ => true,
    });
    for _ in 0..compactions {
        let reason = CompactionReason::Manual;
        engine.emit(RunEvent::CompactionStart { reason });
        engine.emit(RunEvent::CompactionEnd {
            reason,
            result: None,
            aborted: true,
            will_retry: false,
            error_message: None,
        });
    }
    let is_any = !messages.is_empty() || !staying.is_empty();
    if !staying.is_empty() {
        staying.into_iter().for_each(|message| engine.queues.push(Queue::Steer, message));
        announce::queues(engine);
    }
    if is_any {
        kept_queue::finish_delivery(engine);
    }
    if !messages.is_empty() {
        announce::return_messages(engine, messages);
    }
}

/// Takes from the queues what need not stay there, and returns it. Sends an event even if that is nothing.
fn take_queue(engine: &mut Engine) {
    let changed = !engine.queues.is_empty();
    let messages = engine.queues.take();
    if changed {
        announce::queues(engine);
    }
    announce::return_messages(engine, messages);
}

/// Uses `model` from the next request on, and records this in the session.
pub(crate) fn set_model(engine: &mut Engine, model: Arc<Model>) {
    let saved = engine.config.session.set_model(&model.provider, &model.id);
    engine.report_save_result(saved);
    announce::use_model(engine, model);
}

pub(crate) fn set_thinking(engine: &mut Engine, level: ThinkingLevel) {
    engine.config.thinking = level;
    let level = engine.thinking();
    let saved = engine.config.session.set_thinking(level);
    engine.report_save_result(saved);
    engine.emit(SettingsEvent::ThinkingLevelChanged { level });
}

/// Names the session; the name is reduced to one line.
fn set_name(engine: &mut Engine, name: &str) {
    let one_line: Vec<&str> = name.split_whitespace().collect();
    let saved = engine.config.session.set_name(&one_line.join(" "));
    engine.report_save_result(saved);
    let name = engine.config.session.info().name.clone();
    engine.emit(SessionEvent::SessionInfoChanged { name });
}

/// Sets or removes the label of an entry.
fn set_label(engine: &mut Engine, entry_id: &str, label: Option<String>) {
    engine.load_all();
    if engine.config.session.tree().get(entry_id).is_none() {
        return engine.notice(NoticeLevel::Error, format!("no entry {entry_id} in this session"), None);
    }
    let one_line = label.map(|label| label.split_whitespace().collect::<Vec<_>>().join(" "));
    let label = one_line.filter(|label| !label.is_empty());
    let body = Body::Label { target_id: entry_id.to_owned(), label };
    let saved = engine.config.session.append_aside(body);
    engine.report_save_result(saved);
}

/// Reports an event of an MCP server. Its tools are offered from the next turn on.
pub(crate) fn mcp_news(engine: &mut Engine, news: McpNews) {
    if matches!(news, McpNews::Changed | McpNews::Notice { .. }) {
        engine.emit(SettingsEvent::ExtensionsChanged);
    }
    match news {
        McpNews::Changed => {
            if engine.current.phase != Phase::Running {
                engine.refresh_tools();
                announce::context_size(engine);
            }
            engine.report_offers();
        }
        McpNews::Notice { text, hint } => engine.notice(NoticeLevel::Warning, text, hint.as_deref()),
        McpNews::Ask { id, question, answer } => {
            engine.questions.open_as(id.clone(), answer);
            engine.emit(QuestionEvent::Asked { id, question });
        }
        McpNews::AskWithdrawn { id } => {
            engine.questions.close(&id);
            engine.emit(QuestionEvent::AskWithdrawn { id });
        }
        McpNews::Completed { ticket, answer } => {
            engine.emit(TaskEvent::Answered { ticket, answer: Ok(QueryAnswer::ArgumentValues(answer)) });
        }
    }
}

fn window((columns, rows): (u16, u16)) -> WindowSize {
    WindowSize { columns, rows }
}

/// Starts a command of the user; returns what ends it.
pub(crate) fn start_shell(engine: &mut Engine, mut shell: UserCommand) -> CancellationToken {
    shell.id = engine.shells.unused_id(shell.id);
    let UserCommand { id, command, hidden, window, without_sandbox, .. } = shell.clone();
    let size = window.map(|window| (window.columns, window.rows));
    engine.emit(ShellEvent::BashStart { id, command, exclude_from_context: hidden, size, without_sandbox });
    engine.tell_of_directory();
    let cwd = engine.cwd().to_owned();
    engine.undo.commands.start();
    engine.shells.start(&engine.config, cwd, shell)
}

/// Reports an event of a user command. Its message must not come between a call and its result, so during a
/// run it is held until the run has ended.
pub(crate) fn shell_event(engine: &mut Engine, event: UserCommandEvent) {
    match event {
        UserCommandEvent::NoTerminal { reason } => {
            let text = format!("cannot open a terminal for this command: {reason}");
            let hint = "it runs without one, so it cannot prompt you and may show no colors";
            engine.notice(NoticeLevel::Warning, text, Some(hint));
        }
        UserCommandEvent::Output { id, delta } => {
            let delta = engine.config.behavior.masking.command_output(&id, delta);
            if !delta.is_empty() {
                engine.emit(ShellEvent::BashExecutionUpdate { id, delta });
            }
        }
        UserCommandEvent::Ended { id, mut message } => {
            engine.undo.commands.end();
            let delta = engine.config.behavior.masking.finish_command(&id, &mut message);
            if !delta.is_empty() {
                engine.emit(ShellEvent::BashExecutionUpdate { id: id.clone(), delta });
            }
            // The run that waits for it records a check of the goal.
            if !engine.goal.complete_check(id.as_deref(), &message) {
                append(engine, Arc::new(Message::BashExecution(message.clone())));
            }
            engine.emit(ShellEvent::BashEnd { id, message });
        }
    }
}
