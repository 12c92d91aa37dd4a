//! What the agent tells: facts, in the order and with the names of the RPC wire.
//!
//! An event holds data only: no channel, handle, clock or boxed error. Deltas while an answer
//! is in flight, the authoritative message once at its end. Serialised, the variants that the
//! wire knows have exactly the wire's shape; those marked *own* are for front ends in this
//! process and for recordings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::message::{BashExecution, Block, Message, ToolCall, Usage};
use super::model::{Model, ThinkingLevel};
use crate::agent::engine::limits::RunEnd;
use crate::agent::session::outline::Outline;
use crate::tools::ToolOutput;

/// A fact from the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A run starts.
    AgentStart,
    /// A run has ended; its messages.
    AgentEnd { messages: Vec<Arc<Message>>, will_retry: bool },
    /// Nothing more will come by itself; all of the run is in the session file.
    AgentSettled { aborted: bool },
    /// A turn starts: one answer of the model with the calls in it.
    TurnStart,
    /// A turn has ended.
    TurnEnd { message: Arc<Message>, tool_results: Vec<Arc<Message>> },
    /// A message begins. An assistant's is empty here.
    MessageStart { message: Arc<Message> },
    /// A piece of the assistant message in flight.
    MessageUpdate { usage: Usage, assistant_message_event: Delta },
    /// A message is complete and on disk. Only this counts.
    MessageEnd { message: Arc<Message> },
    /// A call begins to run.
    ToolExecutionStart { tool_call_id: String, tool_name: String, args: Value },
    /// The answer of a running call so far; replaces the one before.
    ToolExecutionUpdate { tool_call_id: String, tool_name: String, args: Value, partial_result: ToolOutput },
    /// A call has ended. `duration_ms` is absent when it did not run.
    ToolExecutionEnd {
        tool_call_id: String,
        tool_name: String,
        result: ToolOutput,
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// The queues, both complete.
    QueueUpdate { steering: Vec<String>, follow_up: Vec<String> },
    /// The provider failed in passing; the agent waits `delay_ms` milliseconds.
    AutoRetryStart { attempt: u32, max_attempts: u32, delay_ms: u64, error_message: String },
    /// The wait is over: an answer began, or the agent gave up.
    AutoRetryEnd {
        success: bool,
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_error: Option<String>,
    },
    /// *Own.* Nothing came from the provider for `idle_ms` milliseconds; after `limit_ms` of
    /// silence the request counts as failed. Told each second once the silence is long.
    Stalled { idle_ms: u64, limit_ms: u64 },
    /// A compaction begins.
    CompactionStart { reason: CompactionReason },
    /// A compaction has ended.
    CompactionEnd {
        reason: CompactionReason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<CompactionResult>,
        aborted: bool,
        will_retry: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_message: Option<String>,
    },
    /// Output of a command the person runs, as it comes.
    BashExecutionUpdate {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        delta: String,
    },
    /// *Own.* A command the person runs has started. `size`: columns and rows of its terminal,
    /// when it was asked for one.
    BashStart {
        id: Option<String>,
        command: String,
        exclude_from_context: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<(u16, u16)>,
    },
    /// A command the person ran has ended.
    BashEnd {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        message: BashExecution,
    },
    /// The thinking level is now this.
    ThinkingLevelChanged { level: ThinkingLevel },
    /// The session's name is now this.
    SessionInfoChanged {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// *Own.* The head line of a call's panel, while its arguments arrive and once they are whole.
    ToolTitle { tool_call_id: String, title: String },
    /// *Own.* The model is now this.
    ModelChanged { model: Arc<Model> },
    /// *Own.* A session was opened or begun: everything a screen needs to show it. `titles` are
    /// the head lines of the calls in it, by call id. Of a large session the messages are the last
    /// ones; `EarlierShown` follows then.
    SessionOpened { session: SessionInfo, messages: Vec<Arc<Message>>, titles: BTreeMap<String, String> },
    /// *Own.* A session command was not carried out; the session is the one it was.
    SessionRefused { error: String },
    /// *Own.* The answer to `AgentCommand::Inspect`: JSON text, or why there is none.
    Inspected { ticket: u64, found: Result<String, String> },
    /// *Own.* Queued or refused messages handed back for editing; they are no longer queued. Their
    /// pictures come beside their texts.
    QueueReturned {
        texts: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Block>,
    },
    /// *Own.* The tree of the session, as asked for by `AgentCommand::Show` or after a change of
    /// its labels.
    TreeShown { outline: Outline },
    /// *Own.* What fills the model's context, as asked for by `AgentCommand::Show`.
    ContextShown { weights: Weights },
    /// *Own.* Messages of the present path that stand before all that were told of it, as asked
    /// for by `AgentCommand::Show`; without messages, when a session was opened of which some are
    /// not told yet. `left` is about how many more there are, none when that was all of them.
    /// Results of calls that were asked for here come with them, also when they were told before.
    EarlierShown {
        messages: Vec<Arc<Message>>,
        titles: BTreeMap<String, String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<u64>,
        /// Why they cannot be told now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// *Own.* The model sums up a branch that is left, or has ended doing so.
    SummingUp { on: bool },
    /// *Own.* The agent needs an answer.
    Asked { id: String, question: Question },
    /// *Own.* Something people should know that is no message.
    Notice { level: NoticeLevel, text: String, hint: Option<String> },
    /// *Own.* The run is ended before the model has said everything; a notice beside it has words
    /// for people. `AgentEnd` and `AgentSettled` follow.
    RunStopped { reason: RunEnd },
    /// *Own.* What was commanded before this mark has been acted on; see `AgentCommand::Mark`.
    Marked { id: String },
    /// *Own.* The agent task has ended; nothing follows.
    Stopped,
}

/// A piece of the assistant message in flight. `content_index` is the place of its block in the
/// message's content, from 0.
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

/// Why a compaction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CompactionReason {
    Manual,
    Threshold,
    Overflow,
}

/// What a compaction gave. Sizes in tokens.
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

/// The session that is open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfo {
    pub id: String,
    /// Where it is kept; none when it is in memory only.
    pub file: Option<PathBuf>,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// The directory it runs in.
    pub cwd: PathBuf,
    /// True when it was opened from a file.
    pub resumed: bool,
}

/// Where the whole of a session can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// In its file, which holds all of it.
    File(PathBuf),
    /// Here, as the lines that its file would have: it is in memory, or could not be written.
    Lines(String),
}

/// What fills a context. Sizes in tokens, estimated; `total` as the provider counted where it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Weights {
    /// Largest first.
    pub parts: Vec<Weight>,
    pub total: u64,
    /// Size of the window; 0 where it is not known.
    pub window: u64,
    /// Above this room is made; 0 where it is not made by itself.
    pub limit: u64,
}

/// A part of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Weight {
    pub name: String,
    /// How many pieces it is made of; 0 where it is one.
    pub count: u64,
    pub tokens: u64,
}

/// What the agent may ask. The answer comes as `AgentCommand::Answer` with the same id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Question {
    /// One of several.
    Select { title: String, options: Vec<String> },
    /// Yes or no.
    Confirm { title: String, message: String },
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}
