//! Sessions of Claude Code: `~/.claude/projects/DIRECTORY/ID.jsonl`, a tree of lines.
//!
//! An answer is written as one line per block, with one message id; here it is one entry. The results of its
//! calls are attached to their lines; here they follow each other, because all of them are sent.

mod user_text;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::calls::call;
use super::content::{UserText, is_picture, number_of, text_of};
use super::draft::{At, CallResult, Conversation, Draft, empty_answer};
use super::scan;
use crate::session::entry::millis;
use crate::session::read::lines;
use tau_protocol::message::{Block, StopReason, Usage};
use tau_protocol::model::Api;
use tau_tools::Content;
use user_text::{CAVEAT, classify_text, own_words, split_notes};

/// The fields of a line that lists need, and by which it is recognised.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Glance<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Option<std::borrow::Cow<'a, str>>,
    pub session_id: Option<String>,
    pub cwd: Option<PathBuf>,
    #[serde(borrow)]
    pub timestamp: Option<std::borrow::Cow<'a, str>>,
    pub is_sidechain: bool,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub custom_title: Option<String>,
    pub ai_title: Option<String>,
    pub summary: Option<Value>,
    #[serde(borrow)]
    pub uuid: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    pub leaf_uuid: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    pub message: Option<&'a serde_json::value::RawValue>,
}

impl<'a> Glance<'a> {
    /// Parses the line; `None` if it is not Claude Code's.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice::<Glance<'a>>(line).ok().filter(|glance| glance.kind.is_some())
    }

    /// The words of the user in a line; nothing in other lines, and in a command of the program itself, which the
    /// message before may have announced.
    pub(super) fn user_text(&self, is_announced: bool) -> UserText {
        if self.kind.as_deref() != Some("user")
            || self.is_meta
            || self.is_sidechain
            || self.is_compact_summary
        {
            return UserText::Nothing;
        }
        let message = self.message.and_then(|message| serde_json::from_str::<Value>(message.get()).ok());
        let content = message.as_ref().and_then(|message| message.get("content")).unwrap_or(&Value::Null);
        let text_said = |text| Some(own_words(text)).filter(|text: &&str| !text.is_empty());
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut texts = blocks.iter().filter_map(|block| text_of(block, "text")).chain(content.as_str());
        match texts.find_map(text_said).map(classify_text) {
            Some(UserText::Slash(_)) if is_announced => UserText::Nothing,
            Some(text) => text,
            None if blocks.iter().any(is_picture) => UserText::Prompt(String::new()),
            None => UserText::Nothing,
        }
    }

    /// Whether the program says that a command for itself follows.
    pub(super) fn is_caveat(&self) -> bool {
        let message = self.message.filter(|_| self.is_meta).map(|message| message.get().as_bytes());
        message.is_some_and(|text| memchr::memmem::find(text, CAVEAT.as_bytes()).is_some())
    }
}

/// The model of answers that the program itself has written, such as errors.
const SYNTHETIC: &str = "<synthetic>";

/// Attachments with the text of something that a prompt or an editor names, and the fields that have it.
const ATTACHED: [(&str, &str); 5] = [
    ("file", "/content/file/content"),
    ("file", "/content/content"),
    ("directory", "/content"),
    ("selected_lines_in_ide", "/content"),
    ("edited_text_file", "/snippet"),
];

/// The answer of the program in the place of the model, when it wants none.
const NO_ANSWER: &str = "No response requested.";

impl Glance<'_> {
    /// The message id of an answer.
    pub(super) fn answer(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Id {
            #[serde(default)]
            id: String,
        }
        let message = self.message.filter(|_| self.kind.as_deref() == Some("assistant"))?;
        serde_json::from_str::<Id>(message.get()).ok().map(|message| message.id)
    }
}

/// Whether a line is Claude Code's.
pub(super) fn is_line(line: &[u8]) -> bool {
    Glance::of(line).is_some_and(|glance| {
        let kind = glance.kind.as_deref().unwrap_or_default();
        let is_message = matches!(kind, "user" | "assistant" | "system") && glance.session_id.is_some();
        is_message || matches!(kind, "queue-operation" | "file-history-snapshot") || kind == "summary"
    })
}

/// The summaries that older versions wrote as titles, each for the message that was the last one. A file can also have
/// those of other sessions.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    messages: HashSet<String>,
    /// Those whose message was not in a line yet.
    waiting: HashMap<String, String>,
    last: Option<String>,
}

