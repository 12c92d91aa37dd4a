//! The common parts of all formats of requests.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use tau_agent::provider::{ModelRequest, handoff};
use tau_agent::secrets::Secret;
use tau_protocol::attachment::picture_bytes;
use tau_protocol::message::{
    AssistantMessage, Block, Message, StopReason, ToolCall, ToolResultMessage, UserContent, UserMessage,
};
use tau_protocol::model::{Api, Model, ThinkingBudgets, ThinkingLevel};
use tau_tools::user_error::UserError;
use tau_tools::{Content, Details, ToolSpec};

/// The field of chat completions with the reasoning of an answer. As a signature it says that the reasoning goes back in it.
pub(super) const REASONING: &str = "reasoning_content";

/// A request of a client.
#[derive(Debug, Default)]
pub(in super::super) struct ClientRequest {
    /// The model, as the client calls it.
    pub(in super::super) model: String,
    pub(in super::super) stream: bool,
    /// Whether a chat stream ends with the usage.
    pub(in super::super) with_usage: bool,
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<ToolSpec>,
    /// `None` for what the client does not say.
    pub(super) thinking: Option<ThinkingLevel>,
    /// How much of an answer may be thinking, in tokens.
    pub(super) thinking_budget: Option<u64>,
    pub(in super::super) max_tokens: Option<u64>,
    pub(super) temperature: Option<f64>,
    pub(super) session_id: String,
}

impl ClientRequest {
    /// The fields that all formats have.
    pub(super) fn of(body: &Value) -> Result<Self, UserError> {
        let model = set(body, "model").ok_or("`model` is missing")?;
        Ok(ClientRequest {
            model: model.as_str().ok_or("`model` must be a string")?.to_owned(),
            stream: flag(body, "stream"),
            temperature: set(body, "temperature")
                .map(|value| value.as_f64().ok_or("`temperature` must be a number"))
                .transpose()?,
            ..ClientRequest::default()
        })
    }

    /// Fails when the model cannot be told all of it.
    pub(in super::super) fn check_for(&self, model: &Model) -> Result<(), UserError> {
        let has_picture = |message: &Message| match message {
            Message::User(UserMessage { content: UserContent::Blocks(blocks), .. }) => {
                blocks.iter().any(|block| matches!(block, Block::Image { .. }))
            }
            Message::ToolResult(result) => {
                result.content.iter().any(|part| matches!(part, Content::Image { .. }))
            }
            _ => false,
        };
        match !model.sees() && self.messages.iter().any(has_picture) {
            true => Err(format!("the model {} does not take pictures", self.model).into()),
            false => Ok(()),
        }
    }

    pub(in super::super) fn into_request(self, model: Arc<Model>, key: Option<Secret>) -> ModelRequest {
        let mut messages = self.messages;
        for message in &mut messages {
            // What the client sends back was said by this model, as far as anyone knows.
            if let Message::Assistant(assistant) = message {
                (assistant.api, assistant.provider) = (model.api, model.provider.clone());
                assistant.model = model.id.clone();
                // Other formats have signatures of their own.
                for block in assistant.content.iter_mut().filter(|_| model.api != Api::OpenaiCompletions) {
                    if let Block::Thinking { thinking_signature, .. } = block {
                        thinking_signature.take_if(|field| field == REASONING);
                    }
                }
            }
        }
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let thinking = model.nearest(self.thinking.unwrap_or_default());
        let budgets: ThinkingBudgets =
            self.thinking_budget.map(|budget| (thinking, budget)).into_iter().collect();
        ModelRequest {
            thinking,
            messages: handoff::for_model(&messages, &model),
            model: model.with_thinking_budgets(&budgets),
            key,
            system: self.system.join("\n\n").into(),
            tools: self.tools.into(),
            max_tokens: self.max_tokens,
            limits_thinking: true,
            temperature: self.temperature,
            session_id: self.session_id,
            join_deltas: false,
        }
    }
}

/// Whether a field is true.
pub(super) fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// A field, unless it is absent, null or empty.
pub(super) fn set<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    })
}

/// A text field; empty if it is absent.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// A field with a number of tokens; `None` if it is absent.
pub(super) fn tokens(value: &Value, field: &str) -> Result<Option<u64>, UserError> {
    let number = set(value, field).map(|value| {
        let number = value.as_u64().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`{field}` must be a whole number, 1 or more").into())
    });
    number.transpose()
}

/// A list field; empty if it is absent.
pub(super) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The blocks of a content: text, or a list of parts, which `block` reads. Fails when it is something else,
/// and those of `block`.
pub(super) fn blocks(
    content: &Value,
    block: &dyn Fn(&Value) -> Result<Block, UserError>,
) -> Result<Vec<Block>, UserError> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Block::text(text.clone())]),
        Value::Array(parts) => parts.iter().map(block).collect(),
        _ => Err("`content` is neither text nor a list".into()),
    }
}

