//! Handles the client's messages: an answer at once, or a command or an order and an answer later.
//!
//! Pure.

use std::path::PathBuf;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal,
    AuthenticateRequest, CancelNotification, CloseSessionRequest, DeleteSessionRequest,
    DeleteSessionResponse, Error, ErrorCode, ForkSessionRequest, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, LoadSessionRequest, McpCapabilities, McpServer, Meta,
    NewSessionRequest, PromptCapabilities, PromptRequest, PromptResponse, RequestId, ResumeSessionRequest,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities,
    SessionId, SessionInfoUpdate, SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse, StopReason, TerminalId,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::state::{About, AcpState, Beginning, BeginningKind, NextPrompt, Order, SessionKey, Stage, Turn};
use super::wire::Incoming;
use super::{approvals, calls_of_session, jobs, options, plans, prompt, questions, wire};
use crate::process::plain;
use tau_app::slash::{Commands, Slash};
use tau_protocol::command::{AgentCommand, Queue, RunCommand, SettingsCommand, TaskCommand};
use tau_protocol::message::Block;
use tau_protocol::query::Query;
use tau_protocol::title;

/// The built-in command that a prompt can contain.
pub(crate) const COMPACT: &str = "compact";

/// Handles a message.
pub(crate) fn apply(state: &mut AcpState, message: Incoming) {
    match message {
        Incoming::Request { id, method, params } => {
            if let Err(error) = request(state, &id, &method, params) {
                state.refuse(&id, &error);
            }
        }
        Incoming::Notification { method, params } => notification(state, &method, params),
        Incoming::Response { id, result } => on_answer(state, &id, result),
        Incoming::Malformed { id, error } => state.refuse(&id, &error),
    }
}

/// Reads the parameters of a method.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { String::new() } else { format!(" at `{path}`") };
        wire::error(ErrorCode::InvalidParams, format!("the parameters are wrong{place}: {}", error.inner()))
    })
}

fn request(state: &mut AcpState, id: &RequestId, method: &str, params: Value) -> Result<(), Error> {
    if method == "initialize" {
        return initialize(state, id, read(params)?);
    }
    if state.client.is_none() && !method.starts_with('_') {
        return Err(wire::error(ErrorCode::InvalidRequest, "the first request must be `initialize`"));
    }
    match method {
        "authenticate" => {
            let request: AuthenticateRequest = read(params)?;
            if request.method_id.0.as_ref() != KEYS {
                let text = format!("no such way to log in: \"{}\"", request.method_id);
                return Err(wire::error(ErrorCode::InvalidParams, text));
            }
            state.orders.push_back(Order::Authenticate { request: id.clone() });
            Ok(())
        }
        "session/new" => {
            let NewSessionRequest { cwd, mcp_servers, .. } = read(params)?;
            begin(state, id, BeginningKind::New, cwd, mcp_servers)
        }
        "session/load" => {
            let LoadSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
            begin(state, id, BeginningKind::Load(unopened_id(state, &session_id)?), cwd, mcp_servers)
        }
        "session/resume" => {
            let ResumeSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
            begin(state, id, BeginningKind::Resume(unopened_id(state, &session_id)?), cwd, mcp_servers)
        }
        "session/fork" => {
            let ForkSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
            begin(state, id, BeginningKind::Fork(session_id.0.as_ref().to_owned()), cwd, mcp_servers)
        }
        "session/list" => {
            let ListSessionsRequest { cwd, cursor, .. } = read(params)?;
            let cwd = cwd.map(absolute).transpose()?;
            state.orders.push_back(Order::List { request: id.clone(), cwd, cursor });
            Ok(())
        }
        "session/delete" => delete(state, id, &read::<DeleteSessionRequest>(params)?.session_id),
        "session/close" => close(state, id, &read::<CloseSessionRequest>(params)?.session_id),
        "session/prompt" => start(state, id, read(params)?),
        "session/set_mode" => {
            let SetSessionModeRequest { session_id, mode_id, .. } = read(params)?;
            let key = state.open_session(&session_id)?;
            let mode = state.sessions.get(&key).map(|session| options::find_mode(session, &mode_id.0));
            if let Some(mode) = mode.transpose()? {
                state.send(key, SettingsCommand::SetPermissionMode { mode });
            }
            state.answer(id, &SetSessionModeResponse::new());
            Ok(())
        }
        "session/set_config_option" => configure(state, id, &read(params)?),
        _ => Err(wire::error(ErrorCode::MethodNotFound, format!("no method `{method}`"))),
    }
}