impl Summaries {
    /// Takes a line, its message or its summary with the message that it is for; the last summary of this session so far.
    pub(super) fn of_line(&mut self, message: Option<&str>, summary: Option<(&str, &str)>) -> Option<String> {
        let found = match (message, summary) {
            (_, Some((of, text))) if self.messages.contains(of) => Some(text.to_owned()),
            (_, Some((of, text))) => {
                self.waiting.insert(of.to_owned(), text.to_owned());
                None
            }
            (Some(message), None) => {
                self.messages.insert(message.to_owned());
                self.waiting.remove(message)
            }
            (None, None) => None,
        };
        self.last = found.or(self.last.take());
        self.last.clone()
    }
}

/// The number of transcripts of subagents, which have files of their own in a folder beside that of their session.
pub(super) fn subagents(path: &Path) -> usize {
    let entries =
        std::fs::read_dir(path.with_extension("").join("subagents")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "jsonl")).count()
}

/// The conversation in the lines of a file, or in those of its end.
pub(super) fn read(bytes: &[u8]) -> Conversation {
    let glances = lines(bytes).filter_map(Glance::of).filter(|glance| !glance.is_sidechain);
    let unread = glances.filter_map(|glance| Some(glance.uuid?.into_owned())).collect();
    let mut reader = Reader { unread, ..Reader::default() };
    let torn = scan::objects(bytes, |line| reader.line_in_turn(line));
    // They are attached to each other, or to lines that cannot be read.
    std::mem::take(&mut reader.waiting).values().flatten().for_each(|line| reader.line(line));
    reader.draft.into_conversation(reader.cwd.unwrap_or_default(), reader.name.or(reader.summary), torn)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    cwd: Option<PathBuf>,
    name: Option<String>,
    /// The model of the last answer.
    model: String,
    summaries: Summaries,
    /// The last of them, which is the name if there is no other.
    summary: Option<String>,
    /// The ids of the lines that come later.
    unread: HashSet<String>,
    /// The lines that are attached to one of those, by its id.
    waiting: BTreeMap<String, Vec<Value>>,
    /// The entry of each line by its id, or the one it is attached to.
    lines: HashMap<String, Option<At>>,
    /// The answers, by the ids of their messages.
    answers: HashMap<String, At>,
    /// The last result of each answer that has results.
    tails: HashMap<At, At>,
    /// The answer that a result belongs to.
    owners: HashMap<At, At>,
    /// The entry that the previous line is attached to.
    before: Option<At>,
    /// The facts about the next summary.
    compacted: Value,
    /// A user command whose output comes next.
    command: Option<String>,
    /// Whether the previous message announces a command for the program itself.
    is_announced: bool,
}

impl Reader {
    /// Reads a line as soon as the one that it is attached to was read: the program writes several at once, not always
    /// in their order.
    fn line_in_turn(&mut self, line: &Value) {
        if let Some(parent) = parent_id(line).filter(|parent| self.unread.contains(*parent)) {
            return self.waiting.entry(parent.to_owned()).or_default().push(line.clone());
        }
        let id_of = |line: &Value| text_of(line, "uuid").unwrap_or_default().to_owned();
        self.line(line);
        let mut read = vec![id_of(line)];
        while let Some(id) = read.pop() {
            self.unread.remove(&id);
            for line in self.waiting.remove(&id).unwrap_or_default() {
                self.line(&line);
                read.push(id_of(&line));
            }
        }
    }

