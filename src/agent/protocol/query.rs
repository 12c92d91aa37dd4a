//! Queries of front ends about the session, and their typed answers.
//!
//! A front end sends `TaskCommand::Query` with a ticket of its choice; `TaskEvent::Answered` with the same
//! ticket follows the events of all commands sent before it. The front end decides how to write an answer on
//! a wire.

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
use tau_tools::jobs::JobRow;
use tau_tools::user_error::UserError;

/// A query, with the type of its answer.
pub trait TypedQuery {
    type Answer;

    /// The query, as it is sent.
    fn query(self) -> Query;

    /// The answer, as it is sent.
    fn give(answer: Self::Answer) -> QueryAnswer;

    /// The answer that was sent.
    fn take(answer: QueryAnswer) -> Result<Self::Answer, UserError>;
}

/// The error of an answer that belongs to another query, which only another version of tau can have sent.
const OTHER: &str = "the agent answered something else";

macro_rules! queries {
    ($(
        $(#[doc = $doc:literal])+
        $name:ident $({ $($(#[$attribute:meta])* $field:ident: $kind:ty),+ })? -> $answer:ident$(($type:ty))?;
    )+) => {
        /// A query about the session.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "query", rename_all = "snake_case", rename_all_fields = "camelCase")]
        pub enum Query {
            $($(#[doc = $doc])+ $name $({ $($(#[$attribute])* $field: $kind),+ })?,)+
        }

        /// Each query as a type of its own, which knows the type of its answer.
        pub mod ask {
            use super::{PageFrom, PageGoal, Verdict};

            $(queries!(@struct $(#[doc = $doc])+ $name $($(($field $kind))+)?);)+
        }

        $(impl TypedQuery for ask::$name {
            type Answer = queries!(@type $($type)?);

            fn query(self) -> Query {
                $(let ask::$name { $($field),+ } = self;)?
                Query::$name $({ $($field),+ })?
            }

            fn give(answer: Self::Answer) -> QueryAnswer {
                queries!(@give $answer answer $($type)?)
            }

            fn take(answer: QueryAnswer) -> Result<Self::Answer, UserError> {
                queries!(@take $answer answer $($type)?)
            }
        })+
    };
    (@struct $(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        /// A query with a typed answer.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name;
    };
    (@struct $(#[doc = $doc:literal])+ $name:ident $(($field:ident $kind:ty))+) => {
        $(#[doc = $doc])+
        /// A query with a typed answer.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $(pub $field: $kind),+ }
    };
    (@type) => { () };
    (@type $type:ty) => { $type };
    (@give $answer:ident $value:ident) => {{ let () = $value; QueryAnswer::$answer }};
    (@give $answer:ident $value:ident $type:ty) => { QueryAnswer::$answer($value) };
    (@take $answer:ident $given:ident) => {
        match $given { QueryAnswer::$answer => Ok(()), _ => Err(OTHER.to_owned().into()) }
    };
    (@take $answer:ident $given:ident $type:ty) => {
        match $given { QueryAnswer::$answer(value) => Ok(value), _ => Err(OTHER.to_owned().into()) }
    };
}

queries! {
    /// Answered once every command before this one has taken effect.
    Sync -> Done;
    /// Saves the session, with the prompts that wait to be sent. An error if its file cannot be written.
    Stored -> Done;
    /// Answered once nothing runs and nothing is waiting to run.
    Idle -> Done;
    /// An error if a message with this text is certainly refused: it is an unknown command.
    Sendable { text: String } -> Done;
    /// The session, queues and modes.
    State -> State(SessionState);
    /// The messages in the model's context.
    Messages -> Messages(Vec<Arc<Message>>);
    /// The messages in the model's context, as in the file.
    MessageRecords -> MessageRecords(Vec<Value>);
    /// Every message on the current branch, compacted ones included. Reads the whole session file if only its
    /// end has been read so far.
    History -> Messages(Vec<Arc<Message>>);
    /// Messages of the current branch before those sent when the session was opened. A page that must be read
    /// from the file arrives later than the answers to later queries.
    HistoryPage { #[serde(default)] from: PageFrom, #[serde(default)] goal: PageGoal } -> HistoryPage(HistoryPage);
    /// The text of the last answer that has any.
    LastText -> LastText(Option<String>);
    /// The entries after the named one, or all.
    Entries { since: Option<String> } -> Entries(SessionEntries);
    /// The tree of the session.
    Outline -> Outline(Outline);
    /// The user's messages, in the order of the file.
    ForkMessages -> ForkMessages(Vec<ForkMessage>);
    /// Counts over the whole session file.
    Stats -> Stats(SessionStats);
    /// The source of the complete session. An error if the session is empty.
    Source -> Source(SessionSource);
    /// The contents of the model's context.
    ContextUsage -> ContextUsage(ContextUsage);
    /// The titles of the earlier calls of this session that a permission rule would have allowed (or asked
    /// about, or denied, depending on its list), oldest first. An error if the rule is invalid.
    RuleCoverage { rule: String, #[serde(default)] list: Verdict } -> Titles(Vec<String>);
    /// All permission rules.
    PermissionRules -> PermissionRules(PermissionRules);
    /// The whole new text of the file that a call waiting for approval would write. An error if no call with
    /// this id is waiting, or its change is not text.
    ProposedText { id: String } -> Text(String);
    /// The prompts on the current branch, with the file changes of each.
    Checkpoints -> Checkpoints(Vec<Checkpoint>);
    /// The session's file changes.
    Changes -> Changes(SessionChanges);
    /// The changes that going back to a prompt would restore; without one, those of reversing the last undo. An
    /// error if there is no such prompt, or nothing to reverse.
    UndoPlan { entry_id: Option<String> } -> UndoPlan(UndoPlan);
    /// The values of these placeholders, for the user, in the same order.
    Reveal { placeholders: Vec<String> } -> Secrets(Vec<RevealedSecret>);
    /// All background jobs, with what their processes use. The answer may arrive later than the answers to later
    /// queries.
    Jobs -> Jobs(Vec<JobRow>);
    /// The end of the output of a background job.
    JobOutput { job: u32 } -> Text(String);
    /// Skills and other extensions of the agent.
    Extensions -> Extensions(Vec<ExtensionRow>);
    /// The commands for prompt templates, skills and prompts of MCP servers.
    Commands -> Commands(Vec<PromptCommand>);
    /// The resources of MCP servers.
    Resources -> Resources(Vec<McpResource>);
    /// An MCP server's suggestions for the argument of one of its prompts that is being typed. `typed` is the
    /// text after the command's name, up to the cursor. With `@server` as the command, `typed` is the start of
    /// a resource's address, and the values are the known addresses that match a template of this server. The
    /// answer arrives when the server has sent it, later than the answers to later queries.
    CompleteArgument { command: String, typed: String } -> ArgumentValues(ArgumentValues);
}

/// The place to look for a page of the history. Positions are those of pages sent before, and hold until
/// another session or branch is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "direction", rename_all = "snake_case")]
pub enum PageFrom {
    /// Backward from a position; without one, from the messages that were sent.
    Before { position: Option<u64> },
    /// Forward from a position; 0 is the start of the session.
    After { position: u64 },
}

impl Default for PageFrom {
    fn default() -> Self {
        PageFrom::Before { position: None }
    }
}

/// The page to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seek", rename_all = "snake_case")]
pub enum PageGoal {
    /// The next page.
    #[default]
    Next,
    /// The page that begins with the nearest user message.
    Prompt,
    /// The page around the nearest entry that contains this text. Case matters if it has capitals.
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
    /// Messages as JSON objects, including fields unknown to tau.
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
    /// In the order of the placeholders. Values are never written: they serialize as `null`.
    Secrets(Vec<RevealedSecret>),
    /// The titles of calls, oldest first.
    Titles(Vec<String>),
    PermissionRules(PermissionRules),
    Text(String),
    /// In the order in which they were sent.
    Checkpoints(Vec<Checkpoint>),
    Changes(SessionChanges),
    UndoPlan(UndoPlan),
    /// Oldest first.
    Jobs(Vec<JobRow>),
    /// Sorted by kind and name.
    Extensions(Vec<ExtensionRow>),
    /// Sorted by name: prompt templates first, then skills, then prompts of MCP servers.
    Commands(Vec<PromptCommand>),
    /// Sorted by server, templates last.
    Resources(Vec<McpResource>),
    ArgumentValues(ArgumentValues),
}

/// The session, queues and modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionState {
    #[serde(with = "tau_tools::path_text")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub session_name: Option<String>,
    pub auto_compaction_enabled: bool,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// The number of messages in the context.
    pub message_count: usize,
    /// The number of messages in the queues.
    pub pending_message_count: usize,
    pub thinking_level: ThinkingLevel,
}

/// Consecutive messages of the current branch; empty if the search found nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryPage {
    /// In order. The results of this page's calls are included, even if they come after it.
    pub messages: Vec<Arc<Message>>,
    /// The titles of the tool calls in these messages, by call id.
    pub titles: BTreeMap<String, String>,
    /// The approximate number of messages before this page; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// The approximate number of messages between this page and those sent with the session; `None` if there
    /// are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The position of the first entry of the page.
    pub start: u64,
    /// The position after its last entry.
    pub end: u64,
    /// The reason why the page could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Entries of the session in the order of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEntries {
    pub entries: Vec<SessionEntry>,
    /// The current entry.
    pub leaf_id: Option<String>,
}

/// An entry of the session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEntry {
    pub id: String,
    pub parent_id: Option<String>,
    pub label: Option<EntryLabel>,
    /// Its line in the session file; only this has fields unknown to tau.
    pub line: String,
}

/// The label of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EntryLabel {
    pub text: String,
    /// The time at which it was set, in milliseconds since 1970.
    pub timestamp: i64,
}

/// A user message before which a session can be forked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ForkMessage {
    pub entry_id: String,
    pub text: String,
}

/// Counts over the whole session file, including compacted parts and other branches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionStats {
    #[serde(with = "tau_tools::path_text")]
    pub session_file: Option<PathBuf>,
    pub session_id: String,
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub usage: Usage,
    /// The fill level of the context window; absent if its size is unknown.
    pub window: Option<WindowUsage>,
}

/// The fill level of the model's context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WindowUsage {
    /// Tokens in the context; absent between a compaction and the next answer.
    pub tokens: Option<u64>,
    /// The size of the window, in tokens.
    pub context_window: u64,
}

/// The source of the complete session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SessionSource {
    /// The session file, which is complete.
    File(#[serde(with = "tau_tools::path_text")] PathBuf),
    /// The lines of its file: the session is only in memory, or could not be written.
    Lines(String),
}

/// The contents of the model's context. Sizes are in tokens; the parts add up to the total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextUsage {
    /// Sorted by size, largest first.
    pub parts: Vec<ContextPart>,
    /// The provider's count for the last answer, plus an estimate of later additions.
    pub total: u64,
    /// The size of the context window; 0 if unknown.
    pub window: u64,
    /// The size above which the conversation is compacted; 0 if it is not compacted automatically.
    pub limit: u64,
    /// The instruction files given to the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
}

/// One kind of content in the context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContextPart {
    pub name: String,
    /// The number of pieces; 0 if there is only one.
    pub count: u64,
    pub tokens: u64,
}
