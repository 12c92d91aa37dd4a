//! A conversation as text, for the model that summarizes it.
//!
//! Pure. It is text and not a list of messages, so that the model reads it instead of continuing it, and so
//! that no wire format can refuse it. Long results are cut to their two ends.

use std::sync::Arc;

use super::size;
use tau_protocol::message::{AssistantMessage, Block, Message};
use tau_tools::Content;

/// The messages as text of at most `cap` tokens. Texts of user and model are kept complete if possible;
/// results and arguments are cut to `result` bytes.
pub fn text(messages: &[Arc<Message>], result: usize, cap: u64) -> String {
    let parts: Vec<String> = messages.iter().map(|message| part(message, result)).collect();
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let whole = parts.join("\n\n");
    let tokens = size::of_text(&whole);
    if tokens <= cap {
        return whole;
    }
    // Bytes per token vary with the language, so the ratio is used.
    let share = whole.len() as u128 * u128::from(cap) / u128::from(tokens.max(1));
    ends(&whole, usize::try_from(share).unwrap_or(usize::MAX))
}

/// `text` cut to about `bytes`: its beginning, a note, its end.
pub fn ends(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = floor(text, bytes / 3);
    let tail = floor(text, text.len().saturating_sub(bytes - bytes / 3));
    let (start, end) = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{start}\n[… {} bytes left out …]\n{end}", tail.saturating_sub(head))
}

/// The nearest place at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn part(message: &Message, result: usize) -> String {
    match message {
        Message::User(user) => format_section("user", &user.content.text()),
        Message::Custom(custom) => format_section("note", &custom.content.text()),
        Message::Assistant(answer) => assistant(answer, result),
        Message::ToolResult(answer) => {
            let text = ends(&content_text(&answer.content), result);
            let failed = if answer.is_error { ", which failed" } else { "" };
            format_section(&format!("result of {}{failed}", answer.tool_name), &text)
        }
        Message::BashExecution(run) if run.exclude_from_context => String::new(),
        Message::Application(_) => String::new(),
        Message::BashExecution(run) => format_section(
            "command by the user",
            &format!("$ {}\n{}", run.command, ends(&run.output_with_note(), result)),
        ),
        Message::BranchSummary(branch) => {
            format_section("summary of a branch that was left", &branch.summary)
        }
        Message::CompactionSummary(summary) => format_section("earlier summary", &summary.summary),
    }
}

fn assistant(answer: &AssistantMessage, result: usize) -> String {
    let parts = answer.content.iter().map(|block| match block {
        Block::Text { text, .. } => format_section("assistant", text),
        Block::Thinking { thinking, .. } => format_section("assistant, thinking", &ends(thinking, result)),
        Block::ToolCall(call) => {
            let arguments = ends(&call.arguments.to_string(), result);
            format_section("assistant, calling", &format!("{} {arguments}", call.name))
        }
        Block::Image { .. } | Block::Unknown(_) => String::new(),
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn content_text(content: &[Content]) -> String {
    let texts = content.iter().map(|part| match part {
        Content::Text { text } => text.as_str(),
        Content::Image { .. } => "[a picture]",
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn format_section(who: &str, text: &str) -> String {
    match text.trim() {
        "" => String::new(),
        text => format!("[{who}]\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_cut_and_the_whole_is_bounded() {
        let result = "0123456789".repeat(100);
        let messages: Vec<Arc<Message>> = [
            json!({"role": "user", "content": "make it so"}),
            json!({"role": "assistant", "api": "x", "provider": "", "model": "", "stopReason": "toolUse",
                "content": [{"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a"}}]}),
            json!({"role": "toolResult", "toolCallId": "1", "toolName": "read",
                "content": [{"type": "text", "text": result}], "isError": true}),
        ]
        .map(|value| Arc::new(serde_json::from_value(value).unwrap()))
        .into();
        let whole = text(&messages, 60, u64::MAX);
        let expected = "[user]\nmake it so\n\n[assistant, calling]\nread {\"path\":\"a\"}\n\n\
                        [result of read, which failed]\n01234567890123456789\n[… 940 bytes left out …]\n\
                        0123456789012345678901234567890123456789";
        assert_eq!(whole, expected);
        let short = text(&messages, 1_000, 100);
        assert!(size::of_text(&short) <= 120 && short.starts_with("[user]"), "{short}");
    }

    #[test]
    fn cutting_respects_characters() {
        for bytes in 0..30 {
            let cut = ends("ääääääääää", bytes);
            assert!(cut.chars().all(|c| "ä[…] 0123456789bytesleftou\n".contains(c)), "{cut}");
        }
        assert_eq!(ends("short", 5), "short");
    }
}
