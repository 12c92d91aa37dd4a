//! The handling of agents' events: updates of the session, requests to the client, answers.
//!
//! Pure.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ClientCapabilities,
    CloseSessionResponse, CompactionId, CompactionStatus, CompactionUpdate, ConfigOptionUpdate, ContentBlock,
    ContentChunk, Cost, CurrentModeUpdate, ErrorCode, ForkSessionResponse, LoadSessionResponse, MessageId,
    NewSessionResponse, Notice, NoticeSeverity, PromptResponse, ResumeSessionResponse, SessionInfoUpdate,
    SessionUpdate, StopReason, TextContent, UnstructuredCommandInput, UsageUpdate,
};

use super::calls_of_session as calls;
use super::state::{About, AcpSession, AcpState, BeginningKind, Opening, SessionKey, Stage};
use super::{approvals, jobs, options, plans, questions, replay, requests, wire};
use tau_protocol::event::AgentEvent;
use tau_protocol::event::{
    CompactionResult, Delta, NoticeLevel, QuestionEvent, RunEvent, SessionEvent, SettingsEvent, TaskEvent,
    TurnEvent,
};
use tau_protocol::extension::PromptCommand;
use tau_protocol::message::{self, AssistantMessage, Message};
use tau_protocol::query::{HistoryPage, PageFrom, PageGoal, Query, QueryAnswer};
use tau_protocol::run::RunEnd;
use tau_tools::ids;
use tau_tools::user_error::UserError;

/// Applies an event of a session's agent.
pub(crate) fn apply(state: &mut AcpState, key: SessionKey, event: AgentEvent) {
    if let Some(session) = state.sessions.get_mut(&key) {
        session.mirror.apply(&event);
        session.used.take(&event);
    }
    match event {
        AgentEvent::Run(event) => of_run(state, key, event),
        AgentEvent::Turn(event) => of_turn(state, key, event),
        AgentEvent::Session(event) => of_session(state, key, event),
        AgentEvent::Settings(event) => of_settings(state, key, event),
        AgentEvent::Questions(event) => match event {
            QuestionEvent::ApprovalRequested { request } => approvals::ask(state, key, &request),
            QuestionEvent::ApprovalEnded { id, .. } => approvals::withdraw(state, key, &id),
            QuestionEvent::Asked { id, question } => questions::ask(state, key, id, &question),
            QuestionEvent::AskWithdrawn { id } => withdraw(state, key, &id),
        },
        AgentEvent::Task(event) => match event {
            TaskEvent::Answered { ticket, answer } => on_query_answer(state, key, ticket, answer),
            TaskEvent::Notice { level, text, hint } => notice(state, key, level, text, hint),
            // The client has no box for it.
            TaskEvent::SideAnswer { .. } | TaskEvent::SideAnswerEnded { .. } => {}
            // For screens.
            TaskEvent::OtherWaits { .. } | TaskEvent::Earlier { .. } => {}
            TaskEvent::Stopped => on_agent_stop(state, key),
        },
        // The client queues its own prompts, and runs its own commands.
        AgentEvent::Queue(_) | AgentEvent::Shell(_) => {}
    }
}

fn of_run(state: &mut AcpState, key: SessionKey, event: RunEvent) {
    let turn = state.sessions.get_mut(&key).and_then(|session| session.turn.as_mut());
    match event {
        RunEvent::RunStopped { reason } => {
            if let Some(turn) = turn {
                turn.outcome = match reason {
                    RunEnd::Turns
                    | RunEnd::Time
                    | RunEnd::Dollars
                    | RunEnd::Day
                    | RunEnd::Tokens
                    | RunEnd::Rounds => StopReason::MaxTurnRequests,
                    RunEnd::Repeats | RunEnd::GivenUp => StopReason::EndTurn,
                };
            }
        }
        RunEvent::AgentSettled { aborted } => {
            if let Some(turn) = turn.filter(|_| aborted) {
                turn.cancelled = true;
            }
        }
        RunEvent::CompactionStart { .. } => on_compaction_start(state, key),
        RunEvent::CompactionEnd { result, aborted, error_message, .. } => {
            on_compaction_end(state, key, result, aborted, error_message);
        }
        RunEvent::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = delay_ms.div_ceil(1_000);
            let text = format!("{error_message}; retry {attempt} of {max_attempts} in {seconds} s");
            notice(state, key, NoticeLevel::Info, text, None);
        }
        RunEvent::AgentStart
        | RunEvent::AgentEnd { .. }
        | RunEvent::AutoRetryEnd { .. }
        | RunEvent::Stalled { .. }
        | RunEvent::PlanLimits { .. }
        | RunEvent::BranchSummary { .. } => {}
    }
}

