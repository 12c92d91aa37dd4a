//! Converts prompts, the user's commands, summaries and extension data to user messages.

use std::sync::Arc;

use super::UNSEEN;
use tau_protocol::message::{BashExecution, Block, Message, UserContent, UserMessage};
use tau_protocol::model::Model;

/// The user message for `message`; `None` if it is not sent to the model. `shared` is the same message,
/// returned if nothing changes.
pub(super) fn user_message(message: &Message, shared: &Arc<Message>, model: &Model) -> Option<Arc<Message>> {
    let (content, timestamp) = match message {
        Message::User(user) => {
            let blind = matches!(&user.content, UserContent::Blocks(_)) && !model.sees();
            if is_empty(&user.content) {
                return None;
            }
            if !blind && user.attachments.is_empty() {
                return Some(Arc::clone(shared));
            }
            // The model gets only the blocks made from attachments, not the attachments.
            (visible_content(&user.content, model), user.timestamp)
        }
        Message::Custom(custom) => (visible_content(&custom.content, model), custom.timestamp),
        Message::BashExecution(bash) if bash.exclude_from_context => return None,
        Message::BashExecution(bash) => (UserContent::Text(command(bash)), bash.timestamp),
        Message::BranchSummary(branch) => {
            let said = "Another branch of this conversation was tried and left. What happened there:";
            (summary(said, &branch.summary), branch.timestamp)
        }
        Message::CompactionSummary(compaction) => {
            let said = "The earlier part of this conversation was replaced by this summary:";
            (summary(said, &compaction.summary), compaction.timestamp)
        }
        Message::Assistant(_) | Message::ToolResult(_) | Message::Application(_) => return None,
    };
    (!is_empty(&content))
        .then(|| Arc::new(Message::User(UserMessage { timestamp, ..UserMessage::new(content) })))
}

fn is_empty(content: &UserContent) -> bool {
    let blank = |block: &Block| match block {
        Block::Text { text, .. } => text.trim().is_empty(),
        Block::Image { .. } => false,
        _ => true,
    };
    match content {
        UserContent::Text(text) => text.trim().is_empty(),
        UserContent::Blocks(blocks) => blocks.iter().all(blank),
    }
}

/// Content with notes replacing pictures that the model cannot see.
fn visible_content(content: &UserContent, model: &Model) -> UserContent {
    let UserContent::Blocks(blocks) = content else { return content.clone() };
    if model.sees() {
        return content.clone();
    }
    let shown = blocks.iter().map(|block| match block {
        Block::Image { .. } => Block::text(UNSEEN),
        other => other.clone(),
    });
    UserContent::Blocks(shown.collect())
}

fn summary(said: &str, text: &str) -> UserContent {
    UserContent::Text(format!("{said}\n\n<summary>\n{}\n</summary>", text.trim()))
}

/// A command that the user ran, with its output in a fence.
fn command(bash: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", bash.command);
    let output = bash.output.trim_end_matches('\n');
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.push_str(&format!("```\n{output}\n```"));
    }
    match bash.exit_code {
        _ if bash.cancelled => text.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nCommand exited with code {code}")),
        _ => {}
    }
    if let Some(note) = bash.sandbox_note() {
        text.push_str(&format!("\n\n{note}"));
    }
    if bash.truncated {
        match &bash.full_output_path {
            Some(path) => text.push_str(&format!("\n\n[Output truncated. Full output: {path}]")),
            None => text.push_str("\n\n[Output truncated.]"),
        }
    }
    text
}
