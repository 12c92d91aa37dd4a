//! `tau acp`: the Agent Client Protocol, version 1, on the standard streams, for editors.
//!
//! A fold over the events of several agents, one for each session: `wire` reads and writes messages,
//! `requests` handles the client's, `events` the agents', `approvals` asks the user; `state` holds the common
//! state, `host` makes agents. This file moves bytes and ends the program. The protocol is specified at
//! agentclientprotocol.com, and its types come from its authors' crate.

mod approvals;
mod calls;
mod calls_of_session;
mod editor;
mod events;
mod host;
mod jobs;
mod options;
mod plans;
mod prompt;
mod questions;
mod replay;
mod requests;
mod state;
mod wire;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

use agent_client_protocol_schema::v1::{
    AuthenticateResponse, CreateTerminalRequest, EnvVariable, Error, ErrorCode, KillTerminalRequest,
    ListSessionsResponse, ReadTextFileRequest, ReleaseTerminalRequest, RequestId, SessionId,
    TerminalOutputRequest, WaitForTerminalExitRequest, WriteTextFileRequest,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, JoinSet};

use super::args::CliArgs;
use super::rpc::lines::{InputLine, LineReader, MAX_LEN};
use crate::compose::profile::FrontEndProfile;
use crate::headless::batch::{Stop, StopWatch};
use crate::live::off_screen::OffScreen;
use crate::process::exit::{Exit, warn};
use crate::process::outgoing::Outgoing;
use crate::process::signals::CaughtSignal;
use editor::{EditorAsk, EditorLink, EditorRequest};
use host::{AcpHost, NewAgent};
use state::{About, AcpSession, AcpState, Beginning, Opening, Order, PendingRequest, SessionKey, Stage};
use tau_agent::{AgentCommand, AgentEvent};
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::TaskCommand;
use tau_protocol::event::{SessionInfo, TaskEvent};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::session_meter::SessionMeter;

/// The composition of this front end's agents.
pub(crate) const PROFILE: FrontEndProfile = FrontEndProfile::OF_CLIENT;

/// Number of unwritten bytes from which agents must wait.
const FULL: usize = 8 << 20;
/// Number of unwritten bytes from which the client's messages are left unread, too.
const OVERFULL: usize = 64 << 20;
/// Bytes of output kept by the client's terminals: the maximum that tools show.
const TERMINAL_BYTES: u64 = 1 << 20;
/// Maximum number of events handled together.
const BATCH: usize = 64;
/// Capacity of the queue for events of all agents.
const EVENTS: usize = 256;
/// Capacity of a session's queue of commands for its agent.
const COMMANDS: usize = 1_024;

/// Serves a client until its input ends, its output is closed or a signal arrives; returns the program's end.
/// `signals` gives the next signal each time it is called.
pub(crate) async fn run(
    args: CliArgs,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    signals: impl AsyncFnMut() -> CaughtSignal,
) -> Exit {
    let (news, events) = mpsc::channel(EVENTS);
    let (asks, asked) = mpsc::channel(EVENTS);
    let mut service = AcpService {
        host: AcpHost::new(args),
        state: AcpState::of(std::env::current_exe().unwrap_or_else(|_| "tau".into())),
        agents: BTreeMap::new(),
        off_screen: None,
        last_key: 0,
        news,
        events,
        asks,
        asked,
        replies: HashMap::new(),
        jobs: JoinSet::new(),
        stops: StopWatch::new(None, signals),
        lines: LineReader::new(input, MAX_LEN),
        out: Outgoing::new(output),
        reading: true,
    };
    let exit = service.serve().await;
    service.agents.values().for_each(|agent| agent.task.abort());
    exit
}

/// An event of an agent, and its session.
type News = (SessionKey, AgentEvent);

struct RunningAgent {
    commands: mpsc::Sender<AgentCommand>,
    task: JoinHandle<()>,
}

/// The result of a thread.
enum HostResult {
    Begun(SessionKey, Beginning, Result<Box<NewAgent>, Error>),
    Listed(RequestId, Result<ListSessionsResponse, Error>),
    Deleted(RequestId, Result<(), Error>),
    Authenticated(RequestId, Result<(), Error>),
}