fn of_turn(state: &mut AcpState, key: SessionKey, event: TurnEvent) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    match event {
        TurnEvent::MessageStart { message } => {
            if let Message::Assistant(_) = message.as_ref() {
                session.message = Some(MessageId::new(ids::id().to_string()));
            }
        }
        TurnEvent::MessageUpdate { assistant_message_event, .. } => {
            delta(state, key, assistant_message_event);
        }
        TurnEvent::MessageEnd { message } => match message.as_ref() {
            Message::Assistant(answer) => on_model_answer(state, key, answer),
            Message::ToolResult(result) => calls::result(state, key, result),
            Message::User(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::Application(_) => {}
        },
        // Editors do not ask for them.
        TurnEvent::HelperEvent { .. } => {}
        TurnEvent::ToolTitle { tool_call_id, title } => {
            calls::report_title(state, key, &tool_call_id, &title);
        }
        TurnEvent::ToolExecutionStart { tool_call_id, .. } => calls::report_start(state, key, &tool_call_id),
        TurnEvent::ToolExecutionUpdate { tool_call_id, partial_result, .. } => {
            calls::report_progress(state, key, &tool_call_id, &partial_result);
        }
        TurnEvent::ToolExecutionEnd { tool_call_id, result, is_error, duration_ms, .. } => {
            calls::report_end(state, key, &tool_call_id, &result, is_error, duration_ms);
        }
        TurnEvent::TurnStart | TurnEvent::TurnEnd { .. } => {}
    }
}

fn of_session(state: &mut AcpState, key: SessionKey, event: SessionEvent) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    match event {
        SessionEvent::SessionInfoChanged { name } => {
            state.update(key, SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(name)));
        }
        SessionEvent::SessionUsage { usage: Some(_), priced } => session.is_priced = priced,
        SessionEvent::ContextSize { tokens } => {
            if !matches!(session.stage, Stage::Opening(_))
                && let Some(news) = usage_news(session, tokens)
            {
                state.update(key, news);
            }
        }
        SessionEvent::SessionOpened { messages, titles, .. } => {
            if let Stage::Opening(opening) = &mut session.stage {
                opening.messages = messages;
                opening.titles = titles;
            }
        }
        SessionEvent::HistoryAvailable { left } => {
            if let Stage::Opening(opening) = &mut session.stage {
                opening.has_more = left > 0;
            }
        }
        SessionEvent::PlanChanged { plan } => plans::show(state, key, &plan.unwrap_or_default(), true),
        // The usage is still counted.
        SessionEvent::SessionUsage { usage: None, .. }
        | SessionEvent::UsageAdded { .. }
        | SessionEvent::SessionRefused { .. }
        | SessionEvent::GoalChanged { .. }
        | SessionEvent::FilesRestored { .. } => {}
    }
}

fn of_settings(state: &mut AcpState, key: SessionKey, event: SettingsEvent) {
    match event {
        SettingsEvent::ModelChanged { .. } => show_options(state, key),
        SettingsEvent::ThinkingLevelChanged { .. } => {
            let stage = state.sessions.get(&key).map(|session| &session.stage);
            if let Some(Stage::Opening(_)) = stage {
                greet(state, key);
            } else {
                show_options(state, key);
            }
        }
        SettingsEvent::PermissionModeChanged { mode, .. } => {
            state.update(key, SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.name())));
            show_options(state, key);
        }
        SettingsEvent::CommandsChanged { commands } => show_commands(state, key, &commands),
        SettingsEvent::ExtensionsChanged => ask_commands(state, key),
        SettingsEvent::ResourcesChanged { .. } | SettingsEvent::RulesChanged => {}
    }
}

