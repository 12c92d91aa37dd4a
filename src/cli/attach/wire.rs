//! What `tau attach` and `tau serve` say to each other: the commands and events of the agent as they are.
//!
//! Nothing here is stable between versions, so both sides name what they speak first ([`spoken`]).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use tau_app::request::{ModelsFor, ShellRequest};
use tau_protocol::command::{AgentCommand, SessionChange};
use tau_protocol::event::AgentEvent;

/// The number of the wire format. Raise it with every change of a type that is sent; a test compares their
/// definitions with `tests/goldens/attach_wire.txt`.
const WIRE: u32 = 1;

/// The protocol that is spoken here: the version of tau and the number of its wire format, since two builds of
/// one version may differ in it.
pub(crate) fn spoken() -> String {
    format!("tau {}, attach {WIRE}", env!("CARGO_PKG_VERSION"))
}

/// The header in which a client names what it speaks.
pub(crate) const HEADER: &str = "x-tau-attach";

/// Names of the frames of the stream.
pub(crate) mod frame {
    /// The first one: [`super::Greeting`].
    pub(crate) const ATTACHED: &str = "attached";
    /// The session as a whole; what was seen before no longer counts: [`super::Happened`].
    pub(crate) const OPENED: &str = "opened";
    /// What happened next: [`super::Happened`].
    pub(crate) const EVENTS: &str = "events";
    /// The last one: [`super::Closed`].
    pub(crate) const CLOSED: &str = "closed";
}

/// Which session to attach to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    /// An id, the beginning of one, or a name; without one the session that was used last.
    pub session: Option<String>,
    /// A new session instead.
    pub new: bool,
}

/// The session to attach to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Found {
    pub id: String,
}

/// The request that opens the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamRequest {
    /// What the client calls itself, so that it is known again.
    pub client: String,
    /// Up to where it got the events: the last id.
    #[serde(default)]
    pub after: Option<String>,
}

/// The first frame of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// The number of the command that comes next: those before were taken from this client.
    pub next: u64,
}

/// The last frame of a stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Closed {
    /// The server ends, and not only the session.
    pub server_ends: bool,
    /// The session was not only closed, but deleted.
    #[serde(default)]
    pub deleted: bool,
    /// The session was closed to be deleted, and why that failed.
    #[serde(default)]
    pub not_deleted: Option<String>,
}

/// Commands of a client, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Commands {
    pub client: String,
    /// The number of the first one. A number that was taken already is passed over, so nothing is done twice.
    pub first: u64,
    pub commands: Vec<AgentCommand>,
}

/// Which commands were taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub next: u64,
}

/// Leaves the session for another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Leave {
    pub command: SessionChange,
}

/// The session to continue with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Left {
    pub id: String,
    /// Text to put into the composer.
    pub text: Option<String>,
}

/// Events, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Happened {
    /// The place after them; `None` where they are for this client alone and have no place.
    pub id: Option<String>,
    pub events: Vec<AgentEvent>,
}

/// The requests of the screen that the server answers: those about its files and sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub(crate) enum ServerRequest {
    Sessions { all: bool },
    SearchSessions { query: String, all: bool },
    Preview { path: PathBuf },
    RenameSession { path: PathBuf, name: String },
    DeleteSession { path: PathBuf },
    Models { keyless: bool },
    Folders,
    Trust { root: PathBuf, trusted: bool },
    Reload,
    TurnExtension { id: String, on: bool },
    Files { query: String },
    Paths { prefix: String },
    Pictures { text: String, readings: Vec<Vec<PathBuf>> },
    Branch,
}

impl ServerRequest {
    /// The same as the screen asks it.
    pub(crate) fn into_shell(self) -> ShellRequest {
        match self {
            ServerRequest::Sessions { all } => ShellRequest::Sessions { all },
            ServerRequest::SearchSessions { query, all } => ShellRequest::SearchSessions { query, all },
            ServerRequest::Preview { path } => ShellRequest::Preview { path },
            ServerRequest::RenameSession { path, name } => ShellRequest::RenameSession { path, name },
            ServerRequest::DeleteSession { path } => ShellRequest::DeleteSession { path },
            ServerRequest::Models { keyless } => {
                ShellRequest::Models { purpose: if keyless { ModelsFor::Picker } else { ModelsFor::Step(1) } }
            }
            ServerRequest::Folders => ShellRequest::Folders {},
            ServerRequest::Trust { root, trusted } => ShellRequest::Trust { root, trusted },
            ServerRequest::Reload => ShellRequest::Reload {},
            ServerRequest::TurnExtension { id, on } => ShellRequest::TurnExtension { id, on },
            ServerRequest::Files { query } => ShellRequest::Files { query },
            ServerRequest::Paths { prefix } => ShellRequest::Paths { prefix },
            ServerRequest::Pictures { text, readings } => ShellRequest::Pictures { text, readings },
            ServerRequest::Branch => ShellRequest::Branch {},
        }
    }
}
