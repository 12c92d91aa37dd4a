//! A configured server: started on demand, and again after it has ended.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::sleep;

use super::client::ServerList;
use super::configured::ConfiguredServer;
use super::connection::{self, Connection};
use super::prompts::{self, McpPrompt};
use super::tool::{Callee, McpTool};
use super::{McpContext, Place, lenient, names, oauth, patterns, resources, search};
use crate::settings::mcp_servers::{McpServer, McpTransport};
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionState, McpResource, PromptCommand};
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;
use tau_tools::{Access, AnyTool};

/// The minimum time between two listings of a server's tools.
const RELIST_PAUSE: Duration = Duration::from_millis(500);

/// A server that can be started.
pub(super) struct Server {
    pub(super) configured: ConfiguredServer,
    place: Place,
    around: Arc<McpContext>,
    /// Held during a start, so that it is started only once.
    connection: AsyncMutex<Option<Arc<Connection>>>,
    known: Mutex<ServerState>,
}

/// The known state of a server.
struct ServerState {
    tools: Vec<Arc<dyn AnyTool>>,
    prompts: Vec<McpPrompt>,
    resources: Vec<McpResource>,
    state: ExtensionState,
    /// The server's description of itself.
    description: String,
    problem: Option<String>,
}

impl Server {
    pub(super) fn new(configured: ConfiguredServer, place: &Place, around: &Arc<McpContext>) -> Arc<Self> {
        let state = if configured.server.enabled { ExtensionState::Starting } else { ExtensionState::Off };
        let known = ServerState {
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            state,
            description: String::new(),
            problem: None,
        };
        Arc::new(Server {
            configured,
            place: place.clone(),
            around: Arc::clone(around),
            connection: AsyncMutex::default(),
            known: Mutex::new(known),
        })
    }

