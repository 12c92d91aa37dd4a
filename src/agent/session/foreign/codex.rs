//! Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl`, a list of items.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::calls::call;
use super::content::{UserText, is_picture, number_of, text_of};
use super::draft::{At, CallResult, CommandRun, Conversation, Draft, empty_answer};
use super::scan;
use crate::session::entry::millis;
use tau_protocol::message::{AssistantMessage, Block, StopReason, Usage};
use tau_protocol::model::Api;
use tau_tools::Content;

/// The elements of the program's own messages in the user's role, for which tau has its own.
const OF_PROGRAM: [&str; 7] = [
    "environment_context", "user_instructions", "permissions instructions", "INSTRUCTIONS", "turn_aborted",
    "subagent_notification", "recommended_plugins",
];
/// The beginnings of others, and their ends.
const MARKED: [(&str, &str); 3] =
    [("# AGENTS.md instructions", "</INSTRUCTIONS>"), ("<image name=", ">"), ("</image>", "</image>")];
/// The elements of its messages for the model: a skill, the end of a review, a goal, the answer of a hook.
const FOR_MODEL: [&str; 5] =
    ["skill", "user_action", "goal_context", "codex_internal_context", "hook_prompt"];
/// The headings that an editor or the app puts before a prompt.
const EDITOR: [&str; 3] = ["# Context from my IDE", "# Files mentioned by the user:", "# In app browser:"];
/// The headings of the prompt itself there.
const REQUEST: [&str; 2] = ["## My request for Codex:", "## My request:"];

/// The first line of a file, with the fields that lists need.
#[derive(Debug, Deserialize)]
pub(super) struct Meta {
    pub id: String,
    #[serde(default)]
    pub cwd: PathBuf,
    #[serde(default)]
    pub timestamp: String,
    /// `cli` and others; an object for a helper of another session.
    #[serde(default)]
    pub source: Value,
}

#[derive(Deserialize)]
struct First<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    payload: Meta,
}

/// The first line of a file of 2025: not wrapped, as no item there is.
#[derive(Deserialize)]
struct OldFirst {
    #[serde(flatten)]
    meta: Meta,
    #[serde(rename = "instructions")]
    _instructions: Value,
}

/// Parses the first line of a Codex file.
pub(super) fn meta(line: &[u8]) -> Option<Meta> {
    match serde_json::from_slice::<First<'_>>(line) {
        Ok(first) => (first.kind == "session_meta").then_some(first.payload),
        Err(_) => serde_json::from_slice::<OldFirst>(line).ok().map(|old| old.meta),
    }
}

/// The item in a line: of the conversation, whatever version wrote it.
fn item(line: &Value) -> Option<&Value> {
    match line.get("payload") {
        Some(payload) => Some(payload).filter(|_| text_of(line, "type") == Some("response_item")),
        None => Some(line).filter(|line| text_of(line, "type").is_some()),
    }
}

/// The directory that the program tells the model, in a file whose first line does not name it.
pub(super) fn directory(line: &[u8]) -> Option<PathBuf> {
    if !has(line, b"<environment_context>") {
        return None;
    }
    let line: Value = serde_json::from_slice(line).ok()?;
    environment_directory(item(&line)?)
}

fn environment_directory(item: &Value) -> Option<PathBuf> {
    let blocks = item.get("content")?.as_array()?;
    let said = |text: &str| {
        let rest = text.trim_start().strip_prefix("<environment_context>")?;
        let marked = rest.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>"));
        let (path, _) = marked.or_else(|| rest.split_once("directory: ")?.1.split_once('\n'))?;
        Some(PathBuf::from(path.trim())).filter(|path| path.is_absolute())
    };
    blocks.iter().filter_map(|block| text_of(block, "text")).find_map(said)
}

/// Whether a line is the first one of a Codex file.
pub(super) fn is_first(line: &[u8]) -> bool {
    meta(line).is_some()
}

/// The number of bytes of a line that identify its kind.
const HEAD: usize = 400;

fn has(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line.get(..line.len().min(HEAD)).unwrap_or_default(), word).is_some()
}

/// The timestamp of a line.
pub(super) fn time(line: &[u8]) -> Option<&str> {
    let head = line.get(..line.len().min(HEAD))?;
    let at = memchr::memmem::find(head, b"\"timestamp\"")?;
    let value = head.get(at.checked_add(b"\"timestamp\"".len())?..)?;
    std::str::from_utf8(value.split(|byte| *byte == b'"').nth(1)?).ok()
}

/// Whether a line is an answer of the model.
pub(super) fn is_answer(line: &[u8]) -> bool {
    let is_item = has(line, b"\"response_item\"") || !has(line, b"\"payload\"");
    is_item && has(line, b"\"message\"") && has(line, b"\"assistant\"")
}

