//! MCP servers: started in the background, their tools offered to the model, ended with tau.
//!
//! A server is not trusted: its tools may do anything and are judged like any call, its text may lie, and its
//! output is bounded in size and pace. The protocol is that of the crate `rmcp`; the processes are ours
//! (`tools/process/server`). Parts: `stdio` (messages over a process's streams), `client`, `elicitation` and
//! `logging` (requests and notifications of servers), `http` (servers at an address), `connection` (one life
//! of a server), `server` (a configured one: starts it, and again after its end), `oauth` (logins), `tool`,
//! `schema`, `valid`, `result` (a tool, its arguments, its answers), `search` (many tools), `offers`,
//! `prompts`, `resources` and `template` (requested by users), `names`, `patterns`, `lenient`
//! (violations of the protocol), `trouble` (the reason a server ended), `configured` (the interface). In a program
//! without the feature `mcp`, `absent` takes the place of this module.

mod claude_lists;
mod client;
mod configured;
mod connection;
mod elicitation;
mod http;
mod lenient;
mod logging;
pub mod names;
pub mod oauth;
mod offers;
pub(crate) mod patterns;
mod prompts;
mod resources;
mod result;
mod schema;
pub(crate) mod search;
mod server;
mod stdio;
mod template;
mod tool;
mod trouble;
mod valid;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use claude_lists::ClaudeServerLists;
pub(crate) use configured::McpNews;
pub use configured::{ConfiguredServer, ReadServers};

use crate::provider::http::{Http, Network};
use oauth::{LoginState, LoginStore};
use server::Server;
use tau_protocol::extension::{ExtensionRow, ExtensionState};
use tau_tools::AnyTool;
use tau_tools::process::ChildEnv;
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::scratch::Scratch;

/// The maximum number of tools, and of entries of any other list, of a server.
const MAX_LISTED: usize = 512;
/// The maximum number of unreported events; further ones are dropped.
const NEWS: usize = 64;
/// The time limit of a probe; the server's own time limits are shorter.
const TRY_TIME: Duration = Duration::from_secs(3_600);
/// The time that killed processes have to be gone.
const KILL_TIME: Duration = Duration::from_millis(150);

/// The environment that servers run in, and the channel for their events.
struct McpContext {
    env: Arc<ChildEnv>,
    scratch: Arc<Scratch>,
    http: Arc<Http>,
    /// The logins at servers with an address; without it there are none.
    logins: Option<LoginStore>,
    news: mpsc::Sender<McpNews>,
    /// The number of questions so far.
    asked: AtomicU64,
    /// Notified when the offers of any server have changed.
    changed: Notify,
    /// Cancelled to end all servers.
    stop: CancellationToken,
    /// Cancelled to kill servers that have not ended.
    kill: CancellationToken,
    /// Everything that must end with the servers.
    tasks: TaskTracker,
}

impl McpContext {
    fn report(&self, text: String, hint: Option<&str>) {
        let news = McpNews::Notice { text, hint: hint.map(str::to_owned) };
        if self.news.try_send(news).is_err() {
            tracing::debug!("notifications of MCP servers are dropped: there are too many");
        }
    }
}

/// The directory and the sandbox of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// The directory of the session. Absolute.
    cwd: PathBuf,
    /// The policy of sandboxed servers.
    sandbox: Arc<SandboxPolicy>,
}

/// The progress of the start of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Starting {
    /// Their files are being read, which is quick.
    Reading,
    /// The servers are known.
    Known,
    /// Every server is ready or has failed.
    Settled,
}

/// A start in progress until this is dropped, also by a panic: runs wait for it.
struct StartInProgress(watch::Sender<Starting>);

impl Drop for StartInProgress {
    fn drop(&mut self) {
        self.0.send_replace(Starting::Settled);
    }
}

/// The servers of an agent. Dropping it ends them.
pub(crate) struct Mcp {
    around: Arc<McpContext>,
    news: mpsc::Receiver<McpNews>,
    servers: Arc<Mutex<Vec<Arc<Server>>>>,
    starting: watch::Sender<Starting>,
    started: Instant,
}

