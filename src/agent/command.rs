//! What the agent is told to do. Plain data; every front end speaks it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::Block;
use super::model::{Model, ThinkingLevel};

/// A command to the agent task. Commands take effect in the order in which they were sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentCommand {
    /// Start a run with this message. During a run it is queued as `streaming` says.
    Prompt { text: String, images: Vec<Block>, streaming: Queue },
    /// Go on from a history whose last message is the person's or a tool result.
    Continue,
    /// Stop the model, the tools, a waiting retry, a compaction.
    Abort,
    /// End a waiting retry with the provider's error.
    AbortRetry,
    /// Hand the queued messages back (`AgentEvent::QueueReturned`) and empty the queues.
    TakeQueue,
    /// Answer a question.
    Answer { id: String, answer: Answer },
    /// Use this model from the next request on.
    SetModel { model: Arc<Model> },
    /// Think this hard from the next request on.
    SetThinking { level: ThinkingLevel },
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

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    Value(String),
    Confirmed(bool),
    Cancelled,
}

/// Commands about sessions. All but `Name` abort a run first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionCommand {
    /// Begin an empty one.
    New,
    /// Open the file.
    Open { path: PathBuf },
    /// Give it a name; an empty one takes the name away.
    Name { name: String },
}
