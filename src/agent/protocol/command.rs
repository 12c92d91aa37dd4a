//! Commands to the agent. Plain data, sent by every front end.
//!
//! Nested by subject in memory, one flat list as data (`subject`).

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::VariantNames;

use super::approval::{ApprovalAnswer, PermissionMode};
use super::goal::{GoalLimits, GoalOrder};
use super::message::{Block, Message, Usage, UserMessage};
use super::model::{Model, ThinkingBudgets, ThinkingLevel};
use super::query::Query;
use super::rules::RuleChange;
use super::run::{QueueMode, RunLimits, SteerMode};
use super::session_row::SessionOrigin;
use super::subject::subjects;
use super::undo::{RevertOrder, UndoOrder};
use tau_tools::sandbox::SandboxPolicy;
use tau_tools::user::UserAnswer;

subjects! {
    /// A command to the agent task. Commands take effect in the order in which they are sent.
    pub enum AgentCommand {
        /// Start, continue or stop a run.
        Run(RunCommand),
        /// Change the queues of messages.
        Queue(QueueCommand),
        /// Change the session: open another one, go back, undo.
        Session(SessionCommand),
        /// Change settings, from now on.
        Settings(SettingsCommand),
        /// Run commands for the user, and change background jobs.
        Shell(ShellCommand),
        /// Answer the agent's questions.
        Questions(QuestionCommand),
        /// Query the agent task, or end it.
        Task(TaskCommand),
    }
}

/// Starts, continues or stops a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum RunCommand {
    /// Start a run with this message. During a run, queue it as `streaming` says.
    Prompt { text: String, images: Vec<Block>, streaming: Queue },
    /// Like `Prompt`, with a complete message: with attachments, or in blocks.
    PromptMessage { message: UserMessage, streaming: Queue },
    /// Continue from a history whose last message is the user's or a tool result.
    Continue,
    /// Start a run with the queued messages; do nothing if there are none.
    SendQueued,
    /// Run the goal's command, and work until it succeeds. A goal from a session file that the user has not
    /// confirmed since tau started is asked about first. During a run, do nothing.
    PursueGoal,
    /// Stop the model, the tools, a wait before a retry, a compaction.
    Abort,
    /// End a wait before a retry with the provider's error.
    AbortRetry,
    /// Summarize the earlier part of the conversation.
    Compact { instructions: Option<String> },
}

/// Changes the queues of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum QueueCommand {
    /// Put a message in a queue, even while nothing runs; it then waits for the next run.
    Enqueue { text: String, images: Vec<Block>, queue: Queue },
    /// Like `Enqueue`, with a complete message.
    EnqueueMessage { message: UserMessage, queue: Queue },
    /// Return the queued messages (`QueueEvent::QueueReturned`) and remove them, but for those that stay queued.
    TakeQueue,
    /// Discard the messages in a queue, or in both if none is named.
    ClearQueue { queue: Option<Queue> },
    /// Change a queued message. If the agent has taken it in the meantime, nothing changes and
    /// `QueueEvent::QueueChangeFailed` follows.
    ChangeQueued { message: QueuedMessage, change: QueueChange },
    /// Set how many messages leave the queue at once.
    SetQueueMode { queue: Queue, mode: QueueMode },
    /// Set the effect of steering on the tool calls of its turn.
    SetSteerMode { mode: SteerMode },
}

/// Changes the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum SessionCommand {
    /// Add a message to the conversation; during a run, after it has ended.
    AppendMessage { message: Arc<Message> },
    /// Continue from these messages instead of the current ones, which stay in the session file
    /// as a branch. Aborts a run first. Answered by `SessionEvent::SessionOpened`.
    ReplaceMessages { messages: Vec<Arc<Message>> },
    /// Start, open or rename a session.
    #[serde(rename = "session")]
    #[strum(serialize = "session")]
    Change(SessionChange),
    /// Set or remove the label of an entry.
    Label { entry_id: String, label: Option<String> },
    /// Go back to a prompt: files, conversation or both. Aborts a run first. Answered by
    /// `SessionEvent::FilesRestored`; `SessionEvent::SessionOpened` follows if the conversation goes back.
    Undo { order: UndoOrder },
    /// Reverse the last undo. Only the choices of the order count. Answered like `Undo`.
    Redo { order: UndoOrder },
    /// Revert one change to a file; refused during a run. Answered by `SessionEvent::FilesRestored`.
    Revert { order: RevertOrder },
    /// Forget the plan that the user has accepted.
    DropPlan,
    /// Count what was spent for the session outside of it. `SessionEvent::UsageAdded` follows.
    AddUsage { usage: Usage },
    /// Set the goal, from the end of the current answer or the next run on; `None` ends it. The same command as
    /// that of a goal that is not reached continues that one.
    SetGoal {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<GoalOrder>,
    },
}