impl Mcp {
    /// No servers yet.
    pub(crate) fn new(
        env: Arc<ChildEnv>,
        scratch: Arc<Scratch>,
        network: Network,
        logins: Option<LoginStore>,
    ) -> Self {
        let (sender, news) = mpsc::channel(NEWS);
        let around = McpContext {
            env,
            scratch,
            http: Arc::new(Http::new(network)),
            logins,
            news: sender,
            asked: AtomicU64::new(0),
            changed: Notify::new(),
            stop: CancellationToken::new(),
            kill: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Mcp {
            around: Arc::new(around),
            news,
            servers: Arc::default(),
            starting: watch::channel(Starting::Settled).0,
            started: Instant::now(),
        }
    }

    /// Starts the servers that `read` finds for a session in `cwd`, in the background.
    pub(crate) fn start(&mut self, read: ReadServers, cwd: PathBuf, sandbox: Arc<SandboxPolicy>) {
        self.starting.send_replace(Starting::Reading);
        self.started = Instant::now();
        let (fleet, starting) = (self.fleet(), StartInProgress(self.starting.clone()));
        self.around.tasks.spawn(async move {
            let place = Place { cwd: cwd.clone(), sandbox };
            let found = tokio::task::spawn_blocking(move || read.servers(&cwd)).await.unwrap_or_default();
            fleet.adopt(found, &place);
            starting.0.send_replace(Starting::Known);
            fleet.start_all().await;
        });
    }

    /// Like [`Mcp::start`], but after a change of files, which are read immediately. Running servers stay if
    /// their configuration is unchanged; the others are ended.
    pub(crate) fn restart(&mut self, read: &ReadServers, cwd: PathBuf, sandbox: Arc<SandboxPolicy>) {
        let found = read.servers(&cwd);
        let fleet = self.fleet();
        fleet.adopt(found, &Place { cwd, sandbox });
        self.around.tasks.spawn(async move { fleet.start_all().await });
    }

    /// Restarts servers that needed a login and now have one, in the background.
    pub(crate) fn start_logged_in(&mut self) {
        let Some(logins) = self.around.logins.clone() else { return };
        let servers = self.servers.lock().clone();
        let waiting: Vec<Arc<Server>> = servers.into_iter().filter(|server| server.wants_login()).collect();
        if waiting.is_empty() {
            return;
        }
        self.starting.send_replace(Starting::Known);
        self.started = Instant::now();
        let (stop, starting) = (self.around.stop.clone(), StartInProgress(self.starting.clone()));
        self.around.tasks.spawn(async move {
            let _starting = starting;
            for server in waiting {
                let (logins, known) = (logins.clone(), server.configured.server.clone());
                let state = tokio::task::spawn_blocking(move || logins.state(&known)).await;
                if state.is_ok_and(|state| state == LoginState::LoggedIn) {
                    stop.run_until_cancelled(server.start()).await;
                }
            }
        });
    }

    fn fleet(&self) -> Fleet {
        Fleet { around: Arc::clone(&self.around), servers: Arc::clone(&self.servers) }
    }

    /// A function that lists the servers for users. Never waits.
    pub(crate) fn rows(&self) -> impl Fn() -> Vec<ExtensionRow> + Send + Sync + 'static {
        let servers = Arc::clone(&self.servers);
        move || servers.lock().iter().map(|server| server.row()).collect()
    }

    /// Waits until every server is ready or has failed, at most until `limit` after their start, but in any
    /// case until they are known.
    pub(crate) fn ready(&self, limit: Duration) -> impl Future<Output = ()> + Send + 'static {
        let (mut starting, deadline) = (self.starting.subscribe(), self.started + limit);
        async move {
            // The agent that starts them ends with them.
            let _ = starting.wait_for(|starting| *starting >= Starting::Known).await;
            // After the time limit, runs continue without the servers.
            let _ = timeout_at(deadline, starting.wait_for(|starting| *starting == Starting::Settled)).await;
        }
    }

    /// Whether every server is ready or has failed.
    pub(crate) fn is_settled(&self) -> bool {
        *self.starting.borrow() == Starting::Settled
    }

    /// The tools of all servers, always in the same order.
    pub(crate) fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let servers = self.servers.lock();
        let mut taken = HashSet::new();
        let used = servers.iter().filter(|server| server.configured.server.enabled);
        let all = used.flat_map(|server| server.tools());
        all.filter(|tool| taken.insert(tool.spec().name.clone())).collect()
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> McpNews {
        tokio::select! {
            Some(news) = self.news.recv() => news,
            () = self.around.changed.notified() => McpNews::Changed,
        }
    }

    /// Ends all servers, and kills those that are still running at `deadline`.
    pub(crate) async fn end(&mut self, deadline: Instant) {
        self.around.stop.cancel();
        self.around.tasks.close();
        if timeout_at(deadline, self.around.tasks.wait()).await.is_err() {
            self.around.kill.cancel();
            // Do not wait for processes that cannot be killed.
            let _ = tokio::time::timeout(KILL_TIME, self.around.tasks.wait()).await;
        }
    }
}