fn is_compaction_output(value: &Value) -> bool {
    value.get("metadata").and_then(|data| data.get("compaction_output")?.as_bool()) == Some(true)
}

/// The words of the user in a line; nothing in other lines.
pub(super) fn user_text(line: &[u8]) -> UserText {
    // Long lines of other kinds come before it.
    if !has(line, b"\"user\"") {
        return UserText::Nothing;
    }
    let value = serde_json::from_slice::<Value>(line).unwrap_or_default();
    let item = item(&value).filter(|item| text_of(item, "role") == Some("user"));
    let blocks = item.and_then(|item| item.get("content")?.as_array()).map(Vec::as_slice).unwrap_or_default();
    let mut texts = blocks.iter().filter_map(|block| text_of(block, "text"));
    match texts.find(|text| !is_of_program(text) && !is_for_model(text)) {
        Some(text) => match command_run(text) {
            Some((command, ..)) => UserText::Command(command),
            None => UserText::Prompt(request(text).map_or(text, |(_, words)| words).to_owned()),
        },
        None if blocks.iter().any(is_picture) => UserText::Prompt(String::new()),
        None => UserText::Nothing,
    }
}

/// The text that an editor has put before a prompt, and the prompt; `None` if it has put none.
fn request(text: &str) -> Option<(&str, &str)> {
    let is_marked = EDITOR.iter().any(|start| text.trim_start().starts_with(start));
    let (before, words) = REQUEST
        .iter()
        .filter_map(|heading| text.split_once(heading))
        .min_by_key(|(before, _)| before.len())
        .filter(|_| is_marked)?;
    Some((before.trim(), words.trim()))
}

/// Whether a text is one of the program: as a whole, because a prompt can begin like one.
fn is_of_program(text: &str) -> bool {
    let text = text.trim();
    let is_marked = |(start, end): &(&str, &str)| text.starts_with(start) && text.ends_with(end);
    OF_PROGRAM.iter().any(|name| is_element(text, name)) || MARKED.iter().any(is_marked)
}

fn is_for_model(text: &str) -> bool {
    FOR_MODEL.iter().any(|name| is_element(text, name))
}

/// Whether a text is one element, perhaps with attributes.
fn is_element(text: &str, name: &str) -> bool {
    let text = text.trim();
    let rest = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| rest.starts_with(['>', ' '])) && text.ends_with(&format!("</{name}>"))
}

/// The conversation in the lines of a file, or in those of its end.
pub(super) fn read(bytes: &[u8]) -> Conversation {
    let mut reader = Reader::default();
    let torn = scan::objects(bytes, |line| reader.line(line));
    let mut read = reader.draft.into_conversation(reader.cwd.unwrap_or_default(), None, torn);
    read.id = reader.id;
    read
}

#[derive(Default)]
struct Reader {
    draft: Draft,
    id: String,
    cwd: Option<PathBuf>,
    provider: String,
    model: String,
    time: i64,
    /// The entry with which the conversation continues.
    leaf: Option<At>,
    /// The answer that is being assembled, if the leaf is one.
    answer: Option<At>,
    /// The entries before each user message.
    turns: Vec<Option<At>>,
    /// The tokens of the last request.
    tokens: u64,
}

impl Reader {
    fn line(&mut self, line: &Value) {
        if let Some(time) = text_of(line, "timestamp").and_then(millis) {
            self.time = time;
        }
        let Some(payload) = line.get("payload") else {
            return match self.cwd {
                None => self.old_first(line),
                Some(_) => item(line).into_iter().for_each(|item| self.item(item)),
            };
        };
        match text_of(line, "type").unwrap_or_default() {
            // A fork has the lines of its parent after its own.
            "session_meta" if self.cwd.is_none() => {
                self.cwd = Some(text_of(payload, "cwd").unwrap_or_default().into());
                text_of(payload, "id").unwrap_or_default().clone_into(&mut self.id);
                self.provider = text_of(payload, "model_provider").unwrap_or("openai").to_owned();
            }
            "turn_context" => {
                if let Some(model) = text_of(payload, "model") {
                    model.clone_into(&mut self.model);
                }
            }
            // A summary, which the line `compacted` has too.
            "response_item" if [line, payload].into_iter().any(is_compaction_output) => {}
            "response_item" => self.item(payload),
            "compacted" => self.add_compaction(payload),
            "event_msg" => self.event(payload),
            _ => {}
        }
    }

    /// Handles a line of a file of 2025 until the directory is known.
    fn old_first(&mut self, line: &Value) {
        match item(line) {
            Some(item) => {
                self.cwd = environment_directory(item);
                self.item(item);
            }
            None => {
                text_of(line, "id").unwrap_or_default().clone_into(&mut self.id);
                "openai".clone_into(&mut self.provider);
            }
        }
    }

