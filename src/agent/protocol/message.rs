//! Messages and their blocks, in the shapes of the session file and the RPC wire.
//!
//! Times are milliseconds since 1970. These types are plain data; `agent::provider` converts them for
//! providers.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::attachment::{Attachment, AttachmentKind};
use super::model::Api;
pub use super::usage::{Cost, Usage};
use tau_tools::Content;
use tau_tools::details::{self, Details};
use tau_tools::sandbox::SandboxDenial;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// A message of the user.
    User(UserMessage),
    /// An answer of the model.
    Assistant(AssistantMessage),
    /// The result of a tool call.
    ToolResult(ToolResultMessage),
    /// A command that the user ran with `!` or `!!`.
    BashExecution(BashExecution),
    /// Extension data that counts as user text for the model.
    Custom(CustomMessage),
    /// The summary of an abandoned branch. Made from its session entry, never stored.
    BranchSummary(BranchSummary),
    /// The summary of the compacted part. Made from its session entry, never stored.
    CompactionSummary(CompactionSummary),
    /// A message of an application that uses the library, in a role of its own. It stays in the session and
    /// is never sent to a model.
    #[serde(untagged)]
    Application(ApplicationMessage),
}

/// Roles that an application cannot use: those above, and those of other programs that write sessions.
const RESERVED_ROLES: &[&str] = tau_tools::words!(
    "user assistant toolResult bashExecution custom branchSummary compactionSummary system developer \
     tool hookMessage"
);

/// A message in a role that an application defines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApplicationMessage {
    role: String,
    /// The time of creation.
    pub timestamp: i64,
    /// Its other fields, as defined by the application.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

impl ApplicationMessage {
    /// A message with this role; `None` if the role is one of tau's own, or empty.
    pub fn new(role: &str, fields: Map<String, Value>) -> Option<Self> {
        let is_free = !role.trim().is_empty() && !RESERVED_ROLES.contains(&role);
        is_free.then(|| ApplicationMessage { role: role.to_owned(), timestamp: 0, fields })
    }

    /// The role.
    pub fn role(&self) -> &str {
        &self.role
    }
}

impl<'de> Deserialize<'de> for ApplicationMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let Some(Value::String(role)) = fields.shift_remove("role") else {
            return Err(D::Error::missing_field("role"));
        };
        let timestamp = fields.shift_remove("timestamp").and_then(|time| time.as_i64()).unwrap_or_default();
        let message = ApplicationMessage::new(&role, fields);
        let message = message.ok_or_else(|| D::Error::custom(format!("not a message of role {role:?}")))?;
        Ok(ApplicationMessage { timestamp, ..message })
    }
}

/// A message of the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Text, or text and images.
    pub content: UserContent,
    /// The attached files. The model gets the blocks made from them, which are in the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The time of sending; 0 for a message that has not been sent.
    #[serde(default)]
    pub timestamp: i64,
    /// Whether it stays queued when a screen takes the queue, and is not returned to one when it is refused: another
    /// program sent it, and was told that it is kept. False for one that is in the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stays_queued: bool,
}

impl UserMessage {
    /// A message that has not been sent.
    pub fn new(content: UserContent) -> Self {
        UserMessage { content, attachments: Vec::new(), timestamp: 0, stays_queued: false }
    }

    /// A text with files, which become blocks after it, in order.
    pub fn with_attachments(text: impl Into<String>, attachments: Vec<Attachment>) -> Self {
        let blocks = attachments.iter().map(Block::of_attachment).collect();
        UserMessage { attachments, ..UserMessage::with_blocks(text, blocks) }
    }

    /// A text with blocks after it.
    pub fn with_blocks(text: impl Into<String>, blocks: Vec<Block>) -> Self {
        let text = text.into();
        if blocks.is_empty() {
            return UserMessage::new(UserContent::Text(text));
        }
        let text = (!text.is_empty()).then(|| Block::text(text));
        UserMessage::new(UserContent::Blocks(text.into_iter().chain(blocks).collect()))
    }

