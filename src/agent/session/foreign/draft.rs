//! The entries of a conversation while it is being read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::content::Shape;
use crate::session::entry::{Body, Entry};
use tau_protocol::message::{
    AssistantMessage, BashExecution, Block, Message, ToolResultMessage, UserContent, UserMessage,
};
use tau_protocol::model::Api;
use tau_tools::{Content, Details};

/// The maximum length of another program's id that is used unchanged.
const LONGEST_ID: usize = 128;

/// A command that the user ran: its line, its output, and its exit code if that is known.
pub(super) type CommandRun = (String, String, Option<i32>);

/// The index of an entry in the draft.
pub(super) type At = usize;

/// A conversation of another agent, as tau's entries.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The id of the session, if the lines have it.
    pub id: String,
    /// The directory it ran in.
    pub cwd: PathBuf,
    pub name: Option<String>,
    pub entries: Vec<Entry>,
    /// The content that was left out: its name in the singular, and the count.
    pub left_out: BTreeMap<&'static str, usize>,
    /// The number of unreadable lines.
    pub skipped: usize,
}

/// Entries, and the calls in them.
#[derive(Debug, Default)]
pub(super) struct Draft {
    entries: Vec<Entry>,
    ids: HashSet<Arc<str>>,
    /// The name of the tool and the answer of each call.
    calls: HashMap<String, (String, At)>,
    left_out: BTreeMap<&'static str, usize>,
}

impl Draft {
    /// Adds an entry below `parent`. An unusable id is replaced.
    pub(super) fn add(&mut self, id: &str, parent: Option<At>, timestamp: i64, body: Body) -> At {
        let id = self.free_id(id);
        let parent = parent.and_then(|at| self.entries.get(at)).map(|entry| Arc::clone(&entry.id));
        self.entries.push(Entry { id, parent, timestamp, body, raw: None });
        self.entries.len().saturating_sub(1)
    }

    fn free_id(&mut self, wanted: &str) -> Arc<str> {
        let is_plain = !wanted.is_empty()
            && wanted.len() <= LONGEST_ID
            && wanted.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
        let id: Arc<str> = wanted.into();
        if is_plain && self.ids.insert(Arc::clone(&id)) {
            return id;
        }
        let mut number = self.entries.len();
        loop {
            let id: Arc<str> = format!("{number:08x}").into();
            if self.ids.insert(Arc::clone(&id)) {
                return id;
            }
            number = number.saturating_add(1);
        }
    }

    /// Adds a user message.
    pub(super) fn user(&mut self, id: &str, parent: Option<At>, time: i64, blocks: Vec<Block>) -> At {
        let content = content_of(blocks);
        let message = Message::User(UserMessage { timestamp: time, ..UserMessage::new(content) });
        self.add(id, parent, time, Body::Message { message: message.into() })
    }

    /// Adds a command that the user ran.
    pub(super) fn command(&mut self, id: &str, parent: Option<At>, time: i64, run: CommandRun) -> At {
        let (command, output, exit_code) = run;
        let run = BashExecution {
            command,
            output,
            exit_code,
            exit_unknown: exit_code.is_none(),
            timestamp: time,
            ..BashExecution::default()
        };
        self.add(id, parent, time, Body::Message { message: Message::BashExecution(run).into() })
    }

    /// Adds text for the model that the user did not write, such as what an editor adds to a prompt.
    pub(super) fn note(&mut self, id: &str, parent: Option<At>, time: i64, kind: &str, text: String) -> At {
        let body = Body::CustomMessage {
            custom_type: kind.to_owned(),
            content: UserContent::Text(text),
            display: false,
            details: None,
        };
        self.add(id, parent, time, body)
    }

    /// Adds an answer of the model.
    pub(super) fn answer(&mut self, id: &str, parent: Option<At>, time: i64, answer: AssistantMessage) -> At {
        let calls: Vec<(String, String)> =
            answer.tool_calls().map(|call| (call.id.clone(), call.name.clone())).collect();
        let at = self.add(id, parent, time, Body::Message { message: Message::Assistant(answer).into() });
        self.calls.extend(calls.into_iter().map(|(id, name)| (id, (name, at))));
        at
    }