    fn item(&mut self, item: &Value) {
        let id = text_of(item, "id").unwrap_or_default();
        match text_of(item, "type").unwrap_or_default() {
            "message" => self.message(id, item),
            "reasoning" => self.reasoning(id, item),
            "function_call" => {
                let text = text_of(item, "arguments").unwrap_or_default();
                let arguments = serde_json::from_str(text).ok().filter(Value::is_object);
                self.call(id, item, arguments.unwrap_or_else(|| text.into()));
            }
            "custom_tool_call" => {
                let input = text_of(item, "input").unwrap_or_default();
                self.call(id, item, serde_json::json!({ "input": input }));
            }
            "local_shell_call" => self.call(id, item, item.get("action").cloned().unwrap_or_default()),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.output(id, item);
            }
            "web_search_call" | "image_generation_call" | "tool_search_call" => {
                self.draft.leave_out("provider tool call");
            }
            _ => {}
        }
    }

    fn message(&mut self, id: &str, item: &Value) {
        let content = item.get("content").unwrap_or(&Value::Null);
        match text_of(item, "role").unwrap_or_default() {
            "assistant" => {
                let blocks = self.draft.blocks(content);
                self.say(id, blocks);
            }
            "user" => {
                let mut blocks = self.draft.blocks(content);
                if let [Block::Text { text, .. }] = blocks.as_slice()
                    && let Some(run) = command_run(text)
                {
                    self.leaf = Some(self.draft.command(id, self.leaf, self.time, run));
                    self.answer = None;
                    return;
                }
                blocks.retain(|block| block.as_text().is_none_or(|text| !is_of_program(text)));
                let is_note = |block: &mut Block| block.as_text().is_some_and(is_for_model);
                for note in blocks.extract_if(.., is_note) {
                    let text = note.as_text().unwrap_or_default().to_owned();
                    self.leaf = Some(self.draft.note("", self.leaf, self.time, "codex.note", text));
                    self.answer = None;
                }
                if blocks.is_empty() {
                    return;
                }
                self.turns.push(self.leaf);
                for block in &mut blocks {
                    let Block::Text { text, .. } = block else { continue };
                    if let Some((before, words)) = request(text) {
                        let (before, words) = (before.to_owned(), words.to_owned());
                        *text = words;
                        self.leaf = Some(self.draft.note("", self.leaf, self.time, "codex.editor", before));
                    }
                }
                self.leaf = Some(self.draft.user(id, self.leaf, self.time, blocks));
                self.answer = None;
            }
            // The program's own messages; tau has its own.
            _ => {}
        }
    }

    fn reasoning(&mut self, id: &str, item: &Value) {
        let texts = |field: &str| {
            let blocks = item.get(field).and_then(Value::as_array).into_iter().flatten();
            blocks.filter_map(|block| text_of(block, "text")).collect::<Vec<_>>().join("\n\n")
        };
        let (raw, summary) = (texts("content"), texts("summary"));
        let thinking = if raw.is_empty() { summary } else { raw };
        if thinking.trim().is_empty() {
            return self.draft.leave_out("encrypted thought");
        }
        self.say(id, vec![Block::Thinking { thinking, thinking_signature: None, redacted: false }]);
    }

    fn call(&mut self, id: &str, item: &Value, arguments: Value) {
        let name = text_of(item, "name").unwrap_or("local_shell");
        let call_id = text_of(item, "call_id").unwrap_or(id);
        let cwd = self.cwd.clone().unwrap_or_default();
        self.say(id, vec![call(call_id, name, arguments, &cwd)]);
    }

    /// Adds blocks to the answer that is being assembled, or begins one.
    fn say(&mut self, id: &str, blocks: Vec<Block>) {
        let at = self.answer.unwrap_or_else(|| {
            let answer = empty_answer(Api::OpenaiResponses, &self.provider, &self.model, self.time);
            self.draft.answer(id, self.leaf, self.time, answer)
        });
        self.draft.change_answer(at, |answer| {
            answer.content.extend(blocks);
            answer.stop_reason = stop_reason(answer);
        });
        (self.leaf, self.answer) = (Some(at), Some(at));
    }

    fn output(&mut self, id: &str, item: &Value) {
        let call = text_of(item, "call_id").unwrap_or_default().to_owned();
        let output = item.get("output").unwrap_or(&Value::Null);
        let (content, is_error) = match output.get("content").unwrap_or(output) {
            Value::String(text) => {
                let (text, is_error) = of_command(text);
                (vec![Content::Text { text }], is_error)
            }
            blocks => (self.draft.result_content(blocks), false),
        };
        let is_error = is_error || output.get("success").and_then(Value::as_bool) == Some(false);
        let result = CallResult { call, content, is_error, duration_ms: None };
        self.leaf = Some(self.draft.result(id, self.leaf, self.time, result));
        self.answer = None;
    }

    /// Handles a compaction, which replaces the history by the model's summary.
    fn add_compaction(&mut self, payload: &Value) {
        let replaced = payload.get("replacement_history").and_then(Value::as_array);
        let mut texts: Vec<String> = Vec::new();
        for item in replaced
            .into_iter()
            .flatten()
            .filter(|item| text_of(item, "role").is_some_and(|role| role != "developer"))
        {
            let blocks = self.draft.blocks(item.get("content").unwrap_or(&Value::Null));
            let said = blocks.iter().filter_map(Block::as_text).filter(|text| !is_of_program(text));
            texts.extend(said.map(str::to_owned));
        }
        let message = text_of(payload, "message").unwrap_or_default();
        if !message.is_empty() && !texts.iter().any(|text| text.contains(message)) {
            texts.push(message.to_owned());
        }
        let is_sealed = |item: &Value| text_of(item, "encrypted_content").is_some();
        if message.is_empty() && replaced.is_some_and(|items| items.iter().any(is_sealed)) || texts.is_empty()
        {
            // Only the provider can read the summary; the messages it replaces are still in the file.
            return self.draft.leave_out("encrypted summary");
        }
        self.leaf =
            Some(self.draft.compaction("", self.leaf, self.time, texts.join("\n\n"), self.tokens, None));
        self.answer = None;
    }

    fn event(&mut self, event: &Value) {
        match text_of(event, "type").unwrap_or_default() {
            "token_count" => {
                let Some(last) = event.get("info").and_then(|info| info.get("last_token_usage")) else {
                    return;
                };
                let usage = usage(last);
                self.tokens = usage.total_tokens;
                let answer = self.answer.or_else(|| self.last_answer());
                if let Some(at) = answer {
                    self.draft.change_answer(at, |answer| {
                        if answer.usage == Usage::default() {
                            answer.usage = usage;
                        }
                    });
                }
            }
            "thread_rolled_back" => {
                let turns = usize::try_from(number_of(event, "num_turns")).unwrap_or(usize::MAX);
                let kept = self.turns.len().saturating_sub(turns);
                if let Some(before) = self.turns.get(kept).copied() {
                    self.turns.truncate(kept);
                    (self.leaf, self.answer) = (before, None);
                }
            }
            _ => {}
        }
    }

    /// The answer that the last results belong to.
    fn last_answer(&self) -> Option<At> {
        self.leaf.and_then(|leaf| self.draft.answer_before(leaf))
    }
}

