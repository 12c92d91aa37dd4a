//! Questions a front end asks about the session, and their typed answers.
//!
//! A front end sends `TaskCommand::Query` with a ticket of its choice; `TaskEvent::Answered`
//! with the same ticket follows the events of all commands sent before it. How an answer is
//! written on a wire is the front end's concern.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::extension::{ArgumentValues, ExtensionRow, McpResource, PromptCommand};
use super::message::{Message, Usage};
use super::model::ThinkingLevel;
use super::outline::Outline;
use super::placeholder::RevealedSecret;
use super::rules::{PermissionRules, Verdict};
use super::run::QueueMode;
use super::undo::{Checkpoint, SessionChanges, UndoPlan};

/// A question about the session. Each variant names the answer it gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Query {
    /// [`QueryAnswer::Done`] once every command before this one has taken effect.
    Sync,
    /// [`QueryAnswer::Done`] once nothing runs and nothing is waiting to run.
    Idle,
    /// [`QueryAnswer::State`]
    State,
    /// [`QueryAnswer::Messages`]: what the model's context is made of.
    Messages,
    /// [`QueryAnswer::MessageRecords`]: what the model's context is made of, as it is in the file.
    MessageRecords,
    /// [`QueryAnswer::Messages`]: every message on the current branch, compacted ones included.
    /// Reads the whole session file if only its end has been read so far.
    History,
    /// [`QueryAnswer::HistoryPage`]: messages of the current branch that come before those that were
    /// sent when the session was opened. A page that has to be read from the file arrives later than
    /// the answers to later queries.
    HistoryPage {
        #[serde(default)]
        from: PageFrom,
        #[serde(default)]
        goal: PageGoal,
    },
    /// [`QueryAnswer::LastText`]
    LastText,
    /// [`QueryAnswer::Entries`]: the entries after the one named; all of them without one.
    Entries { since: Option<String> },
    /// [`QueryAnswer::Outline`]
    Outline,
    /// [`QueryAnswer::ForkMessages`]
    ForkMessages,
    /// [`QueryAnswer::Stats`]
    Stats,
    /// [`QueryAnswer::Source`]. An error when the session is empty.
    Source,
    /// [`QueryAnswer::ContextUsage`]
    ContextUsage,
    /// [`QueryAnswer::Titles`]: the earlier calls of this session that a permission rule would have
    /// allowed; or asked or denied, if that is its list. An error if it is no rule.
    RuleCoverage {
        rule: String,
        #[serde(default)]
        list: Verdict,
    },
    /// [`QueryAnswer::PermissionRules`]
    PermissionRules,
    /// [`QueryAnswer::Text`]: the whole new text of the file that a call waiting for approval would
    /// write. An error if none of this id waits, or its change is not text.
    ProposedText { id: String },
    /// [`QueryAnswer::Checkpoints`]: the prompts on the current branch, and what each changed in files.
    Checkpoints,
    /// [`QueryAnswer::Changes`]: what the session changed in files.
    Changes,
    /// [`QueryAnswer::UndoPlan`]: what going back to a prompt would restore; without one, what taking
    /// the last undo back would. An error if there is no such prompt, or nothing to take back.
    UndoPlan { entry_id: Option<String> },
    /// [`QueryAnswer::Secrets`]: the values of these placeholders, for the user to see.
    Reveal { placeholders: Vec<String> },
    /// [`QueryAnswer::Extensions`]: skills and what else extends the agent.
    Extensions,
    /// [`QueryAnswer::Commands`]: the commands that stand for prompt templates, skills and prompts of MCP
    /// servers.
    Commands,
    /// [`QueryAnswer::Resources`]: the resources of MCP servers.
    Resources,
    /// [`QueryAnswer::ArgumentValues`]: what an MCP server suggests for the argument of one of its prompts
    /// that is being typed. `typed` is what follows the name of the command, up to the cursor. With `@server` as
    /// the command, `typed` is the start of the address of a resource, and the values are addresses, as far as
    /// they are known, that a template of this server stands for. The answer
    /// arrives when the server has given it, later than the answers to later queries.
    CompleteArgument { command: String, typed: String },
}

/// Where a page of the history is to be looked for. Positions are those of pages sent before, and hold
/// until another session or branch is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "direction", rename_all = "snake_case")]
pub enum PageFrom {
    /// Going back from a position; without one, from the messages that were sent.
    Before { position: Option<u64> },
    /// Going forward from a position; 0 is the start of the session.
    After { position: u64 },
}

