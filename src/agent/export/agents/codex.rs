//! Codex: a list of items for the model, and of events for the screen.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Writer, branch_text, parts, time_of};
use crate::session::entry::iso;
use tau_protocol::message::{AssistantMessage, Block, Message, ToolCall, ToolResultMessage};
use tau_tools::Content;

pub(super) fn write(writer: &mut Writer<'_>, messages: &[Arc<Message>], created: i64) {
    let time = iso(created);
    let meta = json!({
        "id": writer.id,
        "timestamp": time,
        "cwd": writer.cwd.to_string_lossy(),
        "originator": "codex_cli_rs",
        "cli_version": "0.0.0",
        "source": "cli",
    });
    let mut lines = Lines { writer, time, model: String::new() };
    lines.add("session_meta", meta);
    for message in messages {
        lines.time = time_of(message);
        lines.message(message);
    }
}

struct Lines<'a, 'w> {
    writer: &'a mut Writer<'w>,
    time: String,
    /// The model that answered last.
    model: String,
}

impl Lines<'_, '_> {
    fn message(&mut self, message: &Message) {
        match message {
            Message::User(user) => self.user(&user.content.blocks()),
            Message::Assistant(answer) => self.answer(answer),
            Message::ToolResult(result) => self.result(result),
            Message::BashExecution(run) if run.exclude_from_context => {}
            Message::BashExecution(run) => {
                let (command, output) = (&run.command, run.output_with_note());
                let text = format!("I ran this command:\n\n{command}\n\nIts output:\n\n{output}");
                self.user(&[Block::text(text)]);
            }
            Message::Custom(custom) if !custom.display => self.context(&custom.content.blocks()),
            Message::Custom(custom) => self.item_of("user", "input_text", &custom.content.blocks()),
            Message::BranchSummary(branch) => self.context(&[Block::text(branch_text(&branch.summary))]),
            Message::CompactionSummary(summary) => self.add("compacted", json!({"message": summary.summary})),
            Message::Application(_) => self.writer.leave_out("message of an application"),
        }
    }

    fn user(&mut self, blocks: &[Block]) {
        self.item_of("user", "input_text", blocks);
        let text: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
        // Lists show sessions with such an event only.
        self.event(json!({"type": "user_message", "message": text.join("\n"), "kind": "plain"}));
    }

    /// Adds a message for the model, as Codex adds its own: no prompt, and not shown.
    fn context(&mut self, blocks: &[Block]) {
        let as_context = |block: &Block| match block.as_text() {
            Some(text) if !text.trim().is_empty() => Block::text(format!(
                "<codex_internal_context source=\"tau\">\n{text}\n</codex_internal_context>"
            )),
            _ => block.clone(),
        };
        self.item_of("user", "input_text", &blocks.iter().map(as_context).collect::<Vec<_>>());
    }

    fn answer(&mut self, answer: &AssistantMessage) {
        if answer.model != self.model {
            answer.model.clone_into(&mut self.model);
            let context = json!({
                "cwd": self.writer.cwd.to_string_lossy(),
                "approval_policy": "on-request",
                "sandbox_policy": {"type": "read-only"},
                "model": answer.model,
                "summary": "auto",
            });
            self.add("turn_context", context);
        }
        for block in &answer.content {
            match block {
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    self.item_of("assistant", "output_text", std::slice::from_ref(block));
                    self.event(json!({"type": "agent_message", "message": text}));
                }
                // The model accepts only its own encrypted thinking; the screen shows this.
                Block::Thinking { thinking, .. } => {
                    self.writer.leave_out("thought");
                    if !thinking.trim().is_empty() {
                        self.event(json!({"type": "agent_reasoning", "text": thinking}));
                    }
                }
                Block::ToolCall(call) => self.call(call),
                Block::Text { .. } | Block::Image { .. } | Block::Unknown(_) => {}
            }
        }
        if answer.content.is_empty() && answer.error_message.is_some() {
            self.writer.leave_out("failed answer");
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let command = call.arguments.get("command").and_then(Value::as_str).filter(|_| call.name == "bash");
        let (name, arguments) = match command {
            Some(command) => ("shell", json!({"command": ["bash", "-lc", command]})),
            None => (call.name.as_str(), call.arguments.clone()),
        };
        let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        self.item(json!({
            "type": "function_call",
            "name": name,
            "arguments": arguments,
            "call_id": call.id,
        }));
    }

    fn result(&mut self, result: &ToolResultMessage) {
        let has_pictures = result.content.iter().any(|part| matches!(part, Content::Image { .. }));
        let texts = result.content.iter().filter_map(|part| match part {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } => None,
        });
        let output = match has_pictures {
            false => Value::from(texts.collect::<Vec<_>>().join("\n")),
            true => result.content.iter().map(part).collect(),
        };
        let id = &result.tool_call_id;
        self.item(json!({"type": "function_call_output", "call_id": id, "output": output}));
    }

    /// Adds a message of text and pictures.
    fn item_of(&mut self, role: &str, kind: &str, blocks: &[Block]) {
        let content = parts(
            blocks,
            |text| json!({"type": kind, "text": text}),
            |mime, data| json!({"type": "input_image", "image_url": format!("data:{mime};base64,{data}")}),
        );
        if !content.is_empty() {
            self.item(json!({"type": "message", "role": role, "content": content}));
        }
    }

    fn item(&mut self, item: Value) {
        self.add("response_item", item);
    }

    fn event(&mut self, event: Value) {
        self.add("event_msg", event);
    }

    fn add(&mut self, kind: &str, payload: Value) {
        self.writer.line(&json!({"timestamp": self.time, "type": kind, "payload": payload}));
    }
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text { text } => json!({"type": "input_text", "text": text}),
        Content::Image { data, mime_type } => {
            json!({"type": "input_image", "image_url": format!("data:{mime_type};base64,{data}")})
        }
    }
}