/// A piece of text in the client's form.
fn chunk(text: String, message: Option<&MessageId>) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(message.cloned())
}

fn delta(state: &mut AcpState, key: SessionKey, delta: Delta) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    match delta {
        Delta::TextDelta { delta, .. } if !delta.is_empty() => {
            let news = SessionUpdate::AgentMessageChunk(chunk(delta, session.message.as_ref()));
            state.update(key, news);
        }
        Delta::ThinkingDelta { delta, .. } if !delta.is_empty() => {
            let news = SessionUpdate::AgentThoughtChunk(chunk(delta, session.message.as_ref()));
            state.update(key, news);
        }
        Delta::ToolCallStart { id, tool_name, .. } => calls::report_new_call(state, key, &id, &tool_name),
        Delta::ToolCallEnd { tool_call, .. } => calls::report_call(state, key, &tool_call),
        Delta::TextStart { .. }
        | Delta::TextDelta { .. }
        | Delta::TextEnd { .. }
        | Delta::ThinkingStart { .. }
        | Delta::ThinkingDelta { .. }
        | Delta::ThinkingEnd { .. }
        | Delta::ToolCallDelta { .. } => {}
    }
}

/// Handles a complete answer of the model.
fn on_model_answer(state: &mut AcpState, key: SessionKey, answer: &AssistantMessage) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    session.message = None;
    if let Some(turn) = &mut session.turn {
        turn.failure = None;
        match answer.stop_reason {
            message::StopReason::Error => {
                let unknown = || "the provider did not say why".to_owned();
                turn.failure = Some(answer.error_message.clone().unwrap_or_else(unknown));
            }
            message::StopReason::Length => turn.outcome = StopReason::MaxTokens,
            message::StopReason::Aborted => turn.cancelled = true,
            message::StopReason::Stop | message::StopReason::ToolUse | message::StopReason::Other => {
                turn.outcome = StopReason::EndTurn;
            }
        }
    }
    if let Some(news) = usage_news(session, answer.usage.total_tokens) {
        state.update(key, news);
    }
}

/// The usage of the context window, if its size is known.
fn usage_news(session: &AcpSession, tokens: u64) -> Option<SessionUpdate> {
    let model = session.mirror.model.as_ref().filter(|model| model.context_window > 0 && tokens > 0)?;
    let is_priced = session.is_priced && model.cost.is_some();
    let cost = is_priced.then(|| Cost::new(session.used.total().cost.total, "USD"));
    Some(SessionUpdate::UsageUpdate(UsageUpdate::new(tokens, model.context_window).cost(cost)))
}

/// Reports the current options to the client.
fn show_options(state: &mut AcpState, key: SessionKey) {
    let Some(session) = state.sessions.get(&key) else { return };
    if !matches!(session.stage, Stage::Opening(_)) {
        let news = ConfigOptionUpdate::new(options::all(session));
        state.update(key, SessionUpdate::ConfigOptionUpdate(news));
    }
}

fn show_commands(state: &mut AcpState, key: SessionKey, commands: &[PromptCommand]) {
    let hinted = |hint: &str| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint));
    let own = AvailableCommand::new(requests::COMPACT, "Summarize the earlier part of the conversation")
        .input(hinted("what the summary should focus on"));
    let of_jobs = AvailableCommand::new(jobs::NAME, jobs::PURPOSE).input(hinted(jobs::HINT));
    let others = commands.iter().map(|command| {
        let hint = Some(command.argument_hint.as_str()).filter(|hint| !hint.is_empty());
        AvailableCommand::new(command.name.as_str(), command.description.as_str()).input(hint.map(hinted))
    });
    let news = AvailableCommandsUpdate::new([own, of_jobs].into_iter().chain(others).collect::<Vec<_>>());
    if let Some(session) = state.sessions.get_mut(&key)
        && session.prompts.replace(commands.to_vec()).is_some_and(|before| before == commands)
    {
        return;
    }
    state.update(key, SessionUpdate::AvailableCommandsUpdate(news));
}

