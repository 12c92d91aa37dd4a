//! How large a context is, in tokens: what the provider counted, plus an estimate of what came
//! after.
//!
//! Pure. The estimate is four ASCII characters a token and one token for any other character;
//! recorded answers lie between half and twice of it. Pictures count as a large one does.

use std::sync::Arc;

use crate::session::entry::{Body, Entry};
use crate::session::tree::Tree;
use tau_protocol::message::{Block, Message, StopReason, Usage, UserContent};
use tau_tools::Content;

/// What a picture counts, in tokens.
const PICTURE: u64 = 1_500;
/// What a message counts in addition to its content.
const FRAME: u64 = 4;

/// Tokens of a text, estimated.
pub fn of_text(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count().saturating_sub(ascii);
    (ascii.div_ceil(4) + others) as u64
}

/// Tokens of a message, estimated; 0 for one that the model does not get.
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

/// Tokens of messages, estimated.
pub fn of_messages<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> u64 {
    messages.into_iter().map(|message| of_message(message)).sum()
}

/// Tokens of the context at the leaf: the usage of the last answer and an estimate of what
/// followed it. Where nothing was counted since the last compaction or edit, all is estimated;
/// `fixed` is then what comes with the messages (prompt and tools).
pub(crate) fn of_context(tree: &Tree, fixed: u64) -> u64 {
    let path = tree.branch();
    let counted = path.iter().enumerate().rev().find_map(|(at, entry)| Some((at, used(entry)?)));
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
        _ => fixed + of_messages(&tree.context().messages),
    }
}

/// Whether nothing was counted since the last compaction, so that the size is a guess.
pub(crate) fn is_stale(tree: &Tree) -> bool {
    let path = tree.branch();
    let counted = path.iter().rposition(|entry| used(entry).is_some());
    let compacted = path.iter().rposition(|entry| matches!(entry.body, Body::Compaction { .. }));
    compacted.is_some_and(|compacted| counted.is_none_or(|counted| counted < compacted))
}

/// What the provider counted for an answer; `None` where it did not count or did not finish.
fn used(entry: &Entry) -> Option<u64> {
    let Body::Message { message } = &entry.body else { return None };
    let Message::Assistant(answer) = message.as_ref() else { return None };
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return None;
    }
    Some(total(&answer.usage)).filter(|used| *used > 0)
}

/// All tokens of a usage.
pub fn total(usage: &Usage) -> u64 {
    let parts = [usage.output, usage.cache_read, usage.cache_write];
    parts.iter().fold(usage.input, |sum, part| sum.saturating_add(*part))
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
