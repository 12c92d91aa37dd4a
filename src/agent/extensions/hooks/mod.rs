//! Hooks: commands of the user that run at certain moments of a session, and may stop what is about to happen.
//!
//! They keep to the contract in wide use: JSON on standard input, exit codes, and JSON on standard output.
//! Parts: `facts` (the session), `names` (tools and arguments as hooks know them), `answer` (what an end of a hook means), `run` (one
//! hook, as a process), `runner` (all hooks of an event, one after another).

mod answer;
mod facts;
pub(crate) mod names;
mod run;
pub(crate) mod runner;

use std::path::PathBuf;
use std::time::Duration;

pub use facts::HookFacts;
pub use runner::{HookOutcome, HookPermission, HookRunner};

use crate::settings::hooks::{self, HookEntry, HookEvent, HookFail, HookMatcher};
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::counted::counted;

/// How long a hook may run if nothing else is set.
const USUAL_TIME: Duration = Duration::from_secs(60);
/// Longest command in the name of a hook, in characters.
const MAX_NAME_LEN: usize = 60;

/// How a file writes hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFormat {
    /// `[[hooks.EVENT]]` of a `config.toml`.
    Toml,
    /// `hooks` of a `settings.json`.
    Json,
}

/// A file that may name hooks, already read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFile {
    pub path: PathBuf,
    pub text: String,
    pub format: HookFormat,
    pub source: ExtensionSource,
}

/// A hook that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its event and its command, for lists.
    pub name: String,
    pub event: HookEvent,
    /// What it is about.
    pub matcher: HookMatcher,
    /// For the shell.
    pub command: String,
    /// How long it may run.
    pub timeout: Duration,
    /// What its failure means, if the file says so.
    fail: Option<HookFail>,
    /// The row that lists it.
    row: ExtensionRow,
}

impl Hook {
    fn new(entry: HookEntry, file: &HookFile) -> Self {
        let HookEntry { event, matcher, command, timeout, fail } = entry;
        // A comma separates the names in a setting.
        let plain = |c: char| if c == ',' || c.is_control() { ' ' } else { c };
        let short: String = command.trim().chars().map(plain).take(MAX_NAME_LEN).collect();
        let name = format!("{} {}", event.name(), short.trim());
        let timeout = timeout.map_or(USUAL_TIME, Duration::from_secs);
        let row = ExtensionRow {
            kind: ExtensionKind::Hook,
            name: name.clone(),
            description: format!(
                "for {}, at most {}{}",
                matcher.text(),
                counted(timeout.as_secs(), "second"),
                if fail == Some(HookFail::Closed) { ", denies if it fails" } else { "" }
            ),
            source: file.source,
            path: Some(file.path.clone()),
            state: ExtensionState::On,
            problems: Vec::new(),
            tokens: None,
        };
        Hook { name, event, matcher, command, timeout, fail, row }
    }

    /// The row that lists it.
    pub fn row(&self) -> ExtensionRow {
        self.row.clone()
    }
}

/// The hooks of a file, and what is wrong with others in it.
pub fn find(file: &HookFile) -> (Vec<Hook>, Vec<String>) {
    let (entries, wrong) = match file.format {
        HookFormat::Toml => hooks::of_toml(&file.path, &file.text),
        HookFormat::Json => hooks::of_json(&file.path, &file.text),
    };
    let hooks = entries.into_iter().map(|entry| Hook::new(entry, file)).collect();
    (hooks, wrong.into_iter().map(|error| error.0).collect())
}
