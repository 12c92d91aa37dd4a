//! The types of requests and responses. The OpenAPI document is made from them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use tau_protocol::approval::{ApprovalAnswer, PermissionMode, RuleScope};
use tau_protocol::command::{QuestionAnswer, Queue};
use tau_protocol::message::Block;
use tau_protocol::model::ThinkingLevel;
use tau_tools::user::UserAnswer;

/// What a new session is to be.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// Its id; without one it gets a new one.
    pub id: Option<String>,
    /// The directory on the server that it works in; without one, that of the server.
    pub cwd: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// The model, as `provider/id` or part of a name.
    #[schema(min_length = 1)]
    pub model: Option<String>,
    pub thinking: Option<ThinkingName>,
    pub permission_mode: Option<ModeName>,
}

/// What is to be changed of a session; what is left out stays.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChangeSession {
    /// Its name; an empty one removes the present one.
    pub name: Option<String>,
    /// The model from the next request on.
    #[schema(min_length = 1)]
    pub model: Option<String>,
    pub thinking: Option<ThinkingName>,
    pub permission_mode: Option<ModeName>,
}

/// How much the model thinks before it answers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
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

impl From<ThinkingName> for ThinkingLevel {
    fn from(name: ThinkingName) -> Self {
        match name {
            ThinkingName::Off => ThinkingLevel::Off,
            ThinkingName::Minimal => ThinkingLevel::Minimal,
            ThinkingName::Low => ThinkingLevel::Low,
            ThinkingName::Medium => ThinkingLevel::Medium,
            ThinkingName::High => ThinkingLevel::High,
            ThinkingName::Xhigh => ThinkingLevel::Xhigh,
            ThinkingName::Max => ThinkingLevel::Max,
        }
    }
}

/// What is asked before a call is run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModeName {
    Auto,
    Ask,
    Edits,
    Plan,
}

impl From<ModeName> for PermissionMode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Auto => PermissionMode::Auto,
            ModeName::Ask => PermissionMode::Ask,
            ModeName::Edits => PermissionMode::Edits,
            ModeName::Plan => PermissionMode::Plan,
        }
    }
}

/// A picture in a message.
#[derive(Clone, Debug, Deserialize, ToSchema)]
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

/// Where a message waits that is sent during a run.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum QueueName {
    /// The model gets it after the tool calls of the present turn.
    Steer,
    /// The model gets it when it would otherwise stop.
    FollowUp,
}

impl From<QueueName> for Queue {
    fn from(name: QueueName) -> Self {
        match name {
            QueueName::Steer => Queue::Steer,
            QueueName::FollowUp => Queue::FollowUp,
        }
    }
}

/// A prompt for a session.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptSession {
    /// The text of the message. `/name` stands for a prompt template or skill.
    pub prompt: String,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
    /// What to do with it while the agent works; without it the prompt is refused then.
    pub streaming: Option<QueueName>,
    /// Answer at once and continue without this client. Otherwise the events are the answer, and leaving
    /// before the end aborts the run.
    #[serde(default)]
    pub detach: bool,
}

/// A prompt that says which session it is for.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PromptAnywhere {
    /// The text of the message.
    pub prompt: String,
    /// The session; without one, a new one.
    pub session_id: Option<String>,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
    /// The directory of a new session.
    pub cwd: Option<String>,
    /// The model of a new session.
    #[schema(min_length = 1)]
    pub model: Option<String>,
    /// The permission mode of a new session.
    pub permission_mode: Option<ModeName>,
    /// Answer at once and continue without this client.
    #[serde(default)]
    pub detach: bool,
}

/// A message for a queue.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QueueMessage {
    pub text: String,
    #[serde(default)]
    pub images: Vec<ImageBlock>,
}

/// That a message was taken.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Accepted {
    pub session_id: String,
    pub disposition: Disposition,
    /// The last event before it: `GET …/events` with this `Last-Event-ID` gives what follows.
    pub last_event_id: String,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Disposition {
    /// It starts a run.
    Started,
    /// It waits in a queue.
    Queued,
}