struct AcpService<R, W, S> {
    host: AcpHost,
    state: AcpState,
    agents: BTreeMap<SessionKey, RunningAgent>,
    /// The way of other processes to their sessions; absent before the first one.
    off_screen: Option<OffScreen>,
    last_key: SessionKey,
    news: mpsc::Sender<News>,
    events: mpsc::Receiver<News>,
    /// The tools' requests to the editor.
    asks: mpsc::Sender<EditorAsk>,
    asked: mpsc::Receiver<EditorAsk>,
    /// The receivers of the editor's answers, by request id.
    replies: HashMap<i64, SyncSender<Result<Value, Error>>>,
    jobs: JoinSet<HostResult>,
    stops: StopWatch<S>,
    lines: LineReader<R>,
    out: Outgoing<W>,
    /// False once the input has ended.
    reading: bool,
}

/// A cause of waking the front end.
enum Wake {
    Line(std::io::Result<Option<InputLine>>),
    Events(Vec<News>),
    Asked(EditorAsk),
    Written(std::io::Result<usize>),
    Done(Result<HostResult, JoinError>),
    Stop(Stop),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, S: AsyncFnMut() -> CaughtSignal> AcpService<R, W, S> {
    async fn serve(&mut self) -> Exit {
        loop {
            while let Some(order) = self.state.orders.pop_front() {
                self.carry_out(order);
            }
            while let Some(record) = self.state.records.pop_front() {
                self.out.push(&record);
            }
            let is_over = !self.reading && self.agents.is_empty() && self.jobs.is_empty();
            if is_over && self.out.waiting() == 0 {
                self.out.flush().await;
                return self.exit();
            }
            let wake = self.wake().await;
            self.state.now = jiff::Timestamp::now();
            match wake {
                Wake::Line(Ok(Some(InputLine::Record(line)))) => {
                    requests::apply(&mut self.state, wire::read(&line));
                }
                Wake::Line(Ok(Some(InputLine::TooLong))) => {
                    let text = format!("the line is longer than {} MB: nothing was done", MAX_LEN >> 20);
                    self.state.refuse(&RequestId::Null, &wire::error(ErrorCode::InvalidRequest, text));
                }
                Wake::Line(_) => self.end_input(),
                Wake::Events(news) => {
                    for (key, event) in news {
                        if matches!(event, AgentEvent::Task(TaskEvent::Stopped)) {
                            self.agents.remove(&key);
                        }
                        events::apply(&mut self.state, key, event);
                    }
                    let asked = &self.state.asked;
                    self.replies.retain(|number, _| asked.contains_key(number));
                }
                Wake::Asked(ask) => self.ask_editor(ask),
                Wake::Written(written) => {
                    if !self.out.take(written) {
                        self.end_input();
                    }
                }
                Wake::Done(Ok(done)) => self.take(done),
                Wake::Done(Err(error)) => tracing::error!(%error, "a thread has failed"),
                Wake::Stop(Stop::Begin) => self.end_input(),
                Wake::Stop(Stop::Now) => return self.exit(),
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let unwritten = self.out.waiting();
        let has_room = unwritten < FULL;
        let reads = self.reading && unwritten < OVERFULL;
        let mut news = Vec::new();
        tokio::select! {
            stop = self.stops.next() => Wake::Stop(stop),
            written = self.out.write(), if unwritten > 0 => Wake::Written(written),
            _ = self.events.recv_many(&mut news, BATCH), if has_room => Wake::Events(news),
            Some(ask) = self.asked.recv() => Wake::Asked(ask),
            Some(done) = self.jobs.join_next() => Wake::Done(done),
            line = self.lines.next(), if reads => Wake::Line(line),
        }
    }

    fn carry_out(&mut self, order: Order) {
        let host = self.host.clone();
        match order {
            Order::Send(key, command) => self.send(key, command),
            Order::Reply(number, result) => {
                if let Some(reply) = self.replies.remove(&number) {
                    // An aborted tool no longer waits.
                    let _ = reply.try_send(result);
                }
            }
            Order::Begin(_) if !self.reading => {}
            Order::Begin(beginning) => {
                self.last_key += 1;
                let key = self.last_key;
                let editor = self.editor(key);
                self.jobs.spawn_blocking(move || {
                    let agent = host.begin(&beginning, editor).map(Box::new);
                    HostResult::Begun(key, beginning, agent)
                });
            }
            Order::List { request, cwd, cursor } => {
                self.jobs.spawn_blocking(move || {
                    HostResult::Listed(request, host.list(cwd.as_deref(), cursor.as_deref()))
                });
            }
            Order::Delete { request, id } => {
                self.jobs.spawn_blocking(move || HostResult::Deleted(request, host.delete(&id)));
            }
            Order::Authenticate { request } => {
                self.jobs.spawn_blocking(move || HostResult::Authenticated(request, host.authenticate()));
            }
        }
    }

    /// The client as an editor, if it offers its files or terminals.
    fn editor(&self, session: SessionKey) -> Option<EditorLink> {
        let files = self.state.client.as_ref().map(|client| client.fs.clone()).unwrap_or_default();
        let has_files = files.read_text_file || files.write_text_file;
        let has_terminals = self.state.client_can(|client| client.terminal);
        let asks = self.asks.clone();
        (has_files || has_terminals).then_some(EditorLink { session, asks, files, has_terminals })
    }

    /// Sends a tool's request to the client.
    fn ask_editor(&mut self, ask: EditorAsk) {
        let EditorAsk { session: key, request, answer } = ask;
        let Some(session) = self.state.sessions.get(&key) else { return };
        let id = session.id.clone();
        let about = match &request {
            EditorRequest::Create { shown, .. } => About::Terminal { command: shown.clone() },
            _ => About::Editor,
        };
        let asked = PendingRequest { session: key, about };
        let state = &mut self.state;
        let number = match request {
            EditorRequest::Read { path } => {
                state.ask("fs/read_text_file", &ReadTextFileRequest::new(id, path), asked)
            }
            EditorRequest::Write { path, content } => {
                state.ask("fs/write_text_file", &WriteTextFileRequest::new(id, path, content), asked)
            }
            EditorRequest::Create { args, env, cwd, .. } => {
                let env = env.into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
                let request = CreateTerminalRequest::new(id, "env").args(args).env(env);
                let request = request.cwd(PathBuf::from(cwd)).output_byte_limit(TERMINAL_BYTES);
                state.ask("terminal/create", &request, asked)
            }
            EditorRequest::Output { terminal } => {
                state.ask("terminal/output", &TerminalOutputRequest::new(id, terminal), asked)
            }
            EditorRequest::WaitForExit { terminal } => {
                state.ask("terminal/wait_for_exit", &WaitForTerminalExitRequest::new(id, terminal), asked)
            }
            EditorRequest::Kill { terminal } => {
                state.ask("terminal/kill", &KillTerminalRequest::new(id, terminal), asked)
            }
            EditorRequest::Release { terminal } => {
                state.ask("terminal/release", &ReleaseTerminalRequest::new(id, terminal), asked)
            }
        };
        self.replies.insert(number, answer);
    }

    /// Sends a command to an agent. An agent that accepts none any more, or far too few, is ended.
    fn send(&mut self, key: SessionKey, command: AgentCommand) {
        let Some(agent) = self.agents.get(&key) else { return };
        if agent.commands.try_send(command).is_err() {
            tracing::error!(key, "an agent takes no commands; it is ended");
            agent.task.abort();
            self.agents.remove(&key);
            events::apply(&mut self.state, key, AgentEvent::Task(TaskEvent::Stopped));
        }
    }

    fn take(&mut self, done: HostResult) {
        match done {
            HostResult::Begun(key, beginning, Ok(agent)) => self.start(key, beginning, *agent),
            HostResult::Begun(_, Beginning { request, .. }, Err(error)) => {
                self.state.refuse(&request, &error);
            }
            HostResult::Listed(request, Ok(list)) => self.state.answer(&request, &list),
            HostResult::Listed(request, Err(error)) => self.state.refuse(&request, &error),
            HostResult::Deleted(request, result) => {
                requests::answer_deletion(&mut self.state, &request, result);
            }
            HostResult::Authenticated(request, Ok(())) => {
                self.state.answer(&request, &AuthenticateResponse::new());
            }
            HostResult::Authenticated(request, Err(error)) => self.state.refuse(&request, &error),
        }
    }

    fn start(&mut self, key: SessionKey, beginning: Beginning, agent: NewAgent) {
        let NewAgent { config, prompt, setup, models, mode, mode_ceiling, notices } = agent;
        notices.iter().for_each(|notice| warn(notice));
        let info = config.session.info().clone();
        if self.state.sessions.values().any(|session| session.mirror.session.id == info.id) {
            let text = format!("session {} is already open", info.id);
            return self.state.refuse(&beginning.request, &wire::error(ErrorCode::InvalidRequest, text));
        }
        let (model, thinking) = (config.model.clone(), config.thinking);
        let off_screen = self.off_screen.get_or_insert_with(|| OffScreen::start(setup.clone(), true));
        let mut handle = off_screen.spawn(config, prompt, &setup, None);
        let (commands, mut inbox) = mpsc::channel(COMMANDS);
        let outbox = handle.commands.clone();
        tokio::spawn(async move {
            while let Some(command) = inbox.recv().await {
                if outbox.send(command).await.is_err() {
                    break;
                }
            }
        });
        let news = self.news.clone();
        tokio::spawn(async move {
            let mut has_stopped = false;
            while let Some(event) = handle.events.recv().await {
                has_stopped |= matches!(event, AgentEvent::Task(TaskEvent::Stopped));
                if news.send((key, event)).await.is_err() {
                    return;
                }
            }
            if !has_stopped {
                // There is no receiver left to tell if this fails.
                let _ = news.send((key, AgentEvent::Task(TaskEvent::Stopped))).await;
            }
        });
        let commands_of_agent = RunningAgent { commands, task: handle.task };
        self.agents.insert(key, commands_of_agent);
        self.state.sessions.insert(key, session(beginning, info, models, mode, mode_ceiling));
        if let Some(session) = self.state.sessions.get_mut(&key) {
            session.mirror.model = model;
            session.mirror.thinking = thinking;
        }
        if !self.reading {
            self.send(key, AgentCommand::Task(TaskCommand::Shutdown));
        }
    }

    /// Closes the input: the agents end once they have handled their commands.
    fn end_input(&mut self) {
        if std::mem::take(&mut self.reading) {
            let keys: Vec<SessionKey> = self.agents.keys().copied().collect();
            keys.into_iter().for_each(|key| self.send(key, AgentCommand::Task(TaskCommand::Shutdown)));
        }
    }

    fn exit(&self) -> Exit {
        match self.stops.stopping() {
            Some(exit) => exit,
            None if self.out.is_unwritable() => Exit::Model,
            None => Exit::Ok,
        }
    }
}

/// A session whose agent is starting.
fn session(
    beginning: Beginning,
    info: SessionInfo,
    models: Vec<std::sync::Arc<tau_protocol::model::Model>>,
    mode: PermissionMode,
    mode_ceiling: PermissionMode,
) -> AcpSession {
    let Beginning { request, kind, .. } = beginning;
    AcpSession {
        id: SessionId::new(info.id.as_str()),
        mirror: SessionMirror { session: info, mode, ..SessionMirror::default() },
        stage: Stage::Opening(Opening {
            request,
            kind,
            messages: Vec::new(),
            titles: BTreeMap::new(),
            has_more: false,
            page: None,
        }),
        models,
        prompts: None,
        mode_ceiling,
        used: SessionMeter::default(),
        is_priced: true,
        turn: None,
        job_outputs: Vec::new(),
        next: None,
        message: None,
        title: None,
        remarks: Vec::new(),
        compaction: None,
        running: BTreeMap::new(),
        terminals: BTreeMap::new(),
        commands: None,
    }
}
