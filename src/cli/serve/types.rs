//! The types of requests and responses. The OpenAPI document is made from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use tau_protocol::approval::PermissionMode;
use tau_protocol::command::Queue;
use tau_protocol::message::Block;
use tau_protocol::model::ThinkingLevel;

/// Converts an enum to one whose variants have the same names.
macro_rules! same_variants {
    ($from:ident => $to:ident: $($variant:ident),+) => {
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                match from {
                    $($from::$variant => $to::$variant,)+
                }
            }
        }
    };
}
pub(crate) use same_variants;

/// The properties of a new session.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// Its id; generated if left out.
    pub id: Option<String>,
    /// Its directory on the server; by default the server's.
    pub cwd: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The model, as `provider/id` or part of a name.
    #[cfg_attr(test, schema(min_length = 1))]
    pub model: Option<String>,
    pub thinking: Option<ThinkingName>,
    pub permission_mode: Option<ModeName>,
}

/// Changes to a session; omitted fields stay.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChangeSession {
    /// Its name; an empty one removes the current name.
    pub name: Option<String>,
    /// The model, from the next request on.
    #[cfg_attr(test, schema(min_length = 1))]
    pub model: Option<String>,
    pub thinking: Option<ThinkingName>,
    pub permission_mode: Option<ModeName>,
}

/// How much the model thinks before it answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ThinkingName {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

same_variants!(ThinkingName => ThinkingLevel: Off, Minimal, Low, Medium, High, Xhigh, Max);

/// The permission mode: which calls need approval before they run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModeName {
    Auto,
    Ask,
    Edits,
    Plan,
}

same_variants!(ModeName => PermissionMode: Auto, Ask, Edits, Plan);

/// A picture in a message.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum ImageBlock {
    Image {
        /// Its bytes as base64.
        data: String,
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        mime_type: String,
    },
}

impl From<ImageBlock> for Block {
    fn from(ImageBlock::Image { data, mime_type }: ImageBlock) -> Self {
        Block::Image { data, mime_type }
    }
}

/// The queue for a message sent during a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) enum QueueName {
    /// The model gets it after the tool calls of the current turn.
    Steer,
    /// The model gets it when it would otherwise stop.
    FollowUp,
}

same_variants!(QueueName => Queue: Steer, FollowUp);

/// A prompt for a session.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptSession {
    /// The text of the message. `/name` stands for a prompt template or skill.
    pub prompt: String,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
    /// The queue for it while the agent is working; without one, the prompt is then refused.
    pub streaming: Option<QueueName>,
    /// Answer at once and continue without this client. Otherwise the events are the answer, and
    /// disconnecting before the end aborts the run.
    #[serde(default)]
    pub detach: bool,
}

/// A prompt that names its session.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptAnywhere {
    /// The text of the message.
    pub prompt: String,
    /// The session; by default a new one.
    pub session_id: Option<String>,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
    /// The directory of a new session.
    pub cwd: Option<String>,
    /// The model of a new session.
    #[cfg_attr(test, schema(min_length = 1))]
    pub model: Option<String>,
    /// The permission mode of a new session.
    pub permission_mode: Option<ModeName>,
    /// The queue for it while the agent is working; without one, the prompt is then refused.
    pub streaming: Option<QueueName>,
    /// Answer at once and continue without this client.
    #[serde(default)]
    pub detach: bool,
}

/// A message for a queue.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QueueMessage {
    pub text: String,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
}

/// The confirmation of a message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Accepted {
    pub session_id: String,
    pub disposition: Disposition,
    /// The last event before it: `GET …/events` with this `Last-Event-ID` gives the later ones.
    pub last_event_id: String,
}

/// The result of sending a message.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Disposition {
    /// It starts a run.
    Started,
    /// It waits in a queue.
    Queued,
}

/// A session in a list.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionSummary {
    pub id: String,
    /// The program that wrote it: `tau`, or another agent, whose session a request continues as a copy.
    pub source: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The first line of the first prompt.
    pub first_prompt: String,
    pub cwd: String,
    /// Its start (RFC 3339).
    pub created: Option<String>,
    /// The time of its last message.
    pub modified: Option<String>,
    /// The number of messages from the user and the model.
    pub messages: u64,
    /// Whether it is open: on this server, or in another tau of the user on this machine.
    pub live: bool,
    /// Whether another tau has it open; that one carries out its requests.
    pub elsewhere: bool,
    /// Whether the agent is working in it.
    pub running: bool,
    /// The number of unanswered calls and questions.
    pub waiting: usize,
    /// `waiting`, `running`, `failed` or `done` (of the last run that is known), else `idle`.
    pub state: String,
    /// Provider and id of the model; absent unless it is open, or has ended in the background.
    pub model: Option<String>,
    /// US dollars, with those of its helpers; 0 unless it is open, or has ended in the background.
    pub cost: f64,
    /// Whether any of that cost is estimated.
    pub estimated: bool,
    /// The last line of the last answer, or the last error.
    pub last_line: String,
    /// Whether the user has put it away.
    pub archived: bool,
    /// While it works: the id of the session whose helper it is, or of the attempts it is one of.
    pub parent: Option<String>,
}

