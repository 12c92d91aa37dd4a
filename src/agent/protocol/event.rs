//! Events of the agent: facts, in the order and with the names of the RPC protocol.
//!
//! An event holds only data: no channel, handle, clock or boxed error. Deltas arrive while an answer is
//! streamed, the authoritative message once at its end. Events are nested by subject in memory, and one flat
//! list as data (`subject`). Variants known to the RPC protocol serialize to exactly its shape; those marked
//! *own* are for front ends in this process and for recordings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::VariantNames;

use super::approval::{ApprovalOutcome, ApprovalRequest, PermissionMode};
use super::command::{QueueChange, QueuedMessage};
use super::extension::{McpResource, PromptCommand};
use super::form::FormField;
use super::goal::Goal;
use super::message::{BashExecution, Block, HookNote, Message, ToolCall, Usage};
use super::model::{Model, ThinkingLevel};
use super::plan_limits::PlanLimits;
use super::query::QueryAnswer;
use super::run::RunEnd;
use super::subject::subjects;
use super::undo::RestoreReport;
use tau_tools::ToolOutput;
use tau_tools::jobs::JobRow;
use tau_tools::plan::WorkPlan;
use tau_tools::user::UserQuestion;
use tau_tools::user_error::UserError;

/// The reason why a conversation without anything to summarise is not compacted.
pub const NOTHING_TO_COMPACT: &str = "nothing to compact";

subjects! {
    /// Something that happened in the agent.
    pub enum AgentEvent {
        /// Runs, waits, compactions.
        Run(RunEvent),
        /// Messages and tool calls.
        Turn(TurnEvent),
        /// Messages that wait for a run.
        Queue(QueueEvent),
        /// The session: which one is open, its name, its plan, its files.
        Session(SessionEvent),
        /// Settings that have changed: model, mode, rules, extensions.
        Settings(SettingsEvent),
        /// Commands run by the user, and background jobs.
        Shell(ShellEvent),
        /// Questions to the user, and their end.
        Questions(QuestionEvent),
        /// The agent task itself: answers to queries, notices, its end.
        Task(TaskEvent),
    }
}

/// Runs, waits before retries, compactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum RunEvent {
    /// A run starts.
    AgentStart,
    /// A run has ended, with its messages.
    AgentEnd { messages: Vec<Arc<Message>>, will_retry: bool },
    /// The run is over and saved: the agent does nothing more until the next command.
    AgentSettled { aborted: bool },
    /// A request failed for a transient reason; it is sent again after `delay_ms` milliseconds.
    AutoRetryStart { attempt: u32, max_attempts: u32, delay_ms: u64, error_message: String },
    /// Retrying is over: an answer began, or the agent gave up.
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// *Own.* The provider has sent nothing for `idle_ms` milliseconds; after `limit_ms` the request
    /// counts as failed. Sent every second once the silence is long.
    Stalled { idle_ms: u64, limit_ms: u64 },
    /// *Own.* How much of the plan's limits is used, as the provider has just reported it.
    PlanLimits { limits: PlanLimits },
    /// A compaction begins.
    CompactionStart { reason: CompactionReason },
    /// A compaction has ended.
    CompactionEnd {
        reason: CompactionReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<CompactionResult>>,
        aborted: bool,
        will_retry: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// *Own.* The model starts (`running`) or has finished summarizing an abandoned branch.
    BranchSummary { running: bool },
    /// *Own.* The run ended before the model had finished; a notice with the reason in words follows, then
    /// `AgentEnd` and `AgentSettled`.
    RunStopped { reason: RunEnd },
}

/// Messages and tool calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum TurnEvent {
    /// A turn starts: one answer of the model and its tool calls.
    TurnStart,
    /// A turn has ended.
    TurnEnd { message: Arc<Message>, tool_results: Vec<Arc<Message>> },
    /// A message begins. An assistant message is still empty here.
    MessageStart { message: Arc<Message> },
    /// A piece of the assistant message that is being streamed.
    MessageUpdate { usage: Usage, assistant_message_event: Delta },
    /// A message is complete and saved. Only this one counts.
    MessageEnd { message: Arc<Message> },
    /// *Own.* The title of a tool call: while its arguments arrive, and once they are complete.
    ToolTitle { tool_call_id: String, title: String },
    /// A tool call starts.
    ToolExecutionStart { tool_call_id: String, tool_name: String, args: Value },
    /// The output of a running tool call so far; replaces the previous update.
    ToolExecutionUpdate { tool_call_id: String, tool_name: String, args: Value, partial_result: ToolOutput },
    /// A tool call has ended. `duration_ms` is absent if it did not run.
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The actions of the user's hooks on this call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hooks: Vec<HookNote>,
    },
    /// An event of a helper's run, if the front end wants them (`Tuning::HelperEvents`). `helper` is the helper's
    /// number; of a helper's helper both, as in `1.2`.
    HelperEvent { tool_call_id: String, helper: String, event: Box<AgentEvent> },
}

