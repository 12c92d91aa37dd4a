//! A tool of a server as a tool of the agent.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::Value;
use tokio::time::timeout;

use super::connection::{CallFailure, Connection};
use super::{lenient, result, schema};
use crate::extensions::call_title;
use tau_tools::counted::pluralize;
use tau_tools::user_error::UserError;
use tau_tools::{
    Access, AnyTool, ApprovedPart, Details, PreparedCall, PreparingCall, ToolContext, ToolError, ToolOutput,
    ToolSpec, args,
};

/// The default time limit for the result of a call without progress.
const CALL_TIMEOUT: Duration = Duration::from_secs(600);
/// The longest wait for the end of a process whose streams are closed.
const END_TIME: Duration = Duration::from_secs(3);
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION_LEN: usize = 8_000;
/// The maximum length of a display name, in characters.
const MAX_LABEL_LEN: usize = 80;

type Connecting = Pin<Box<dyn Future<Output = Result<Arc<Connection>, UserError>> + Send>>;

/// The facts about a tool's server that a call needs.
pub(super) struct Callee {
    /// The name of the server.
    pub(super) name: String,
    /// The time limit for a result without progress; `None` for the default.
    pub(super) timeout: Option<Duration>,
    pub(super) access: Access,
    /// Connects to it; it is started if it is not running. An error is part of a sentence.
    pub(super) connect: Box<dyn Fn() -> Connecting + Send + Sync>,
}

/// A tool of a server.
pub(super) struct McpTool {
    spec: ToolSpec,
    /// Its name at the server.
    name: String,
    callee: Arc<Callee>,
}

impl McpTool {
    /// Makes a tool that models call by `name`.
    pub(super) fn new(name: String, tool: &rmcp::model::Tool, callee: &Arc<Callee>) -> Self {
        let said = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        let label = tool.title.clone().unwrap_or_else(|| args::label(&tool.name));
        let spec = ToolSpec {
            name,
            label: label.chars().take(MAX_LABEL_LEN).collect(),
            description: said.trim().chars().take(MAX_DESCRIPTION_LEN).collect(),
            parameters: schema::of_arguments(&tool.input_schema),
            // A server's hints about its tools are only claims.
            read_only: false,
        };
        McpTool { spec, name: tool.name.to_string(), callee: Arc::clone(callee) }
    }

    async fn call(&self, args: Value, context: ToolContext) -> Result<ToolOutput, ToolError> {
        let work = self.call_to_its_end(args, &context);
        match context.cancel.run_until_cancelled(work).await {
            Some(result) => result,
            None => Err(ToolError::aborted()),
        }
    }

    async fn call_to_its_end(&self, args: Value, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let name = &self.callee.name;
        let connection = (self.callee.connect)().await;
        let connection = connection
            .map_err(|why| ToolError::refused(format!("the MCP server {name} cannot be started: {why}")))?;
        let mut params = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(fields) = args {
            params = params.with_arguments(fields);
        }
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let limit = self.callee.timeout.unwrap_or(CALL_TIMEOUT);
        match connection.request(request, limit, &context.progress).await {
            Ok(answer) => self.answer(answer, context),
            Err(CallFailure::Refused(why)) => Err(ToolError::refused(why)),
            Err(CallFailure::TimedOut(limit)) => Err(ToolError::refused(format!(
                "the MCP server {name} did not answer within {}",
                pluralize(limit.as_secs(), "second")
            ))),
            Err(CallFailure::Ended) => {
                // The reason it ended is known a little later.
                let _ = timeout(END_TIME, connection.ended.cancelled()).await;
                Err(ToolError::refused(format!(
                    "the MCP server {name} ended during the call{}; it is started again at the next call",
                    connection.end_reason()
                )))
            }
        }
    }

    fn answer(&self, answer: ServerResult, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        match answer {
            ServerResult::CallToolResult(result) => {
                result::of_call(result, context.limits.clone(), &context.scratch)
            }
            ServerResult::EmptyResult(_) => Ok(ToolOutput::new("(no content)", Details::None)),
            ServerResult::InputRequiredResult(_) => {
                Err(ToolError::refused("the server asks for input in a way that tau does not support"))
            }
            ServerResult::CustomResult(answer) => match lenient::result(&answer.0) {
                Some(result) => result::of_call(result, context.limits.clone(), &context.scratch),
                None => Err(ToolError::refused("the server's answer is not the result of a call")),
            },
            _ => Err(ToolError::refused("the server's answer is not the result of a call")),
        }
    }
}

impl AnyTool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn title(&self, args: &Value) -> String {
        call_title::of_arguments(args)
    }

    fn prepares_from_arguments(&self) -> bool {
        true
    }

    fn prepare(&self, args: Value, context: ToolContext) -> PreparingCall<'_> {
        let access = self.callee.access.clone().with_texts_of(&args);
        Box::pin(
            async move { Ok(PreparedCall::new(access, move |_: ApprovedPart| self.call(args, context))) },
        )
    }
}