/// Handles the end of the agent's start-up reports. A session to be loaded sends its messages first.
fn greet(state: &mut AcpState, key: SessionKey) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let Stage::Opening(opening) = &session.stage else { return };
    let is_load = matches!(opening.kind, BeginningKind::Load(_));
    if is_load && opening.has_more {
        ask_page(state, key, 0);
    } else {
        finish_opening(state, key);
    }
}

/// Requests the messages from a position on.
fn ask_page(state: &mut AcpState, key: SessionKey, position: u64) {
    let from = PageFrom::After { position };
    let ticket = state.query(key, Query::HistoryPage { from, goal: PageGoal::Next });
    if let Some(AcpSession { stage: Stage::Opening(opening), .. }) = state.sessions.get_mut(&key) {
        opening.page = Some(ticket);
    }
}

/// Sends a page of earlier messages.
fn replay_page(state: &mut AcpState, key: SessionKey, page: &HistoryPage) {
    replay::messages(state, key, &page.messages, &page.titles);
    if let Some(failed) = &page.failed {
        notice(state, key, NoticeLevel::Warning, format!("earlier messages cannot be read: {failed}"), None);
    }
    if page.after.is_some() && page.failed.is_none() && !page.messages.is_empty() {
        ask_page(state, key, page.end);
    } else {
        finish_opening(state, key);
    }
}

/// Answers the client that its session is open.
fn finish_opening(state: &mut AcpState, key: SessionKey) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let Stage::Opening(opening) = std::mem::replace(&mut session.stage, Stage::Open) else { return };
    let Opening { request, kind, messages, titles, .. } = opening;
    let (modes, choices) = (options::modes(session), options::all(session));
    match kind {
        BeginningKind::New => {
            let id = session.id.clone();
            state.answer(&request, &NewSessionResponse::new(id).modes(modes).config_options(choices));
        }
        BeginningKind::Fork(_) => {
            let id = session.id.clone();
            state.answer(&request, &ForkSessionResponse::new(id).modes(modes).config_options(choices));
        }
        BeginningKind::Load(_) => {
            replay::messages(state, key, &messages, &titles);
            state.answer(&request, &LoadSessionResponse::new().modes(modes).config_options(choices));
        }
        BeginningKind::Resume(_) => {
            state.answer(&request, &ResumeSessionResponse::new().modes(modes).config_options(choices));
        }
    }
    ask_commands(state, key);
}

fn ask_commands(state: &mut AcpState, key: SessionKey) {
    let ticket = state.query(key, Query::Commands);
    if let Some(session) = state.sessions.get_mut(&key) {
        session.commands = Some(ticket);
    }
}

/// Handles the answer to a query.
fn on_query_answer(
    state: &mut AcpState,
    key: SessionKey,
    ticket: u64,
    answer: Result<QueryAnswer, UserError>,
) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    if session.turn.as_ref().is_some_and(|turn| turn.idle == Some(ticket)) {
        return requests::finish(state, key);
    }
    if session.commands == Some(ticket) {
        session.commands = None;
        if let Ok(QueryAnswer::Commands(commands)) = answer {
            show_commands(state, key, &commands);
        }
        return;
    }
    if jobs::output(state, key, ticket, &answer) {
        return;
    }
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let is_page = matches!(&session.stage, Stage::Opening(opening) if opening.page == Some(ticket));
    match answer {
        Ok(QueryAnswer::HistoryPage(page)) if is_page => replay_page(state, key, &page),
        Err(error) if is_page => {
            replay_page(state, key, &HistoryPage { failed: Some(error.into()), ..HistoryPage::default() });
        }
        _ => {}
    }
}

fn withdraw(state: &mut AcpState, key: SessionKey, question: &str) {
    let is_it =
        |about: &About| matches!(about, About::Question { id, .. } | About::Plan { id } if id == question);
    state.withdraw(key, is_it);
}

