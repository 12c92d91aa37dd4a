//! What the front end knows: the client, the sessions, what waits for an answer.
//!
//! Plain data. `requests` and `events` change it; what is to be done outside is put into `orders`, what
//! is to be written into `records`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, ClientCapabilities, CompactionId, Error, ErrorCode, McpServer, MessageId,
    RequestId, SessionId, SessionNotification, SessionUpdate, StopReason, TerminalId,
};
use serde::Serialize;
use serde_json::Value;

use super::wire;
use tau_protocol::approval::PermissionMode;
use tau_protocol::command::AgentCommand;
use tau_protocol::command::{QuestionCommand, TaskCommand};
use tau_protocol::message::{Block, Message, Usage};
use tau_protocol::mirror::SessionMirror;
use tau_protocol::model::Model;
use tau_protocol::query::Query;

/// Names a session within the program.
pub(crate) type SessionKey = u64;

/// The front end.
#[derive(Default)]
pub(crate) struct AcpState {
    /// What the client can do; absent until it has said so.
    pub(crate) client: Option<ClientCapabilities>,
    /// Whether the client shows one option of each kind in words of its own, not those that tau sends.
    pub(crate) names_options_itself: bool,
    pub(crate) sessions: BTreeMap<SessionKey, AcpSession>,
    /// Lines to be written, in order.
    pub(crate) records: VecDeque<String>,
    /// What is to be done outside, in order.
    pub(crate) orders: VecDeque<Order>,
    /// Requests to the client, by their ids.
    pub(crate) asked: HashMap<i64, Asked>,
    /// The time, as of the last thing that happened.
    pub(crate) now: jiff::Timestamp,
    last_request: i64,
    last_ticket: u64,
}

/// Something that is to be done outside.
pub(crate) enum Order {
    /// An agent is to be made for a session.
    Begin(Beginning),
    /// A command for an agent.
    Send(SessionKey, AgentCommand),
    /// The sessions are to be listed.
    List { request: RequestId, cwd: Option<PathBuf>, cursor: Option<String> },
    /// The session's file is to be deleted.
    Delete { request: RequestId, id: String },
    /// A tool has its answer: the request, and what the client said.
    Reply(i64, Result<Value, Error>),
    /// Whether a model can be used is to be found out.
    Authenticate { request: RequestId },
}

/// A session that a client wants.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) request: RequestId,
    pub(crate) kind: BeginningKind,
    /// Absolute.
    pub(crate) cwd: PathBuf,
    pub(crate) servers: Vec<McpServer>,
}

/// Which session is to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BeginningKind {
    New,
    /// This one, and the client gets its messages.
    Load(String),
    /// This one; the client has its messages.
    Resume(String),
}

/// A request to the client, and what its answer is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) session: SessionKey,
    pub(crate) about: About,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Whether a call may run: the id of the request for approval, and the rules that were offered.
    Approval { id: String, rules: Vec<String> },
    /// What an MCP server wants to know: the id of the question.
    Question { id: String, kind: QuestionKind },
    /// What becomes of a plan: the id of the question.
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
    /// So many questions of the model.
    User(usize),
}

/// A session with its agent.
pub(crate) struct AcpSession {
    pub(crate) id: SessionId,
    /// What is known of it.
    pub(crate) mirror: SessionMirror,
    pub(crate) stage: Stage,
    /// The names of the prompts that can be sent as commands.
    pub(crate) prompts: Vec<String>,
    /// The models that can be chosen.
    pub(crate) models: Vec<Arc<Model>>,
    /// The mode above which the client cannot choose one.
    pub(crate) mode_ceiling: PermissionMode,
    /// What the session has used so far, and whether all of it has a price.
    pub(crate) used: Usage,
    pub(crate) is_priced: bool,
    /// The prompt that is being answered.
    pub(crate) turn: Option<Turn>,
    /// The prompt that came after a cancelled one, until that has ended.
    pub(crate) next: Option<NextPrompt>,
    /// The message that is being streamed.
    pub(crate) message: Option<MessageId>,
    /// The title that the client knows.
    pub(crate) title: Option<String>,
    /// The compaction that runs.
    pub(crate) compaction: Option<CompactionId>,
    /// The tool calls that were shown and have not ended, by their ids, with their commands.
    pub(crate) running: BTreeMap<String, Option<String>>,
    /// The terminals of the client in which calls run, by the ids of the calls.
    pub(crate) terminals: BTreeMap<String, TerminalId>,
    /// The query for the commands that are sent to the client.
    pub(crate) commands: Option<u64>,
}

