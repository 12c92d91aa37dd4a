//! Sessions as shown in lists.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use super::title;

/// The program that wrote a session.
#[derive(EnumString, IntoStaticStr)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SessionOrigin {
    #[default]
    Tau,
    /// Claude Code.
    Claude,
    Codex,
    Opencode,
    Pi,
}

impl SessionOrigin {
    /// Whether the session is tau's own.
    pub fn is_own(&self) -> bool {
        *self == SessionOrigin::Tau
    }

    /// As lists and JSON have it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The program in a sentence.
    pub fn program(self) -> &'static str {
        match self {
            SessionOrigin::Claude => "Claude Code",
            SessionOrigin::Codex => "Codex",
            other => other.name(),
        }
    }

    /// Whether another program than tau wrote it: it is read, and continued in a copy.
    pub fn is_foreign(self) -> bool {
        self != SessionOrigin::Tau
    }
}

/// One session in a list. Times are milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    #[serde(with = "tau_tools::path_text")]
    pub path: PathBuf,
    pub id: String,
    /// The program that wrote it.
    #[serde(default)]
    pub source: SessionOrigin,
    #[serde(with = "tau_tools::path_text")]
    pub cwd: PathBuf,
    /// The given name.
    pub name: Option<String>,
    /// The first line of the first user message, at most 200 characters.
    pub first_prompt: String,
    pub created: i64,
    pub modified: i64,
    /// The number of user and assistant messages; 0 if they were not counted, as in large sessions of other
    /// programs.
    pub messages: u64,
    /// The size of the file, in bytes.
    pub size: u64,
    /// True if it was started by a run that prints its answers and was never named or continued on the
    /// screen.
    #[serde(default)]
    pub printed: bool,
    /// Whether the user has put it away.
    #[serde(default)]
    pub archived: bool,
    /// The kind of helper whose session it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub helper: Option<String>,
    /// The file of the session that asked for the helper.
    #[serde(with = "tau_tools::path_text", default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PathBuf>,
}

impl SessionRow {
    /// Its name, or its first prompt. Sessions of other agents are listed only if they have messages.
    pub fn title(&self) -> String {
        let is_begun = self.messages > 0 || self.source.is_foreign();
        let empty = if is_begun { "(no text)" } else { "(no messages yet)" };
        self.name_or_prompt().unwrap_or_else(|| empty.to_owned())
    }

    /// The title on one line; `None` if nothing was said yet. A name of another program can have several.
    pub fn name_or_prompt(&self) -> Option<String> {
        let name = self.name.as_deref().map(|name| name.split_whitespace().collect::<Vec<_>>().join(" "));
        name.filter(|name| !name.is_empty()).or_else(|| title::of(&self.first_prompt))
    }
}

/// A session that contains the searched text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundSession {
    #[serde(with = "tau_tools::path_text")]
    pub path: PathBuf,
    /// The matching line, cut around the match.
    pub line: String,
    /// The id of the entry that contains it.
    #[serde(default)]
    pub entry: String,
    /// The part of the line from the match on, by which the transcript is searched when the session is opened.
    #[serde(default)]
    pub passage: String,
}

/// The last exchange of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastExchange {
    /// The user's message; empty if the end of the file has none.
    #[serde(rename = "person")]
    pub user: String,
    /// The model's message after that.
    pub model: String,
}
