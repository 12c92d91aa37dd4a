//! Sessions as tools of MCP: their arguments, their effects, and results with the session's state.
//!
//! A tool that fails is a result with an error in words, which the model of the client can read. Only an
//! unknown tool is an error of the protocol.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::hub::{Hub, NewSession, SessionOptions};
use super::live::LiveSession;
use super::problem::Problem;
use super::types::same_variants;
use crate::live::others::refuse_command;
use tau_protocol::approval::{ApprovalAnswer, PermissionMode, RuleScope};
use tau_protocol::command::{QuestionAnswer, QuestionCommand, Queue, RunCommand};
use tau_tools::path_text;

/// Default wait of a tool in seconds: clients usually give up after 60.
const WAIT: u64 = 45;
/// Maximum wait, in seconds.
const MAX_SECONDS: u64 = 3_600;
/// Interval of progress notifications of a waiting call, for clients that want them.
const PROGRESS: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "Sessions of tau, a coding agent that works on files and runs commands in a directory. \
Start a session, prompt it, and wait until its state is `idle`. If its state is `waiting`, it asks for something: \
decide with session_answer. A session keeps its conversation.";

/// Where a session works, and with what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Start {
    /// The directory to work in; without it that of the server.
    cwd: Option<String>,
    /// The model, as provider/id; without it that of the settings.
    model: Option<String>,
    /// What is asked before a call is run: ask, edits, plan or auto; without it as the settings say.
    permission_mode: Option<Mode>,
    /// A name for the session.
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Auto,
    Ask,
    Edits,
    Plan,
}