/// The login method without any further step: keys from files and the environment.
const KEYS: &str = "keys";
/// The login method for which the client starts tau in a terminal.
const TERMINAL: &str = "terminal";
/// The name of the same in `_meta`.
const TERMINAL_BEFORE: &str = "terminal-auth";

fn initialize(state: &mut AcpState, id: &RequestId, request: InitializeRequest) -> Result<(), Error> {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions)
        .auth(AgentAuthCapabilities::new());
    let keys = AuthMethodAgent::new(KEYS, "Key of a provider")
        .description("Save a key with `tau auth set PROVIDER`, or set its environment variable");
    let mut ways = vec![AuthMethod::Agent(keys)];
    // Clients asked for it in this way before it was part of the protocol, and the registry still does.
    let before = request.client_capabilities.meta.as_ref();
    let before = before.and_then(|meta| meta.get(TERMINAL_BEFORE)?.as_bool()) == Some(true);
    if request.client_capabilities.auth.terminal || before {
        let label = "Choose a model in a terminal";
        let command =
            json!({"label": label, "command": state.program, "args": ["acp", "--login"], "env": {}});
        let meta = Meta::from_iter([(TERMINAL_BEFORE.to_owned(), command)]);
        let terminal = AuthMethodTerminal::new(TERMINAL, label)
            .description("Starts tau, where /login saves a key")
            .args(vec!["--login".to_owned()])
            .meta(before.then_some(meta));
        ways.push(AuthMethod::Terminal(terminal));
    }
    // A client with another version gets ours, and closes the connection if it does not support it.
    let answer = InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(ways)
        .agent_info(Implementation::new("tau", env!("CARGO_PKG_VERSION")).title("tau"));
    state.names_options_itself =
        request.client_info.is_some_and(|client| approvals::names_itself(&client.name));
    state.client = Some(request.client_capabilities);
    state.answer(id, &answer);
    Ok(())
}

fn absolute(cwd: PathBuf) -> Result<PathBuf, Error> {
    if cwd.is_absolute() {
        return Ok(cwd);
    }
    Err(wire::error(ErrorCode::InvalidParams, format!("`cwd` must be an absolute path: {}", cwd.display())))
}

/// The id of a session that is not open yet.
fn unopened_id(state: &AcpState, id: &SessionId) -> Result<String, Error> {
    if state.sessions.values().any(|session| session.id == *id) {
        let text = format!("session {id} is already open; close it first with session/close");
        return Err(wire::error(ErrorCode::InvalidRequest, text));
    }
    Ok(id.0.as_ref().to_owned())
}

fn begin(
    state: &mut AcpState,
    id: &RequestId,
    kind: BeginningKind,
    cwd: PathBuf,
    servers: Vec<McpServer>,
) -> Result<(), Error> {
    let cwd = absolute(cwd)?;
    state.orders.push_back(Order::Begin(Beginning { request: id.clone(), kind, cwd, servers }));
    Ok(())
}

/// Deletes a session that is not open here: an open one must be closed first.
fn delete(state: &mut AcpState, id: &RequestId, session: &SessionId) -> Result<(), Error> {
    let session = unopened_id(state, session)?;
    state.orders.push_back(Order::Delete { request: id.clone(), id: session });
    Ok(())
}