    fn line(&mut self, line: &Value) {
        let kind = text_of(line, "type").unwrap_or_default();
        let summary = text_of(line, "leafUuid").zip(text_of(line, "summary"));
        self.summary = self.summaries.of_line(text_of(line, "uuid"), summary);
        match kind {
            "custom-title" => self.name = text_of(line, "customTitle").map(str::to_owned),
            "ai-title" if self.name.is_none() => self.name = text_of(line, "aiTitle").map(str::to_owned),
            "file-history-snapshot" => self.draft.leave_out("file checkpoint"),
            _ => {}
        }
        if is(line, "isSidechain") {
            if matches!(kind, "user" | "assistant") {
                self.draft.leave_out("subagent message");
            }
            return;
        }
        let uuid = text_of(line, "uuid");
        if uuid.is_none() && !matches!(kind, "user" | "assistant") {
            return;
        }
        let id = uuid.unwrap_or_default();
        // Claude Code counts a repeated line once, too.
        if self.lines.contains_key(id) {
            return;
        }
        if self.cwd.is_none() {
            self.cwd = text_of(line, "cwd").map(PathBuf::from);
        }
        let parent = match uuid {
            Some(_) => self.parent(line),
            None => self.before.map(|at| self.behind_results(at)),
        };
        let time = text_of(line, "timestamp").and_then(millis).unwrap_or_default();
        let at = match kind {
            "user" => self.user(id, parent, time, line),
            "attachment" => {
                line.get("attachment").and_then(|attached| self.attachment(id, parent, time, attached))
            }
            "assistant" => self.assistant(id, parent, time, line),
            "system" => {
                if text_of(line, "subtype") == Some("compact_boundary") {
                    self.compacted = line.get("compactMetadata").cloned().unwrap_or_default();
                }
                None
            }
            _ => None,
        };
        let at = at.or(parent);
        if let Some(id) = uuid {
            self.lines.insert(id.to_owned(), at);
        }
        self.before = at;
    }

    /// The entry that a line is attached to. If the parent is not in the file, it was lost: the previous line
    /// replaces it.
    fn parent(&self, line: &Value) -> Option<At> {
        let at = match parent_id(line).map(|id| self.lines.get(id)) {
            None => None,
            Some(None) => self.before,
            Some(Some(at)) => *at,
        };
        at.map(|at| self.behind_results(at))
    }

    /// The last result of the answer that an entry is or belongs to.
    fn behind_results(&self, at: At) -> At {
        let answer = self.owners.get(&at).copied().unwrap_or(at);
        self.tails.get(&answer).copied().unwrap_or(at)
    }

    /// Adds a summary. The messages that it keeps come before it in the file, and what follows them may be attached
    /// to the last of them.
    fn summary(&mut self, id: &str, parent: Option<At>, time: i64, summary: String) -> At {
        let about = std::mem::take(&mut self.compacted);
        let segment = about.get("preservedSegment").unwrap_or(&Value::Null);
        let end =
            |field: &str| Some((text_of(segment, field)?, (*self.lines.get(text_of(segment, field)?)?)?));
        let (head, tail) = (end("headUuid"), end("tailUuid"));
        let parent = tail.map(|(_, at)| self.behind_results(at)).or(parent);
        let kept = head.map(|(_, at)| at);
        let at = self.draft.compaction(id, parent, time, summary, number_of(&about, "preTokens"), kept);
        if let Some((tail, _)) = tail {
            self.lines.insert(tail.to_owned(), Some(at));
        }
        at
    }

    /// Adds what was attached to the conversation: a message that the user sent while the model worked, or text for the
    /// model.
    fn attachment(&mut self, id: &str, parent: Option<At>, time: i64, attached: &Value) -> Option<At> {
        let kind = text_of(attached, "type")?;
        if kind == "queued_command" {
            return self.content(id, parent, time, attached.get("prompt")?, is(attached, "isMeta"));
        }
        let mut fields =
            ATTACHED.iter().filter(|(known, _)| *known == kind).map(|(_, field)| field).peekable();
        fields.peek()?;
        let Some(text) = fields.find_map(|field| attached.pointer(field)?.as_str()) else {
            self.draft.leave_out("attached file");
            return None;
        };
        let name = text_of(attached, "filename").or_else(|| text_of(attached, "path")).unwrap_or_default();
        Some(self.draft.note(id, parent, time, "claude.attachment", format!("{kind} {name}:\n{text}")))
    }

