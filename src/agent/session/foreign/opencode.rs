//! Sessions of opencode: a SQLite database, or JSON files in older versions.
//!
//! The JSON files hold one message or part each.
//!
//! A session in the database has a virtual path: that of the database, followed by the id.

mod database;
mod storage;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calls::call;
use super::content::{number_of, picture_in, text_of};
use super::draft::{At, CallResult, Conversation, Draft, empty_answer};
use tau_protocol::message::{AssistantMessage, Block, StopReason, Usage};
use tau_protocol::model::Api;
use tau_protocol::session_row::{SessionOrigin, SessionRow};
use tau_protocol::title;
use tau_tools::Content;

/// The beginnings of generated titles.
const UNTITLED: [&str; 2] = ["New session - ", "Child session - "];
/// The maximum length of a first prompt, in characters.
const PROMPT: usize = 200;

#[derive(Debug, Default)]
struct StoredSession {
    id: String,
    directory: PathBuf,
    title: String,
    created: i64,
    updated: i64,
    /// The first of the messages that were reverted, and the part of it with which that begins, if not the first.
    reverted: Option<(String, Option<String>)>,
    /// The number of messages; 0 if they were not counted.
    messages: u64,
    /// The number of its subagents' sessions.
    children: usize,
}

/// A message with its parts, in order.
#[derive(Debug)]
struct StoredMessage {
    id: String,
    /// Null if it is damaged, as a part.
    data: Value,
    /// The parts by their ids.
    parts: Vec<(String, Value)>,
}

/// Whether an id is a valid file name.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.len() <= 128 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(super) fn is_session(path: &Path) -> bool {
    database::split(path).is_some() || storage::is_session(path)
}

/// The sessions below opencode's data folder, those of `cwd` or all.
pub(super) fn rows(folder: &Path, cwd: Option<&Path>) -> Vec<SessionRow> {
    match database::rows(&folder.join("opencode.db"), cwd) {
        // Sessions of older versions were imported into the database.
        Some(rows) => rows,
        None => storage::rows(folder, cwd),
    }
}

/// The reason that keeps sessions out of lists, in a sentence.
pub(super) fn trouble(folder: &Path) -> Option<String> {
    database::trouble(&folder.join("opencode.db"))
}

/// The list row of a session.
pub(super) fn row_of(path: &Path) -> Option<SessionRow> {
    match database::split(path) {
        Some((file, id)) => database::row_of(file, id),
        None => storage::row_of(path),
    }
}

/// The conversation, or only its `last` messages. Fails when it cannot be read.
pub(super) fn read(path: &Path, last: Option<usize>) -> std::io::Result<Conversation> {
    let (stored, messages) = match database::split(path) {
        Some((file, id)) => database::read(file, id, last)?,
        None => storage::read(path, last)?,
    };
    Ok(conversation(stored, messages))
}

fn row(path: PathBuf, stored: StoredSession, first_prompt: impl FnOnce() -> Option<String>) -> SessionRow {
    let is_named = !stored.title.is_empty() && !UNTITLED.iter().any(|start| stored.title.starts_with(start));
    let prompt = if is_named { None } else { first_prompt() };
    let prompt = prompt.as_deref().and_then(title::opening).map(|line| line.chars().take(PROMPT).collect());
    SessionRow {
        path,
        id: stored.id,
        source: SessionOrigin::Opencode,
        cwd: stored.directory,
        name: is_named.then_some(stored.title),
        first_prompt: prompt.unwrap_or_default(),
        created: stored.created,
        modified: stored.updated,
        messages: stored.messages,
        ..SessionRow::default()
    }
}

/// The reverted part of a session, from its description.
fn revert_point(revert: &Value) -> Option<(String, Option<String>)> {
    Some((text_of(revert, "messageID")?.to_owned(), text_of(revert, "partID").map(str::to_owned)))
}

