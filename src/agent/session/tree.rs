//! The tree of a session's entries, and the context as a fold over the path from root to leaf.
//!
//! Pure: no files, no clock. Only [`super::Session`] adds to it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use super::SessionContext;
use super::entry::{Body, ContextReplacement, Entry, random_id};
use tau_protocol::message::{Block, BranchSummary, CompactionSummary, CustomMessage, Message};
use tau_protocol::model::ThinkingLevel;

/// The entries of a session, and the current one.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    /// The index of each entry by id; for duplicate ids, of the later one.
    by_id: HashMap<Arc<str>, usize>,
    /// Whether there are duplicate ids, which only occur in damaged files.
    has_twins: bool,
    leaf: Option<usize>,
    name: Option<String>,
    labels: BTreeMap<String, String>,
    /// Model and level before any entry sets them; from the header of old files.
    initial_model: Option<(String, String)>,
    initial_thinking: Option<ThinkingLevel>,
    /// The cached context at the leaf, which is needed several times in each turn.
    context: OnceLock<SessionContext>,
}

impl Tree {
    /// Sets the model and the level that apply before any entry sets others.
    pub(crate) fn begin_with(&mut self, model: Option<(String, String)>, thinking: Option<ThinkingLevel>) {
        self.initial_model = model;
        self.initial_thinking = thinking;
        self.context.take();
    }

    /// The model and the level of [`Self::begin_with`].
    pub(crate) fn initial(&self) -> (Option<(String, String)>, Option<ThinkingLevel>) {
        (self.initial_model.clone(), self.initial_thinking)
    }

    /// Adds an entry and makes it the leaf.
    pub fn push(&mut self, entry: Entry) {
        let context = self.context.take().and_then(|context| self.extend_context(context, &entry));
        self.leaf = Some(self.entries.len());
        self.insert(entry);
        if let Some(context) = context {
            self.context = OnceLock::from(context);
        }
    }

    /// The context with another entry at its end; `None` if it has to be determined again.
    fn extend_context(&self, mut context: SessionContext, entry: &Entry) -> Option<SessionContext> {
        let is_next = !self.has_twins && !self.by_id.contains_key(&entry.id) && entry.parent.is_some();
        if !is_next || entry.parent != self.leaf().map(|leaf| Arc::clone(&leaf.id)) {
            return None;
        }
        let Body::Message { message } = &entry.body else { return None };
        if let Message::Assistant(answer) = message.as_ref()
            && !answer.model.is_empty()
        {
            context.model = Some((answer.provider.clone(), answer.model.clone()));
        }
        context.messages.push(Arc::clone(message));
        Some(context)
    }

    /// Adds an entry of another program: the leaf does not move.
    pub fn insert(&mut self, entry: Entry) {
        self.context.take();
        match &entry.body {
            Body::SessionInfo { name } => self.name = Some(name.clone()).filter(|name| !name.is_empty()),
            Body::Label { target_id, label } => match label.as_ref().filter(|label| !label.is_empty()) {
                Some(label) => drop(self.labels.insert(target_id.clone(), label.clone())),
                None => drop(self.labels.remove(target_id)),
            },
            _ => {}
        }
        let twin = self.by_id.insert(Arc::clone(&entry.id), self.entries.len());
        self.has_twins |= twin.is_some();
        self.entries.push(entry);
    }

    /// Adds entries that precede all others in the file. The leaf stays the same entry.
    pub(crate) fn put_before(&mut self, mut entries: Vec<Entry>) {
        let leaf = self.leaf.map(|leaf| leaf.saturating_add(entries.len()));
        entries.append(&mut self.entries);
        // Of two that name or label the same the later counts, so all are processed again in order.
        self.by_id.clear();
        self.labels.clear();
        self.name = None;
        entries.into_iter().for_each(|entry| self.insert(entry));
        self.leaf = leaf;
        self.context.take();
    }

    /// A new entry below the leaf, which is not part of the tree until it is pushed.
    pub(crate) fn grow(&self, timestamp: i64, body: Body) -> Entry {
        let parent = self.leaf().map(|leaf| Arc::clone(&leaf.id));
        Entry { id: self.free_id(), parent, timestamp, body, raw: None }
    }

