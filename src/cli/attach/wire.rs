//! The messages between `tau attach` and `tau serve`: the agent's commands and events, unchanged.
//!
//! Nothing here is stable between versions, so both sides start with their protocol version ([`protocol_version`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use tau_protocol::command::{AgentCommand, SessionChange};
use tau_protocol::event::AgentEvent;
use tau_protocol::live_session::{LiveRow, WaitingQuestions};
use tau_protocol::query::QueryAnswer;

/// The number of the wire format. Raise it with every change of a type that is sent; a test compares their
/// definitions with `tests/golden/attach_wire.txt`.
const WIRE: u32 = 44;

/// The protocol of this build: the version of tau and the number of its wire format, since two builds of one
/// version may differ in it.
pub(crate) fn protocol_version() -> String {
    format!("tau {}, attach {WIRE}", env!("CARGO_PKG_VERSION"))
}

/// The header with a client's protocol.
pub(crate) const HEADER: &str = "x-tau-attach";

/// Words between both ends of an ssh.
pub(crate) mod relay {
    /// The first argument of the process there. Nobody types it.
    pub(crate) const WORD: &str = "--attach-relay";
    /// The argument after it, to print the protocol.
    pub(crate) const PROTOCOL: &str = "protocol";
    /// The argument after it, to serve.
    pub(crate) const SERVE: &str = "serve";
    /// The argument after it, to run a command.
    pub(crate) const RUN: &str = "run";
    /// The prefix of each line to the client, to tell it apart from what a login shell prints.
    pub(crate) const MARK: &str = "tau-attach: ";
}

/// Names of the frames of the stream.
pub(crate) mod frame {
    /// The first one: [`super::Greeting`].
    pub(crate) const ATTACHED: &str = "attached";
    /// The session as a whole, which replaces earlier frames: [`super::EventBatch`].
    pub(crate) const OPENED: &str = "opened";
    /// The next events: [`super::EventBatch`].
    pub(crate) const EVENTS: &str = "events";
    /// The last one: [`super::StreamEnd`].
    pub(crate) const CLOSED: &str = "closed";
}

/// The session to attach to, as requested.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AttachRequest {
    /// An id, a prefix of one, or a name; without one the most recently used session.
    pub session: Option<String>,
    /// Whether to start a new session instead.
    pub new: bool,
}

/// The first line to a relay behind ssh: what to attach to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Hello {
    /// The token of the requests that follow.
    pub token: String,
    /// The folder: absolute, or `~` with a path below the home folder.
    pub directory: Option<String>,
    /// The id of a session, its beginning or its last digits.
    pub session: Option<String>,
    /// Whether to start a new session.
    pub new: bool,
    /// Whether the session is known, as the connection was lost: nothing is looked for.
    pub again: bool,
    /// Whether the connection is for a board: no session is opened, and [`BoardAsk`] follow.
    pub board: bool,
}

/// The answer of a relay to [`Hello`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Welcome {
    /// Requests about this session are taken from here on.
    Session {
        id: String,
        #[serde(with = "tau_tools::path_text")]
        directory: PathBuf,
    },
    /// Neither a folder nor a session was named: these are open. Another [`Hello`] follows.
    Choose { sessions: Vec<LiveRow> },
    /// The sessions of the folder, or all, are shown on a board.
    Board,
    /// It cannot be done, for this reason.
    Refused { why: String },
}

/// The session to attach to, as found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct AttachReply {
    pub id: String,
}

/// The request that opens the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamRequest {
    /// The client's id, by which it is recognised.
    pub client: String,
    /// The id of the last event that it received.
    pub after: Option<String>,
}

/// The first frame of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// The number of the next command: earlier ones were accepted from this client.
    pub next: u64,
    /// Whether this process knew the client before; if not, what it has sent went to another one.
    pub known: bool,
}

/// The last frame of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamEnd {
    /// Whether the server ends, and not only the session.
    pub server_ends: bool,
    /// Whether the session was not only closed, but deleted.
    #[serde(default)]
    pub deleted: bool,
    /// The failure of a deletion for which the session was closed.
    pub not_deleted: Option<String>,
}

/// Commands of a client, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Commands {
    pub client: String,
    /// The number of the first one. A number that was already accepted is skipped, so that nothing is done
    /// twice.
    pub first: u64,
    pub commands: Vec<AgentCommand>,
}

/// The accepted commands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CommandsAccepted {
    pub next: u64,
}

/// Another session, which waits for the user.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OtherSession {
    pub id: String,
    pub title: String,
}

/// Leaves the session for another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Leave {
    pub command: SessionChange,
}

/// The session to continue with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NextSession {
    pub id: String,
    /// Text to put into the composer.
    pub text: Option<String>,
}

/// Events, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventBatch {
    /// The position after them; `None` where they are for this client alone and have no position.
    pub id: Option<String>,
    pub events: Vec<AgentEvent>,
}

/// The path of [`BoardAsk`].
pub(crate) const BOARD: &str = "/api/board";

/// A request of a board on another machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum BoardAsk {
    /// The sessions, once they differ from those of this number, which an earlier answer had.
    List { known: Option<u64> },
    /// The questions that wait in a session.
    Waiting { id: String },
    /// An answer to that, or a question about it.
    Answer { id: String, command: Box<AgentCommand> },
    /// Stop the run.
    Stop { id: String },
    /// Send a message.
    Send { id: String, text: String },
    /// Put the result away, or bring it back.
    Archive { id: String, archived: bool },
}

/// The answer to [`BoardAsk`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum BoardAnswer {
    /// The sessions, absent where they are as known.
    Listed { known: u64, sessions: Option<Vec<LiveRow>> },
    /// The questions that wait.
    Waiting { waiting: WaitingQuestions },
    /// The answer of the session.
    Answered { answer: Option<QueryAnswer> },
    /// It was done, if there was anything to do.
    Done { done: bool },
}

/// A command for a session of another machine: the first line to a relay that runs one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FarCommand {
    /// The ID of the session, its beginning or its last digits.
    pub id: String,
    /// The machine, as an address that the user can use.
    pub machine: String,
    pub command: FarWord,
}

/// An action on the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FarWord {
    Logs { follow: bool },
    Wait,
    Stop,
    Send { text: String },
}