same_variants!(Mode => PermissionMode: Auto, Ask, Edits, Plan);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Prompt {
    session_id: String,
    /// The message. While the agent works it is queued: the model gets it before its next turn.
    prompt: String,
    /// Seconds to wait for the end of the run, 45 if left out; 0 returns at once.
    wait_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wait {
    session_id: String,
    /// Seconds to wait for the end of the run or for a question, 45 if left out.
    wait_seconds: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Answer {
    session_id: String,
    /// The id of what waits, as in `approvals` or `questions`.
    id: String,
    /// For a call: whether it is run.
    decision: Option<Decision>,
    /// With deny: the reason that the model gets.
    reason: Option<String>,
    /// For a question: the option that is chosen, or a text.
    value: Option<String>,
    /// For a question: yes or no.
    confirmed: Option<bool>,
    /// For a form: the values by the names of its fields.
    values: Option<Map<String, Value>>,
    /// Seconds to wait after that, 45 if left out; 0 returns at once.
    wait_seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// Run it once.
    Allow,
    /// Run it, and in this session this exact call without a question.
    AllowExact,
    /// Run it, and in this session all calls that its suggested rules cover.
    AllowAlways,
    /// Do not run it.
    Deny,
    /// Do not run it, and stop the run.
    DenyAndStop,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stop {
    session_id: String,
}

/// The server: clones share the sessions.
#[derive(Clone)]
pub(super) struct SessionTools {
    hub: Arc<Hub>,
}

impl SessionTools {
    /// Tools for the sessions of this hub.
    pub fn new(hub: Arc<Hub>) -> Self {
        SessionTools { hub }
    }

    async fn call(&self, name: &str, arguments: Value, progress: &Progress) -> Result<Value, Problem> {
        match name {
            "session_start" => {
                let Start { cwd, model, permission_mode, name } = read(arguments)?;
                let options = SessionOptions {
                    model,
                    mode: permission_mode.map(Into::into),
                    ..SessionOptions::default()
                };
                let new = NewSession { cwd: cwd.map(Into::into), name, options, ..NewSession::default() };
                let live = self.hub.create(new).await?;
                Ok(state(&live))
            }
            "session_prompt" => {
                let Prompt { session_id, prompt, wait_seconds } = read(arguments)?;
                if prompt.trim().is_empty() {
                    return Err(Problem::refused("the prompt is empty"));
                }
                refuse_command(&prompt).map_err(Problem::refused)?;
                let live = self.hub.open(&session_id).await?;
                send(&live, prompt).await?;
                Ok(wait(&live, wait_seconds, progress).await)
            }
            "session_wait" => {
                let Wait { session_id, wait_seconds } = read(arguments)?;
                Ok(wait(&self.hub.open(&session_id).await?, wait_seconds, progress).await)
            }
            "session_answer" => {
                let answer: Answer = read(arguments)?;
                let (live, wait_seconds) = (self.hub.open(&answer.session_id).await?, answer.wait_seconds);
                decide(&live, answer).await?;
                Ok(wait(&live, wait_seconds, progress).await)
            }
            _ => {
                let Stop { session_id } = read(arguments)?;
                let live = self.hub.open(&session_id).await?;
                live.send(RunCommand::Abort).await?;
                live.idle().await?;
                Ok(state(&live))
            }
        }
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Problem> {
    serde_json::from_value(arguments).map_err(|error| Problem::invalid(format!("arguments: {error}")))
}

async fn send(live: &Arc<LiveSession>, text: String) -> Result<(), Problem> {
    let _turn = live.prompting().await;
    if live.read_facts(|facts, _| facts.mirror.model.is_none()) {
        return Err(Problem::refused(
            "no model is selected: name one in session_start, or start the server with --model",
        ));
    }
    live.check_command(&text).await?.map_err(Problem::refused)?;
    live.send(RunCommand::Prompt { text, images: Vec::new(), streaming: Queue::Steer }).await?;
    // Answered once the run has started.
    live.flush().await?.map_err(Problem::not_stored)
}

async fn decide(live: &Arc<LiveSession>, given: Answer) -> Result<(), Problem> {
    let missing = || Problem::not_found("nothing with this id is waiting; it may have been answered already");
    if live.waits_for_approval(&given.id) {
        let rules = live.read_facts(|facts, _| {
            let request = facts.mirror.approvals.iter().find(|request| request.id == given.id);
            request.map(|request| request.suggested_rules.clone()).unwrap_or_default()
        });
        let answer = match given.decision {
            None => return Err(Problem::invalid("this is a call: give a decision")),
            Some(Decision::Allow) => ApprovalAnswer::Allow { hunks: None, edited: None },
            Some(Decision::AllowAlways) => {
                if rules.is_empty() {
                    return Err(Problem::refused(
                        "there is no rule for calls like this; use allow_exact or allow",
                    ));
                }
                ApprovalAnswer::AllowAlways { rules, scope: RuleScope::Session, hunks: None }
            }
            Some(Decision::AllowExact) => ApprovalAnswer::AllowExact { hunks: None },
            Some(Decision::Deny) => ApprovalAnswer::Deny { reason: given.reason, stop: false },
            Some(Decision::DenyAndStop) => ApprovalAnswer::Deny { reason: given.reason, stop: true },
        };
        live.send(QuestionCommand::AnswerApproval { id: given.id, answer }).await?;
    } else {
        let answer = match (given.value, given.values, given.confirmed) {
            (Some(value), None, None) => QuestionAnswer::Value(value),
            (None, Some(values), None) => QuestionAnswer::Form(values),
            (None, None, Some(confirmed)) => QuestionAnswer::Confirmed(confirmed),
            _ if !live.read_facts(|facts, _| facts.mirror.asks(&given.id)) => return Err(missing()),
            _ => return Err(Problem::invalid("this is a question: give one of value, values and confirmed")),
        };
        if !live.answer_question(given.id, answer).await? {
            return Err(missing());
        }
    }
    live.sync().await?;
    Ok(())
}

/// Reports the progress of a run to a client, if it gave a token for that.
struct Progress {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
}

impl Progress {
    /// Reports the run's progress; never ends.
    async fn report(&self, live: &LiveSession, began: Instant) {
        let Some(token) = &self.token else { return std::future::pending().await };
        let calls_before = live.read_facts(|facts, _| facts.tool_calls);
        loop {
            tokio::time::sleep(PROGRESS).await;
            let (calls, tokens) =
                live.read_facts(|facts, _| (facts.tool_calls - calls_before, facts.run.usage.total_tokens));
            // Seconds, since they increase regardless of the model. Their total is unknown.
            let progress = ProgressNotificationParam::new(token.clone(), began.elapsed().as_secs_f64())
                .with_message(format!("working: {calls} tool calls, {tokens} tokens"));
            if self.peer.notify_progress(progress).await.is_err() {
                // The client has left, which ends the call elsewhere.
                return std::future::pending().await;
            }
        }
    }
}

/// Waits until nothing is running, there is an open question, or the time is over; returns the state then.
async fn wait(live: &Arc<LiveSession>, seconds: Option<u64>, progress: &Progress) -> Value {
    let began = Instant::now();
    let end = began + Duration::from_secs(seconds.unwrap_or(WAIT).min(MAX_SECONDS));
    let _client = live.client();
    tokio::select! {
        () = until(live, end) => {}
        () = progress.report(live, began) => {}
    }
    state(live)
}

/// Waits until nothing is running, there is an open question, or the time is over.
async fn until(live: &Arc<LiveSession>, end: Instant) {
    loop {
        let (over, last) = live.read_facts(|facts, log| {
            let over = !facts.mirror.running
                || !facts.mirror.approvals.is_empty()
                || !facts.mirror.questions.is_empty();
            (over, log.last())
        });
        if over {
            break;
        }
        match tokio::time::timeout_at(end, live.wait_after(last)).await {
            Ok(true) => {}
            // The session has ended, or the time is over.
            Ok(false) | Err(_) => break,
        }
    }
}

/// The state of a session for clients.
fn state(live: &LiveSession) -> Value {
    live.read_facts(|facts, _| {
        let waits = !facts.mirror.approvals.is_empty() || !facts.mirror.questions.is_empty();
        let state = match (waits, facts.mirror.running) {
            (true, _) => "waiting",
            (false, true) => "running",
            (false, false) => "idle",
        };
        let approvals: Vec<Value> = facts
            .mirror
            .approvals
            .iter()
            .map(|request| {
                let reasons: Vec<&str> = request.reasons.iter().map(|reason| reason.text.as_str()).collect();
                json!({
                    "id": request.id, "tool": request.tool_name, "title": request.title, "reasons": reasons,
                    "preview": request.preview, "suggestedRules": request.suggested_rules, "canAllowExact": request.can_allow_exact,
                    "sandbox": request.sandbox,
                })
            })
            .collect();
        let questions = facts.questions();
        let cwd = path_text::text(&facts.mirror.session.cwd);
        let mut state = json!({ "sessionId": live.id, "state": state, "cwd": cwd });
        let mut set = |name: &str, value: Value| crate::protocol::set(&mut state, name, value);
        if let Some(text) = facts.run.answer.text() {
            set("text", json!(text));
        }
        if let Some(error) = &facts.run.error {
            set("error", json!(error));
        }
        if facts.run.aborted {
            set("aborted", json!(true));
        }
        if waits {
            set("approvals", json!(approvals));
            set("questions", json!(questions));
        }
        state
    })
}

/// The tools: name, description, schema.
fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, text: &'static str, schema: schemars::Schema| {
        let schema = schema.as_value().as_object().cloned().unwrap_or_default();
        Tool::new(Cow::Borrowed(name), Cow::Borrowed(text), Arc::new(schema))
    };
    vec![
        tool(
            "session_start",
            "Start a session of the coding agent in a directory. Returns its sessionId.",
            schemars::schema_for!(Start),
        ),
        tool(
            "session_prompt",
            "Send a prompt to a session and wait for its answer. Returns the state: `idle` with the final \
             text, `waiting` with what it asks, or `running` when the wait was too short.",
            schemars::schema_for!(Prompt),
        ),
        tool(
            "session_wait",
            "Wait until a session is idle or asks for something. Returns its state.",
            schemars::schema_for!(Wait),
        ),
        tool(
            "session_answer",
            "Answer what a session asks: decide on a call that needs approval, or answer a question. Then \
             waits as session_wait.",
            schemars::schema_for!(Answer),
        ),
        tool("session_stop", "Stop what a session does. Returns its state.", schemars::schema_for!(Stop)),
    ]
}

impl ServerHandler for SessionTools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("tau", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(INSTRUCTIONS.to_owned());
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !tools().iter().any(|tool| tool.name == request.name) {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let progress = Progress { peer: context.peer.clone(), token: context.meta.get_progress_token() };
        let done = tokio::select! {
            done = self.call(&request.name, arguments, &progress) => done,
            // The run continues; another call can wait for it.
            () = context.ct.cancelled() => Err(Problem::refused("the call was cancelled")),
        };
        let result = match done {
            Ok(state) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(state.to_string())]);
                result.structured_content = Some(state);
                result
            }
            Err(problem) => {
                // A remedy for a client of `tau serve` does not help a client of MCP.
                let remedy = "`tau sessions --all` lists them";
                let text = problem.detail.replace("GET /api/sessions lists them", remedy);
                CallToolResult::error(vec![ContentBlock::text(text)])
            }
        };
        Ok(result.into())
    }
}
