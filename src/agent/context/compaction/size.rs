//! Measures a context in tokens: the provider's count, plus an estimate for later messages.
//!
//! Pure. The estimate is four ASCII characters per token and one token for any other character; recorded
//! answers lie between half and twice of it. Every picture counts as a large one.

use std::sync::Arc;

use crate::session::entry::{Body, Entry};
use crate::session::tree::Tree;
use tau_protocol::message::{Block, Message, UserContent};
use tau_tools::Content;

/// Tokens per picture.
const PICTURE: u64 = 1_500;
/// Tokens per message in addition to its content.
const FRAME: u64 = 4;

/// Estimated tokens of a text.
pub fn of_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count().saturating_sub(ascii);
    (ascii.div_ceil(4) + others) as u64
}

/// Estimated tokens of a message; 0 for one that is not sent to the model.
pub(crate) fn of_message(message: &Message) -> u64 {
    let content = match message {
        Message::User(user) => of_content(&user.content),
        Message::Custom(custom) => of_content(&custom.content),
        Message::Assistant(answer) => answer.content.iter().map(of_block).sum(),
        Message::ToolResult(result) => result.content.iter().map(of_result).sum(),
        Message::BashExecution(run) if run.exclude_from_context => return 0,
        Message::Application(_) => return 0,
        Message::BashExecution(run) => of_text(&run.command) + of_text(&run.output),
        Message::BranchSummary(branch) => of_text(&branch.summary),
        Message::CompactionSummary(summary) => of_text(&summary.summary),
    };
    content + FRAME
}

/// Estimated tokens of messages.
pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> u64 {
    messages.into_iter().map(|message| of_message(message)).sum()
}

/// Tokens of the context at the leaf: the usage of the last answer and an estimate of everything after it. If
/// nothing was counted since the last compaction or edit, all of it is estimated; `fixed` is then the size of
/// the rest of the request (prompt and tools).
pub(crate) fn of_context(tree: &Tree, fixed: impl FnOnce() -> u64) -> u64 {
    let path = tree.branch();
    let counted = path.iter().enumerate().rev().find_map(|(at, entry)| Some((at, context_tokens(entry)?)));
    let changed = path.iter().rposition(|entry| {
        matches!(entry.body, Body::Compaction { .. } | Body::ContextEdit { .. } | Body::BranchSummary { .. })
    });
    match counted {
        Some((at, used)) if changed.is_none_or(|changed| changed < at) => {
            let after = path.iter().skip(at + 1).filter_map(|entry| match &entry.body {
                Body::Message { message } => Some(of_message(message)),
                Body::CustomMessage { content, .. } => Some(of_content(content) + FRAME),
                _ => None,
            });
            used + after.sum::<u64>()
        }
        _ => fixed() + of_messages(&tree.context().messages),
    }
}

/// Whether nothing was counted since the last compaction, so that the size is a guess.
pub(crate) fn is_stale(tree: &Tree) -> bool {
    let path = tree.branch();
    let counted = path.iter().rposition(|entry| context_tokens(entry).is_some());
    let compacted = path.iter().rposition(|entry| matches!(entry.body, Body::Compaction { .. }));
    compacted.is_some_and(|compacted| counted.is_none_or(|counted| counted < compacted))
}

/// The provider's count for an answer; `None` if it did not count or did not finish.
fn context_tokens(entry: &Entry) -> Option<u64> {
    let Body::Message { message } = &entry.body else { return None };
    let Message::Assistant(answer) = message.as_ref() else { return None };
    answer.context()
}

fn of_content(content: &UserContent) -> u64 {
    match content {
        UserContent::Text(text) => of_text(text),
        UserContent::Blocks(blocks) => blocks.iter().map(of_block).sum(),
    }
}

fn of_block(block: &Block) -> u64 {
    match block {
        Block::Text { text, .. } => of_text(text),
        Block::Thinking { thinking, .. } => of_text(thinking),
        Block::Image { .. } => PICTURE,
        Block::ToolCall(call) => of_text(&call.name) + of_text(&call.arguments.to_string()),
        Block::Unknown(_) => 0,
    }
}

fn of_result(content: &Content) -> u64 {
    match content {
        Content::Text { text } => of_text(text),
        Content::Image { .. } => PICTURE,
    }
}