    /// All entries, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry with that id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.by_id.get(id)?)
    }

    /// The current entry: where the conversation continues.
    pub fn leaf(&self) -> Option<&Entry> {
        self.entries.get(self.leaf?)
    }

    /// Continues from the entry with that id, or from before the first. Returns false if no entry has that
    /// id.
    pub(crate) fn move_leaf(&mut self, id: Option<&str>) -> bool {
        self.context.take();
        match id.map(|id| self.by_id.get(id)) {
            None => self.leaf = None,
            Some(Some(index)) => self.leaf = Some(*index),
            Some(None) => return false,
        }
        true
    }

    /// The session's name: the last one in the file.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The label of an entry.
    pub fn label(&self, id: &str) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    /// The path from the root to the leaf. A missing parent makes a root, a cycle ends the path.
    pub fn branch(&self) -> Vec<&Entry> {
        self.path(self.leaf)
    }

    /// The path from the root to the entry with that id; `None` if there is no such entry.
    pub(crate) fn branch_to(&self, id: &str) -> Option<Vec<&Entry>> {
        self.by_id.get(id).map(|index| self.path(Some(*index)))
    }

    fn path(&self, leaf: Option<usize>) -> Vec<&Entry> {
        let mut path = Vec::new();
        let mut next = leaf;
        let mut seen = vec![false; self.entries.len()];
        while let Some(index) = next {
            let (Some(entry), Some(seen)) = (self.entries.get(index), seen.get_mut(index)) else { break };
            if std::mem::replace(seen, true) {
                break;
            }
            path.push(entry);
            next = entry.parent.as_ref().and_then(|id| self.parent_of(index, id));
        }
        path.reverse();
        path
    }

    /// The index of the parent of the entry at `index`. It is nearly always the previous entry: paths have as
    /// many steps as the session has entries, and are needed in each turn.
    fn parent_of(&self, index: usize, id: &Arc<str>) -> Option<usize> {
        let before = index.checked_sub(1).filter(|_| !self.has_twins);
        match before.filter(|before| self.entries.get(*before).is_some_and(|entry| entry.id == *id)) {
            Some(before) => Some(before),
            None => self.by_id.get(id).copied(),
        }
    }

    /// The model's context at the leaf: section 5 of the session format.
    pub fn context(&self) -> SessionContext {
        let context = self.context.get_or_init(|| {
            let path = self.branch();
            let messages = items(&path).map(|(_, message)| message).collect();
            SessionContext { messages, model: self.model_on(&path), thinking: self.thinking_on(&path) }
        });
        context.clone()
    }

    /// Provider and id of the model last used on the path to the leaf.
    pub fn model(&self) -> Option<(String, String)> {
        self.model_on(&self.branch())
    }

    /// The thinking level last set on the path to the leaf.
    pub fn thinking(&self) -> Option<ThinkingLevel> {
        self.thinking_on(&self.branch())
    }

    /// The messages of the context, each with the id of its entry. After a compaction its summary comes
    /// first.
    pub(crate) fn context_items(&self) -> Vec<(Arc<str>, Arc<Message>)> {
        items(&self.branch()).collect()
    }

    /// The first entry on the path to the leaf that is part of the context: everything before it is not sent
    /// to the model.
    pub(crate) fn context_start(&self) -> Option<&Entry> {
        let path = self.branch();
        let selection = select(&path);
        // A compaction comes before the entries it kept, which precede it on the path.
        let first = |entry: &&Entry| selection.iter().take(2).any(|one| std::ptr::eq(*one, *entry));
        path.into_iter().find(first)
    }

    /// All messages on the path to the leaf for other agents: those before the context, then the context, in which
    /// the last summary comes before the messages that were kept.
    pub(crate) fn portable_messages(&self) -> Vec<Arc<Message>> {
        let path = self.branch();
        let start = self.context_start();
        let is_before = |entry: &&&Entry| start.is_some_and(|start| !std::ptr::eq(**entry, start));
        let before: Vec<&Entry> = path.iter().take_while(is_before).copied().collect();
        let before = edited_items(&before, &edits(&path));
        before.into_iter().chain(self.context_items()).map(|(_, message)| message).collect()
    }

    /// All messages on the path to the leaf, including compacted ones, after edits.
    pub(crate) fn path_messages(&self) -> Vec<Arc<Message>> {
        let path = self.branch();
        edited_items(&path, &edits(&path)).into_iter().map(|(_, message)| message).collect()
    }

    fn model_on(&self, path: &[&Entry]) -> Option<(String, String)> {
        let named = path.iter().rev().find_map(|entry| match &entry.body {
            Body::ModelChange { provider, model_id } => Some((provider.clone(), model_id.clone())),
            Body::Message { message } => match &**message {
                Message::Assistant(answer) if !answer.model.is_empty() => {
                    Some((answer.provider.clone(), answer.model.clone()))
                }
                _ => None,
            },
            _ => None,
        });
        named.or_else(|| self.initial_model.clone())
    }

    fn thinking_on(&self, path: &[&Entry]) -> Option<ThinkingLevel> {
        let named = path.iter().rev().find_map(|entry| match &entry.body {
            Body::ThinkingLevelChange { thinking_level } => ThinkingLevel::from_name(thinking_level),
            _ => None,
        });
        named.or(self.initial_thinking)
    }

    fn free_id(&self) -> Arc<str> {
        let free = |id: &Arc<str>| !self.by_id.contains_key(id);
        let short = std::iter::repeat_with(random_id).take(100).find(free);
        short.unwrap_or_else(|| tau_tools::ids::id().to_string().into())
    }
}