/// The decision on a call that waits.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(tag = "decision", rename_all = "snake_case", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum ApprovalDecision {
    /// Run it once.
    Allow {
        /// Only these hunks of a change, by index.
        hunks: Option<Vec<usize>>,
        /// Another command, or another text for the whole file.
        edited: Option<String>,
    },
    /// Run it, and in this session this exact call without a question.
    AllowExact {
        /// Of this call only these hunks.
        hunks: Option<Vec<usize>>,
    },
    /// Run it, and let calls that these rules cover run without a question from now on.
    AllowAlways {
        rules: Vec<String>,
        scope: ScopeName,
        /// Of this call only these hunks.
        hunks: Option<Vec<usize>>,
    },
    /// Do not run it.
    Deny {
        /// The reason that the model gets.
        reason: Option<String>,
        /// Also stop the run.
        #[serde(default)]
        stop: bool,
    },
}

impl From<ApprovalDecision> for ApprovalAnswer {
    fn from(decision: ApprovalDecision) -> Self {
        match decision {
            ApprovalDecision::Allow { hunks, edited } => ApprovalAnswer::Allow { hunks, edited },
            ApprovalDecision::AllowExact { hunks } => ApprovalAnswer::AllowExact { hunks },
            ApprovalDecision::AllowAlways { rules, scope, hunks } => {
                ApprovalAnswer::AllowAlways { rules, scope: scope.into(), hunks }
            }
            ApprovalDecision::Deny { reason, stop } => ApprovalAnswer::Deny { reason, stop },
        }
    }
}

impl From<ScopeName> for RuleScope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Session => RuleScope::Session,
            ScopeName::Local => RuleScope::Local,
            ScopeName::Project => RuleScope::Project,
            ScopeName::User => RuleScope::User,
        }
    }
}

/// Where a new rule holds.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ScopeName {
    /// Until the session is closed.
    Session,
    /// In this directory, for this user only.
    Local,
    /// In this directory.
    Project,
    /// Everywhere.
    User,
}

/// The answer to a question; one of the fields.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AnswerQuestion {
    /// The option that was chosen.
    pub value: Option<String>,
    /// Yes or no.
    pub confirmed: Option<bool>,
    /// The values of a form, by the names of its fields.
    #[schema(value_type = Option<Object>)]
    pub values: Option<Map<String, Value>>,
    /// The answers to the model's questions, in their order.
    pub answers: Option<Vec<AnswerOfUser>>,
    /// Whether a plan is accepted.
    pub accepted: Option<bool>,
    /// The mode in which an accepted plan is carried out.
    pub mode: Option<ModeName>,
    /// The plan, if it was changed.
    pub plan: Option<String>,
    /// Why a plan is rejected.
    pub comment: Option<String>,
    /// The user does not want to answer.
    pub declined: Option<bool>,
    /// The user has not answered.
    pub cancelled: Option<bool>,
}

impl AnswerQuestion {
    /// The answer, if it is one.
    pub fn answer(self) -> Option<QuestionAnswer> {
        let is = |flag: Option<bool>| flag == Some(true);
        match self {
            answer if is(answer.cancelled) => Some(QuestionAnswer::Cancelled),
            answer if is(answer.declined) => Some(QuestionAnswer::Declined),
            AnswerQuestion { value: Some(value), .. } => Some(QuestionAnswer::Value(value)),
            AnswerQuestion { values: Some(values), .. } => Some(QuestionAnswer::Form(values)),
            AnswerQuestion { accepted: Some(true), mode, plan, .. } => {
                Some(QuestionAnswer::PlanAccepted { mode: mode?.into(), plan })
            }
            AnswerQuestion { accepted: Some(false), comment, .. } => {
                Some(QuestionAnswer::PlanRejected { comment: comment.unwrap_or_default() })
            }
            AnswerQuestion { answers: Some(answers), .. } => {
                Some(QuestionAnswer::Answers(answers.into_iter().map(UserAnswer::from).collect()))
            }
            AnswerQuestion { confirmed: Some(confirmed), .. } => Some(QuestionAnswer::Confirmed(confirmed)),
            _ => None,
        }
    }
}

/// The answer to a question of the model.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct AnswerOfUser {
    /// The choices that were taken, by index.
    pub choices: Vec<usize>,
    /// In the user's own words.
    pub text: String,
}

impl From<AnswerOfUser> for UserAnswer {
    fn from(answer: AnswerOfUser) -> Self {
        UserAnswer { choices: answer.choices, text: answer.text }
    }
}