/// Messages waiting for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum QueueEvent {
    /// The complete contents of both queues.
    QueueUpdate { steering: Vec<String>, follow_up: Vec<String> },
    /// *Own.* Queued or refused messages, returned for editing; they are no longer queued. Their images are
    /// separate from their texts.
    QueueReturned {
        texts: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Block>,
    },
    /// A message is not sent: a hook blocks it, or its template cannot be expanded. `QueueReturned` with the message follows.
    PromptRefused { text: String, reason: String },
    /// *Own.* A change to a queued message came too late: the message has left its queue.
    QueueChangeFailed { message: QueuedMessage, change: QueueChange },
}

/// The open session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum SessionEvent {
    /// *Own.* A session was opened or started: everything a screen needs to show it. `titles` are
    /// the titles of its tool calls, by call id. Of a large session only the last messages are
    /// included; `HistoryAvailable` follows then.
    SessionOpened { session: SessionInfo, messages: Vec<Arc<Message>>, titles: BTreeMap<String, String> },
    /// *Own.* A session command failed; the session has not changed.
    SessionRefused { error: String },
    /// The session has been renamed.
    SessionInfoChanged {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// *Own.* There are about `left` messages before those in `SessionOpened`, because only the end of a
    /// large session was read or the earlier part was compacted. `Query::HistoryPage` fetches them one page
    /// at a time.
    HistoryAvailable { left: u64 },
    /// *Own.* The usage of the opened session so far, over all its branches; absent while it is being
    /// counted, after which a second such event follows. `priced` is false if some of it was used with a
    /// model whose price is unknown.
    SessionUsage { usage: Option<Usage>, priced: bool },
    /// *Own.* The size of the context in tokens where no answer tells it: of a session that was opened, after a
    /// change of the tools, after a compaction, and after an answer for which the provider counted nothing.
    ContextSize { tokens: u64 },
    /// *Own.* What was spent for the session outside of it was counted.
    UsageAdded { usage: Usage },
    /// The accepted plan was changed or dropped. `SessionOpened` begins without a plan.
    PlanChanged { plan: Option<WorkPlan> },
    /// The goal has changed: it was set or dropped, a round has begun, it is reached, paused or given up.
    /// `SessionOpened` begins without a goal.
    GoalChanged { goal: Option<Goal> },
    /// *Own.* The answer to `SessionCommand::Undo`, `Redo` or `Revert`: what was restored, or why nothing
    /// was.
    FilesRestored {
        report: RestoreReport,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// Settings that have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum SettingsEvent {
    /// *Own.* The model has changed.
    ModelChanged { model: Arc<Model> },
    /// The thinking level has changed.
    ThinkingLevelChanged { level: ThinkingLevel },
    /// *Own.* The permission mode has changed; `ceiling` is the most permissive one that can be chosen.
    PermissionModeChanged { mode: PermissionMode, ceiling: PermissionMode },
    /// *Own.* Permission rules were added, changed or removed: `Query::PermissionRules` lists them.
    RulesChanged,
    /// *Own.* The prompts of MCP servers have changed; these are the current commands.
    CommandsChanged { commands: Vec<PromptCommand> },
    /// *Own.* The resources of MCP servers have changed; these are the current ones.
    ResourcesChanged { resources: Vec<McpResource> },
    /// *Own.* The answer to `Query::Extensions` has changed.
    ExtensionsChanged,
}

/// Commands run by the user, and background jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum ShellEvent {
    /// *Own.* A command of the user has started. `size`: columns and rows of its terminal, if one
    /// was requested.
    BashStart {
        id: Option<String>,
        command: String,
        exclude_from_context: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<(u16, u16)>,
        /// True if it runs without the sandbox at the user's request.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_sandbox: bool,
    },
    /// Output of a user's command, as it arrives.
    BashExecutionUpdate {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        delta: String,
    },
    /// A command of the user has ended.
    BashEnd {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        message: BashExecution,
    },
    /// Background jobs have started or ended; these are all of them, without what their processes use.
    /// `Query::Jobs` tells that, too.
    JobsChanged { jobs: Vec<JobRow> },
}