/// How far a session is.
pub(crate) enum Stage {
    /// Its agent is starting, or its messages are being sent.
    Opening(Opening),
    Open,
    /// Its agent is ending; these want to know when it has.
    Closing(Vec<RequestId>),
}

/// A session that is being opened.
pub(crate) struct Opening {
    pub(crate) request: RequestId,
    pub(crate) kind: BeginningKind,
    /// The last messages, as the agent reported them.
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) titles: BTreeMap<String, String>,
    /// Whether there are messages before those.
    pub(crate) has_more: bool,
    /// The page of messages that was asked for.
    pub(crate) page: Option<u64>,
}

/// A prompt that is being answered.
pub(crate) struct Turn {
    pub(crate) request: RequestId,
    /// The query that is answered when nothing is left to do.
    pub(crate) idle: Option<u64>,
    pub(crate) cancelled: bool,
    pub(crate) outcome: StopReason,
    /// Why the last request to the provider failed.
    pub(crate) failure: Option<String>,
}

/// A prompt that has to wait.
pub(crate) struct NextPrompt {
    pub(crate) request: RequestId,
    pub(crate) text: String,
    pub(crate) images: Vec<Block>,
}

impl AcpState {
    /// Writes a line.
    pub(crate) fn answer(&mut self, request: &RequestId, result: &impl Serialize) {
        self.records.push_back(wire::answer(request, result));
    }

    /// Refuses a request.
    pub(crate) fn refuse(&mut self, request: &RequestId, error: &Error) {
        self.records.push_back(wire::refusal(request, error));
    }

    /// Asks the client; the id of the request.
    pub(crate) fn ask(&mut self, method: &str, params: &impl Serialize, asked: Asked) -> i64 {
        self.last_request += 1;
        self.records.push_back(wire::request(self.last_request, method, params));
        self.asked.insert(self.last_request, asked);
        self.last_request
    }

    /// Tells the client that it need not answer a request any more.
    pub(crate) fn withdraw(&mut self, is_it: impl Fn(&Asked) -> bool) {
        let found = self.asked.iter().find(|(_, asked)| is_it(asked)).map(|(number, _)| *number);
        if let Some(number) = found {
            self.asked.remove(&number);
            let withdrawn = CancelRequestNotification::new(RequestId::Number(number));
            self.records.push_back(wire::notification("$/cancel_request", &withdrawn));
        }
    }

    /// Tells the client of a session's news.
    pub(crate) fn update(&mut self, key: SessionKey, update: SessionUpdate) {
        if let Some(session) = self.sessions.get(&key) {
            let news = SessionNotification::new(session.id.clone(), update);
            self.records.push_back(wire::notification("session/update", &news));
        }
    }

    /// Sends a command to the agent of a session.
    pub(crate) fn send(&mut self, key: SessionKey, command: impl Into<AgentCommand>) {
        let command = command.into();
        if let AgentCommand::Questions(QuestionCommand::Answer { id, .. }) = &command
            && let Some(session) = self.sessions.get_mut(&key)
        {
            session.mirror.answered(id);
        }
        self.orders.push_back(Order::Send(key, command));
    }

    /// Asks the agent of a session; the ticket of its answer.
    pub(crate) fn query(&mut self, key: SessionKey, query: Query) -> u64 {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.send(key, AgentCommand::Task(TaskCommand::Query { ticket, query }));
        ticket
    }

    /// The open session with this id.
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

    /// Whether the client has this ability.
    pub(crate) fn client_can(&self, ability: impl FnOnce(&ClientCapabilities) -> bool) -> bool {
        self.client.as_ref().is_some_and(ability)
    }
}