fn stop_reason(answer: &AssistantMessage) -> StopReason {
    if answer.tool_calls().next().is_some() { StopReason::ToolUse } else { StopReason::Stop }
}

fn usage(last: &Value) -> Usage {
    let (input, cached) = (number_of(last, "input_tokens"), number_of(last, "cached_input_tokens"));
    let written = number_of(last, "cache_write_input_tokens");
    Usage {
        input: input.saturating_sub(cached).saturating_sub(written),
        output: number_of(last, "output_tokens"),
        cache_read: cached,
        cache_write: written,
        total_tokens: number_of(last, "total_tokens"),
        ..Usage::default()
    }
}

/// A command that the user ran, from the text about it for the model.
fn command_run(text: &str) -> Option<CommandRun> {
    let rest = text.trim_start().strip_prefix("<user_shell_command>")?;
    let (command, rest) = rest.split_once("<command>")?.1.split_once("</command>")?;
    let result = rest.split_once("<result>").map_or("", |(_, rest)| rest);
    let result = result.rsplit_once("</result>").map_or(result, |(result, _)| result);
    let (head, output) = result.split_once("Output:\n").unwrap_or((result, ""));
    let code = head.split_once("Exit code: ").and_then(|(_, rest)| rest.lines().next()?.trim().parse().ok());
    Some((command.trim().to_owned(), output.trim_end().to_owned(), code))
}

/// The output of a command, and whether it failed: older versions wrote JSON, later ones a heading.
fn of_command(text: &str) -> (String, bool) {
    #[derive(Deserialize)]
    struct Old {
        output: String,
        metadata: OldEnd,
    }
    #[derive(Deserialize)]
    struct OldEnd {
        exit_code: i64,
    }
    if let Ok(old) = serde_json::from_str::<Old>(text) {
        return (old.output, old.metadata.exit_code != 0);
    }
    let code = text.lines().take(8).find_map(|line| line.strip_prefix("Process exited with code "));
    (text.to_owned(), code.is_some_and(|code| code.trim() != "0"))
}
