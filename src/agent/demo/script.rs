//! What the demo says and does, as a pure function of the conversation.
//!
//! The last message of the person decides what is done, the results since then how far it has
//! come. It writes one file only, `tau-demo.md`, and changes it only when the demo wrote it.

use serde_json::{Value, json};

use super::long;
use crate::agent::engine::compact;
use crate::agent::protocol::message::{Message, ToolCall};
use crate::agent::provider::{Failure, FailureKind, ModelRequest};
use crate::tools::Content;

/// The one file the demo writes.
pub const FILE: &str = "tau-demo.md";
/// What marks a file as the demo's own.
const MARK: &str = "<!-- tau-demo:";
/// The line of the file that edits count up.
const COUNT: &str = "Edits so far: ";
/// The command that lists the directory.
const LIST: &str = "ls -p";
/// Commands that `run` takes. None of them changes anything.
const HARMLESS: [&str; 6] = ["ls", "ls -l", "ls -la", "pwd", "date", "git status --short"];
/// Files worth reading in a tour, best first.
const WORTHY: [&str; 7] =
    ["README.md", "README", "readme.md", "Cargo.toml", "package.json", "pyproject.toml", "Makefile"];

/// One part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Think(String),
    Say(String),
    Call(ToolCall),
    Fail(Failure),
}

/// How fast an answer comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    Usual,
    Slow,
    AtOnce,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub parts: Vec<Part>,
    pub speed: Speed,
}

/// What the person wants.
#[derive(Clone, Debug, PartialEq)]
enum Wish {
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

/// A call since the last message of the person, with its result.
struct Done<'a> {
    call: &'a ToolCall,
    text: String,
    failed: bool,
}

impl Done<'_> {
    fn argument(&self, name: &str) -> &str {
        self.call.arguments.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether this was that tool on that file or command.
    fn was(&self, tool: &str, subject: &str) -> bool {
        self.call.name == tool && [self.argument("path"), self.argument("command")].contains(&subject)
    }
}

/// The answer to a request.
pub fn reply(request: &ModelRequest) -> Reply {
    if *request.system == *compact::SYSTEM {
        return Reply { parts: vec![say(include_str!("compaction.md"))], speed: Speed::Usual };
    }
    let since = Since::new(request);
    let parts = match wish(&since) {
        Wish::Tour => since.tour(),
        Wish::Write => since.write(),
        Wish::List => since.once("bash", json!({ "command": LIST }), "I list this directory."),
        Wish::Read(path) => since.once("read", json!({ "path": path }), "I read it."),
        Wish::Run(command) => since.run(&command),
        Wish::Say(text) => vec![say(text)],
        Wish::Slow => return Reply { parts: vec![say(include_str!("slow.md"))], speed: Speed::Slow },
        Wish::Long => return Reply { parts: vec![say(long::text())], speed: Speed::AtOnce },
        Wish::Error => error(),
    };
    Reply { parts, speed: Speed::Usual }
}

/// Reads the wish from the words. Verbs count at the beginning only, nouns anywhere.
fn wish(since: &Since<'_>) -> Wish {
    let text = since.said.trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim().trim_matches(['`', '"', '\'']);
    match verb.to_lowercase().as_str() {
        "read" if !rest.is_empty() => return Wish::Read(rest.to_owned()),
        "run" if !rest.is_empty() => return Wish::Run(rest.to_owned()),
        "list" | "ls" => return Wish::List,
        "write" | "edit" => return Wish::Write,
        "tour" | "demo" => return Wish::Tour,
        _ => {}
    }
    let lower = text.to_lowercase();
    let named = |word: &str| lower.split(|c: char| !c.is_alphanumeric()).any(|found| found == word);
    let nouns = [
        ("help", Wish::Say(include_str!("help.md"))),
        ("table", Wish::Say(include_str!("table.md"))),
        ("code", Wish::Say(include_str!("code.md"))),
        ("slow", Wish::Slow),
        ("long", Wish::Long),
        ("error", Wish::Error),
    ];
    let noun = nouns.into_iter().find(|(word, _)| named(word)).map(|(_, wish)| wish);
    let rest = if since.first { Wish::Tour } else { Wish::Say(include_str!("other.md")) };
    noun.unwrap_or(rest)
}

fn error() -> Vec<Part> {
    let text = "this is how a failure looks; the demo was asked for one";
    let failure = Failure::new(FailureKind::Request, text).hint("nothing is wrong, send another message");
    vec![say("I begin to answer, and in the middle "), Part::Fail(failure)]
}

fn say(text: impl Into<String>) -> Part {
    Part::Say(text.into())
}