/// A page of sessions.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionList {
    /// Newest first.
    pub sessions: Vec<SessionSummary>,
    /// The `after` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A filter and the page of a list of sessions.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct ListParams {
    /// Only sessions in this directory.
    pub cwd: Option<String>,
    /// Maximum number of sessions.
    #[cfg_attr(test, param(minimum = 1, maximum = 1_000))]
    pub limit: Option<u32>,
    /// Only sessions after the one with this id.
    pub after: Option<String>,
    /// Only sessions that are open, or have ended in the background.
    #[serde(default)]
    pub open: bool,
}

/// A session.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionDetail {
    pub id: String,
    pub name: Option<String>,
    pub cwd: String,
    /// Whether it is open on this server. If not, only `id`, `name` and `cwd` are known.
    pub live: bool,
    /// Whether the agent is working.
    pub running: bool,
    /// The model, as `provider/id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The queued messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuedTexts>,
    /// The calls that await a decision, as in `approval_requested`.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub approvals: Vec<Value>,
    /// The unanswered questions, as in `extension_ui_request`.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub questions: Vec<Value>,
    /// The usage of the session and its helpers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    pub usage: Option<Value>,
    /// The number of clients that follow its events.
    pub clients: usize,
    /// The last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<String>,
    /// With this `Last-Event-ID`, `GET …/events` also gives incomplete messages and calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<String>,
}

/// The queued messages.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedTexts {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// An event of a stream.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[allow(dead_code, reason = "frames are written by `event_log`; this describes them")]
pub(crate) struct EventFrame {
    /// For `Last-Event-ID`; records that are not events have none.
    pub id: Option<String>,
    /// The type of the record.
    pub event: String,
    /// The record, as JSON.
    pub data: String,
}

/// The page of messages to read.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct HistoryParams {
    /// Read the page that ends here: the `start` of another page. By default, the last page.
    #[cfg_attr(test, param(maximum = 9_007_199_254_740_991_u64))]
    pub before: Option<u64>,
}

/// Adjacent messages of a session.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryOfSession {
    /// As in `message_end`, oldest first. Calls that were interrupted have a result that says so.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub messages: Vec<Value>,
    /// The titles of the calls in them, as on their panels, by call id.
    pub titles: BTreeMap<String, String>,
    /// The start of the page; the `before` of the previous page.
    pub start: u64,
    /// The end of the page.
    pub end: u64,
    /// The number of messages from the user and the model before it; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// For the last page of an open session: the events after this one follow these messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<String>,
    /// Like `lastEventId`, including the events of incomplete messages and calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<String>,
    /// For the last page: why the last run was stopped, if a limit did it, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// The position to read events from.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct EventParams {
    /// The events after this one, for clients that cannot send `Last-Event-ID`.
    pub after: Option<String>,
}

/// Options of an export.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, into_params(parameter_in = Query))]
pub(crate) struct ExportParams {
    pub format: Option<ExportFormat>,
}

/// The format of an exported session.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// A single self-contained page.
    #[default]
    Html,
    /// Markdown.
    Md,
    /// The lines of the session file.
    Jsonl,
}

/// The models.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ModelList {
    /// The available models.
    pub models: Vec<ModelRow>,
}

/// A model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelRow {
    pub id: String,
    pub name: String,
    pub provider: String,
    /// Size of the context window, in tokens; 0 when unknown.
    pub context_window: u64,
    /// Maximum tokens of an answer; 0 when unknown.
    pub max_tokens: u64,
    /// The supported input: `text`, `image`.
    pub input: Vec<String>,
    /// The supported thinking levels.
    pub thinking: Vec<String>,
}

/// The commands that stand for prompt templates, skills and prompts of MCP servers.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommandList {
    pub commands: Vec<CommandRow>,
}

/// A command.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandRow {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// Display text for the arguments.
    pub argument_hint: String,
}

/// The background jobs of a session.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct JobList {
    /// The objects of `jobs_changed`: see docs/rpc.md.
    #[cfg_attr(test, schema(value_type = Vec<Object>))]
    pub jobs: Vec<tau_tools::jobs::JobRow>,
}

/// The end of the output of a background job.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct JobText {
    pub text: String,
}

/// The state of the server.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Health {
    /// `ok`, or `closing` during shutdown.
    pub status: &'static str,
    pub version: &'static str,
}
