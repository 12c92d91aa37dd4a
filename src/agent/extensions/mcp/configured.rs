//! The interface between the agent and MCP servers: the configured ones, and their events.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::settings::mcp_servers::McpServer;
use tau_protocol::command::QuestionAnswer;
use tau_protocol::event::Question;
use tau_protocol::extension::{ArgumentValues, ExtensionSource};

/// A server, and its place in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredServer {
    pub server: McpServer,
    /// The file that defines it.
    pub path: PathBuf,
    /// Whether that file belongs to a trusted project.
    pub is_project: bool,
}

impl ConfiguredServer {
    pub(super) fn source(&self) -> ExtensionSource {
        if self.is_project { ExtensionSource::Project } else { ExtensionSource::User }
    }
}

type Read = dyn Fn(&Path) -> Vec<ConfiguredServer> + Send + Sync;

/// Finds the servers of a directory. Blocks.
#[derive(Clone)]
pub struct ReadServers(Arc<Read>);

impl ReadServers {
    /// Calls `read` with the directory of the session.
    pub fn new(read: impl Fn(&Path) -> Vec<ConfiguredServer> + Send + Sync + 'static) -> Self {
        ReadServers(Arc::new(read))
    }

    /// The servers of a session in this directory.
    pub(super) fn servers(&self, cwd: &Path) -> Vec<ConfiguredServer> {
        (self.0)(cwd)
    }

    /// Adds further servers, which replace those of the same names.
    pub fn with(self, more: Vec<ConfiguredServer>) -> Self {
        ReadServers::new(move |cwd| {
            let mut servers = (self.0)(cwd);
            servers.retain(|known| more.iter().all(|given| given.server.name != known.server.name));
            servers.extend(more.iter().cloned());
            servers
        })
    }
}

tau_tools::debug_fields!(ReadServers {});

/// An event of a server, or an answer of it.
#[derive(Debug)]
pub(crate) enum McpNews {
    /// The offers of servers have changed.
    Changed,
    /// A notice for the user.
    Notice { text: String, hint: Option<String> },
    /// A server asks the user. Without an answer, the question is cancelled.
    Ask { id: String, question: Question, answer: oneshot::Sender<QuestionAnswer> },
    /// The server no longer waits for the answer.
    AskWithdrawn { id: String },
    /// The answer to `Mcp::complete` with this ticket.
    Completed { ticket: u64, answer: ArgumentValues },
}
