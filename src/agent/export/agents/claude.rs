//! Claude Code: a line per block, each attached to the one before.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Writer, branch_text, parts, time_of};
use tau_protocol::message::{AssistantMessage, Block, Message, StopReason, ToolCall};
use tau_tools::Content;

/// The version that the lines name: its format is the one that is written.
const VERSION: &str = "2.1.197";

pub(super) fn write(writer: &mut Writer<'_>, messages: &[Arc<Message>], name: Option<&str>) {
    let mut lines = Lines { writer, parent: None, time: String::new() };
    for message in messages {
        lines.time = time_of(message);
        lines.message(message);
    }
    if let Some(name) = name {
        let id = writer.id.clone();
        writer.line(&json!({"type": "custom-title", "customTitle": name, "sessionId": id}));
    }
}

struct Lines<'a, 'w> {
    writer: &'a mut Writer<'w>,
    parent: Option<String>,
    time: String,
}

impl Lines<'_, '_> {
    fn message(&mut self, message: &Message) {
        match message {
            Message::User(user) => self.user(contents(&user.content.blocks()), json!({})),
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => {
                let blocks: Vec<Block> = result.content.iter().map(block).collect();
                let result = json!({
                    "tool_use_id": result.tool_call_id,
                    "type": "tool_result",
                    "content": contents(&blocks),
                    "is_error": result.is_error,
                });
                self.user(json!([result]), json!({}));
            }
            Message::BashExecution(run) if run.exclude_from_context => {}
            Message::BashExecution(run) => {
                self.user(format!("<bash-input>{}</bash-input>", run.command).into(), json!({}));
                let output = run.output_with_note();
                let output = format!("<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>");
                self.user(output.into(), json!({}));
            }
            Message::Custom(custom) => {
                self.user(contents(&custom.content.blocks()), json!({"isMeta": !custom.display}));
            }
            Message::BranchSummary(branch) => {
                self.user(branch_text(&branch.summary).into(), json!({"isMeta": true}));
            }
            Message::CompactionSummary(summary) => {
                let before = self.parent.take();
                let fields = json!({
                    "subtype": "compact_boundary",
                    "content": "Conversation compacted",
                    "logicalParentUuid": before,
                    "level": "info",
                    "isMeta": false,
                    "compactMetadata": {"trigger": "auto", "preTokens": summary.tokens_before},
                });
                self.add("system", fields);
                let fields = json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true});
                self.user(summary.summary.as_str().into(), fields);
            }
            Message::Application(_) => self.writer.leave_out("message of an application"),
        }
    }

    fn user(&mut self, content: Value, more: Value) {
        let is_empty = content.as_str().is_some_and(|text| text.trim().is_empty())
            || content.as_array().is_some_and(Vec::is_empty);
        if is_empty {
            return;
        }
        let mut fields = json!({"message": {"role": "user", "content": content}});
        extend(&mut fields, more);
        self.add("user", fields);
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        let mut blocks = Vec::new();
        for block in &answer.content {
            match block {
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    blocks.push(json!({"type": "text", "text": text}));
                }
                Block::ToolCall(call) => blocks.push(tool_use(call)),
                // Only signed thinking is accepted, and a signature is only valid where it was made.
                Block::Thinking { .. } => self.writer.leave_out("thought"),
                Block::Text { .. } | Block::Image { .. } | Block::Unknown(_) => {}
            }
        }
        if blocks.is_empty() && answer.error_message.is_some() {
            return self.writer.leave_out("failed answer");
        }
        let id = format!("msg_{}", tau_tools::ids::id().simple());
        for block in blocks {
            let message = json!({
                "id": id,
                "type": "message",
                "role": "assistant",
                "model": answer.model,
                "content": [block],
                "stop_reason": stop_reason(answer.stop_reason),
                "stop_sequence": null,
                "usage": {
                    "input_tokens": answer.usage.input,
                    "output_tokens": answer.usage.output,
                    "cache_creation_input_tokens": answer.usage.cache_write,
                    "cache_read_input_tokens": answer.usage.cache_read,
                },
            });
            self.add("assistant", json!({ "message": message }));
        }
    }

    fn add(&mut self, kind: &str, fields: Value) {
        let uuid = tau_tools::ids::id().to_string();
        let mut line = json!({
            "parentUuid": self.parent,
            "isSidechain": false,
            "type": kind,
        });
        extend(&mut line, fields);
        extend(
            &mut line,
            json!({
                "uuid": uuid,
                "timestamp": self.time,
                "userType": "external",
                "cwd": self.writer.cwd.to_string_lossy(),
                "sessionId": self.writer.id,
                "version": VERSION,
                "gitBranch": "",
            }),
        );
        self.writer.line(&line);
        self.parent = Some(uuid);
    }
}

fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (value, more) {
        fields.extend(more);
    }
}

fn block(content: &Content) -> Block {
    match content {
        Content::Text { text } => Block::text(text.as_str()),
        Content::Image { data, mime_type } => {
            Block::Image { data: data.clone(), mime_type: mime_type.clone() }
        }
    }
}

/// Content as text, or as blocks if there are pictures.
fn contents(blocks: &[Block]) -> Value {
    let mut parts = parts(
        blocks,
        |text| json!({"type": "text", "text": text}),
        |kind, data| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}),
    );
    match parts.as_mut_slice() {
        [] => Value::from(""),
        [only] if only.get("text").is_some() => only["text"].take(),
        _ => Value::Array(parts),
    }
}

fn stop_reason(reason: StopReason) -> &'static str {
    match reason {
        StopReason::ToolUse => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::Stop | StopReason::Error | StopReason::Aborted | StopReason::Other => "end_turn",
    }
}

/// A call, with Claude Code's names for the tools that both have.
fn tool_use(call: &ToolCall) -> Value {
    let name = match call.name.as_str() {
        "bash" => "Bash",
        "read" => "Read",
        "write" => "Write",
        "edit" => "Edit",
        name => name,
    };
    let mut input = Map::new();
    for (field, value) in call.arguments.as_object().into_iter().flatten() {
        let field = if field == "path" && name != call.name { "file_path" } else { field };
        input.insert(field.to_owned(), value.clone());
    }
    json!({"type": "tool_use", "id": call.id, "name": name, "input": input})
}