/// Logs the tools that only their own provider can run, or that need a format of its own: the model is not
/// offered them.
pub(super) fn log_omitted_tools(tools: &[&Value]) {
    if !tools.is_empty() {
        let kinds: Vec<&str> = tools.iter().map(|tool| text(tool, "type")).collect();
        tracing::info!(kinds = kinds.join(", "), "tools of a request were left out");
    }
}

/// The error for a part of this type.
pub(super) fn unsupported_content(kind: &str) -> String {
    format!("content of type {kind:?} is not supported by tau proxy")
}

/// Fails when a field is set that cannot be passed on.
pub(super) fn refuse(body: &Value, fields: &[&str]) -> Result<(), UserError> {
    match fields.iter().find(|field| set(body, field).is_some_and(|value| *value != Value::Bool(false))) {
        Some(field) => Err(format!("`{field}` is not supported by tau proxy").into()),
        None => Ok(()),
    }
}

/// The thinking level of a word for effort. Fails when there is no such level.
pub(super) fn effort(word: &str) -> Result<ThinkingLevel, UserError> {
    let word = if word == "none" { "off" } else { word };
    ThinkingLevel::from_name(word).ok_or_else(|| format!("there is no effort {word:?}").into())
}

/// A tool with a name, a description and the schema of its arguments. Fails when it has no name.
pub(super) fn tool(value: &Value, parameters: &str) -> Result<ToolSpec, UserError> {
    let name = text(value, "name");
    if name.is_empty() {
        return Err("a tool has no name".into());
    }
    let schema = set(value, parameters).cloned();
    Ok(ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: text(value, "description").to_owned(),
        parameters: schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        read_only: false,
    })
}

/// A picture in an address (`data:image/png;base64,…`). Fails when the address leads elsewhere: tau does not
/// fetch it.
pub(super) fn picture(url: &str) -> Result<Block, UserError> {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(','));
    let (kind, data) = data.ok_or("pictures have to be sent as data: addresses; tau proxy fetches none")?;
    let mime = kind.strip_suffix(";base64").ok_or("pictures have to be base64")?;
    image(data, mime)
}

/// A picture in base64. Fails when it is something else.
pub(super) fn image(data: &str, mime: &str) -> Result<Block, UserError> {
    picture_bytes(data)?;
    Ok(Block::Image { data: data.to_owned(), mime_type: mime.to_owned() })
}

pub(super) fn user(blocks: Vec<Block>) -> Message {
    Message::User(UserMessage::new(UserContent::Blocks(blocks)))
}

/// Collects messages; answers of the model that follow each other are one.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    messages: Vec<Message>,
    /// The tool of each call.
    names: HashMap<String, String>,
}

impl Conversation {
    pub(super) fn user(&mut self, blocks: Vec<Block>) {
        if !blocks.is_empty() {
            self.messages.push(user(blocks));
        }
    }

    /// Adds blocks to the model's answer.
    pub(super) fn assistant(&mut self, blocks: Vec<Block>) {
        for block in &blocks {
            if let Block::ToolCall(call) = block {
                self.names.insert(call.id.clone(), call.name.clone());
            }
        }
        if let Some(Message::Assistant(last)) = self.messages.last_mut() {
            return last.content.extend(blocks);
        }
        if !blocks.is_empty() {
            self.messages.push(Message::Assistant(AssistantMessage {
                content: blocks,
                ..AssistantMessage::default()
            }));
        }
    }

    /// Fails when there was no such call.
    pub(super) fn result(
        &mut self,
        id: &str,
        content: Vec<Content>,
        is_error: bool,
    ) -> Result<(), UserError> {
        let name =
            self.names.get(id).ok_or_else(|| format!("there is a result of {id:?}, but no such call"))?;
        self.messages.push(Message::ToolResult(ToolResultMessage {
            tool_call_id: id.to_owned(),
            tool_name: name.clone(),
            content,
            is_error,
            details: Details::None,
            timestamp: 0,
            duration_ms: None,
            hooks: Vec::new(),
        }));
        Ok(())
    }

    /// Fails when there are none.
    pub(super) fn into_messages(mut self) -> Result<Vec<Message>, UserError> {
        for message in &mut self.messages {
            if let Message::Assistant(assistant) = message
                && assistant.tool_calls().next().is_some()
            {
                assistant.stop_reason = StopReason::ToolUse;
            }
        }
        match self.messages.is_empty() {
            true => Err("there is no message of a user".into()),
            false => Ok(self.messages),
        }
    }
}

/// A call with its arguments as text; text that is no JSON is kept.
pub(super) fn call(id: &str, name: &str, arguments: &str) -> Block {
    let arguments = match arguments.trim() {
        "" => json!({}),
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    };
    Block::ToolCall(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments, thought_signature: None })
}