    fn assistant(&mut self, id: &str, parent: Option<At>, time: i64, line: &Value) -> Option<At> {
        let message = line.get("message")?;
        let group = text_of(message, "id").unwrap_or(id);
        let mut blocks = self.answer_blocks(message.get("content")?);
        let model = text_of(message, "model");
        if model == Some(SYNTHETIC) && texts(&blocks) == NO_ANSWER {
            return None;
        }
        let is_error = is(line, "isApiErrorMessage");
        let error = is_error.then(|| texts(&std::mem::take(&mut blocks)));
        // The program's own words have no model: that of the answer before stays.
        match model {
            Some(model) if model != SYNTHETIC => model.clone_into(&mut self.model),
            _ => {}
        }
        let usage = usage(message.get("usage"), line.get("costUSD").and_then(Value::as_f64));
        let stop = stop_reason(text_of(message, "stop_reason"));
        let known = self.answers.get(group).copied().filter(|_| !group.is_empty());
        let at = known.unwrap_or_else(|| {
            let answer = empty_answer(Api::AnthropicMessages, "anthropic", &self.model, time);
            self.draft.answer(id, parent, time, answer)
        });
        self.draft.change_answer(at, |answer| {
            answer.content.extend(blocks);
            answer.usage = usage;
            answer.stop_reason = if is_error { StopReason::Error } else { stop };
            answer.error_message = error;
        });
        self.answers.insert(group.to_owned(), at);
        Some(at)
    }

    fn answer_blocks(&mut self, content: &Value) -> Vec<Block> {
        let Some(parts) = content.as_array() else { return self.draft.blocks(content) };
        let mut blocks = Vec::new();
        for block in parts {
            if text_of(block, "type") == Some("tool_use") {
                let (id, name) =
                    (text_of(block, "id").unwrap_or_default(), text_of(block, "name").unwrap_or_default());
                let input = block.get("input").cloned().unwrap_or_default();
                blocks.push(call(id, name, input, self.cwd.as_deref().unwrap_or(Path::new(""))));
            } else {
                blocks.extend(self.draft.blocks(&Value::Array(vec![block.clone()])));
            }
        }
        blocks
    }

    fn user(&mut self, id: &str, parent: Option<At>, time: i64, line: &Value) -> Option<At> {
        let content = line.get("message")?.get("content")?;
        if is(line, "isCompactSummary") {
            let summary = texts(&self.draft.blocks(content));
            return Some(self.summary(id, parent, time, summary));
        }
        self.content(id, parent, time, content, is(line, "isMeta"))
    }

    /// Adds the content of a message in the user's role.
    fn content(
        &mut self,
        id: &str,
        parent: Option<At>,
        time: i64,
        content: &Value,
        is_meta: bool,
    ) -> Option<At> {
        let mut last = None;
        for block in content.as_array().into_iter().flatten() {
            if text_of(block, "type") == Some("tool_result") {
                last = Some(self.result(id, last.or(parent), time, block));
            }
        }
        let mut blocks = self.draft.blocks(content);
        let is_announced = std::mem::take(&mut self.is_announced);
        if is_meta {
            self.is_announced = texts(&blocks).contains(CAVEAT);
            return self.add_program_note(id, last.or(parent), time, &blocks).or(last);
        }
        // What an editor or the program has added is for the model; the user did not say it.
        let notes = split_notes(&mut blocks);
        last = self.add_program_note("", last.or(parent), time, &notes).or(last);
        if let [Block::Text { text, .. }, ..] = blocks.as_mut_slice() {
            match classify_text(text) {
                UserText::Slash(_) if is_announced => return last,
                UserText::Prompt(prompt) | UserText::Slash(prompt) => *text = prompt,
                UserText::Command(command) => {
                    self.command = Some(command);
                    return last;
                }
                UserText::Output(output) => return self.output(id, last.or(parent), time, output).or(last),
                UserText::Nothing => return last,
            }
        }
        if blocks.is_empty() {
            return last;
        }
        Some(self.draft.user(id, last.or(parent), time, blocks))
    }

    /// Adds a message of the program to the model in the user's role, such as the instructions of a skill.
    fn add_program_note(&mut self, id: &str, parent: Option<At>, time: i64, blocks: &[Block]) -> Option<At> {
        let text = texts(blocks);
        if text.trim().is_empty() || classify_text(&text) == UserText::Nothing {
            return None;
        }
        Some(self.draft.note(id, parent, time, "claude.meta", text))
    }

    /// Adds a command that the user ran, once its output is available.
    fn output(&mut self, id: &str, parent: Option<At>, time: i64, output: String) -> Option<At> {
        let run = (self.command.take()?, output, None);
        Some(self.draft.command(id, parent, time, run))
    }

