//! The state of the front end: the client, the sessions, pending requests.
//!
//! Plain data. `requests` and `events` change it; outside work is queued in `orders`, output in `records`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, ClientCapabilities, CompactionId, ContentBlock, ContentChunk, Error,
    ErrorCode, McpServer, MessageId, RequestId, SessionId, SessionNotification, SessionUpdate, StopReason,
    TerminalId, TextContent,
};
use serde::Serialize;
use serde_json::Value;

use super::wire;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::{AgentCommand, TaskCommand};
use tau_protocol::extension::PromptCommand;
use tau_protocol::message::{Block, Message};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::model::Model;
use tau_protocol::query::Query;
use tau_protocol::session_meter::SessionMeter;
use tau_tools::ids;

/// Identifies a session within the program.
pub(crate) type SessionKey = u64;

/// The front end.
#[derive(Default)]
pub(crate) struct AcpState {
    /// The client's capabilities; absent until it has reported them.
    pub(crate) client: Option<ClientCapabilities>,
    /// The program to start for a login in a terminal.
    pub(crate) program: PathBuf,
    /// Whether the client shows one option of each kind with its own labels instead of tau's.
    pub(crate) names_options_itself: bool,
    pub(crate) sessions: BTreeMap<SessionKey, AcpSession>,
    /// Lines to write, in order.
    pub(crate) records: VecDeque<String>,
    /// Outside work, in order.
    pub(crate) orders: VecDeque<Order>,
    /// Requests to the client, by their ids.
    pub(crate) asked: HashMap<i64, PendingRequest>,
    /// The time of the last event.
    pub(crate) now: jiff::Timestamp,
    last_request: i64,
    last_ticket: u64,
}

/// A piece of outside work.
pub(crate) enum Order {
    /// Make an agent for a session.
    Begin(Beginning),
    /// A command for an agent.
    Send(SessionKey, AgentCommand),
    /// List the sessions.
    List { request: RequestId, cwd: Option<PathBuf>, cursor: Option<String> },
    /// Delete the session's file.
    Delete { request: RequestId, id: String },
    /// Give a tool its answer: the request, and the client's result.
    Reply(i64, Result<Value, Error>),
    /// Check whether a model is available.
    Authenticate { request: RequestId },
}

/// A session requested by a client.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) request: RequestId,
    pub(crate) kind: BeginningKind,
    /// Absolute.
    pub(crate) cwd: PathBuf,
    pub(crate) servers: Vec<McpServer>,
}

/// The kind of session to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BeginningKind {
    New,
    /// This session, whose messages the client gets.
    Load(String),
    /// This session; the client has its messages.
    Resume(String),
    /// A copy of this session under a new id.
    Fork(String),
}

/// A request to the client, and the purpose of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingRequest {
    pub(crate) session: SessionKey,
    pub(crate) about: About,
}

/// The subject of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Whether a call may run: the id of the request for approval, and the offered rules.
    Approval { id: String, rules: Vec<String> },
    /// A question from an MCP server or the model: its id.
    Question { id: String, kind: QuestionKind },
    /// The decision on a plan: the id of the question.
    Plan { id: String },
    /// A file or a terminal, for a tool.
    Editor,
    /// A terminal for this command of the model.
    Terminal { command: String },
}

/// The shape of the answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuestionKind {
    Form,
    Url,
    Confirm,
    Select,
    /// This many questions of the model.
    User(usize),
}

/// A session with its agent.
pub(crate) struct AcpSession {
    pub(crate) id: SessionId,
    /// Its known state.
    pub(crate) mirror: SessionMirror,
    pub(crate) stage: Stage,
    /// The prompts that work as commands, as the client was last told.
    pub(crate) prompts: Option<Vec<PromptCommand>>,
    /// The available models.
    pub(crate) models: Vec<Arc<Model>>,
    /// The most permissive mode that the client can choose.
    pub(crate) mode_ceiling: PermissionMode,
    /// The session's usage so far, and whether all of it has a price.
    pub(crate) used: SessionMeter,
    pub(crate) is_priced: bool,
    /// The prompt that is being answered.
    pub(crate) turn: Option<Turn>,
    /// The requests for the output of jobs, with the tickets of their queries.
    pub(crate) job_outputs: Vec<(u64, RequestId)>,
    /// The prompt after a cancelled one, until that has ended.
    pub(crate) next: Option<NextPrompt>,
    /// The message that is being streamed.
    pub(crate) message: Option<MessageId>,
    /// The title that the client knows.
    pub(crate) title: Option<String>,
    /// Remarks that wait for the next prompt.
    pub(crate) remarks: Vec<String>,
    /// The running compaction.
    pub(crate) compaction: Option<CompactionId>,
    /// The reported tool calls that have not ended, by id, with their commands.
    pub(crate) running: BTreeMap<String, Option<String>>,
    /// The client's terminals in which calls run, by call id.
    pub(crate) terminals: BTreeMap<String, TerminalId>,
    /// The query for the commands that are sent to the client.
    pub(crate) commands: Option<u64>,
}

