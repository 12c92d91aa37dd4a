//! Kinds of helpers: markdown files with front matter, as Claude Code and opencode have them, and Codex's TOML.
//!
//! A file describes a kind and restricts it; it never allows what the parent of a helper may not do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::custom_tools::CustomTool;
use super::front_matter::{FieldValue, FrontMatter};
use super::places::Place;
use super::walk::{Entry, Walk};
use super::{MAX_EXTENSION_FILE, MAX_HELPER_KINDS};
use crate::permissions::grant;
use crate::settings::private_files::read_capped;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::budget::shorten;
use tau_tools::user_error::UserError;
use tau_tools::{delegate, encoding};

/// The names of the built-in kinds, which no file replaces.
pub const BUILT_IN: [&str; 3] = ["explore", delegate::USUAL_KIND, "review"];
/// The maximum length of a name, in characters.
const MAX_NAME: usize = 64;
/// The maximum length of a description that the model gets, in characters.
const MAX_DESCRIPTION: usize = 400;
/// Names of tools in other agents, and those of tau.
const TOOLS: [(&str, &str); 12] = [
    ("multiedit", "edit"),
    ("notebookedit", "edit"),
    ("patch", "edit"),
    ("glob", "find"),
    ("list", "ls"),
    ("webfetch", "web_fetch"),
    ("websearch", "web_search"),
    ("askuserquestion", "ask_user"),
    ("question", "ask_user"),
    ("task", delegate::NAME),
    ("agent", delegate::NAME),
    ("bashoutput", "jobs"),
];
/// The tools that change files.
const CHANGING: [&str; 2] = ["edit", "write"];
/// The tools that one does not have that only reads. Without a shell, nothing but the others changes files.
const READ_ONLY: [&str; 3] = ["edit", "write", "bash"];

/// How a tool is treated of which a kind has calls of some kind only.
const LEFT_OUT: &str = "left out";
const WHOLE_TOOLS: &str = "a kind has a tool or not; rules are in the settings";

/// A kind of helper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HelperKind {
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// Its instructions, for the helper.
    pub prompt: String,
    /// The names of its tools, which may have `*`; `None` for those of its parent.
    pub tools: Option<Vec<String>>,
    /// The names of tools that it does not have, which may have `*`.
    pub without: Vec<String>,
    /// The model, by any name; `None` for that of its parent.
    pub model: Option<String>,
    /// Whether a cheap model of the same provider is enough.
    pub cheap: bool,
    /// The most turns of a run.
    pub turns: Option<u32>,
}

/// A kind in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundKind {
    pub(super) kind: HelperKind,
    path: PathBuf,
    source: ExtensionSource,
    is_broken: bool,
    problems: Vec<String>,
}

impl FoundKind {
    /// Its row in lists.
    pub(super) fn row(&self) -> ExtensionRow {
        ExtensionRow {
            kind: ExtensionKind::HelperKind,
            name: self.kind.name.clone(),
            description: self.kind.description.clone(),
            source: self.source,
            path: Some(self.path.clone()),
            state: if self.is_broken { ExtensionState::Failed } else { ExtensionState::On },
            problems: self.problems.clone(),
            tokens: None,
        }
    }
}

impl HelperKind {
    /// The problem that no tool has some of the names in its lists, if so. `own` are the tools of the user; those of
    /// servers are known later.
    pub(super) fn unknown_tools(&self, own: &[Arc<CustomTool>]) -> Option<String> {
        let is_unknown = |name: &&String| {
            !name.contains(['*', '_'])
                && grant::is_unknown(name, None)
                && own.iter().all(|tool| tool.name() != *name)
        };
        let unknown = self.tools.iter().flatten().chain(&self.without).filter(is_unknown);
        let unknown: Vec<&str> = unknown.map(String::as_str).collect();
        (!unknown.is_empty()).then(|| format!("no tool is called {}", unknown.join(" or ")))
    }
}

/// The kinds of a place, and the problems of the place itself.
pub(super) fn find(place: &Place) -> (Vec<FoundKind>, Vec<String>) {
    let mut walk = Walk::new(place);
    let mut found = Vec::new();
    if let Some(folder) = walk.start() {
        look_in(&mut walk, &folder, 0, &mut found, place.source);
    }
    (found, walk.problems)
}