/// Whether the client supports compactions.
fn knows_compactions(client: &ClientCapabilities) -> bool {
    client.session.as_ref().is_some_and(|session| session.compaction.is_some())
}

fn on_compaction_start(state: &mut AcpState, key: SessionKey) {
    let id = CompactionId::new(ids::id().to_string());
    if !state.client_can(knows_compactions) {
        return;
    }
    if let Some(session) = state.sessions.get_mut(&key) {
        session.compaction = Some(id.clone());
    }
    let news = CompactionUpdate::new(id, CompactionStatus::InProgress);
    state.update(key, SessionUpdate::CompactionUpdate(news));
}

fn on_compaction_end(
    state: &mut AcpState,
    key: SessionKey,
    result: Option<Box<CompactionResult>>,
    aborted: bool,
    error: Option<String>,
) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    if let Some(turn) = session.turn.as_mut().filter(|_| aborted) {
        turn.cancelled = true;
    }
    let Some(id) = session.compaction.take() else {
        if let Some(error) = error {
            notice(state, key, NoticeLevel::Error, error, None);
        } else if let Some(result) = result {
            let (before, after) = (result.tokens_before, result.estimated_tokens_after);
            let text = format!("the conversation was compacted from {before} to about {after} tokens");
            notice(state, key, NoticeLevel::Warning, text, None);
        }
        return;
    };
    let status = match (aborted, &result) {
        (true, _) => CompactionStatus::Cancelled,
        (false, Some(_)) => CompactionStatus::Completed,
        (false, None) => CompactionStatus::Failed,
    };
    let mut news = CompactionUpdate::new(id, status);
    if let Some(result) = result {
        news = news.summary(vec![ContentBlock::Text(TextContent::new(result.summary))]);
    }
    if let Some(error) = error {
        news = news.error(error);
    }
    state.update(key, SessionUpdate::CompactionUpdate(news));
}

/// Reports a remark of tau. Clients that support notices get it as one; others get the important ones in the
/// conversation, with the answer to the current prompt or to the next one.
fn notice(state: &mut AcpState, key: SessionKey, level: NoticeLevel, text: String, hint: Option<String>) {
    let knows = |client: &ClientCapabilities| {
        client.session.as_ref().is_some_and(|session| session.notices.is_some())
    };
    let severity = match level {
        NoticeLevel::Info => NoticeSeverity::Info,
        NoticeLevel::Warning => NoticeSeverity::Warning,
        NoticeLevel::Error => NoticeSeverity::Error,
    };
    if state.client_can(knows) {
        let news = Notice::new(severity, text).description(hint);
        return state.update(key, SessionUpdate::Notice(news));
    }
    if level == NoticeLevel::Info {
        return tracing::info!(text, "a notice that the editor does not show");
    }
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let remark = format!("{text}{hint}");
    if !session.remarks.contains(&remark) {
        session.remarks.push(remark);
    }
    if session.turn.is_some() {
        state.tell_remarks(key);
    }
}

/// Answers all requests that wait for the agent of a session, because it has ended.
fn on_agent_stop(state: &mut AcpState, key: SessionKey) {
    calls::give_up(state, key);
    state.asked.retain(|_, asked| asked.session != key);
    let Some(session) = state.sessions.remove(&key) else { return };
    let waiting = session.next.map(|next| next.request);
    let outputs = session.job_outputs.into_iter().map(|(_, request)| request);
    for request in session.turn.map(|turn| turn.request).into_iter().chain(waiting).chain(outputs) {
        state.answer(&request, &PromptResponse::new(StopReason::Cancelled));
    }
    match session.stage {
        Stage::Opening(opening) => {
            let text = "the agent ended before the session was open; see the editor's log of tau";
            state.refuse(&opening.request, &wire::error(ErrorCode::InternalError, text));
        }
        Stage::Open => {}
        Stage::Closing(requests) => {
            let answer = CloseSessionResponse::new();
            requests.iter().for_each(|request| state.answer(request, &answer));
        }
    }
}
