//! Prompt templates: markdown files that become slash commands.
//!
//! `git/commit.md` is `/git:commit`. Only the front matter and the first line are read for lists; the text is
//! read when the command is sent.

pub(crate) mod arguments;
pub(crate) mod parts;

use std::io;
use std::path::{Path, PathBuf};

use super::front_matter::{FrontMatter, unquote};
use super::places::Place;
use super::skills::{can_be_typed, head, tools};
use super::walk::{Entry, Walk};
use super::{MAX_EXTENSIONS, allowed_tools};
use tau_protocol::extension::ExtensionSource;
use tau_protocol::model::ThinkingLevel;

/// The extension of a template's file.
const ENDING: &str = "md";
/// The maximum length of a description made from the first line, in characters.
const MAX_FIRST_LINE_LEN: usize = 100;

/// A prompt template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Its command, without the slash.
    pub name: String,
    pub description: String,
    /// A hint about the text after its command, for display.
    pub argument_hint: String,
    /// Its file; `None` for a built-in template.
    pub path: Option<PathBuf>,
    pub source: ExtensionSource,
    /// The model that answers.
    pub model: Option<String>,
    pub thinking: Option<ThinkingLevel>,
    /// Calls that it allows without a question, verbatim: `Bash(git:*)`.
    pub allowed_tools: Vec<String>,
    /// Calls that always need approval: `edit(AGENTS.md)`.
    pub ask_tools: Vec<String>,
    /// Whether it cannot be used.
    pub is_broken: bool,
    pub problems: Vec<String>,
}

/// The templates of a place, and the problems of the place itself.
pub(super) fn find(place: &Place) -> (Vec<Template>, Vec<String>) {
    let mut walk = Walk::new(place);
    let mut found = Vec::new();
    if let Some(folder) = walk.start() {
        look_in(&mut walk, &folder, &mut Vec::new(), &mut found, place.source);
    }
    (found, walk.problems)
}

fn look_in(
    walk: &mut Walk<'_>,
    folder: &Path,
    above: &mut Vec<String>,
    found: &mut Vec<Template>,
    source: ExtensionSource,
) {
    for entry in walk.entries(folder, above.len()) {
        if found.len() >= MAX_EXTENSIONS {
            return walk.problems.push(format!("only the first {MAX_EXTENSIONS} prompt templates are used"));
        }
        match entry {
            Entry::Folder(inner) => {
                above.push(inner.file_name().unwrap_or_default().to_string_lossy().into_owned());
                look_in(walk, &inner, above, found, source);
                above.pop();
            }
            Entry::File(path) if path.extension().is_some_and(|ending| ending == ENDING) => {
                let last = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let name = above.iter().cloned().chain([last]).collect::<Vec<_>>().join(":");
                let head = head(&path);
                found.push(template(name, Some(path), source, head));
            }
            Entry::File(_) => {}
        }
    }
}

/// A template with this name, with its problems.
pub(super) fn template(
    name: String,
    path: Option<PathBuf>,
    source: ExtensionSource,
    head: io::Result<String>,
) -> Template {
    let mut template = Template {
        name,
        description: String::new(),
        argument_hint: String::new(),
        path,
        source,
        model: None,
        thinking: None,
        allowed_tools: Vec::new(),
        ask_tools: Vec::new(),
        is_broken: true,
        problems: Vec::new(),
    };
    let parsed = head.map_err(|error| error.to_string()).and_then(|head| {
        let found = FrontMatter::parse(&head)?;
        let text = head.get(found.length..).unwrap_or_default().to_owned();
        Ok((found, text))
    });
    let (found, text) = match parsed {
        Ok(parsed) => parsed,
        Err(problem) => {
            template.problems.push(problem);
            return template;
        }
    };
    template.is_broken = false;
    if !template.name.split(':').all(can_be_typed) {
        template.problems.push("its name has other characters than a-z, A-Z, 0-9, - _ and .".to_owned());
        template.is_broken = true;
    }
    template.problems.extend(found.problem.clone().into_iter().chain(found.unused_hooks()));
    template.description = found.text("description").map_or_else(|| first_line(&text), str::to_owned);
    template.argument_hint = found.line("argument-hint").map(unquote).unwrap_or_default().to_owned();
    template.model = found.text("model").filter(|model| *model != "inherit").map(str::to_owned);
    if let Some(level) = found.text("thinking").or_else(|| found.text("effort")) {
        template.thinking = ThinkingLevel::from_name(&level.to_ascii_lowercase());
        if template.thinking.is_none() {
            template.problems.push(format!("\"{level}\" is not a thinking level"));
        }
    }
    template.allowed_tools = found.get("allowed-tools").map(tools).unwrap_or_default();
    template.ask_tools = found.get("ask-tools").map(tools).unwrap_or_default();
    template.problems.extend(allowed_tools::rules(&template.allowed_tools, source).1);
    template.problems.extend(allowed_tools::rules(&template.ask_tools, ExtensionSource::User).1);
    template
}

/// The first line with text, without the marks of a heading.
fn first_line(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(MAX_FIRST_LINE_LEN).collect()
}