/// Changes settings, from now on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum SettingsCommand {
    /// Apply this permission mode from the next call on. Waiting calls are judged again.
    SetPermissionMode { mode: PermissionMode },
    /// Change a permission rule, in its file if it has one. `TaskEvent::Answered` with the same ticket
    /// follows: the updated list of rules, or the reason why nothing was changed. Waiting calls are judged
    /// again.
    ChangeRules { ticket: u64, change: RuleChange },
    /// Use this model from the next request on.
    SetModel { model: Arc<Model> },
    /// Use this thinking level from the next request on.
    SetThinking { level: ThinkingLevel },
    /// Use these thinking budgets from the next request on.
    SetBudgets { budgets: ThinkingBudgets },
    /// Send this system prompt from the next request on.
    SetSystem { text: String },
    /// Offer the tools with these names, in this order, from the next request on: tools the agent was
    /// started with and those in its tool registry. `by_mode` adds those of the permission mode: not if the user has
    /// chosen the tools.
    SetTools {
        names: Vec<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_mode: bool,
    },
    /// Apply these limits; a time limit from the next run on.
    SetLimits { limits: RunLimits },
    /// Change how the agent works, from now on.
    Tune(Tuning),
}

/// Runs commands for the user, and changes background jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum ShellCommand {
    /// Run a command for the user. With `exclude_from_context` the model never sees it.
    /// With a `size` (columns and rows) it gets a terminal of that size, and its output comes
    /// with the terminal's escape sequences; without one it gets a pipe and no input.
    Bash {
        id: Option<String>,
        command: String,
        exclude_from_context: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<(u16, u16)>,
        /// Run it without the sandbox, even if the user's commands are confined.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_sandbox: bool,
    },
    /// Type into the terminal of a running command: the bytes that a terminal sends for the keys. Ignored if
    /// the command has ended or has no terminal.
    BashInput { id: Option<String>, data: String },
    /// Resize the terminal of a running command, in columns and rows.
    BashResize { id: Option<String>, size: (u16, u16) },
    /// End every command that the user has running.
    AbortBash,
    /// Move the commands that the model waits for to the background, where they continue as jobs.
    MoveToBackground,
    /// Stop a background job and all its processes.
    StopJob { job: u32 },
    /// Set whether a background job, or all of them, continue when the screen is left.
    KeepJobs {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<u32>,
        kept: bool,
    },
}

/// Answers the agent's questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum QuestionCommand {
    /// Answer a question (`QuestionEvent::Asked`).
    Answer { id: String, answer: QuestionAnswer },
    /// Decide on a call that waits for approval (`QuestionEvent::ApprovalRequested`). Ignored if it is no
    /// longer waiting.
    AnswerApproval { id: String, answer: ApprovalAnswer },
}

impl QuestionCommand {
    /// The words of the answer that were typed for the model.
    pub fn words(&self) -> String {
        match self {
            QuestionCommand::Answer { answer: QuestionAnswer::Answers(answers), .. } => {
                let texts = answers.iter().map(|answer| answer.text.as_str());
                texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
            }
            QuestionCommand::Answer { answer: QuestionAnswer::PlanRejected { comment }, .. } => {
                comment.clone()
            }
            QuestionCommand::AnswerApproval { answer: ApprovalAnswer::Deny { reason, .. }, .. } => {
                reason.clone().unwrap_or_default()
            }
            QuestionCommand::Answer { .. } | QuestionCommand::AnswerApproval { .. } => String::new(),
        }
    }
}

/// Queries the agent task, or ends it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[strum(serialize_all = "snake_case")]
pub enum TaskCommand {
    /// Query the session. `TaskEvent::Answered` with the same ticket follows the events of all earlier
    /// commands.
    Query { ticket: u64, query: Query },
    /// Ask the model beside the run, without tools; question and answer are no part of the conversation.
    /// `TaskEvent::SideAnswer` and `SideAnswerEnded` with this id follow.
    SideQuestion { id: String, question: String },
    /// Stop the answer to a side question.
    StopSideQuestion { id: String },
    /// Abort all work, complete the session file, end the task.
    Shutdown,
}

/// The queue for a message sent during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Queue {
    /// Delivered after the tool calls of the current turn.
    #[default]
    Steer,
    /// Delivered when the agent would otherwise stop.
    FollowUp,
}

