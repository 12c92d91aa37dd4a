//! Replaces MCP in builds without it: configured servers are listed as failed, with the reason.

mod configured;
pub(crate) mod patterns;
pub(crate) mod search;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use configured::McpNews;
pub use configured::{ConfiguredServer, ReadServers};

use crate::provider::http::Network;
use oauth::LoginStore;
use tau_protocol::extension::{
    ArgumentValues, ExtensionKind, ExtensionRow, ExtensionState, McpResource, PromptCommand,
};
use tau_tools::access::FileFilter;
use tau_tools::counted::pluralize;
use tau_tools::process::ChildEnv;
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;
use tau_tools::{AnyTool, OutputLimits, ToolOutput};

/// The reason that a server cannot be used.
const NOT_BUILT: &str = "this program was built without MCP";
/// The remedy.
const HINT: &str = "build it with the feature `mcp` of the crate taucode-agent";

/// Logins at servers.
pub mod oauth {
    /// The folder of the logins, of which there are none.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum LoginStore {}
}

/// An answer of a server, of which there are none.
type Answer = BoxFuture<'static, Result<ToolOutput, UserError>>;

/// The configured servers of an agent, none of which can be started.
pub(crate) struct Mcp {
    rows: Arc<Mutex<Vec<ExtensionRow>>>,
    sender: mpsc::UnboundedSender<McpNews>,
    news: mpsc::UnboundedReceiver<McpNews>,
}

impl Mcp {
    pub(crate) fn new(_: Arc<ChildEnv>, _: Arc<Scratch>, _: Network, _: Option<LoginStore>) -> Self {
        let (sender, news) = mpsc::unbounded_channel();
        Mcp { rows: Arc::default(), sender, news }
    }

    /// Lists the servers that `read` finds, in the background.
    pub(crate) fn start(&mut self, read: ReadServers, cwd: PathBuf, _: Arc<SandboxPolicy>) {
        let (rows, sender) = (Arc::clone(&self.rows), self.sender.clone());
        tokio::task::spawn_blocking(move || list(&read.servers(&cwd), &rows, &sender));
    }

    /// Lists the servers that are configured now.
    pub(crate) fn restart(&mut self, read: &ReadServers, cwd: PathBuf, _: Arc<SandboxPolicy>) {
        list(&read.servers(&cwd), &self.rows, &self.sender);
    }

    pub(crate) fn start_logged_in(&mut self) {}

    /// A function that lists the servers for users.
    pub(crate) fn rows(&self) -> impl Fn() -> Vec<ExtensionRow> + Send + Sync + 'static {
        let rows = Arc::clone(&self.rows);
        move || rows.lock().clone()
    }

    pub(crate) fn ready(&self, _: Duration) -> impl Future<Output = ()> + Send + 'static {
        std::future::ready(())
    }

    pub(crate) fn is_settled(&self) -> bool {
        true
    }

    pub(crate) fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    pub(crate) fn commands(&self) -> Vec<PromptCommand> {
        Vec::new()
    }

    pub(crate) fn resources(&self) -> Vec<McpResource> {
        Vec::new()
    }

    pub(crate) fn prompt(&self, _: &str, _: &str, _: OutputLimits) -> Option<Answer> {
        None
    }

    pub(crate) fn mentioned_resources(
        &self,
        _: &str,
        _: OutputLimits,
        _: &dyn FileFilter,
    ) -> (Vec<Answer>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    /// There is nothing to suggest. [`McpNews::Completed`] follows.
    pub(crate) fn complete(&self, ticket: u64, _: &str, _: &str) {
        self.sender.send(McpNews::Completed { ticket, answer: ArgumentValues::default() }).ok();
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> McpNews {
        match self.news.recv().await {
            Some(news) => news,
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn end(&mut self, _: Instant) {}
}

/// Lists these servers, and tells the user about those that are in use.
fn list(
    found: &[ConfiguredServer],
    rows: &Mutex<Vec<ExtensionRow>>,
    sender: &mpsc::UnboundedSender<McpNews>,
) {
    *rows.lock() = found.iter().map(row).collect();
    let used = found.iter().filter(|configured| configured.server.enabled).count();
    if used > 0 {
        let text = format!("{} cannot be used: {NOT_BUILT}", pluralize(used as u64, "MCP server"));
        sender.send(McpNews::Notice { text, hint: Some(HINT.to_owned()) }).ok();
    }
    sender.send(McpNews::Changed).ok();
}

fn row(configured: &ConfiguredServer) -> ExtensionRow {
    let is_used = configured.server.enabled;
    ExtensionRow {
        kind: ExtensionKind::McpServer,
        name: configured.server.name.clone(),
        description: String::new(),
        source: configured.source(),
        path: Some(configured.path.clone()),
        state: if is_used { ExtensionState::Failed } else { ExtensionState::Off },
        problems: is_used.then(|| format!("{NOT_BUILT}; {HINT}")).into_iter().collect(),
        tokens: None,
    }
}