/// The conversation since the last message of the person.
struct Since<'a> {
    said: String,
    done: Vec<Done<'a>>,
    /// True when nothing was answered before.
    first: bool,
    /// Calls in the whole conversation, from which ids are made.
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
                Some(Done { call, text: text_of(&result.content), failed: result.is_error })
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

    /// A call, or a sentence when the tool is switched off.
    fn call(&self, tool: &str, arguments: Value) -> Part {
        if !self.tools.contains(&tool) {
            return say(format!("The tool `{tool}` is switched off, so I stop here."));
        }
        let id = format!("demo_{}", self.calls + 1);
        Part::Call(ToolCall { id, name: tool.to_owned(), arguments, thought_signature: None })
    }

    /// One call, and a word when it has its result.
    fn once(&self, tool: &str, arguments: Value, text: &str) -> Vec<Part> {
        match self.done.last() {
            None => vec![say(text), self.call(tool, arguments)],
            Some(done) if done.failed => vec![say("That did not work; the panel above says why.")],
            Some(done) => {
                let lines = done.text.lines().count();
                vec![say(format!("That gave {lines} lines. I am a script, so I cannot say more about them."))]
            }
        }
    }

    fn run(&self, command: &str) -> Vec<Part> {
        if HARMLESS.contains(&command) {
            return self.once("bash", json!({ "command": command }), "I run it.");
        }
        let known = HARMLESS.map(|command| format!("`{command}`")).join(", ");
        vec![say(format!(
            "A script must not run just anything. I run {known}. To run a command yourself, type `!{command}`."
        ))]
    }

    /// Everything once: a listing, a file read, then the demo's own file.
    fn tour(&self) -> Vec<Part> {
        match self.done.last() {
            None => {
                let thought = "The script begins here. This block is where a model's thinking is shown; \
                               mine was written in advance.";
                let call = self.call("bash", json!({ "command": LIST }));
                vec![Part::Think(thought.into()), say(include_str!("hello.md")), call]
            }
            Some(done) if done.was("bash", LIST) => match self.worthy() {
                Some(file) => {
                    let call = self.call("read", json!({ "path": file, "limit": 40 }));
                    vec![say(format!("There is `{file}`; I read its beginning.")), call]
                }
                None => self.own_file("There is no file here that I know by name, so I go on."),
            },
            Some(done) if done.call.name == "read" && done.argument("path") != FILE => {
                self.own_file("That was a file of yours; I leave it as it is.")
            }
            Some(_) => self.write(),
        }
    }

    /// The demo's own file: written when it is not there, else read and edited.
    fn write(&self) -> Vec<Part> {
        let Some(done) = self.done.last() else {
            return vec![say("First I look what is here."), self.call("bash", json!({ "command": LIST }))];
        };
        match done.call.name.as_str() {
            "read" if done.argument("path") == FILE && done.failed => self.create(""),
            "read" if done.argument("path") == FILE => self.edit(done),
            "write" if !done.failed => self.count_up(0, "Now I change a line of it, to show a diff."),
            "edit" if !done.failed => vec![say(include_str!("summary.md"))],
            "bash" => self.own_file(""),
            _ => vec![say("That did not work; the panel above says why. This is where the script ends.")],
        }
    }

    /// Goes on to the demo's own file.
    fn own_file(&self, text: &str) -> Vec<Part> {
        let listed = self.done.iter().find(|done| done.was("bash", LIST) && !done.failed);
        match listed.map(|done| done.text.lines().any(|line| line.trim() == FILE)) {
            Some(false) if self.whole_listing() => self.create(text),
            _ => vec![
                say(format!("{text} I look whether `{FILE}` is there from an earlier time.").trim_start()),
                self.call("read", json!({ "path": FILE })),
            ],
        }
    }

    /// Whether the listing is short enough to be the whole.
    fn whole_listing(&self) -> bool {
        self.done.iter().any(|done| done.was("bash", LIST) && done.text.lines().count() < 500)
    }

    fn create(&self, text: &str) -> Vec<Part> {
        let call = self.call("write", json!({ "path": FILE, "content": include_str!("file.md") }));
        vec![say(format!("{text} I write `{FILE}`, a new file.").trim_start()), call]
    }

    fn edit(&self, read: &Done<'_>) -> Vec<Part> {
        let count = read.text.split_once(COUNT).and_then(|(_, rest)| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u32>().ok()
        });
        match count {
            Some(count) if read.text.contains(MARK) => {
                self.count_up(count, "It is mine; I change a line of it.")
            }
            _ => vec![say(format!("There is a `{FILE}` that I did not write, so I leave it as it is."))],
        }
    }

    fn count_up(&self, count: u32, text: &str) -> Vec<Part> {
        let next = count.saturating_add(1);
        let old = format!("{COUNT}{count}");
        let new = format!("{COUNT}{next}\n- edit {next} changed the number above and added this line");
        vec![say(text), self.call("edit", json!({ "path": FILE, "old_string": old, "new_string": new }))]
    }

    /// A file of the listing that is worth reading.
    fn worthy(&self) -> Option<&'static str> {
        let listed = self.done.iter().find(|done| done.was("bash", LIST))?;
        WORTHY.into_iter().find(|name| listed.text.lines().any(|line| line.trim() == *name))
    }
}

fn text_of(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text { text } => Some(text.as_str()),
        Content::Image { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
