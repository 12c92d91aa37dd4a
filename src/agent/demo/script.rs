//! The demo's answers and actions, as a pure function of the conversation.
//!
//! The user's last message decides what to do, the results since then how much of it is done. The demo writes
//! a single file, `tau-demo.md`, and changes it only if it wrote it itself.

use serde_json::{Value, json};

use super::long;
use crate::context::compaction::SUMMARY_SYSTEM_PROMPT;
use crate::provider::{Failure, FailureKind, ModelRequest};
use tau_protocol::message::{Message, ToolCall};
use tau_tools::Content;
use tau_tools::counted::pluralize;

/// The only file that the demo writes.
pub const FILE: &str = "tau-demo.md";
/// Marks a file as written by the demo.
const MARK: &str = "<!-- tau-demo:";
/// The line of the file whose number each edit increases.
const COUNT: &str = "Edits so far: ";
/// The command that lists the directory.
const LIST: &str = "ls -p";
/// Commands that `run` accepts. They change nothing.
const HARMLESS: [&str; 6] = ["ls", "ls -l", "ls -la", "pwd", "date", "git status --short"];
/// Files worth reading in a tour, best first.
const WORTH_READING: [&str; 7] =
    ["README.md", "README", "readme.md", "Cargo.toml", "package.json", "pyproject.toml", "Makefile"];

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptPart {
    Think(String),
    Say(String),
    Call(ToolCall),
    Fail(Failure),
}

/// How fast an answer is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptSpeed {
    Normal,
    Slow,
    Immediate,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ScriptedAnswer {
    pub parts: Vec<ScriptPart>,
    pub speed: ScriptSpeed,
}

/// The user's request.
#[derive(Clone, Debug, PartialEq)]
enum DemoRequest {
    Tour,
    Write,
    List,
    Read(String),
    Run(String),
    Say(&'static str),
    Slow,
    Long,
    Error,
}

/// A call since the user's last message, with its result.
struct FinishedCall<'a> {
    call: &'a ToolCall,
    text: String,
    failed: bool,
}

impl FinishedCall<'_> {
    fn argument(&self, name: &str) -> &str {
        self.call.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether this was a call of that tool on that file or command.
    fn was(&self, tool: &str, subject: &str) -> bool {
        self.call.name == tool && [self.argument("path"), self.argument("command")].contains(&subject)
    }
}

/// The answer to a request.
pub fn answer(request: &ModelRequest) -> ScriptedAnswer {
    if *request.system == *SUMMARY_SYSTEM_PROMPT {
        return ScriptedAnswer {
            parts: vec![say(include_str!("compaction.md"))],
            speed: ScriptSpeed::Normal,
        };
    }
    let since = Since::new(request);
    let parts = match parse_request(&since) {
        DemoRequest::Tour => since.tour(),
        DemoRequest::Write => since.write(),
        DemoRequest::List => since.once("bash", json!({ "command": LIST }), "I'll list this directory."),
        DemoRequest::Read(path) => since.once("read", json!({ "path": path }), "I'll read it."),
        DemoRequest::Run(command) => since.run(&command),
        DemoRequest::Say(text) => vec![say(text)],
        DemoRequest::Slow => {
            return ScriptedAnswer { parts: vec![say(include_str!("slow.md"))], speed: ScriptSpeed::Slow };
        }
        DemoRequest::Long => {
            return ScriptedAnswer { parts: vec![say(long::text())], speed: ScriptSpeed::Immediate };
        }
        DemoRequest::Error => error(),
    };
    ScriptedAnswer { parts, speed: ScriptSpeed::Normal }
}

