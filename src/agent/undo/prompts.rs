//! The prompts of a session and the rounds of its goal, each of which is a checkpoint.

use crate::session::entry::{Body, Entry};
use crate::session::tree::Tree;
use tau_protocol::goal::ROUND;
use tau_protocol::message::Message;

/// A prompt on the current branch of the conversation, or the beginning of a round of the goal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// Its entry in the session.
    pub entry_id: String,
    pub text: String,
    /// The time it was sent, in milliseconds since 1970.
    pub timestamp: i64,
}

impl Prompt {
    /// The prompt in an entry, if it is one.
    fn of(entry: &Entry) -> Option<Self> {
        let Body::Message { message } = &entry.body else { return None };
        let text = match message.as_ref() {
            Message::User(user) => user.content.text(),
            Message::Custom(custom) if custom.custom_type == ROUND => {
                let text = custom.content.text();
                let end = text.find(". ").unwrap_or(text.len());
                text.get(..end).unwrap_or_default().trim_start_matches("[tau] ").to_owned()
            }
            _ => return None,
        };
        Some(Prompt { entry_id: entry.id.to_string(), text, timestamp: entry.timestamp })
    }
}

/// The prompts on the current branch of the conversation, in order.
pub fn prompts(tree: &Tree) -> Vec<Prompt> {
    tree.branch().into_iter().filter_map(Prompt::of).collect()
}

/// The entry of the last prompt, as far as the session has been read.
pub(crate) fn last_prompt(tree: &Tree) -> Option<String> {
    let mut entry = tree.leaf();
    while let Some(found) = entry {
        if let Some(prompt) = Prompt::of(found) {
            return Some(prompt.entry_id);
        }
        entry = found.parent.as_deref().and_then(|parent| tree.get(parent));
    }
    None
}