impl Default for PageFrom {
    fn default() -> Self {
        PageFrom::Before { position: None }
    }
}

/// Which page it is to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seek", rename_all = "snake_case")]
pub enum PageGoal {
    /// The page that is next.
    #[default]
    Next,
    /// The page that begins with the nearest message of the user.
    Prompt,
    /// The page around the nearest entry with this text in it. Capitals matter if it has any.
    Text { text: String },
}

/// The answer to a [`Query`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum QueryAnswer {
    /// There is nothing to report; the answer itself is the point.
    Done,
    State(SessionState),
    Messages(Vec<Arc<Message>>),
    /// Messages as JSON objects, with the fields that tau does not know.
    MessageRecords(Vec<Value>),
    HistoryPage(HistoryPage),
    /// The text of the last answer that has any.
    LastText(Option<String>),
    Entries(SessionEntries),
    Outline(Outline),
    /// The user's messages, in the order of the file.
    ForkMessages(Vec<ForkMessage>),
    Stats(SessionStats),
    Source(SessionSource),
    ContextUsage(ContextUsage),
    /// In the order of the placeholders. Values are never written: as data they are `null`.
    Secrets(Vec<RevealedSecret>),
    /// Titles of calls, oldest first.
    Titles(Vec<String>),
    PermissionRules(PermissionRules),
    Text(String),
    /// In the order in which they were sent.
    Checkpoints(Vec<Checkpoint>),
    Changes(SessionChanges),
    UndoPlan(UndoPlan),
    /// By kind and name.
    Extensions(Vec<ExtensionRow>),
    /// By name: prompt templates first, then skills, then prompts of MCP servers.
    Commands(Vec<PromptCommand>),
    /// By server, templates last.
    Resources(Vec<McpResource>),
    ArgumentValues(ArgumentValues),
}

/// Session, queues and modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionState {
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub session_name: Option<String>,
    pub auto_compaction_enabled: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Messages in the context.
    pub message_count: usize,
    /// Messages in the queues.
    pub pending_message_count: usize,
    pub thinking_level: ThinkingLevel,
}

/// Messages of the current branch, next to each other. Without messages when what was sought is not
/// there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryPage {
    /// In order. The results of calls in this page come with it, even if they come after it.
    pub messages: Vec<Arc<Message>>,
    /// Titles of the tool calls in these messages, by call id.
    pub titles: BTreeMap<String, String>,
    /// About how many messages come before this page; `None` when there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// About how many messages come between this page and those that were sent with the session;
    /// `None` when it touches them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Position of the first entry of the page.
    pub start: u64,
    /// Position after its last entry.
    pub end: u64,
    /// Why the page could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Entries of the session in the order of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEntries {
    pub entries: Vec<SessionEntry>,
    /// The entry the conversation is at.
    pub leaf_id: Option<String>,
}

/// An entry of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEntry {
    pub id: String,
    pub parent_id: Option<String>,
    pub label: Option<EntryLabel>,
    /// Its line in the session file, which alone has the fields that tau does not know.
    pub line: String,
}

/// The label of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryLabel {
    pub text: String,
    /// When it was set, in milliseconds since 1970.
    pub timestamp: i64,
}

/// A message of the user, before which a session can be forked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForkMessage {
    pub entry_id: String,
    pub text: String,
}

/// Counts over the whole session file, including what was compacted or is on other branches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStats {
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub usage: Usage,
    /// How full the context window is; absent when its size is unknown.
    pub window: Option<WindowUsage>,
}

/// How full the model's context window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WindowUsage {
    /// Tokens in the context; absent between a compaction and the next answer.
    pub tokens: Option<u64>,
    /// Size of the window, in tokens.
    pub context_window: u64,
}

/// Where the complete session can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionSource {
    /// In its file, which is complete.
    File(PathBuf),
    /// Here, as the lines its file would have: it is in memory only, or could not be written.
    Lines(String),
}

/// What fills the model's context. Sizes in tokens; the parts add up to the total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextUsage {
    /// Largest first.
    pub parts: Vec<ContextPart>,
    /// As the provider counted it for the last answer, plus an estimate of what was added since.
    pub total: u64,
    /// Size of the context window; 0 when unknown.
    pub window: u64,
    /// The conversation is compacted above this size; 0 when it is not compacted automatically.
    pub limit: u64,
    /// The instruction files that the model was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
}

/// One kind of content in the context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextPart {
    pub name: String,
    /// How many pieces it consists of; 0 when there is only one.
    pub count: u64,
    pub tokens: u64,
}