/// The request in the user's message. Verbs count only at its start, nouns anywhere.
fn parse_request(since: &Since<'_>) -> DemoRequest {
    let text = since.said.trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim().trim_matches(['`', '"', '\'']);
    match verb.to_lowercase().as_str() {
        "read" if !rest.is_empty() => return DemoRequest::Read(rest.to_owned()),
        "run" if !rest.is_empty() => return DemoRequest::Run(rest.to_owned()),
        "list" | "ls" => return DemoRequest::List,
        "write" | "edit" => return DemoRequest::Write,
        "tour" | "demo" => return DemoRequest::Tour,
        _ => {}
    }
    let lower = text.to_lowercase();
    let named = |word: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
    let nouns = [
        ("help", DemoRequest::Say(include_str!("help.md"))),
        ("table", DemoRequest::Say(include_str!("table.md"))),
        ("code", DemoRequest::Say(include_str!("code.md"))),
        ("slow", DemoRequest::Slow),
        ("long", DemoRequest::Long),
        ("error", DemoRequest::Error),
    ];
    let noun = nouns.into_iter().find(|(word, _)| named(word)).map(|(_, request)| request);
    let rest = if since.first { DemoRequest::Tour } else { DemoRequest::Say(include_str!("other.md")) };
    noun.unwrap_or(rest)
}

fn error() -> Vec<ScriptPart> {
    let text = "this is what a failure looks like; you asked the demo for one";
    let failure = Failure::new(FailureKind::Request, text).hint("nothing is wrong; send another message");
    vec![say("I start to answer, and right in the middle "), ScriptPart::Fail(failure)]
}

fn say(text: impl Into<String>) -> ScriptPart {
    ScriptPart::Say(text.into())
}

/// The conversation since the user's last message.
struct Since<'a> {
    said: String,
    done: Vec<FinishedCall<'a>>,
    /// Whether there was no answer before.
    first: bool,
    /// Calls in the entire conversation, for the ids of new ones.
    calls: usize,
    tools: Vec<&'a str>,
}

