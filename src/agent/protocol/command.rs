//! What the agent is told to do. Plain data; every front end speaks it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::{Block, Message};
use super::model::{Model, ThinkingLevel};
use crate::agent::engine::behavior::{Budgets, QueueMode, SteerMode};
use crate::agent::engine::limits::Limits;

/// A command to the agent task. Commands take effect in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentCommand {
    /// Start a run with this message. During a run it is queued as `streaming` says.
    Prompt { text: String, images: Vec<Block>, streaming: Queue },
    /// Put a message in a queue, also while nothing runs; it then waits for the next run.
    Enqueue { text: String, images: Vec<Block>, queue: Queue },
    /// Go on from a history whose last message is the person's or a tool result.
    Continue,
    /// Start a run with what waits in the queues; nothing when nothing waits.
    SendQueued,
    /// Stop the model, the tools, a waiting retry, a compaction.
    Abort,
    /// End a waiting retry with the provider's error.
    AbortRetry,
    /// Hand the queued messages back (`AgentEvent::QueueReturned`) and empty the queues.
    TakeQueue,
    /// Throw away what waits in a queue; in both, without one.
    ClearQueue { queue: Option<Queue> },
    /// Let this many messages leave the queue at once.
    SetQueueMode { queue: Queue, mode: QueueMode },
    /// Treat the calls of a turn so when it is steered.
    SetSteerMode { mode: SteerMode },
    /// Answer a question.
    Answer { id: String, answer: Answer },
    /// Use this model from the next request on.
    SetModel { model: Arc<Model> },
    /// Think this hard from the next request on.
    SetThinking { level: ThinkingLevel },
    /// Think within these budgets from the next request on.
    SetBudgets { budgets: Budgets },
    /// Send this system prompt from the next request on.
    SetSystem { text: String },
    /// Offer the tools of these names, in this order, from the next request on: of those the
    /// agent was started with and those on its shelf (`conduct::Shelf`).
    SetTools { names: Vec<String> },
    /// Hold these limits from the next run on.
    SetLimits { limits: Limits },
    /// Add a message to the conversation; during a run, when it has ended.
    AppendMessage { message: Arc<Message> },
    /// Go on from these messages in place of the present ones, which stay in the session file as
    /// a branch. A run is aborted first. Answered by `AgentEvent::SessionOpened`.
    ReplaceMessages { messages: Vec<Arc<Message>> },
    /// Answer with `AgentEvent::Marked`: at once, or when nothing runs and nothing waits to.
    Mark { id: String, when: When },
    /// Change how the agent goes about it, from now on.
    Tune(Tuning),
    /// Answer a question about the session: `AgentEvent::Inspected` with the same ticket, after
    /// the events of all commands before this one.
    Inspect { ticket: u64, wish: Wish },
    /// Summarise the earlier part of the conversation.
    Compact { instructions: Option<String> },
    /// Run a command for the person. With `exclude_from_context` the model never sees it.
    /// With a `size` (columns and rows) it has a terminal of that size, and its output comes with
    /// the terminal's escape sequences; without, it has a pipe and no input.
    Bash {
        id: Option<String>,
        command: String,
        exclude_from_context: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<(u16, u16)>,
    },
    /// Type into the terminal of a running command: what a terminal sends for the keys. A command
    /// that has ended meanwhile, or has no terminal, takes no notice.
    BashInput { id: Option<String>, data: String },
    /// The terminal of a running command has another size now, in columns and rows.
    BashResize { id: Option<String>, size: (u16, u16) },
    /// End every command the person runs.
    AbortBash,
    /// Begin or open a session.
    Session(SessionCommand),
    /// Tell something of the session, after the events of all commands before this one.
    Show { what: Shown },
    /// Put a label on an entry of the session's tree; without one, take it away.
    Label { entry_id: String, label: Option<String> },
    /// Abort what runs, complete the session file, end the task.
    Shutdown,
}

/// Where a message waits when it is sent during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Queue {
    /// Delivered after the tool calls of the present turn.
    #[default]
    Steer,
    /// Delivered when the agent would stop.
    FollowUp,
}

/// What can be changed about how the agent works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tune", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Tuning {
    /// Whether room is made in the context without being asked.
    AutoCompaction { enabled: bool },
    /// So many tokens of the window are kept free when room is made.
    CompactReserve { tokens: u64 },
    /// Commands of the model's that name no timeout end after so many seconds; none: never.
    BashTimeout { seconds: Option<u64> },
    /// Whether a request that failed in passing is sent again.
    AutoRetry { enabled: bool },
}

/// What a front end may ask about the session. Answers have the shape of the RPC wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Wish {
    /// Session, queues and modes.
    State,
    /// The messages of the context.
    Messages,
    /// The text of the last answer that has some.
    LastText,
    /// The entries after the one named; all without one.
    Entries { since: Option<String> },
    /// All entries, as a tree.
    Tree,
    /// The messages of the person's, with their entries.
    ForkMessages,
    /// Counts, tokens, cost.
    Stats,
    /// Where all of it can be read: an `event::Source`. An error when nothing was said yet.
    Source,
}

/// When a mark is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum When {
    /// In its turn among the commands.
    Now,
    /// When all runs that were asked for have ended.
    Idle,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Value(String),
    Confirmed(bool),
    Cancelled,
}

/// What can be told of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Shown {
    /// Its tree: `AgentEvent::TreeShown`.
    Tree,
    /// What fills the model's context: `AgentEvent::ContextShown`.
    Context,
    /// The next messages before those that were told: `AgentEvent::EarlierShown`.
    Earlier,
}

/// Commands about sessions. All but `Name` abort a run first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionCommand {
    /// Begin an empty one.
    New,
    /// Begin an empty one that goes on from the session in `parent`.
    Continued { parent: PathBuf },
    /// Begin one with what stands before a message of the person's; its text is handed back as
    /// `AgentEvent::QueueReturned`.
    Fork { entry_id: String },
    /// Begin one with all that stands on the path here.
    Clone,
    /// Open the file.
    Open { path: PathBuf },
    /// Open the file; where it is in use or its directory is gone, ask the person how.
    Offer { path: PathBuf },
    /// Go on from another entry of the tree. Of a message of the person's, from before it: its
    /// text is handed back as `AgentEvent::QueueReturned`. The branch that is left is summed up
    /// first if a summary is asked for. Answered by `AgentEvent::SessionOpened`.
    GoTo { entry_id: String, summary: Option<Parting> },
    /// Give it a name; an empty one takes the name away.
    Name { name: String },
}

/// How the branch that is left is summed up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parting {
    /// What the summary is to look at above all.
    pub instructions: Option<String>,
}