fn conversation(stored: StoredSession, messages: Vec<StoredMessage>) -> Conversation {
    let (mut reader, mut damaged) = (Reader { cwd: stored.directory.clone(), ..Reader::default() }, 0_usize);
    for mut message in messages {
        if let Some((reverted, part)) = stored.reverted.as_ref().filter(|(first, _)| message.id >= *first) {
            reader.draft.leave_out("reverted message");
            match part {
                Some(part) if message.id == *reverted => message.parts.retain(|(id, _)| id < part),
                _ => continue,
            }
        }
        let count = message.parts.len().saturating_add(usize::from(message.data.is_null()));
        message.parts.retain(|(_, part)| !part.is_null());
        damaged = damaged.saturating_add(count.saturating_sub(message.parts.len()));
        let first = reader.draft.next();
        match text_of(&message.data, "role") {
            Some("user") => reader.user(&message),
            Some("assistant") => reader.assistant(&message),
            _ => {}
        }
        reader.firsts.insert(message.id, first);
    }
    (0..stored.children).for_each(|_| reader.draft.leave_out("subagent transcript"));
    let is_named = !UNTITLED.iter().any(|start| stored.title.starts_with(start));
    let name = Some(stored.title).filter(|title| is_named && !title.trim().is_empty());
    reader.draft.into_conversation(stored.directory, name, damaged)
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    cwd: PathBuf,
    leaf: Option<At>,
    /// The tokens of the last request.
    tokens: u64,
    /// The first entry of each message.
    firsts: HashMap<String, At>,
    /// The first entry that the next summary keeps.
    kept: Option<At>,
}

impl Reader {
    fn user(&mut self, message: &StoredMessage) {
        let (mut blocks, mut notes) = (Vec::new(), Vec::new());
        for (_, part) in &message.parts {
            match text_of(part, "type").unwrap_or_default() {
                "text" if flag(part, "ignored") => {}
                // The program has added it to the prompt, as the text of a file.
                "text" if flag(part, "synthetic") => notes.extend(text_of(part, "text").map(str::to_owned)),
                "text" => blocks.extend(text_of(part, "text").map(Block::text)),
                "file" => blocks.extend(self.file(part)),
                // It asks for the next summary.
                "compaction" => {
                    let first = text_of(part, "tail_start_id").and_then(|id| self.firsts.get(id));
                    self.kept = first.copied();
                    return;
                }
                _ => {}
            }
        }
        for note in notes {
            self.leaf = Some(self.draft.note(
                "",
                self.leaf,
                creation_time(&message.data),
                "opencode.synthetic",
                note,
            ));
        }
        if !blocks.is_empty() {
            self.leaf = Some(self.draft.user(&message.id, self.leaf, creation_time(&message.data), blocks));
        }
    }

    /// A picture. For a text file, the program has put the text beside it.
    fn file(&mut self, part: &Value) -> Option<Block> {
        let picture = picture_in(text_of(part, "url").unwrap_or_default());
        let kind = text_of(part, "mime").unwrap_or_default();
        if picture.is_none() && !kind.starts_with("text/") && kind != "application/x-directory" {
            self.draft.leave_out(if kind.starts_with("image/") { "picture" } else { "document" });
        }
        picture
    }

    fn assistant(&mut self, message: &StoredMessage) {
        let time = creation_time(&message.data);
        if flag(&message.data, "summary") {
            let texts = message.parts.iter().filter(|(_, part)| text_of(part, "type") == Some("text"));
            let summary: Vec<&str> = texts.filter_map(|(_, part)| text_of(part, "text")).collect();
            if !summary.is_empty() {
                let (summary, kept) = (summary.join("\n"), self.kept.take());
                let at = self.draft.compaction(&message.id, self.leaf, time, summary, self.tokens, kept);
                self.leaf = Some(at);
            }
            return;
        }
        let usage = usage(&message.data);
        self.tokens = usage.total_tokens;
        let mut step = Step { answer: answer(message, time), results: Vec::new() };
        step.answer.usage = usage;
        for (_, part) in &message.parts {
            match text_of(part, "type").unwrap_or_default() {
                // The following parts were answered after the results.
                "step-start" if !step.results.is_empty() => {
                    let next = Step { answer: answer(message, time), results: Vec::new() };
                    let done = std::mem::replace(&mut step, next);
                    self.step(&message.id, time, done);
                }
                "text" => step.answer.content.extend(text_of(part, "text").map(Block::text)),
                "reasoning" => {
                    let thinking = text_of(part, "text").filter(|text| !text.trim().is_empty());
                    step.answer.content.extend(thinking.map(|thinking| Block::Thinking {
                        thinking: thinking.to_owned(),
                        thinking_signature: None,
                        redacted: false,
                    }));
                }
                "tool" => self.tool(part, &mut step),
                "subtask" => self.draft.leave_out("subagent message"),
                "snapshot" | "patch" => self.draft.leave_out("file checkpoint"),
                _ => {}
            }
        }
        self.step(&message.id, time, step);
    }

