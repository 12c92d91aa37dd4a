//! Hooks: commands of the user that run at session events, and may block them.
//!
//! They follow the contract in wide use: JSON on standard input, exit codes, and JSON on standard output.
//! Parts: `facts` (the session), `names` (tools and arguments as hooks know them), `answer` (interprets a
//! hook's end), `run` (one hook, as a process), `runner` (all hooks of an event, one after another).

mod answer;
mod facts;
pub(crate) mod names;
mod run;
pub(crate) mod runner;

use std::path::PathBuf;
use std::time::Duration;

pub use facts::HookFacts;
pub use runner::{HookOutcome, HookPermission, HookRunner};

use crate::permissions::Rule;
use crate::settings::hooks::{self, HookCommand, HookEntry, HookEvent, HookFail, HookMatcher};
use crate::settings::package_folders::PackageFolders;
use tau_protocol::extension::{ExtensionKind, ExtensionRow, ExtensionSource, ExtensionState};
use tau_tools::counted::pluralize;

/// The default time limit of a hook.
const USUAL_TIME: Duration = Duration::from_secs(60);
/// The maximum length of a command in the name of a hook, in characters.
const MAX_NAME_LEN: usize = 60;

/// The format of hooks in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookFormat {
    /// `[[hooks.EVENT]]` of a `config.toml`.
    Toml,
    /// `hooks` of a `settings.json`.
    Json,
}

/// A file that may define hooks, already read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFile {
    pub path: PathBuf,
    pub text: String,
    pub format: HookFormat,
    pub source: ExtensionSource,
    /// The folders of the package that it is of, if it is of one.
    pub package: Option<PackageFolders>,
}

/// A hook that can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its event and its command, for lists.
    pub name: String,
    pub event: HookEvent,
    /// The tools or events that it applies to.
    pub matcher: HookMatcher,
    pub command: HookCommand,
    /// The calls for which it runs, among those that it matches; `None` for all.
    condition: Option<Rule>,
    /// Whether nothing waits for it.
    in_background: bool,
    /// The time limit.
    pub timeout: Duration,
    /// The effect of its failure, if the file sets one.
    fail: Option<HookFail>,
    /// The folders of its package.
    pub package: Option<PackageFolders>,
    /// Its row in lists.
    row: ExtensionRow,
}

impl Hook {
    fn new(entry: HookEntry, file: &HookFile) -> Self {
        let HookEntry { event, matcher, command, condition, in_background, timeout, fail } = entry;
        // Names in a setting are separated by commas.
        let plain = |c: char| if c == ',' || c.is_control() { ' ' } else { c };
        let whole = command.to_string();
        let short: String = whole.chars().map(plain).take(MAX_NAME_LEN).collect();
        let name = format!("{} {}", event.name(), short.trim());
        let rest = if short.len() < whole.len() { format!("; runs {whole}") } else { String::new() };
        let timeout = timeout.map_or(USUAL_TIME, Duration::from_secs);
        let row = ExtensionRow {
            kind: ExtensionKind::Hook,
            name: name.clone(),
            description: format!(
                "for {}, at most {}{}{}{rest}",
                scope(&matcher, condition.as_ref()),
                pluralize(timeout.as_secs(), "second"),
                if in_background { ", which nothing waits for" } else { "" },
                if fail == Some(HookFail::Closed) { ", denies if it fails" } else { "" }
            ),
            source: file.source,
            path: Some(file.path.clone()),
            state: ExtensionState::On,
            problems: Vec::new(),
            tokens: None,
        };
        Hook {
            name,
            event,
            matcher,
            command,
            condition,
            in_background,
            timeout,
            fail,
            package: file.package.clone(),
            row,
        }
    }

    /// The names and the calls that it is about.
    pub fn scope(&self) -> String {
        scope(&self.matcher, self.condition.as_ref())
    }

    /// Its row in lists.
    pub fn row(&self) -> ExtensionRow {
        self.row.clone()
    }
}

fn scope(matcher: &HookMatcher, condition: Option<&Rule>) -> String {
    matcher.text() + &condition.map(|rule| format!(" if {rule}")).unwrap_or_default()
}

/// The hooks of a file, and the problems of invalid ones.
pub fn find(file: &HookFile) -> (Vec<Hook>, Vec<String>) {
    let (entries, wrong) = match file.format {
        HookFormat::Toml => hooks::of_toml(&file.path, &file.text),
        HookFormat::Json => hooks::of_json(&file.path, &file.text),
    };
    let hooks = entries.into_iter().map(|entry| Hook::new(entry, file)).collect();
    (hooks, wrong.into_iter().map(String::from).collect())
}