/// The part of a path that makes up the context: the last compaction first, then the entries it kept, then
/// later ones. Older compactions among the kept entries are ignored.
fn select<'a>(path: &[&'a Entry]) -> Vec<&'a Entry> {
    let is_compaction = |entry: &&Entry| matches!(entry.body, Body::Compaction { .. });
    let Some(at) = path.iter().rposition(is_compaction) else {
        return path.to_vec();
    };
    let (before, rest) = path.split_at(at);
    let kept = match rest.first().map(|entry| &entry.body) {
        Some(Body::Compaction { first_kept_entry_id, .. }) => {
            before.iter().rposition(|entry| *entry.id == **first_kept_entry_id)
        }
        _ => None,
    };
    let kept = kept.and_then(|from| before.get(from..)).unwrap_or_default();
    let (compaction, after) = rest.split_at(1.min(rest.len()));
    let kept = kept.iter().filter(|entry| !is_compaction(entry));
    compaction.iter().chain(kept).chain(after).copied().collect()
}

/// The messages that a path adds to the context, after compaction and edits.
fn items(path: &[&Entry]) -> impl Iterator<Item = (Arc<str>, Arc<Message>)> {
    let selection = select(path);
    edited_items(&selection, &edits(&selection)).into_iter()
}

/// The messages of entries, after edits.
pub(super) fn edited_items(
    entries: &[&Entry],
    edits: &HashMap<&str, Option<&ContextReplacement>>,
) -> Vec<(Arc<str>, Arc<Message>)> {
    let item = |entry: &&Entry| {
        let message = match edits.get(&*entry.id) {
            Some(None) => None,
            Some(Some(replacement)) => message(entry).map(|whole| replace_content(&whole, replacement)),
            None => message(entry),
        };
        Some((Arc::clone(&entry.id), message?))
    };
    entries.iter().filter_map(item).collect()
}

/// The edits in the selection by target; the last one of each counts.
pub(super) fn edits<'a>(selection: &[&'a Entry]) -> HashMap<&'a str, Option<&'a ContextReplacement>> {
    let edit = |entry: &&'a Entry| match &entry.body {
        Body::ContextEdit { target_id, replacement } => Some((target_id.as_str(), replacement.as_ref())),
        _ => None,
    };
    selection.iter().filter_map(edit).collect()
}