    /// Its tools, as last listed.
    pub(super) fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.known.lock().tools.clone()
    }

    /// Its prompts as commands, as last listed.
    pub(super) fn commands(&self) -> Vec<PromptCommand> {
        let source = self.configured.source();
        let command = |prompt: &McpPrompt| PromptCommand {
            name: prompt.command.clone(),
            description: prompt.description.clone(),
            argument_hint: prompt.hint(),
            kind: ExtensionKind::McpServer,
            source,
            path: Some(self.configured.path.clone()),
            arguments: prompt.arguments.clone(),
        };
        self.known.lock().prompts.iter().map(command).collect()
    }

    pub(super) fn prompt(&self, command: &str) -> Option<McpPrompt> {
        self.known.lock().prompts.iter().find(|prompt| prompt.command == command).cloned()
    }

    /// Whether it has neither been ready nor failed.
    pub(super) fn is_starting(&self) -> bool {
        self.known.lock().state == ExtensionState::Starting
    }

    /// Whether it could not be started without a login.
    pub(super) fn wants_login(&self) -> bool {
        let known = self.known.lock();
        let why = oauth::needs_login(&self.configured.server.name);
        self.configured.server.enabled
            && known.state == ExtensionState::Failed
            && known.problem.as_ref().is_some_and(|problem| *problem == why)
    }

    /// Its resources, as last listed.
    pub(super) fn resources(&self) -> Vec<McpResource> {
        self.known.lock().resources.clone()
    }

    /// Whether it runs, or would run, in this place.
    pub(super) fn is_at(&self, place: &Place) -> bool {
        self.place == *place
    }

    /// Its row in lists.
    pub(super) fn row(&self) -> ExtensionRow {
        let known = self.known.lock();
        let tokens = search::tokens(&known.tools);
        let counts = [
            some(known.tools.len(), "tool"),
            some(known.prompts.len(), "prompt"),
            some(known.resources.len(), "resource"),
        ];
        let parts = counts.into_iter().flatten().chain([known.description.clone()]);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        let mut row = ExtensionRow {
            kind: ExtensionKind::McpServer,
            name: self.configured.server.name.clone(),
            description: parts.join(" · "),
            source: self.configured.source(),
            path: Some(self.configured.path.clone()),
            state: known.state,
            problems: known.problem.iter().cloned().collect(),
            tokens: (tokens > 0).then_some(tokens),
        };
        drop(known);
        let is_on = row.state != ExtensionState::Off;
        if is_on && connection::is_sandboxed(&self.configured.server, &self.place, &self.around) {
            row.add_sandbox_note();
        }
        row
    }

    /// Ends it permanently.
    pub(super) async fn retire(&self) {
        if let Some(connection) = self.connection.lock().await.take() {
            connection.retire();
        }
    }

    /// Starts it, and reports a failure.
    pub(super) async fn start(self: &Arc<Self>) {
        if let Err(why) = self.connection().await {
            let mut known = self.known.lock();
            (known.state, known.problem) = (ExtensionState::Failed, Some(why.to_string()));
            drop(known);
            let text = format!("MCP server {} cannot be used: {why}", self.configured.server.name);
            let hint = match *why == *oauth::needs_login(&self.configured.server.name) {
                true => "after that, the next prompt connects to it",
                false => "it is tried again at the next start",
            };
            self.around.report(text, Some(hint));
        }
    }

    /// The connection to it; it is started if it is not running. The error is the reason it cannot be
    /// started, as part of a sentence.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UserError> {
        let mut current = self.connection.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !connection.ended.is_cancelled()) {
            return Ok(Arc::clone(connection));
        }
        let connection = Connection::open(&self.configured.server, &self.place, &self.around).await?;
        self.list_tools(&connection).await?;
        self.list_prompts(&connection).await;
        self.list_resources(&connection).await;
        *current = Some(Arc::clone(&connection));
        let (server, followed) = (Arc::clone(self), Arc::clone(&connection));
        self.around.tasks.spawn(async move { server.follow(followed).await });
        Ok(connection)
    }

    async fn list_tools(self: &Arc<Self>, connection: &Connection) -> Result<(), UserError> {
        let (listed, odd) = connection.tools().await?;
        let McpServer { name, allow_tools, deny_tools, .. } = &self.configured.server;
        let is_in = |list: &[String], tool: &str| list.iter().any(|pattern| patterns::matches(pattern, tool));
        let is_offered = |tool: &&rmcp::model::Tool| {
            allow_tools.as_ref().is_none_or(|list| is_in(list, &tool.name)) && !is_in(deny_tools, &tool.name)
        };
        let mut offered: Vec<&rmcp::model::Tool> = listed.iter().filter(is_offered).collect();
        // Always the same order, so that the start of requests does not change.
        offered.sort_by(|one, other| one.name.cmp(&other.name));
        offered.dedup_by(|one, other| one.name == other.name);
        offered.truncate(super::MAX_LISTED);
        let plain: Vec<&str> = offered.iter().map(|tool| tool.name.as_ref()).collect();
        let callee = Arc::new(self.callee());
        let named = names::of_tools(name, &plain).into_iter().zip(offered);
        let tools = named.map(|(name, tool)| Arc::new(McpTool::new(name, tool, &callee)) as Arc<dyn AnyTool>);
        let tools: Vec<Arc<dyn AnyTool>> = tools.collect();
        let info = connection.info();
        let said = info.and_then(|info| Some(info.server_info.as_ref()?.clone()));
        let mut known = self.known.lock();
        known.description = said.map(|said| said.title.unwrap_or(said.name)).unwrap_or_default();
        (known.state, known.problem, known.tools) =
            (ExtensionState::On, lenient::odd_tools_notice(&odd), tools);
        drop(known);
        self.around.changed.notify_one();
        Ok(())
    }

    /// Updates its prompts. Without them it can still be used.
    async fn list_prompts(&self, connection: &Connection) {
        match connection.prompts().await {
            Ok(listed) => {
                let listed = prompts::of_server(&self.configured.server.name, listed);
                self.known.lock().prompts = listed;
                self.around.changed.notify_one();
            }
            Err(why) => self.known.lock().problem = Some(why.into()),
        }
    }

    /// Updates its resources. Without them it can still be used.
    async fn list_resources(&self, connection: &Connection) {
        match connection.resources().await {
            Ok((listed, templates)) => {
                let listed = resources::of_server(&self.configured.server.name, listed, templates);
                self.known.lock().resources = listed;
                self.around.changed.notify_one();
            }
            Err(why) => self.known.lock().problem = Some(why.into()),
        }
    }

    /// The facts about it that calls of its tools need.
    fn callee(self: &Arc<Self>) -> Callee {
        let McpServer { name, timeout, transport, .. } = &self.configured.server;
        let server = Arc::downgrade(self);
        let connect = move || {
            let server = server.upgrade();
            let connecting = async move { server.ok_or("it is no longer used")?.connection().await };
            Box::pin(connecting) as _
        };
        Callee {
            name: name.clone(),
            timeout: timeout.filter(|seconds| *seconds > 0).map(Duration::from_secs),
            access: match transport {
                // The program may do anything.
                McpTransport::Stdio { .. } => Access::unknown(),
                McpTransport::Http { url, .. } => Access { network: vec![host(url)], ..Access::unknown() },
            },
            connect: Box::new(connect),
        }
    }

    /// Handles notifications of a server until it ends.
    async fn follow(self: Arc<Self>, connection: Arc<Connection>) {
        let lists = ServerList::ALL.map(|list| self.watch_list(list, &connection));
        connection.ended.run_until_cancelled(join_all(lists)).await;
        if !self.around.stop.is_cancelled() && !connection.is_retired() {
            self.known.lock().problem = Some(format!("it has ended{}", connection.end_reason()));
            let text =
                format!("MCP server {} has ended{}", self.configured.server.name, connection.end_reason());
            self.around.report(text, Some("it is started again at the next call"));
        }
    }

    /// Updates a list whenever the server reports a change.
    async fn watch_list(self: &Arc<Self>, list: ServerList, connection: &Connection) {
        loop {
            connection.client.wait_for_change(list).await;
            self.list_again(list, connection).await;
            sleep(RELIST_PAUSE).await;
        }
    }

    async fn list_again(self: &Arc<Self>, list: ServerList, connection: &Connection) {
        match list {
            ServerList::Tools => {
                if let Err(why) = self.list_tools(connection).await {
                    tracing::debug!(server = self.configured.server.name, %why, "cannot list the tools again");
                }
            }
            ServerList::Prompts => self.list_prompts(connection).await,
            ServerList::Resources => self.list_resources(connection).await,
        }
    }
}

/// The number of things with their name; `None` if there are none.
fn some(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| pluralize(count, what))
}

/// The host of an address.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest).to_owned()
}
