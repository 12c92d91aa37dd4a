//! Extensions of the agent: MCP servers, skills, prompt templates, hooks and custom tools.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The kind of an extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionKind {
    McpServer,
    Skill,
    PromptTemplate,
    Hook,
    CustomTool,
    /// A kind of agents that the model gives tasks to.
    HelperKind,
    /// Several extensions that were added together.
    Package,
}

impl ExtensionKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [ExtensionKind; 7] = [
        ExtensionKind::McpServer,
        ExtensionKind::Skill,
        ExtensionKind::PromptTemplate,
        ExtensionKind::Hook,
        ExtensionKind::CustomTool,
        ExtensionKind::HelperKind,
        ExtensionKind::Package,
    ];

    const fn words(self) -> [&'static str; 3] {
        match self {
            ExtensionKind::McpServer => ["mcp", "MCP server", "MCP servers"],
            ExtensionKind::Skill => ["skill", "skill", "Skills"],
            ExtensionKind::PromptTemplate => ["prompt", "prompt template", "Prompt templates"],
            ExtensionKind::Hook => ["hook", "hook", "Hooks"],
            ExtensionKind::CustomTool => ["tool", "custom tool", "Custom tools"],
            ExtensionKind::HelperKind => ["helper", "kind of helper", "Kinds of helpers"],
            ExtensionKind::Package => ["package", "package", "Packages"],
        }
    }

    /// Its prefix in the setting `extensions_off`, as in `skill:name`.
    pub fn prefix(self) -> &'static str {
        self.words()[0]
    }

    /// The name of one of this kind in sentences.
    pub fn noun(self) -> &'static str {
        self.words()[1]
    }

    /// The name of this kind in lists.
    pub fn heading(self) -> &'static str {
        self.words()[2]
    }
}

/// The origin of an extension.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum ExtensionSource {
    /// The user's own folders.
    User,
    /// A directory that the user trusts.
    Project,
    /// A package that the user has added.
    Package,
    /// Only this run: a flag, or the program itself.
    Session,
}

impl ExtensionSource {
    /// Its name in lists.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The state of an extension.
#[derive(IntoStaticStr)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "lowercase")]
pub enum ExtensionState {
    On,
    /// The user turned it off, or another one with the same name takes precedence.
    Off,
    Starting,
    /// It is unusable; its problems say why.
    Failed,
}

impl ExtensionState {
    /// Its name in lists.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An extension in a list. Its texts come from files or servers and are not safe to print directly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionRow {
    pub kind: ExtensionKind,
    pub name: String,
    pub description: String,
    pub source: ExtensionSource,
    /// The file from which it was read.
    #[serde(with = "tau_tools::path_text", skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    pub state: ExtensionState,
    /// The problems, as sentences for the user.
    #[serde(default)]
    pub problems: Vec<String>,
    /// Approximately how many tokens it adds to every request; `None` if none, or unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
}

impl ExtensionRow {
    /// Prepends a note that its program runs in the sandbox of the model's commands.
    pub fn add_sandbox_note(&mut self) {
        let rest = if self.description.is_empty() { "" } else { " · " };
        self.description = format!("sandboxed{rest}{}", self.description);
    }

    /// Its name in the setting `extensions_off`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.kind.prefix(), self.name)
    }
}

/// Whether a word behind a slash looks like the name of a command: `/usr/bin` has none.
pub fn looks_like_a_command(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-:_.".contains(c))
}

/// A command for a prompt template, a skill or an MCP server's prompt. Its texts come from files and servers
/// and are not safe to print directly; its name is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCommand {
    /// The name without the slash: `git:commit`, `skill:pdf`, `server:prompt`.
    pub name: String,
    pub description: String,
    /// A hint for users about the arguments.
    #[serde(default)]
    pub argument_hint: String,
    pub kind: ExtensionKind,
    pub source: ExtensionSource,
    /// The file from which it was read, or that names its server.
    #[serde(with = "tau_tools::path_text", skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// The arguments of an MCP server's prompt.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub arguments: Vec<PromptArgument>,
}

/// An argument of an MCP server's prompt. Its texts come from the server and are not safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// True if the prompt requires it.
    #[serde(default)]
    pub required: bool,
}

/// A valid name for an MCP server or prompt, a tool or a call: `_` replaces every character except ASCII letters,
/// digits, `_` and `-`.
pub fn plain_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// A resource of an MCP server, which a message names as `@server:uri`. Its texts come from the server and
/// are not safe to print; the server's name is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    pub server: String,
    /// The address, without blanks; for a template, one with names in braces (RFC 6570).
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// True if it stands for all resources whose addresses match.
    #[serde(default)]
    pub is_template: bool,
}

/// The possible values of a prompt's argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentValues {
    /// The name of the argument.
    pub argument: String,
    /// The server's suggestions, best first; not safe to print.
    pub values: Vec<String>,
}