    /// True if it is empty: no text and no image.
    pub fn is_blank(&self) -> bool {
        match &self.content {
            UserContent::Text(text) => text.trim().is_empty(),
            UserContent::Blocks(blocks) => {
                blocks.iter().all(|block| block.as_text().is_some_and(|text| text.trim().is_empty()))
            }
        }
    }
}

impl<T: Into<String>> From<T> for UserMessage {
    fn from(text: T) -> Self {
        UserMessage::new(UserContent::Text(text.into()))
    }
}

/// Content of a user message: both forms occur on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserContent {
    /// Only text.
    Text(String),
    /// Blocks: text and images.
    Blocks(Vec<Block>),
}

impl UserContent {
    /// All text, blocks joined by line breaks.
    pub fn text(&self) -> String {
        match self {
            UserContent::Text(text) => text.clone(),
            UserContent::Blocks(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                texts.join("\n")
            }
        }
    }

    /// The content as blocks.
    pub fn blocks(&self) -> Vec<Block> {
        match self {
            UserContent::Text(text) => vec![Block::text(text.clone())],
            UserContent::Blocks(blocks) => blocks.clone(),
        }
    }
}

/// A block of content. Signatures are opaque and are returned to the provider that made them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Block {
    /// Visible text.
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    /// Reasoning. `redacted` blocks have no text, only a signature.
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// An image in base64.
    Image { data: String, mime_type: String },
    /// A tool call.
    ToolCall(ToolCall),
    /// A block unknown to this version, kept unchanged.
    #[serde(untagged)]
    Unknown(Value),
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), text_signature: None }
    }

    /// The block as content of a result; `None` if results have no such blocks.
    pub fn into_content(self) -> Option<Content> {
        match self {
            Block::Text { text, .. } => Some(Content::Text { text }),
            Block::Image { data, mime_type } => Some(Content::Image { data, mime_type }),
            Block::Thinking { .. } | Block::ToolCall(_) | Block::Unknown(_) => None,
        }
    }

    /// The block for an attachment: an image, or a text with the file's name and its text.
    pub fn of_attachment(attachment: &Attachment) -> Self {
        let name = match attachment.file_name.as_str() {
            "" => "unnamed",
            name => name,
        };
        match (attachment.kind, &attachment.extracted_text) {
            (AttachmentKind::Image, _) => {
                let (data, mime_type) = (attachment.content.clone(), attachment.mime_type.clone());
                Block::Image { data, mime_type }
            }
            (AttachmentKind::Document, Some(text)) => {
                Block::text(format!("<document name={name:?}>\n{}\n</document>", text.trim_end()))
            }
            (AttachmentKind::Document, None) => {
                Block::text(format!("[the document {name:?} was attached, but its text could not be read]"))
            }
        }
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text { text, .. } => Some(text),
            _ => None,
        }
    }
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The id of the call, unique within a conversation.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments: an object. A string if they were not valid JSON (the text as it arrived);
    /// such a call is never run.
    pub arguments: Value,
    /// Google's signature of the thought that led to the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
}

/// An answer of the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in order.
    #[serde(default)]
    pub content: Vec<Block>,
    /// The wire format in which it arrived.
    pub api: Api,
    /// The provider that sent it.
    pub provider: String,
    /// The id of the requested model.
    pub model: String,
    /// Tokens and cost.
    #[serde(default)]
    pub usage: Usage,
    /// The reason why it ended.
    pub stop_reason: StopReason,
    /// The error, if `stop_reason` is `error` or `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The time at which the answer began.
    #[serde(default)]
    pub timestamp: i64,
}

impl AssistantMessage {
    /// The size of the context with this answer, in tokens; `None` if the provider did not count it or it is
    /// incomplete.
    pub fn context(&self) -> Option<u64> {
        if matches!(self.stop_reason, StopReason::Error | StopReason::Aborted) || self.usage.estimated {
            return None;
        }
        let Usage { input, output, cache_read, cache_write, .. } = self.usage;
        let parts = [output, cache_read, cache_write];
        let tokens = parts.iter().fold(input, |sum, part| sum.saturating_add(*part));
        (tokens > 0).then_some(tokens)
    }