/// The message that an entry adds to the context.
fn message(entry: &Entry) -> Option<Arc<Message>> {
    let timestamp = entry.timestamp;
    match &entry.body {
        Body::Message { message } => Some(Arc::clone(message)),
        Body::Compaction { summary, tokens_before, .. } => {
            let (summary, tokens_before) = (summary.clone(), *tokens_before);
            let summary = CompactionSummary { summary, tokens_before, timestamp };
            Some(Arc::new(Message::CompactionSummary(summary)))
        }
        Body::BranchSummary { from_id, summary, .. } => {
            let (summary, from_id) = (summary.clone(), from_id.clone());
            Some(Arc::new(Message::BranchSummary(BranchSummary { summary, from_id, timestamp })))
        }
        Body::CustomMessage { custom_type, content, display, details } => {
            Some(Arc::new(Message::Custom(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                details: details.clone(),
                timestamp,
            })))
        }
        Body::ModelChange { .. }
        | Body::ThinkingLevelChange { .. }
        | Body::ContextEdit { .. }
        | Body::Label { .. }
        | Body::SessionInfo { .. }
        | Body::Other { .. } => None,
    }
}

/// The message with other content; role and metadata stay. Messages without content are unchanged.
fn replace_content(message: &Arc<Message>, replacement: &ContextReplacement) -> Arc<Message> {
    let mut message = Message::clone(message);
    match &mut message {
        Message::User(user) => user.content = replacement.content.clone(),
        Message::Custom(custom) => custom.content = replacement.content.clone(),
        Message::Assistant(answer) => answer.content = replacement.content.blocks(),
        Message::ToolResult(result) => {
            result.content =
                replacement.content.blocks().into_iter().filter_map(Block::into_content).collect();
        }
        Message::BashExecution(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::Application(_) => {}
    }
    Arc::new(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tau_protocol::message::{AssistantMessage, UserContent, UserMessage};
    use tau_protocol::model::Api;

    /// A step of a session, by number: which entry is added, and where.
    fn step(tree: &mut Tree, number: u64) {
        let known: Vec<String> = tree.entries().iter().map(|entry| entry.id.to_string()).collect();
        let some = |at: u64| known.get(at as usize % known.len().max(1)).cloned();
        let text = UserContent::Text(number.to_string());
        let body = match number % 11 {
            0 if number.is_multiple_of(3) => {
                tree.move_leaf(some(number / 11).as_deref());
                return;
            }
            1 => Body::ModelChange { provider: "p".to_owned(), model_id: number.to_string() },
            2 => Body::ThinkingLevelChange { thinking_level: "high".to_owned() },
            3 => Body::Compaction {
                summary: number.to_string(),
                first_kept_entry_id: some(number / 7).unwrap_or_default(),
                tokens_before: 1,
                details: None,
                usage: None,
            },
            4 => Body::ContextEdit {
                target_id: some(number / 5).unwrap_or_default(),
                replacement: Some(ContextReplacement { content: text }),
            },
            5 | 6 => {
                let model = if number.is_multiple_of(2) { String::new() } else { number.to_string() };
                let answer = AssistantMessage {
                    api: Api::Scripted,
                    provider: "p".to_owned(),
                    model,
                    ..AssistantMessage::default()
                };
                Body::Message { message: Arc::new(Message::Assistant(answer)) }
            }
            _ => {
                let message = Message::User(UserMessage::new(text));
                Body::Message { message: Arc::new(message) }
            }
        };
        let parent = tree.leaf().map(|leaf| Arc::clone(&leaf.id));
        // An id that is there already, as in a damaged file, and a parent that is not the leaf.
        let id = match number % 29 {
            7 => some(number / 29).unwrap_or_default(),
            _ => format!("{number}-{}", known.len()),
        };
        let parent = if number % 31 == 8 { some(number / 31).map(Into::into) } else { parent };
        let entry = Entry { id: id.into(), parent, timestamp: 0, body, raw: None };
        if number % 37 == 9 { tree.insert(entry) } else { tree.push(entry) }
    }

    #[test]
    fn a_context_that_continues_is_the_one_determined_again() {
        let mut number = 1_u64;
        for _ in 0..60 {
            let (mut used, mut fresh) = (Tree::default(), Tree::default());
            for _ in 0..60 {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                step(&mut used, number >> 33);
                step(&mut fresh, number >> 33);
                assert_eq!(used.context(), fresh.clone().context());
            }
        }
    }
}
