//! A connection to a running server, from its start to its end.

#![allow(deprecated, reason = "the newest protocol drops logging levels, but servers in use have them")]

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::model::{
    CancelledNotificationParam, ClientRequest, CompleteRequest, CompleteRequestParams, ListToolsRequest,
    PaginatedRequestParams, Prompt, RequestId, Resource, ResourceTemplate, ServerPeerInfo, ServerResult,
    SetLevelRequestParams, Tool,
};
use rmcp::service::{
    ClientInitializeError, Peer, PeerRequestOptions, RoleClient, RunningService, ServiceError, serve_client,
};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::http::{self, innermost};
use super::stdio::StdioTransport;
use super::trouble::Trouble;
use super::{McpContext, Place, lenient, logging, oauth};
use crate::settings::mcp_servers::{McpServer, McpTransport};
use crate::settings::mcp_variables::{Forms, expand, passed_on};
use tau_tools::ToolProgress;
use tau_tools::counted::pluralize;
use tau_tools::process::server::{ServerCommand, ServerProcess};
use tau_tools::sandbox::support::Support;
use tau_tools::sandbox::{SandboxLevel, SandboxPolicy, Start};
use tau_tools::user_error::UserError;

/// The default time limit for a server to be ready: its first start may include a download.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// The time that a server has to end by itself once its input is closed.
const END_GRACE: Duration = Duration::from_millis(150);
/// The error for a server that requires authorization, where logins are not possible.
const WANTS_TOKEN: &str = "it requires a login; get a token from its provider and set it as `headers = { Authorization = \"Bearer …\" }`";
/// The error for a server that does not accept the token in its headers.
const WRONG_TOKEN: &str = "it does not accept the Authorization in its `headers`";
/// The time limit for lists that a server can do without.
const LIST_TIME: Duration = Duration::from_secs(10);
/// The time limit for values of an argument that is being typed.
const COMPLETION_TIME: Duration = Duration::from_secs(5);
/// The maximum number of pages of a list.
const MAX_PAGES: usize = 100;

/// A connection to a running server.
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    is_process: bool,
    /// The error when the server requires a login.
    log_in: String,
    /// The time limit for the list of its tools, without which it is of no use.
    start_time: Duration,
    pub(super) client: Client,
    pub(super) trouble: Arc<Trouble>,
    /// Cancelled once the server has ended, for any reason.
    pub(super) ended: CancellationToken,
    /// Cancelled to end the server.
    stop: CancellationToken,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The reason a call has no answer.
#[derive(Debug)]
pub(super) enum CallFailure {
    /// The server answered with an error.
    Refused(String),
    /// There was no answer in time.
    TimedOut(Duration),
    /// The server has ended.
    Ended,
}

impl Connection {
    /// Starts a server, and waits until it is ready.
    pub(super) async fn open(
        server: &McpServer,
        place: &Place,
        around: &Arc<McpContext>,
    ) -> Result<Arc<Self>, UserError> {
        let trouble = Arc::new(Trouble::of(server));
        let limit = start_time(server);
        let opening = Self::open_within(server, place, around, &trouble);
        match timeout(limit, opening).await {
            Ok(opened) => opened,
            Err(_) => {
                let said = trouble.text().map(|text| format!("; it wrote: {text}")).unwrap_or_default();
                Err(format!("it was not ready within {}{said}", pluralize(limit.as_secs(), "second")).into())
            }
        }
    }

    async fn open_within(
        server: &McpServer,
        place: &Place,
        around: &Arc<McpContext>,
        trouble: &Arc<Trouble>,
    ) -> Result<Arc<Self>, UserError> {
        let client = Client::new(server, &place.cwd, around);
        let log_in = log_in(server, around);
        let (service, process) = match &server.transport {
            McpTransport::Stdio { command, args, env, cwd } => {
                let mut program = Program::from_config(command, args, env, cwd.as_deref(), &place.cwd)?;
                if let Some(package) = &server.package {
                    let folders = package.prepare().map_err(|error| error.to_string())?;
                    // What its file says counts.
                    program.variables.splice(0..0, folders);
                }
                let sandbox = sandbox(server, place, &program, around);
                let (process, transport) = program.start(&sandbox, around, trouble)?;
                match serve_client(client.clone(), transport).await {
                    Ok(served) => (served, Some(process)),
                    Err(error) => {
                        trouble.wait_for_lines().await;
                        return Err(start_error(&error, trouble, &log_in).into());
                    }
                }
            }
            McpTransport::Http { url, headers, oauth } => {
                let transport = http::transport(url, headers, oauth, around)?;
                let served = serve_client(client.clone(), transport).await;
                (served.map_err(|error| start_error(&error, trouble, &log_in))?, None)
            }
        };
        let connection = Arc::new(Connection {
            peer: service.peer().clone(),
            is_process: process.is_some(),
            log_in,
            start_time: start_time(server),
            client,
            trouble: Arc::clone(trouble),
            ended: CancellationToken::new(),
            stop: around.stop.child_token(),
        });
        let (ended, stop) = (connection.ended.clone(), connection.stop.clone());
        let quiet = Arc::clone(&connection);
        around.tasks.spawn(async move { quiet.ended.run_until_cancelled(quiet.ask_for_warnings()).await });
        around.tasks.spawn(watch(service, process, ended, stop, around.kill.clone(), Arc::clone(trouble)));
        Ok(connection)
    }

