//! Offers of servers besides tools: prompts, resources and completions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::{
    ClientRequest, CompleteRequestParams, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, ServerResult,
};
use tokio::time::Duration;

use super::connection::CallFailure;
use super::prompts::{McpPrompt, usable_suggestions};
use super::resources::{self, Mention};
use super::server::Server;
use super::template::{Completing, template_of};
use super::{Mcp, McpNews, names, result};
use tau_protocol::extension::{ArgumentValues, McpResource, PromptCommand};
use tau_tools::access::FileFilter;
use tau_tools::counted::pluralize;
use tau_tools::scratch::Scratch;
use tau_tools::user_error::UserError;
use tau_tools::{Content, OutputLimits, ToolOutput, ToolProgress};

/// The time limit for a prompt or a resource.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// An attachment of a message, once a server has answered.
pub(crate) type Attaching = BoxFuture<'static, Result<ToolOutput, UserError>>;

impl Mcp {
    /// The prompts of all servers as commands, by server and name.
    pub(crate) fn commands(&self) -> Vec<PromptCommand> {
        self.enabled_servers().iter().flat_map(|server| server.commands()).collect()
    }

    /// The message of a prompt for a command with these arguments, once the server has answered; a server
    /// that is starting is waited for. `None` if no server has such a prompt. An error is a sentence.
    pub(crate) fn prompt(
        &self,
        command: &str,
        typed: &str,
        limits: OutputLimits,
    ) -> Option<BoxFuture<'static, Result<ToolOutput, UserError>>> {
        let (typed, scratch) = (typed.to_owned(), Arc::clone(&self.around.scratch));
        if let Some((server, prompt)) = self.find_prompt(command) {
            return Some(Box::pin(async move { fetch(&server, &prompt, &typed, limits, &scratch).await }));
        }
        let (server, command) = (self.starting(command)?, command.to_owned());
        Some(Box::pin(async move {
            let name = &server.configured.server.name;
            let started = server.connection().await;
            started.map_err(|why| format!("/{command}: the MCP server {name} cannot be started: {why}"))?;
            let prompt = server.prompt(&command);
            let prompt =
                prompt.ok_or_else(|| format!("/{command}: the MCP server {name} has no such prompt"))?;
            fetch(&server, &prompt, &typed, limits, &scratch).await
        }))
    }

    /// The starting server that a command names.
    fn starting(&self, command: &str) -> Option<Arc<Server>> {
        let (name, _) = command.split_once(':')?;
        let is_meant = |server: &&Arc<Server>| {
            server.is_starting() && names::plain(&server.configured.server.name) == name
        };
        self.enabled_servers().iter().find(is_meant).cloned()
    }

    /// The resources of all servers.
    pub(crate) fn resources(&self) -> Vec<McpResource> {
        self.enabled_servers().iter().flat_map(|server| server.resources()).collect()
    }

    /// The resources named in the user's text: the attachment for each, once the server has answered, and an
    /// error message for each reference that matches no resource. A resource that is an unreadable file is
    /// not requested.
    pub(crate) fn mentioned_resources(
        &self,
        text: &str,
        limits: OutputLimits,
        files: &dyn FileFilter,
    ) -> (Vec<Attaching>, Vec<String>) {
        let (mut attached, mut unknown) = (Vec::new(), Vec::new());
        // Most texts name none.
        let listed = if text.contains('@') { self.resources() } else { Vec::new() };
        for mention in resources::mentions(text, &listed) {
            let Mention { server: written, uri, is_known } = mention;
            let server = self.enabled_servers().into_iter().find(|server| {
                names::plain(&server.configured.server.name) == written && !server.resources().is_empty()
            });
            let file = url::Url::parse(&uri).ok().and_then(|url| url.to_file_path().ok());
            let denied = file.and_then(|path| files.denies(&path)).filter(|_| is_known);
            if let Some(why) = denied {
                let refused = Err(UserError::new(format!("@{written}:{uri} is not attached")).because(why));
                attached.push(Box::pin(std::future::ready(refused)) as Attaching);
                continue;
            }
            match server.filter(|_| is_known) {
                Some(server) => {
                    let (scratch, limits) = (Arc::clone(&self.around.scratch), limits.clone());
                    attached.push(Box::pin(async move {
                        let read = read(&server, &written, &uri, limits, &scratch).await;
                        read.map_err(|why| UserError::new(format!("@{written}:{uri}")).because(why))
                    }) as Attaching);
                }
                None => unknown.push(format!("@{written}:{uri}")),
            }
        }
        (attached, unknown)
    }

    /// Requests values of the argument that is being typed after a command, or addresses that match the
    /// templates of `@server`. [`McpNews::Completed`] follows.
    pub(crate) fn complete(&self, ticket: u64, command: &str, typed: &str) {
        let wanted = match command.strip_prefix('@') {
            Some(server) => self.completing(server, typed),
            None => self.find_prompt(command).and_then(|(server, prompt)| {
                let (argument, params) = prompt.completion(typed)?;
                Some((server, Completing { argument, params, around: None }))
            }),
        };
        let (news, stop) = (self.around.news.clone(), self.around.stop.clone());
        let work = async move {
            let answer = match wanted {
                Some((server, Completing { argument, params, around })) => {
                    let values = values(&server, params).await;
                    let values = match around {
                        Some(around) => values.iter().map(|value| around.with(value)).collect(),
                        None => values,
                    };
                    ArgumentValues { argument, values }
                }
                None => ArgumentValues::default(),
            };
            // It is not awaited when the agent has ended.
            let _ = news.send(McpNews::Completed { ticket, answer }).await;
        };
        self.around.tasks.spawn(async move { stop.run_until_cancelled(work).await });
    }

    /// The completion request for a resource address that is being typed and matches a template.
    fn completing(&self, written: &str, typed: &str) -> Option<(Arc<Server>, Completing)> {
        self.enabled_servers()
            .into_iter()
            .filter(|server| names::plain(&server.configured.server.name) == written)
            .find_map(|server| {
                let templates = server.resources().into_iter().filter(|resource| resource.is_template);
                let completing =
                    templates.into_iter().find_map(|template| template_of(&template.uri, typed))?;
                Some((server, completing))
            })
    }

    fn find_prompt(&self, command: &str) -> Option<(Arc<Server>, McpPrompt)> {
        self.enabled_servers().into_iter().find_map(|server| {
            let prompt = server.prompt(command)?;
            Some((server, prompt))
        })
    }

    /// The servers that are not turned off.
    fn enabled_servers(&self) -> Vec<Arc<Server>> {
        let servers = self.servers.lock();
        servers.iter().filter(|server| server.configured.server.enabled).cloned().collect()
    }
}