/// The servers and their environment.
struct Fleet {
    around: Arc<McpContext>,
    servers: Arc<Mutex<Vec<Arc<Server>>>>,
}

impl Fleet {
    /// Replaces the servers by these. Those with unchanged configuration stay, and the others are ended.
    fn adopt(&self, found: Vec<ConfiguredServer>, place: &Place) {
        let mut servers = self.servers.lock();
        let same = |configured: &ConfiguredServer| {
            servers.iter().find(|old| old.configured == *configured && old.is_at(place)).cloned()
        };
        let new: Vec<Arc<Server>> = found
            .into_iter()
            .map(|found| same(&found).unwrap_or_else(|| Server::new(found, place, &self.around)))
            .collect();
        for old in servers.iter().filter(|old| !new.iter().any(|new| Arc::ptr_eq(new, old))) {
            let old = Arc::clone(old);
            self.around.tasks.spawn(async move { old.retire().await });
        }
        *servers = new;
        self.around.changed.notify_one();
    }

    /// Starts the servers that are not running.
    async fn start_all(&self) {
        let servers = self.servers.lock().clone();
        let starts = servers.into_iter().filter(|server| server.configured.server.enabled).map(|server| {
            let stop = self.around.stop.clone();
            self.around.tasks.spawn(async move { stop.run_until_cancelled(server.start()).await })
        });
        for start in starts.collect::<Vec<_>>() {
            // A start that panicked has failed.
            let _ = start.await;
        }
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        self.around.stop.cancel();
        self.around.kill.cancel();
    }
}

/// The result of a probe of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeResult {
    /// The server's description of itself.
    pub description: String,
    /// The names and descriptions of the offered tools.
    pub tools: Vec<(String, String)>,
    /// The reason it cannot be used.
    pub problem: Option<String>,
    /// A remark on parts that cannot be used.
    pub remark: Option<String>,
}

/// Starts a server, lists its tools, and ends it.
pub async fn probe_server(
    server: ConfiguredServer,
    env: Arc<ChildEnv>,
    scratch: Arc<Scratch>,
    network: Network,
    logins: Option<LoginStore>,
    cwd: PathBuf,
    sandbox: Arc<SandboxPolicy>,
) -> ProbeResult {
    let mut mcp = Mcp::new(env, scratch, network, logins);
    mcp.start(ReadServers::new(move |_| vec![server.clone()]), cwd, sandbox);
    mcp.ready(TRY_TIME).await;
    let row = mcp.rows()().into_iter().next();
    let spec = |tool: &Arc<dyn AnyTool>| (tool.spec().name.clone(), tool.spec().description.clone());
    let tools = mcp.tools().iter().map(spec).collect();
    let is_ready = mcp.is_settled();
    mcp.end(Instant::now() + Duration::from_secs(2)).await;
    let is_failed = row.as_ref().is_some_and(|row| row.state == ExtensionState::Failed);
    let (description, problems) = row.map(|row| (row.description, row.problems)).unwrap_or_default();
    let told = problems.into_iter().next();
    let (problem, remark) = if is_failed || !is_ready {
        (Some(told.unwrap_or_else(|| "it is not ready".to_owned())), None)
    } else {
        (None, told)
    };
    ProbeResult { description, tools, problem, remark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_waits_for_a_start_that_panicked() {
        let (sender, mut starting) = watch::channel(Starting::Reading);
        let in_progress = StartInProgress(sender.clone());
        let start = tokio::spawn(async move {
            in_progress.0.send_replace(Starting::Known);
            panic!("a bug");
        });
        assert!(start.await.unwrap_err().is_panic());
        assert!(starting.wait_for(|starting| *starting == Starting::Settled).await.is_ok());
        drop(sender);
    }
}