    /// The server's description of itself.
    pub(super) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer.peer_info()
    }

    /// The tools of the server, and the names of those that cannot be parsed.
    pub(super) async fn tools(&self) -> Result<(Vec<Tool>, Vec<String>), UserError> {
        if self.info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Default::default());
        }
        let odd = Mutex::new(Vec::new());
        let page = |params| async {
            let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
            match self.peer.send_request(request).await? {
                ServerResult::ListToolsResult(page) => Ok((page.tools, page.next_cursor)),
                // A single invalid tool makes the whole list invalid.
                ServerResult::CustomResult(page) => {
                    let (tools, next, unread) =
                        lenient::tools(&page.0).ok_or(ServiceError::UnexpectedResponse)?;
                    odd.lock().extend(unread);
                    Ok((tools, next))
                }
                _ => Err(ServiceError::UnexpectedResponse),
            }
        };
        let tools = within(self.start_time, "tools", self.pages("tools", page)).await?;
        Ok((tools, odd.into_inner()))
    }

    /// The prompts of the server.
    pub(super) async fn prompts(&self) -> Result<Vec<Prompt>, UserError> {
        if self.info().is_none_or(|info| info.capabilities.prompts.is_none()) {
            return Ok(Vec::new());
        }
        let page = |params| async {
            let page = self.peer.list_prompts(Some(params)).await?;
            Ok((page.prompts, page.next_cursor))
        };
        within(LIST_TIME, "prompts", self.pages("prompts", page)).await
    }

    /// The resources of the server, and its resource templates.
    pub(super) async fn resources(&self) -> Result<(Vec<Resource>, Vec<ResourceTemplate>), UserError> {
        if self.info().is_none_or(|info| info.capabilities.resources.is_none()) {
            return Ok(Default::default());
        }
        let page = |params| async {
            let page = self.peer.list_resources(Some(params)).await?;
            Ok((page.resources, page.next_cursor))
        };
        let listed = within(LIST_TIME, "resources", self.pages("resources", page)).await?;
        let page = |params| async {
            let page = self.peer.list_resource_templates(Some(params)).await?;
            Ok((page.resource_templates, page.next_cursor))
        };
        // Servers without templates may not know the request.
        let templates = within(LIST_TIME, "templates", self.pages("templates", page)).await;
        Ok((listed, templates.unwrap_or_default()))
    }

    /// Asks a server with logging for messages of the shown levels only.
    async fn ask_for_warnings(&self) {
        if self.info().is_some_and(|info| info.capabilities.logging.is_some()) {
            let params = SetLevelRequestParams::new(logging::MIN_LEVEL);
            // Messages of lower levels are dropped anyway.
            let _ = timeout(LIST_TIME, self.peer.set_level(params)).await;
        }
    }

    /// A paged list. `what` is its display name.
    async fn pages<T, P>(
        &self,
        what: &str,
        page: impl Fn(PaginatedRequestParams) -> P,
    ) -> Result<Vec<T>, UserError>
    where
        P: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor = cursor;
            let found = page(params).await;
            let (items, next) =
                found.map_err(|error| format!("its {what} cannot be listed: {}", self.error_text(&error)))?;
            all.extend(items);
            cursor = next.filter(|cursor| !cursor.is_empty());
            if cursor.is_none() || all.len() >= super::MAX_LISTED {
                break;
            }
        }
        Ok(all)
    }

    /// Asks the server for values of an argument; none if it does not support that.
    pub(super) async fn complete(&self, params: CompleteRequestParams) -> Result<Vec<String>, CallFailure> {
        if self.info().is_none_or(|info| info.capabilities.completions.is_none()) {
            return Ok(Vec::new());
        }
        let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
        match self.request(request, COMPLETION_TIME, &ToolProgress::none()).await? {
            ServerResult::CompleteResult(result) => Ok(result.completion.values),
            _ => Ok(Vec::new()),
        }
    }

    /// Sends a request and waits for its answer; every progress report extends the time limit. Dropping the
    /// future notifies the server of the cancellation.
    pub(super) async fn request(
        &self,
        request: ClientRequest,
        limit: Duration,
        progress: &ToolProgress,
    ) -> Result<ServerResult, CallFailure> {
        let options = PeerRequestOptions::with_timeout(limit).reset_timeout_on_progress();
        let sent = self.peer.send_cancellable_request(request, options).await;
        let handle = sent.map_err(|error| self.failure(error))?;
        let mut waiting = Waiting { peer: self.peer.clone(), id: Some(handle.id.clone()) };
        let _shown = self.client.show_progress(handle.progress_token.clone(), progress.clone());
        let answer = handle.await_response().await;
        waiting.id = None;
        answer.map_err(|error| self.failure(error))
    }

    fn failure(&self, error: ServiceError) -> CallFailure {
        match error {
            ServiceError::Timeout { timeout } => CallFailure::TimedOut(timeout),
            ServiceError::TransportSend(_) if !self.is_process => {
                CallFailure::Refused(self.error_text(&error))
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => CallFailure::Ended,
            other => CallFailure::Refused(self.error_text(&other)),
        }
    }

    /// Describes an error for the user.
    fn error_text(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => error.message.to_string(),
            ServiceError::TransportSend(_) if error.is_authorization_required() => self.log_in.clone(),
            ServiceError::TransportSend(sent) if !self.is_process => {
                format!("the request failed: {}", innermost(sent.error.as_ref()))
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => match self.trouble.text() {
                Some(text) => format!("the server has ended: {text}"),
                None => "the server has ended".to_owned(),
            },
            other => other.to_string(),
        }
    }

    /// Ends the server, on purpose.
    pub(super) fn retire(&self) {
        self.stop.cancel();
    }

    /// Whether it was ended on purpose.
    pub(super) fn is_retired(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// The reason the server ended, as part of a sentence.
    pub(super) fn end_reason(&self) -> String {
        self.trouble.text().map(|text| format!(": {text}")).unwrap_or_default()
    }
}

/// The time limit for a server to be ready, and again to list its tools.
fn start_time(server: &McpServer) -> Duration {
    let seconds = server.start_timeout.filter(|seconds| *seconds > 0);
    seconds.map_or(START_TIMEOUT, Duration::from_secs)
}

/// Awaits a list, with a time limit.
async fn within<T>(
    limit: Duration,
    what: &str,
    listing: impl Future<Output = Result<Vec<T>, UserError>>,
) -> Result<Vec<T>, UserError> {
    let listed = timeout(limit, listing).await;
    listed.unwrap_or_else(|_| {
        Err(format!("it did not list its {what} within {}", pluralize(limit.as_secs(), "second")).into())
    })
}

/// A pending request.
struct Waiting {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let (peer, reason) = (self.peer.clone(), "the user aborted the call".to_owned());
        runtime.spawn(async move {
            // A server that has ended needs no notification.
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(id), Some(reason))).await;
        });
    }
}