/// A server's suggestions for an argument; empty if it fails, since they are only a convenience.
async fn values(server: &Arc<Server>, params: CompleteRequestParams) -> Vec<String> {
    let Ok(connection) = server.connection().await else { return Vec::new() };
    connection.complete(params).await.map(usable_suggestions).unwrap_or_default()
}

async fn fetch(
    server: &Arc<Server>,
    prompt: &McpPrompt,
    typed: &str,
    limits: OutputLimits,
    scratch: &Scratch,
) -> Result<ToolOutput, UserError> {
    let command = &prompt.command;
    let filled = prompt.fill(typed)?;
    let mut params = GetPromptRequestParams::new(prompt.name.clone());
    params.arguments = filled.json();
    let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
    let failed = |why: UserError| UserError::new(format!("/{command}")).because(why);
    let mut output = match answer(server, request).await.map_err(failed)? {
        ServerResult::GetPromptResult(found) => result::of_prompt(found, limits, scratch),
        _ => return Err(failed("the server's answer is not a prompt".into())),
    };
    if !filled.rest.is_empty() {
        output.content.push(Content::text(filled.rest));
    }
    Ok(output)
}

async fn read(
    server: &Arc<Server>,
    written: &str,
    uri: &str,
    limits: OutputLimits,
    scratch: &Scratch,
) -> Result<ToolOutput, UserError> {
    let params = ReadResourceRequestParams::new(uri);
    let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
    match answer(server, request).await? {
        ServerResult::ReadResourceResult(found) => result::of_resource(found, written, uri, limits, scratch),
        _ => Err("the server's answer is not a resource".into()),
    }
}

/// Sends a request to a server, which is started if it is not running.
async fn answer(server: &Arc<Server>, request: ClientRequest) -> Result<ServerResult, UserError> {
    let name = &server.configured.server.name;
    let connection = server.connection().await;
    let connection = connection.map_err(|why| format!("the MCP server {name} cannot be started: {why}"))?;
    connection.request(request, ANSWER_TIME, &ToolProgress::none()).await.map_err(|failure| match failure {
        CallFailure::Refused(why) => UserError::new(why),
        CallFailure::TimedOut(limit) => {
            let limit = pluralize(limit.as_secs(), "second");
            UserError::new(format!("the MCP server {name} did not answer within {limit}"))
        }
        CallFailure::Ended => {
            UserError::new(format!("the MCP server {name} has ended{}", connection.end_reason()))
        }
    })
}