fn look_in(
    walk: &mut Walk<'_>,
    folder: &Path,
    depth: usize,
    found: &mut Vec<FoundKind>,
    source: ExtensionSource,
) {
    for entry in walk.entries(folder, depth) {
        if found.len() >= MAX_HELPER_KINDS {
            return walk
                .problems
                .push(format!("only the first {MAX_HELPER_KINDS} kinds of helpers are used"));
        }
        match entry {
            Entry::Folder(inner) => look_in(walk, &inner, depth + 1, found, source),
            Entry::File(path) => {
                let ending = path.extension().and_then(|ending| ending.to_str());
                let parse: Parse = match ending {
                    Some("md") => markdown,
                    Some("toml") => toml,
                    _ => continue,
                };
                found.extend(kind(path, source, parse));
            }
        }
    }
}

/// The kind in a file; `None` if it is not for helpers.
fn kind(path: PathBuf, source: ExtensionSource, parse: Parse) -> Option<FoundKind> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let kind = HelperKind { name, ..HelperKind::default() };
    let mut found = FoundKind { kind, path, source, is_broken: false, problems: Vec::new() };
    let read = read_capped(&found.path, MAX_EXTENSION_FILE).map_err(|error| error.to_string());
    let text = read.and_then(|bytes| {
        let encoding = encoding::of_text(&bytes).ok_or("it is a binary file")?;
        Ok(encoding::decode(&bytes, encoding).0)
    });
    match text.and_then(|text| parse(&text, &mut found).map_err(String::from)) {
        Ok(Purpose::Helper) => {}
        Ok(Purpose::Other) => return None,
        Err(problem) => {
            found.is_broken = true;
            found.problems.push(problem);
            return Some(found);
        }
    }
    let kind = &mut found.kind;
    kind.description = line(&kind.description, MAX_DESCRIPTION);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let problem =
        if kind.name.is_empty() || kind.name.chars().count() > MAX_NAME || !kind.name.chars().all(is_name) {
            Some("its name must have at most 64 letters, digits, and - _ .".to_owned())
        } else if BUILT_IN.contains(&kind.name.as_str()) {
            Some(format!("{} is built in; give it another name", kind.name))
        } else if kind.description.is_empty() {
            Some("it has no description: the model would not know when to use it".to_owned())
        } else if kind.prompt.trim().is_empty() {
            Some("it has no text".to_owned())
        } else {
            None
        };
    found.is_broken = problem.is_some();
    found.problems.extend(problem);
    Some(found)
}

/// The purpose of a file that can be read.
enum Purpose {
    Helper,
    /// An agent that the user switches to, one that is turned off, or a note.
    Other,
}

/// A function that reads a kind.
type Parse = fn(&str, &mut FoundKind) -> Result<Purpose, UserError>;

/// Reads a markdown file.
fn markdown(text: &str, found: &mut FoundKind) -> Result<Purpose, UserError> {
    let front = FrontMatter::parse(text)?;
    let is_off = front.text("mode") == Some("primary") || front.text("disable") == Some("true");
    if front.fields.is_empty() || is_off {
        return Ok(Purpose::Other);
    }
    found.problems.extend(front.problem.clone());
    let kind = &mut found.kind;
    if let Some(name) = front.text("name") {
        name.clone_into(&mut kind.name);
    }
    kind.description = front.text("description").unwrap_or_default().to_owned();
    text.get(front.length..).unwrap_or_default().trim().clone_into(&mut kind.prompt);
    model(kind, front.text("model"));
    let mut problems: Vec<String> = front.unused_hooks().into_iter().collect();
    match front.get("tools") {
        Some(FieldValue::Map(map)) => switches(kind, map, &mut problems),
        Some(list) => {
            let named = names(list, LEFT_OUT, &mut problems);
            kind.tools = (!named.iter().any(|name| name == "*")).then_some(named);
        }
        None => {}
    }
    if let Some(list) = front.get("disallowedTools") {
        kind.without.extend(names(list, "taken away for all calls", &mut problems));
    }
    match front.get("permission") {
        Some(FieldValue::Map(map)) => switches(kind, map, &mut problems),
        Some(all) => switches(kind, &[("*".to_owned(), all.clone())], &mut problems),
        None => {}
    }
    for field in ["maxTurns", "steps", "maxSteps"] {
        match front.text(field).map(str::parse) {
            Some(Ok(turns)) if turns > 0 => kind.turns = Some(turns),
            Some(_) => problems.push(format!("{field} is not a number above 0, so it limits nothing")),
            None => {}
        }
    }
    match front.text("permissionMode") {
        Some("plan") => kind.without.extend(READ_ONLY.map(str::to_owned)),
        // A helper has the mode of its parent, which may be stricter or not.
        Some(mode) if mode != "default" => problems.push(format!(
            "permissionMode {mode} is not used: the mode of its parent counts; only plan takes tools away"
        )),
        _ => {}
    }
    found.problems.extend(problems);
    Ok(Purpose::Helper)
}