/// Questions to the user, and their end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum QuestionEvent {
    /// *Own.* The agent needs an answer.
    Asked { id: String, question: Question },
    /// *Own.* A question of an MCP server was withdrawn without an answer.
    AskWithdrawn { id: String },
    /// *Own.* A call waits for the user's decision: `QuestionCommand::AnswerApproval`.
    ApprovalRequested { request: Box<ApprovalRequest> },
    /// *Own.* A request for approval is no longer waiting.
    ApprovalEnded { id: String, outcome: ApprovalOutcome },
}

/// The agent task itself: answers to queries, notices, its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum TaskEvent {
    /// *Own.* The answer to `TaskCommand::Query` with this ticket, or why it failed.
    Answered { ticket: u64, answer: Result<QueryAnswer, UserError> },
    /// *Own.* Something the user should know that is not part of the conversation.
    Notice { level: NoticeLevel, text: String, hint: Option<String> },
    /// More of the answer to the side question with this id.
    SideAnswer { id: String, text: String },
    /// The answer to a side question is complete, or failed.
    SideAnswerEnded {
        id: String,
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// *Own.* Another session of the user, which no screen shows, waits for an answer.
    OtherWaits { id: String, title: String },
    /// *Own.* Something that happened `ms` milliseconds before, for a screen that joins the session late.
    Earlier { ms: u64, event: Box<AgentEvent> },
    /// *Own.* The agent task has ended. This is the last event.
    Stopped,
}

/// A piece of the assistant message that is being streamed. `content_index` is the index of its
/// block in the message's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Delta {
    TextStart {
        content_index: usize,
    },
    TextDelta {
        content_index: usize,
        delta: String,
    },
    TextEnd {
        content_index: usize,
        content: String,
    },
    ThinkingStart {
        content_index: usize,
    },
    ThinkingDelta {
        content_index: usize,
        delta: String,
    },
    ThinkingEnd {
        content_index: usize,
        content: String,
    },
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        content_index: usize,
        id: String,
        tool_name: String,
    },
    /// A piece of the arguments' JSON text.
    #[serde(rename = "toolcall_delta")]
    ToolCallDelta {
        content_index: usize,
        delta: String,
    },
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        content_index: usize,
        tool_call: ToolCall,
    },
}

impl Delta {
    /// Adds `next`, if both are pieces of the same block and have up to `most` bytes together; returns whether it did.
    pub fn join(&mut self, next: &Delta, most: usize) -> bool {
        match (self, next) {
            (
                Delta::TextDelta { content_index: one, delta },
                Delta::TextDelta { content_index: other, delta: more },
            )
            | (
                Delta::ThinkingDelta { content_index: one, delta },
                Delta::ThinkingDelta { content_index: other, delta: more },
            )
            | (
                Delta::ToolCallDelta { content_index: one, delta },
                Delta::ToolCallDelta { content_index: other, delta: more },
            ) if one == other && delta.len() + more.len() <= most => {
                delta.push_str(more);
                true
            }
            _ => false,
        }
    }
}

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    Manual,
    Threshold,
    Overflow,
}

/// The result of a compaction. Sizes are in tokens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionResult {
    pub summary: String,
    pub first_kept_entry_id: String,
    pub tokens_before: u64,
    pub estimated_tokens_after: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// The open session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfo {
    pub id: String,
    /// The session file; absent if the session is only in memory.
    #[serde(with = "tau_tools::path_text")]
    pub file: Option<PathBuf>,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The directory in which its tools and commands run.
    #[serde(with = "tau_tools::path_text")]
    pub cwd: PathBuf,
    /// True if it was opened from a file.
    pub resumed: bool,
    /// The limit or guard that ended its last run, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<RunEnd>,
}

/// A question of the agent, answered by `QuestionCommand::Answer` with the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// Choose one of several options.
    Select { title: String, options: Vec<String> },
    /// Yes or no.
    Confirm { title: String, message: String },
    /// Questions of the model. Their texts are not safe to print.
    User { questions: Vec<UserQuestion> },
    /// The model submits a plan: its markdown, which is not safe to print; the mode in which it is carried out by
    /// default; and why it is asked once more, if the last answer was refused.
    Plan { plan: String, mode: PermissionMode, refusal: Option<String> },
    /// An MCP server asks for values. Its texts are not safe to print.
    Form { server: String, message: String, fields: Vec<FormField> },
    /// An MCP server asks the user to open an address. Its texts are not safe to print.
    Url { server: String, message: String, url: String },
}

/// The importance of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}
