//! Requests to the outside, as plain comparable data. Only the shell performs them.
//!
//! An effect with an answer carries a ticket: `Ask(ticket, request)` comes back as
//! `Msg::Finished(ticket, reply)`, once or (while rows stream in) several times. A reply whose
//! ticket nobody holds any more is dropped.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::AgentCommand;
use crate::agent::protocol::model::Model as AiModel;
use crate::agent::protocol::query::SessionSource;
use crate::agent::session::row::SessionRow;
use crate::agent::session::search::LastExchange;
use crate::agent::settings::folder::Folder;

/// Names a request that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// The ticket of a query whose answer is used whoever asked.
pub const NO_TICKET: u64 = 0;

/// A request to the outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Tell the agent.
    Agent(AgentCommand),
    /// Do something that has an answer.
    Ask(Ticket, ShellRequest),
    /// The answer is no longer wanted; work for it may end.
    Forget(Ticket),
    /// Put text on the clipboard.
    Copy(String),
    /// Keep a prompt in the history file.
    Remember(String),
    /// Keep a setting for later runs.
    Save(SavedSetting),
    /// Ring the bell.
    Bell,
    /// Stop the program (job control).
    Suspend,
    /// Leave.
    Quit,
}

/// A setting that is kept when it is changed on the screen.
#[derive(Clone, Debug, PartialEq)]
pub enum SavedSetting {
    /// `provider/id` of the model.
    Model(String),
    /// Name of the theme.
    Theme(String),
}

/// Work that has an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ShellRequest {
    /// The sessions of this directory, or all: [`ShellReply::Sessions`], in pieces.
    Sessions { all: bool },
    /// The models that can be used: [`ShellReply::Models`].
    Models,
    /// The vendors that take a key: [`ShellReply::Vendors`].
    Vendors,
    /// Store a key for a vendor: [`ShellReply::Done`].
    Login { vendor: String, key: Hidden },
    /// Files of the project that match: [`ShellReply::Files`].
    Files { query: String },
    /// Ways to complete a path: [`ShellReply::Files`].
    Paths { prefix: String },
    /// Earlier prompts, newest first: [`ShellReply::History`].
    History,
    /// Let the person edit text in his editor: [`ShellReply::Edited`].
    Editor { text: String },
    /// The branch that is checked out: [`ShellReply::Branch`].
    Branch,
    /// Model servers on this machine: [`ShellReply::Servers`].
    Servers,
    /// Move a session file to the trash, or delete it where there is none: [`ShellReply::Done`].
    DeleteSession { path: PathBuf },
    /// Name a session that is not open here: [`ShellReply::Done`].
    RenameSession { path: PathBuf, name: String },
    /// Sessions in which these words were said: [`ShellReply::Found`], in pieces.
    SearchSessions { query: String, all: bool },
    /// The last exchange of a session: [`ShellReply::LastExchange`].
    Preview { path: PathBuf },
    /// The folders that bring settings along, as they are now: [`ShellReply::Folders`].
    Folders,
    /// Keep whether the settings of a folder are trusted, as they were shown last:
    /// [`ShellReply::Applied`].
    Trust { root: PathBuf, trusted: bool },
    /// Write a session to a file, named after it when none is named: [`ShellReply::Done`].
    Export { session: SessionSource, file: Option<PathBuf> },
    /// Read a picture for the model: [`ShellReply::Picture`].
    Picture { path: PathBuf },
}

/// Text that is shown nowhere, not even in a debug print.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Hidden(pub String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hidden(…)")
    }
}

/// Settings that hold from now on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Applied {
    /// What people are told of it.
    pub text: String,
    /// What the agent is told.
    pub commands: Vec<AgentCommand>,
    /// The theme, where it is another now.
    pub theme: Option<String>,
    /// Whether thinking is folded, where that is otherwise now.
    pub hide_thinking: Option<bool>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShellReply {
    /// Some rows; `done` with the last ones.
    Sessions { rows: Vec<SessionRow>, done: bool },
    /// The folders that bring settings along, the nearest last.
    Folders(Vec<Folder>),
    /// Other settings hold now.
    Applied(Applied),
    /// Some session files; `done` with the last ones.
    Found { paths: Vec<PathBuf>, done: bool },
    /// What was said last in a session.
    LastExchange(LastExchange),
    /// The models that can be used.
    Models(Vec<Arc<AiModel>>),
    /// Vendors: id, name, whether a key is there.
    Vendors(Vec<LoginProvider>),
    /// Paths, best first.
    Files(Vec<String>),
    /// Earlier prompts, newest first.
    History(Vec<String>),
    /// The text after editing; none when the editor failed or changed nothing.
    Edited(Option<String>),
    /// The branch; none outside a repository.
    Branch(Option<String>),
    /// Model servers that answered.
    Servers(Vec<LocalModelServer>),
    /// A picture as base64, with its size in pixels.
    Picture { data: String, mime_type: String, width: u32, height: u32 },
    /// It worked; a sentence for the person.
    Done(String),
    /// It did not; a sentence for the person, with what to do.
    Failed(String),
}

/// A vendor that takes a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoginProvider {
    pub id: String,
    pub name: String,
    /// The environment variable its key is usually in.
    pub env: String,
    pub has_key: bool,
}

/// A model server on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LocalModelServer {
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
}