/// The fields of a TOML file that count. Others are Codex's own.
#[derive(Deserialize)]
struct CodexAgent {
    name: Option<String>,
    description: Option<String>,
    developer_instructions: Option<String>,
    model: Option<String>,
    sandbox_mode: Option<String>,
}

/// Reads a TOML file.
fn toml(text: &str, found: &mut FoundKind) -> Result<Purpose, UserError> {
    let agent: CodexAgent = ::toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let kind = &mut found.kind;
    kind.name = agent.name.unwrap_or_else(|| kind.name.clone());
    kind.description = agent.description.unwrap_or_default();
    kind.prompt = agent.developer_instructions.unwrap_or_default();
    model(kind, agent.model.as_deref());
    if agent.sandbox_mode.as_deref() == Some("read-only") {
        kind.without = READ_ONLY.map(str::to_owned).to_vec();
    }
    Ok(Purpose::Helper)
}

/// Chooses the model. Short names of Claude Code stand for a cheap model, or that of the parent.
fn model(kind: &mut HelperKind, model: Option<&str>) {
    match model {
        None | Some("inherit" | "sonnet" | "opus" | "fable") => {}
        Some("haiku") => kind.cheap = true,
        Some(model) => kind.model = Some(model.to_owned()),
    }
}

/// The tools in a list, or in a text with commas. Calls of only some kind cannot be told apart here: such a tool is
/// `treated` as a whole, and is not in the list if it is left out.
fn names(value: &FieldValue, treated: &str, problems: &mut Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for text in value.texts(('(', ')')) {
        let (name, is_part) = text.split_once('(').map_or((text.as_str(), false), |(name, _)| (name, true));
        if is_part {
            problems.push(format!("{text} is {treated}: {WHOLE_TOOLS}"));
        }
        if !is_part || treated != LEFT_OUT {
            found.push(own_name(name.trim()));
        }
    }
    found
}

/// Takes away the tools that opencode's switches deny, in their order: after `*`, which takes all, others give tools
/// back. A tool with a denied pattern is taken away.
fn switches(kind: &mut HelperKind, map: &[(String, FieldValue)], problems: &mut Vec<String>) {
    for (name, value) in map {
        let own = own_name(name);
        let tools = match CHANGING.contains(&own.as_str()) {
            true => CHANGING.map(str::to_owned).to_vec(),
            false => vec![own],
        };
        let texts: Vec<&FieldValue> = match value {
            FieldValue::Map(patterns) => patterns.iter().map(|(_, action)| action).collect(),
            value => vec![value],
        };
        let is = |known: &[&str]| {
            let is_known = |text: &str| known.contains(&text.trim().to_ascii_lowercase().as_str());
            !texts.is_empty()
                && texts.iter().all(|value| matches!(value, FieldValue::Text(text) if is_known(text)))
        };
        if is(&["true", "allow"]) {
            kind.tools.iter_mut().for_each(|given| given.extend(tools.iter().cloned()));
        } else if is(&["true", "allow", "ask"]) {
            problems.push(format!("{name}: ask is not used: the mode of its parent counts"));
        } else {
            if matches!(value, FieldValue::Map(_)) {
                problems.push(format!("{name} is taken away for all calls: {WHOLE_TOOLS}"));
            }
            match name.as_str() {
                "*" => kind.tools = Some(Vec::new()),
                _ => kind.without.extend(tools),
            }
        }
    }
}

/// tau's name of a tool.
fn own_name(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    if let Some(rest) = name.strip_prefix("mcp__") {
        let all = if rest.contains("__") { "" } else { "__*" };
        return format!("{name}{all}");
    }
    let known = TOOLS.iter().find(|(other, _)| *other == lower).map(|(_, own)| (*own).to_owned());
    known.unwrap_or(lower)
}

/// A text on one line, cut.
fn line(text: &str, most: usize) -> String {
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}