    fn tool(&mut self, part: &Value, step: &mut Step) {
        let id = text_of(part, "callID").unwrap_or_default();
        let state = part.get("state").unwrap_or(&Value::Null);
        let input = state.get("input").cloned().unwrap_or_default();
        step.answer.content.push(call(id, text_of(part, "tool").unwrap_or_default(), input, &self.cwd));
        let (text, is_error) = match text_of(state, "status") {
            Some("completed") => (text_of(state, "output"), false),
            Some("error") => (text_of(state, "error"), true),
            // It was interrupted.
            _ => return,
        };
        let mut content = vec![Content::Text { text: text.unwrap_or_default().to_owned() }];
        for file in state.get("attachments").and_then(Value::as_array).into_iter().flatten() {
            if let Some(Block::Image { data, mime_type }) = self.file(file) {
                content.push(Content::Image { data, mime_type });
            }
        }
        let time = |field: &str| state.get("time").map(|time| number_of(time, field)).unwrap_or_default();
        let duration_ms = Some(time("end").saturating_sub(time("start"))).filter(|_| time("end") > 0);
        let result = CallResult { call: id.to_owned(), content, is_error, duration_ms };
        step.results.push((i64::try_from(time("end")).unwrap_or_default(), result));
    }

    /// Adds an answer and the results of its calls.
    fn step(&mut self, id: &str, time: i64, step: Step) {
        if step.answer.content.is_empty() && step.answer.error_message.is_none() {
            return;
        }
        let mut answer = step.answer;
        if answer.tool_calls().next().is_some() && answer.stop_reason == StopReason::Stop {
            answer.stop_reason = StopReason::ToolUse;
        }
        self.leaf = Some(self.draft.answer(id, self.leaf, time, answer));
        for (time, result) in step.results {
            self.leaf = Some(self.draft.result("", self.leaf, time, result));
        }
    }
}

/// An answer between two rounds of calls.
struct Step {
    answer: AssistantMessage,
    results: Vec<(i64, CallResult)>,
}

fn answer(message: &StoredMessage, time: i64) -> AssistantMessage {
    let provider = text_of(&message.data, "providerID").unwrap_or_default();
    let api = match provider {
        "anthropic" => Api::AnthropicMessages,
        "openai" => Api::OpenaiResponses,
        "google" => Api::GoogleGenerativeAi,
        _ => Api::OpenaiCompletions,
    };
    let mut answer = empty_answer(api, provider, text_of(&message.data, "modelID").unwrap_or_default(), time);
    if let Some(error) = message.data.get("error").filter(|error| error.is_object()) {
        let is_aborted = text_of(error, "name").is_some_and(|name| name.contains("Abort"));
        answer.stop_reason = if is_aborted { StopReason::Aborted } else { StopReason::Error };
        let text = error.get("data").and_then(|data| text_of(data, "message"));
        answer.error_message = text.or_else(|| text_of(error, "name")).map(str::to_owned);
    }
    answer
}

fn creation_time(data: &Value) -> i64 {
    let time = data.get("time").map(|time| number_of(time, "created")).unwrap_or_default();
    i64::try_from(time).unwrap_or_default()
}

fn flag(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

fn usage(data: &Value) -> Usage {
    let Some(tokens) = data.get("tokens") else { return Usage::default() };
    let cache = |field: &str| tokens.get("cache").map(|cache| number_of(cache, field)).unwrap_or_default();
    let mut usage = Usage {
        input: number_of(tokens, "input"),
        output: number_of(tokens, "output").saturating_add(number_of(tokens, "reasoning")),
        cache_read: cache("read"),
        cache_write: cache("write"),
        ..Usage::default()
    };
    let parts = [usage.output, usage.cache_read, usage.cache_write];
    usage.total_tokens = parts.iter().fold(usage.input, |sum, part| sum.saturating_add(*part));
    let cost = data.get("cost").and_then(Value::as_f64);
    usage.cost.total = cost.filter(|cost| cost.is_finite() && *cost >= 0.0).unwrap_or_default();
    usage
}