/// Identifies a queued message by its last known position and its text. It is also found at another position
/// of the same queue, since messages move up when the agent takes those before them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessage {
    pub queue: Queue,
    /// The position in the queue, from 0.
    pub index: usize,
    /// The whole text.
    pub text: String,
}

/// A change to one queued message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum QueueChange {
    /// Replace its text, and add these images.
    Replace { text: String, images: Vec<Block> },
    /// Discard it.
    Remove,
    /// Move it by this many places; negative is towards the front of its queue.
    Move { by: isize },
    /// Move it to the end of this queue.
    Requeue { queue: Queue },
    /// Stop the run, if there is one, and start another with this message.
    SendNow,
}

/// Settings that can be changed while the agent runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tune", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Tuning {
    /// Whether the conversation is compacted automatically.
    AutoCompaction { enabled: bool },
    /// The restrictions on commands from the next one on, and whether they also apply to the user's own and
    /// to hooks. Paths that the user has added in the session stay writable.
    Sandbox { policy: Box<SandboxPolicy>, user_commands: bool, hooks: bool },
    /// The timeout in seconds of the model's commands that set none; `None` for no timeout.
    BashTimeout { seconds: Option<u64> },
    /// The limits of goals that are set from now on without any.
    GoalLimits { limits: GoalLimits },
    /// The name of the conversation for provider caches from the next request on; `None` for the id of the
    /// session.
    ConversationId { id: Option<String> },
    /// The sampling temperature from the next request on; `None` for the provider's own.
    Temperature { temperature: Option<f64> },
    /// The permission rule files have changed, or which of them count: they are read again.
    Rules,
    /// The MCP server files have changed, or which of them count: they are read again, and changed servers
    /// are started or ended.
    McpServers,
    /// Whether secrets in the output of tools and commands are masked.
    MaskSecrets { enabled: bool },
    /// The reason why settings that protect the user are unreliable; `None` if they are fine. Until then
    /// every call needs approval, and the mode is `ask` or `plan`.
    SettingsFault { fault: Option<String> },
    /// Whether a request that failed for a transient reason is sent again.
    AutoRetry { enabled: bool },
    /// Whether the front end puts the model's questions to a user.
    AskUser { enabled: bool },
    /// Whether the front end gets the events of helpers (`TurnEvent::HelperEvent`).
    HelperEvents { enabled: bool },
}

/// The user's answer to a question of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionAnswer {
    /// The selected option.
    Value(String),
    /// Yes or no.
    Confirmed(bool),
    /// The values of a form, by field name.
    Form(Map<String, Value>),
    /// One answer for each question of the model.
    Answers(Vec<UserAnswer>),
    /// The plan is accepted and carried out in this mode; `plan` is the user's edited version.
    PlanAccepted {
        mode: PermissionMode,
        plan: Option<String>,
    },
    /// The plan is rejected, with a comment for the model.
    PlanRejected {
        comment: String,
    },
    /// The front end cannot ask the user this.
    Unavailable,
    /// The user does not want to answer.
    Declined,
    Cancelled,
}

/// Another session, or another name or branch of this one. All except `Name` abort a run first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionChange {
    /// Start an empty session.
    New,
    /// Start an empty session that refers to `parent` as the one it continues.
    Continued {
        #[serde(with = "tau_tools::path_text")]
        parent: PathBuf,
    },
    /// Start a session with everything before one of the user's messages; the text of that message is
    /// returned as `QueueEvent::QueueReturned`.
    Fork { entry_id: String },
    /// Start a session with everything on the current branch.
    Clone,
    /// Open the file.
    Open {
        #[serde(with = "tau_tools::path_text")]
        path: PathBuf,
    },
    /// Open the file; if it is in use or its directory is gone, ask the user how. If another program wrote it, it
    /// is continued in a copy.
    Offer {
        #[serde(with = "tau_tools::path_text")]
        path: PathBuf,
        #[serde(default, skip_serializing_if = "SessionOrigin::is_own")]
        source: SessionOrigin,
    },
    /// Start a session here with everything in the session file at `path`, which may be relative to the working
    /// directory or begin with `~`. The file itself is not changed.
    Import {
        #[serde(with = "tau_tools::path_text")]
        path: PathBuf,
    },
    /// Continue from another entry of the tree. If that is a user message, continue from before it and
    /// return its text as `QueueEvent::QueueReturned`. The abandoned branch is summarized first if `summary`
    /// is given. Answered by `SessionEvent::SessionOpened`.
    GoTo { entry_id: String, summary: Option<BranchSummaryOptions> },
    /// Name the session; an empty name removes the current one.
    Name { name: String },
}

/// How to summarize the branch that is left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryOptions {
    /// The focus of the summary.
    pub instructions: Option<String>,
}
