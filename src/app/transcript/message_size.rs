//! Estimates the memory of a message. Only the length of its texts is counted, as a history page is measured
//! while the user waits for it.

use serde_json::Value;

use tau_protocol::attachment::Attachment;
use tau_protocol::message::{AssistantMessage, Block, Message, ToolResultMessage, UserContent};
use tau_tools::details::{Content, Details};

/// Size of a message besides its texts, in bytes.
const MESSAGE: usize = 256;
/// Size of a part of a message besides its texts, in bytes.
const PART: usize = 64;

/// The approximate size of a message in bytes; not less than its texts.
pub fn message_size(message: &Message) -> usize {
    MESSAGE
        + match message {
            Message::User(user) => {
                content(&user.content) + user.attachments.iter().map(attachment).sum::<usize>()
            }
            Message::Assistant(answer) => of_answer(answer),
            Message::ToolResult(result) => of_result(result),
            Message::BashExecution(run) => {
                run.command.len() + run.output.len() + optional(run.full_output_path.as_ref())
            }
            Message::Custom(custom) => {
                custom.custom_type.len()
                    + content(&custom.content)
                    + custom.details.as_ref().map_or(0, value_size)
            }
            Message::Application(own) => {
                own.role().len() + own.fields.values().map(value_size).sum::<usize>()
            }
            Message::BranchSummary(branch) => branch.summary.len() + branch.from_id.len(),
            Message::CompactionSummary(summary) => summary.summary.len(),
        }
}

fn of_answer(answer: &AssistantMessage) -> usize {
    let names = answer.provider.len() + answer.model.len();
    let rest = optional(answer.error_message.as_ref()) + optional(answer.response_id.as_ref());
    names + rest + answer.content.iter().map(block).sum::<usize>()
}

fn of_result(result: &ToolResultMessage) -> usize {
    let part = |part: &Content| match part {
        Content::Text { text } => PART + text.len(),
        Content::Image { data, mime_type } => PART + data.len() + mime_type.len(),
    };
    let names = result.tool_call_id.len() + result.tool_name.len();
    names + result.content.iter().map(part).sum::<usize>() + of_details(&result.details)
}

fn of_details(details: &Details) -> usize {
    let lines = |lines: &[String]| lines.iter().map(|line| PART + line.len()).sum::<usize>();
    match details {
        Details::None => 0,
        Details::Text { text } => text.len(),
        Details::Lines(facts) => facts.file_path.len(),
        Details::Diff(diff) => {
            let facts = diff.facts.as_ref().map_or(0, |facts| facts.size());
            facts + diff.path.len() + diff.hunks.iter().map(|hunk| lines(&hunk.lines)).sum::<usize>()
        }
        Details::Terminal(output) => {
            let texts = [&output.full_output_path, &output.edited, &output.command];
            output.text.len() + texts.into_iter().map(|text| optional(text.as_ref())).sum::<usize>()
        }
        Details::Paths { paths, .. } => lines(paths),
        Details::Image { mime_type, .. } => mime_type.len(),
        Details::Helper(report) => {
            report.answer.len() + report.doing.len() + report.name.len() + lines(&report.steps)
        }
    }
}

fn attachment(file: &Attachment) -> usize {
    let more = optional(file.extracted_text.as_ref()) + optional(file.preview.as_ref());
    PART + file.content.len() + file.file_name.len() + file.mime_type.len() + more
}

fn content(content: &UserContent) -> usize {
    match content {
        UserContent::Text(text) => text.len(),
        UserContent::Blocks(blocks) => blocks.iter().map(block).sum(),
    }
}

fn block(block: &Block) -> usize {
    PART + match block {
        Block::Text { text, text_signature } => text.len() + optional(text_signature.as_ref()),
        Block::Thinking { thinking, thinking_signature, .. } => {
            thinking.len() + optional(thinking_signature.as_ref())
        }
        Block::Image { data, mime_type } => data.len() + mime_type.len(),
        Block::ToolCall(call) => {
            let names = call.id.len() + call.name.len() + optional(call.thought_signature.as_ref());
            names + value_size(&call.arguments)
        }
        Block::Unknown(unknown) => value_size(unknown),
    }
}

/// The approximate size of JSON in bytes; not less than its texts.
pub fn value_size(json: &Value) -> usize {
    PART + match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(value_size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + value_size(field)).sum(),
    }
}

fn optional(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_of_a_message_is_counted() {
        let text = "x".repeat(10_000);
        let blocks = json!([
            {"type": "text", "text": text},
            {"type": "thinking", "thinking": text, "thinkingSignature": text},
            {"type": "toolCall", "id": "c", "name": "write", "arguments": {"path": "a", "content": [text]}},
            {"type": "another", "data": text},
        ]);
        let result = |details: Value| {
            json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": false,
                "content": [{"type": "text", "text": text}], "details": details})
        };
        let diff = json!({"kind": "diff", "path": "a", "added": 1, "removed": 1,
            "hunks": [{"oldStart": 1, "newStart": 1, "lines": [text, text]}]});
        let messages = [
            json!({"role": "user", "content": text}),
            json!({"role": "user", "content": [{"type": "image", "data": text, "mimeType": "image/png"}]}),
            json!({"role": "assistant", "content": blocks, "api": "openai-completions", "provider": "p",
                "model": "m", "stopReason": "stop", "errorMessage": text}),
            result(json!({"kind": "terminal", "text": text})),
            result(json!({"kind": "paths", "paths": [text], "cut": false})),
            result(diff),
            json!({"role": "bashExecution", "command": text, "output": text}),
            json!({"role": "custom", "customType": "c", "content": text, "details": {"a": text}}),
            json!({"role": "branchSummary", "summary": text, "fromId": "e"}),
            json!({"role": "compactionSummary", "summary": text, "tokensBefore": 5}),
        ];
        for message in messages {
            let written = message.to_string();
            let message: Message = serde_json::from_value(message).unwrap();
            let texts = written.matches(&text).count() * text.len();
            let size = message_size(&message);
            assert!((texts..texts + 2_000).contains(&size), "{size} for {texts} in {written:.300}");
        }
    }
}