/// Answers the request to delete a session, once that is done.
pub(crate) fn answer_deletion(state: &mut AcpState, id: &RequestId, result: Result<(), Error>) {
    match result {
        Ok(()) => state.answer(id, &DeleteSessionResponse::new()),
        Err(error) => state.refuse(id, &error),
    }
}

fn close(state: &mut AcpState, id: &RequestId, session: &SessionId) -> Result<(), Error> {
    let key = state.open_session(session)?;
    if let Some(session) = state.sessions.get_mut(&key) {
        session.stage = Stage::Closing(vec![id.clone()]);
        if let Some(turn) = &mut session.turn {
            turn.cancelled = true;
        }
    }
    state.send(key, TaskCommand::Shutdown);
    Ok(())
}

/// Starts a prompt. After a cancelled one it waits until that has ended.
fn start(state: &mut AcpState, id: &RequestId, request: PromptRequest) -> Result<(), Error> {
    let key = state.open_session(&request.session_id)?;
    let (text, images) = prompt::read(request.prompt)?;
    let Some(session) = state.sessions.get_mut(&key) else { return Ok(()) };
    match &session.turn {
        Some(turn) if turn.cancelled && session.next.is_none() => {
            session.next = Some(NextPrompt { request: id.clone(), text, images });
            Ok(())
        }
        Some(_) => {
            let text =
                "a prompt of this session is being answered; wait for its answer, or send session/cancel";
            Err(wire::error(ErrorCode::InvalidRequest, text))
        }
        None => {
            send(state, key, id.clone(), text, images);
            Ok(())
        }
    }
}

/// Sends a prompt to the agent.
pub(crate) fn send(
    state: &mut AcpState,
    key: SessionKey,
    request: RequestId,
    text: String,
    images: Vec<Block>,
) {
    let title = title::of(&text);
    let (known, session) = (Commands::default(), state.sessions.get(&key));
    let is_prompt = |name: &str| {
        session.is_some_and(|session| session.prompts.iter().flatten().any(|own| own.name == name))
    };
    let command = match known.parse(&text) {
        Some(Ok((row, argument))) if row.slash == Slash::Jobs && !is_prompt(&row.name) => {
            return jobs::answer(state, key, &request, argument);
        }
        Some(Ok((row, instructions)))
            if row.slash == Slash::Compact && (row.name == COMPACT || !is_prompt(&row.name)) =>
        {
            let instructions = Some(instructions.to_owned()).filter(|rest| !rest.is_empty());
            AgentCommand::Run(RunCommand::Compact { instructions })
        }
        _ => AgentCommand::Run(RunCommand::Prompt { text, images, streaming: Queue::FollowUp }),
    };
    state.send(key, command);
    let idle = state.query(key, Query::Idle);
    if let Some(session) = state.sessions.get_mut(&key) {
        let outcome = StopReason::EndTurn;
        session.turn = Some(Turn { request, idle: Some(idle), cancelled: false, outcome, failure: None });
        // The title of an earlier session comes from its first prompt.
        session.title = session.title.take().or(title.filter(|_| !session.mirror.session.resumed));
        state.tell_remarks(key);
    }
}

fn configure(
    state: &mut AcpState,
    id: &RequestId,
    request: &SetSessionConfigOptionRequest,
) -> Result<(), Error> {
    let key = state.open_session(&request.session_id)?;
    let Some(session) = state.sessions.get_mut(&key) else { return Ok(()) };
    let command = options::choose(session, &request.config_id.0, &request.value)?;
    let answer = SetSessionConfigOptionResponse::new(options::all(session));
    state.send(key, command);
    state.answer(id, &answer);
    Ok(())
}