/// Waits for the end of a server, or ends it.
async fn watch(
    service: RunningService<RoleClient, Client>,
    process: Option<ServerProcess>,
    ended: CancellationToken,
    stop: CancellationToken,
    kill: CancellationToken,
    trouble: Arc<Trouble>,
) {
    let close = service.cancellation_token();
    let work = async {
        let mut process = process;
        let mut closed = std::pin::pin!(service.waiting());
        let mut is_closed = false;
        tokio::select! {
            () = stop.cancelled() => {}
            _ = &mut closed => is_closed = true,
            status = wait(&mut process) => {
                if let Ok(status) = status {
                    trouble.record_exit_status(status.to_string());
                }
            }
        }
        close.cancel();
        if !is_closed {
            let _ = timeout(END_GRACE, closed).await;
        }
        if let Some(process) = process
            && let Some(status) = process.end(END_GRACE).await
        {
            trouble.record_exit_status(status.to_string());
            trouble.wait_for_lines().await;
        }
    };
    // Dropping the work kills the process.
    kill.run_until_cancelled(work).await;
    ended.cancel();
}

/// Waits for the end of a process; forever without one.
async fn wait(process: &mut Option<ServerProcess>) -> io::Result<ExitStatus> {
    match process {
        Some(process) => process.wait().await,
        None => std::future::pending().await,
    }
}

/// The advice to the user when the server requires a login.
fn log_in(server: &McpServer, around: &McpContext) -> String {
    match &server.transport {
        McpTransport::Http { headers, .. } if http::has_authorization(headers) => WRONG_TOKEN.to_owned(),
        McpTransport::Http { .. } if around.logins.is_some() => oauth::needs_login(&server.name),
        McpTransport::Http { .. } | McpTransport::Stdio { .. } => WANTS_TOKEN.to_owned(),
    }
}