impl<'a> Since<'a> {
    fn new(request: &'a ModelRequest) -> Self {
        let messages = &request.messages;
        let last = messages.iter().rposition(|message| matches!(**message, Message::User(_)));
        let (before, after) = messages.split_at_checked(last.unwrap_or(0)).unwrap_or((messages, &[]));
        let said = match after.first().map(AsRef::as_ref) {
            Some(Message::User(user)) => user.content.text(),
            _ => String::new(),
        };
        let calls = |message: &'a Message| match message {
            Message::Assistant(answer) => answer.tool_calls().collect(),
            _ => Vec::new(),
        };
        let made: Vec<&ToolCall> = after.iter().flat_map(|message| calls(message)).collect();
        let done = after.iter().filter_map(|message| match message.as_ref() {
            Message::ToolResult(result) => {
                let call = made.iter().find(|call| call.id == result.tool_call_id)?;
                Some(FinishedCall { call, text: text_of(&result.content), failed: result.is_error })
            }
            _ => None,
        });
        Since {
            said,
            done: done.collect(),
            first: !before.iter().any(|message| matches!(**message, Message::Assistant(_))),
            calls: messages.iter().map(|message| calls(message).len()).sum(),
            tools: request.tools.iter().map(|tool| tool.name.as_str()).collect(),
        }
    }

    /// A call, or a sentence if the tool is disabled.
    fn call(&self, tool: &str, arguments: Value) -> ScriptPart {
        if !self.tools.contains(&tool) {
            return say(format!("The tool `{tool}` is disabled, so I stop here."));
        }
        let id = format!("demo_{}", self.calls + 1);
        ScriptPart::Call(ToolCall { id, name: tool.to_owned(), arguments, thought_signature: None })
    }

    /// One call, followed by a sentence once it has its result.
    fn once(&self, tool: &str, arguments: Value, text: &str) -> Vec<ScriptPart> {
        match self.done.last() {
            None => vec![say(text), self.call(tool, arguments)],
            Some(done) if done.failed => vec![say("That did not work; the panel above says why.")],
            Some(done) => {
                let lines = pluralize(done.text.lines().count(), "line");
                vec![say(format!("That gave {lines}. I am a script, so I cannot say more about them."))]
            }
        }
    }

    fn run(&self, command: &str) -> Vec<ScriptPart> {
        if HARMLESS.contains(&command) {
            return self.once("bash", json!({ "command": command }), "I'll run it.");
        }
        let known = HARMLESS.map(|command| format!("`{command}`")).join(", ");
        vec![say(format!(
            "A script should not run just anything. I can run {known}. To run a command yourself, type `!{command}`."
        ))]
    }

    /// A tour of everything: a listing, a file to read, then the demo's own file.
    fn tour(&self) -> Vec<ScriptPart> {
        match self.done.last() {
            None => {
                let thought = "The script begins here. This block is where a model's thinking is shown; \
                               mine was written in advance.";
                let call = self.call("bash", json!({ "command": LIST }));
                vec![ScriptPart::Think(thought.into()), say(include_str!("hello.md")), call]
            }
            Some(done) if done.was("bash", LIST) => match self.readable() {
                Some(file) => {
                    let call = self.call("read", json!({ "path": file, "limit": 40 }));
                    vec![say(format!("There is a `{file}`; I'll read its beginning.")), call]
                }
                None => self.own_file("I don't recognise any file here, so I'll move on."),
            },
            Some(done) if done.call.name == "read" && done.argument("path") != FILE => {
                self.own_file("That was one of your files; I won't change it.")
            }
            Some(_) => self.write(),
        }
    }

    /// The demo's own file: written if it does not exist, otherwise read and edited.
    fn write(&self) -> Vec<ScriptPart> {
        let Some(done) = self.done.last() else {
            return vec![
                say("First I'll check what is here."),
                self.call("bash", json!({ "command": LIST })),
            ];
        };
        match done.call.name.as_str() {
            "read" if done.argument("path") == FILE && done.failed => self.create(""),
            "read" if done.argument("path") == FILE => self.edit(done),
            "write" if !done.failed => self.count_up(0, "Now I'll change a line of it, to show a diff."),
            "edit" if !done.failed => vec![say(include_str!("summary.md"))],
            "bash" => self.own_file(""),
            _ => vec![say("That did not work; the panel above says why. The script ends here.")],
        }
    }

    /// Moves on to the demo's own file.
    fn own_file(&self, text: &str) -> Vec<ScriptPart> {
        let listed = self.done.iter().find(|done| done.was("bash", LIST) && !done.failed);
        match listed.map(|done| done.text.lines().any(|line| line.trim() == FILE)) {
            Some(false) if self.is_listing_complete() => self.create(text),
            _ => vec![
                say(format!("{text} I'll check whether `{FILE}` is still there from an earlier tour.")
                    .trim_start()),
                self.call("read", json!({ "path": FILE })),
            ],
        }
    }

    /// Whether the listing is short enough to be complete.
    fn is_listing_complete(&self) -> bool {
        self.done.iter().any(|done| done.was("bash", LIST) && done.text.lines().count() < 500)
    }

    fn create(&self, text: &str) -> Vec<ScriptPart> {
        let call = self.call("write", json!({ "path": FILE, "content": include_str!("file.md") }));
        vec![say(format!("{text} I'll write a new file, `{FILE}`.").trim_start()), call]
    }

    fn edit(&self, read: &FinishedCall<'_>) -> Vec<ScriptPart> {
        let count = read.text.split_once(COUNT).and_then(|(_, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        });
        match count {
            Some(count) if read.text.contains(MARK) => {
                self.count_up(count, "It is mine; I'll change a line of it.")
            }
            _ => vec![say(format!("There is a `{FILE}` that I did not write, so I won't touch it."))],
        }
    }

    fn count_up(&self, count: u32, text: &str) -> Vec<ScriptPart> {
        let next = count.saturating_add(1);
        let old = format!("{COUNT}{count}");
        let new = format!("{COUNT}{next}\n- edit {next} changed the number above and added this line");
        vec![say(text), self.call("edit", json!({ "path": FILE, "old_string": old, "new_string": new }))]
    }

    /// A file of the listing that is worth reading.
    fn readable(&self) -> Option<&'static str> {
        let listed = self.done.iter().find(|done| done.was("bash", LIST))?;
        WORTH_READING.into_iter().find(|name| listed.text.lines().any(|line| line.trim() == *name))
    }
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