/// The state of a session.
pub(crate) enum Stage {
    /// Its agent is starting, or its messages are being sent.
    Opening(Opening),
    Open,
    /// Its agent is ending; these requests wait for that.
    Closing(Vec<RequestId>),
}

/// A session that is being opened.
pub(crate) struct Opening {
    pub(crate) request: RequestId,
    pub(crate) kind: BeginningKind,
    /// The last messages, as reported by the agent.
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) titles: BTreeMap<String, String>,
    /// Whether there are messages before those.
    pub(crate) has_more: bool,
    /// The requested page of messages.
    pub(crate) page: Option<u64>,
}

/// A prompt that is being answered.
pub(crate) struct Turn {
    pub(crate) request: RequestId,
    /// The query that is answered when no work is left.
    pub(crate) idle: Option<u64>,
    pub(crate) cancelled: bool,
    pub(crate) outcome: StopReason,
    /// The failure of the last request to the provider.
    pub(crate) failure: Option<String>,
}

/// A prompt that must wait.
pub(crate) struct NextPrompt {
    pub(crate) request: RequestId,
    pub(crate) text: String,
    pub(crate) images: Vec<Block>,
}

impl AcpState {
    /// The state at the start, for this program.
    pub(crate) fn of(program: PathBuf) -> Self {
        AcpState { program, ..AcpState::default() }
    }

    /// Queues the answer to a request.
    pub(crate) fn answer(&mut self, request: &RequestId, result: &impl Serialize) {
        self.records.push_back(wire::answer(request, result));
    }

    pub(crate) fn refuse(&mut self, request: &RequestId, error: &Error) {
        self.records.push_back(wire::refusal(request, error));
    }

    /// Sends a request to the client and returns its id.
    pub(crate) fn ask(&mut self, method: &str, params: &impl Serialize, asked: PendingRequest) -> i64 {
        self.last_request += 1;
        self.records.push_back(wire::request(self.last_request, method, params));
        self.asked.insert(self.last_request, asked);
        self.last_request
    }

    /// Tells the client that it need not answer a request of a session any more.
    pub(crate) fn withdraw(&mut self, key: SessionKey, is_it: impl Fn(&About) -> bool) {
        // Ids count per session.
        let is_it = |asked: &PendingRequest| asked.session == key && is_it(&asked.about);
        let found = self.asked.iter().find(|(_, asked)| is_it(asked)).map(|(number, _)| *number);
        if let Some(number) = found {
            self.asked.remove(&number);
            let withdrawn = CancelRequestNotification::new(RequestId::Number(number));
            self.records.push_back(wire::notification("$/cancel_request", &withdrawn));
        }
    }

    /// Sends an update of a session to the client.
    pub(crate) fn update(&mut self, key: SessionKey, update: SessionUpdate) {
        if let Some(session) = self.sessions.get(&key) {
            let news = SessionNotification::new(session.id.clone(), update);
            self.records.push_back(wire::notification("session/update", &news));
        }
    }

    /// Says in the conversation what waits for it.
    pub(crate) fn tell_remarks(&mut self, key: SessionKey) {
        let remarks = self.sessions.get_mut(&key).map(|session| std::mem::take(&mut session.remarks));
        for text in remarks.into_iter().flatten() {
            let text = ContentBlock::Text(TextContent::new(format!("\n\n> tau: {text}\n\n")));
            let news = ContentChunk::new(text).message_id(Some(MessageId::new(ids::id().to_string())));
            self.update(key, SessionUpdate::AgentMessageChunk(news));
        }
    }

    pub(crate) fn send(&mut self, key: SessionKey, command: impl Into<AgentCommand>) {
        let command = command.into();
        if let Some(session) = self.sessions.get_mut(&key) {
            session.mirror.apply_command(&command);
        }
        self.orders.push_back(Order::Send(key, command));
    }

    /// Sends a query to the agent of a session and returns its ticket.
    pub(crate) fn query(&mut self, key: SessionKey, query: Query) -> u64 {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.send(key, AgentCommand::Task(TaskCommand::Query { ticket, query }));
        ticket
    }

    pub(crate) fn open_session(&self, id: &SessionId) -> Result<SessionKey, Error> {
        let found = self.sessions.iter().find(|(_, session)| session.id == *id);
        match found {
            Some((key, session)) if matches!(session.stage, Stage::Open) => Ok(*key),
            Some(_) => Err(wire::error(
                ErrorCode::InvalidRequest,
                format!("session {id} is being opened or closed; wait for the answer to that"),
            )),
            None => Err(wire::error(
                ErrorCode::ResourceNotFound,
                format!("no session {id} is open; use session/load or session/resume first"),
            )),
        }
    }

    /// Whether the client has this capability.
    pub(crate) fn client_can(&self, ability: impl FnOnce(&ClientCapabilities) -> bool) -> bool {
        self.client.as_ref().is_some_and(ability)
    }
}
