//! Plans an attempt at a compaction: its request, and the summary made from the answer.
//!
//! Pure: from the session's tree to a request text, and from the model's answer to the stored summary.
//! `cut_point` decides where to cut.

use std::sync::Arc;

use serde_json::Value;

use super::cut_point::{ContextItem, Keep};
use super::file_ops::{FileOps, without_lists};
use super::{cut_point, size, transcript};
use crate::session::entry::Body;
use crate::session::tree::Tree;
use tau_protocol::message::{Message, UserContent};

/// The task for the model.
const TASK: &str = include_str!("task.md");
/// The instructions for carrying over the previous summary.
const CARRY: &str = include_str!("carry.md");
/// The maximum bytes of a result in the text to summarize, on the first and the second try.
const RESULT_BYTES: [usize; 2] = [4_000, 800];

/// The limits of an attempt.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    pub keep: Keep,
    /// The maximum tokens of the conversation that the model is shown.
    pub shown: u64,
    /// The maximum tokens of the last user message that are kept verbatim.
    pub verbatim: u64,
    /// Whether this is the second try, which shows less.
    pub again: bool,
}

/// A planned attempt.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The first entry that stays; `None` when nothing stays.
    pub first_kept: Option<Arc<str>>,
    /// Estimated tokens of the part that stays.
    pub kept: u64,
    /// Files of the part that is summarized.
    pub touched: FileOps,
    /// The last user message, if it is not in the part that stays.
    last_said: Option<String>,
    /// The request to the model.
    pub request: String,
}

/// Plans an attempt; `None` when there is nothing to summarize.
pub fn plan(tree: &Tree, effort: Attempt, instructions: Option<&str>) -> Option<Plan> {
    let all = tree.context_items();
    let (earlier, items) = split_summary(&all);
    let at = cut_point::place(items, effort.keep)?;
    let (going, staying) = items.split_at_checked(at)?;
    let going: Vec<Arc<Message>> = going.iter().map(|(_, message)| message.clone()).collect();
    let mut touched = FileOps::of_details(details(tree, earlier));
    touched.note(&going);
    let verbatim = usize::try_from(effort.verbatim.saturating_mul(4)).unwrap_or(usize::MAX);
    let last_said = if staying.iter().any(|(_, message)| is_said(message)) {
        None
    } else {
        last_user_content(tree, &going).map(|content| transcript::ends(&text_of(&content), verbatim))
    };
    let result_bytes = RESULT_BYTES[usize::from(effort.again)];
    let shown = transcript::text(&going, result_bytes, effort.shown);
    let request = request(&shown, earlier.map(|(_, message)| message.as_ref()), instructions);
    let first_kept = staying.first().map(|(id, _)| id.clone());
    let kept = staying.iter().map(|(_, message)| size::of_message(message)).sum();
    Some(Plan { first_kept, kept, touched, last_said, request })
}

/// Whether the context still holds a user message verbatim. If not, the last one is searched for further up
/// in the tree.
pub(crate) fn has_user_message(tree: &Tree) -> bool {
    tree.context_items().iter().any(|(_, message)| is_said(message))
}

fn is_said(message: &Message) -> bool {
    matches!(message, Message::User(_))
}

/// The last user message. A run that is summarized for the second time began before the first summary, so its
/// message may be older than the context.
fn last_user_content(tree: &Tree, going: &[Arc<Message>]) -> Option<UserContent> {
    let content = |message: &Message| match message {
        Message::User(user) => Some(user.content.clone()),
        _ => None,
    };
    let above = || {
        tree.branch().into_iter().rev().find_map(|entry| match &entry.body {
            Body::Message { message } => content(message),
            _ => None,
        })
    };
    going.iter().rev().find_map(|message| content(message)).or_else(above)
}

impl Plan {
    /// The summary as it is stored: the model's text, the last user message, the files.
    pub fn summary(&self, answer: &str) -> String {
        let mut summary = answer.trim().to_owned();
        if let Some(said) = &self.last_said {
            summary.push_str("\n\n## Last user message, verbatim\n");
            summary.push_str(said);
        }
        summary + &self.touched.text()
    }
}

/// The earlier summary and the items after it.
fn split_summary(items: &[ContextItem]) -> (Option<&ContextItem>, &[ContextItem]) {
    match items.split_first() {
        Some((first, rest)) if matches!(*first.1, Message::CompactionSummary(_)) => (Some(first), rest),
        _ => (None, items),
    }
}

fn details<'a>(tree: &'a Tree, earlier: Option<&ContextItem>) -> Option<&'a Value> {
    match &tree.get(&earlier?.0)?.body {
        Body::Compaction { details, .. } => details.as_ref(),
        _ => None,
    }
}

/// The text of a message. A picture cannot be kept as text, so a note stands for it.
fn text_of(content: &UserContent) -> String {
    let text = content.text();
    let UserContent::Blocks(blocks) = content else { return text };
    let pictures = blocks.iter().filter(|block| block.as_text().is_none()).count();
    if pictures == 0 { text } else { format!("{text}\n[with {pictures} images]") }
}

fn request(shown: &str, earlier: Option<&Message>, instructions: Option<&str>) -> String {
    let mut text = String::new();
    let mut task = TASK.trim_end().to_owned();
    if let Some(Message::CompactionSummary(earlier)) = earlier {
        let summary = without_lists(&earlier.summary);
        text.push_str(&format!("<earlier-summary>\n{summary}\n</earlier-summary>\n\n"));
        task = format!("{}\n\n{task}", CARRY.trim_end());
    }
    text.push_str(&format!("<conversation>\n{shown}\n</conversation>\n\n{task}"));
    if let Some(wish) = instructions.map(str::trim).filter(|wish| !wish.is_empty()) {
        text.push_str(&format!("\n\nThe user's instructions for this summary: {wish}"));
    }
    text
}
