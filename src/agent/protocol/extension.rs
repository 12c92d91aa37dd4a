//! What extends the agent: MCP servers, skills, prompt templates, hooks and custom tools, as front
//! ends list them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What an extension is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionKind {
    McpServer,
    Skill,
    PromptTemplate,
    Hook,
    CustomTool,
}

impl ExtensionKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [ExtensionKind; 5] = [
        ExtensionKind::McpServer,
        ExtensionKind::Skill,
        ExtensionKind::PromptTemplate,
        ExtensionKind::Hook,
        ExtensionKind::CustomTool,
    ];

    /// Its prefix in the setting `extensions_off`, as in `skill:name`.
    pub fn prefix(self) -> &'static str {
        match self {
            ExtensionKind::McpServer => "mcp",
            ExtensionKind::Skill => "skill",
            ExtensionKind::PromptTemplate => "prompt",
            ExtensionKind::Hook => "hook",
            ExtensionKind::CustomTool => "tool",
        }
    }

    /// What one of this kind is called in sentences.
    pub fn noun(self) -> &'static str {
        match self {
            ExtensionKind::McpServer => "MCP server",
            ExtensionKind::Skill => "skill",
            ExtensionKind::PromptTemplate => "prompt template",
            ExtensionKind::Hook => "hook",
            ExtensionKind::CustomTool => "custom tool",
        }
    }

    /// What several of this kind are called in lists.
    pub fn heading(self) -> &'static str {
        match self {
            ExtensionKind::McpServer => "MCP servers",
            ExtensionKind::Skill => "Skills",
            ExtensionKind::PromptTemplate => "Prompt templates",
            ExtensionKind::Hook => "Hooks",
            ExtensionKind::CustomTool => "Custom tools",
        }
    }
}

/// Where an extension comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionSource {
    /// The user's own folders.
    User,
    /// A directory that the user trusts.
    Project,
    /// This run only: a flag, or the program itself.
    Session,
}

impl ExtensionSource {
    /// What it is called in lists.
    pub fn name(self) -> &'static str {
        match self {
            ExtensionSource::User => "user",
            ExtensionSource::Project => "project",
            ExtensionSource::Session => "session",
        }
    }
}

/// Whether an extension can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionState {
    On,
    /// The user turned it off, or another one of the same name is used.
    Off,
    Starting,
    /// It cannot be used; its problems say why.
    Failed,
}

impl ExtensionState {
    /// What it is called in lists.
    pub fn name(self) -> &'static str {
        match self {
            ExtensionState::On => "on",
            ExtensionState::Off => "off",
            ExtensionState::Starting => "starting",
            ExtensionState::Failed => "failed",
        }
    }
}

/// An extension in a list. Its texts come from files or servers and are not safe to print as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionRow {
    pub kind: ExtensionKind,
    pub name: String,
    pub description: String,
    pub source: ExtensionSource,
    /// The file it was read from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    pub state: ExtensionState,
    /// What is wrong, as sentences for the user.
    #[serde(default)]
    pub problems: Vec<String>,
    /// About how many tokens it takes of every request; `None` if it takes none, or that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
}

impl ExtensionRow {
    /// Says first that its program runs in the sandbox of the model's commands.
    pub fn say_sandboxed(&mut self) {
        let rest = if self.description.is_empty() { "" } else { " · " };
        self.description = format!("sandboxed{rest}{}", self.description);
    }

    /// Its name in the setting `extensions_off`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.kind.prefix(), self.name)
    }
}

/// A command that stands for a prompt template, a skill or a prompt of an MCP server. Its texts come from
/// files and servers and are not safe to print as they are; its name is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptCommand {
    /// Without the slash: `git:commit`, `skill:pdf`, `server:prompt`.
    pub name: String,
    pub description: String,
    /// What may follow, for people.
    #[serde(default)]
    pub argument_hint: String,
    pub kind: ExtensionKind,
    pub source: ExtensionSource,
    /// The file it was read from, or that names its server.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<PathBuf>,
    /// The arguments of a prompt of an MCP server.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt of an MCP server. Its texts come from the server and are not safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptArgument {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// Whether the prompt needs it.
    #[serde(default)]
    pub required: bool,
}

/// The name of an MCP server or of a prompt as commands have it: with `_` for what names of tools cannot have.
pub fn plain_name(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// A resource of an MCP server, which a message names as `@server:uri`. Its texts come from the server and are
/// not safe to print; the name of the server is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    pub server: String,
    /// Its address, without blanks; of a template, one with names in braces (RFC 6570).
    pub uri: String,
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub description: String,
    /// Whether it stands for all resources whose addresses look like this.
    #[serde(default)]
    pub is_template: bool,
}

/// Values that an argument of a prompt can have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ArgumentValues {
    /// The name of the argument.
    pub argument: String,
    /// What the server suggests, the best first; not safe to print.
    pub values: Vec<String>,
}