/// Answers the prompt of a session, and starts the next.
pub(crate) fn finish(state: &mut AcpState, key: SessionKey) {
    calls_of_session::give_up(state, key);
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let Some(turn) = session.turn.take() else { return };
    let next = session.next.take();
    show_info(state, key);
    match turn.failure {
        _ if turn.cancelled => state.answer(&turn.request, &PromptResponse::new(StopReason::Cancelled)),
        Some(failure) => state.refuse(&turn.request, &wire::error(ErrorCode::InternalError, failure)),
        None => state.answer(&turn.request, &PromptResponse::new(turn.outcome)),
    }
    if let Some(next) = next {
        send(state, key, next.request, next.text, next.images);
    }
}

/// Reports the title of the session and the time of its last change to the client.
fn show_info(state: &mut AcpState, key: SessionKey) {
    let changed = state.now.to_string();
    let Some(session) = state.sessions.get(&key) else { return };
    let title = session.mirror.session.name.clone().or_else(|| session.title.clone());
    let mut news = SessionInfoUpdate::new().updated_at(changed);
    if let Some(title) = title {
        news = news.title(plain::line(&title));
    }
    state.update(key, SessionUpdate::SessionInfoUpdate(news));
}

/// Handles a notification. Notifications are never answered, so faults are only logged.
fn notification(state: &mut AcpState, method: &str, params: Value) {
    match method {
        "session/cancel" => match read::<CancelNotification>(params) {
            Ok(CancelNotification { session_id, .. }) => match state.open_session(&session_id) {
                Ok(key) => cancel(state, key),
                Err(error) => tracing::debug!(%error, "nothing to cancel"),
            },
            Err(error) => tracing::warn!(%error, "a session/cancel is not understood"),
        },
        "$/cancel_request" => {
            let id =
                params.get("requestId").cloned().and_then(|id| serde_json::from_value::<RequestId>(id).ok());
            let waits = |next: &mut NextPrompt| Some(&next.request) == id.as_ref();
            if let Some(next) = state.sessions.values_mut().find_map(|session| session.next.take_if(waits)) {
                return state.answer(&next.request, &PromptResponse::new(StopReason::Cancelled));
            }
            let is_it = |turn: &Turn| Some(&turn.request) == id.as_ref();
            let found = state.sessions.iter().find(|(_, session)| session.turn.as_ref().is_some_and(is_it));
            if let Some(key) = found.map(|(key, _)| *key) {
                cancel(state, key);
            }
        }
        _ => tracing::debug!(method, "an unknown notification is ignored"),
    }
}

/// Stops the session's current work. A waiting prompt is answered here; the running one when it has ended.
fn cancel(state: &mut AcpState, key: SessionKey) {
    let Some(session) = state.sessions.get_mut(&key) else { return };
    let Some(turn) = &mut session.turn else { return };
    turn.cancelled = true;
    if let Some(next) = session.next.take() {
        state.answer(&next.request, &PromptResponse::new(StopReason::Cancelled));
    }
    state.send(key, RunCommand::Abort);
}

/// Handles an answer of the client. An answer to a withdrawn request is dropped.
fn on_answer(state: &mut AcpState, id: &RequestId, result: Result<Value, Error>) {
    let RequestId::Number(number) = id else { return };
    if let Some(asked) = state.asked.remove(number) {
        let key = asked.session;
        match asked.about {
            About::Approval { id, rules } => approvals::on_answer(state, key, id, rules, result),
            About::Editor => state.orders.push_back(Order::Reply(*number, result)),
            About::Terminal { command } => {
                let terminal = result.as_ref().ok().and_then(|result| result.get("terminalId")?.as_str());
                if let Some(terminal) = terminal.map(|id| TerminalId::new(id.to_owned())) {
                    calls_of_session::in_terminal(state, key, &command, &terminal);
                }
                state.orders.push_back(Order::Reply(*number, result));
            }
            About::Question { id, kind } => questions::on_answer(state, key, id, kind, result),
            About::Plan { id } => plans::on_answer(state, key, id, result),
        }
    }
}