    /// Changes an answer that was added before.
    pub(super) fn change_answer(&mut self, at: At, change: impl FnOnce(&mut AssistantMessage)) {
        let Some(Entry { body: Body::Message { message }, .. }) = self.entries.get_mut(at) else { return };
        if let Message::Assistant(answer) = Arc::make_mut(message) {
            change(answer);
            let calls = answer.tool_calls().map(|call| (call.id.clone(), (call.name.clone(), at)));
            self.calls.extend(calls);
        }
    }

    /// The answer that made the call.
    pub(super) fn caller(&self, call: &str) -> Option<At> {
        self.calls.get(call).map(|(_, at)| *at)
    }

    /// The answer to which the results that end at `at` belong.
    pub(super) fn answer_before(&self, at: At) -> Option<At> {
        let Body::Message { message } = &self.entries.get(at)?.body else { return None };
        let Message::ToolResult(result) = message.as_ref() else { return None };
        self.caller(&result.tool_call_id)
    }

    /// Adds the result of a call.
    pub(super) fn result(&mut self, id: &str, parent: Option<At>, time: i64, result: CallResult) -> At {
        let tool_name = self.calls.get(&result.call).map(|(name, _)| name.clone()).unwrap_or_default();
        let message = ToolResultMessage {
            tool_call_id: result.call,
            tool_name,
            content: result.content,
            details: Details::None,
            is_error: result.is_error,
            timestamp: time,
            duration_ms: result.duration_ms,
            hooks: Vec::new(),
        };
        self.add(id, parent, time, Body::Message { message: Message::ToolResult(message).into() })
    }

    /// Adds a summary that replaces everything before it, except what begins with `kept`.
    pub(super) fn compaction(
        &mut self,
        id: &str,
        parent: Option<At>,
        time: i64,
        summary: String,
        tokens: u64,
        kept: Option<At>,
    ) -> At {
        let kept = kept.and_then(|at| self.entries.get(at)).map(|entry| entry.id.to_string());
        let body = Body::Compaction {
            summary,
            first_kept_entry_id: kept.clone().unwrap_or_default(),
            tokens_before: tokens,
            details: None,
            usage: None,
        };
        let at = self.add(id, parent, time, body);
        if kept.is_none()
            && let Some(Entry { id, body: Body::Compaction { first_kept_entry_id: first, .. }, .. }) =
                self.entries.get_mut(at)
        {
            *first = id.to_string();
        }
        at
    }

    /// The index of the next entry.
    pub(super) fn next(&self) -> At {
        self.entries.len()
    }

    /// Counts content that is not carried over.
    pub(super) fn leave_out(&mut self, what: &'static str) {
        let count = self.left_out.entry(what).or_default();
        *count = count.saturating_add(1);
    }

    /// Converts content blocks of the other program; those without a counterpart in tau are counted.
    pub(super) fn blocks(&mut self, content: &serde_json::Value) -> Vec<Block> {
        let mut blocks = Vec::new();
        for shape in super::content::shapes(content) {
            match shape {
                Shape::Block(block) => blocks.push(block),
                Shape::LeftOut(what) => self.leave_out(what),
            }
        }
        blocks
    }

    /// Converts the content of a result, like [`Draft::blocks`].
    pub(super) fn result_content(&mut self, content: &serde_json::Value) -> Vec<Content> {
        self.blocks(content).into_iter().filter_map(Block::into_content).collect()
    }

    pub(super) fn into_conversation(
        self,
        cwd: PathBuf,
        name: Option<String>,
        skipped: usize,
    ) -> Conversation {
        Conversation { id: String::new(), cwd, name, entries: self.entries, left_out: self.left_out, skipped }
    }
}

#[derive(Debug, Default)]
pub(super) struct CallResult {
    pub(super) call: String,
    pub(super) content: Vec<Content>,
    pub(super) is_error: bool,
    pub(super) duration_ms: Option<u64>,
}

fn content_of(mut blocks: Vec<Block>) -> UserContent {
    match blocks.as_mut_slice() {
        [Block::Text { text, .. }] => UserContent::Text(std::mem::take(text)),
        _ => UserContent::Blocks(blocks),
    }
}

/// An answer without content.
pub(super) fn empty_answer(api: Api, provider: &str, model: &str, time: i64) -> AssistantMessage {
    AssistantMessage {
        api,
        provider: provider.to_owned(),
        model: model.to_owned(),
        timestamp: time,
        ..AssistantMessage::default()
    }
}