    fn result(&mut self, id: &str, parent: Option<At>, time: i64, block: &Value) -> At {
        let call = text_of(block, "tool_use_id").unwrap_or_default().to_owned();
        let mut content =
            block.get("content").map(|content| self.draft.result_content(content)).unwrap_or_default();
        for part in &mut content {
            if let Content::Text { text } = part
                && let Some(error) = text.strip_prefix("<tool_use_error>")
            {
                *text = error.strip_suffix("</tool_use_error>").unwrap_or(error).to_owned();
            }
        }
        let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
        let owner = self.draft.caller(&call);
        let parent = owner.map_or(parent, |owner| Some(self.tails.get(&owner).copied().unwrap_or(owner)));
        let at =
            self.draft.result(id, parent, time, CallResult { call, content, is_error, duration_ms: None });
        if let Some(owner) = owner {
            self.tails.insert(owner, at);
            self.owners.insert(at, owner);
        }
        at
    }
}

/// The id of the line that a line is attached to.
fn parent_id(line: &Value) -> Option<&str> {
    ["parentUuid", "logicalParentUuid"].iter().find_map(|field| text_of(line, field))
}

fn is(value: &Value, flag: &str) -> bool {
    value.get(flag).and_then(Value::as_bool) == Some(true)
}

fn texts(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

fn usage(usage: Option<&Value>, cost: Option<f64>) -> Usage {
    let count = |field: &str| usage.map(|usage| number_of(usage, field)).unwrap_or_default();
    let mut sum = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        ..Usage::default()
    };
    sum.total_tokens =
        [sum.output, sum.cache_read, sum.cache_write].iter().fold(sum.input, |a, b| a.saturating_add(*b));
    sum.cost.total = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).unwrap_or_default();
    sum
}

fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("tool_use") => StopReason::ToolUse,
        Some("max_tokens") => StopReason::Length,
        Some("refusal") => StopReason::Error,
        _ => StopReason::Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::entry::{Body, Entry};
    use tau_protocol::message::{Message, UserContent};

    /// The entries as text; those that are not shown in brackets.
    fn entry_texts(lines: &[(&str, bool)]) -> Vec<String> {
        let line = |(number, (text, is_meta)): (usize, &(&str, bool))| {
            let line = serde_json::json!({
                "type": "user", "uuid": format!("u{number}"), "isMeta": is_meta, "cwd": "/w",
                "message": {"role": "user", "content": text},
            });
            line.to_string()
        };
        let text: Vec<String> = lines.iter().enumerate().map(line).collect();
        let said = |content: &UserContent| match content {
            UserContent::Text(text) => text.clone(),
            UserContent::Blocks(blocks) => texts(blocks),
        };
        let text_of = |entry: &Entry| match &entry.body {
            Body::CustomMessage { content, .. } => format!("({})", said(content)),
            Body::Message { message } => match message.as_ref() {
                Message::User(user) => said(&user.content),
                _ => String::new(),
            },
            _ => String::new(),
        };
        read(text.join("\n").as_bytes()).entries.iter().map(text_of).collect()
    }

    #[test]
    fn only_what_the_user_said_is_a_prompt() {
        let caveat = ("<local-command-caveat>Caveat: The messages below were</local-command-caveat>", true);
        let zap = "<command-name>/zap</command-name>\n<command-message>zap</command-message>";
        assert_eq!(entry_texts(&[caveat, (zap, false), ("continue", false)]), ["continue"]);
        assert_eq!(entry_texts(&[(zap, false), ("continue", false)]), ["/zap", "continue"]);
        let clear = "<command-name>/clear</command-name>\n<command-message>clear</command-message>";
        assert_eq!(entry_texts(&[(clear, false), ("continue", false)]), ["continue"]);
        let opened = "<ide_opened_file>x.rs</ide_opened_file>\n<ide_selection>fn</ide_selection>\nrepair it";
        assert_eq!(
            entry_texts(&[(opened, false)]),
            ["(<ide_opened_file>x.rs</ide_opened_file>\n<ide_selection>fn</ide_selection>)", "repair it"]
        );
        assert_eq!(entry_texts(&[("a <system-reminder> is a tag", false)]), ["a <system-reminder> is a tag"]);
    }

    #[test]
    fn transcripts_of_subagents_are_counted() {
        let place = tempfile::tempdir().unwrap();
        let session = place.path().join("id.jsonl");
        assert_eq!(subagents(&session), 0);
        let folder = place.path().join("id/subagents");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["agent-a.jsonl", "agent-b.jsonl", "agent-a.meta.json"] {
            std::fs::write(folder.join(name), "{}").unwrap();
        }
        assert_eq!(subagents(&session), 2);
    }
}