    /// All visible text, with blocks joined without a separator.
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Block::as_text).collect()
    }

    /// The tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// The reason why an answer ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The model was finished.
    #[default]
    Stop,
    /// The output limit was reached.
    Length,
    /// The model is waiting for tool results.
    ToolUse,
    /// The provider failed or refused.
    Error,
    /// The user stopped it.
    Aborted,
    /// A reason from another program or a later version; counts as `stop`.
    #[serde(other)]
    Other,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// The call it answers.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// The part for the model.
    #[serde(default)]
    pub content: Vec<Content>,
    /// The part for the user.
    #[serde(default, deserialize_with = "details::lenient", skip_serializing_if = "is_none")]
    pub details: Details,
    /// True if the tool failed, refused or was aborted.
    #[serde(default)]
    pub is_error: bool,
    /// The time at which it ended.
    #[serde(default)]
    pub timestamp: i64,
    /// The run time in milliseconds; absent if the call did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The actions of the user's hooks on this call, for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookNote>,
}

/// An action of one of the user's hooks. Its texts are not safe to print directly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookNote {
    /// The hook's event and the start of its command.
    pub hook: String,
    /// The action, as part of a sentence about the hook.
    pub text: String,
    /// True if there is a problem with the hook.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_warning: bool,
}

fn is_none(details: &Details) -> bool {
    *details == Details::None
}

/// A command run by the user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    /// The command line.
    pub command: String,
    /// The end of its output, without terminal escapes.
    #[serde(default)]
    pub output: String,
    /// The exit code; absent if the command was cancelled or killed, or if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// True if another program ran it, which did not note how it ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exit_unknown: bool,
    /// True if the user stopped it.
    #[serde(default)]
    pub cancelled: bool,
    /// True if `output` is incomplete.
    #[serde(default)]
    pub truncated: bool,
    /// The file with the complete output, if it was truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    /// True for `!!`: the model never sees it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclude_from_context: bool,
    /// The probable sandbox denial, if it failed in a sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<SandboxDenial>,
    /// The time at which it ended.
    #[serde(default)]
    pub timestamp: i64,
}

impl BashExecution {
    /// A note about the sandbox denial, for readers of the output.
    pub fn sandbox_note(&self) -> Option<String> {
        let denial = self.blocked.as_ref()?;
        Some(format!("[sandbox: {}.]", denial.sentence()))
    }

    /// The output, with a note about the sandbox denial.
    pub fn output_with_note(&self) -> Cow<'_, str> {
        match self.sandbox_note() {
            None => Cow::Borrowed(&self.output),
            Some(note) => Cow::Owned(format!("{}\n{note}", self.output.trim_end())),
        }
    }
}

/// Extension data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    /// The extension that owns it.
    pub custom_type: String,
    /// Text or blocks.
    pub content: UserContent,
    /// True if it is shown to the user.
    #[serde(default)]
    pub display: bool,
    /// The extension's data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The time of creation.
    #[serde(default)]
    pub timestamp: i64,
}

impl CustomMessage {
    /// A text for the model, which the user does not see.
    pub fn new_hidden(
        custom_type: &str,
        text: impl Into<String>,
        details: Option<Value>,
        timestamp: i64,
    ) -> Self {
        let (custom_type, content) = (custom_type.to_owned(), UserContent::Text(text.into()));
        CustomMessage { custom_type, content, display: false, details, timestamp }
    }
}

/// The summary of an abandoned branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    /// A summary of the attempt.
    pub summary: String,
    /// The last entry of that branch.
    pub from_id: String,
    /// The time of creation.
    #[serde(default)]
    pub timestamp: i64,
}

/// The summary of the compacted part of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionSummary {
    /// A summary of the events.
    pub summary: String,
    /// The size of the context before the compaction, in tokens.
    pub tokens_before: u64,
    /// The time of creation.
    #[serde(default)]
    pub timestamp: i64,
}