/// Describes a failed start, as part of a sentence.
fn start_error(error: &ClientInitializeError, trouble: &Trouble, log_in: &str) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => format!("it refused the connection: {}", error.message),
        error if error.is_authorization_required() => log_in.to_owned(),
        ClientInitializeError::TransportError { error, .. } if !error.error.is::<io::Error>() => {
            innermost(error.error.as_ref())
        }
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
            match trouble.text() {
                Some(text) => format!("it ended before it was ready: {text}"),
                None => "it ended before it was ready".to_owned(),
            }
        }
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            "its first answer is not MCP".to_owned()
        }
        other => other.to_string(),
    }
}

/// Whether a server runs in the sandbox, if there is one here.
pub(super) fn is_sandboxed(server: &McpServer, place: &Place, around: &McpContext) -> bool {
    let McpTransport::Stdio { command, args, env, cwd } = &server.transport else { return false };
    let program = Program::from_config(command, args, env, cwd.as_deref(), &place.cwd);
    program.is_ok_and(|program| Support::here().enforces_some(&sandbox(server, place, &program, around)))
}

/// The sandbox of a server: that of the model's commands, if it is sandboxed, or if commands can change its
/// program and the user has not decided otherwise. Where commands are not confined, it can change the
/// workspace.
fn sandbox(server: &McpServer, place: &Place, program: &Program, around: &McpContext) -> SandboxPolicy {
    let of_package = server.package.as_ref().map(|package| package.policy(&place.sandbox));
    let policy = of_package.as_ref().unwrap_or(&place.sandbox);
    let start = Start { cwd: &program.cwd, path: around.env.get("PATH") };
    let is_changeable = || {
        let arguments = program.arguments.iter().map(String::as_str);
        policy.can_change_program(start, &program.command.to_string_lossy(), arguments)
    };
    if !server.sandbox.unwrap_or_else(is_changeable) {
        return SandboxPolicy::off();
    }
    let level = if policy.level == SandboxLevel::Off { SandboxLevel::WorkspaceWrite } else { policy.level };
    SandboxPolicy { level, ..policy.clone() }
}

/// A program with its variables replaced.
struct Program {
    command: OsString,
    arguments: Vec<String>,
    variables: Vec<(String, OsString)>,
    cwd: std::path::PathBuf,
}

impl Program {
    fn from_config<'a>(
        command: &str,
        args: &[String],
        env: impl IntoIterator<Item = (&'a String, &'a String)>,
        cwd: Option<&Path>,
        session: &Path,
    ) -> Result<Self, UserError> {
        let lookup = |name: &str| std::env::var(name).ok();
        let braces = |text: &str| expand(text, Forms::Braces, &lookup);
        let command = braces(command)?;
        let command = match (command.strip_prefix("~/"), std::env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest).into_os_string(),
            _ => command.into(),
        };
        let arguments = args.iter().map(|arg| braces(arg)).collect::<Result<_, UserError>>()?;
        let variable = |(name, value): (&String, &String)| {
            Ok((name.clone(), OsString::from(expand(value, Forms::All, &lookup)?)))
        };
        // One that is only passed on, if it is set.
        let is_left_out = |(name, value): &(&String, &String)| {
            **value == passed_on(name) && lookup(name).is_none_or(|value| value.is_empty())
        };
        let env = env.into_iter().filter(|entry| !is_left_out(entry));
        let variables = env.map(variable).collect::<Result<_, UserError>>()?;
        let cwd = match cwd {
            Some(cwd) => tau_tools::paths::resolve(session, &braces(&cwd.to_string_lossy())?),
            None => session.to_owned(),
        };
        Ok(Program { command, arguments, variables, cwd })
    }

    fn start(
        &self,
        sandbox: &SandboxPolicy,
        around: &McpContext,
        trouble: &Arc<Trouble>,
    ) -> Result<(ServerProcess, StdioTransport), UserError> {
        let command = ServerCommand {
            program: &self.command,
            arguments: &self.arguments,
            cwd: &self.cwd,
            variables: &self.variables,
            sandbox,
        };
        let name = self.command.to_string_lossy();
        let (process, pipes) = ServerProcess::spawn(command, &around.env, &around.scratch).map_err(
            |error| match error.kind() {
                io::ErrorKind::NotFound if self.cwd.is_dir() => {
                    format!(
                        "the program `{name}` does not exist; check `command`, and whether it is installed"
                    )
                }
                io::ErrorKind::NotFound => format!("the directory {} does not exist", self.cwd.display()),
                _ => format!("`{name}` cannot be started: {}", tau_tools::paths::reason(&error)),
            },
        )?;
        let said = Arc::clone(trouble);
        tokio::spawn(async move { said.read(pipes.stderr).await });
        Ok((process, StdioTransport::new(pipes.stdin, pipes.stdout, Arc::clone(trouble))))
    }
}