/// A session in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionSummary {
    pub id: String,
    /// The name it was given.
    pub name: Option<String>,
    /// The first line of the first prompt.
    pub first_prompt: String,
    pub cwd: String,
    /// When it began (RFC 3339).
    pub created: Option<String>,
    /// When something was last said in it.
    pub modified: Option<String>,
    /// Messages of the user and the model.
    pub messages: u64,
    /// Whether it is open on this server.
    pub live: bool,
    /// Whether the agent works in it.
    pub running: bool,
    /// Calls and questions that wait for an answer.
    pub waiting: usize,
}

/// A page of sessions.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionList {
    /// Newest first.
    pub sessions: Vec<SessionSummary>,
    /// The `after` of the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Which sessions are listed.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only those that work in this directory.
    pub cwd: Option<String>,
    /// At most so many.
    #[param(minimum = 1, maximum = 1_000)]
    pub limit: Option<u32>,
    /// Those after the session of this id.
    pub after: Option<String>,
}

/// A session.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionDetail {
    pub id: String,
    pub name: Option<String>,
    pub cwd: String,
    /// Whether it is open on this server. Of one that is not, only what comes before is known.
    pub live: bool,
    /// Whether the agent works.
    pub running: bool,
    /// The model, as `provider/id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// The messages that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuedTexts>,
    /// The calls that wait for a decision, as in `approval_requested`.
    #[schema(value_type = Vec<Object>)]
    pub approvals: Vec<Value>,
    /// The questions that wait for an answer, as in `extension_ui_request`.
    #[schema(value_type = Vec<Object>)]
    pub questions: Vec<Value>,
    /// What all answers since it was opened have used.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Value>,
    /// Clients that follow its events.
    pub clients: usize,
    /// The last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<String>,
    /// With this `Last-Event-ID`, `GET …/events` also gives what is not complete yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<String>,
}

/// The messages that wait.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedTexts {
    pub steering: Vec<String>,
    pub follow_up: Vec<String>,
}

/// An event of a stream.
#[derive(Clone, Debug, ToSchema)]
#[allow(dead_code, reason = "frames are written by `event_log`; this describes them")]
pub(crate) struct EventFrame {
    /// For `Last-Event-ID`; records that are not events have none.
    pub id: Option<String>,
    /// The type of the record.
    pub event: String,
    /// The record, as JSON.
    pub data: String,
}

/// Which messages are read.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryParams {
    /// The page that ends here: the `start` of another page. Without it, the last page.
    #[param(maximum = 9_007_199_254_740_991_u64)]
    pub before: Option<u64>,
}

/// Messages of a session, next to each other.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryOfSession {
    /// As in `message_end`, oldest first.
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Value>,
    /// Where the page begins; the `before` of the page before it.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Messages of the user and the model before it; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// Of the last page of an open session: the events after this one follow these messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<String>,
    /// The same with the events of what is not complete yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_from: Option<String>,
}

/// From where events are read.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventParams {
    /// The events after this one, for clients that cannot send `Last-Event-ID`.
    pub after: Option<String>,
}

/// How a session is exported.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportParams {
    pub format: Option<ExportFormat>,
}

/// What a session is written as.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExportFormat {
    /// One page that needs nothing else.
    #[default]
    Html,
    /// Markdown.
    Md,
    /// The lines of the session file.
    Jsonl,
}

/// The models.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// Those that can be used now.
    pub models: Vec<ModelRow>,
}

/// A model.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelRow {
    pub id: String,
    pub name: String,
    pub provider: String,
    /// Size of the context window, in tokens; 0 when unknown.
    pub context_window: u64,
    /// Most tokens of an answer; 0 when unknown.
    pub max_tokens: u64,
    /// What it can be shown: `text`, `image`.
    pub input: Vec<String>,
    /// The thinking levels it has.
    pub thinking: Vec<String>,
}

/// The commands that stand for prompt templates, skills and prompts of MCP servers.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct CommandList {
    pub commands: Vec<CommandRow>,
}

/// A command.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandRow {
    /// Without the slash.
    pub name: String,
    pub description: String,
    /// What may follow, for people.
    pub argument_hint: String,
}

/// How the server is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `closing` while it ends.
    pub status: &'static str,
    pub version: &'static str,
}
